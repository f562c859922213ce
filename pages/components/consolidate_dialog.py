"""Consolidate: one prompt out of a branch, a clean branch with it, and both to be read."""

from collections.abc import Callable
from dataclasses import replace
from html import escape

import streamlit as st

from core import Branch, Runner, TurntreeError, View, consolidate
from core.tree import last_answer
from core.types import text_of
from pages.components import pane, side_run, sidebar, state
from pages.components.act import Act, Dialog
from pages.components.state import Place

_LOOK = 0.6  # seconds between two looks at answers that are on their way


@pane.window("Consolidate", width="large", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """The prompt as it is written, then to be edited, then sent on a clean branch."""

    def again() -> None:
        run = consolidate.consolidate(runner, view)
        state.open_dialog(replace(dialog, run=run.id, text=""))

    def by_list() -> None:
        if dialog.run:
            runner.stop(dialog.run)
        state.open_dialog(replace(dialog, text=consolidate.listed(view.lineage)))

    with st.container(key="consolidate"):
        st.caption(
            "Everything you asked for along this branch, as one prompt. A clean branch begins with"
            " it, free of earlier attempts; this branch stays as it is."
        )
        run_id = str(dialog.run)
        if dialog.text:
            words = side_run.edit(runner, f"{run_id}.list", dialog.text, "The whole request")
        else:
            found = side_run.draw(runner, run_id, again, busy="Gathering what you asked for…")
            words = (
                "" if found is None else side_run.edit(runner, run_id, found, "The whole request")
            )
        with st.container(horizontal=True):
            if words and st.button(
                "Open a clean branch", type="primary", icon=":material/call_split:"
            ):
                _open(runner, view, words)
            if not dialog.text and st.button("Just list what I asked for"):
                by_list()
                st.rerun()
            if words and st.button("Ask again", icon=":material/refresh:"):
                side_run.try_again(again)


def _open(runner: Runner, view: View, words: str) -> None:
    try:
        run = consolidate.open_clean(runner, view.branch.id, words)
    except TurntreeError as error:
        st.error(sidebar.label(f"{error.message} {error.hint}"), icon=":material/error:")
        return
    state.close_dialog()
    state.flash("A clean branch, linked with the one it came from.")
    state.go(Place(session=view.session.id, branch=run.branch_id))
    runner.announce(view.session.id)
    st.rerun()


# --- the links between the two ---


def links(runner: Runner, view: View, handle: Callable[[Act], None]) -> None:
    """Where this branch was consolidated from and into, each a way there and a look at both."""
    before, after = consolidate.linked(runner.store, view.branch)
    found = [("from", one) for one in before] + [("into", one) for one in after]
    if not found:
        return
    with st.container(key="linked", horizontal=True, vertical_alignment="center", gap="small"):
        for way, branch in found:
            st.button(
                f"consolidated {way} {sidebar.label(branch.name)}",
                icon=":material/link:",
                type="tertiary",
                key=f"linked.{branch.id}",
                on_click=handle,
                args=[{"action": "branch", "branch": branch.id}],
            )
            st.button(
                "Side by side",
                icon=":material/view_column_2:",
                type="tertiary",
                key=f"beside.{branch.id}",
                help=f"Read the last answers of both: {view.branch.name}, {branch.name}",
                on_click=handle,
                args=[{"action": "side_by_side", "branch": branch.id}],
            )


@pane.window("Side by side", width="large", on_dismiss=state.close_dialog)
def reading(runner: Runner, view: View, dialog: Dialog) -> None:
    """The last answers of two branches."""
    other = runner.store.branches.get(dialog.text)
    pair = sorted((view.branch, other), key=lambda branch: branch.linked_to is not None)
    with st.container(key="reading"):
        if any(_answering(runner, branch) for branch in pair):
            _following(runner, pair)
        else:
            _columns(runner, pair)


@pane.fragment(run_every=_LOOK)
def _following(runner: Runner, pair: list[Branch]) -> None:
    now = [runner.store.branches.get(branch.id) for branch in pair]
    _columns(runner, now)
    if not any(_answering(runner, branch) for branch in now):
        st.rerun()


def _answering(runner: Runner, branch: Branch) -> bool:
    return branch.tip_id is not None and runner.answering(branch.id, branch.tip_id) is not None


def _columns(runner: Runner, pair: list[Branch]) -> None:
    for column, branch in zip(st.columns(2, gap="large"), pair, strict=True):
        with column:
            st.markdown(f"**{sidebar.label(branch.name)}**")
            st.html(f'<div class="reading" tabindex="0">{escape(_last(runner, branch))}</div>')


def _last(runner: Runner, branch: Branch) -> str:
    """The words of a branch's last answer, or of the one on its way."""
    run = runner.answering(branch.id, branch.tip_id) if branch.tip_id else None
    if run is not None:
        live = runner.live(run.id)
        return text_of(live.parts() if live else run.partial) or "The answer is on its way…"
    answer = last_answer(runner.store.nodes.lineage(branch.tip_id))
    return answer.text if answer else "There is no answer on this branch yet."
