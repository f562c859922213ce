"""Pure functions on the tree: turns, siblings, common ancestors. No storage, no clock."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.types import Node


@dataclass(frozen=True, slots=True)
class Siblings:
    """Where a node stands among the alternatives to it; ``index`` counts from 1."""

    index: int
    count: int
    previous: str | None
    next: str | None


def turns(lineage: Sequence[Node]) -> list[int]:
    """For each node, the number of the turn it belongs to: user nodes so far, from 1."""
    numbers: list[int] = []
    turn = 0
    for node in lineage:
        turn += node.role == "user"
        numbers.append(max(turn, 1))
    return numbers


def siblings(node_id: str, alternatives: Sequence[str]) -> Siblings | None:
    """The node among the children of its parent, or None when it is the only one."""
    if len(alternatives) < 2 or node_id not in alternatives:
        return None
    at = alternatives.index(node_id)
    return Siblings(
        index=at + 1,
        count=len(alternatives),
        previous=alternatives[at - 1] if at else None,
        next=alternatives[at + 1] if at + 1 < len(alternatives) else None,
    )


def common_ancestor(one: Sequence[Node], other: Sequence[Node]) -> Node | None:
    """The last node that two lineages share, or None when they share nothing."""
    shared = None
    for a, b in zip(one, other, strict=False):
        if a.id != b.id:
            break
        shared = a
    return shared


def previous_user_turn(lineage: Sequence[Node]) -> Node | None:
    """The last user node of a lineage."""
    return next((node for node in reversed(lineage) if node.role == "user"), None)


def last_answer(lineage: Sequence[Node]) -> Node | None:
    """The last assistant node of a lineage."""
    return next((node for node in reversed(lineage) if node.role == "assistant"), None)


def free_name(wanted: str, taken: Collection[str]) -> str:
    """``wanted``, or the first of ``wanted 2``, ``wanted 3``, … that nobody has."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted} {number}" in taken:
        number += 1
    return f"{wanted} {number}"
