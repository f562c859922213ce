"""Settings: providers and named endpoints, their keys, their models, a person's own figures."""

import streamlit as st

from core import TurntreeError
from core.keys import Key, find
from core.providers import Served, adapters, scanned
from core.types import Adapter
from pages import backend
from pages.components import (
    config_panel,
    endpoint_panel,
    frame,
    key_panel,
    models_panel,
    sidebar,
    state,
)

store = backend.runner().store


def key_of(found: Adapter) -> Key | None:
    """The key in use; a secrets file that cannot be read is said once, at the top."""
    try:
        return find(found.name, found.key_names)
    except TurntreeError:
        return None


def heading(found: Adapter, key: Key | None) -> str:
    """A section's one line: who it is and how things stand."""
    if isinstance(found, Served):
        how = f"key …{key.ending}" if key else "no key"
        host = found.default_url.split("://")[-1].split("/")[0]
        return f"**{sidebar.label(found.label)}** :small[· {sidebar.label(host)} · {how}]"
    if found.default_url:
        how = f"key …{key.ending}" if key else "no key yet"
    else:
        how = "runs on this machine, free" if found.name == "local" else "no key needed"
    return f"**{sidebar.label(found.label)}** :small[· {how}]"


def section(found: Adapter) -> None:
    """One provider, folded; nothing inside is drawn before it is opened."""
    key = key_of(found) if found.default_url else None
    with frame.folding(found.name, heading(found, key)) as opened:
        if not opened:
            return
        if isinstance(found, Served):
            endpoint_panel.place(store, found)
        if found.default_url:
            keys(found, key)
        if isinstance(found, Served):
            endpoint_panel.headers(store, found)
        if found.name == "local":
            config_panel.local_state()
        lists = bool(found.default_url)
        models_panel.draw(store, found.name, found.label, lists=lists)
        if isinstance(found, Served) and st.button(
            "Remove endpoint", icon=":material/delete:", key=f"{found.name}.remove"
        ):
            endpoint_panel.confirm_removal(store, found.name, found.label)


def keys(found: Adapter, key: Key | None) -> None:
    """Where the key comes from, another one, and two real tests."""
    left, right = st.columns(2, gap="large")
    with left:
        said = key_panel.describe(key) if key else "No key is set."
        st.markdown(f"**Key** :small[{sidebar.label(said)}]")
        key_panel.field(found, scope=f"settings.{found.name}")
        key_panel.forget_button(found.name, key, scope=f"settings.{found.name}")
    with right:
        st.markdown("**Does it work?**")
        if not isinstance(found, Served):
            st.caption(f"Asked at `{found.default_url}`")
        key_panel.test(store, found, scope=f"settings.{found.name}")
        own = tuple(store.providers.own_of(found.name))
        key_panel.test_with_a_word(found, own, scope=f"settings.{found.name}")


def secrets_file() -> None:
    """Say that the secrets file cannot be read, where it cannot."""
    try:
        find("nobody", ())
    except TurntreeError as error:
        st.error(f"{error.message} {error.hint}", icon=":material/error:")


def listing() -> None:
    """The providers that are built in, then the endpoints, then one more."""
    secrets_file()
    known = adapters()
    for name in scanned():
        if not known[name].hidden():
            section(known[name])
    st.subheader("Your endpoints", anchor=False)
    st.caption("Any server that speaks one of these protocols, as many as you like.")
    for found in known.values():
        if isinstance(found, Served):
            section(found)
    # A new name for each one: what was typed for the last is not shown for the next.
    scope = f"endpoint.add.{len(store.providers.endpoints())}"
    with frame.folding(scope, "Add an endpoint", icon=":material/add:") as opened:
        added = endpoint_panel.add(store, scope=scope) if opened else None
    if added is not None:
        state.unfold(scope, False)
        state.unfold(added)
        st.rerun()


if state.leaving():
    st.switch_page("playground.py", query_params=state.link())
if named := st.query_params.pop("provider", None):
    state.unfold(named)  # as a link from a conversation asks
sidebar.draw(backend.runner(), None)
with st.container(key="settings_page"):
    st.title("Settings", anchor=False)
    frame.show_flashes()
    st.caption(
        "Keys come from what you type, the environment, .streamlit/secrets.toml or this "
        "computer's keyring, in this order. They never reach the database, a log or an export."
    )
    listing()
