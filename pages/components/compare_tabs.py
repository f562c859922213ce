"""The parts of the compare page, one at a time: only what is looked at is drawn."""

from collections.abc import Callable, Sequence

import streamlit as st

from core import Runner
from core.columns import Column
from core.types import Comparison
from pages.components import (
    differences,
    jobs_panel,
    judging,
    merge_panel,
    side_by_side,
    standings,
    state,
)

Draw = Callable[[Runner, Comparison, Sequence[Column]], None]
ORDER = ("Side by side", "Differences", "Judge", "Merge", "Standings", "Jobs")
TABS: dict[str, Draw] = {
    "Judge": judging.draw,
    "Standings": standings.draw,
    "Side by side": side_by_side.draw,
    "Differences": differences.draw,
    "Merge": merge_panel.draw,
    "Jobs": jobs_panel.draw,
}


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """A row of tabs, and the one that is chosen; the address names it."""
    names = [name for name in ORDER if name in TABS]
    chosen = state.asked("tab")
    if chosen not in names:
        chosen = names[0]
    key = "compare.tab"
    state.control(key, chosen)
    st.segmented_control(
        "View",
        names,
        key=key,
        required=True,
        label_visibility="collapsed",
        on_change=lambda: state.ask(tab=state.value(key)),
    )
    TABS[chosen](runner, comparison, found)
