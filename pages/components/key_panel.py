"""A provider's key: where it comes from, a field for another one, and a real test call."""

import streamlit as st

from core import TurntreeError, errors
from core.keys import Key, find, forget, keep, type_in
from core.models import ask_one_word, offered, refresh
from core.store import Store
from core.types import Adapter
from core.wire.served import Served
from pages import backend
from pages.components import state

_WHERE = {
    "this process": "typed, until Turntree ends",
    "environment": "from the environment",
    "secrets file": "from .streamlit/secrets.toml",
    "keyring": "from this computer's keyring",
}
_WRONG_PLACE = "Something answers there, but not as this protocol does. Check the address."
_MEANS: tuple[tuple[type[TurntreeError], str], ...] = (
    (errors.MissingKey, "Something secret is missing, so nothing was sent."),
    (errors.AuthFailed, "The key was refused. Check it, or make a new one."),
    (errors.NoPermission, "The key is known there, but it may not do this."),
    (errors.QuotaExhausted, "The key is right, but there is no credit left."),
    (errors.RateLimited, "The key is right, but it is used too often just now. Wait a little."),
    (errors.Overloaded, "The provider is there, but too busy or out of order. Try again later."),
    (errors.Timeout, "No answer in time. Check the address; the server may also be busy."),
    (errors.Unsupported, "This cannot be asked."),
    (errors.UnknownModel, "The provider is there, but does not know this model."),
    (errors.BadReply, _WRONG_PLACE),
    (errors.BadRequest, "The provider refuses what was asked."),
)


def draw(adapter: Adapter, *, scope: str) -> None:
    """Beside a conversation: which key is used; take another; test it; the way to all settings."""
    try:
        key = find(adapter.name, adapter.key_names)
    except TurntreeError as error:
        st.error(f"{error.message} {error.hint}")
        return
    wanted = not isinstance(adapter, Served)
    label = f"Key · {describe(key)}" if key else "Key needed" if wanted else "No key"
    opened = key is None and wanted
    with st.expander(label, icon=":material/key:", expanded=opened, type="compact"):
        field(adapter, scope=scope)
        if key is not None or not wanted:
            test(backend.store(), adapter, scope=scope)
        forget_button(adapter.name, key, scope=scope)
        st.page_link(
            "settings.py",
            label="Providers, endpoints and models",
            icon=":material/settings:",
            query_params=state.link() | {"provider": adapter.name},
        )


def describe(key: Key) -> str:
    """The key's last characters and where it was found."""
    return f"…{key.ending} {_WHERE[key.source]}"


def field(adapter: Adapter, *, scope: str) -> None:
    """A field for a key: for this process only, or for the keyring."""
    with st.form(f"{scope}.key", border=False, clear_on_submit=True):
        secret = st.text_input(
            f"Key for {adapter.label}", type="password", autocomplete="off", key=f"{scope}.secret"
        )
        kept = st.checkbox("Keep it in this computer's keyring", key=f"{scope}.keep")
        st.caption(f"Or set {adapter.key_names[0]} before you start Turntree.")
        if st.form_submit_button("Use this key") and secret.strip():
            take(adapter.name, secret, kept=kept)
            st.rerun()


def take(slot: str, secret: str, *, kept: bool) -> None:
    """Use a secret from now on, and keep it if asked to and possible."""
    try:
        if kept:
            keep(slot, secret)
            type_in(slot, "")  # or the one typed before would go first
        else:
            type_in(slot, secret)
    except TurntreeError as error:
        type_in(slot, secret)
        state.flash_error(error)


def forget_button(slot: str, key: Key | None, *, scope: str) -> None:
    """Forget what a person gave; environment and file are theirs to change."""
    if key is not None and key.source in ("this process", "keyring"):
        st.button("Forget this key", key=f"{scope}.forget", on_click=forget, args=[slot])


# --- the test --------------------------------------------------------------------------------


def test(store: Store, adapter: Adapter, *, scope: str) -> None:
    """Ask for the list of models, for real; say in plain words what came of it."""
    if st.button(
        "Test", icon=":material/network_check:", key=f"{scope}.test", help="Asks for its models"
    ):
        try:
            with st.spinner("Asking…"):
                count = len(refresh(store, adapter.name).models)
        except TurntreeError as error:
            complain(error)
        else:
            st.success(f"It works: {count} models.", icon=":material/check:")


def test_with_a_word(adapter: Adapter, own: tuple[str, ...], *, scope: str) -> None:
    """Ask a model one word: the only test of a key where the list of models is public."""
    names = [info.id for info in offered(adapter.name, own)]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = st.selectbox(
            "Model to ask",
            names,
            index=0 if names else None,
            accept_new_options=True,
            placeholder="Type a model",
            # Once the list is there its first is offered, and no longer nothing.
            key=f"{scope}.word.{names[0] if names else ''}",
        )
        asked = st.button(
            "Ask one word",
            key=f"{scope}.ask_word",
            disabled=not model,
            help="The surest test. It costs a few tokens.",
        )
    if asked and model:
        try:
            with st.spinner("Asking…"):
                ask_one_word(adapter.name, model)
        except TurntreeError as error:
            complain(error, about_list=False)
        else:
            st.success("It answers.", icon=":material/check:")


def complain(error: TurntreeError, *, about_list: bool = True) -> None:
    """What went wrong, in our words; beneath, exactly as it was told."""
    st.error(meaning(error, about_list=about_list), icon=":material/error:")
    st.text(f"{error.message}\n{error.hint}".strip())


def meaning(error: TurntreeError, *, about_list: bool = True) -> str:
    """What an error of a test says about key, network and address, and what can be done."""
    status = getattr(error, "status", None)
    if isinstance(error, errors.Unreachable):
        if status:
            return "The address leads elsewhere. Check it: a path may be missing."
        return "Nothing answers there. Check the network, and that the server runs."
    # Every server has a list: one that knows of none is not spoken to where it lives.
    lost = isinstance(error, errors.UnknownModel) or status in (404, 405)
    if about_list and lost and not isinstance(error, errors.AuthFailed | errors.NoPermission):
        return _WRONG_PLACE
    return next((words for kind, words in _MEANS if isinstance(error, kind)), "It did not work.")
