"""What a run costs, and how large a model's window is: from ``genai-prices``, as an estimate.

Unknown stays unknown, never zero. A person's own price goes first; local models are free.
Source of prices and windows: the data that ships inside the ``genai-prices`` package.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from core.types import Usage

_NANO = Decimal(1_000_000_000)
_NAMES = {"gemini": "google"}  # our provider to theirs, where the names differ


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPrice:
    """A person's own figures: dollars per million tokens, and the window in tokens."""

    input: Decimal | None = None
    cached: Decimal | None = None
    output: Decimal | None = None
    window: int | None = None


def cost(provider: str, model: str, usage: Usage, own: OwnPrice | None = None) -> int | None:
    """The estimated cost in nano-dollars, or None when price or usage is unknown."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if own is not None and own.input is not None and own.output is not None:
        return _own_cost(usage, own)
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    written = min(usage.cache_write_tokens or 0, usage.input_tokens - cached)
    try:
        price = calc_price(
            Counted(
                input_tokens=usage.input_tokens,
                cache_read_tokens=cached,
                cache_write_tokens=written,
                output_tokens=usage.output_tokens,
            ),
            model_ref=model,
            provider_id=_NAMES.get(provider, provider),
        )
    except (LookupError, ValueError):
        return None
    return int(price.total_price * _NANO)


@lru_cache(maxsize=512)
def window(provider: str, model: str) -> int | None:
    """The model's window in tokens, or None when it is unknown."""
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    try:
        found = calc_price(
            Counted(input_tokens=1), model_ref=model, provider_id=_NAMES.get(provider, provider)
        )
    except (LookupError, ValueError):
        return None
    return found.model.context_window


def _own_cost(usage: Usage, own: OwnPrice) -> int:
    assert own.input is not None
    assert own.output is not None
    assert usage.input_tokens is not None
    assert usage.output_tokens is not None
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    read = own.cached if own.cached is not None else own.input
    dollars_per_million = (
        own.input * (usage.input_tokens - cached) + read * cached + own.output * usage.output_tokens
    )
    return int(dollars_per_million * _NANO / 1_000_000)
