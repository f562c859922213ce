"""One child process that serves one GGUF file, from its start to its end."""

import http.client
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import psutil

from core.errors import LocalModelError
from core.local.catalogue import Weights
from core.types import Endpoint

SCRIPT = Path(__file__).with_name("serve.py")
START_SECONDS = 180.0
END_SECONDS = 2.0
DEFAULT_CONTEXT = 8192
BATCH = 64
CACHE_MIB = 1024
"""Memory for the prompts of other branches, so that changing branches re-reads nothing."""


def context_size() -> int:
    """The window in tokens: ``TURNTREE_CONTEXT``, or 8192."""
    given = os.environ.get("TURNTREE_CONTEXT", "").strip()
    return int(given) if given.isdigit() and int(given) >= 256 else DEFAULT_CONTEXT


def thread_count() -> int:
    """Threads that compute: ``TURNTREE_THREADS``, or about one a physical core.

    Up to four cores all are used: there the second thread of a core still helps.
    """
    given = os.environ.get("TURNTREE_THREADS", "").strip()
    if given.isdigit() and int(given) > 0:
        return int(given)
    affinity = getattr(os, "sched_getaffinity", None)
    usable = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(usable, max(4, psutil.cpu_count(logical=False) or 1))


class Server:
    """A child process with one model. Starting happens aside; :meth:`wait` looks at it.

    ``prepare`` runs first, in the thread that starts the process: it may take a while and
    may raise :class:`LocalModelError`.
    """

    def __init__(self, weights: Weights, prepare: Callable[[Weights], None]) -> None:
        self.weights = weights
        self.error: LocalModelError | None = None
        self.endpoint: Endpoint | None = None
        self._prepare = prepare
        self._process: subprocess.Popen[str] | None = None
        self._words: IO[bytes] | None = None
        self._closed = self._lost = False
        self._began: float | None = None
        self._lock = threading.Lock()
        self._settled = threading.Event()

    def start(self, delay: float = 0.0, after: "Server | None" = None) -> None:
        """Begin to start the process; returns at once.

        ``after`` is ended first (two models may not fit in memory), then ``delay`` seconds
        are waited.
        """
        threading.Thread(
            target=self._run, args=(delay, after), name="embedded model", daemon=True
        ).start()

    def wait(self, seconds: float) -> Endpoint | None:
        """The endpoint once it answers; ``None`` if still starting after ``seconds``.

        Raises :class:`LocalModelError` if it could not be started.
        """
        if not self._settled.wait(seconds):
            return None
        if self.error is not None:
            raise self.error
        return self.endpoint

    @property
    def pid(self) -> int | None:
        """The child's process id, once there is one."""
        return self._process.pid if self._process else None

    @property
    def is_closed(self) -> bool:
        """Whether :meth:`close` has been called."""
        return self._closed

    def is_starting(self) -> bool:
        """Whether it is not yet known how the start ends."""
        return not self._settled.is_set()

    def is_alive(self) -> bool:
        """Whether the process answers, or may do so soon."""
        if self._closed or self.error is not None:
            return False
        return self.is_starting() or (self._process is not None and self._process.poll() is None)

    def age(self) -> float:
        """Seconds since it first answered; 0 before."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def is_lost(self, within: float = 0.0) -> bool:
        """Whether the process ended, or does within some seconds, without being told to.

        Its connections break a moment before the process itself is gone.
        """
        process = self._process
        if self._closed or self.endpoint is None or process is None:
            return self._lost
        if process.poll() is None and within:
            with suppress(subprocess.TimeoutExpired):
                process.wait(within)
        return not self._closed and process.poll() is not None

    def ending(self) -> str:
        """In words, how a lost process ended."""
        code = self._process.poll() if self._process else None
        if code is None:
            return "it ended"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def close(self) -> None:
        """End the process; safe at any moment and more than once."""
        with self._lock:
            self._lost = self.is_lost()
            self._closed = True
            process = self._process
        if process is None:
            return
        _close_quietly(process.stdin)  # the child's signal to go
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        _close_quietly(process.stdout)

    def _run(self, delay: float, after: "Server | None") -> None:
        try:
            if after is not None:
                after.close()
            self._prepare(self.weights)
            time.sleep(delay)
            self.endpoint = self._launch()
            self._began = time.monotonic()
        except LocalModelError as error:
            self.error = error
            self.close()
        except Exception as error:  # noqa: BLE001 (nobody would hear it in this thread)
            self.error = LocalModelError(f"The embedded model did not start: {error}.")
            self.close()
        finally:
            if self._words is not None:
                self._words.close()
            self._settled.set()

    def _launch(self) -> Endpoint:
        key = secrets.token_urlsafe(24)
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (closed when started)
        with self._lock:
            if self._closed:
                raise LocalModelError("The embedded model was stopped while it started.")
            self._process = _spawn(self._words)
        clock = threading.Timer(START_SECONDS, self._process.kill)
        clock.daemon = True
        clock.start()
        try:
            answer = _exchange(self._process, self._settings(key))
        finally:
            clock.cancel()
        if "url" not in answer:
            raise self._refusal(answer)
        _check_health(answer["url"])
        return Endpoint(base_url=f"{answer['url']}/v1", api_key=key)

    def _settings(self, key: str) -> dict[str, Any]:
        return {
            "path": str(self.weights.path),
            "alias": self.weights.id,
            "context": context_size(),
            "threads": thread_count(),
            "batch": BATCH,
            "cache_mib": CACHE_MIB,
            "api_key": key,
        }

    def _refusal(self, answer: dict[str, str]) -> LocalModelError:
        """What the child said, or left unsaid, as something a person can act on."""
        if self._closed:
            return LocalModelError("The embedded model was stopped while it started.")
        if answer.get("kind") == "import":
            return _import_error(answer["error"])
        if answer.get("kind") == "load":
            return LocalModelError(
                f"{self.weights.label} cannot be loaded: {self._last_words(answer['error'])}.",
                hint="Choose another model in Settings, or a GGUF file that llama.cpp can read.",
            )
        if self._process is not None:
            self._process.wait()
        return LocalModelError(
            f"The embedded model's process ended while loading ({self.ending()}).",
            hint="The machine may be short of memory: close other programs, choose the tiny "
            "model (TURNTREE_MODEL=tiny), or another one in Settings.",
        )

    def _last_words(self, otherwise: str) -> str:
        """The runtime's own reason, from what it printed."""
        if self._words is None:
            return otherwise
        self._words.seek(0)
        for line in self._words.read(20_000).decode("utf-8", "replace").splitlines():
            _, found, reason = line.partition("error loading model: ")
            if found:
                return reason.strip().rstrip(".")
        return otherwise.rstrip(".")


