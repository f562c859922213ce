"""The compare page: branches of a session side by side, their differences, verdicts, a merge."""

from collections.abc import Sequence

import streamlit as st

from core import Branch, TurntreeError
from core.columns import Column, columns
from core.errors import NotFound
from core.types import Comparison
from pages import backend
from pages.components import (
    acts_lanes,
    compare_tabs,
    export_dialog,
    frame,
    jobs_panel,
    sent,
    side_by_side,
    sidebar,
    state,
    words,
)

runner = backend.runner()
store = runner.store


def chosen() -> Comparison | None:
    """The comparison that the address names, else the latest of the branch, or the session."""
    wanted, here = state.asked("comparison"), state.place()
    if wanted:
        try:
            return store.comparisons.get(wanted)
        except NotFound as error:
            state.flash_error(error)
            state.ask(comparison=None)
    if here.session is None or state.asked("pick") or state.asked("nodes"):
        return None
    known = store.comparisons.of(here.session, 1)
    own = acts_lanes.comparison_of(runner, here.branch) if here.branch else None
    return own if own and own.session_id == here.session else next(iter(known), None)


def go(comparison: Comparison) -> None:
    """Look at this comparison from now on."""
    state.ask(comparison=comparison.id, pick=None, nodes=None)


# --- the head -------------------------------------------------------------------------------


def head(comparison: Comparison, found: Sequence[Column]) -> None:
    """Which comparison, its name, another one, one lane more, the blind look."""
    session_id = comparison.session_id
    with st.container(
        key="compare_head", horizontal=True, vertical_alignment="center", gap="small"
    ):
        choose(session_id, comparison)
        if not comparison.blind:  # its name may be made of those of the lanes
            rename(comparison)
        with st.popover(
            "Compare branches…",
            icon=":material/compare_arrows:",
            key=f"compare.popover.{comparison.id}",  # of another comparison it is closed
            on_change="rerun",
        ):
            pick(session_id, [], scope="head")
        side_by_side.add(runner, comparison, found)
        key = f"compare.blind.{comparison.id}"
        state.control(key, comparison.blind)
        st.toggle(
            "Blind",
            key=key,
            help="Hide names, models, numbers and order",
            on_change=lambda: acts_lanes.set_blind(runner, comparison, state.value(key)),
        )
        with st.container(key="compare_export", width="content"):
            st.button(
                "Export",
                icon=":material/download:",
                help="Take this comparison away as a file",
                on_click=export_dialog.open_elsewhere,
                args=["comparison", comparison.id],
            )
        if comparison.blind:
            st.button(
                "Judge",
                icon=":material/gavel:",
                type="tertiary",
                help="Say which lane is best, then see which is which",
                on_click=lambda: state.ask(tab="Judge"),
            )


def choose(session_id: str, comparison: Comparison) -> None:
    """The session's comparisons."""
    known = {one.id: one for one in store.comparisons.of(session_id)}
    known.setdefault(comparison.id, comparison)
    key = f"compare.chosen.{session_id}.{len(known)}.{_called(comparison)}"
    state.control(key, comparison.id)
    st.selectbox(
        "Comparison",
        list(known),
        format_func=lambda one: _called(known[one]) if one in known else one,
        key=key,
        label_visibility="collapsed",
        on_change=lambda: state.ask(comparison=state.value(key)),
    )


def _called(comparison: Comparison) -> str:
    """Its name; while it is blind, none: it may be made of those of the lanes."""
    return (
        f"Blind look of {words.moment(comparison.created_at)}"
        if comparison.blind
        else (comparison.name)
    )


def rename(comparison: Comparison) -> None:
    """Another name for it."""
    key = f"compare.name.{comparison.id}.{comparison.name}"
    with (
        st.container(key="compare_rename", width="content"),
        st.popover("Rename", icon=":material/edit:", help="Give this comparison another name"),
    ):
        st.text_input(
            "Name of this comparison",
            value=comparison.name,
            key=key,
            on_change=lambda: acts_lanes.rename_comparison(runner, comparison, state.value(key)),
        )


