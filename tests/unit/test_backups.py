"""Copies of everything: made in use, verified, rotated, looked into, restored."""

import sqlite3
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from core import Runner, Session, Store, backups
from core.backups import Keeping, Plan
from core.errors import BadFile, Damaged, NotFound, StoreError, UserError
from core.store import copies
from tests.conftest import ECHO


def titles(store: Store) -> set[str]:
    return {row["title"] for row in store.sessions.recent()}


def test_a_copy_holds_what_was_there_and_is_one_sound_file(store: Store, session: Session) -> None:
    store.sessions.change(session.id, title="Kept")
    made = backups.make(store)
    assert made.path.parent == store.path.parent / "backups"
    assert sorted(path.name for path in made.path.parent.iterdir()) == [made.name]
    assert made.size == made.path.stat().st_size
    inside = backups.look(made.path)
    assert (inside.trouble, inside.sessions, inside.titles) == ("", 1, ("Kept",))
    with Store.open(made.path) as copy:
        assert titles(copy) == {"Kept"}


def test_copies_made_while_others_write_are_consistent(store: Store, session: Session) -> None:
    """Every transaction writes two sessions: no copy may hold one of them."""
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            with store.write(durable=False):
                store.sessions.create(config=ECHO, title="one")
                store.sessions.create(config=ECHO, title="two")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = [backups.look(backups.make(store).path) for _ in range(5)]
    finally:
        ended.set()
        writer.join()
    assert {one.trouble for one in found} == {""}
    assert {one.sessions % 2 for one in found} == {1}
    assert found[-1].sessions > found[0].sessions


