"""A comparison as columns: each lane with its branch, its lineage and its last answer."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from core.context import config_for
from core.store import Store
from core.tree import last_answer
from core.types import Branch, Comparison, Config, Lane, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One lane as it stands. ``config`` is what its next answer is asked with."""

    lane: Lane
    branch: Branch
    config: Config
    lineage: tuple[Node, ...]

    @property
    def name(self) -> str:
        """What the lane is called."""
        return self.branch.name

    @property
    def answer(self) -> Node | None:
        """The last answer of the lane."""
        return last_answer(self.lineage)


def columns(store: Store, comparison: Comparison) -> list[Column]:
    """The lanes of a comparison from left to right; dropped and binned ones are left out."""
    session = store.sessions.get(comparison.session_id)
    found = []
    for lane in store.comparisons.lanes(comparison.id):
        branch = store.branches.get(lane.branch_id)
        found.append(
            Column(
                lane=lane,
                branch=branch,
                config=config_for(session, branch),
                lineage=store.nodes.lineage(branch.tip_id),
            )
        )
    return found


def shared(found: Sequence[Column]) -> int:
    """How many nodes, from the root, all columns have in common."""
    if not found:
        return 0
    count = 0
    for nodes in zip(*(column.lineage for column in found), strict=False):
        if len({node.id for node in nodes}) > 1:
            break
        count += 1
    return count


def shuffled(comparison: Comparison, found: Sequence[Column]) -> list[Column]:
    """The columns in the order of a blind look: always the same one for a comparison."""
    # By lane, so that one more lane does not give away where the others stood.
    order = random.Random(comparison.seed)  # noqa: S311 - nothing secret
    ranks = {column.lane.id: order.random() for column in sorted(found, key=_place)}
    return sorted(found, key=lambda column: ranks[column.lane.id])


def _place(column: Column) -> int:
    return column.lane.place


def letter(place: int) -> str:
    """What a column is called while its name is hidden: A, B, …"""
    return chr(ord("A") + place)
