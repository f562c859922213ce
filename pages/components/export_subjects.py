"""What can be taken away from where a tab stands, each as the subject of a file. No Streamlit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core import Node, Runner, View, exporting
from core.draft_history import final_draft
from core.exporting import comparison as comparing
from core.types import Comparison, Scope, Taken
from pages.components import words

PROVENANCE = "provenance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing to take away. ``what`` is a scope or :data:`PROVENANCE`; ``said`` tells which it
    is. ``whole`` is there if it is the beginning of something: all of it."""

    what: str
    label: str
    said: str
    take: Callable[[], Taken] | None = None
    whole: Callable[[], Taken] | None = None
    node: Node | None = None

    @property
    def scope(self) -> Scope | None:
        """What a format must be able to hold; of a provenance None."""
        scopes: tuple[Scope, ...] = ("answer", "branch", "tree", "comparison")
        return next((one for one in scopes if one == self.what), None)


def of_view(runner: Runner, view: View, node_id: str | None = None) -> list[Subject]:
    """Of a message on a branch, or of all that is shown: the answer, the path, the session."""
    store, session = runner.store, view.session
    node = store.nodes.get(node_id) if node_id else None
    found = []
    answer = node if node else final_draft(store, session.id, view.lineage)
    if answer is not None and answer.role == "assistant":
        found.append(_answer(runner, view, answer, pointed=node is not None))
    if view.lineage or node:
        found.append(_branch(runner, view, node))
    found.append(_tree(runner, view))
    if answer is not None and answer.role == "assistant":
        said = "How this answer came about: turns, models, edits, recaps, tokens, dates."
        found.append(Subject(what=PROVENANCE, label="Provenance", said=said, node=answer))
    return found


def of_comparison(runner: Runner, comparison: Comparison) -> list[Subject]:
    """Of the compare page: the lanes, their figures, verdicts and differences."""
    of = comparison.session_id
    blind = " The names stay hidden, as on the page." if comparison.blind else ""
    return [
        Subject(
            what="comparison",
            label="Comparison",
            said=f"The lanes with their figures, verdicts and differences.{blind}",
            take=lambda: comparing.comparison(runner.store, of, comparison.id),
        )
    ]


def _answer(runner: Runner, view: View, node: Node, *, pointed: bool) -> Subject:
    marked = "final" in runner.store.nodes.marks([node.id]).get(node.id, {})
    said = "Marked final." if marked else "The last answer: none is marked final."
    if pointed:
        said = "Exactly its words, with no chat around them."
    elif marked:
        said = "Exactly the words of the answer marked final, with no chat around them."
    return Subject(
        what="answer",
        label="This answer" if pointed else "Final answer",
        said=said,
        take=lambda: exporting.answer(runner.store, view.session.id, node.id),
        node=node,
    )


def _branch(runner: Runner, view: View, node: Node | None) -> Subject:
    of, branch = view.session.id, view.branch
    tip = node.id if node else view.tip_id
    partly = tip != branch.tip_id
    lineage = runner.store.nodes.lineage(tip) if partly else view.lineage
    count = words.counted(sum(one.role == "user" for one in lineage), "turn")
    known = f"{count} on branch {branch.name}"
    return Subject(
        what="branch",
        label="Branch",
        said=f"{known}, up to this message." if partly else f"{known}.",
        take=lambda: exporting.branch(runner.store, of, branch.id, tip),
        whole=(lambda: exporting.branch(runner.store, of, branch.id)) if partly else None,
    )


def _tree(runner: Runner, view: View) -> Subject:
    branches = len(runner.store.branches.of(view.session.id))
    name = f"{branches:,} branches" if branches != 1 else "1 branch"
    return Subject(
        what="tree",
        label="Whole session",
        said=f"The tree with {name}, and all that is kept with it.",
        take=lambda: exporting.tree(runner.store, view.session.id),
    )


def chosen(subjects: Sequence[Subject], what: str) -> Subject:
    """The subject of that name, else the first."""
    return next((one for one in subjects if one.what == what), subjects[0])
