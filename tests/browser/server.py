"""The real app in a process of its own, which tests may kill and start again."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from core import Store

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds for the app to answer


class Server:
    """``streamlit run app.py`` on a port of its own, over one database that outlives it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.path = folder / "sessions.db"
        self.log = folder / "server.log"
        self.port = _free_port()
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._store: Store | None = None

    @property
    def url(self) -> str:
        """The address of the start page, with a slash at its end."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def store(self) -> Store:
        """The same database, opened by the test."""
        if self._store is None:
            self._store = Store.open(self.path)
        return self._store

    def start(self) -> Self:
        """Start, and wait until it answers."""
        environment = {
            **os.environ,
            "TURNTREE_DB": str(self.path),
            "TURNTREE_ECHO": "1",
            "TURNTREE_MODEL": "tiny",
            **self._environment,
        }
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self.port)],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait()
        return self

    def kill(self) -> None:
        """SIGKILL: no goodbye, nothing flushed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)

    def stop(self) -> None:
        """End it politely, and close the test's own view of the database."""
        if self._store is not None:
            self._store.close()
            self._store = None
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()

    def said(self) -> str:
        """The end of what the app has logged."""
        return self.log.read_text("utf-8", "replace")[-10_000:]

    def _wait(self) -> None:
        assert self._process is not None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.url}_stcore/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise AssertionError(f"The app did not start.\n{self.said()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
