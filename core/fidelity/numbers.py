"""Numbers in digits and in words, with what they count. Pure."""

import re
from collections.abc import Iterator
from decimal import Decimal

from core.fidelity.mention import Mention, folded, vocabulary

_DIGITS = r"(?P<digits>\d{1,3}(?:[ \u00a0\u202f\u2009'’]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)"
_AFTER = (
    r"(?P<times>\s?(?:(?:tsd|mio|mrd)\.?|k|thousand|tausend|mille|mil|million(?:en|s)?|millones"
    r"|mn|m|bn|"
    r"billion|milliard(?:en|s)?|b)(?![^\W_]))?"
    r"(?P<pct>\s?(?:%|percent(?:age points?)?|per\s?cent|pct|prozent|pour\s?cent|por\s?ciento)"
    r"(?![^\W\d_]))?"
)
_NUMBER = re.compile(rf"(?<![\w.,]){_DIGITS}{_AFTER}", re.IGNORECASE)
_ANY_NUMBER = re.compile(rf"(?<![\d.,]){_DIGITS}{_AFTER}", re.IGNORECASE)
_MONEY_BEFORE = re.compile(r"(?:[$€£¥₹]|\b(?:usd|eur|gbp|chf|us\$))\s?$", re.IGNORECASE)
_MONEY_AFTER = re.compile(
    r"\s?(?:[$€£¥₹]|(?:usd|eur|gbp|chf|euros?|dollars?|pounds?|francs?|bucks|cents?|pesos?)\b)",
    re.IGNORECASE,
)
_NOUN = re.compile(r"[\s-]*(?:(?:of|or|full|more|extra|whole|new)\s+)?([^\W\d_]{2,})")
_TIMES = {"k": 3, "tsd": 3, "thousand": 3, "tausend": 3, "mille": 3, "mil": 3, "bn": 9}
_TIMES |= {"billion": 9, "mrd": 9, "b": 9}


def numbers(text: str, *, inside: bool = False) -> Iterator[Mention]:
    """Numbers in digits; with ``inside`` those too that are part of a word."""
    for found in (_ANY_NUMBER if inside else _NUMBER).finditer(text):
        values = frozenset(_values(found["digits"]))
        if not values:
            continue
        power = _power(found["times"])
        readings = {value.scaleb(power).normalize() for value in values} if power else set(values)
        if (found["times"] or "").strip().casefold() in ("m", "b"):
            readings |= values  # metres, or millions
        start = found.start()
        before = _MONEY_BEFORE.search(text[max(0, start - 4) : start])
        unit = "%" if found["pct"] else ""
        end = found.end()
        if not unit and (before or _MONEY_AFTER.match(text, end)):
            unit = "money"
        if before:
            start -= len(before[0])
        elif after := _MONEY_AFTER.match(text, end):
            end = after.end()
        if not unit:
            unit = _noun(text, end)
        yield Mention(
            kind="number",
            text=text[start:end].strip(),
            start=start,
            end=end,
            readings=frozenset(readings),
            unit=unit,
        )


def _noun(text: str, end: int) -> str:
    found = _NOUN.match(text, end)
    noun = folded(found[1]) if found else ""
    return "" if noun in _NO_NOUNS else noun.removesuffix("s")


_NO_NOUNS = vocabulary(
    "and or by to of in on at for from with is are was as the a an per but so if than then not"
    " it we i you und oder von bis fur et ou de pour y o por para that this which please instead"
    " total max maximum each only now"
)


def _power(word: str | None) -> int:
    name = (word or "").strip().strip(".").casefold()
    if not name:
        return 0
    if name in _TIMES:
        return _TIMES[name]
    return 9 if name.startswith("milliard") else 6


