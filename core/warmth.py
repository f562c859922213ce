"""What of the next send the provider still keeps of an earlier one, and for how long."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile

from core.context import system_text, with_parts
from core.policies import Item
from core.store import Store
from core.types import Caching, Node, Run
from core.upcoming import Upcoming, items_of, went_straight
from core.view import View

_SLOW = 3600.0  # seconds that a prompt may take to be read
_OF_A_BRANCH = 3  # runs that are looked at where the plans have to be compared

Upto = Callable[[int], float]
"""The tokens of the system text and so many messages of the next send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warm:
    """The beginning that the provider still keeps. ``until`` is in seconds of the clock."""

    tokens: int
    until: float | None = None


def warmth(
    store: Store, view: View, send: Upcoming, upto: Upto, total: int, keeping: Caching
) -> Warm:
    """The longest beginning that a run of this model has sent within the cache's lifetime."""
    config, oldest = send.config, time.time() - keeping.seconds
    runs = store.runs.sent_since(oldest - _SLOW, view.session.id, config.provider, config.model)
    kept = _Kept(store, view, send, upto, keeping)
    best = Warm(tokens=0)
    for run in runs:
        read_at = (
            datetime.fromisoformat(run.started_at).timestamp() + (run.first_token_ms or 0) / 1e3
        )
        if read_at < oldest or not _same_beginning(run, view, send, keeping):
            continue
        tokens = min(total, round(kept.of(run)))
        if tokens >= max(1, keeping.least) and tokens > best.tokens:
            # What grows old while it is kept has no end that could be told.
            best = Warm(tokens=tokens, until=None if keeping.answers else read_at + keeping.seconds)
    return best


def _same_beginning(run: Run, view: View, send: Upcoming, keeping: Caching) -> bool:
    """Whether the run's system text and the settings that matter are those of the next send."""
    then, now = run.config.sampling, send.config.sampling
    return all(then.get(name) == now.get(name) for name in keeping.bound_to) and system_text(
        run.config, replace(view.session, objective=run.objective)
    ) == system_text(send.config, view.session)


class _Kept:
    """How much of the next send the runs of a session have sent; the latest run is asked first."""

    def __init__(
        self, store: Store, view: View, send: Upcoming, upto: Upto, keeping: Caching
    ) -> None:
        self._store, self._lineage, self._send = store, view.lineage, send
        self._upto, self._keeping = upto, keeping
        self._places = {node.id: place for place, node in enumerate(view.lineage)}
        self._seen: dict[str, int] = {}
        self._items: Sequence[Item] | None = None

    def of(self, run: Run) -> float:
        """The tokens of what the run and the next send begin with in common."""
        straight = self._send.straight and went_straight(run)
        return self._straight(run) if straight else self._planned(run)

    def _straight(self, run: Run) -> float:
        place = self._places.get(run.context_tip_id or "")
        if place is not None:
            size = len(with_parts(self._lineage[: place + 1]))
            after = self._lineage[place + 1 : place + 2]
            return self._sent(run, size, bool(after) and after[0].id == run.node_id)
        if not self._again(run, 1):  # its older ones left this lineage at the same place
            other = self._store.nodes.lineage(run.context_tip_id)
            return self._upto(len(with_parts(other[: _common(other, self._lineage)])))
        return 0.0

    def _planned(self, run: Run) -> float:
        if self._again(run, _OF_A_BRANCH):
            return 0.0
        if self._items is None:
            self._items = self._send.items()
        lineage = self._store.nodes.lineage(run.context_tip_id)
        theirs = items_of(self._store, run, with_parts(lineage))
        pairs = zip(theirs, self._items, strict=False)
        size = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        if size < len(theirs):
            return self._upto(size)
        after = self._items[size : size + 1]
        answered = bool(after) and after[0] == Item(node_id=run.node_id)
        return self._sent(run, size, answered)

    def _sent(self, run: Run, size: int, answered: bool) -> float:
        """The tokens of a run that sent the first ``size`` messages and nothing else."""
        if self._keeping.answers and answered:
            return self._upto(size + 1)
        return self._upto(size) if run.usage.input_tokens is None else run.usage.input_tokens

    def _again(self, run: Run, most: int) -> bool:
        """Whether enough runs of this branch were looked at."""
        seen = self._seen[run.branch_id] = self._seen.get(run.branch_id, 0) + 1
        return seen > most


def _common(one: Sequence[Node], other: Sequence[Node]) -> int:
    """How many nodes two lineages begin with in common: once apart, they stay apart."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[middle - 1].id == other[middle - 1].id:
            low = middle
        else:
            high = middle - 1
    return low
