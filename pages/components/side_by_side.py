"""The tab "Side by side", and the control that adds a lane."""

from collections.abc import Sequence

import streamlit as st

from core import Runner
from core.columns import Column
from core.lanes import MOST_LANES
from core.types import Comparison
from pages.components import acts_lanes, fan_dialog, lanes, state

_ADDING = fan_dialog.ADDING  # the comparison whose dialog is open
_CLOSED = "lanes.closed"  # how often the control was closed: with another key it is a closed one


def close() -> None:
    """Fold the control away: what it was opened for is done."""
    state.keep(_CLOSED, state.kept(_CLOSED, 0) + 1)


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """The lanes, or what to do where there is none."""
    if found:
        lanes.draw(runner, comparison, found)
        return
    st.info("Every lane of this comparison was dropped. Bring one back to go on.")
    for lane in runner.store.comparisons.lanes(comparison.id, dropped=True):
        st.button(
            runner.store.branches.get(lane.branch_id).name,
            key=f"lanes.back.{lane.id}",
            icon=":material/undo:",
            help="Bring this lane back",
            on_click=acts_lanes.add_branch,
            args=[runner, comparison, lane.branch_id],
        )


def add(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """One more lane: a branch that is there, or a model that plays what was said."""
    there = {column.branch.id for column in found}
    branches = runner.store.branches.of(comparison.session_id)
    names = {one.id: one.name for one in reversed(branches) if one.id not in there}
    full = len(found) >= MOST_LANES
    why = f"{MOST_LANES} lanes are the most." if full else None
    if comparison.blind:  # what is not a lane yet tells what is; and a new one would be known
        why = "Show the names first: a new lane would be known by its name."
    with st.popover(
        "Add lane",
        icon=":material/add:",
        disabled=why is not None,
        key=f"lanes.popover.{state.kept(_CLOSED, 0)}",
        on_change="rerun",
        help=why,
    ):
        key = f"lanes.add.{comparison.id}.{len(names)}"

        def put() -> None:
            if chosen := state.value(key):
                acts_lanes.add_branch(runner, comparison, chosen)
            close()

        def model() -> None:
            state.keep(_ADDING, comparison.id)
            close()

        if names:
            st.selectbox(
                "A branch of this session",
                list(names),
                format_func=lambda one: names.get(one, one),
                key=key,
            )
            st.button("Add this branch", icon=":material/call_split:", on_click=put)
        else:
            st.caption("Every branch of this session is a lane already.")
        st.button(
            "Another model…",
            icon=":material/smart_toy:",
            help="Plays what was said to another model, as a new lane",
            on_click=model,
        )
    if state.kept(_ADDING) == comparison.id:  # until it is closed, whatever is drawn anew
        fan_dialog.add_lane(runner, comparison)
