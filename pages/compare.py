"""The compare page: branches of a session side by side, their differences, verdicts, a merge."""

import streamlit as st

from core import TurntreeError
from core.columns import columns
from core.types import Comparison
from pages import backend
from pages.components import compare_tabs, frame, sidebar, state

runner = backend.runner()


def chosen() -> Comparison | None:
    """The comparison that the address names, else the session's latest."""
    wanted, session = state.asked("comparison"), state.place().session
    try:
        if wanted:
            return runner.store.comparisons.get(wanted)
    except TurntreeError as error:
        state.flash_error(error)
    known = runner.store.comparisons.of(session, 1) if session else []
    return known[0] if known else None


sidebar.draw(runner, None)
comparison = chosen()
frame.show_flashes()
if comparison is None:
    st.title("Compare")
    st.info("Nothing is compared in this session yet.")
else:
    compare_tabs.draw(runner, comparison, columns(runner.store, comparison))
