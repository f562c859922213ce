"""Two things asked beside the conversation: a draft as one instruction, and what was decided."""

from dataclasses import replace

import streamlit as st

from core import Runner, View, consolidate
from pages.components import pane, side_run, state
from pages.components.act import Dialog


@pane.window("Rewrite as one instruction", width="large", on_dismiss=state.close_dialog)
def rewrite(runner: Runner, view: View, dialog: Dialog) -> None:
    """The draft, and the same as one instruction; nothing is sent."""

    def again() -> None:
        run = consolidate.rewrite(runner, view, dialog.text)
        state.open_dialog(replace(dialog, run=run.id))

    with st.container(key="rewrite"):
        st.caption("Your draft")
        with st.container(key="rewrite.draft", border=True):
            st.text(dialog.text)
        found = side_run.draw(runner, str(dialog.run), again, busy="Rewriting your draft…")
        if found is None:
            return
        words = side_run.edit(runner, str(dialog.run), found, "As one instruction", height=180)
        with st.container(horizontal=True):
            if st.button("Use it", type="primary", disabled=not words.strip()):
                state.insert(words, whole=True)
                state.close_dialog()
                st.rerun()
            _another(again)
            _close("Keep my draft")


@pane.window("Decisions so far", width="large", on_dismiss=state.close_dialog)
def decisions(runner: Runner, view: View, dialog: Dialog) -> None:
    """The key decisions; they join the conversation only when they are inserted and sent."""

    def again() -> None:
        run = consolidate.ask(runner, view, consolidate.DECISIONS, "decisions")
        state.open_dialog(replace(dialog, run=run.id))

    with st.container(key="decisions"):
        st.caption("Asked beside the conversation: “" + consolidate.DECISIONS + "”")
        found = side_run.draw(runner, str(dialog.run), again, busy="Summarising…")
        if found is None:
            return
        words = side_run.edit(runner, str(dialog.run), found, "Key decisions")
        with st.container(horizontal=True):
            if st.button("Keep as branch note", type="primary", icon=":material/notes:"):
                note = "\n\n".join(filter(None, [view.branch.note.strip(), words.strip()]))
                # Not announced: this tab would look again with the note that it had before.
                runner.store.branches.annotate(view.branch.id, note)
                state.flash("Kept in the note of this branch.")
                state.close_dialog()
                st.rerun()
            if st.button("Insert into my message"):
                state.insert(words)
                state.close_dialog()
                st.rerun()
            _another(again)


def _another(again: side_run.Again) -> None:
    if st.button("Ask again", icon=":material/refresh:"):
        side_run.try_again(again)


def _close(label: str) -> None:
    if st.button(label):
        state.close_dialog()
        st.rerun()