def pick(session_id: str, already: Sequence[str], *, scope: str) -> None:
    """Branches of the session to be put side by side."""
    names = {branch.id: branch.name for branch in reversed(store.branches.of(session_id))}
    key = f"compare.pick.{scope}.{session_id}.{'.'.join(already)}"

    def put() -> None:
        try:
            go(acts_lanes.compare(runner, session_id, state.value(key) or []))
        except TurntreeError as error:
            state.flash_error(error)

    st.multiselect(
        "Branches to compare",
        list(names),
        default=[one for one in already if one in names],
        format_func=lambda one: names.get(one, one),
        key=key,
        max_selections=acts_lanes.MOST_PICKED,
        placeholder=f"Choose 2 to {acts_lanes.MOST_PICKED}",
    )
    st.button("Put side by side", key=f"{key}.put", type="primary", on_click=put)


# --- nothing to show yet --------------------------------------------------------------------


def empty(session_id: str | None) -> None:
    """What this page is for, and the way to a first comparison."""
    st.title("Compare", anchor=False)
    if session_id is None:
        st.write("Branches of one session, side by side. Open a session first, on the left.")
        return
    branches = store.branches.of(session_id)
    st.write(
        "Branches of one session, side by side: what they share is shown once, and from where"
        " they part their turns line up. A follow-up goes to all of them, or to those you tick,"
        " and each goes on with its own history."
    )
    wanted = state.asked("nodes")
    if wanted:
        nodes(session_id, wanted.split(",")[:2])
    elif len(branches) < 2:
        st.info(
            "This session has one branch. Fork it, or send one message to several models:"
            " each answer becomes a branch of its own.",
            icon=":material/call_split:",
        )
    else:
        picked = state.asked("pick")
        with st.container(key="compare_pick"):
            pick(session_id, [picked] if picked else [], scope="page")
    st.page_link(
        "playground.py",
        label="Back to the conversation",
        icon=":material/arrow_back:",
        query_params=state.link(),
    )


def nodes(session_id: str, ids: Sequence[str]) -> None:
    """Two messages that the address names: side by side, once the person says so."""
    found = [node for node in store.nodes.many(ids) if node.session_id == session_id]
    if len({node.id for node in found}) < 2:
        st.warning("These messages are not in this session any more.")
        return
    ends: list[Branch | None] = [acts_lanes.ending_at(runner, node.id) for node in found]
    for node, branch in zip(found, ends, strict=True):
        with st.container(border=True):
            st.text(" ".join(node.text.split())[:300] or "(no words)")
            st.caption(
                f"The end of branch {sidebar.label(branch.name)}"
                if branch
                else "In the middle of a branch: a new branch will end here."
            )

    def put() -> None:
        try:
            go(acts_lanes.compare_nodes(runner, session_id, [node.id for node in found]))
        except TurntreeError as error:
            state.flash_error(error)

    st.button("Put these two side by side", type="primary", on_click=put)


# --- the page -------------------------------------------------------------------------------


def main() -> None:
    """Draw the page."""
    state.arrived()
    if state.leaving():
        st.switch_page("playground.py", query_params=state.link())
    comparison = chosen()
    if comparison is not None:
        store.sessions.seen(comparison.session_id)  # its answers are what is looked at
        if state.place().session != comparison.session_id:
            state.ask(session=comparison.session_id, branch=None, node=None, run=None)
    sidebar.draw(runner, None)
    with st.container(key="compare"):
        frame.show_flashes()
        if comparison is None:
            empty(state.place().session)
            if session := state.place().session:
                jobs_panel.of_session(runner, session)
        else:
            found = columns(store, comparison)
            head(comparison, found)
            compare_tabs.draw(runner, comparison, found)
    sent.draw(runner)
    if comparison is not None and state.looked_into() is None:
        export_dialog.of_comparison(runner, comparison)


main()
