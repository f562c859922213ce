"""The one process of the embedded model, shared by all runs of this Turntree.

Started by the first run that needs it, kept while it is used, ended when idle, and started
again after a crash. Other weights replace it once the runs on the present ones have ended.
"""

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable

from core.errors import LocalModelError
from core.local import weights as store
from core.local.catalogue import Weights
from core.local.server import Server
from core.local.state import LocalStatus
from core.types import Endpoint, Progress, Stop

IDLE_SECONDS = 15 * 60.0
CRASH_LIMIT = 4
CRASH_SECONDS = 60.0
BACKOFF_SECONDS = 0.5
LOOK_SECONDS = 0.25


class Engine:
    """At most one :class:`Server`, and who uses it. Every method may be called by any thread.

    :meth:`lease` and :meth:`release` frame a use; neither waits for the process.
    """

    def __init__(
        self,
        *,
        idle_seconds: float = IDLE_SECONDS,
        prepare: Callable[[Weights], None] = store.check,
    ) -> None:
        self._idle_seconds = idle_seconds
        self._prepare = prepare
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._users = 0
        self._crashes: deque[float] = deque(maxlen=CRASH_LIMIT)
        self._timer: threading.Timer | None = None
        self._reading: float | None = None
        atexit.register(self.stop)

    def lease(self, weights: Weights) -> Server | None:
        """The server of these weights, starting if it was not there; ``None`` while other
        weights are in use. Every server leased must be released.

        Raises :class:`LocalModelError` when it has crashed too often of late.
        """
        with self._lock:
            server = self._server
            if server is not None and server.is_alive() and server.weights == weights:
                return self._used(server)
            if server is not None and server.is_alive() and self._users > 0:
                return None
            delay = self._note_crash(server)
            old, self._server = server, Server(weights, self._prepare)
            self._users, self._reading = 0, None
            leased = self._used(self._server)
        leased.start(delay, after=old)
        return leased

    def release(self, server: Server) -> None:
        """The use is over; the last one starts the clock of idleness."""
        with self._lock:
            if server is not self._server:
                return
            self._users = max(0, self._users - 1)
            if self._users == 0:
                self._reading = None
                self._timer = threading.Timer(self._idle_seconds, self._stop_if_idle, (server,))
                self._timer.daemon = True
                self._timer.start()

    def ensure(
        self, weights: Weights, stop: Stop, told: Callable[[Progress], None] = lambda _: None
    ) -> Endpoint | None:
        """Wait until the process answers; ``None`` as soon as stopped. Leases nothing.

        Raises :class:`LocalModelError`.
        """
        while not stop.is_set():
            server = self.lease(weights)
            if server is None:
                told(Progress(stage="waiting"))
                stop.wait(LOOK_SECONDS)
                continue
            try:
                while not stop.is_set():
                    endpoint = server.wait(0.0)
                    if endpoint is not None:
                        return endpoint
                    told(Progress(stage="starting"))
                    stop.wait(LOOK_SECONDS)
            finally:
                self.release(server)
        return None

    def age(self, model: str) -> float:
        """For how many seconds the process has served these weights; 0 if it does not."""
        server = self._server
        if server is None or server.weights.id != model or not server.is_alive():
            return 0.0
        return server.age()

    def note_reading(self, share: float | None) -> None:
        """How much of the prompt has been read; ``None`` once words come."""
        self._reading = share

    def status(self) -> LocalStatus | None:
        """How the process is; ``None`` if there is none. Never waits."""
        server = self._server
        if server is None:
            return None
        label, path = server.weights.label, server.weights.path
        if server.error is not None:
            why = server.error.message
            return LocalStatus(state="failed", why=why, model_label=label, path=path)
        if server.is_starting():
            return LocalStatus(state="starting", model_label=label, path=path)
        if server.is_lost():
            why = f"it ended unexpectedly ({server.ending()}); the next message starts it again"
            return LocalStatus(state="failed", why=why, model_label=label, path=path)
        share = self._reading
        if share is not None:
            return LocalStatus(state="reading", share=share, model_label=label, path=path)
        return LocalStatus(state="ready", model_label=label, path=path)

    def stop(self) -> None:
        """End the process, whatever it is doing. The next use starts it again."""
        with self._lock:
            server, self._server = self._server, None
            self._users, self._reading = 0, None
            self._cancel_timer()
        if server is not None:
            server.close()

    def _used(self, server: Server) -> Server:
        self._cancel_timer()
        self._users += 1
        return server

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_if_idle(self, server: Server) -> None:
        with self._lock:
            if self._users > 0 or server is not self._server:
                return
            self._server = None
        server.close()

    def _note_crash(self, server: Server | None) -> float:
        """Count a lost process; the seconds to wait before the next start.

        Raises :class:`LocalModelError` when there were too many within a minute.
        """
        present = time.monotonic()
        if server is not None and server.is_lost() and not server.is_closed:
            self._crashes.append(present)
            server.close()
        recent = [moment for moment in self._crashes if present - moment < CRASH_SECONDS]
        if len(recent) < CRASH_LIMIT:
            return BACKOFF_SECONDS * max(0, len(recent) - 1)
        raise LocalModelError(
            f"The embedded model ended unexpectedly {len(recent)} times within a minute.",
            hint="The machine may be short of memory: choose the tiny model or another one in "
            "Settings, or retry in a minute.",
        )


ENGINE = Engine()