def test_two_copies_of_one_moment_have_two_names(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime.fromisoformat("2026-01-02T03:04:05.006+00:00")

    class Still(datetime):
        @classmethod
        def now(cls, tz=None):
            return moment

    monkeypatch.setattr(backups, "datetime", Still)
    names = [backups.make(store).name for _ in range(3)]
    assert len(set(names)) == 3
    assert {one.at for one in backups.made(store)} == {"2026-01-02T03:04:05.006Z"}


def test_a_copy_that_is_not_sound_gets_no_name(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(source: sqlite3.Connection, to: Path) -> None:
        to.write_bytes(b"SQLite format 3\0" + b"\xff" * 8000)

    monkeypatch.setattr(copies, "_copied", spoil)
    with pytest.raises(Damaged):
        backups.make(store)
    assert list((store.path.parent / "backups").iterdir()) == []
    assert backups.made(store) == []


def test_a_folder_that_cannot_be_written_is_a_clear_error(store: Store) -> None:
    (store.path.parent / "backups").write_text("in the way")
    with pytest.raises(StoreError):
        backups.make(store)


# --- by the clock ---


@pytest.fixture
def keeping(store: Store):
    made = Keeping(store)
    yield made
    made.close()


def test_nothing_is_copied_by_the_clock_unless_it_was_chosen(
    store: Store, keeping: Keeping
) -> None:
    assert backups.plan(store) == Plan(hours=0, keep=7, folder="")
    assert keeping.look() is None


def test_a_copy_is_made_when_it_is_time_and_so_many_are_kept(
    store: Store, keeping: Keeping, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere" / "deep"
    backups.choose(store, Plan(hours=6, keep=2, folder=str(folder)))
    by_hand = backups.make(store)
    assert keeping.look() is not None
    assert keeping.look() is None, "it is not time yet"
    for hours in (5.9, 6.1, 12.2, 18.3):
        later = (datetime.fromisoformat(backups.made(store)[0].at)).timestamp()
        shown = datetime.fromtimestamp(later).astimezone() + timedelta(hours=hours)
        monkeypatch.setattr(backups, "now", lambda shown=shown: shown.isoformat())
        assert (keeping.look() is None) == (hours < 6)
    left = backups.made(store)
    assert [one.why for one in left].count("scheduled") == 2
    assert by_hand.name in {one.name for one in left}, "what a person made is not removed"
    assert keeping.trouble == ""


def test_a_clock_that_was_set_back_does_not_end_all_copies(
    store: Store, keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    backups.choose(store, Plan(hours=24, keep=3))
    assert keeping.look() is not None
    monkeypatch.setattr(backups, "now", lambda: "2020-01-01T00:00:00.000Z")
    assert keeping.look() is not None


def test_what_went_wrong_is_told_until_it_works_again(store: Store, keeping: Keeping) -> None:
    backups.choose(store, Plan(hours=1))
    (store.path.parent / "backups").write_text("in the way")
    assert keeping.look() is None
    assert "cannot be opened for writing" in keeping.trouble
    (store.path.parent / "backups").unlink()
    assert keeping.look() is not None
    assert keeping.trouble == ""


@pytest.mark.parametrize(
    "chosen", [Plan(hours=-1), Plan(hours=10**6), Plan(keep=0), Plan(keep=10**6)]
)
def test_a_plan_that_makes_no_sense_is_refused(store: Store, chosen: Plan) -> None:
    with pytest.raises(UserError):
        backups.choose(store, chosen)


def test_a_folder_that_cannot_be_is_refused(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError):
        backups.choose(store, Plan(folder=str(tmp_path / "file" / "below")))


def test_a_preference_that_was_spoilt_is_the_usual_plan(store: Store) -> None:
    for spoilt in ("x", [1], {"hours": "often", "keep": -4, "folder": 7}, {"hours": 10**9}):
        store.preferences.set("backups", spoilt)
        assert backups.plan(store) == Plan()


def test_one_copy_is_removed_by_its_name_and_nothing_else(store: Store, tmp_path: Path) -> None:
    first, second = backups.make(store), backups.make(store)
    (first.path.parent / "stranger.db").write_text("mine")
    backups.remove(store, first.name)
    assert [one.name for one in backups.made(store)] == [second.name]
    for name in (first.name, "stranger.db", "../sessions.db"):
        with pytest.raises(NotFound):
            backups.remove(store, name)
    assert (first.path.parent / "stranger.db").exists()


# --- a look inside ---


def test_a_look_inside_tells_what_is_there(runner: Runner, store: Store, main: str) -> None:
    runner.wait(runner.send(main, "Hello").id)
    binned = store.sessions.create(config=ECHO, title="gone")
    store.sessions.bin(binned.id)
    inside = backups.look(backups.make(store).path)
    assert (inside.sessions, inside.binned, inside.messages, inside.runs) == (2, 1, 2, 1)
    assert inside.titles == ("Hello",)
    assert inside.newest == store.sessions.recent()[0]["updated_at"]
    assert not inside.older


def stranger(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE photos (id)")
    db.close()


def newer(path: Path) -> None:
    with Store.open(path):
        pass
    with sqlite3.connect(path) as db:
        db.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
            " VALUES ('turntree', 'm999_tomorrow', '2030')"
        )
    db.close()


def cut(path: Path) -> None:
    with Store.open(path) as store:
        for _ in range(300):
            store.sessions.create(config=ECHO, title="x" * 500)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: path.write_bytes(b"not a database at all" * 400), "readable database"),
        (stranger, "another program"),
        (newer, "newer Turntree"),
        (cut, ""),
        (lambda path: path.mkdir(), ""),
        (lambda path: None, ""),
    ],
)
def test_what_cannot_be_restored_is_told_and_refused(
    make, told: str, runner: Runner, session: Session, tmp_path: Path
) -> None:
    file = tmp_path / "suspect.db"
    make(file)
    inside = backups.look(file)
    assert inside.trouble
    assert told in inside.trouble
    with pytest.raises(BadFile):
        backups.restore(runner, file)
    assert [row["id"] for row in runner.store.sessions.recent()] == [session.id]
    assert backups.made(runner.store) == [], "nothing was begun"


# --- restoring ---


def test_what_was_there_comes_back_and_what_is_there_is_kept(
    runner: Runner, store: Store, main: str, session: Session
) -> None:
    runner.wait(runner.send(main, "before").id)
    copy = backups.make(store)
    runner.wait(runner.send(main, "after").id)
    other = store.sessions.create(config=ECHO, title="made later")
    later = store.branches.get(main).tip_id
    assert len(store.nodes.lineage(later)) == 4

    kept = backups.restore(runner, copy.path)

    lineage = store.nodes.lineage(store.branches.get(main).tip_id)
    assert [node.text for node in lineage] == ["before", "before"]
    assert titles(store) == {"before"}
    assert store.search.messages("after") == []
    with pytest.raises(NotFound):
        store.sessions.get(other.id)
    with pytest.raises(NotFound):
        store.nodes.lineage(later)
    assert kept.why == "before-restore"
    assert backups.look(kept.path).titles[0] == "made later"

    backups.restore(runner, kept.path)
    assert titles(store) == {"before", "made later"}
    assert [hit["role"] for hit in store.search.messages("after")] == ["assistant", "user"]


def test_after_a_restore_it_goes_on_as_ever(runner: Runner, store: Store, main: str) -> None:
    runner.wait(runner.send(main, "one").id)
    copy = backups.make(store)
    runner.wait(runner.send(main, "two").id)
    backups.restore(runner, copy.path)
    ended = runner.wait(runner.send(main, "three").id)
    assert ended.finish_reason == "stop"
    lineage = store.nodes.lineage(store.branches.get(main).tip_id)
    assert [node.text for node in lineage] == ["one", "one", "three", "three"]
    assert backups.look(backups.make(store).path).trouble == ""


def test_an_answer_on_its_way_is_stopped_and_its_words_are_kept(
    runner: Runner, store: Store, session: Session
) -> None:
    copy = backups.make(store)
    branch = session.current_branch_id
    run = runner.send(branch, "/stall 2\nfirst second third fourth")
    live = runner.live(run.id)
    assert live is not None
    live.more_than(1)
    kept = backups.restore(runner, copy.path)
    assert store.nodes.last_seq(session.id) == 0
    assert runner.lives() == []
    with Store.open(kept.path) as before:
        found = before.runs.get(run.id)
        assert (found.state, found.finish_reason) == ("ended", "stopped")
        assert before.nodes.get(found.node_id).text.startswith("first")


def test_a_run_that_was_on_its_way_in_the_copy_ends_as_interrupted(
    runner: Runner, store: Store, session: Session, main: str
) -> None:
    run = runner.wait(runner.send(main, "Hello").id)
    copy = backups.make(store)
    with sqlite3.connect(copy.path) as db:
        db.execute(
            "UPDATE runs SET state = 'running', node_id = NULL, finish_reason = NULL,"
            ' partial = \'[{"type":"text","text":"half"}]\' WHERE id = ?',
            [run.id],
        )
    db.close()
    backups.restore(runner, copy.path)
    found = store.runs.get(run.id)
    assert (found.state, found.finish_reason) == ("ended", "interrupted")
    assert store.nodes.get(found.node_id).text == "half"


def test_the_plan_stays_as_it_was_chosen(runner: Runner, store: Store, tmp_path: Path) -> None:
    copy = backups.make(store)
    chosen = Plan(hours=4, keep=9, folder=str(tmp_path / "mine"))
    backups.choose(store, chosen)
    backups.restore(runner, copy.path)
    assert backups.plan(store) == chosen


def test_an_older_copy_is_brought_up_to_date_as_it_comes_back(
    runner: Runner, store: Store, session: Session
) -> None:
    copy = backups.make(store)
    with sqlite3.connect(copy.path) as db:
        for table in ("imported_nodes", "imported", "imports", "preferences"):
            db.execute(f"DROP TABLE {table}")
        db.execute("DELETE FROM _sqlite_migrations WHERE name = 'm009_imports'")
    db.close()
    before = copy.path.read_bytes()
    assert backups.look(copy.path).older
    backups.restore(runner, copy.path)
    assert store.imports.reports() == []
    assert copy.path.read_bytes() == before, "the copy stays as it is"
    assert not [path for path in store.path.parent.iterdir() if path.name.startswith(".turntree")]


def test_the_open_database_is_not_restored_into_itself(runner: Runner, store: Store) -> None:
    with pytest.raises(BadFile):
        backups.restore(runner, store.path)


def test_a_restore_while_others_read(runner: Runner, store: Store, session: Session) -> None:
    """Whoever reads sees the old content or the new, never an error."""
    copy = backups.make(store)
    for _ in range(20):
        store.sessions.create(config=ECHO)
    ended, seen, faults = threading.Event(), set(), []

    def read() -> None:
        while not ended.is_set():
            try:
                seen.add(store.sessions.count())
            except Exception as error:
                faults.append(error)
            time.sleep(0)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for one in readers:
        one.start()
    try:
        backups.restore(runner, copy.path)
    finally:
        ended.set()
        for one in readers:
            one.join()
    assert faults == []
    assert store.sessions.count() == 1
    assert seen <= {1, 21}


def test_all_is_taken_out_of_a_page_s_process_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages import backend

    monkeypatch.setenv("TURNTREE_DB", str(tmp_path / "app.db"))
    try:
        store = backend.store()
        store.sessions.create(config=ECHO, title="kept")
        copy = backups.make(store)
        store.sessions.create(config=ECHO, title="later")
        assert backend.keeping().trouble == ""
        player = backend.player()
        backend.restore(copy.path)
        assert titles(backend.store()) == {"kept"}
        assert backend.store() is store, "open pages keep what they look at"
        assert backend.player() is not player
    finally:
        backend.close()
