"""Bring in: the answer of one branch as words of another, quoted or as it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from core import Runner
from core.origins import expect, quoted
from core.types import Node
from pages.components import merge_sides, state
from pages.components.merge_sides import Sides

_QUOTE, _PASTE = "Quote", "Paste as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bringing:
    """An answer on its way: the branch it is of, what that is called, where it may go."""

    node: Node
    branch_id: str
    name: str
    targets: Mapping[str, str]


def draw(on: Sides) -> None:
    """From any answer of any lane into any lane, or another branch of the session."""
    st.caption(
        "The words wait in the composer of the other branch. Once they are sent, the message says"
        " where they are from."
    )
    known = merge_sides.answers(on)
    if not known:
        st.info("There is no answer yet.")
        return
    chosen = st.selectbox(
        "Answer",
        list(known),
        format_func=lambda node: known[node][0] if node in known else node,
        key=f"bring.answer.{on.comparison.id}",
    )
    _, source = known[chosen]
    lanes = {one: name for one, name in on.names.items() if one != source.branch_id}
    if not on.comparison.blind:  # the names of others would tell which are the lanes
        lanes |= others(on.runner, on.session.id, source.branch_id, lanes)
    name = "" if on.comparison.blind else source.name
    bringing = Bringing(node=source.node, branch_id=source.branch_id, name=name, targets=lanes)

    def go(target: str) -> None:
        merge_sides.leave_for(on, target, "The words wait in the composer.")

    form(on.runner, bringing, go)


def others(
    runner: Runner, session_id: str, branch_id: str, known: Mapping[str, str]
) -> dict[str, str]:
    """The session's other branches, by name."""
    return {
        branch.id: branch.name
        for branch in runner.store.branches.of(session_id)
        if branch.id != branch_id and branch.id not in known
    }


def form(runner: Runner, bringing: Bringing, go: Callable[[str], None]) -> None:
    """How, what and where to; then ``go`` to the branch, in whose composer the words wait."""
    if not bringing.targets:
        st.info("There is no other branch yet. Fork one first.")
        return
    node = bringing.node
    with st.container(key="bring"):
        target = st.selectbox(
            "Into the branch",
            list(bringing.targets),
            format_func=lambda branch: bringing.targets.get(branch, branch),
            key=f"bring.target.{node.id}",
        )
        how = st.segmented_control(
            "How", [_QUOTE, _PASTE], default=_QUOTE, key=f"bring.how.{node.id}", required=True
        )
        paste = how == _PASTE
        first = node.text.strip() if paste else quoted(node.text, bringing.name)
        text = st.text_area(
            "Words (leave only what you need)",
            first,
            height=260,
            key=f"bring.words.{node.id}.{'paste' if paste else 'quote'}",
        )
        if st.button(
            "Put into the composer",
            type="primary",
            icon=":material/input:",
            disabled=not text.strip(),
        ):
            expect(
                runner.store,
                node.session_id,
                target,
                [(node.id, bringing.branch_id)],
                "quote",
                text.strip(),
            )
            state.insert(f"{text.rstrip()}\n\n")
            go(target)
