"""What a conversation states and has not taken back. Pure.

Only what people say counts as stated, and what a model settled and they agreed to; a model's own
examples, the numbers of its lists and its courtesies do not. What was corrected later is no
longer stated.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from core.fidelity.claim import Claim
from core.fidelity.corrections import replaces, take_back
from core.fidelity.names import common_words
from core.fidelity.stated import WONDERED, stated, weighed
from core.fidelity.words import sentences


@lru_cache(maxsize=32)
def claims(messages: tuple[tuple[str, str], ...]) -> tuple[Claim, ...]:
    """Everything stated and not taken back in messages of (role, text), in order."""
    known = common_words([text for role, text in messages if role == "user"])
    picked = _picked(messages)
    found: list[Claim] = []
    for place, (role, text) in enumerate(messages):
        if role not in ("user", "assistant"):
            continue
        mine = role == "user"
        agreed = not mine and _agreed(messages, place)
        for sentence in sentences(text):
            new = list(stated(sentence, place, mine=mine, known=known))
            wondered = mine and WONDERED.match(sentence.text)
            new = [
                one
                for one in new
                if one.kind in ("requirement", "quote")
                or not (wondered or (one.kind == "name" and weighed(sentence, one)))
            ]
            if wondered:
                new = [one for one in new if one.kind == "requirement"]
            if mine:
                take_back(found, new, sentence)
            elif (place, sentence.start) in picked:
                pass
            elif not _settles(sentence.text, agreed=agreed):
                new = []
            elif _TOTAL.search(sentence.text):
                found = [_outdated(one, new) for one in found]
            found += new
    return tuple(one for one in found if not one.gone)


# --- what a model settles ------------------------------------------------------------------------

_TOTAL = re.compile(
    r"\b(?:in total|total(?:s|ling)?|comes to|adds? up to|leaves|altogether|insgesamt|summe|au"
    r" total"
    r"|en total)\b",
    re.IGNORECASE,
)
_SETTLED = re.compile(
    r"\b(?:settled|decided|agreed|confirmed|booked|reserved|it is set|we(?:['’]ll| will) go with"
    r"|locked in|recommend|suggest|propose)\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"^(?:yes|yep|yeah|perfect|agreed|deal|confirmed|exactly|correct|that works|works for me|sounds"
    r" (?:good|great|right)|love it|i like (?:it|that)|let['’]?s (?:go|do|use|take)|go with|do that"
    r"|ja\b|genau|einverstanden|oui|d['’]accord|s[ií]\b|de acuerdo)",
    re.IGNORECASE,
)


def _agreed(messages: Sequence[tuple[str, str]], place: int) -> bool:
    """Whether the person's next message says yes to this one."""
    after = next((text for role, text in messages[place + 1 :] if role == "user"), "")
    return bool(_YES.match(after.strip()))


def _settles(text: str, *, agreed: bool) -> bool:
    return agreed and bool(_SETTLED.search(text) or _TOTAL.search(text))


_PICKS = re.compile(
    r"\b(?:go with|take|choose|pick|use|like|love|prefer|let['’]?s"
    r" do)\b[^.!?\n]{0,25}?(?:(?:option|number|no\."
    r"|idea|version|#)\s?#?(?P<n>\d)|#(?P<h>\d)|the (?P<word>first|second|third|fourth|fifth"
    r"|last)\b)"
    r"|^(?:option|number|#)\s?(?P<o>\d)\b|^the (?P<w>first|second|third|fourth|fifth|last)(?:"
    r" one)?\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^[ \t]*(?:[-*•]|(?:\*\*)?\(?\d{1,2}[.):])[ \t]+", re.MULTILINE)
_ORDER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": 0}


def _picked(messages: Sequence[tuple[str, str]]) -> set[tuple[int, int]]:
    """Where in a model's lists the items begin that the person chose by their number."""
    found = set()
    for place, (role, text) in enumerate(messages[:-1]):
        answer, said = messages[place + 1]
        chosen = _PICKS.search(said.strip()) if role == "assistant" and answer == "user" else None
        if chosen is None:
            continue
        named = chosen["word"] or chosen["w"]
        number = (
            _ORDER[named.casefold()] if named else int(chosen["n"] or chosen["h"] or chosen["o"])
        )
        items = [item.end() for item in _ITEM.finditer(text)]
        if items and number <= len(items):
            found.add((place, items[number - 1]))
    return found


def _outdated(one: Claim, new: Sequence[Claim]) -> Claim:
    """An earlier total that a later one replaces."""
    total = one.kind == "number" and _TOTAL.search(one.sentence)
    return (
        replace(one, gone=True)
        if total and any(replaces(n, one, (), f"now {n.sentence}") for n in new)
        else one
    )
