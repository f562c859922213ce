"""What a recap says of what was stated, and what it leaves out. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from core.fidelity.claim import Claim, Kind, alike
from core.fidelity.claims import claims
from core.fidelity.mention import Mention, folded, same
from core.fidelity.notation import digits, mentions
from core.fidelity.wishes import core_of
from core.fidelity.words import sentences, stems
from core.tree import turns
from core.types import Node

FACTS = "Facts and figures"
"""The heading of a recap under which a line that was missing is added."""
_ENOUGH = 0.45  # of a requirement's words
_SNIPPET = 90  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that a recap leaves out, and the message that says it. ``turn`` counts from 1."""

    kind: Kind
    text: str
    node_id: str
    turn: int
    snippet: str
    by_model: bool = False

    @property
    def line(self) -> str:
        """The line that brings it back."""
        return self.text if self.kind == "requirement" else self.snippet


def missing(nodes: Sequence[Node], recap: str) -> tuple[Finding, ...]:
    """What ``nodes`` state and the recap of them does not say, in the order it was said."""
    found = claims(tuple((node.role, node.text) for node in nodes))
    said = Said(recap, found)
    lost = [one for one in _latest(found) if not said.holds(one)]
    numbers = turns(nodes)
    return tuple(
        Finding(
            kind=one.kind,
            text=one.text,
            node_id=nodes[one.place].id,
            turn=numbers[one.place],
            snippet=_snippet(one),
        )
        for one in _distinct(lost)
    )


def overlap(one: str, other: str) -> bool:
    """Whether two texts speak of the same: one within the other, or the same number or date."""
    a, b = plain(one), plain(other)
    if not a or not b:
        return False
    if f" {a} " in f" {b} " or f" {b} " in f" {a} ":
        return True
    left, right = mentions(one), mentions(other)
    return len(left) == len(right) == 1 and same(left[0], right[0])


def with_line(recap: str, line: str) -> str:
    """The recap with one more line under *Facts and figures*, which is made where it is not."""
    lines = recap.rstrip().split("\n")
    heading = re.compile(rf"^[\s#*_>-]*{FACTS}\b", re.IGNORECASE)
    start = next((n for n, text in enumerate(lines) if heading.match(text)), None)
    entry = f"- {' '.join(line.split())}"
    if start is None:
        return "\n".join([*lines, "", f"{FACTS}:", entry]).lstrip("\n")
    end = start + 1
    while end < len(lines) and not _is_heading(lines[end]):
        end += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return "\n".join([*lines[:end], entry, *lines[end:]])


def _is_heading(line: str) -> bool:
    bare = line.strip()
    return bool(re.match(r"#{1,6}\s|\*\*[^*]+\*\*:?$|[A-Z][\w ]{2,30}:(?:\s|$)", bare))


# --- what a recap says ---------------------------------------------------------------------------


class Said:
    """A text, ready to be asked whether it holds something that was stated."""

    def __init__(self, recap: str, found: Sequence[Claim] = ()) -> None:
        self._plain = f" {plain(recap)} "
        self._figures: list[Mention] = [*mentions(recap), *digits(recap)]
        self._words = frozenset(self._plain.split())
        pieces = [stems(one.text) for one in sentences(recap)]
        self._pieces = pieces
        self._stems = frozenset().union(*pieces)
        self._often = Counter(
            word for one in {c.sentence: c.stems for c in found}.values() for word in one
        )

    def holds(self, one: Claim) -> bool:
        """Whether the text says it too, in whatever notation."""
        match one.kind:
            case "number" | "date":
                return self._figure(one)
            case "name":
                return self._name(one.text)
            case "quote":
                return self._quote(one.text)
        return self._requirement(one)

    def _figure(self, one: Claim) -> bool:
        mention = one.mention
        return mention is None or any(_held(mention, other) for other in self._figures)

    def _name(self, name: str) -> bool:
        words = plain(name).split()
        if not words or f" {' '.join(words)} " in self._plain:
            return True
        if re.search(r"[\d@_/.]", name):
            return _squeezed(name) in _squeezed(self._plain)
        if len(words) > 2 and "".join(word[0] for word in words) in self._words:
            return True
        held = [word in self._words or self._alike(word) for word in words]
        return held[-1] or held[0] or sum(held) >= len(held) / 2

    def _alike(self, word: str) -> bool:
        return len(word) > 3 and any(
            other.startswith(word) and len(other) <= len(word) + 2 for other in self._words
        )

    def _quote(self, words: str) -> bool:
        bare = plain(words)
        if f" {bare} " in self._plain or _squeezed(words) in _squeezed(self._plain):
            return True
        inner = stems(words)
        one_word = len(bare.split()) == 1
        return one_word and bool(inner) and inner <= self._stems

    def _requirement(self, one: Claim) -> bool:
        figures = [m for m in mentions(core_of(one.text)) if not m.spelled]
        told = [any(_held(m, other) for other in self._figures) for m in figures]
        if figures:
            return all(told)  # what is missing of it is told by itself
        weights = {word: self._weight(word) for word in one.stems}
        total = sum(weights.values())
        if not total:
            return True
        elsewhere = sum(weights[word] for word in one.stems & self._stems)
        best = max((sum(weights[w] for w in one.stems & p) for p in self._pieces), default=0.0)
        return best + 0.4 * (elsewhere - best) >= _ENOUGH * total

    def _weight(self, word: str) -> float:
        rare: float = 1 / self._often.get(word, 1) ** 0.5
        return 0.3 * rare if word in _GENERAL else rare


