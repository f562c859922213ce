"""Opening a database: what is not ours or not ready is refused, and never harmed."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from sqlite_utils import Database as Connection

from core import Store
from core.errors import Busy, Damaged, DiskFull, ReadOnly, SchemaTooNew, StoreError
from core.store import database
from core.store.migrations import APPLICATION_ID, steps
from core.store.triggers import reassert_triggers
from tests.conftest import ECHO
from tests.unit.house import add, count, grow, path_of


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose patience with a lock at once."""
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)


@pytest.fixture
def used(path: Path) -> Path:
    """A closed database with a conversation in it."""
    with Store.open(path) as store:
        main = store.sessions.create(config=ECHO).current_branch_id
        assert main
        grow(store, main, "question", "answer")
    return path


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def refused(path: Path, kind: type[StoreError], *, untouched: bool = True) -> StoreError:
    """Opening fails in this way, says what to do, and changes nothing."""
    before = digest(path) if untouched else ""
    with pytest.raises(kind) as caught:
        Store.open(path)
    if untouched:
        assert digest(path) == before
    assert path.name in caught.value.message
    assert caught.value.hint
    return caught.value


# --- what is not ours -------------------------------------------------------------------------
def test_a_newer_database_is_refused_and_stays_as_it_was(used: Path) -> None:
    change(used, "INSERT INTO _sqlite_migrations VALUES (99, 'turntree', 'm999_later', '2030')")
    error = refused(used, SchemaTooNew)
    assert "m999_later" in error.message
    beside = {file.name for file in used.parent.iterdir()} - {used.name}
    assert beside <= {f"{used.name}-shm", f"{used.name}-wal"}, "what SQLite needs to look"


def test_a_newer_database_whose_process_died_is_refused_and_loses_nothing(used: Path) -> None:
    script = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
        "db.execute('PRAGMA wal_autocheckpoint = 0');"
        "db.execute(\"INSERT INTO _sqlite_migrations VALUES (99, 'turntree', 'm999', '2030')\");"
        "db.commit(); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", script, str(used)], check=False)
    log = used.with_name(f"{used.name}-wal")
    before = digest(log)
    refused(used, SchemaTooNew)
    assert digest(log) == before


@pytest.mark.parametrize(
    "content",
    [os.urandom(10_000), b"just a text\n" * 100, b"short", b"SQLite format 3\x00" + b"\xff" * 4096],
    ids=["random bytes", "a text", "a word", "a broken header"],
)
def test_what_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused(path, Damaged)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("number", [0, 1, 252006])
def test_a_database_of_another_program_is_refused(path: Path, number: int) -> None:
    change(path, "CREATE TABLE bookmarks (url)", f"PRAGMA application_id = {number}")
    refused(path, Damaged)


def test_a_damaged_database_is_said_to_be_damaged(used: Path) -> None:
    content = bytearray(used.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    used.write_bytes(content)
    with pytest.raises(Damaged), Store.open(used) as store:
        store.sessions.recent()


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    with Store.open(path) as store:
        assert store.sessions.recent() == []


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a" / "b c" / "ü%20?.db") as store:
        assert store.sessions.recent() == []
    with Store.open(tmp_path / "a" / "b c" / "ü%20?.db") as store:
        assert store.sessions.count() == 0


# --- what cannot be written or read now -------------------------------------------------------
@pytest.fixture
def stranger() -> Iterator[Path]:
    """A folder, and a process that has no right to write in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


def refused_to_a_stranger(path: Path, folder: Path) -> None:
    """As :func:`refused`, while this process has dropped root's rights, if it has them."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(ReadOnly) as caught:
            Store.open(path)
    finally:
        os.seteuid(was)
    assert caught.value.hint
    assert path.name in caught.value.message


def test_a_file_that_may_not_be_written_is_said_so(used: Path, stranger: Path) -> None:
    file = stranger / "sessions.db"
    file.write_bytes(used.read_bytes())
    file.chmod(0o444)
    before = digest(file)
    stranger.chmod(0o555)
    refused_to_a_stranger(file, stranger)
    assert digest(file) == before


def test_a_file_that_may_not_be_read_is_said_so(used: Path, stranger: Path) -> None:
    file = stranger / "sessions.db"
    file.write_bytes(used.read_bytes())
    file.chmod(0o000)
    refused_to_a_stranger(file, stranger)


def test_a_folder_that_may_not_be_written_is_said_so(stranger: Path) -> None:
    stranger.chmod(0o555)
    refused_to_a_stranger(stranger / "sessions.db", stranger)
    refused_to_a_stranger(stranger / "deeper" / "sessions.db", stranger)


def test_a_place_inside_a_file_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    refused(tmp_path / "file" / "sessions.db", ReadOnly, untouched=False)
    refused(tmp_path / "file" / "deep" / "sessions.db", ReadOnly, untouched=False)


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    refused(tmp_path / "folder.db", Damaged, untouched=False)


@pytest.mark.usefixtures("soon")
def test_a_database_that_another_program_holds_is_busy(used: Path) -> None:
    other = sqlite3.connect(used, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Busy):
        Store.open(used)
    other.execute("ROLLBACK")
    other.close()
    with Store.open(used) as store:
        assert count(store) == 2


@pytest.mark.usefixtures("soon")
def test_a_write_while_another_program_writes_is_busy_and_can_be_tried_again(used: Path) -> None:
    with Store.open(used) as store:
        session = store.sessions.recent()[0]["id"]
        other = sqlite3.connect(used, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy):
            add(store, session, None, "not now")
        assert count(store) == 2, "reading goes on"
        other.execute("ROLLBACK")
        other.close()
        add(store, session, None, "now")
        assert count(store) == 3


def test_a_full_disk_is_said_so_and_loses_nothing(store: Store) -> None:
    main = store.sessions.create(config=ECHO).current_branch_id
    assert main
    grow(store, main, "kept")
    writer = store._db._writer.conn
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskFull):
        grow(store, main, "x" * 1_000_000)
    assert path_of(store, main) == ["kept"]
    writer.execute("PRAGMA max_page_count = 1000000")
    grow(store, main, "room again")
    assert path_of(store, main) == ["kept", "room again"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, Busy),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Busy),
        (sqlite3.SQLITE_LOCKED, Busy),
        (sqlite3.SQLITE_READONLY_DBMOVED, ReadOnly),
        (sqlite3.SQLITE_READONLY_DIRECTORY, ReadOnly),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, ReadOnly),
        (sqlite3.SQLITE_FULL, DiskFull),
        (sqlite3.SQLITE_IOERR_WRITE, DiskFull),
        (sqlite3.SQLITE_CORRUPT_VTAB, Damaged),
        (sqlite3.SQLITE_NOTADB, Damaged),
    ],
)
def test_every_code_of_sqlite_about_the_file_becomes_an_error_of_ours(
    path: Path, code: int, kind: type[StoreError]
) -> None:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    with pytest.raises(kind) as caught, database.translated(path):
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.hint


