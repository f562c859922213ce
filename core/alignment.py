"""Turns of several branches beside each other: pure functions from lineages to rows.

Each lineage, after what all have in common, is cut into turns. Turns that ask the same stand in
one row; between those, turns are paired as they come. Every turn has exactly one row, and in
every lane the rows keep the order of its turns.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from core.types import AttachmentRef, Node

Row = tuple[int | None, ...]
"""For each lane the place of its turn in the lane, None where it has none in this row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a person said and all that came of it.

    ``asked`` is None for what follows the common beginning before the person speaks again;
    ``number`` counts the lineage's turns from 1. ``nodes`` leaves out ``asked``.
    """

    number: int
    asked: Node | None
    nodes: tuple[Node, ...] = ()


def turns_after(lineage: Sequence[Node], common: int) -> list[Turn]:
    """The turns of a lineage after its first ``common`` nodes.

    Where these end with a person's message, the first turn is the answer to it, be it there yet
    or not.
    """
    number = sum(node.role == "user" for node in lineage[:common])
    answers = common > 0 and lineage[common - 1].role == "user"
    found: list[Turn] = []
    asked: Node | None = None
    nodes: list[Node] = []
    begun = answers
    for node in lineage[common:]:
        if node.role == "user":
            if begun:
                found.append(Turn(number=max(number, 1), asked=asked, nodes=tuple(nodes)))
            number, asked, nodes = number + 1, node, []
        else:
            nodes.append(node)
        begun = True
    if begun:
        found.append(Turn(number=max(number, 1), asked=asked, nodes=tuple(nodes)))
    return found


def asks(turn: Turn) -> Hashable:
    """What makes two turns the same question: words and files."""
    if turn.asked is None:
        return None
    files = tuple(part.sha256 for part in turn.asked.parts if isinstance(part, AttachmentRef))
    return (turn.asked.text.strip(), files)


def rows(lanes: Sequence[Sequence[Turn]]) -> list[tuple[Turn | None, ...]]:
    """The turns of several lanes, row by row."""
    placed = align([[asks(turn) for turn in lane] for lane in lanes])
    return [
        tuple(
            None if place is None else lane[place] for lane, place in zip(lanes, row, strict=True)
        )
        for row in placed
    ]


def align(lanes: Sequence[Sequence[Hashable]]) -> list[Row]:
    """Rows for sequences of keys: total, and each lane in its own order.

    The n-th of a key meets the n-th of the same key in the lanes before; of these meetings as
    many are kept as can be without crossing.
    """
    table: list[list[int | None]] = []
    keys: list[set[Hashable]] = []
    for number, lane in enumerate(lanes):
        meetings = _uncrossed(_meetings(lane, keys))
        table, keys = _merged(table, keys, lane, meetings, number)
    return [tuple(row) for row in table]


def _meetings(lane: Sequence[Hashable], keys: Sequence[set[Hashable]]) -> list[tuple[int, int]]:
    """Pairs of a place in the lane and a row that holds the same key."""
    where: dict[tuple[Hashable, int], int] = {}
    seen: Counter[Hashable] = Counter()
    for row, held in enumerate(keys):
        for key in held:
            where[key, seen[key]] = row
            seen[key] += 1
    found = []
    mine: Counter[Hashable] = Counter()
    for place, key in enumerate(lane):
        if (row := where.get((key, mine[key]), -1)) >= 0:
            found.append((place, row))
        mine[key] += 1
    return found


def _uncrossed(meetings: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest choice of meetings whose rows rise as their places do."""
    ends: list[int] = []  # the lowest row that a choice of this length ends with
    holders: list[int] = []  # and the meeting that does
    before: list[int] = []
    for number, (_, row) in enumerate(meetings):
        at = bisect_left(ends, row)
        before.append(holders[at - 1] if at else -1)
        ends[at : at + 1], holders[at : at + 1] = [row], [number]
    chosen = []
    number = holders[-1] if holders else -1
    while number >= 0:
        chosen.append(meetings[number])
        number = before[number]
    return chosen[::-1]


def _merged(
    table: Sequence[list[int | None]],
    keys: Sequence[set[Hashable]],
    lane: Sequence[Hashable],
    meetings: Sequence[tuple[int, int]],
    number: int,
) -> tuple[list[list[int | None]], list[set[Hashable]]]:
    """The table with one more lane, the ``number``-th."""
    grown: list[list[int | None]] = []
    held: list[set[Hashable]] = []

    def add(row: int | None, place: int | None) -> None:
        before = [None] * number if row is None else table[row]
        grown.append([*before, place])
        known = set() if row is None else keys[row]
        held.append(known if place is None else known | {lane[place]})

    row = place = 0
    for next_place, next_row in [*meetings, (len(lane), len(table))]:
        for step in range(max(next_row - row, next_place - place)):
            add(
                row + step if row + step < next_row else None,
                place + step if place + step < next_place else None,
            )
        if next_place < len(lane):
            add(next_row, next_place)
        row, place = next_row + 1, next_place + 1
    return grown, held
