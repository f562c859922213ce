"""A provider's key: where it comes from, a field for another one, and a real test call."""

import streamlit as st

from core import TurntreeError
from core.keys import Key, endpoint_of, find, forget, keep, type_in
from core.types import Adapter
from pages.components import state

_WHERE = {
    "this process": "typed, until Turntree ends",
    "environment": "from the environment",
    "secrets file": "from .streamlit/secrets.toml",
    "keyring": "from this computer's keyring",
}


def draw(adapter: Adapter, *, scope: str) -> None:
    """Say which key is used, by its last characters only; take another; test it."""
    try:
        key = find(adapter.name, adapter.key_names)
    except TurntreeError as error:
        st.error(f"{error.message} {error.hint}")
        return
    label = f"Key · {describe(key)}" if key else "Key needed"
    with st.expander(label, icon=":material/key:", expanded=key is None, type="compact"):
        _field(adapter, scope)
        if key is not None:
            _test(adapter, scope)
            if key.source in ("this process", "keyring"):
                st.button(
                    "Forget this key", key=f"{scope}.forget", on_click=forget, args=[adapter.name]
                )


def describe(key: Key) -> str:
    """The key's last characters and where it was found."""
    return f"…{key.ending} {_WHERE[key.source]}"


def _field(adapter: Adapter, scope: str) -> None:
    with st.form(f"{scope}.key", border=False, clear_on_submit=True):
        secret = st.text_input(
            f"Key for {adapter.label}", type="password", autocomplete="off", key=f"{scope}.secret"
        )
        kept = st.checkbox("Keep it in this computer's keyring", key=f"{scope}.keep")
        st.caption(f"Or set {adapter.key_names[0]} before you start Turntree.")
        if st.form_submit_button("Use this key") and secret.strip():
            _take(adapter, secret, kept=kept)
            st.rerun()


def _take(adapter: Adapter, secret: str, *, kept: bool) -> None:
    try:
        if kept:
            keep(adapter.name, secret)
        else:
            type_in(adapter.name, secret)
    except TurntreeError as error:
        type_in(adapter.name, secret)
        state.flash_error(error)


def _test(adapter: Adapter, scope: str) -> None:
    if not st.button("Test the key", key=f"{scope}.test", help="Asks for the list of models"):
        return
    try:
        with st.spinner("Asking…"):
            models = adapter.list_models(endpoint_of(adapter))
    except TurntreeError as error:
        st.error(f"{error.message} {error.hint}")
    else:
        st.success(f"It works: {len(models)} models.")
