"""Conversations from elsewhere are written whole or not at all, and once."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from core import Store, Text
from core.errors import BadFile, DiskFull
from core.formats import reader
from core.importing import Report, preview, take
from core.importing import one as conversation
from core.interchange.source import BytesSource
from core.types import AttachmentRef, Carried, CarriedBranch, CarriedNode, Stop
from tests.conftest import ECHO
from tests.unit.house import count, live, path_of

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "f8cfc0f01f00050001ff9e1b1d0c0000000049454e44ae426082"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "sessions.db") as store:
        yield store


def file(*conversations: tuple[str, ...], broken: str = "") -> BytesSource:
    """A ShareGPT file: of each conversation its id and its texts, speakers in turn."""
    values = [
        {
            "id": key,
            "conversations": [
                {"from": "gpt" if place % 2 else "human", "value": text}
                for place, text in enumerate(texts)
            ],
        }
        for key, *texts in conversations
    ]
    return BytesSource("share.json", (json.dumps(values)[:-1] + broken + "]").encode())


def carried(*nodes: tuple[str, str | None], tips: tuple[str, ...], key: str = "c") -> Carried:
    """A conversation of ``(key, parent)``; each text is the key."""
    return Carried(
        key=key,
        title="T",
        nodes=tuple(
            CarriedNode(
                key=name,
                parent=parent,
                role="assistant" if name.startswith("a") else "user",
                parts=(Text(text=name),),
            )
            for name, parent in nodes
        ),
        branches=tuple(
            CarriedBranch(name="main" if not place else f"branch {place + 1}", tip=tip)
            for place, tip in enumerate(tips)
        ),
    )


@pytest.fixture
def write(store: Store) -> Callable[[Carried], conversation.Taken]:
    def written(one: Carried) -> conversation.Taken:
        return conversation.write(store, reader("sharegpt"), one, ECHO, set())

    return written


def imported(store: Store, source: BytesSource, **more: object) -> Report:
    return take(store, source, config=ECHO, **more)


def test_looking_writes_nothing(store: Store) -> None:
    seen = preview(store, file(("c1", "Hello", "Good day")))
    assert [(one.title, one.messages, one.branches, one.new) for one in seen.found] == [
        ("Hello", 2, 1, 2)
    ]
    assert count(store) == count(store, "sessions") == count(store, "imports") == 0


def test_only_what_was_chosen_comes(store: Store) -> None:
    source = file(("c1", "one"), ("c2", "two"), ("c3", "three"))
    report = imported(store, source, chosen={0, 2})
    assert (report.new, report.passed_over) == (2, 1)
    assert [store.sessions.get(one).title for one in report.sessions] == ["one", "three"]


def test_a_conversation_that_went_on_grows_and_its_branch_goes_along(store: Store) -> None:
    imported(store, file(("c1", "a", "b")))
    seen = preview(store, file(("c1", "a", "b", "c", "d")))
    assert [(one.messages, one.new) for one in seen.found] == [(4, 2)]
    report = imported(store, file(("c1", "a", "b", "c", "d")))
    assert (report.new, report.extended, report.messages, report.branches) == (0, 1, 2, 0)
    assert live(store, report.sessions[0]) == {"main": ["a", "b", "c", "d"]}


def test_a_path_that_is_new_gets_a_branch_of_its_own(store: Store, write) -> None:
    first = write(carried(("u1", None), ("a1", "u1"), tips=("a1",)))
    again = carried(("u1", None), ("a1", "u1"), ("a2", "u1"), tips=("a2", "a1"))
    second = write(again)
    assert (second.session_id, second.messages, second.branches) == (first.session_id, 1, 1)
    assert live(store, first.session_id) == {"main": ["u1", "a1"], "main 2": ["u1", "a2"]}
    assert write(again).messages == 0


def test_what_a_person_did_since_stays(store: Store, write) -> None:
    made = write(carried(("u1", None), ("a1", "u1"), tips=("a1",)))
    (branch,) = store.branches.of(made.session_id)
    store.branches.rename(branch.id, "mine")
    store.branches.move(branch.id, store.nodes.lineage(branch.tip_id)[0].id, why="view")
    write(carried(("u1", None), ("a1", "u1"), ("u2", "a1"), tips=("u2",)))
    assert live(store, made.session_id) == {"mine": ["u1"], "main": ["u1", "a1", "u2"]}


def test_two_conversations_of_one_id_are_both_kept_and_known_again(store: Store) -> None:
    source = BytesSource(
        "gpt.json",
        json.dumps(
            [
                {"id": "c", "conversations": [{"from": "human", "value": "x"}]},
                {"id": "c", "conversations": [{"from": "human", "value": "x"}]},
            ]
        ).encode(),
    )
    report = imported(store, source)
    assert (report.new, report.unchanged) == (1, 1), "the same words under the same id: once"


def test_strangers_under_one_id_are_told_apart(store: Store) -> None:
    seen: set[tuple[str, str]] = set()
    sharegpt = reader("sharegpt")
    strangers = [
        carried(("u1", None), tips=("u1",)),
        carried(("u9", None), tips=("u9",)),
    ]
    made = [conversation.write(store, sharegpt, one, ECHO, seen) for one in strangers]
    assert made[0].session_id != made[1].session_id
    seen.clear()
    again = [conversation.write(store, sharegpt, one, ECHO, seen) for one in strangers]
    assert [one.session_id for one in again] == [one.session_id for one in made]
    assert [one.messages for one in again] == [0, 0]


def test_a_session_in_the_bin_is_known_and_one_deleted_for_good_comes_anew(store: Store) -> None:
    (session,) = imported(store, file(("c1", "a"))).sessions
    store.sessions.bin(session)
    assert preview(store, file(("c1", "a"))).found[0].session_id == session
    assert imported(store, file(("c1", "a"))).unchanged == 1
    store.sessions.delete_for_good(session)
    assert imported(store, file(("c1", "a"))).new == 1


def test_cancel_ends_between_two_conversations(store: Store) -> None:
    stop = Stop()

    def progress(conversations: int, messages: int) -> None:
        if conversations == 2:
            stop.set()

    source = file(*((f"c{n}", "a", "b") for n in range(5)))
    report = imported(store, source, progress=progress, stop=stop)
    assert (report.cancelled, report.new, count(store)) == (True, 2, 4)


def test_what_breaks_off_keeps_what_was_whole_and_says_where(store: Store) -> None:
    report = imported(store, file(("c1", "a", "b"), broken=', {"id": oops' + " " * 99))
    assert (report.new, report.messages) == (1, 2)
    assert "share.json" in report.broke
    assert "conversation 2" in report.broke


def test_a_fault_in_the_middle_of_writing_leaves_nothing_of_the_conversation(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise DiskFull("There is no space left to write sessions.db.")

    monkeypatch.setattr(store.imports, "note_nodes", full)
    with pytest.raises(DiskFull):
        imported(store, file(("c1", "a", "b")))
    assert count(store) == count(store, "sessions") == count(store, "imported") == 0
    assert "no space" in store.imports.reports()[0]["report"]["broke"]


def test_a_word_that_is_missing_after_writing_refuses_the_conversation(
    store: Store, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = store.nodes.add_all
    monkeypatch.setattr(store.nodes, "add_all", lambda nodes: real(list(nodes)[:-1]))
    monkeypatch.setattr(store.imports, "note_nodes", lambda rows: None)
    monkeypatch.setattr(conversation, "_place", lambda *_, **__: 0)
    with pytest.raises(BadFile, match="not what was read"):
        write(carried(("u1", None), ("a1", "u1"), tips=("a1",)))
    assert count(store) == count(store, "sessions") == 0


def test_a_session_that_grows_keeps_its_own_dates(store: Store, write) -> None:
    one = carried(("u1", None), ("a1", "u1"), tips=("a1",))
    made = write(one)
    store.sessions.touch(made.session_id)
    before = store.sessions.get(made.session_id)
    old = CarriedNode(
        key="u2",
        parent="a1",
        role="user",
        parts=(Text(text="u2"),),
        at="2020-01-01T00:00:00.000Z",
    )
    write(replace(one, nodes=(*one.nodes, old), branches=(CarriedBranch(name="main", tip="u2"),)))
    after = store.sessions.get(made.session_id)
    assert (after.created_at, after.updated_at) == (before.created_at, before.updated_at)


def test_the_report_is_kept(store: Store) -> None:
    imported(store, file(("c1", "a", "b"), ("c2", "c")))
    (kept,) = store.imports.reports()
    assert (kept["format"], kept["file_name"]) == ("ShareGPT", "share.json")
    assert kept["report"]["messages"] == kept["report"]["checked"] == 3


def test_dates_models_and_marks_come_along(store: Store, write) -> None:
    one = carried(("u1", None), ("a1", "u1"), tips=("a1",))
    nodes = (
        replace(one.nodes[0], at="2020-01-01T00:00:00.000Z"),
        replace(one.nodes[1], at="2020-01-02T00:00:00.000Z", model="gpt-4", marks={"note": "n"}),
    )
    made = write(replace(one, nodes=nodes, system="Be brief."))
    session = store.sessions.get(made.session_id)
    assert (session.created_at, session.updated_at) == (nodes[0].at, nodes[1].at)
    assert session.config.system == "Be brief."
    answer = store.nodes.lineage(store.branches.of(session.id)[0].tip_id)[-1]
    assert (answer.created_at, answer.author) == (nodes[1].at, "import")
    assert store.imports.models([answer.id]) == {answer.id: "gpt-4"}
    assert store.nodes.marks([answer.id]) == {answer.id: {"note": "n"}}
    assert [row["model"] for row in store.nodes.outline(session.id)] == [None, "gpt-4"]
    assert [row["unread"] for row in store.sessions.recent()] == [0]


def test_files_are_stored_as_attachments_and_what_is_no_file_of_ours_is_told(
    store: Store, write
) -> None:
    files = {sha256(content).hexdigest(): content for content in (PNG, b"\0\1\2\3" * 9)}
    parts = tuple(
        AttachmentRef(sha256=key, media_type="image/png", name=f"{n}.png")
        for n, key in enumerate(files)
    )
    one = carried(("u1", None), tips=("u1",))
    one = replace(
        one,
        nodes=(replace(one.nodes[0], parts=(*parts, *one.nodes[0].parts)),),
        files={key: (lambda content=content: content) for key, content in files.items()},
    )
    made = write(one)
    (node,) = store.nodes.lineage(store.branches.of(made.session_id)[0].tip_id)
    assert [part.type for part in node.parts] == ["attachment", "text"]
    assert dict(store.attachments) == {next(iter(files)): PNG}
    assert sum(made.left_out.values()) == 1


def test_an_imported_conversation_goes_on_like_any_other(store: Store, write) -> None:
    made = write(carried(("u1", None), ("a1", "u1"), tips=("a1",)))
    (branch,) = store.branches.of(made.session_id)
    assert path_of(store, branch) == ["u1", "a1"]
    assert store.sessions.get(made.session_id).current_branch_id == branch.id
