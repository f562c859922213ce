"""A merge by meaning: what becomes of each point that two branches make. Pure.

As in a merge of files: what is alike in both is taken, what one side changed is taken from there,
and what both changed in different ways is for the person to decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.statements import plain

Kind = Literal["fact", "decision", "constraint", "question"]
HEADINGS: Mapping[Kind, str] = {
    "decision": "Decisions",
    "constraint": "Constraints",
    "fact": "Facts",
    "question": "Open questions",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One thing that holds, in its wording before, at the end of A, at the end of B; None where
    it does not exist."""

    kind: Kind
    topic: str = ""
    before: str | None = None
    a: str | None = None
    b: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What goes in without a question. ``side`` is who brought it: *both* changed it alike,
    *neither* changed it."""

    point: Point
    text: str
    side: Literal["a", "b", "both", "neither"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What goes in, what the person decides, and what one side (or both) took back."""

    taken: tuple[Taken, ...]
    conflicts: tuple[Point, ...]
    gone: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a conflict becomes. ``words`` are the person's own."""

    choice: Literal["a", "b", "both", "own"]
    words: str = ""


def combine(points: Sequence[Point]) -> Merged:
    """Settle each point by rule; what both sides changed in different ways is a conflict."""
    taken: list[Taken] = []
    conflicts: list[Point] = []
    gone: list[Point] = []
    for point in points:
        by_a, by_b = not _alike(point.before, point.a), not _alike(point.before, point.b)
        if by_a and by_b and not _alike(point.a, point.b):
            conflicts.append(point)
            continue
        text = point.a if by_a else point.b if by_b else point.before
        if text is None:
            gone.append(point)
        elif by_a and by_b:
            taken.append(Taken(point=point, text=text, side="both"))
        else:
            taken.append(Taken(point=point, text=text, side=_side(by_a, by_b)))
    return Merged(taken=tuple(taken), conflicts=tuple(conflicts), gone=tuple(gone))


def _side(by_a: bool, by_b: bool) -> Literal["a", "b", "neither"]:
    if by_a:
        return "a"
    return "b" if by_b else "neither"


def _alike(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one is other
    return plain(one) == plain(other)


def decided(merged: Merged, decisions: Mapping[int, Decision]) -> bool:
    """Whether the person has decided every conflict; own words must be there."""
    return all(
        number in decisions
        and (decisions[number].choice != "own" or bool(decisions[number].words.strip()))
        for number in range(len(merged.conflicts))
    )


def written(merged: Merged, decisions: Mapping[int, Decision]) -> str:
    """The recap of both: what goes in, under headings. A conflict that is not decided becomes an
    open question."""
    lines: dict[Kind, list[str]] = {kind: [] for kind in HEADINGS}
    for one in merged.taken:
        lines[one.point.kind].append(one.text)
    for number, point in enumerate(merged.conflicts):
        decision = decisions.get(number)
        if decision is None:
            lines["question"].append(_undecided(point))
        else:
            lines[point.kind] += _chosen(point, decision)
    return "\n\n".join(
        f"{HEADINGS[kind]}:\n" + "\n".join(f"- {line}" for line in dict.fromkeys(found))
        for kind, found in lines.items()
        if found
    )


def _chosen(point: Point, decision: Decision) -> list[str]:
    match decision.choice:
        case "a":
            wanted = [point.a]
        case "b":
            wanted = [point.b]
        case "both":
            wanted = [point.a, point.b]
        case "own":
            wanted = [" ".join(decision.words.split())]
    return [text for text in wanted if text]


def _undecided(point: Point) -> str:
    topic = f"{point.topic}: " if point.topic else ""
    choices = [text or "(leave it out)" for text in (point.a, point.b)]
    return f"Still to be decided. {topic}{choices[0]} Or: {choices[1]}"
