"""The one store and the one runner of this process, for the pages and the live routes.

A module-level singleton on purpose: Streamlit's caches can be cleared from the page, and that
would orphan every running answer.
"""

import os
import secrets
import threading
from pathlib import Path

from core import Runner, Store
from core.drift import Watch
from core.jobs import Player
from core.judge import Judge

TOKEN = secrets.token_urlsafe(24)
"""Proves to the live routes that a request comes from a page of this process."""

_lock = threading.Lock()
_runner: Runner | None = None
_watch: Watch | None = None
_player: Player | None = None
_judge: Judge | None = None


def database_path() -> Path:
    """Where the sessions live: ``TURNTREE_DB``, or ``sessions.db`` at the top of the folder."""
    named = os.environ.get("TURNTREE_DB")
    return Path(named).expanduser() if named else Path(__file__).parents[1] / "sessions.db"


def runner() -> Runner:
    """The runner; opens the database on first use. Raises a ``StoreError`` if it cannot."""
    global _judge, _player, _runner, _watch
    with _lock:
        if _runner is None:
            _runner = Runner(Store.open(database_path()))
            _watch = Watch(_runner)
            _player = Player(_runner)
            _judge = Judge(_runner)
        return _runner


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


def store() -> Store:
    """The store. Raises a ``StoreError`` if it cannot be opened."""
    return runner().store


def close() -> None:
    """Stop every run, keep its words, close the database. The next use opens it again."""
    global _judge, _player, _runner, _watch
    with _lock:
        if _runner is not None:
            for other in (_watch, _player, _judge):
                if other is not None:
                    other.close()
            _runner.close()
            _runner.store.close()
            _runner = _watch = _player = _judge = None
