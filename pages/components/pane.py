"""What is drawn again without the page around it: dialogs, and fragments of a page.

Such a run may begin a thread of the script of its own. What the tab remembers is taken in hand
first, so that nothing comes between an act and the memory of it; see :mod:`.state`.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st

from pages.components import state

P = ParamSpec("P")
Draw = Callable[P, None]


def window(title: str, **options: Any) -> Callable[[Draw[P]], Draw[P]]:
    """A dialog over the page, with the options of ``st.dialog``."""
    return lambda draw: st.dialog(title, **options)(_with_memory(draw))


def fragment(*, run_every: float | None = None) -> Callable[[Draw[P]], Draw[P]]:
    """A part that is drawn again by itself, every so many seconds if they are given."""
    return lambda draw: st.fragment(_with_memory(draw), run_every=run_every)


def _with_memory(draw: Draw[P]) -> Draw[P]:
    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> None:
        state.in_hand()
        draw(*args, **kwargs)

    return drawn
