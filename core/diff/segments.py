"""What a difference is made of. Pure values."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Op = Literal["same", "added", "removed"]
Kind = Literal["prose", "table", "code"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text that stayed, came or went."""

    op: Op
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a table or a fenced piece of code, with the blank lines after it."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row of two tables laid over each other; each cell is its segments."""

    op: Literal["same", "added", "removed", "changed"]
    cells: tuple[tuple[Segment, ...], ...]


@dataclass(frozen=True, slots=True)
class Hunk:
    """Some of both texts, of one kind. ``rows`` are a table's, without the line of dashes."""

    kind: Kind
    segments: tuple[Segment, ...]
    rows: tuple[Row, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing in it came or went."""
        return all(one.op == "same" for one in self.segments)


@dataclass(frozen=True, slots=True)
class Diff:
    """All of two texts. The counts are words; of Chinese and Japanese, characters."""

    hunks: tuple[Hunk, ...]
    same: int
    added: int
    removed: int

    @property
    def share(self) -> float:
        """How much of both is the same, 0 to 1."""
        total = 2 * self.same + self.added + self.removed
        return 2 * self.same / total if total else 1.0


def of_old(segments: Iterable[Segment]) -> str:
    """The old text that segments cover."""
    return "".join(one.text for one in segments if one.op != "added")


def of_new(segments: Iterable[Segment]) -> str:
    """The new text that segments cover."""
    return "".join(one.text for one in segments if one.op != "removed")
