"""The models of a provider: what it lists, what is known of each, and from whom.

A list is a real call, kept until somebody asks for it anew. A figure is a person's own, or else
from the provider's list, or else published, or else unknown, and never zero instead.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Generic, Literal, TypeVar

from core.errors import Timeout
from core.keys import endpoint_of
from core.prices import cost, rates
from core.providers import adapter, adapters, learn, learned, model_info
from core.store import Store
from core.store.providers import ModelList
from core.types import Adapter, Call, Delta, Message, ModelInfo, OwnPrice, Stop, Text, Usage
from core.wire.connections import heard

Value = TypeVar("Value")
Result = TypeVar("Result")
Source = Literal["yours", "list", "genai-prices", "built in", "free", "unknown"]
PATIENCE = 20.0
"""Seconds that somebody who looks on waits for a list or a word."""
_WORD = "Answer with the one word: yes"


@dataclass(frozen=True, slots=True)
class Known(Generic[Value]):
    """A figure and who says so; the value is None exactly when the source is ``unknown``."""

    value: Value | None
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a model. Prices are dollars per million tokens; the rest is tokens."""

    info: ModelInfo
    window: Known[int]
    output_limit: Known[int]
    input: Known[Decimal]
    cached: Known[Decimal]
    output: Known[Decimal]
    dearer_above: int | None = None


def offered(provider: str, own: Iterable[str] = ()) -> tuple[ModelInfo, ...]:
    """The models to choose from: the suggested ones first, then the list's, then a person's own."""
    found = adapters().get(provider)
    suggested = [info.id for info in found.models()] if found else []
    listed = learned(provider)
    # What the provider does not list cannot be had; without a list, who knows.
    first = [name for name in suggested if name in listed] if listed else suggested
    names = dict.fromkeys([*first, *listed, *own])
    return tuple(model_info(provider, name) for name in names)


def facts(store: Store, provider: str, model: str) -> Facts:
    """All that is known of one model, and from whom."""
    return _facts(provider, model, store.providers.own(provider, model))


def table(store: Store, provider: str) -> list[Facts]:
    """The same of every model that is offered."""
    own = store.providers.own_of(provider)
    return [_facts(provider, info.id, own.get(info.id)) for info in offered(provider, own)]


def price(
    store: Store, provider: str, model: str, resolved: str | None, usage: Usage
) -> int | None:
    """What a run cost, in nano-dollars; ``resolved`` is the model that really answered.

    A person's own price first, nothing where it is free, else the published one; else None.
    """
    own = store.providers.own_of(provider)
    figures = own.get(model) or (own.get(resolved) if resolved else None)
    if model_info(provider, model).free:
        if figures is None or (figures.input, figures.cached, figures.output) == (None, None, None):
            return 0
        figures = _rest_free(figures)
    found = cost(provider, resolved, usage, figures) if resolved else None
    return found if found is not None else cost(provider, model, usage, figures)


def _rest_free(own: OwnPrice) -> OwnPrice:
    """A person's figures of a model that costs nothing but what they say."""
    cached = own.cached if own.cached is not None else own.input
    zero = Decimal(0)
    return replace(own, input=own.input or zero, cached=cached or zero, output=own.output or zero)


# --- real calls ------------------------------------------------------------------------------


def refresh(store: Store, provider: str, patience: float = PATIENCE) -> ModelList:
    """Ask the provider for its models, and keep the list. Raises a ``TurntreeError``."""
    found = adapter(provider)
    models = _within(patience, found, lambda _: found.list_models(endpoint_of(found)))
    learn(provider, models)
    return store.providers.keep_list(provider, models)


def ask_one_word(provider: str, model: str, patience: float = PATIENCE) -> None:
    """Ask the model the smallest question, and hang up at its first word.

    The only test of a key where the list is public. Raises a ``TurntreeError``.
    """
    found = adapter(provider)
    call = Call(model=model, messages=(Message(role="user", parts=(Text(text=_WORD),)),))

    def ask(stop: Stop) -> None:
        stream = found.stream(found.build(call), endpoint_of(found), stop)
        for event in stream:
            if isinstance(event, Delta):
                stop.set()

    _within(patience, found, ask)


def _within(patience: float, found: Adapter, make: Callable[[Stop], Result]) -> Result:
    """Make a call that is hung up when nobody wants to wait any longer."""
    stop, done, caught = Stop(), [], []

    def work() -> None:
        try:
            with heard(stop):
                done.append(make(stop))
        except BaseException as error:  # noqa: BLE001 - whoever waits hears it
            caught.append(error)

    thread = threading.Thread(target=work, name="turntree-asking", daemon=True)
    thread.start()
    thread.join(patience)
    if thread.is_alive():
        stop.set()
        raise Timeout(
            f"{found.label} gave no answer within {patience:.0f} seconds.",
            hint="Check the address; if it is right, the server may be busy. Then try again.",
            provider=found.name,
        )
    if caught:
        raise caught[0]
    return done[0]


# --- figures ---------------------------------------------------------------------------------


def _facts(provider: str, model: str, own: OwnPrice | None) -> Facts:
    info, own = model_info(provider, model), own or OwnPrice()
    listed, published = learned(provider).get(model), rates(provider, model)
    zero = Decimal(0) if info.free else None

    def money(mine: Decimal | None, theirs: Decimal | None) -> Known[Decimal]:
        return _first(("yours", mine), ("free", zero), ("genai-prices", theirs))

    return Facts(
        info=info,
        window=_first(
            ("yours", own.window),
            ("list", listed.window if listed else None),
            ("genai-prices", published.window),
            ("built in", info.window),
        ),
        output_limit=_first(
            ("yours", own.output_limit),
            ("list", listed.output_limit if listed else None),
            ("built in", info.output_limit),
        ),
        input=money(own.input, published.input),
        cached=money(own.cached, published.cached if own.input is None else None),
        output=money(own.output, published.output),
        dearer_above=published.dearer_above if own.input is None and not info.free else None,
    )


def _first(*told: tuple[Source, Value | None]) -> Known[Value]:
    return next(
        (Known(value, source) for source, value in told if value is not None),
        Known(None, "unknown"),
    )
