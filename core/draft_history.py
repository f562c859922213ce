"""The drafts of a branch: each answer against the one before, and who made it of that."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.diff import Diff, compare
from core.store import Store
from core.tree import last_answer, turns
from core.types import Node, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One draft. ``number`` and ``turn`` count from 1; ``before`` is the draft that it changed.

    ``run`` wrote it; a person's own has none.
    """

    number: int
    turn: int
    node: Node
    before: Node | None = None
    run: Run | None = None
    final: bool = False

    @property
    def by_hand(self) -> bool:
        """Whether a person wrote it over the draft before."""
        return self.node.author == "hand-edited"

    @property
    def diff(self) -> Diff:
        """What it changed; of the first draft all is new."""
        return compare(self.before.text if self.before else "", self.node.text)


def history(store: Store, lineage: Sequence[Node]) -> tuple[Version, ...]:
    """The drafts along a lineage, the oldest first; one that was edited by hand, or continued,
    comes after what it was made of. Answers without words are none."""
    found: list[tuple[int, Node]] = []
    numbers = turns(lineage)
    known = {node.id for node in lineage}
    for turn, node in zip(numbers, lineage, strict=True):
        if node.role == "assistant" and node.text.strip():
            made_of = [one for one in _sources(store, node) if one.id not in known]
            found += [(turn, one) for one in (*made_of, node)]
    ids = [node.id for _, node in found]
    runs, marks = store.runs.of_nodes(ids), store.nodes.marks(ids)
    return tuple(
        Version(
            number=number,
            turn=turn,
            node=node,
            before=found[number - 2][1] if number > 1 else None,
            run=runs.get(node.id),
            final="final" in marks.get(node.id, {}),
        )
        for number, (turn, node) in enumerate(found, 1)
    )


def _sources(store: Store, node: Node) -> list[Node]:
    """The answers that an answer was made of one after the other, the oldest first."""
    found: list[Node] = []
    while node.source_id is not None:
        above = store.nodes.many([node.source_id])
        if not above or above[0].role != "assistant" or above[0] in found:
            break
        node = above[0]
        if node.text.strip():
            found.insert(0, node)
    return found


def final_draft(store: Store, session_id: str, lineage: Sequence[Node]) -> Node | None:
    """The answer marked final latest on a lineage; without a mark, the last one that has words."""
    on_path = {node.id: node for node in lineage}
    marked = [node for node in store.nodes.finals(session_id) if node in on_path]
    if marked:
        return on_path[marked[-1]]
    return last_answer([node for node in lineage if node.text.strip()]) or last_answer(lineage)
