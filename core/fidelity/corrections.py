"""What does not stand any more: figures, names and requirements that were taken back. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace

from core.fidelity.claim import Claim, alike
from core.fidelity.mention import folded, vocabulary
from core.fidelity.wishes import DROPS
from core.fidelity.words import Sentence, stem, stems

_CORRECTS = re.compile(
    r"\b(?:actually|instead|rather|no longer|chang(?:e|ed|ing)|sorry|correct(?:ion|ed)|scratch"
    r"|meant|upgraded|turn(?:s|ed) out|cancell?ed|gave (?:me|us)|fine too|is better|renamed"
    r"|make (?:it|that|this)|mov(?:e|ed|ing)|push(?:ed)?|updat(?:e|ed)|rais(?:e|ed)|lower(?:ed)?"
    r"|increas(?:e|ed)|reduc(?:e|ed)|cut|bump(?:ed)?|exten(?:d|ded)|now|revis(?:e|ed)"
    r"|postpon(?:e|ed)"
    r"|reschedul(?:e|ed)|switch(?:ed)?|replac(?:e|ed)|drop(?:ped)?|forget|let['’]?s (?:say|do"
    r"|go)|turns"
    r" out|wait|oops|in fact|second thoughts?|settled on|more like|closer to"
    r"|(?:gone|went|go|down|up) (?:up|down|to)|new (?:budget|date|deadline|price|total|number"
    r"|figure|plan)|not \S+ but|mistake|wrong|typo"
    r"|eigentlich|stattdessen|statt|doch|lieber|jetzt|nicht mehr|korrektur|ändere|finalement|plutôt"
    r"|au lieu|en fait|désormais|mejor|en realidad|en vez|en lugar|ahora|cambia)\b|\bnot\b",
    re.IGNORECASE,
)
_OLD = re.compile(
    r"\b(?:not|instead of|rather than|no longer|replac(?:e|es|ing)|drop|forget|scrap|skip|was|were"
    r"|originally|previously|statt|anstatt|nicht|au lieu de|pas|en vez de|en lugar de)"
    r"(?:\s+(?:the|a|an|old|on|at|by|about|to|der|den|dem|die|das|le|la|el))*\s*[\"“„«'$€£]?$",
    re.IGNORECASE,
)
_RENAMES = re.compile(
    r"\b(?:scratch that|instead|no,? wait|wait|actually|rather|meant|renam(?:e|ed)|booked"
    r"|replac(?:e|ed)"
    r"|takes? over|will (?:do|present|handle|lead|take|join))\b",
    re.IGNORECASE,
)
_FROM = re.compile(r"\bfrom (?:the |a )?[\"“„«'$€£]?$", re.IGNORECASE)
_LEAVES = re.compile(
    r"^\s*(?:is (?:out|off|full|sick|ill|closed|taken|too|not|booked|cancell?ed|gone|unavailable|no"
    r" longer)|(?:doesn|won|didn|isn|can)['’]?t\b|cannot\b|left|has left|dropped out|fell"
    r" through|cancel)",
    re.IGNORECASE,
)


def take_back(found: list[Claim], new: list[Claim], sentence: Sentence) -> None:
    """Mark what a person's sentence corrects: in ``found`` and in itself."""
    text = sentence.text
    if DROPS.search(text):
        _drop(found, text)
    old = [one for one in new if one.kind != "requirement" and _is_old(one, sentence)]
    for place, one in enumerate(new):
        if one in old:
            new[place] = replace(one, gone=True)
    fresh = [one for one in new if one.kind in ("number", "date", "quote", "name") and not one.gone]
    for place, one in enumerate(found):
        if one.gone:
            continue
        if any(alike(one, other) for other in old) or (
            any(replaces(other, one, found, text) for other in fresh)
        ):
            found[place] = replace(one, gone=True)
    _drop_outdated(found)


def _is_old(one: Claim, sentence: Sentence) -> bool:
    at = one.start - sentence.start
    before, after = sentence.text[:at], sentence.text[at + len(one.text) :]
    if _LEAVES.match(after):
        return True
    if _FROM.search(before) and re.match(r"[^.]{0,25}\bto\b", after):
        return bool(_CORRECTS.search(sentence.text))
    return bool(_OLD.search(before)) and not re.match(r"\s*(?:only|just)", after)


