"""Dates, weekdays and times of day, in four languages and the usual notations. Pure."""

import re
from collections.abc import Iterator
from dataclasses import replace

from core.fidelity.mention import Mention, folded

_MONTH_NAMES = (
    "january jan januar janner janvier janv enero ene",
    "february feb februar fevrier fevr febrero",
    "march mar marz mrz mars marzo",
    "april apr avril avr abril abr",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet juil julio",
    "august aug aout agosto ago",
    "september sep sept septembre septiembre setiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez decembre diciembre dic",
)
_MONTHS = {name: n for n, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_DOUBTFUL = {"may", "march", "mars", "mar", "mai", "jan", "jun", "ago", "dic", "ene", "abr", "sep"}
_DAY_NAMES = (
    "monday montag lundi lunes",
    "tuesday dienstag mardi martes",
    "wednesday mittwoch mercredi miercoles",
    "thursday donnerstag jeudi jueves",
    "friday freitag vendredi viernes",
    "saturday samstag sonnabend samedi sabado",
    "sunday sonntag dimanche domingo",
)
_DAYS = {name: n for n, names in enumerate(_DAY_NAMES) for name in names.split()}
_DAYS |= {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_DAYS |= {"sat": 5, "sun": 6}

_WORD = r"[^\W\d_]{3,11}"
_D = r"(?P<{0}>\d{{1,2}})(?:st|nd|rd|th|er|ère|º|\.)?"
_TO = r"\s*(?:-|–|—|to|until|and|bis|und|au|et|al|y|a)\s*"
_YEAR = r"(?:,?\s*(?:de |del |in )?(?P<y>(?:19|20)\d{2})(?!\d))?"
_DATE_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<y>(?:19|20)\d{2})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)",
        r"(?<![\d.,/])(?P<d>\d{1,2})(?P<sep>[./-])(?P<m>\d{1,2})(?P=sep)(?P<y>\d{4}|\d{2})(?!\d)",
        r"(?<![\d.,])(?P<d>\d{1,2})\.\s?(?P<m>0?[1-9]|1[0-2])\.(?!\d)",
        rf"(?<![\d.,])(?:{_D.format('first')}{_TO})?{_D.format('d')}\s*(?:of |de |the )?"
        rf"(?P<name>{_WORD})\b\.?{_YEAR}",
        rf"\b(?P<name>{_WORD})\.?\s+(?:the )?{_D.format('first')}{_TO}"
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|[.,:]\d|%){_YEAR}",
        rf"\b(?P<name>{_WORD})\.?\s+(?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|[.,:]\d"
        rf"|%){_YEAR}",
        rf"\b(?P<name>{_WORD})\.?,?\s+(?:de |of )?(?P<y>(?:19|20)\d{{2}})(?!\d)",
        rf"\b(?P<name>{_WORD})\b",
    )
)
_BEFORE_MONTH = re.compile(
    r"(?:\b(?:in|by|until|till|since|from|of|before|after|during|early|mid|late|this|next|last"
    r"|for|im|bis|seit|ab|anfang|mitte|ende|en|de|avant|apres|to|through|and|between|each"
    r"|every)[\s-]+)$",
    re.IGNORECASE,
)


def dates(text: str) -> Iterator[Mention]:
    """Days of months, months of years, and months alone."""
    for number, form in enumerate(_DATE_FORMS):
        bare = number == len(_DATE_FORMS) - 1
        for found in form.finditer(text):
            named = found.groupdict()
            name = folded(named["name"]) if named.get("name") else None
            if name is not None and name not in _MONTHS:
                continue
            if bare and not _is_month(text, found, name or ""):
                continue
            month = _MONTHS[name] if name else int(named["m"])
            year = int(named["y"]) if named.get("y") else None
            if year is not None and year < 100:
                year += 2000
            yield from _read(found, month, year, numeric=name is None and number == 1)


def _is_month(text: str, found: re.Match[str], name: str) -> bool:
    """Whether a word alone is a month: "May" and "March" are words of other kinds too."""
    if not found[0][0].isupper():
        return False
    return name not in _DOUBTFUL or bool(_BEFORE_MONTH.search(text[: found.start()]))


def _read(
    found: re.Match[str], month: int, year: int | None, *, numeric: bool
) -> Iterator[Mention]:
    named = found.groupdict()
    day = int(named["d"]) if named.get("d") else None
    pairs = {(month, day)} | ({(day, month)} if numeric and day is not None else set())
    good = [(m, d) for m, d in pairs if 1 <= m <= 12 and (d is None or 1 <= d <= 31)]
    if not good:
        return
    first = int(named["first"]) if named.get("first") else None
    readings = frozenset((year, m, d) for m, d in good)
    whole = Mention(
        kind="date",
        text=found[0].strip(" ."),
        start=found.start(),
        end=found.end(),
        readings=readings,
    )
    if first is not None and 1 <= first <= 31:
        # The beginning of a range lends its characters, so that both days are found.
        edge = found.end("first") if found.start("first") == found.start() else found.start() + 1
        begins = frozenset((year, m, first) for m, _ in good)
        yield replace(whole, end=edge, readings=begins)
        yield replace(whole, start=edge)
        return
    yield whole


def weekdays(text: str) -> Iterator[Mention]:
    """Days of the week by name."""
    for found in re.finditer(r"\b[^\W\d_]{3,10}\b", text):
        name = folded(found[0])
        plural = name if name in _DAYS else name.removesuffix("s")
        if plural not in _DAYS or (len(plural) < 5 and not found[0][0].isupper()):
            continue
        if plural in ("sun", "sat", "mon", "wed"):
            continue
        yield Mention(
            kind="weekday",
            text=found[0],
            start=found.start(),
            end=found.end(),
            readings=frozenset({_DAYS[plural]}),
        )


_CLOCK = re.compile(
    r"(?<![\d:.,])(?P<h>[01]?\d|2[0-4])(?:(?::|h|\.(?=\d\d\s?(?:am|pm|uhr|a\.m|p\.m)))"
    r"(?P<m>[0-5]\d))?\s?(?P<half>a\.?m\b\.?|p\.?m\b\.?|uhr\b|o['’]clock\b)?(?![\d:])",
    re.IGNORECASE,
)


def times(text: str) -> Iterator[Mention]:
    """Times of day."""
    for found in _CLOCK.finditer(text):
        half = (found["half"] or "").casefold().replace(".", "")
        if found["m"] is None and not half:
            continue
        hour, minute = int(found["h"]) % 24, int(found["m"] or 0)
        hours = {hour}
        if half in ("am", "pm"):
            hours = {hour % 12 + (12 if half == "pm" else 0)}
        elif hour <= 12 and half != "uhr":
            hours = {hour, (hour + 12) % 24}
        yield Mention(
            kind="time",
            text=found[0].strip(),
            start=found.start(),
            end=found.end(),
            readings=frozenset(60 * one + minute for one in hours),
        )
