"""The next send before it is sent: its tokens, its share of the window, what is warm, its price.

The last count that the provider reported for this lineage covers everything up to its answer;
the rest is estimated, by what the model's counts were of late. What is unknown stays unknown.
The cost of a look does not grow with the conversation.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from threading import Lock
from typing import Literal

from core.asking import prepare
from core.branching import new_node
from core.context import system_text
from core.errors import Unsupported, UserError
from core.estimate import Calibration, calibrated, sums, tokens_of
from core.keys import endpoint_of
from core.models import facts, price
from core.providers import adapter, adapters
from core.recap import choices_of
from core.store import Store
from core.types import AttachmentRef, Caching, Config, Node, Run, Session, Text, Usage
from core.view import View

Name = Literal["system", "history", "attachments", "new text"]
NEAR_FULL, FULL = 0.8, 1.0
"""Shares of the window from which on the person is warned."""
_NEAR = 40  # messages from the end among which the last count is looked for
_SLOW = 3600.0  # seconds that a prompt may take to be read
_BYTES_A_TOKEN = 4
_REMEMBERED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """A part of the next send, in tokens."""

    name: Name
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Warm:
    """The beginning that the provider still keeps. ``until`` is in seconds of the clock."""

    tokens: int
    until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """The next send without what is being written. None is unknown; money is nano-dollars.

    ``exact`` says that the provider counted all of it; ``files`` are those that nobody has
    counted, and that are in no number here. ``calibration`` is what new words are estimated by.
    """

    tokens: int
    exact: bool
    parts: tuple[Portion, ...]
    files: int
    calibration: Calibration
    window: int | None = None
    warm: Warm | None = None
    cost: int | None = None
    countable: bool = False

    @property
    def share(self) -> float | None:
        """How much of the window it fills; above 1 it does not fit."""
        return self.tokens / self.window if self.window else None

    @property
    def level(self) -> Literal["fine", "near", "full"]:
        """Whether the person should be warned."""
        share = self.share or 0.0
        return "full" if share >= FULL else "near" if share >= NEAR_FULL else "fine"


def measure(store: Store, view: View, config: Config | None = None) -> Meter:
    """Measure what the next message of a view is sent with, before its own words."""
    config = config or view.config
    found = adapters().get(config.provider)
    scale = _Scale(store, view, config)
    keeping = found.caching(config.model) if found else None
    warm = _warm(store, scale, keeping) if keeping else None
    return Meter(
        tokens=scale.total,
        exact=scale.exact,
        parts=scale.parts(),
        files=scale.files,
        calibration=scale.calibration,
        window=facts(store, config.provider, config.model).window.value,
        warm=warm,
        cost=_cost(store, config, scale.total, warm, keeping),
        countable=found.counts if found else False,
    )


def count(store: Store, view: View, config: Config | None = None) -> int:
    """Have the provider count the next send, with a message of one letter. A real call.

    Raises a ``TurntreeError``: among others ``Unsupported`` where nobody counts.
    """
    config = config or view.config
    found = adapter(config.provider)
    held = store.attachments.pending(view.branch.id)
    node = new_node(view.session.id, view.tip_id, "user", (*held, Text(text="a")))
    choices = choices_of(store, view.branch.id)
    asked = prepare(store, (*view.lineage, node), config, view.session, "reply", choices)
    if asked.failure is not None:
        raise UserError(asked.failure.message, hint=asked.failure.hint)
    tokens = found.count_tokens(asked.request, endpoint_of(found)) if found.counts else None
    if tokens is None:
        raise Unsupported(
            f"{found.label} does not count tokens before sending.",
            hint="The estimate stands; an answer brings the true count.",
        )
    _exact.keep(_key(view, config, held), tokens)
    return tokens


# --- tokens ----------------------------------------------------------------------------------


class _Scale:
    """The tokens of any beginning of a lineage, from the last count and estimates."""

    def __init__(self, store: Store, view: View, config: Config) -> None:
        self.lineage, self.session, self.config = view.lineage, view.session, config
        self.calibration = _calibration(store, config)
        self._sums = sums(self.lineage)
        self._system = _system_tokens(config, view.session)
        self._base, self._known = 0, 0.0  # so many messages come to so many tokens
        self._find_count(store)
        held = store.attachments.pending(view.branch.id)
        uncounted = [*_files(self.lineage[self._base :]), *held]
        counted = _exact.get(_key(view, config, held))
        self.exact = counted is not None
        text = _text_file_tokens(store, uncounted)
        self.attached = 0 if self.exact else self._scaled(sum(text))
        self.files = 0 if self.exact else len(uncounted) - len(text)
        whole = self.upto(len(self.lineage)) + self.attached
        self.total = round(whole) if counted is None else counted

    def upto(self, size: int) -> float:
        """The tokens of system text and the first ``size`` messages, text files left out."""
        if not self._base:
            return self._scaled(self._system + self._sums[size][0])
        if size >= self._base:
            return self._known + self._scaled(self._between(self._base, size))
        whole = self._system + self._sums[self._base][0]
        return self._known * (self._system + self._sums[size][0]) / (whole or 1.0)

    def parts(self) -> tuple[Portion, ...]:
        """What the total is made of, by estimate. What is written now is not in it."""
        system = min(self.total, round(self._scaled(self._system)))
        attached = min(self.total - system, round(self.attached))
        return (
            Portion(name="system", tokens=system),
            Portion(name="history", tokens=self.total - system - attached),
            Portion(name="attachments", tokens=attached),
            Portion(name="new text", tokens=0),
        )

    def _find_count(self, store: Store) -> None:
        """Start from the last answer on this lineage that this model was asked for and counted."""
        start = max(0, len(self.lineage) - _NEAR)
        near = self.lineage[start:]
        runs = store.runs.of_nodes(node.id for node in near if node.role == "assistant")
        for place in range(len(near) - 1, -1, -1):
            run = runs.get(near[place].id)
            counted = _counted(run, self.config) if run else None
            if run is not None and counted is not None:
                then = _system_tokens(run.config, replace(self.session, objective=run.objective))
                self._base = start + place + 1
                self._known = max(0.0, counted + self._scaled(self._system - then))
                return

    def _between(self, start: int, end: int) -> float:
        return self._sums[end][0] - self._sums[start][0]

    def _scaled(self, estimated: float) -> float:
        return estimated * self.calibration.factor


def _counted(run: Run, config: Config) -> int | None:
    """The tokens of everything up to a run's answer; its thinking is not sent again."""
    same = (run.config.provider, run.config.model) == (config.provider, config.model)
    given, answered = run.usage.input_tokens, run.usage.output_tokens
    if not same or given is None or answered is None or run.purpose not in ("reply", "continue"):
        return None
    return given + max(0, answered - (run.usage.reasoning_tokens or 0))


