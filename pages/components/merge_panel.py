"""The tab "Merge" of the compare page: fuse, merge by meaning, bring in, the winner."""

from collections.abc import Callable, Sequence

import streamlit as st

from core import Runner
from core.columns import Column
from core.types import Comparison
from pages.components import (
    bring_panel,
    fuse_panel,
    merge_sides,
    state,
    three_way_panel,
    winner_panel,
)
from pages.components.merge_sides import Sides

_WAYS: dict[str, Callable[[Sides], None]] = {
    "Fuse": fuse_panel.draw,
    "By meaning": three_way_panel.draw,
    "Bring in": bring_panel.draw,
    "Winner": winner_panel.draw,
}
_WAY = "merge_way"


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """The ways of merging, and the one that is chosen; a reload comes back to it."""
    if len(found) < 2:
        st.info("It takes two lanes to merge. Add one.")
        return
    on = merge_sides.sides(runner, comparison, found)
    first = next(iter(_WAYS))
    key = f"merge.way.{comparison.id}"
    way = on.form(_WAY).get("way", first)
    state.control(key, way if way in _WAYS else first)
    chosen = st.segmented_control(
        "How",
        list(_WAYS),
        key=key,
        required=True,
        label_visibility="collapsed",
        on_change=lambda: on.keep(_WAY, way=state.value(key)),
    )
    if comparison.blind:
        st.caption("Names are hidden. A branch that is made here shows them once it is opened.")
    with st.container(key="merge"):
        _WAYS[chosen or first](on)
