"""No kind of file that can be taken away holds a key, from wherever the key comes."""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from core import Config, Session, Store, endpoints, exporting, fork, keys
from core.errors import UserError
from core.exporting import comparison as comparing
from core.exporting import provenance, whole
from core.exporting.provenance_page import Kind
from core.formats import writers
from core.lanes import side_by_side
from core.providers import adapter
from core.types import Include, Scope, Taken
from tests.unit.house import grow
from tests.unit.test_keys import Drawer

SECRET = "hush-hush-0123456789"
VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
EVERYTHING = Include(thinking=True, tools=True, metadata=True, recaps="expanded")
KINDS: tuple[Kind, ...] = ("json", "markdown", "html")


@pytest.fixture(autouse=True)
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A key of every provider in the environment, and a keyring in memory."""
    monkeypatch.chdir(tmp_path)
    for variable in VARIABLES:
        monkeypatch.setenv(variable, f"sk-{SECRET}-{variable}")
    before = keyring.get_keyring()
    keyring.set_keyring(Drawer())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def session(store: Store) -> Iterator[Session]:
    """A conversation with a server of the person's own, which has a key and a secret header."""
    made = endpoints.add(
        store, label="Ours", protocol="compatible", base_url="http://127.0.0.1:11434/v1"
    )
    endpoints.add_header(store, made.name, "X-Team")
    keys.keep(keys.header_slot(made.name, "X-Team"), f"{SECRET}-header")
    keys.keep(made.name, f"{SECRET}-key")
    session = store.sessions.create(config=Config(provider=made.name, model="m"), title="Ours")
    nodes = grow(
        store, str(session.current_branch_id), "Why?", "|a|b|\n|-|-|\n|1|2|", "And?", "So."
    )
    fork(store, nodes[1].id, from_branch=str(session.current_branch_id), name="other")
    store.sessions.change(session.id, current_branch_id=session.current_branch_id)
    yield session
    endpoints.remove(store, made.name)


def subjects(store: Store, session: Session) -> dict[Scope, Taken]:
    live = store.branches.of(session.id)
    nodes = store.nodes.lineage(store.branches.get(str(session.current_branch_id)).tip_id)
    made = side_by_side(store, session.id, [one.id for one in live])
    return {
        "answer": exporting.answer(store, session.id, nodes[1].id),
        "branch": exporting.branch(store, session.id, str(session.current_branch_id)),
        "tree": exporting.tree(store, session.id),
        "comparison": comparing.comparison(store, session.id, made.id),
    }


def inside(content: bytes) -> bytes:
    """The bytes of a file, and of all that is packed in it."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return content + b"".join(archive.read(name) for name in archive.namelist())


def test_the_keys_are_there_to_be_found(store: Store, session: Session) -> None:
    found = keys.endpoint_of(adapter(session.config.provider))
    assert found is not None
    assert list(found.headers.values()) == [f"{SECRET}-header"]
    assert found.api_key == f"{SECRET}-key"


def test_no_kind_of_file_holds_a_key(store: Store, session: Session) -> None:
    written = 0
    for scope, taken in subjects(store, session).items():
        for one in writers(scope):
            file = exporting.write(taken, one.name, EVERYTHING)
            assert SECRET.encode() not in inside(file.content), one.name
            written += 1
    assert written >= 25


def test_neither_do_manifests_nor_archives_of_several(store: Store, session: Session) -> None:
    node = store.nodes.lineage(store.branches.get(str(session.current_branch_id)).tip_id)[-1]
    manifest = provenance.manifest(store, session.id, node.id)
    for kind in KINDS:
        assert SECRET.encode() not in provenance.as_file(manifest, kind).content
    stream = io.BytesIO()
    whole.sessions(store, [session.id], stream)
    assert SECRET.encode() not in inside(stream.getvalue())
    for name in ("openai_python", "pytest_file", "promptfoo"):
        stream = io.BytesIO()
        assert whole.each(store, [session.id], stream, name) == ()
        assert SECRET.encode() not in inside(stream.getvalue())


def test_sessions_without_a_file_are_told_and_none_at_all_is_an_error(
    store: Store, session: Session
) -> None:
    empty = store.sessions.create(config=session.config, title="Empty")
    again = store.sessions.create(config=session.config, title="OURS")
    grow(store, str(again.current_branch_id), "Why?", "So.")
    ids = [session.id, again.id, empty.id]
    first, second = io.BytesIO(), io.BytesIO()
    done: list[int] = []
    left = whole.each(store, ids, first, "openai_python", progress=done.append)
    assert [one.title for one in left] == ["Empty"]
    assert done == [1, 2, 3]
    with zipfile.ZipFile(first) as archive:
        assert archive.namelist() == ["ours-branch.py", "ours-branch-2.py"]
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    whole.each(store, ids, second, "openai_python")
    assert first.getvalue() == second.getvalue(), "the same sessions make the same bytes"
    with pytest.raises(UserError, match="Nothing was asked"):
        whole.each(store, [empty.id], io.BytesIO(), "openai_python")
    with pytest.raises(UserError, match="No session was chosen"):
        whole.each(store, [], io.BytesIO(), "markdown")
