"""The next send before it is sent: its tokens, its share of the window, what is warm, its price.

Measured is what the branch's context policy and choices really send of it. The last count that the
provider reported for this lineage is where it starts; what is more or less than then is estimated,
by what the model's counts were of late. What is unknown stays unknown.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from threading import Lock
from typing import Literal

from core.asking import prepare
from core.context import system_text, with_parts
from core.errors import Unsupported, UserError
from core.estimate import Calibration, calibrated, sums, tokens_of
from core.keys import endpoint_of
from core.models import facts, price
from core.policies import POLICIES
from core.providers import adapter, adapters
from core.store import Store
from core.types import AttachmentRef, Caching, Config, Node, Run, Session, Text, Usage
from core.upcoming import Upcoming, upcoming, weight_of, went_straight
from core.view import View
from core.warmth import Warm, warmth

Name = Literal["system", "recap", "history", "attachments", "tools", "new text"]
NEAR_FULL, FULL = 0.8, 1.0
"""Shares of the window from which on the person is warned."""
_NEAR = 40  # messages from the end among which the last count is looked for
_BYTES_A_TOKEN = 4
_REMEMBERED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """A part of the next send, in tokens."""

    name: Name
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What a recap would take off the next send, by estimate, with ``keep`` turns left verbatim.

    ``cost`` is nano-dollars of that one send: less than nothing where what is warm would be lost.
    """

    tokens: int
    keep: int
    cost: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """The next send without what is being written. None is unknown; money is nano-dollars.

    ``exact`` says that the provider counted all of it; ``files`` are those that nobody has
    counted, and that are in no number here. ``calibration`` is what new words are estimated by.
    ``recap_first`` says that a recap will be written before, of which the length is guessed.
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
    saving: Saving | None = None
    recap_first: bool = False

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
    scale = Scale(store, view, config)
    keeping = found.caching(config.model) if found else None
    warm = _warm(store, scale, keeping) if keeping else None
    cost = _cost(store, config, scale.total, warm, keeping)
    window = facts(store, config.provider, config.model).window.value
    saving = _saving(store, view, scale, keeping, cost)
    return Meter(
        tokens=scale.total,
        exact=scale.exact,
        parts=scale.parts(),
        files=scale.files,
        calibration=scale.calibration,
        window=window,
        warm=warm,
        cost=cost,
        countable=found.counts if found else False,
        saving=saving,
        recap_first=scale.send.cut is not None
        or (saving is not None and reached(view.session, scale.total, window)),
    )


def reached(session: Session, tokens: int, window: int | None) -> bool:
    """Whether so many tokens are the share of the window at which a recap writes itself."""
    share = session.auto_recap
    return share is not None and window is not None and tokens >= share * window


def sizes(store: Store, view: View, config: Config | None = None) -> dict[str, int]:
    """How many tokens the next send of a view takes under each context policy, by its name."""
    config = config or view.config
    scale = Scale(store, view, config)
    found: dict[str, int] = {}
    for policy in POLICIES:
        send = upcoming(store, view, replace(config, policy=policy))
        found[policy] = round(scale.tokens(scale.system + send.weight().total) + scale.attached)
    return found


def count(store: Store, view: View, config: Config | None = None) -> int:
    """Have the provider count the next send, with a message of one letter. A real call.

    Raises a ``TurntreeError``: among others ``Unsupported`` where nobody counts.
    """
    config = config or view.config
    found = adapter(config.provider)
    send = upcoming(store, view, config, words=(Text(text="a"),))
    lineage = (*view.lineage, send.coming)
    asked = prepare(store, lineage, config, view.session, "reply", send.written)
    if asked.failure is not None:
        raise UserError(asked.failure.message, hint=asked.failure.hint)
    tokens = found.count_tokens(asked.request, endpoint_of(found)) if found.counts else None
    if tokens is None:
        raise Unsupported(
            f"{found.label} does not count tokens before sending.",
            hint="The estimate stands; an answer brings the true count.",
        )
    _exact.keep(_key(view, send), tokens)
    return tokens


# --- tokens ----------------------------------------------------------------------------------


class Scale:
    """Estimates of the next send and of parts of it, as tokens of the model that is asked.

    ``system`` is the estimate of the system text, ``weight`` that of the messages.
    """

    def __init__(self, store: Store, view: View, config: Config) -> None:
        self.view, self.config = view, config
        self.calibration = _calibration(store, config)
        self.send = upcoming(store, view, config)
        self.weight = self.send.weight()
        self.system = _system_tokens(config, view.session)
        self._then, self._known = 0.0, 0.0  # of what was counted: its estimate, and its tokens
        uncounted = self._find_count(store)
        counted = _exact.get(_key(view, self.send))
        self.exact = counted is not None
        text = _text_file_tokens(store, uncounted)
        self.attached = 0 if self.exact else self._scaled(sum(text))
        self.files = 0 if self.exact else len(uncounted) - len(text)
        whole = self.tokens(self.system + self.weight.total) + self.attached
        self.total = round(whole) if counted is None else counted

    def tokens(self, estimated: float) -> float:
        """What an estimate of system text and messages comes to; text files left out."""
        if not self._then:
            return self._scaled(estimated)
        if estimated >= self._then:
            return self._known + self._scaled(estimated - self._then)
        return self._known * estimated / self._then

    def upto(self, size: int) -> float:
        """The tokens of the system text and the first ``size`` messages of what is sent."""
        return self.tokens(self.system + self.weight.ends[size])

    def parts(self) -> tuple[Portion, ...]:
        """What the total is made of, by estimate. What is written now is not in it."""
        left, found = self.total, {}
        for name, tokens in (
            ("system", self._scaled(self.system)),
            ("attachments", self.attached),
            ("recap", self._scaled(self.weight.recap)),
            ("new text", self._scaled(tokens_of(self.send.coming.sent_suffix))),
        ):
            found[name] = min(left, round(tokens))
            left -= found[name]
        return (
            Portion(name="system", tokens=found["system"]),
            Portion(name="recap", tokens=found["recap"]),
            Portion(name="history", tokens=left),
            Portion(name="attachments", tokens=found["attachments"]),
            Portion(name="tools", tokens=0),
            Portion(name="new text", tokens=found["new text"]),
        )

    def _find_count(self, store: Store) -> Sequence[AttachmentRef]:
        """Start from the last answer on this lineage that this model was asked for and counted.

        Returns the files that are not in that count.
        """
        lineage, session = self.view.lineage, self.view.session
        start = max(0, len(lineage) - _NEAR)
        near = lineage[start:]
        runs = store.runs.of_nodes(node.id for node in near if node.role == "assistant")
        for place in range(len(near) - 1, -1, -1):
            run = runs.get(near[place].id)
            counted = _counted(run, self.config) if run else None
            if run is not None and counted is not None:
                then = _system_tokens(run.config, replace(session, objective=run.objective))
                self._known = max(0.0, counted + self._scaled(self.system - then))
                return self._start_from(store, run, start + place)
        return self._attachments(with_parts(lineage), ())

    def _start_from(self, store: Store, run: Run, place: int) -> Sequence[AttachmentRef]:
        """Note what the count of the answer at ``place`` was a count of."""
        lineage = self.view.lineage
        answer = sums(lineage)[place + 1][0] - sums(lineage)[place][0]
        before = with_parts(lineage[:place])
        weight = weight_of(store, run, before)
        self._then = self.system + weight.total + answer
        if self.send.straight and went_straight(run):
            return self._attachments(with_parts(lineage[place + 1 :]), ())
        counted = _files(before) if went_straight(run) else weight.files
        return self._attachments(self.send.nodes[:-1], counted)

    def _attachments(
        self, nodes: Sequence[Node], counted: Sequence[tuple[str, AttachmentRef]]
    ) -> Sequence[AttachmentRef]:
        """The files among what is sent that were not counted; ``nodes`` may bring some."""
        if self.send.straight:
            sent = [*_files(nodes), *_files(self.send.nodes[-1:])]
        else:
            sent = list(self.weight.files)
        return [file for node_id, file in sent if (node_id, file) not in set(counted)]

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


def _files(nodes: Sequence[Node]) -> list[tuple[str, AttachmentRef]]:
    return [
        (node.id, part) for node in nodes for part in node.parts if isinstance(part, AttachmentRef)
    ]


def _text_file_tokens(store: Store, files: Sequence[AttachmentRef]) -> list[float]:
    """The estimate for each text file. How a provider counts pictures and pages is its own."""
    texts = [file.sha256 for file in files if file.media_type.startswith("text/")]
    sizes = store.attachments.sizes(texts) if texts else {}
    return [sizes[digest] / _BYTES_A_TOKEN for digest in texts if digest in sizes]


# --- the price, and what a recap would save ------------------------------------------------------


def _warm(store: Store, scale: Scale, keeping: Caching) -> Warm:
    return warmth(store, scale.view, scale.send, scale.upto, scale.total, keeping)


def _saving(
    store: Store, view: View, scale: Scale, keeping: Caching | None, cost: int | None
) -> Saving | None:
    """What a recap would save; None where there is nothing to recap, or one goes first anyway."""
    if scale.config.policy == "auto":
        return None
    send = upcoming(store, view, scale.config, recapped=True)
    if send.choices == scale.send.choices:
        return None
    then = scale.tokens(scale.system + send.total()) + scale.attached
    saved = scale.total - round(then)
    if saved <= 0:
        return None
    # Of what is warm, the system text alone comes before a recap.
    kept = round(scale.tokens(scale.system))
    warm = Warm(tokens=kept if keeping and kept >= keeping.least else 0)
    costs = _cost(store, scale.config, round(then), warm, keeping)
    less = cost - costs if cost is not None and costs is not None else None
    return Saving(tokens=saved, keep=scale.config.keep_turns, cost=less)


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


def _key(view: View, send: Upcoming) -> bytes:
    """What a count is a count of."""
    config, choices = send.config, send.choices
    told = (
        view.session.id,
        view.tip_id,
        system_text(config, view.session),
        (config.provider, config.model, sorted(config.sampling.items())),
        (config.policy, config.keep_turns, choices.recap and choices.recap.id),
        (sorted(choices.pinned), sorted(choices.muted)),
        send.coming.sent_suffix,
        [file.sha256 for _, file in _files([send.coming])],
    )
    return blake2b(repr(told).encode("utf-8", "replace"), digest_size=16).digest()