def _calibration(store: Store, config: Config) -> Calibration:
    """Learned from the latest answers of this model, in whatever session."""
    latest = store.runs.counted(config.provider, config.model)
    return calibrated((_estimated(answer.text), answer.tokens) for answer in latest)


_estimated = lru_cache(maxsize=512)(tokens_of)
"""Of answers that a model is learned from, and of system texts: they are looked at every time."""


def _system_tokens(config: Config, session: Session) -> float:
    return _estimated(system_text(config, session))


def _files(nodes: Sequence[Node]) -> list[AttachmentRef]:
    return [part for node in nodes for part in node.parts if isinstance(part, AttachmentRef)]


def _text_file_tokens(store: Store, files: Sequence[AttachmentRef]) -> list[float]:
    """The estimate for each text file. How a provider counts pictures and pages is its own."""
    texts = [file.sha256 for file in files if file.media_type.startswith("text/")]
    sizes = store.attachments.sizes(texts) if texts else {}
    return [sizes[digest] / _BYTES_A_TOKEN for digest in texts if digest in sizes]


# --- what is warm, and the price ---------------------------------------------------------------


def _warm(store: Store, scale: _Scale, keeping: Caching) -> Warm:
    """The longest beginning that a run of this model has sent within the cache's lifetime."""
    config, oldest = scale.config, time.time() - keeping.seconds
    runs = store.runs.sent_since(oldest - _SLOW, scale.session.id, config.provider, config.model)
    places = {node.id: place for place, node in enumerate(scale.lineage)} if runs else {}
    best = Warm(tokens=0)
    branches: set[str] = set()
    for run in runs:
        read_at = (
            datetime.fromisoformat(run.started_at).timestamp() + (run.first_token_ms or 0) / 1e3
        )
        if read_at < oldest or not _same_beginning(run, scale, keeping):
            continue
        place = places.get(run.context_tip_id or "")
        if place is not None:
            shared = _sent(scale, run, place + 1, keeping)
        elif run.branch_id not in branches:  # its older ones left this lineage at the same place
            branches.add(run.branch_id)
            shared = scale.upto(_common(store.nodes.lineage(run.context_tip_id), scale.lineage))
        else:
            continue
        tokens = min(scale.total, round(shared))
        if tokens >= max(1, keeping.least) and tokens > best.tokens:
            # What grows old while it is kept has no end that could be told.
            best = Warm(tokens=tokens, until=None if keeping.answers else read_at + keeping.seconds)
    return best


def _same_beginning(run: Run, scale: _Scale, keeping: Caching) -> bool:
    """Whether the run's system text and the settings that matter are those of the next send."""
    then, now = run.config.sampling, scale.config.sampling
    return all(then.get(name) == now.get(name) for name in keeping.bound_to) and system_text(
        run.config, replace(scale.session, objective=run.objective)
    ) == system_text(scale.config, scale.session)


def _sent(scale: _Scale, run: Run, size: int, keeping: Caching) -> float:
    """The tokens of a run that sent the first ``size`` messages of this very lineage."""
    answered = size < len(scale.lineage) and scale.lineage[size].id == run.node_id
    if keeping.answers and answered:
        return scale.upto(size + 1)
    return scale.upto(size) if run.usage.input_tokens is None else run.usage.input_tokens


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


def _cost(
    store: Store, config: Config, total: int, warm: Warm | None, keeping: Caching | None
) -> int | None:
    """What the input costs; the answer comes on top."""
    cached = warm.tokens if warm else 0
    written = total - cached if keeping and keeping.writes and total >= keeping.least else 0
    usage = Usage(
        input_tokens=total, output_tokens=0, cached_tokens=cached, cache_write_tokens=written
    )
    return price(store, config.provider, config.model, None, usage)


# --- exact counts ------------------------------------------------------------------------------


class _Exact:
    """The latest counts that were asked for, kept while the process runs."""

    def __init__(self) -> None:
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> int | None:
        return self._counts.get(key)

    def keep(self, key: bytes, tokens: int) -> None:
        with self._lock:
            self._counts[key] = tokens
            while len(self._counts) > _REMEMBERED:
                self._counts.popitem(last=False)


_exact = _Exact()


def _key(view: View, config: Config, held: Sequence[AttachmentRef]) -> bytes:
    """What a count is a count of."""
    told = (
        view.session.id,
        view.tip_id,
        system_text(config, view.session),
        (config.provider, config.model, sorted(config.sampling.items())),
        [file.sha256 for file in held],
    )
    return blake2b(repr(told).encode("utf-8", "replace"), digest_size=16).digest()
