"""Every number, date and time that a text mentions. Pure."""

import re
from dataclasses import replace
from decimal import Decimal

from core.fidelity.dates import dates, times, weekdays
from core.fidelity.mention import Mention
from core.fidelity.numbers import number_words, numbers, ordinals


def mentions(text: str) -> list[Mention]:
    """Every number, date and time, in order; of what overlaps the longer reading is kept."""
    found: list[Mention] = []
    taken = [False] * len(text)
    for search in (dates, times, weekdays, numbers, number_words):
        for mention in search(text):
            if not any(taken[mention.start : mention.end]):
                taken[mention.start : mention.end] = [True] * (mention.end - mention.start)
                found.append(mention)
    return _ranges(text, sorted(found, key=lambda one: one.start))


def digits(text: str) -> list[Mention]:
    """Numbers that are part of names, years of dates, and ordinals."""
    taken = [one for one in mentions(text) if one.kind in ("date", "time")]
    loose = (
        one
        for one in numbers(text, inside=True)
        if (one.text.isdigit() and len(one.text) == 4)
        or not any(date.start <= one.start < date.end for date in taken)
    )
    return [*loose, *ordinals(text)]


def _ranges(text: str, found: list[Mention]) -> list[Mention]:
    """In "10-15%" and "2 to 3 weeks" the first number has the unit of the second."""
    told = list(found)
    for place in range(len(told) - 2, -1, -1):
        one, two = told[place], told[place + 1]
        between = text[one.end : two.start].casefold()
        if one.kind == two.kind == "number" and re.fullmatch(
            r"\s*(?:-|–|—|to|or|bis|à|a|and|und)\s*[$€£]?", between
        ):
            scaled = {v.scaleb(3) for v in one.readings if isinstance(v, Decimal)}
            thousands = re.search(r"\d\s?k$", two.text, re.IGNORECASE)
            readings = one.readings | scaled if thousands else one.readings
            told[place] = replace(one, unit=two.unit or one.unit, readings=frozenset(readings))
    return told
