"""What several texts state, and where they differ: pure, without a model.

A text is taken apart into statements: a sentence, an item of a list, a row of a table, a block of
code. Statements of different texts that share most of their words are about the same thing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"^\s*#{1,6}\s|^\s*(?:-{3,}|={3,}|\*{3,})\s*$")
_RULE_OF_TABLE = re.compile(r"^\s*\|?[\s:|-]+\|[\s:|-]*$")
_END = re.compile(r"(?<=[.!?…])[\"”')\]*_]*\s+(?=[\"“'(\[*_]*[A-Z0-9À-ÞА-ЯЁ])")
_WORD = re.compile(r"\w+(?:[.,:]\d+)*")
_MOST = 400  # statements of one text; what is longer is told paragraph by paragraph
_ALIKE = 0.6  # of the words of two statements, for them to be about the same thing


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One wording, and the texts that have it, by their places in the list.

    ``place`` is where the first of them has it: the number of the statement.
    """

    texts: tuple[int, ...]
    place: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What not all texts state alike: a single wording that some lack, or several wordings."""

    said: tuple[Said, ...]

    @property
    def alone(self) -> bool:
        """Whether there is one wording only: the other texts say nothing of it."""
        return len(self.said) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What all texts state in the same words, and the rest, in the order of the texts."""

    same: tuple[str, ...]
    differences: tuple[Difference, ...]


def statements(text: str) -> list[str]:
    """A text taken apart. Headings and rules state nothing; nothing else is lost."""
    found = [one for block in _blocks(text) for one in block if one.strip()]
    if len(found) > _MOST:
        found = [one.strip() for one in re.split(r"\n\s*\n", text) if one.strip()]
    if len(found) > _MOST:
        found = [*found[: _MOST - 1], "\n\n".join(found[_MOST - 1 :])]
    return found


def _blocks(text: str) -> list[list[str]]:
    """Blocks of a text, each as its statements."""
    done: list[list[str]] = []
    open_lines: list[str] = []
    fence = item = False

    def close() -> None:
        words = " ".join(line.strip() for line in open_lines)
        if fence:
            done.append(["\n".join(open_lines)])
        elif open_lines:
            done.append([words] if item else sentences(words))
        open_lines.clear()

    for line in text.splitlines():
        if fence:
            open_lines.append(line)
            if _FENCE.match(line):
                close()
                fence = False
        elif _FENCE.match(line):
            close()
            fence, item = True, False
            open_lines.append(line)
        elif not line.strip() or _HEADING.match(line) or _RULE_OF_TABLE.match(line):
            close()
            item = False
        elif found := _ITEM.match(line):
            close()
            item = True
            open_lines.append(line[found.end() :])
        elif line.lstrip().startswith("|"):
            close()
            item = False
            done.append([line.strip()])
        else:
            open_lines.append(line)
    close()
    return done


def sentences(words: str) -> list[str]:
    """Prose as its sentences."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(words):
        found.append(words[start : end.end()].strip())
        start = end.end()
    return [one for one in (*found, words[start:].strip()) if one]


def plain(words: str) -> str:
    """What counts when two wordings are compared: words and figures, without case and marks."""
    return " ".join(_WORD.findall(words.casefold())) or " ".join(words.split())


# --- comparing ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stated:
    """A statement with what it is compared by, which is worked out once."""

    place: int
    words: str
    plain: str
    bag: frozenset[str]


_Group = dict[int, _Stated]
"""Statements about one thing, by text."""


@lru_cache(maxsize=16)
def compare(texts: tuple[str, ...]) -> Compared:
    """Where two or more texts agree and differ."""
    groups: list[_Group] = []
    for number, text in enumerate(texts):
        _add(groups, number, _stated(text))
    same: list[str] = []
    differences: list[Difference] = []
    for group in groups:
        said = _wordings(group)
        if len(said) == 1 and len(said[0].texts) == len(texts):
            same.append(said[0].words)
        else:
            differences.append(Difference(said=said))
    return Compared(same=tuple(same), differences=tuple(differences))


def _stated(text: str) -> list[_Stated]:
    """The statements of a text, each once."""
    found: dict[str, str] = {}
    for words in statements(text):
        found.setdefault(plain(words), words)
    return [
        _Stated(place, words, key, frozenset(key.split()))
        for place, (key, words) in enumerate(found.items())
    ]


def _add(groups: list[_Group], number: int, found: Sequence[_Stated]) -> None:
    """Give each statement of a text to the group that is most like it, or to a new one."""
    scores = [
        (score, one.place, at)
        for one in found
        for at, group in enumerate(groups)
        if (score := max(_likeness(one, other) for other in group.values())) >= _ALIKE
    ]
    given: dict[int, _Group] = {}
    full: set[int] = set()
    for _, place, at in sorted(scores, key=lambda one: (-one[0], one[1], one[2])):
        if place not in given and at not in full:
            given[place] = groups[at]
            full.add(at)
    # What is new stands where its own text has it: after its neighbour, or before the first one
    # that is known.
    at = _index(groups, given[min(given)]) if given else len(groups)
    for one in found:
        group = given.get(one.place)
        if group is None:
            group = {}
            groups.insert(at, group)
        group[number] = one
        at = _index(groups, group) + 1


def _index(groups: Sequence[_Group], wanted: _Group) -> int:
    return next(at for at, one in enumerate(groups) if one is wanted)


def _wordings(group: _Group) -> tuple[Said, ...]:
    found: dict[str, list[int]] = {}
    for number, one in group.items():
        found.setdefault(one.plain, []).append(number)
    return tuple(
        Said(
            texts=tuple(numbers),
            place=group[numbers[0]].place,
            words=group[numbers[0]].words,
        )
        for numbers in found.values()
    )


def _likeness(one: _Stated, other: _Stated) -> float:
    """The share of words that two statements have in common; 1 for the same words."""
    if one.plain == other.plain:
        return 1.0
    fewer, more = sorted((len(one.bag), len(other.bag)))
    if fewer < 3 or 2 * fewer / (fewer + more) < _ALIKE:  # two words alike are a coincidence
        return 0.0
    return min(0.99, 2 * len(one.bag & other.bag) / (fewer + more))
