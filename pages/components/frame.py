"""What every page shares: the stylesheet, messages after an act, the failure to open."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from core.errors import StoreError
from pages import backend
from pages.components import state

_CSS = Path(__file__).with_name("frame.css").read_text("utf-8")


def dress() -> None:
    """Apply our few lines of layout to Streamlit's own elements."""
    st.html(f"<style>{_CSS}</style>")


def show_flashes() -> None:
    """Say what the last act did, or why it could not be done."""
    for said in state.take_flashes():
        if said.bad:
            st.error(f"{said.text} {said.hint}".strip(), icon=":material/error:")
        else:
            st.toast(f"{said.text} {said.hint}".strip())


def cannot_open(error: StoreError) -> None:
    """The database cannot be used: say so, and what can be done. Nothing was changed."""
    st.title("Turntree cannot open its database")
    st.error(error.message, icon=":material/database_off:")
    st.write(error.hint)
    st.caption("The file that was tried:")
    st.code(str(backend.database_path()), language=None)
    st.button("Try again", icon=":material/refresh:")


@contextmanager
def folding(
    name: str, label: str, *, icon: str | None = None, small: bool = False
) -> Generator[bool]:
    """A part of the page that folds; yields whether it is open, and only then has it a body.

    It stays as the person left it when its label changes, which Streamlit's own does not.
    """
    key = f"fold.{name}.{label}"
    state.control(key, state.unfolded(name))
    panel = st.expander(
        label,
        icon=icon,
        type="compact" if small else "default",
        key=key,
        on_change=lambda: state.unfold(name, state.value(key)),
    )
    with panel:
        yield bool(panel.open)
