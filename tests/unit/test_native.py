"""Our own file: what goes out comes back, byte for byte, once; and nothing that means harm."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from hashlib import blake2b, sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import Runner, Session, Store
from core.errors import BadFile, NotFound, UserError
from core.exporting.whole import every, sessions
from core.formats import recognised
from core.formats.native import FORMAT, WholeSession, pack
from core.importing import Report, preview, take
from core.interchange.rows import LEFT_OUT, TABLES
from core.interchange.source import BytesSource
from core.types import AttachmentRef, Carried, Damaged, Stop, new_id
from tests.conftest import ECHO
from tests.unit.anything import ACTS, PNG, made

FILE = "mine.turntree.zip"
Lines = list[dict[str, Any]]


def out(store: Store, *ids: str) -> bytes:
    stream = io.BytesIO()
    assert sessions(store, ids or every(store, binned=True), stream)
    return stream.getvalue()


def into(store: Store, content: bytes) -> Report:
    return take(store, BytesSource(FILE, content), config=ECHO)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "other.db") as opened:
        yield opened


def tally(store: Store) -> dict[str, int]:
    with store._db.read() as db:
        return {
            name: db.conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in [*TABLES]
        }


# --- everything comes along ---


def test_every_table_and_column_of_a_session_is_taken_or_left_on_purpose(store: Store) -> None:
    of_the_app = {
        "endpoints",
        "model_lists",
        "own_models",
        "prompts",
        "prompt_versions",
        "prompt_drafts",
        "imports",
        "preferences",
    }
    with store._db.read() as db:
        there = {
            name: {column.name for column in db[name].columns}
            for name in db.table_names()
            if "_search" not in name and not name.startswith("_sqlite")
        }
    assert there.keys() - of_the_app == TABLES.keys()
    for name, columns in there.items():
        if name in TABLES:
            assert columns == TABLES[name].keys() | LEFT_OUT.get(name, frozenset()), name


def test_a_session_with_everything_is_the_same_after_a_journey(store: Store, other: Store) -> None:
    made(store)
    first = out(store)
    assert {name for name, number in tally(store).items() if not number} == set()
    report = into(other, first)
    assert (report.new, report.damaged, report.repairs) == (1, [], [])
    assert out(other) == first
    assert tally(other) == tally(store)


ANY_ACT = st.tuples(st.sampled_from(sorted(ACTS)), st.integers(0, 500), st.text(max_size=40))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ANY_ACT, max_size=25), st.lists(ANY_ACT, max_size=6))
def test_any_sessions_are_the_same_after_a_journey(one: list[Any], two: list[Any]) -> None:
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "here.db") as here:
        made(here, one)
        made(here, two)
        first = out(here)
        with Store.open(Path(folder) / "there.db") as there:
            report = into(there, first)
            assert (report.new, report.damaged, report.broke) == (2, [], "")
            assert out(there) == first
            before = tally(there)
            again = into(there, first)
            assert (again.new, again.extended, again.unchanged) == (0, 0, 2)
            assert (again.messages, again.branches) == (0, 0)
            assert tally(there) == before


def test_what_a_page_shows_is_what_it_showed(
    store: Store, other: Store, runner: Runner, main: str, session: Session
) -> None:
    runner.wait(runner.send(main, "Hello").id)
    runner.wait(runner.send(main, "/think Let me see\nAgain").id)
    into(other, out(store))
    tip = store.branches.get(main).tip_id
    assert other.sessions.get(session.id) == store.sessions.get(session.id)
    assert other.nodes.lineage(tip) == store.nodes.lineage(tip)
    run_id = other.runs.of_nodes([tip])[tip].id
    assert other.runs.sent(run_id) == store.runs.sent(run_id)
    assert [hit["node_id"] for hit in other.search.messages("hello")]
    with Runner(other) as there:
        ended = there.wait(there.send(main, "/count").id)
        assert other.nodes.get(ended.node_id).text == "context 5 messages"


def test_many_sessions_in_one_file_whatever_order_they_are_named_in(store: Store) -> None:
    ids = [made(store).id for _ in range(3)]
    assert out(store, *ids) == out(store, *reversed(ids))
    found = preview(store, BytesSource(FILE, out(store))).found
    assert [one.session_id for one in found] == sorted(ids)
    assert {one.new for one in found} == {0}


def test_the_writer_and_the_many_writer_agree(store: Store) -> None:
    from core import exporting

    session = made(store)
    file = exporting.write(exporting.tree(store, session.id), "native")
    assert file.content == out(store, session.id)
    assert file.name.endswith(".turntree.zip")


def test_only_what_was_attached_is_in_it_each_file_once(store: Store) -> None:
    session = made(store)
    made(store)
    store.attachments.add("stranger.png", "image/png", PNG + b"x")
    with zipfile.ZipFile(io.BytesIO(out(store))) as archive:
        names = [name for name in archive.namelist() if name.startswith("files/")]
        assert len(names) == len(set(names)) > 2
        for name in names:
            assert sha256(archive.read(name)).hexdigest() == name.removeprefix("files/")
        assert f"files/{sha256(PNG + b'x').hexdigest()}" not in names
        assert f"sessions/{session.id}.jsonl" in archive.namelist()
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_neither_a_key_nor_a_machine_is_in_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-1234")
    made(store)
    with zipfile.ZipFile(io.BytesIO(out(store))) as archive:
        held = b"".join(archive.read(name) for name in archive.namelist())
    assert b"sk-very-secret" not in held
    assert b"some-machine" not in held
    assert str(store.path.parent).encode() not in held


def test_all_of_it_is_of_one_moment(store: Store, session: Session) -> None:
    """What is written while an export reads is not half in it."""
    reading = store.portable.records(session.id)
    rows = [next(reading)]
    late = store.branches.create(session.id, "late", None)
    rows += reading
    assert late.id not in {record.row.get("id") for record in rows}


def test_a_session_that_is_not_there(store: Store) -> None:
    with pytest.raises(NotFound):
        list(store.portable.records(new_id()))
    with pytest.raises(NotFound):
        out(store, new_id())
    with pytest.raises(UserError):
        sessions(store, [], io.BytesIO())


def test_an_export_that_is_stopped_says_so(store: Store) -> None:
    ids = [made(store).id for _ in range(3)]
    stop, seen = Stop(), []

    def told(done: int) -> None:
        seen.append(done)
        stop.set()

    assert not sessions(store, ids, io.BytesIO(), progress=told, stop=stop)
    assert seen == [1]


def test_what_packs_too_well_is_no_bomb(store: Store, other: Store, session: Session) -> None:
    from tests.unit.anything import Maker

    Maker(store, session).say(1, "a" * 12_000_000)
    assert into(other, out(store)).messages == 1


# --- what does not go on by itself ---


def test_nothing_runs_on_by_itself_where_it_comes_to(store: Store, other: Store) -> None:
    session = made(store)
    into(other, out(store))
    with store._db.read() as db:
        live = db.conn.execute("SELECT count(*) FROM jobs WHERE state = 'running'").fetchone()
    assert live[0] > 0
    assert other.jobs.running() == []
    with other._db.read() as db:
        states = {row[0] for row in db.conn.execute("SELECT state FROM queue")}
        steps = {row[0] for row in db.conn.execute("SELECT state FROM job_steps")}
    assert states == {"held"}
    assert "running" not in steps
    half = [run for run in other.runs.not_ended(session.id) if run.partial]
    assert half
    with Runner(other):  # whose process is gone: its words become a message
        assert other.runs.not_ended(session.id) == []
        assert other.runs.get(half[0].id).finish_reason == "interrupted"


# --- the same file again, and what was done since ---


@pytest.fixture
def twice(store: Store, other: Store, runner: Runner, main: str) -> bytes:
    runner.wait(runner.send(main, "one").id)
    first = out(store)
    into(other, first)
    return first


def test_what_was_said_there_since_is_added_and_the_branch_goes_on(
    twice: bytes, store: Store, other: Store, runner: Runner, main: str
) -> None:
    runner.wait(runner.send(main, "two").id)
    store.nodes.mark(store.branches.get(main).tip_id, "star", "1")
    report = into(other, out(store))
    assert (report.new, report.extended, report.messages) == (0, 1, 2)
    tip = other.branches.get(main).tip_id
    assert tip == store.branches.get(main).tip_id
    assert other.nodes.marks([tip]) == {tip: {"star": "1"}}
    assert other.runs.of_nodes([tip])
    assert other.branches.undo(main)["why"] == "import"


def test_where_both_went_on_nothing_is_lost(
    twice: bytes, store: Store, other: Store, runner: Runner, main: str, session: Session
) -> None:
    runner.wait(runner.send(main, "there").id)
    with Runner(other) as here:
        here.wait(here.send(main, "here").id)
    into(other, out(store))
    ends = {
        branch.name: [node.text for node in other.nodes.lineage(branch.tip_id)]
        for branch in other.branches.of(session.id)
    }
    assert ends == {
        "main": ["one", "one", "here", "here"],
        "main 2": ["one", "one", "there", "there"],
    }
    before = tally(other)
    into(other, out(store))
    assert tally(other) == before


def test_what_a_person_did_here_stays(
    twice: bytes, store: Store, other: Store, session: Session, main: str
) -> None:
    other.sessions.change(session.id, title="My own title")
    other.branches.rename(main, "mine")
    report = into(other, twice)
    assert report.unchanged == 1
    assert other.sessions.get(session.id).title == "My own title"
    assert other.branches.get(main).name == "mine"


def test_a_session_in_the_bin_is_said(
    twice: bytes, store: Store, other: Store, runner: Runner, session: Session, main: str
) -> None:
    other.sessions.bin(session.id)
    runner.wait(runner.send(main, "two").id)
    source = BytesSource(FILE, out(store))
    (found,) = preview(other, source).found
    assert found.binned
    report = take(other, source, config=ECHO)
    assert report.messages == 2
    assert "in the bin" in report.notes[0]
    assert other.sessions.get(session.id).binned_at is not None


def test_what_was_deleted_for_good_comes_again_if_it_is_asked_for(
    twice: bytes, other: Store, session: Session
) -> None:
    other.sessions.bin(session.id)
    other.sessions.delete_for_good(session.id)
    assert into(other, twice).new == 1
    assert out(other) == twice


def test_what_came_from_elsewhere_is_still_known_after_a_journey(
    store: Store, other: Store
) -> None:
    share = json.dumps([{"id": "c", "conversations": [{"from": "human", "value": "Hi"}]}])
    source = BytesSource("share.json", share.encode())
    take(store, source, config=ECHO)
    into(other, out(store))
    assert take(other, source, config=ECHO).unchanged == 1


# --- hostile files ---


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The archive of one session with everything in it."""
    with Store.open(tmp_path_factory.mktemp("original") / "sessions.db") as store:
        made(store)
        return out(store)


