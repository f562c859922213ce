"""The tree element: every branch of the session, as a graph one can walk."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from core import Runner, View
from core.winner import winners
from pages import backend
from pages.components import element, recap_marks

_HERE = Path(__file__)
_element = st.components.v2.component(
    "turntree_tree",
    js=_HERE.with_name("tree.js").read_text("utf-8"),
    css=_HERE.with_name("tree.css").read_text("utf-8"),
)
KEY = "turntree.tree"


def draw(runner: Runner, view: View, on_act: Callable[[], None], *, key: str = KEY) -> None:
    """Draw the tree. ``on_act`` runs when the person did something there."""
    element.mount(_element, key, tree_data(runner, view), on_act)


def tree_data(runner: Runner, view: View, *, height: int = 330) -> dict[str, Any]:
    """Branches and marks; the nodes come by their own route, only the new ones each time."""
    store = runner.store
    recap = recap_marks.mark(runner, view)
    won = winners(store, view.session.id)
    return {
        "token": backend.TOKEN,
        "session_id": view.session.id,
        "seq": store.nodes.last_seq(view.session.id),
        "current": {"branch_id": view.branch.id, "tip": view.tip_id, "focus": view.focus},
        "branches": [
            {
                "id": branch.id,
                "name": branch.name,
                "tip": branch.tip_id,
                "forked_from": branch.forked_from_node_id,
                "note": branch.note,
                "winner": branch.id in won,
            }
            for branch in store.branches.of(view.session.id)
        ],
        "binned": sorted(store.branches.hidden_roots(view.session.id)),
        "recap": recap["at"] if recap and recap["active"] else None,
        "finals": store.nodes.finals(view.session.id),
        "running": [run.context_tip_id for run in store.runs.not_ended(view.session.id)],
        "height": height,
    }
