"""Whole copies of the database: made while it is in use, looked into, brought back."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.errors import Damaged, StoreError
from core.store.database import Database, inspect, open_database, translated

_TITLES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What is in a database file. ``trouble`` says why it cannot be restored, empty if it can.

    ``size`` is bytes; ``newest`` is when the latest session out of the bin was changed,
    ``titles`` are those of the latest. ``older``: it will be brought up to date as it comes back.
    """

    path: Path
    size: int = 0
    trouble: str = ""
    hint: str = ""
    sessions: int = 0
    binned: int = 0
    messages: int = 0
    runs: int = 0
    newest: str | None = None
    titles: tuple[str, ...] = ()
    older: bool = False


class Copies:
    """Copies of the open database."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def write(self, to: Path) -> None:
        """Copy everything as it stands at this moment to one file, and verify the copy.

        Nobody waits: others read and write meanwhile. The file has its name only once it is
        whole. Raises a ``StoreError``, and leaves nothing behind then.
        """
        part = to.with_name(f"{to.name}.part")
        with translated(to):
            to.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _reading(self._db.path) as source:
                _copied(source, part)
            _verify(part)
            with translated(to):
                part.replace(to)
        finally:
            for ending in ("", "-journal", "-wal", "-shm"):
                part.with_name(part.name + ending).unlink(missing_ok=True)

    def bring_back(self, source: Path) -> None:
        """Put the content of a copy in place of all that is here. An older one is brought up to
        date first; the copy itself stays as it is. Raises a ``StoreError``: then nothing has
        changed."""
        with (
            translated(source),
            TemporaryDirectory(dir=self._db.path.parent, prefix=".turntree-") as folder,
        ):
            own = Path(folder) / "copy.db"
            with _reading(source) as there:
                _copied(there, own)
            open_database(own).close()
            with _reading(own) as ready:
                self._db.replace(ready)


def look(path: Path) -> Inside:
    """What is in a file before it is restored. Never raises: what is wrong, it tells."""
    try:
        with translated(path):
            size = path.stat().st_size
            if not size:
                raise Damaged(f"{path.name} is empty.", hint="Choose another file.")
            older = inspect(path) is not None
        with _reading(path) as there:
            _sound(there, path)
            return Inside(path=path, size=size, older=older, **_facts(there, path))
    except StoreError as error:
        return Inside(path=path, trouble=error.message, hint=error.hint)


@contextmanager
def _reading(path: Path) -> Generator[sqlite3.Connection]:
    """A connection to a file that writes nothing and believes nothing of its schema."""
    with translated(path):
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA busy_timeout = 5000")
            yield connection
        finally:
            connection.close()


def _copied(source: sqlite3.Connection, to: Path) -> None:
    with translated(to):
        to.unlink(missing_ok=True)
        copy = sqlite3.connect(to)
        try:
            source.backup(copy)
            # One file that can be moved and read where nothing can be written.
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()


def _verify(path: Path) -> None:
    with _reading(path) as copy:
        _sound(copy, path, "integrity_check")


def _sound(connection: sqlite3.Connection, path: Path, how: str = "quick_check") -> None:
    found = [str(row[0]) for row in connection.execute(f"PRAGMA {how}(3)")]
    if found != ["ok"]:
        raise Damaged(f"{path.name} is damaged: {found[0]}.", hint="Choose another copy.")


def _facts(db: sqlite3.Connection, path: Path) -> dict[str, Any]:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    if not {"sessions", "nodes", "branches", "runs"} <= tables:
        raise Damaged(f"{path.name} holds no sessions.", hint="Choose another file.")
    sessions, binned, newest = db.execute(
        "SELECT count(*), coalesce(sum(binned_at IS NOT NULL), 0),"
        " max(CASE WHEN binned_at IS NULL THEN updated_at END) FROM sessions"
    ).fetchone()
    titles = db.execute(
        "SELECT title FROM sessions WHERE binned_at IS NULL ORDER BY updated_at DESC LIMIT ?",
        [_TITLES],
    )
    return {
        "sessions": sessions,
        "binned": binned,
        "newest": newest,
        "titles": tuple(str(title) for (title,) in titles),
        "messages": db.execute("SELECT count(*) FROM nodes").fetchone()[0],
        "runs": db.execute("SELECT count(*) FROM runs").fetchone()[0],
    }
