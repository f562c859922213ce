"""How our own elements are mounted, and how what was done in them is heard once."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.components import state


def mount(
    element: Callable[..., Any], key: str, data: dict[str, Any], on_act: Callable[[], None]
) -> None:
    """Draw ``element``. ``on_act`` runs when the person did something; see :func:`take`.

    After a restart of the server a tab's first act meets no callback: Streamlit runs the
    script without, and only the element's own value tells of it.
    """
    element(key=key, data=data, on_act_change=on_act)
    done = act(key)
    if done and not state.was_taken(key, done.get("n")) and done.get("action") != "refresh":
        on_act()
        st.rerun()


def act(key: str) -> dict[str, Any] | None:
    """What the person just did in the element, or None."""
    done: dict[str, Any] | None = state.triggered(key, "act")
    return done


def take(key: str) -> dict[str, Any] | None:
    """The act, for the one who does it: None when it was taken before.

    Streamlit may hand over one act twice, to an interrupted run of the script and to the next;
    the number that every act carries tells.
    """
    done = act(key)
    if done is None or state.was_taken(key, done.get("n")):
        return None
    state.taken(key, done.get("n"))
    return done