@pytest.fixture
def lines(original: bytes) -> Lines:
    """Its lines."""
    with zipfile.ZipFile(io.BytesIO(original)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".jsonl")]
        return [json.loads(line) for line in archive.read(name).decode().splitlines()]


def archive_of(lines: Lines | bytes, whole: bytes, **more: Any) -> bytes:
    """The archive with these lines in place of its own."""
    held = zipfile.ZipFile(io.BytesIO(whole))
    stream = io.BytesIO()
    with held, zipfile.ZipFile(stream, "w") as changed:
        for name in held.namelist():
            content = held.read(name)
            if name.endswith(".jsonl"):
                content = lines if isinstance(lines, bytes) else packed(lines)
            if name in more:
                content = more[name]
            if content is not None:
                changed.writestr(name, content)
    return stream.getvalue()


def packed(lines: Lines) -> bytes:
    return "\n".join(json.dumps(line) for line in lines).encode()


def rows(lines: Lines, table: str) -> Lines:
    return [line["row"] for line in lines if line.get("table") == table]


def test_lines_that_were_not_changed_are_read(lines: Lines, original: bytes, other: Store) -> None:
    assert into(other, archive_of(lines, original)).new == 1


def a_circle(lines: Lines) -> None:
    nodes = rows(lines, "nodes")
    child = next(row for row in nodes if row.get("parent_id"))
    next(row for row in nodes if row["id"] == child["parent_id"])["parent_id"] = child["id"]