def test_a_mistake_of_ours_is_not_blamed_on_the_file(store: Store) -> None:
    with pytest.raises(sqlite3.OperationalError), store._db.read() as db:
        db.conn.execute("SELECT nothing FROM nowhere")


def test_readers_cannot_write(store: Store) -> None:
    with pytest.raises(ReadOnly), store._db.read() as db:
        db.conn.execute("DELETE FROM sessions")


# --- bringing an older one up to date ---------------------------------------------------------
def older(path: Path, before: str) -> None:
    """A database as an earlier version left it, with a conversation in it."""
    db = Connection(sqlite3.connect(path, isolation_level=None))
    db.conn.execute("PRAGMA journal_mode = WAL")
    steps.apply(db, stop_before=before)
    db.conn.execute(
        "INSERT INTO sessions (id, title, config_json, current_branch_id, created_at, updated_at)"
        " VALUES ('s', 'Old', '{\"provider\": \"echo\", \"model\": \"echo-1\"}', 'b', '1', '1')"
    )
    db.conn.execute(
        "INSERT INTO nodes (id, session_id, role, text, author, created_at)"
        " VALUES ('n', 's', 'user', 'an old word', 'person', '1')"
    )
    db.conn.execute(
        "INSERT INTO branches (id, session_id, name, tip_id, created_at)"
        " VALUES ('b', 's', 'main', 'n', '1')"
    )
    db.close()


@pytest.mark.parametrize("step", ["m002_runs", "m003_search"])
def test_an_older_database_is_brought_up_to_date_and_a_copy_is_kept(path: Path, step: str) -> None:
    older(path, step)
    with Store.open(path) as store:
        assert path_of(store, "b") == ["an old word"]
        assert [hit["node_id"] for hit in store.search.messages("old")] == ["n"]
        assert store.search.sessions("old")[0]["id"] == "s"
    (copy,) = path.parent.glob(f"{path.name}.before-{step}-*")
    with sqlite3.connect(copy) as kept:
        assert kept.execute("SELECT text FROM nodes").fetchall() == [("an old word",)]
        assert kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        names = {name for (name,) in kept.execute("SELECT name FROM sqlite_master")}
    kept.close()
    assert "nodes_search" not in names
    with Store.open(path):
        assert list(path.parent.glob(f"{path.name}.before-*")) == [copy], "one copy a change"


def test_a_new_database_needs_no_copy(path: Path) -> None:
    with Store.open(path):
        pass
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_step_that_fails_leaves_the_database_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older(path, "m003_search")
    monkeypatch.setattr("core.store.triggers._TRIGGERS", (("x", {"nodes"}, "NO SUCH SYNTAX"),))
    with pytest.raises(sqlite3.OperationalError):
        Store.open(path)
    monkeypatch.undo()
    connection = sqlite3.connect(path)
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    assert not any(name.startswith("nodes_search") for name in names)
    with Store.open(path) as store:
        assert path_of(store, "b") == ["an old word"]


def test_rebuilding_a_table_drops_its_triggers_and_reasserting_brings_them_back(
    store: Store,
) -> None:
    def triggers() -> set[str]:
        return {row[0] for row in db.conn.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        )}  # fmt: skip

    with store.write() as db:
        before = triggers()
    writer = store._db._writer
    writer.conn.execute("PRAGMA foreign_keys = OFF")
    writer.table("nodes").transform(rename={"sent_suffix": "suffix"})
    writer.table("nodes").transform(rename={"suffix": "sent_suffix"})
    with store.write() as db:
        assert triggers() < before, "sqlite-utils keeps triggers now: the step may go"
        reassert_triggers(db)
        assert triggers() == before
        reassert_triggers(db)
        assert triggers() == before


def test_the_header_says_whose_file_it_is(used: Path) -> None:
    connection = sqlite3.connect(used)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_what_people_wrote_is_on_the_disk_before_it_counts_as_written(store: Store) -> None:
    writer = store._db._writer.conn
    with store._db.write(durable=False):
        assert writer.execute("PRAGMA synchronous").fetchone() == (1,)
    with store.write():
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
        assert writer.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_two_processes_may_open_a_new_database_at_once(path: Path) -> None:
    script = "import sys; from core import Store; Store.open(sys.argv[1]).close()"
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(path)], stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    errors = [process.communicate(timeout=60)[1].decode() for process in started]
    assert errors == ["", ""]
