"""What every test stands on: a database of its own, a runner, and no way out of this machine."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from core import Config, Runner, Session, Store

ECHO = Config(provider="echo", model="echo-1")
LOOPBACK = ("127.0.0.1", "::1", "localhost")

# The same examples on every machine: a red test is red for everybody.
settings.register_profile("turntree", deadline=None, derandomize=True, database=None)
settings.load_profile("turntree")


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every socket but loopback ones and those of this machine's own files."""

    def guarded(name: str) -> None:
        original = getattr(socket.socket, name)

        def refuse(self: socket.socket, *args: Any) -> Any:
            host = args[-1][0] if isinstance(args[-1], tuple) else None
            if self.family != socket.AF_UNIX and host not in LOOPBACK:
                raise AssertionError(f"a test tried to reach {args[-1]}")
            return original(self, *args)

        monkeypatch.setattr(socket.socket, name, refuse)

    for name in ("connect", "connect_ex", "sendto"):
        guarded(name)


@pytest.fixture(autouse=True)
def echo_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNTREE_ECHO", "1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's database is, or will be."""
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


@pytest.fixture
def runner(store: Store) -> Iterator[Runner]:
    made = Runner(store)
    yield made
    made.close()


@pytest.fixture
def session(store: Store) -> Session:
    """An empty session that the scripted provider answers."""
    return store.sessions.create(config=ECHO)


@pytest.fixture
def main(session: Session) -> str:
    """The id of the session's first branch."""
    assert session.current_branch_id is not None
    return session.current_branch_id