def first(table: str, **columns: Any) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        rows(lines, table)[0].update(columns)

    return change


def last(table: str, **columns: Any) -> Callable[[Lines], None]:
    def change(lines: Lines) -> None:
        rows(lines, table)[-1].update(columns)

    return change


STRANGER = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
HOSTILE: dict[str, Callable[[Lines], None]] = {
    "a circle": a_circle,
    "an orphan": last("nodes", parent_id=STRANGER),
    "its own parent": lambda lines: rows(lines, "nodes")[-1].update(
        parent_id=rows(lines, "nodes")[-1]["id"]
    ),
    "of another session": first("nodes", session_id=STRANGER),
    "a role that is not": first("nodes", role="root"),
    "an author that is not": first("nodes", author="admin"),
    "a number for words": first("nodes", text=5),
    "no words": lambda lines: rows(lines, "nodes")[0].pop("text"),
    "half a character": first("nodes", text="\ud800"),
    "an id with a path": first("nodes", id="../../../etc/passwd"),
    "an id that is a script": first("branches", id="<script>alert(1)</script>"),
    "a date that is none": first("nodes", created_at="yesterday"),
    "a day that is none": first("sessions", created_at="2026-02-31T00:00:00.000Z"),
    "parts that are none": first("nodes", parts_json='[{"type":"spell"}]'),
    "parts nested deeply": first("nodes", parts_json="[" * 100_000),
    "parts with other words": first("nodes", parts_json='[{"type":"text","text":"other"}]'),
    "raw that is no object": first("nodes", raw_json="[1]"),
    "a tip elsewhere": first("branches", tip_id=STRANGER),
    "an open branch elsewhere": first("sessions", current_branch_id=STRANGER),
    "a config that is none": first("sessions", config_json='{"model": 1}'),
    "a budget below zero": first("sessions", turn_budget=-1),
    "a share above one": first("sessions", auto_recap=3),
    "a number beyond all": first("sessions", money_budget=10**30),
    "yes for a number": first("sessions", turn_budget=True),
    "a message that sends itself": first("queue", state="waiting"),
    "a job that plays itself": first("jobs", state="running"),
    "a step that runs": first("job_steps", state="running"),
    "a job on a stranger's branch": first("jobs", spec_json=json.dumps({"branch": STRANGER})),
    "a bin with a stranger's branch": first(
        "bins",
        branches_json=json.dumps([{"branch": STRANGER, "name": "x", "from": None, "binned": True}]),
    ),
    "a bin without its end": first("bins", branches_json='[{"binned": false}]'),
    "a run of another branch": first("runs", branch_id=STRANGER),
    "a run that reads elsewhere": first("runs", reads_id=STRANGER),
    "a run whose end is elsewhere": first("runs", context_tip_id=STRANGER),
    "a reason that is not": first("runs", finish_reason="magic"),
    "a failure that is none": first("runs", error_json='{"kind": "x", "evil": 1}'),
    "a config with another hash": first("configs", hash="0" * 32),
    "words with another hash": first("wire", body='"other"'),
    "words with no beginning": lambda lines: cut_off(lines),
    "a run without its words": lambda lines: without(lines, "wire"),
    "a run without a config": lambda lines: without(lines, "configs"),
    "an override of a stranger": first("overrides", node_or_recap_id=STRANGER),
    "a mark on a stranger": first("marks", node_id=STRANGER),
    "a mark that is not": first("marks", kind="crown"),
    "a lane of a stranger": first("lanes", branch_id=STRANGER),
    "a verdict on a stranger": first("verdicts", tips_json=json.dumps({STRANGER: "x"})),
    "a check that is not": first("checks", kind="shell"),
    "a file that is not there": lambda lines: without(lines, "attachments"),
    "a file with a path": first("attachments", sha256="../" * 21 + "x"),
    "twice the same id": lambda lines: lines.insert(-1, lines[2]),
    "two branches of one name": lambda lines: (
        [row.update(name="same", binned_at=None) for row in rows(lines, "branches")] and None
    ),
    "two sessions": lambda lines: lines.insert(
        2, {"table": "sessions", "row": lines[1]["row"] | {"id": STRANGER}}
    ),
    "no session": lambda lines: without(lines, "sessions"),
    "no branch": lambda lines: without(lines, "branches"),
    "a table that is not": lambda lines: lines.insert(2, {"table": "sqlite_master", "row": {}}),
    "a column that is not": first("nodes", seq=1),
    "a column that is SQL": first("nodes", **{"id) VALUES (1); --": 1}),
    "a key of the app": lambda lines: lines.insert(
        2, {"table": "preferences", "row": {"name": "x", "body_json": "1"}}
    ),
}


