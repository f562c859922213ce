"""The thread that saves running answers a few times a second, and sweeps up dead ones."""

import logging
import threading
from collections.abc import Callable, Sequence

from core.live import Live
from core.store import Store

SAVE_SECONDS = 0.25
SWEEP_SECONDS = 3.0
_log = logging.getLogger("turntree")


class Keeper:
    """Saves what ``lives()`` holds while there is any, and calls ``sweep`` every few seconds.

    A thread of its own, on a clock: an answer that falls silent is saved to its last word, and
    no stream ever waits for the disk.
    """

    def __init__(
        self, store: Store, lives: Callable[[], Sequence[Live]], sweep: Callable[[], object]
    ) -> None:
        self._store = store
        self._lives = lives
        self._sweep = sweep
        self._woken = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._keep, name="turntree-keeper", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is something to save from now on."""
        self._woken.set()

    def close(self) -> None:
        """End the thread."""
        self._closed = True
        self._woken.set()
        self._thread.join(5)

    def _keep(self) -> None:
        since_sweep = 0.0
        while not self._closed:
            pause = SAVE_SECONDS if self._lives() else SWEEP_SECONDS
            if not self._woken.wait(pause):
                since_sweep += pause
            self._woken.clear()
            try:
                for live in self._lives():
                    self._save(live)
                if since_sweep >= SWEEP_SECONDS:
                    since_sweep = 0.0
                    self._sweep()
            except Exception:  # noqa: BLE001 - a full disk today may have room in a second
                _log.exception("a running answer could not be saved; trying again")

    def _save(self, live: Live) -> None:
        if live.done.is_set() or not live.unsaved():
            return
        position = len(live.deltas)
        if not self._store.runs.save_partial(live.run.id, live.parts(), live.run.owner):
            live.stop.set()  # swept up by another process: the words there are the ones kept
        live.saved = position
