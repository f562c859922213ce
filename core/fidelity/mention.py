"""A number, date or time in a text, and whether two of them say the same. Pure.

Where a notation can be read in two ways, as 1.200 or 3/4/2026 can, both readings are kept: two
mentions say the same when they have a reading in common.
"""

import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Kind = Literal["number", "date", "time", "weekday"]
Reading = Decimal | int | tuple[int | None, int, int | None]
"""Of a number its value, of a time its minute of the day, of a date (year, month, day)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A number, date or time in a text. ``unit`` is "%", "money", a noun, or empty."""

    kind: Kind
    text: str
    start: int
    end: int
    readings: frozenset[Reading]
    unit: str = ""
    spelled: bool = False


def same(one: Mention, other: Mention) -> bool:
    """Whether two mentions can be of the same thing; a part of a date that is left out fits."""
    if one.kind != other.kind:
        return False
    if one.kind == "date":
        return any(_fit(a, b) for a in one.readings for b in other.readings)
    if (one.unit == "%") != (other.unit == "%"):
        return False
    return bool(one.readings & other.readings)


def _fit(one: Reading, other: Reading) -> bool:
    if not (isinstance(one, tuple) and isinstance(other, tuple)):
        return False
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def folded(text: str) -> str:
    """Small letters without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


def vocabulary(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())