def without(lines: Lines, table: str) -> None:
    lines[:] = [line for line in lines if line.get("table") != table]


def cut_off(lines: Lines) -> None:
    body = '"no beginning"'
    hashed = blake2b(bytes.fromhex("1" * 32) + body.encode(), digest_size=16).hexdigest()
    row = {"hash": hashed, "parent_hash": "1" * 32, "body": body}
    lines.insert(2, {"table": "wire", "row": row})


@pytest.mark.parametrize("name", HOSTILE)
def test_a_session_with_a_hostile_row_is_refused_whole(
    name: str, lines: Lines, original: bytes, other: Store
) -> None:
    HOSTILE[name](lines)
    lines[-1] = {"end": len(lines) - 2}
    report = into(other, archive_of(lines, original))
    assert len(report.damaged) == 1, report
    assert FILE in report.damaged[0].place
    assert len(report.damaged[0].why) < 400
    assert set(tally(other).values()) == {0}


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "cut off in a line": lambda held: held[: len(held) // 2],
    "cut off at a line": lambda held: held[: held.rindex(b"\n")],
    "empty": lambda held: b"",
    "no JSON": lambda held: b"{" * 1000,
    "nested": lambda held: b"[" * 200_000,
    "other words": lambda held: b'"hello"\n' * 3,
    "of another session": lambda held: held.replace(b'"session": "', b'"session": "X'),
    "rows after the end": lambda held: held + b'\n{"table": "nodes", "row": {}}',
    "not counted": lambda held: held.replace(b'{"end": ', b'{"end": 1'),
    "a row that is a list": lambda held: held.replace(b'"row": {', b'"row": [{', 1),
    "not UTF-8": lambda held: held.replace(b"title", b"\xff\xfe\xfd", 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_lines_that_break_off_are_told_and_nothing_is_written(
    name: str, lines: Lines, original: bytes, other: Store
) -> None:
    report = into(other, archive_of(BROKEN[name](packed(lines)), original))
    assert len(report.damaged) == 1
    assert f"{FILE}: sessions/" in report.damaged[0].place
    assert set(tally(other).values()) == {0}


def test_one_damaged_session_does_not_keep_the_others_out(store: Store, other: Store) -> None:
    good, bad = made(store), made(store)
    whole = zipfile.ZipFile(io.BytesIO(out(store)))
    name = f"sessions/{good.id}.jsonl"
    content = archive_of(b"", out(store), **{name: whole.read(name)})
    report = into(other, content)
    assert report.sessions == [good.id]
    assert [bad.id in one.place for one in report.damaged] == [True]


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({"format": "turntree", "version": 2, "sessions": []}, "newer Turntree"),
        ({"format": "turntree", "version": True, "sessions": []}, "which version"),
        ({"format": "turntree", "sessions": []}, "which version"),
        ({"format": "turntree", "version": 1, "sessions": []}, "no session"),
        ({"format": "turntree", "version": 1, "sessions": {"id": 1}}, "no session"),
        (["format", {"format": "turntree"}], "which version"),
    ],
)
def test_a_manifest_that_cannot_be_read(
    manifest: object, told: str, original: bytes, other: Store
) -> None:
    content = archive_of(b"", original, **{"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(BadFile) as caught:
        into(other, content)
    assert told in caught.value.message
    assert FILE in caught.value.message
    assert caught.value.hint


def test_lines_of_a_newer_version_are_refused_with_the_same_words(
    lines: Lines, original: bytes, other: Store
) -> None:
    lines[0]["turntree"] = 2
    with pytest.raises(BadFile, match="newer Turntree"):
        into(other, archive_of(lines, original))


def test_files_that_are_missing_other_or_no_files_at_all(
    lines: Lines, original: bytes, other: Store
) -> None:
    name = f"files/{sha256(PNG).hexdigest()}"
    evil = b"MZ\x90\x00" + b"\0\1" * 99
    for content, told in (
        (None, "missing"),
        (b"other bytes", "other bytes"),
        (evil, ""),
    ):
        report = into(other, archive_of(lines, original, **{name: content}))
        assert told in report.damaged[0].why
        assert set(tally(other).values()) == {0}


def test_a_file_that_could_not_be_attached_does_not_come_in_this_way(
    store: Store, other: Store, session: Session
) -> None:
    from tests.unit.anything import Maker

    evil = b"MZ\x90\x00" + b"\0\1" * 99
    ref = store.attachments.add("evil.exe", "text/html", evil)
    Maker(store, session).say(1, "look", ref)
    report = into(other, out(store))
    assert report.damaged
    assert set(tally(other).values()) == {0}


def test_ids_of_something_else_here_are_refused(
    lines: Lines, original: bytes, other: Store
) -> None:
    """The session is new, but one of its rows bears the id of another session's."""
    strange = made(other, [("say", 1, "mine")])
    node = other.nodes.outline(strange.id)[0]["id"]
    before = tally(other)
    old = rows(lines, "nodes")[-1]["id"]
    changed = json.loads(json.dumps(lines).replace(old, node))
    report = into(other, archive_of(changed, original))
    assert "id of something else" in report.damaged[0].why
    assert tally(other) == before
    assert other.nodes.get(node).text == "mine"


@pytest.mark.parametrize("table", ["branches", "runs", "recaps", "comparisons", "job_lines"])
def test_a_session_that_is_here_is_not_extended_by_what_is_another_s(
    table: str, lines: Lines, original: bytes, other: Store
) -> None:
    into(other, archive_of(lines, original))
    strange = made(other)
    (theirs, *_) = [row for row in other.portable.records(strange.id) if row.table == table]
    before = tally(other)
    old = rows(lines, table)[0]["id"]
    changed = json.loads(json.dumps(lines).replace(old, str(theirs.row["id"])))
    report = into(other, archive_of(changed, original))
    assert "id of something else" in report.damaged[0].why
    assert tally(other) == before


def test_messages_never_change_not_even_by_a_file(
    lines: Lines, original: bytes, other: Store
) -> None:
    into(other, archive_of(lines, original))
    before = tally(other)
    row = next(row for row in rows(lines, "nodes") if "parts_json" not in row)
    row["text"] = "What I never said"
    report = into(other, archive_of(lines, original))
    assert "other words" in report.damaged[0].why
    assert tally(other) == before


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_changed_in_a_row_the_reader_answers(data: st.DataObject, lines: Lines) -> None:
    """A session, or why it is refused; never an error of another kind."""
    spoilt = json.loads(json.dumps(lines))
    for _ in range(data.draw(st.integers(1, 3))):
        row = spoilt[data.draw(st.integers(1, len(spoilt) - 2))]["row"]
        name = data.draw(st.sampled_from(sorted(row)))
        values = st.one_of(
            st.none(),
            st.integers(),
            st.floats(),
            st.text(max_size=5),
            st.just({}),
            st.lists(st.integers(), max_size=2),
            st.sampled_from(["[]", "{}", "null", "[[]]", '{"a": null}', "9" * 5000]),
        )
        row[name] = data.draw(values)
    found = list(FORMAT.read(BytesSource("one.jsonl", packed(spoilt))))
    assert len(found) == 1
    assert isinstance(found[0], Carried | Damaged)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.999])
