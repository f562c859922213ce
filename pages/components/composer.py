"""Where people write: the native chat input, and a companion that keeps drafts and recalls."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core import View
from pages.components import state

_HERE = Path(__file__)
_css = _HERE.with_suffix(".css")
_companion = st.components.v2.component(
    "turntree_composer",
    js=_HERE.with_suffix(".js").read_text("utf-8"),
    css=_css.read_text("utf-8") if _css.exists() else None,
)
KEY = "turntree.composer"
_RECALLED = 50


def draw(view: View | None, on_send: Callable[[str], None], *, busy: bool) -> None:
    """The input and its companion. ``on_send`` gets the words before the script runs."""
    shown = state.inserted()
    with st.bottom:
        _companion(
            key="turntree.companion",
            data={
                "session_id": view.session.id if view else "new",
                "branch_id": view.branch.id if view else "new",
                "recall": recall(view) if view else [],
                "insert": {"text": shown.text, "n": shown.n} if shown.n else None,
            },
        )

    def submit() -> None:
        words = state.value(KEY)
        state.hear(KEY)
        if words and str(words).strip():
            on_send(str(words))

    asking = "Queue the next message" if busy else "Write a prompt"
    heard = state.heard(KEY)
    words = st.chat_input(asking, key=KEY, on_submit=submit)
    if words and words.strip() and not heard:
        on_send(words)
        st.rerun()


def recall(view: View) -> list[str]:
    """What the person wrote on this branch, newest first, each text once."""
    words: dict[str, None] = {}
    for node in reversed(view.lineage):
        if node.role == "user":
            words.setdefault(node.text)
        if len(words) == _RECALLED:
            break
    return list(words)
