"""What a run costs, and how large a model's window is: from ``genai-prices``, as an estimate.

Unknown stays unknown, never zero. A person's own price goes first; local models are free.
Whose prices hold is told by the address a provider answers at, so that a named server has those
of the company behind it, and a stranger's has none. Source of prices and windows: the data that
ships inside the ``genai-prices`` package.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from core.providers import adapters
from core.types import OwnPrice, Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

_NANO = Decimal(1_000_000_000)
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What is published of a model: dollars per million tokens, the window in tokens.

    ``dearer_above`` is the length of input, in tokens, beyond which other prices hold.
    """

    input: Decimal | None = None
    cached: Decimal | None = None
    output: Decimal | None = None
    window: int | None = None
    dearer_above: int | None = None


def cost(provider: str, model: str, usage: Usage, own: OwnPrice | None = None) -> int | None:
    """The estimated cost in nano-dollars, or None when price or usage is unknown."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if own is not None and (own.input, own.cached, own.output) != (None, None, None):
        return _own_cost(usage, own, rates(provider, model))
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    written = min(usage.cache_write_tokens or 0, usage.input_tokens - cached)
    counted = {
        "input_tokens": usage.input_tokens,
        "cache_read_tokens": cached,
        "cache_write_tokens": written,
        "output_tokens": usage.output_tokens,
    }
    price = _published(_address(provider), model, **counted)
    return int(price.total_price * _NANO) if price else None


def window(provider: str, model: str) -> int | None:
    """The model's published window in tokens, or None when it is unknown."""
    return rates(provider, model).window


def rates(provider: str, model: str) -> Rates:
    """What is published of the provider's model; empty when nothing is."""
    return _rates(_address(provider), model)


@lru_cache(maxsize=4096)
def _rates(address: str, model: str) -> Rates:
    found = _published(address, model, input_tokens=1)
    if found is None:
        return Rates()
    price = found.model_price
    read, tiers = price.cache_read_mtok, getattr(price.input_mtok, "tiers", ())
    return Rates(
        input=_base(price.input_mtok),
        cached=_base(read),
        output=_base(price.output_mtok),
        window=found.model.context_window,
        dearer_above=min((tier.start for tier in tiers), default=None),
    )


def _base(price: object) -> Decimal | None:
    base = getattr(price, "base", price)
    return base if isinstance(base, Decimal) else None


def _published(address: str, model: str, **counted: int) -> "PriceCalculation | None":
    if not address or not model:
        return None
    from genai_prices import Usage as Counted
    from genai_prices import calc_price

    try:
        return calc_price(Counted(**counted), model_ref=model, provider_api_url=address)
    except (LookupError, ValueError):
        return None


def _address(provider: str) -> str:
    found = adapters().get(provider)
    return found.default_url if found else ""


def _own_cost(usage: Usage, own: OwnPrice, published: Rates) -> int | None:
    """By a person's own price; what they left open is the published one's."""
    assert usage.input_tokens is not None
    assert usage.output_tokens is not None
    asked = own.input if own.input is not None else published.input
    answered = own.output if own.output is not None else published.output
    if asked is None or answered is None:
        return None
    read = own.cached
    if read is None:  # a discount that was published belongs to the published price
        read = published.cached if own.input is None and published.cached is not None else asked
    cached = min(usage.cached_tokens or 0, usage.input_tokens)
    dollars = asked * (usage.input_tokens - cached) + read * cached + answered * usage.output_tokens
    return int(dollars * _NANO / _MILLION)