def _import_error(words: str) -> LocalModelError:
    if "libgomp" in words:
        return LocalModelError(
            "The embedded model needs the system library libgomp, which is not installed.",
            hint="Install it (Debian, Ubuntu: `apt-get install libgomp1`), then retry.",
        )
    return LocalModelError(
        f"The embedded model's runtime cannot be loaded: {words}.",
        hint="Install the requirements again with `make run`, or choose another model.",
    )


def _spawn(words: IO[bytes]) -> subprocess.Popen[str]:
    """The child, in a session of its own: Ctrl-C in the terminal is the app's to hear."""
    return subprocess.Popen(
        [sys.executable, "-P", str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=words,
        text=True,
        start_new_session=True,
    )


def _exchange(process: subprocess.Popen[str], settings: dict[str, Any]) -> dict[str, str]:
    """Hand over the settings and read the answer; empty if the child says nothing."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(settings) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except (OSError, ValueError):
        return {}
    return dict(json.loads(line)) if line else {}


def _check_health(url: str) -> None:
    """One look at the server's own health page, past any proxy."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        connection.request("GET", "/health")
        status = connection.getresponse().status
    except OSError as error:
        raise LocalModelError("The embedded model started but does not answer.") from error
    finally:
        connection.close()
    if status != http.client.OK:
        raise LocalModelError(f"The embedded model started but answers with status {status}.")


def _close_quietly(stream: IO[str] | None) -> None:
    if stream is not None:
        with suppress(OSError):  # the other end may be gone already
            stream.close()
