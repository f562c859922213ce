"""A send that is more than the window holds: whether it is, and what would make it fit."""

from dataclasses import dataclass, replace

from core.estimate import tokens_of
from core.keys import find
from core.meter import FULL, Scale, measure
from core.models import facts, offered
from core.providers import adapters
from core.store import Store
from core.types import Adapter, Config
from core.upcoming import upcoming
from core.view import View

_MOST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Larger:
    """A model with a known window, in tokens. ``ready`` says that it can be asked as things are."""

    provider: str
    model: str
    label: str
    window: int
    ready: bool


def larger(store: Store, config: Config, tokens: int = 0) -> tuple[Larger, ...]:
    """Models that hold more than the chosen one, and at least ``tokens``: those that can be asked
    at once first, the larger first."""
    now = facts(store, config.provider, config.model).window.value or 0
    found = [
        one
        for name, adapter in adapters().items()
        if not adapter.hidden()
        for one in _of(store, name, adapter)
        if one.window > now and one.window >= tokens
    ]
    found.sort(key=lambda one: (not one.ready, -one.window, one.provider != config.provider))
    return tuple(found[:_MOST])


def _of(store: Store, name: str, adapter: Adapter) -> list[Larger]:
    ready = not adapter.key_names or find(name, adapter.key_names) is not None
    known = [
        (info, facts(store, name, info.id).window.value)
        for info in offered(name, store.providers.own_of(name))
    ]
    return [
        Larger(provider=name, model=info.id, label=info.label, window=window, ready=ready)
        for info, window in known
        if window is not None
    ]


def turns_that_fit(store: Store, view: View, tokens: int) -> int:
    """How many last turns can go with a message of so many tokens: at most as many as are kept
    now, of which fewer where the window is not known and these were too many."""
    config = view.config
    window = facts(store, config.provider, config.model).window.value
    if window is None:
        return config.keep_turns // 2 if config.policy == "last" else config.keep_turns
    scale = Scale(store, view, config)
    for keep in range(config.keep_turns, 0, -1):
        send = upcoming(store, view, replace(config, policy="last", keep_turns=keep))
        if scale.tokens(scale.system + send.weight().total) + scale.attached + tokens < window:
            return keep
    return 0


def overfull(store: Store, view: View, words: str) -> bool:
    """Whether these words are known to be more than still fits into the window, whatever a recap
    that writes itself would take off before."""
    meter = measure(store, view)
    if meter.window is None:
        return False
    tokens = meter.tokens + meter.calibration.factor * tokens_of(words)
    if meter.saving is not None and meter.recap_first:
        tokens -= meter.saving.tokens
    return tokens >= FULL * meter.window