_GENERAL = stems(
    "mention use include add write put name change start end contain exceed give show call refer"
    " text"
    " really like want think work people thing part whole finish ready look feel sound mean seem"
)
_UNITS = {
    "time": "minute:1 min:1 hour:60 hr:60 h:60 day:1440 night:1440 week:10080 month:43200"
    " year:525600",
    "length": "mm:1 cm:10 m:1000 meter:1000 metre:1000 km:1000000 kilometer:1000000"
    " kilometre:1000000 mile:1609344",
    "mass": "g:1 gram:1 kg:1000 kilo:1000 kilogram:1000",
    "people": "people:1 person:1 guest:1 attendee:1 participant:1 employee:1 user:1 customer:1"
    " member:1 kid:1 child:1 children:1 student:1",
    "words": "word:1",
    "pages": "page:1 slide:1",
}
_MEASURE = {
    name: (family, Decimal(size))
    for family, units in _UNITS.items()
    for name, _, size in (unit.partition(":") for unit in units.split())
}


def _held(stated: Mention, said: Mention) -> bool:
    """Whether a figure is said again, perhaps in another unit; and not of minutes what was stated
    of guests."""
    one, other = _MEASURE.get(stated.unit), _MEASURE.get(said.unit)
    if stated.kind == said.kind == "number" and one and other:
        scaled = {v * one[1] for v in stated.readings if isinstance(v, Decimal)}
        return one[0] == other[0] and any(
            v * other[1] in scaled for v in said.readings if isinstance(v, Decimal)
        )
    odd = (one and said.unit == "money") or (other and stated.unit == "money")
    return not odd and same(stated, said)


def plain(text: str) -> str:
    """Words only, without marks, accents and capitals."""
    return " ".join(re.findall(r"[^\W_]+", folded(text).replace("’", "'").replace("'s ", " ")))


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", folded(text))


def _latest(found: Sequence[Claim]) -> list[Claim]:
    """Of what is said several times the last saying, in the order of the first."""
    kept: list[Claim] = []
    for one in found:
        place = next((n for n, other in enumerate(kept) if alike(one, other)), None)
        if place is None:
            kept.append(one)
        else:
            kept[place] = one
    return kept


def _distinct(lost: list[Claim]) -> list[Claim]:
    """Without what another finding says already: a figure in a lost requirement, part of a name."""
    kept: list[Claim] = []
    for one in sorted(lost, key=lambda claim: (claim.place, claim.start)):
        around = (
            other
            for other in lost
            if other is not one
            and (other.kind == "requirement") >= (one.kind == "requirement")
            and len(other.text) > len(one.text)
            and (other.place == one.place or one.kind == other.kind == "name")
        )
        told = any((one.text, one.place) == (other.text, other.place) for other in kept)
        if not told and not any(
            f" {plain(one.text)} " in f" {plain(other.text)} " for other in around
        ):
            kept.append(one)
    return kept


def _snippet(one: Claim) -> str:
    """The sentence it stands in, or the part of it around the words."""
    text = " ".join(one.sentence.split())
    if len(text) <= 2 * _SNIPPET:
        return text
    at = max(0, text.find(one.text.split()[0]))
    start, end = max(0, at - _SNIPPET), at + len(one.text) + _SNIPPET
    cut = text[start:end].strip()
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"
