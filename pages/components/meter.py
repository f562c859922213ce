"""The meter of the next send: a bar over Settings, and a few words in the head."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from core.meter import Meter, Name
from pages.components import element

_HERE = Path(__file__)
_element = st.components.v2.component(
    "turntree_meter",
    js=_HERE.with_suffix(".js").read_text("utf-8"),
    css=_HERE.with_suffix(".css").read_text("utf-8"),
)
_WORTH_IT, _WORTH_SHARE = 200, 0.2
"""Tokens, and share of the next send, that a recap must save to be proposed."""
KEY = "turntree.meter"
DRAWER = "turntree.meter.drawer"

_NAMES: dict[Name, str] = {
    "system": "system",
    "recap": "recap",
    "history": "history",
    "attachments": "files",
    "tools": "tools",
    "new text": "your draft",
}
_WARNINGS = {
    "near": "Nearly full: recap the beginning, send less of it, or choose a larger window.",
    "full": "More than the window holds: recap the beginning, send less of it, or choose a larger"
    " window.",
}


def draw(meter: Meter, on_act: Callable[[], None], *, key: str = KEY) -> None:
    """Draw the meter. ``on_act`` runs when the person asked for an exact count."""
    element.mount(_element, key, meter_data(meter), on_act)


def meter_data(meter: Meter) -> dict[str, Any]:
    """Numbers and words; the element adds what is being written, as it is written."""
    return {
        "tokens": meter.tokens,
        "exact": meter.exact,
        "window": meter.window,
        "parts": _parts(meter),
        "factor": meter.calibration.factor,
        "level": {"near": 0.8, "full": 1.0},
        "warnings": _WARNINGS,
        "about": _about(meter),
        "files": _uncounted(meter.files),
        "warm": _warm(meter),
        "price": {"text": price(meter), "about": _about_price(meter)},
        "countable": meter.countable and not meter.exact,
        "saving": saving(meter),
        "first": "A recap will be written first." if meter.recap_first else "",
    }


def _parts(meter: Meter) -> list[tuple[str, int]]:
    """Names and tokens in the order of the bar; what is being written comes last, by the page."""
    parts = [(_NAMES[part.name], part.tokens) for part in meter.parts if part.name != "new text"]
    said = sum(part.tokens for part in meter.parts if part.name == "new text")
    return [*parts, ("reminder", said), (_NAMES["new text"], 0)]


def short(meter: Meter) -> str:
    """The meter in a few words: ``≈ 1.2k of 8.2k tokens``."""
    said = f"{sign(meter)}{brief(meter.tokens)}"
    if meter.window:
        said += f" of {brief(meter.window)}"
    said += " tokens"
    return said + {"fine": "", "near": ", nearly full", "full": ", too long"}[meter.level]


def sign(meter: Meter) -> str:
    """What stands before a number that is not an exact count."""
    return "" if meter.exact else "≈ "


def brief(tokens: int) -> str:
    """A number of tokens in at most five characters: 812, 1.2k, 41k, 1.05M."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 9950:
        return f"{tokens / 1000:.1f}".removesuffix(".0") + "k"
    if tokens < 999_500:
        return f"{tokens / 1000:.0f}k"
    return f"{tokens / 1_000_000:.2f}".rstrip("0").rstrip(".") + "M"


def price(meter: Meter) -> str:
    """What the input costs, in words."""
    if meter.cost is None:
        return "unknown"
    if meter.cost == 0:
        return "free" if meter.tokens else "nothing yet"
    dollars = meter.cost / 1e9
    return f"≈ ${dollars:.4f}" if dollars >= 0.0001 else "< $0.0001"


def saving(meter: Meter) -> dict[str, str] | None:
    """What a recap would take off the next send, in words; None where it is not worth one."""
    found = meter.saving
    if found is None or found.tokens < _WORTH_IT or found.tokens < _WORTH_SHARE * meter.tokens:
        return None
    less = f"\u2248 {brief(found.tokens)} tokens"
    if found.cost:
        less += f" · {_dollars(abs(found.cost))}" if found.cost > 0 else ""
    about = f"With the last {found.keep} turns verbatim; how long the recap gets is guessed."
    if found.cost is not None and found.cost < 0:
        about += f" Once, it costs {_dollars(-found.cost)} more: what is warm would be lost."
    return {"text": less, "about": about}


def _dollars(nanodollars: int) -> str:
    dollars = nanodollars / 1e9
    return f"${dollars:.4f}" if dollars >= 0.0001 else "< $0.0001"


def _about(meter: Meter) -> str:
    if meter.exact:
        return "Counted by the provider, with a message of one letter."
    if meter.calibration.answers:
        return (
            "The provider's last count of this conversation where there is one; the rest is"
            f" estimated, as this model counted {_several(meter.calibration.answers, 'answer')}."
        )
    return "Estimated from the characters; this model's own counts make it better."


def _uncounted(files: int) -> str:
    return f"and {_several(files, 'file')} that only the provider can count" if files else ""


def _several(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _warm(meter: Meter) -> dict[str, Any]:
    """``tokens`` is None when unknown; ``until`` is milliseconds of the clock."""
    if meter.warm is None:
        about = "Nobody says how long this server keeps what it was sent."
        return {"tokens": None, "until": None, "about": about}
    until = meter.warm.until
    return {
        "tokens": meter.warm.tokens,
        "until": None if until is None else round(until * 1000),
        "about": "What the provider still keeps of an earlier send: read faster, and cheaper "
        "where that has a price.",
    }


def _about_price(meter: Meter) -> str:
    if meter.cost is None:
        return "No price of this model is known; you can set your own in Settings."
    return "An estimate for the input, what is warm at its own price; the answer comes on top."
