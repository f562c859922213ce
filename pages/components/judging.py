"""The tab Judge: a verdict by hand, one by a model, and checks that need neither."""

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from core import Runner
from core.columns import Column
from core.types import Comparison
from pages.components import checks_panel, judging_hand, judging_model, state
from pages.components.judging_look import Look, look

CSS = Path(__file__).with_name("judging.css").read_text("utf-8")
_PARTS: dict[str, Callable[[Runner, Comparison, Look], None]] = {
    "By hand": judging_hand.draw,
    "By a model": judging_model.draw,
    "Checks": checks_panel.draw,
}
_KEY, _ADDRESS = "judging.part", "judging"


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """The tab: which way to judge, and that way."""
    st.html(f"<style>{CSS}</style>")
    kept = state.asked(_ADDRESS)
    state.control(_KEY, kept if kept in _PARTS else next(iter(_PARTS)))
    part = st.segmented_control(
        "How to judge",
        list(_PARTS),
        key=_KEY,
        required=True,
        label_visibility="collapsed",
        on_change=lambda: state.ask(**{_ADDRESS: state.value(_KEY)}),
    )
    with st.container(key="judging"):
        _PARTS[part or next(iter(_PARTS))](
            runner, comparison, look(runner.store, comparison, found)
        )
