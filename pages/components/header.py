"""The session's head: title, objective, turn counter, branch, and what can be taken away."""

from collections.abc import Callable
from html import escape

import streamlit as st

from core import Node, Runner, Session, View
from core.draft_history import final_draft
from core.meter import Meter
from core.store.ledger import Filter
from pages.components import (
    acts_lanes,
    consolidate_dialog,
    context_panel,
    goal,
    jobs_panel,
    library_use,
    meter,
    state,
    words,
)
from pages.components.act import Act
from pages.components.state import Place


def draw(
    runner: Runner,
    view: View,
    measured: Meter,
    open_drawer: Callable[[], None],
    handle: Callable[[Act], None],
) -> None:
    """Title and actions in one row, the goal and the counters beneath."""
    session = view.session
    with st.container(key="top"):
        with st.container(key="head", horizontal=True, vertical_alignment="center", gap="small"):
            _title(runner, session)
            goal.draw(runner, session)
            library_use.button()
            _several(view, handle)
            _compare(runner, view)
            _recap(view, handle)
            _export(handle)
            _menu(runner, session)
            with st.container(key="drawer_button", width="content"):
                if st.button("Tree", icon=":material/account_tree:", help="Tree and settings"):
                    open_drawer()
        with st.container(key="facts"):
            _facts(runner, view, measured)
        consolidate_dialog.links(runner, view, handle)
        jobs_panel.line(runner, view)


def _several(view: View, handle: Callable[[Act], None]) -> None:
    st.button(
        "Send to several models",
        icon=":material/alt_route:",
        # On a phone a chip beside the composer does the same, once there is one.
        key="several_too" if view.turn else "several",
        help="Send one prompt to several models, each on a branch of its own",
        on_click=handle,
        args=[{"action": "fan"}],
    )


def _compare(runner: Runner, view: View) -> None:
    """To the comparison that this branch is a lane of, or to choose what to put beside it."""
    if not view.lineage:
        return
    known = acts_lanes.comparison_of(runner, view.branch.id)
    there = {"comparison": known.id} if known else {"pick": view.branch.id}
    with st.container(key="compare_link", width="content"):
        st.page_link(
            "compare.py",
            label="Compare",
            icon=":material/view_column_2:",
            help="This branch beside others",
            query_params=state.link() | there,
        )


def _recap(view: View, handle: Callable[[Act], None]) -> None:
    if not view.lineage:
        return
    with st.container(key="recap_button", width="content"):
        st.button(
            "Recap",
            icon=":material/history_edu:",
            help="Let a recap stand in for the beginning of this branch",
            on_click=handle,
            args=[{"action": "recap"}],
        )


def counter(view: View) -> str:
    """Where the conversation stands: "turn 3 of 4", "turn 3", or nothing yet."""
    budget = view.session.turn_budget
    if not view.turn:
        return f"{budget} turns planned" if budget else ""
    return f"turn {view.turn} of {budget}" if budget else f"turn {view.turn}"


def _title(runner: Runner, session: Session) -> None:
    key = f"title.{session.id}.{session.title}"

    def rename() -> None:
        title = " ".join(str(state.value(key)).split())
        if title and title != session.title:
            runner.store.sessions.change(session.id, title=title)
            runner.announce(session.id)

    with st.container(key="title"):
        st.text_input(
            "Title", value=session.title, key=key, on_change=rename, label_visibility="collapsed"
        )


def _export(handle: Callable[[Act], None]) -> None:
    with st.container(key="export", width="content"):
        st.button(
            "Export",
            icon=":material/download:",
            help="Take the answer, the branch or the whole session away as a file",
            on_click=handle,
            args=[{"action": "export"}],
        )


def _menu(runner: Runner, session: Session) -> None:
    """What else can be done with the session."""
    with (
        st.container(key="session_menu", width="content"),
        st.popover(
            "Session", icon=":material/more_vert:", help="Runs of this session, or to the bin"
        ),
    ):
        st.page_link(
            "runs.py",
            label="Runs of this session",
            icon=":material/receipt_long:",
            query_params={"session": session.id},
        )
        if st.button("Move session to the bin", icon=":material/delete:", width="stretch"):
            runner.store.sessions.bin(session.id)
            jobs_panel.rest(runner, session.id)
            runner.announce(session.id)
            state.flash(f"{session.title!r} is in the bin. Restore it under All sessions.")
            state.go(Place())
            st.rerun()


def final_answer(runner: Runner, view: View) -> Node | None:
    """The answer marked final latest on this lineage; without a mark, the last answer."""
    return final_draft(runner.store, view.session.id, view.lineage)


def spent(runner: Runner, view: View) -> str:
    """What the calls of this branch come to: "62% of input cached · $0.0021". Unknown is left
    out; what is free is not worth the room."""
    wanted = Filter(session=view.session.id, branch=view.branch.id)
    total = runner.store.ledger.total(wanted)
    share = total.cached_share
    cached = "" if share is None else f"{words.percent(share)} of input cached"
    cost = words.cost(total.cost_nanodollars, total.unknown_cost) if total.cost_nanodollars else ""
    return " · ".join(filter(None, [cached, cost]))


def _facts(runner: Runner, view: View, measured: Meter) -> None:
    session = view.session
    where = f"branch {view.branch.name}" if view.on_branch else "not on a branch"
    sends = context_panel.fact(view)
    facts = [counter(view), where, meter.short(measured), sends, spent(runner, view)]
    lines = [("", " · ".join(filter(None, facts)))]
    lines += [("Objective", session.objective), ("Done when", session.done_when)]
    st.html(
        "".join(
            f'<p title="{escape(text)}"><b>{name}</b> {escape(text)}</p>'
            for name, text in lines
            if text.strip()
        ),
        width="stretch",
    )
