"""The one store and the one runner of this process, for the pages and the live routes.

A module-level singleton on purpose: Streamlit's caches can be cleared from the page, and that
would orphan every running answer.
"""

import os
import secrets
import threading
from pathlib import Path

from core import Runner, Store
from core.backups import Backup, Keeping
from core.backups import restore as bring_back
from core.drift import Watch
from core.errors import UserError
from core.intake import Intake
from core.jobs import Player
from core.judge import Judge

TOKEN = secrets.token_urlsafe(24)
"""Proves to the live routes that a request comes from a page of this process."""

_lock = threading.Lock()
_runner: Runner | None = None
_watch: Watch | None = None
_player: Player | None = None
_judge: Judge | None = None
_keeping: Keeping | None = None
_intake: Intake | None = None


def database_path() -> Path:
    """Where the sessions live: ``TURNTREE_DB``, or ``sessions.db`` at the top of the folder."""
    named = os.environ.get("TURNTREE_DB")
    return Path(named).expanduser() if named else Path(__file__).parents[1] / "sessions.db"


def runner() -> Runner:
    """The runner; opens the database on first use. Raises a ``StoreError`` if it cannot."""
    global _intake, _keeping, _runner
    with _lock:
        if _runner is None:
            _runner = Runner(Store.open(database_path()))
            _attend(_runner)
            _intake = Intake(_runner.store, _runner.announce)
            _keeping = Keeping(_runner.store)
        return _runner


def _attend(found: Runner) -> None:
    """What looks on as runs end: drift checks, jobs, judges."""
    global _judge, _player, _watch
    _watch = Watch(found)
    _player = Player(found)
    _judge = Judge(found)


def player() -> Player:
    """Plays the jobs of this process. Raises a ``StoreError`` if the database cannot be opened."""
    runner()
    assert _player is not None
    return _player


def judge() -> Judge:
    """Asks for verdicts. Raises a ``StoreError`` if the database cannot be opened."""
    runner()
    assert _judge is not None
    return _judge


def intake() -> Intake:
    """What comes in from elsewhere. Raises a ``StoreError`` if the database cannot be opened."""
    runner()
    assert _intake is not None
    return _intake


def keeping() -> Keeping:
    """Makes backups by the clock. Raises a ``StoreError`` if the database cannot be opened."""
    runner()
    assert _keeping is not None
    return _keeping


def restore(path: Path) -> Backup:
    """Put a backup in place of all sessions; returns the copy of what was there before.

    Raises ``UserError`` while an import runs, ``BadFile`` or a ``StoreError``: then nothing has
    changed, but that runs may have been stopped.
    """
    found = runner()
    arriving = intake().current
    if arriving is not None and arriving.busy:
        raise UserError("An import is on its way.", hint="Wait for its end, or cancel it.")
    with _lock:
        for other in (_watch, _player, _judge):
            if other is not None:
                other.close()
        try:
            return bring_back(found, path)
        finally:
            _attend(found)


def store() -> Store:
    """The store. Raises a ``StoreError`` if it cannot be opened."""
    return runner().store


def close() -> None:
    """Stop every run, keep its words, close the database. The next use opens it again."""
    global _intake, _judge, _keeping, _player, _runner, _watch
    with _lock:
        if _runner is not None:
            for other in (_keeping, _watch, _player, _judge, _intake):
                if other is not None:
                    other.close()
            _runner.close()
            _runner.store.close()
            _runner = _watch = _player = _judge = _intake = _keeping = None