def test_an_archive_that_is_cut_off_is_refused(share: float, store: Store, other: Store) -> None:
    made(store)
    whole = out(store)
    with pytest.raises(BadFile):
        into(other, whole[: int(len(whole) * share)])
    assert set(tally(other).values()) == {0}


def test_bytes_that_flipped_are_found(store: Store, other: Store) -> None:
    made(store)
    whole = bytearray(out(store))
    middle = whole.find(b"sessions/") + 400
    whole[middle] ^= 0xFF
    report = into(other, bytes(whole))
    assert report.damaged
    assert set(tally(other).values()) == {0}


# --- other ways it may lie there ---


def test_an_archive_that_was_packed_anew_in_a_folder_is_read(store: Store, other: Store) -> None:
    made(store)
    original = zipfile.ZipFile(io.BytesIO(out(store)))
    stream = io.BytesIO()
    with original, zipfile.ZipFile(stream, "w") as changed:
        for name in sorted(original.namelist(), reverse=True):
            changed.writestr(f"my folder/{name}", original.read(name))
    into(other, stream.getvalue())
    assert out(other) == out(store)


def test_lines_alone_are_read_where_nothing_is_attached(
    store: Store, other: Store, runner: Runner, main: str, session: Session
) -> None:
    runner.wait(runner.send(main, "Hello").id)
    with zipfile.ZipFile(io.BytesIO(out(store))) as archive:
        held = archive.read(f"sessions/{session.id}.jsonl")
    source = BytesSource("one.jsonl", held)
    found = recognised(source)
    assert found is not None
    assert found[0].name == "native"
    take(other, source, config=ECHO)
    assert out(other) == out(store)


