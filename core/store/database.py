"""One SQLite file: opening it safely, a small pool of connections, short transactions.

Streamlit runs every script in a fresh thread, so connections are pooled rather than bound
to threads. There is one writer; readers never wait for it (WAL).
"""

import errno
import queue
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlite_utils import Database as Connection

from core.errors import Busy, Damaged, DiskFull, ReadOnly, SchemaTooNew, StoreError
from core.store.migrations import APPLICATION_ID, steps
from core.types import now

_READERS = 8
_BUSY_SECONDS = 5.0
_BUSY_LOOK = 0.02  # seconds between two tries


class Database:
    """The open file. Its errors are :class:`core.errors.StoreError`; see :func:`open_database`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._readers = threading.BoundedSemaphore(_READERS)
        self._write_lock = threading.RLock()
        self._writer = _connect(path)
        self._synchronous = "FULL"
        self._local = threading.local()

    @contextmanager
    def read(self) -> Generator[Connection]:
        """A connection to read with; the writing one if this thread is inside :meth:`write`."""
        current: Connection | None = getattr(self._local, "connection", None)
        with translated(self.path):
            if current is not None:
                yield current
                return
            with self._readers:
                connection = self._reader()
                try:
                    yield connection
                finally:
                    self._idle.put(connection)

    @contextmanager
    def write(self, *, durable: bool = True) -> Generator[Connection]:
        """One transaction; nested calls in the same thread join the outer one.

        ``durable=False`` is for what can be had again (the partial of a running answer): a
        power cut may lose it, the end of the process may not.
        """
        if getattr(self._local, "connection", None) is not None:
            yield self._local.connection
            return
        with self._write_lock, translated(self.path):
            self._ask_for("FULL" if durable else "NORMAL")
            connection = self._writer
            connection.conn.execute("BEGIN IMMEDIATE")
            self._local.connection = connection
            try:
                yield connection
                connection.conn.execute("COMMIT")
            except BaseException:
                if connection.conn.in_transaction:
                    connection.conn.execute("ROLLBACK")
                raise
            finally:
                self._local.connection = None

    def replace(self, source: sqlite3.Connection) -> None:
        """Put another database's content in place of all that is here, in one transaction: who
        reads meanwhile sees the old content to the end, then the new."""
        with self._write_lock, translated(self.path):
            source.backup(self._writer.conn)

    def close(self) -> None:
        """Close every connection; the file is then safe to copy or move."""
        with self._write_lock:
            self._writer.close()
            with suppress(queue.Empty):
                while True:
                    self._idle.get_nowait().close()

    def _reader(self) -> Connection:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            connection = _connect(self.path)
            connection.conn.execute("PRAGMA query_only = ON")
            return connection

    def _ask_for(self, synchronous: str) -> None:
        if synchronous != self._synchronous:
            self._writer.conn.execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous


def open_database(path: Path) -> Database:
    """Open or create the file and bring its schema up to date.

    A database of a newer version, or one that is not ours, is refused before anything is
    written. A copy is kept beside the file before the first pending step.
    Raises :class:`SchemaTooNew`, :class:`Damaged`, :class:`Busy`, :class:`ReadOnly` or
    :class:`DiskFull`.
    """
    path = path.absolute()
    with translated(path):
        if path.is_dir():
            raise Damaged(f"{path.name} is a folder, not a database.")
        pending = inspect(path) if path.exists() and path.stat().st_size else None
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = _connect(path)
        try:
            _write_ahead(connection)
            if pending:
                _keep_copy(connection, path, pending)
            _bring_up_to_date(connection)
        finally:
            connection.close()
        return Database(path)


def _write_ahead(connection: Connection) -> None:
    """Switch to WAL. SQLite does not wait for that by itself: two processes may be at it."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.conn.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() > end:
                raise
            time.sleep(_BUSY_LOOK)
        else:
            return


def inspect(path: Path) -> str | None:
    """The name of the first pending step, or None. Looks without writing.

    Raises :class:`Damaged` for a stranger's file, :class:`SchemaTooNew` for a newer one's.
    """
    connection = Connection(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True))
    try:
        connection.conn.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
        tables = connection.table_names()
        (application,) = connection.conn.execute("PRAGMA application_id").fetchone()
        if tables and application != APPLICATION_ID:
            raise Damaged(f"{path.name} is a database of another program.")
        known = {step.name for step in steps.pending(Connection(memory=True))}
        if newer := sorted({step.name for step in steps.applied(connection)} - known):
            raise SchemaTooNew(
                f"{path.name} was written by a newer Turntree (it knows {newer[-1]!r})."
            )
        pending = steps.pending(connection)
        return pending[0].name if pending and tables else None
    finally:
        connection.close()


def _keep_copy(connection: Connection, path: Path, step: str) -> None:
    stamp = now().replace(":", "").replace(".", "")
    with sqlite3.connect(path.with_name(f"{path.name}.before-{step}-{stamp}")) as copy:
        connection.conn.backup(copy)
    copy.close()


def _bring_up_to_date(connection: Connection) -> None:
    """Take the steps that are left, as one writer: another process may be opening the file too.

    The transaction is begun in any case, so that a file that cannot be written is refused now.
    """
    connection.conn.execute("BEGIN IMMEDIATE")
    steps.apply(connection)
    connection.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.conn.execute("COMMIT")


def _connect(path: Path) -> Connection:
    raw = sqlite3.connect(
        path, check_same_thread=False, isolation_level=None, timeout=_BUSY_SECONDS
    )
    for pragma in ("foreign_keys = ON", "synchronous = FULL", "cache_size = -16000"):
        raw.execute(f"PRAGMA {pragma}")
    return Connection(raw)


_BY_CODE: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: Busy,
    sqlite3.SQLITE_LOCKED: Busy,
    sqlite3.SQLITE_READONLY: ReadOnly,
    sqlite3.SQLITE_CANTOPEN: ReadOnly,
    sqlite3.SQLITE_PERM: ReadOnly,
    sqlite3.SQLITE_FULL: DiskFull,
    sqlite3.SQLITE_IOERR: DiskFull,
    sqlite3.SQLITE_CORRUPT: Damaged,
    sqlite3.SQLITE_NOTADB: Damaged,
}
_SAYING: dict[type[StoreError], str] = {
    Busy: "{} is locked by another program.",
    ReadOnly: "{} cannot be opened for writing.",
    DiskFull: "There is no space left to write {}.",
    Damaged: "{} is not a readable database.",
}


@contextmanager
def translated(path: Path) -> Generator[None]:
    """SQLite's errors as ours; programming mistakes pass through unchanged."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        kind = _BY_CODE.get((code or 0) & 0xFF)
        if kind is None:
            raise
        raise kind(_SAYING[kind].format(path.name)) from error
    except OSError as error:
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else ReadOnly
        raise kind(_SAYING[kind].format(path.name)) from error