def _values(written: str) -> Iterator[Decimal]:
    """What digits with points, commas and spaces can stand for."""
    text = re.sub(r"[ \u00a0\u202f\u2009'’]", "", written)
    marks = [char for char in text if char in ".,"]
    if not marks:
        yield Decimal(text).normalize()
        return
    if len(set(marks)) == 2:
        point = marks[-1]
        whole = text.replace("," if point == "." else ".", "")
        if whole.count(point) == 1:
            yield Decimal(whole.replace(",", ".")).normalize()
        return
    groups = text.split(marks[0])
    grouped = len(groups[0]) <= 3 and groups[0] != "0" and all(len(g) == 3 for g in groups[1:])
    if grouped:
        yield Decimal("".join(groups)).normalize()
    if len(marks) == 1:
        yield Decimal(f"{groups[0]}.{groups[1]}").normalize()


_UNITS = {
    word: value
    for value, words in {
        1: "one eins",
        2: "two zwei deux dos couple",
        3: "three drei trois tres",
        4: "four vier quatre cuatro",
        5: "five fünf cinq cinco",
        6: "six sechs seis",
        7: "seven sieben sept siete",
        8: "eight acht huit ocho",
        9: "nine neun neuf nueve",
        10: "ten zehn dix diez",
        11: "eleven elf onze",
        12: "twelve zwölf douze doce dozen",
        13: "thirteen",
        14: "fourteen",
        15: "fifteen fünfzehn quinze quince",
        16: "sixteen",
        17: "seventeen",
        18: "eighteen",
        19: "nineteen",
        20: "twenty zwanzig vingt veinte",
        30: "thirty dreißig trente treinta",
        40: "forty vierzig quarante cuarenta",
        50: "fifty fünfzig cinquante cincuenta",
        60: "sixty sechzig soixante sesenta",
        70: "seventy siebzig",
        80: "eighty achtzig",
        90: "ninety neunzig",
    }.items()
    for word in words.split()
}
_SCALES = {"hundred": 100, "hundert": 100, "thousand": 1000, "tausend": 1000, "million": 10**6}
_NUMERAL = "|".join(sorted([*_UNITS, *_SCALES], key=len, reverse=True))
_SPELLED = re.compile(
    rf"\b(?:(?P<half>half an? )|(?P<a>an? )(?=hundred|thousand|million|dozen|couple))?"
    rf"(?P<words>(?:{_NUMERAL})(?:(?:[\s-]+|\s+and\s+)(?:{_NUMERAL}))*)\b"
    rf"(?P<pct>\s?(?:%|percent|per\s?cent|prozent)\b)?",
    re.IGNORECASE,
)


_HALF_HOUR = re.compile(r"\bhalf an hour\b|\bhalf-hour\b|\beine halbe stunde\b", re.IGNORECASE)


def number_words(text: str) -> Iterator[Mention]:
    """Numbers in words."""
    for found in _HALF_HOUR.finditer(text):
        yield Mention(
            kind="number",
            text=found[0],
            start=found.start(),
            end=found.end(),
            readings=frozenset({Decimal(30)}),
            unit="minute",
            spelled=True,
        )
    for found in _SPELLED.finditer(text):
        value = _spelled(re.split(r"[\s-]+", found["words"].casefold()))
        if found["half"]:
            value //= 2
        unit = "%" if found["pct"] else _noun(text, found.end())
        if not found["pct"] and _MONEY_AFTER.match(text, found.end()):
            unit = "money"
        yield Mention(
            kind="number",
            text=found[0].strip(),
            start=found.start(),
            end=found.end(),
            readings=frozenset({Decimal(value).normalize()}),
            unit=unit,
            spelled=True,
        )


def _spelled(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word in _UNITS:
            current = (
                current * _UNITS[word] if word == "dozen" and current else current + _UNITS[word]
            )
        elif word in _SCALES:
            scale = _SCALES[word]
            current = max(1, current) * scale
            if scale > 100:
                total, current = total + current, 0
    return total + current


_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINAL = {word: number for number, word in enumerate(_ORDINALS.split(), 1)}


def ordinals(text: str) -> Iterator[Mention]:
    """First, second and so on, as numbers."""
    for found in re.finditer(r"\b(?:" + "|".join(_ORDINAL) + r")\b", text, re.IGNORECASE):
        value = frozenset({Decimal(_ORDINAL[found[0].casefold()])})
        yield Mention(
            kind="number", text=found[0], start=found.start(), end=found.end(), readings=value
        )
