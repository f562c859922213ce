"""How our own elements are mounted, and how what was done in them is heard."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.components import state


def mount(
    element: Callable[..., Any], key: str, data: dict[str, Any], on_act: Callable[[], None]
) -> None:
    """Draw ``element``. ``on_act`` runs when the person did something; see :func:`act`.

    After a restart of the server a tab's first act meets no callback: Streamlit runs the
    script without, and only the element's own value tells of it.
    """

    def on_change() -> None:
        state.hear(key)
        on_act()

    heard = state.heard(key)
    element(key=key, data=data, on_act_change=on_change)
    done = act(key)
    if done and not heard and done.get("action") != "refresh":
        on_act()
        st.rerun()


def act(key: str) -> dict[str, Any] | None:
    """What the person just did in the element, or None."""
    done: dict[str, Any] | None = state.triggered(key, "act")
    return done