def test_lines_alone_are_refused_where_a_file_is_missing(lines: Lines, other: Store) -> None:
    report = take(other, BytesSource("one.jsonl", packed(lines)), config=ECHO)
    assert "bytes of an attached file are missing" in report.damaged[0].why
    assert set(tally(other).values()) == {0}


def test_an_archive_is_written_to_what_cannot_be_wound_back(store: Store, other: Store) -> None:
    session = made(store)

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.held = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, some: Any) -> int:
            self.held += bytes(some)
            return len(some)

    pipe = Pipe()
    one = WholeSession(
        id=session.id,
        title=session.title,
        records=lambda: store.portable.records(session.id),
        files=store.attachments,
    )
    assert pack(pipe, [one])  # type: ignore[arg-type]
    into(other, bytes(pipe.held))
    assert out(other) == out(store)


def test_attachments_of_what_waits_and_of_the_bin_come_along(
    store: Store, other: Store, main: str
) -> None:
    held = store.attachments.add("wait.txt", "text/plain", b"I wait")
    queued = store.attachments.add("queue.txt", "text/plain", b"I queue")
    store.attachments.hold(main, [held])
    store.branches.enqueue(main, "look", files=(queued,))
    into(other, out(store))
    assert other.attachments[held.sha256] == b"I wait"
    assert [one.name for one in other.attachments.pending(main)] == ["wait.txt"]
    (waiting,) = other.branches.queued(main)
    assert waiting["files"] == (
        AttachmentRef(sha256=queued.sha256, media_type="text/plain", name="queue.txt"),
    )
