"""What several texts say alike and what only one of them says: without a model, and pure.

Figures, names, dates and quotes are the same in whatever notation, as the fidelity check reads
them; sentences where most of their words that carry meaning are.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.fidelity.check import Said, plain
from core.fidelity.claim import Claim, alike
from core.fidelity.names import common_words
from core.fidelity.stated import stated
from core.fidelity.wishes import requirements
from core.fidelity.words import Sentence, sentences, stems
from core.types import Call, Config, Message, Session, Text

FactKind = Literal["number", "date", "name", "quote"]
PointKind = Literal["heading", "requirement", "item", "sentence"]
FACTS: tuple[FactKind, ...] = ("number", "date", "name", "quote")
POINTS: tuple[PointKind, ...] = ("heading", "requirement", "item", "sentence")
MOST = 24_000
"""Characters of each text that are read."""
_ENOUGH = 0.6  # of a sentence's words, to be said elsewhere too
_LEAST_WORDS = 2  # that carry meaning; less is no statement


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure, date, name or quote, as the first text that has it writes it."""

    kind: FactKind
    text: str


@dataclass(frozen=True, slots=True)
class Point:
    """A heading, an item of a list, a requirement or another sentence."""

    kind: PointKind
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What some texts, or one, say."""

    facts: tuple[Fact, ...] = ()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Likeness:
    """``shared`` is what all say, ``alone`` for each text what no other does. ``cut`` says that a
    text was too long to be read to its end."""

    shared: Found
    alone: tuple[Found, ...]
    cut: bool = False


@lru_cache(maxsize=16)
def likeness(texts: tuple[str, ...]) -> Likeness:
    """Compare two or more texts; of fewer there is nothing to say."""
    if len(texts) < 2:
        return Likeness(Found(), tuple(Found() for _ in texts))
    read = [_read(text[:MOST]) for text in texts]
    alone = tuple(
        _alone(one, [*read[:place], *read[place + 1 :]]) for place, one in enumerate(read)
    )
    return Likeness(_shared(read), alone, cut=any(len(text) > MOST for text in texts))


@dataclass(frozen=True, slots=True)
class _Statement:
    point: Point
    words: str
    stems: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """A text, read once."""

    said: Said
    claims: tuple[Claim, ...]
    statements: tuple[_Statement, ...]
    where: dict[str, list[int]]  # a word to the statements that have it

    def closest(self, one: _Statement) -> float:
        """The share of a statement's words that one statement here has too, at the most."""
        count = Counter(place for stem in one.stems for place in self.where.get(stem, ()))
        return max(count.values(), default=0) / len(one.stems)


@lru_cache(maxsize=64)
def _read(text: str) -> _Read:
    known = common_words([text])
    claims: list[Claim] = []
    statements: list[_Statement] = []
    for sentence in sentences(text):
        if _RULE.fullmatch(sentence.text):
            continue
        new = stated(sentence, 0, mine=False, known=known)
        claims += (one for one in new if not any(alike(one, other) for other in claims))
        statements += _statement(text, sentence)
    where: dict[str, list[int]] = {}
    for place, one in enumerate(statements):
        for stem in one.stems:
            where.setdefault(stem, []).append(place)
    return _Read(Said(text), tuple(claims), tuple(statements), where)


_RULE = re.compile(r"[\s|:*_-]+")
_ITEM = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s")
_MARKS = re.compile(r"\*\*|__|`")


def _statement(text: str, sentence: Sentence) -> Iterator[_Statement]:
    line = text[text.rfind("\n", 0, sentence.start) + 1 : sentence.start]
    words = _MARKS.sub("", sentence.text).strip()
    if words.startswith("|"):
        words = " · ".join(filter(None, map(str.strip, words.strip("|").split("|"))))
    kind: PointKind = "sentence"
    if line.lstrip().startswith("#") or (
        sentence.text.startswith("**") and sentence.text.rstrip(":").endswith("**")
    ):
        kind = "heading"
    elif next(requirements(words), None):
        kind = "requirement"
    elif _ITEM.match(line):
        kind = "item"
    carried = stems(words)
    if len(carried) >= _LEAST_WORDS or (carried and kind == "heading"):
        yield _Statement(Point(kind, " ".join(words.split())), plain(words), carried)


def _shared(read: Sequence[_Read]) -> Found:
    first, *others = read
    facts = [one for one in first.claims if all(other.said.holds(one) for other in others)]
    told = [{one.words for one in other.statements} for other in others]
    points = [one for one in first.statements if all(one.words in words for words in told)]
    return Found(_facts(facts), _points(points))


def _alone(one: _Read, others: Sequence[_Read]) -> Found:
    facts = [claim for claim in one.claims if not any(other.said.holds(claim) for other in others)]
    points = [
        statement
        for statement in one.statements
        if all(other.closest(statement) < _ENOUGH for other in others)
    ]
    return Found(_facts(facts), _points(points))


def _facts(found: Iterable[Claim]) -> tuple[Fact, ...]:
    facts = [Fact(one.kind, _named(one)) for one in found if one.kind != "requirement"]
    return tuple(sorted(dict.fromkeys(facts), key=lambda one: FACTS.index(one.kind)))


def _named(claim: Claim) -> str:
    """A bare number with what it counts: "3 weeks"."""
    unit = claim.mention.unit if claim.mention is not None and claim.kind == "number" else ""
    after = re.match(r"[\s-]*([\w'’-]+)", claim.sentence.partition(claim.text)[2])
    if not unit or unit in claim.text.casefold() or after is None:
        return claim.text
    return f"{claim.text} {after[1]}" if after[1].casefold().startswith(unit) else claim.text


def _points(found: Iterable[_Statement]) -> tuple[Point, ...]:
    points = dict.fromkeys(one.point for one in found)
    return tuple(sorted(points, key=lambda one: POINTS.index(one.kind)))


# --- in a model's words --------------------------------------------------------------------------

PROMPT = """\
Below are {count} texts that answer the same request. You know nothing else of how they came \
about or who wrote them.

{asked}{texts}

Compare them, in this order and in short lines:
1. What all of them say.
2. Where they contradict each other, with the words of each.
3. What only one of them says, text by text.
4. What of the request each leaves out.

Call them Text A, Text B and so on. Say nothing that the texts do not show, and name no winner. \
Write in the language of the texts."""


def in_words(texts: Sequence[str], session: Session, config: Config) -> Call:
    """The call for a comparison by a model: one message with the texts under letters, and what
    they were asked to do. Nothing in it tells whose they are."""
    objective, done = session.objective.strip(), session.done_when.strip()
    asked = f"What was asked for:\n{objective}\n\n" if objective else ""
    asked += f"It is done when:\n{done}\n\n" if done else ""
    letters = (chr(ord("A") + place) for place in range(len(texts)))
    told = "\n\n".join(
        f"<text {letter}>\n{text.strip()}\n</text {letter}>"
        for letter, text in zip(letters, texts, strict=False)
    )
    words = PROMPT.format(count=len(texts), asked=asked, texts=told)
    message = Message(role="user", parts=(Text(text=words),))
    return Call(model=config.model, messages=(message,), sampling=config.sampling)
