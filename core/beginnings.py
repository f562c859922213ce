"""What is worked out once for a list that grows.

A conversation is sent whole on every turn, yet only its last messages are new: what was found
out about its beginning is kept, so that the cost of a turn does not grow with it.
"""

from collections import deque
from collections.abc import Hashable, Sequence
from operator import is_
from threading import Lock
from typing import Generic, TypeVar

State = TypeVar("State")
_KEPT = 32


class Beginnings(Generic[State]):
    """The latest beginnings, each with what was worked out for it.

    They are known by the very objects in them, which must not change: a look costs next to
    nothing, and ``1`` is not taken for ``1.0``, which would be other bytes on the wire.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[Hashable, Sequence[object], State]] = deque(maxlen=_KEPT)
        self._lock = Lock()

    def longest(
        self, items: Sequence[object], first: State, key: Hashable = None
    ) -> tuple[int, State]:
        """How many of the items were met before under ``key``, and what was kept for them;
        ``(0, first)`` for a list that begins like no other."""
        with self._lock:
            kept = tuple(self._kept)
        found = 0, first
        for kept_key, beginning, state in kept:
            size = len(beginning)
            if (
                found[0] < size <= len(items)
                and kept_key == key
                and beginning[-1] is items[size - 1]
                and all(map(is_, beginning, items))
            ):
                found = size, state
        return found

    def keep(self, items: Sequence[object], state: State, key: Hashable = None) -> None:
        """Remember what was worked out for all of the items."""
        with self._lock:
            # In front: the newest is the likeliest, and the longest of its line.
            self._kept.appendleft((key, items, state))
