"""Which runs stream in this process, and who wants to hear of them."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from core.live import Live
from core.store import Store
from core.types import CONVERSATION, Delta, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Something happened that open pages want to know: ``kind`` is started, ended or changed."""

    kind: str
    session_id: str
    run_id: str | None = None
    branch_id: str | None = None
    node_id: str | None = None


class Roster:
    """The runs that stream now, looked at from any thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._live: dict[str, Live] = {}
        self._lock = threading.Lock()
        self._listeners: list[Callable[[News], None]] = []

    def live(self, run_id: str) -> Live | None:
        """The run as it streams, while this process owns it."""
        return self._live.get(run_id)

    def lives(self) -> list[Live]:
        """Every run that streams now."""
        with self._lock:
            return list(self._live.values())

    def live_in(self, session_id: str) -> list[Live]:
        """The session's runs that stream now."""
        return [live for live in self.lives() if live.run.session_id == session_id]

    def answering(self, branch_id: str, tip_id: str | None) -> Run | None:
        """The run, of any process, that is about to answer this tip for this branch."""
        for run in self.store.runs.not_ended():
            here = run.branch_id == branch_id and run.context_tip_id == tip_id
            if here and run.purpose in CONVERSATION:
                return run
        return None

    def follow(self, run_id: str) -> Iterator[Delta]:
        """Every word of a run from its beginning, as it comes; ends with the run."""
        live = self.live(run_id)
        position = 0
        while live is not None:
            done = live.done.is_set()
            yield from live.deltas[position : (position := len(live.deltas))]
            if done:
                return
            live.more_than(position)

    def wait(self, run_id: str, timeout: float | None = None) -> Run:
        """Wait until a run of this process has ended, and return it."""
        if live := self.live(run_id):
            live.done.wait(timeout)
        return self.store.runs.get(run_id)

    def listen(self, callback: Callable[[News], None]) -> Callable[[], None]:
        """Be told of news, from any thread; returns how to stop listening."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    def announce(self, session_id: str, kind: str = "changed", **more: str | None) -> None:
        """Tell every listener."""
        for callback in tuple(self._listeners):
            callback(News(kind=kind, session_id=session_id, **more))

    def _register(self, live: Live) -> Live:
        # Before the run is written, so that no sweep takes it for an orphan.
        with self._lock:
            self._live[live.run.id] = live
        return live

    def _forget(self, live: Live) -> None:
        with self._lock:
            self._live.pop(live.run.id, None)
        live.end()
