"""Fetch a model while the app runs, and say how far it is without ever waiting."""

import atexit
import threading
from dataclasses import dataclass

from core.errors import LocalModelError
from core.local import catalogue, weights
from core.local.catalogue import Entry
from core.local.state import LocalStatus
from core.local.weights import Source
from core.types import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """One fetch at one moment: under way unless ``done``; ``why`` tells a failure."""

    entry: Entry
    share: float | None = None
    done: bool = False
    why: str = ""


class Fetcher:
    """At most one fetch at a time, in a thread of its own."""

    def __init__(self, order: tuple[Source, ...] | None = None) -> None:
        self._order = order
        self._lock = threading.Lock()
        self._now: Fetching | None = None
        self._stop = Stop()
        atexit.register(self.stop)

    def start(self, name: str) -> bool:
        """Begin to fetch the catalogue's entry ``name``; false if a fetch is under way.

        Raises :class:`LocalModelError` for a name that is not in the catalogue.
        """
        entry = catalogue.entry(name)
        with self._lock:
            if self._now is not None and not self._now.done:
                return False
            self._now, self._stop = Fetching(entry=entry), Stop()
            stop = self._stop
        threading.Thread(
            target=self._run, args=(entry, stop), name="fetch model", daemon=True
        ).start()
        return True

    def stop(self) -> None:
        """Break the fetch off; what has arrived is kept for the next one."""
        self._stop.set()

    def now(self) -> Fetching | None:
        """The present or last fetch."""
        return self._now

    def status(self) -> LocalStatus | None:
        """A fetch under way or failed as a status; ``None`` if there is nothing to say."""
        fetching = self._now
        if fetching is None or (fetching.done and not fetching.why):
            return None
        if fetching.done and weights.is_present(fetching.entry):
            return None
        return LocalStatus(
            state="failed" if fetching.done else "fetching",
            share=fetching.share,
            why=fetching.why,
            model_label=fetching.entry.label,
            path=catalogue.weights_of(fetching.entry).path,
        )

    def _run(self, entry: Entry, stop: Stop) -> None:
        def told(share: float | None, _words: str) -> None:
            self._now = Fetching(entry=entry, share=share)

        try:
            weights.fetch(entry, told, stop, self._order)
            self._now = Fetching(entry=entry, done=True)
        except LocalModelError as error:
            self._now = Fetching(entry=entry, done=True, why=f"{error.message} {error.hint}")
        except Exception as error:  # noqa: BLE001 (nobody would hear it in this thread)
            self._now = Fetching(entry=entry, done=True, why=str(error) or type(error).__name__)


FETCHER = Fetcher()
