"""The lanes as a page judges them: under which names, in which order, with which answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from core.briefing import answers
from core.columns import Column, letter, shuffled
from core.errors import NotFound
from core.store import Store
from core.types import Comparison, Config, Judged, Node, Verdict
from pages.components import sidebar, state

_REMOVED = "verdict.removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The lanes as they are judged: in the order that is shown, under the names that are shown.

    ``answers`` maps branch ids to what is judged; ``models`` to what wrote it.
    """

    columns: tuple[Column, ...]
    names: dict[str, str]
    answers: dict[str, Node]
    models: dict[str, str]
    blind: bool

    def name(self, store: Store, branch_id: str) -> str:
        """What a branch is called here; one that is no lane any more, by its own name."""
        if branch_id in self.names:
            return self.names[branch_id]
        if self.blind:
            return "an answer that was dropped"
        try:
            return store.branches.get(branch_id).name
        except NotFound:
            return "a branch that is gone"

    def moved_on(self, store: Store, verdict: Verdict) -> list[str]:
        """The lanes of which another answer is shown by now than was judged then."""
        return [
            self.name(store, branch)
            for branch, node in verdict.tips.items()
            if branch in self.answers and self.answers[branch].id != node
        ]


def look(store: Store, comparison: Comparison, found: Sequence[Column]) -> Look:
    """The lanes as they are to be judged; while it is blind, shuffled and without names."""
    ordered = shuffled(comparison, found) if comparison.blind else list(found)
    judged = answers(store, found)
    runs = store.runs.of_nodes(node.id for node in judged.values())
    models = {}
    for column in ordered:
        node = judged.get(column.branch.id)
        run = runs.get(node.id) if node else None
        models[column.branch.id] = model_name(run.config if run else column.config)
    return Look(
        columns=tuple(ordered),
        names={
            column.branch.id: f"Answer {letter(place)}" if comparison.blind else column.name
            for place, column in enumerate(ordered)
        },
        answers=judged,
        models=models,
        blind=comparison.blind,
    )


def model_name(config: Config) -> str:
    """Provider and model in words."""
    return f"{config.provider} · {config.model}"


def heading(name: str, about: str = "") -> None:
    """A name that somebody gave, taken literally, and a few pale words."""
    st.markdown(f"**{sidebar.label(name)}**" + (f" :gray[{sidebar.label(about)}]" if about else ""))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> None:
    """A small table that scrolls by itself where it is too wide. Cells are HTML already."""
    top = "".join(f"<th scope='col'>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr><th scope='row'>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    st.html(
        f'<div class="judging-table" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def remove(store: Store, verdict: Verdict) -> None:
    """Take a verdict back; :func:`undo` offers it again."""
    store.verdicts.remove(verdict.id)
    state.keep(_REMOVED, verdict)


def undo(store: Store, comparison: Comparison, by: Judged) -> None:
    """The way back, while the last removed verdict is one of these."""
    removed: Verdict | None = state.kept(_REMOVED)
    if removed is None or (removed.comparison_id, removed.by) != (comparison.id, by):
        return

    def back() -> None:
        store.verdicts.add(removed)
        state.keep(_REMOVED, None)

    with st.container(horizontal=True, vertical_alignment="center", key="verdict_undo"):
        st.caption("The verdict was removed.")
        st.button(
            "Undo", type="tertiary", icon=":material/undo:", key="undo_verdict", on_click=back
        )
