"""The parts of the compare page, one at a time: only what is looked at is drawn."""

from collections.abc import Callable, Sequence

import streamlit as st

from core import Runner
from core.columns import Column
from core.types import Comparison

Draw = Callable[[Runner, Comparison, Sequence[Column]], None]
TABS: dict[str, Draw] = {}


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """A row of tabs, and the one that is chosen."""
    chosen = st.segmented_control(
        "View", list(TABS), default=next(iter(TABS), None), key="compare.tab", required=True
    )
    if chosen in TABS:
        TABS[chosen](runner, comparison, found)