def replaces(new: Claim, old: Claim, found: Sequence[Claim], text: str) -> bool:
    """Whether something stands for what was said earlier: of the same kind and matter, and
    corrected, or said anew."""
    if new.kind != old.kind or alike(new, old):
        return False
    shared = (new.stems & old.stems) - _unspecific
    if new.mention is None or old.mention is None:
        renamed = new.kind == "name" and _RENAMES.search(text)
        return bool(renamed) and (bool(shared) or _only_one(old, found))
    days = {"weekday", "date"}
    if new.mention.kind != old.mention.kind and {new.mention.kind, old.mention.kind} != days:
        return False
    one, other = new.mention.unit, old.mention.unit
    if one and other and stem(one) != stem(other):
        return False
    same_unit = bool(one) and stem(one) == stem(other)
    if not _CORRECTS.search(text):
        return new.place > old.place and _said_anew(one, same_unit, shared, text, old)
    limits = _LIMITS.search(text) and _LIMITS.search(old.sentence)
    if shared or (same_unit and (limits or one in _LENGTHS)):
        return True
    if bool(one) != bool(other):
        return False
    bare = not old.stems - _unspecific
    return bare or (bool(_STRONG.search(text)) and _only_one(old, found))


def _said_anew(unit: str, same_unit: bool, shared: frozenset[str], text: str, old: Claim) -> bool:
    """Whether a later figure stands for an earlier one though nothing is called a correction."""
    limits = bool(_LIMITS.search(text) and _LIMITS.search(old.sentence))
    counted = unit not in ("%", "money") and stem(unit) not in _MEASURES
    return (same_unit and (limits or counted)) or bool(shared & _MATTERS)


_MEASURES = stems(
    "minute hour day night week month year kilometre kilometer mile metre meter gram kilo euro time"
) | vocabulary("min hr h km m cm mm kg g gb mb")
_MATTERS = stems("budget price deadline launch total rent fee salary cost rate limit venue")
_LENGTHS = vocabulary("word paragraph sentence bullet line page character slide stanza")
"""Of what is being written the length that was asked for last is the one that holds."""


def _only_one(old: Claim, found: Sequence[Claim]) -> bool:
    """Whether a sentence is the only one that a correction without further words can mean."""
    others = {(one.place, one.sentence) for one in found if not one.gone and _like(one, old)}
    return len(others) == 1


def _like(one: Claim, other: Claim) -> bool:
    if one.mention is None or other.mention is None:
        return one.kind == other.kind == "name"
    return (one.mention.kind, one.mention.unit) == (other.mention.kind, other.mention.unit)


_LIMITS = re.compile(
    r"\b(?:max(?:imum)?|at most|no more than|not more than|under|below|less than|up to|limit|within"
    r"|at least|min(?:imum)?|höchstens|maximal|mindestens|au plus|como máximo)\b",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"\b(?:actually|moved|chang(?:e|ed)|sorry|instead|push(?:ed)?|postpon(?:e|ed)|reschedul(?:e"
    r"|ed)|now"
    r"|make (?:it|that)|correction|wait|oops|second thoughts?|settled on|more like|gone (?:up"
    r"|down)|"
    r"went (?:up|down)|works|is fine|meant|cut|rais(?:e|ed)|updat(?:e|ed)|extended|lower(?:ed)?"
    r"|bump)\b",
    re.IGNORECASE,
)
_unspecific = stems("new now change changed actually instead sorry make move total thanks think")


def _drop(found: list[Claim], text: str) -> None:
    """Requirements and facts that a sentence calls off."""
    called = stems(text) - _unspecific
    for place, one in enumerate(found):
        if not one.stems:
            continue
        share = len(called & one.stems) / len(one.stems)
        if (one.kind == "requirement" and share >= 0.5) or folded(one.text) in folded(text):
            found[place] = replace(one, gone=True)


def _drop_outdated(found: list[Claim]) -> None:
    """A requirement whose figure was corrected does not stand any more."""
    for place, one in enumerate(found):
        if one.kind != "requirement" or one.gone:
            continue
        figures = [
            other
            for other in found
            if other.gone and other.place == one.place and other.mention and other.text in one.text
        ]
        if figures:
            found[place] = replace(one, gone=True)
