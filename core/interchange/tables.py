"""The tables of a SQLite database that somebody else wrote. Nothing of it is believed.

What is read is a private copy. Views are not tables here: one of them may never end. This is
the one place outside the store that opens a database, and it only reads.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from core.errors import BadFile
from core.types import Json, Source

MAGIC = b"SQLite format 3\0"
_PIECE = 2**20
_FAULTS = (sqlite3.Error, UnicodeError, OverflowError)
"""Of a damaged database, whose own complaint may quote bytes that are no text."""
_MOST_SEARCHED = 256 * 2**20


class Tables:
    """A database that is open. Raises ``BadFile`` wherever it turns out to be damaged."""

    def __init__(self, db: sqlite3.Connection, name: str) -> None:
        self._db, self._name = db, name
        self.names: Mapping[str, frozenset[str]] = self._found()

    def index(self, table: str, column: str) -> None:
        """Have a column found quickly from now on, if it is there."""
        if column in self.names.get(table, ()):
            with self._told():
                made = _quoted(f"turntree_{table}_{column}")
                self._db.execute(
                    f"CREATE INDEX IF NOT EXISTS {made} ON {_quoted(table)}({_quoted(column)})"
                )

    def rows(
        self, table: str, *, order: Sequence[str] = (), **equal: Json
    ) -> Iterator[dict[str, Json]]:
        """The rows of a table, where it is there, with these values; columns that it does not
        have order nothing, and nothing is equal to them."""
        columns = self.names.get(table)
        if columns is None or not equal.keys() <= columns:
            return
        where = " AND ".join(f"{_quoted(name)} = ?" for name in equal)
        by = ", ".join(_quoted(name) for name in order if name in columns)
        sql = f"SELECT * FROM {_quoted(table)}"
        sql += f" WHERE {where}" if where else ""
        sql += f" ORDER BY {by}" if by else ""
        with self._told():
            yield from (dict(row) for row in self._db.execute(sql, list(equal.values())))

    def row(self, table: str, **equal: Json) -> dict[str, Json]:
        """The first such row, an empty one if there is none."""
        return next(self.rows(table, **equal), {})

    def _found(self) -> dict[str, frozenset[str]]:
        with self._told():
            # A table that a module draws up may do anything; those of SQLite's own are not data.
            listed = self._db.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite_%'"
            ).fetchall()
            return {
                str(name): frozenset(
                    str(row["name"])
                    for row in self._db.execute(f"PRAGMA table_info({_quoted(str(name))})")
                )
                for (name,) in listed
            }

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except _FAULTS as error:
            raise BadFile(
                f"{self._name} is a damaged database: {_why(error)}.",
                hint="Copy it once more while nothing writes to it.",
            ) from error


@contextmanager
def opened(source: Source) -> Iterator[Tables]:
    """The tables of a source, for as long as they are needed. Raises ``BadFile``."""
    with tempfile.TemporaryDirectory(prefix="turntree-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            with source.open() as stream, copy.open("wb") as out:
                while piece := stream.read(_PIECE):
                    out.write(piece)
        except OSError as error:
            raise BadFile(
                f"{source.name} could not be copied: {error.strerror or error}.",
                hint="Make room on the disk of temporary files.",
            ) from error
        with closing(sqlite3.connect(copy, check_same_thread=False)) as db:
            _guard(db, source.name)
            yield Tables(db, source.name)


def _guard(db: sqlite3.Connection, name: str) -> None:
    db.row_factory = sqlite3.Row
    db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
    except _FAULTS as error:
        raise BadFile(
            f"{name} is no readable SQLite database: {_why(error)}.",
            hint="Copy it once more while nothing writes to it.",
        ) from error


def mentions(source: Source, *words: bytes) -> bool:
    """Whether a SQLite file says all of these somewhere near its beginning."""
    head = source.head()
    if not head.startswith(MAGIC):
        return False
    missing = {word for word in words if word not in head}
    if not missing:
        return True
    seen, tail = 0, b""
    with source.open() as stream:
        while missing and seen < _MOST_SEARCHED and (piece := stream.read(_PIECE)):
            missing = {word for word in missing if word not in tail + piece}
            tail, seen = piece[-64:], seen + len(piece)
    return not missing


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, sqlite3.Error) else "it holds what is no text"


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
