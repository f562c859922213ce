"""The winner of a comparison: mark it, say why the others lost, carry that on."""

import streamlit as st

from core import TurntreeError
from core.lanes import unkeep
from core.winner import carried, choose, give_reasons, losers, winner
from pages.components import merge_sides, sidebar, state
from pages.components.merge_sides import Sides


def draw(on: Sides) -> None:
    """The winner, then a reason for each of the others."""
    store = on.runner.store
    if on.comparison.blind:  # the note of a branch, or who won before, would tell which it is
        st.info(
            "The winner and the reasons stand with the names. Vote first, or show the names.",
            icon=":material/visibility_off:",
        )
        st.button(
            "Judge",
            icon=":material/gavel:",
            on_click=lambda: state.ask(tab="Judge"),
            key="winner.vote",
        )
        return
    won = winner(store, on.comparison)
    with st.container(key="winner"):
        st.caption(
            "The session goes on with the winner. The other branches stay where they are, each"
            " with the reason as its note."
        )
        _choice(on, won.id if won else None)
        if won is None:
            return
        with st.container(horizontal=True, vertical_alignment="center"):
            name = sidebar.label(on.names.get(won.id, won.name))
            st.markdown(f":material/trophy: **{name}** won.", width="content")
            st.button(
                "Take back",
                icon=":material/undo:",
                type="tertiary",
                key=f"winner.back.{won.id}",
                help="No lane is the winner then. The session stays where it is, and so do the"
                " reasons and verdicts.",
                on_click=unkeep,
                args=[on.runner, on.comparison],
            )
        lost = losers(store, on.comparison)
        for branch in lost:
            _reason(on, branch.id, branch.note)
        words = carried(losers(store, on.comparison))
        with st.container(horizontal=True):
            if st.button(
                "Carry the reasons into the next prompt",
                icon=":material/forward:",
                disabled=not words,
                help="Puts them into the composer of the winner's branch",
            ):
                state.insert(words)
                merge_sides.leave_for(on, won.id, "The reasons wait in the composer.")
            if st.button("Open the winner's branch", icon=":material/arrow_forward:"):
                merge_sides.leave_for(on, won.id, "Here the session goes on.")


def _choice(on: Sides, won: str | None) -> None:
    key = f"winner.{on.comparison.id}"
    lanes = [column.branch.id for column in on.columns]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Winner",
            lanes,
            index=lanes.index(won) if won in lanes else None,
            format_func=lambda branch: on.names.get(branch, branch),
            key=key,
            placeholder="Choose the winner",
        )
        if st.button("Mark as the winner", type="primary", disabled=chosen in (None, won)):
            counts = bool(state.value(f"winner.counts.{on.comparison.id}"))
            try:
                choose(on.runner, on.comparison, str(chosen), verdict=counts)
            except TurntreeError as error:
                state.flash_error(error)
            st.rerun()
    st.checkbox(
        "Count it as a verdict",
        key=f"winner.counts.{on.comparison.id}",
        help="It then shows in the standings",
    )


def _reason(on: Sides, branch_id: str, note: str) -> None:
    key = f"winner.reason.{branch_id}"
    state.control(key, note)
    st.text_input(
        f"Why not {sidebar.label(on.names.get(branch_id, ''))}?",
        note,
        key=key,
        placeholder="What did not work",
        on_change=lambda: give_reasons(on.runner.store, {branch_id: state.value(key) or ""}),
    )
