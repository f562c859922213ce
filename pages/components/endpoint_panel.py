"""Servers that a person names: one more, and what can be changed of each."""

import streamlit as st

from core import TurntreeError, endpoints
from core.keys import header_key, header_slot
from core.providers import Served, protocols
from core.store import Store
from core.wire.served import Preset, header_key_name, on_this_machine
from pages.components import frame, key_panel, models_panel, pane, state

_OTHER = "Another"


def add(store: Store, *, scope: str) -> str | None:
    """A form for one more; the name it got, once it is there."""
    kinds = {preset.label: (name, preset) for name, preset in endpoints.presets()}
    chosen = st.pills(
        "What runs there?",
        [*kinds, _OTHER],
        key=f"{scope}.kind",
        on_change=_fill,
        args=[kinds, scope],
    )
    preset = kinds[chosen][1] if chosen in kinds else None
    if preset and preset.about:
        st.caption(preset.about)
    spoken = {name: found.label for name, found in protocols().items()}
    with st.form(scope, border=False):
        left, right = st.columns(2)
        label = left.text_input("Name", key=f"{scope}.label", placeholder="Such as Ollama at home")
        protocol = right.selectbox(
            "Speaks as",
            list(spoken),
            index=list(spoken).index("compatible") if "compatible" in spoken else 0,
            format_func=spoken.__getitem__,
            key=f"{scope}.protocol",
        )
        url = st.text_input("Address", key=f"{scope}.url", placeholder="http://127.0.0.1:11434/v1")
        secret = st.text_input(
            "Key, if it wants one", type="password", autocomplete="off", key=f"{scope}.secret"
        )
        kept = st.checkbox("Keep the key in this computer's keyring", key=f"{scope}.keep")
        if not st.form_submit_button("Add endpoint", type="primary", icon=":material/add:"):
            return None
    return _added(store, label, protocol, url, secret, kept=kept)


def _added(
    store: Store, label: str, protocol: str, url: str, secret: str, *, kept: bool
) -> str | None:
    try:
        made = endpoints.add(store, label=label, protocol=protocol, base_url=url)
    except TurntreeError as error:
        st.error(f"{error.message} {error.hint}", icon=":material/error:")
        return None
    if secret.strip():
        key_panel.take(made.name, secret, kept=kept)
    with st.spinner("Asking for its models…"):
        count = models_panel.fetch(store, made.name)
    found = f" It has {count} models." if count is not None else ""
    state.flash(f"Added {made.label}.{found}")
    return made.name


def _fill(kinds: dict[str, tuple[str, Preset]], scope: str) -> None:
    """Put what is usual into the form."""
    chosen = state.value(f"{scope}.kind")
    if chosen in kinds:
        protocol, preset = kinds[chosen]
        state.control(f"{scope}.label", preset.label)
        state.control(f"{scope}.protocol", protocol)
        state.control(f"{scope}.url", preset.base_url)
    else:
        state.control(f"{scope}.label", "")
        state.control(f"{scope}.url", "")


# --- one of them -----------------------------------------------------------------------------


def place(store: Store, served: Served) -> None:
    """Its name and its address."""
    scope = f"{served.name}.place"
    with st.form(scope, border=False):
        left, right = st.columns([1, 1.6])
        label = left.text_input("Name", served.label, key=f"{scope}.label.{served.label}")
        url = right.text_input(
            "Address", served.default_url, key=f"{scope}.url.{served.default_url}"
        )
        spoken = protocols().get(served.protocol)
        said = spoken.label if spoken else served.protocol
        st.caption(f"Speaks as: {said}. In sessions and runs it is called `{served.name}`.")
        if st.form_submit_button("Save"):
            _change(store, served, label, url)
    if served.default_url.startswith("http://") and not on_this_machine(served.default_url):
        st.warning(
            "This address is not encrypted: key and conversation can be read on the way.",
            icon=":material/lock_open:",
        )


def _change(store: Store, served: Served, label: str, url: str) -> None:
    try:
        if label != served.label:
            endpoints.rename(store, served.name, label)
        if url != served.default_url:
            endpoints.move(store, served.name, url)
    except TurntreeError as error:
        state.flash_error(error)
    else:
        state.flash("Saved.")
    st.rerun()


def headers(store: Store, served: Served) -> None:
    """The headers it is sent besides; their values are secrets."""
    scope = f"{served.name}.headers"
    number = f" ({len(served.header_names)})" if served.header_names else ""
    with frame.folding(scope, f"Headers{number}", icon=":material/list_alt:", small=True) as opened:
        if not opened:
            return
        for name in served.header_names:
            _header(store, served, name, f"{scope}.{name}")
        with st.form(f"{scope}.add", border=False, clear_on_submit=True):
            left, right = st.columns([1, 1.6])
            header = left.text_input("Header", placeholder="X-Team", key=f"{scope}.name")
            value = right.text_input(
                "Value", type="password", autocomplete="off", key=f"{scope}.value"
            )
            kept = st.checkbox("Keep the value in this computer's keyring", key=f"{scope}.keep")
            st.caption(
                "Values are kept as keys are, never in the database. Or set "
                f"{header_key_name(served.name, header or 'NAME')} before you start Turntree."
            )
            if st.form_submit_button("Set header") and header.strip():
                _set_header(store, served, header, value, kept=kept)


def _header(store: Store, served: Served, name: str, scope: str) -> None:
    try:
        value = header_key(served, name)
    except TurntreeError as error:
        st.error(f"{error.message} {error.hint}")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        said = key_panel.describe(value) if value else "value not known any more: set it again"
        st.text(f"{name}: {said}")
        st.button(
            "Remove",
            key=f"{scope}.remove",
            help=f"Do not send {name} any more",
            on_click=endpoints.remove_header,
            args=[store, served.name, name],
        )


def _set_header(store: Store, served: Served, header: str, value: str, *, kept: bool) -> None:
    try:
        name = endpoints.add_header(store, served.name, header)
    except TurntreeError as error:
        state.flash_error(error)
    else:
        if value.strip():
            key_panel.take(header_slot(served.name, name), value, kept=kept)
        state.flash(f"{name} is sent from now on.")
    st.rerun()


@pane.window("Remove this endpoint?")
def confirm_removal(store: Store, name: str, label: str) -> None:
    """Ask once: its keys are forgotten with it."""
    st.text(label)
    st.write(
        "Its key, headers, list of models and your figures for it are forgotten. Sessions that "
        "used it stay, and can go on with another provider."
    )
    if st.button(
        "Remove endpoint",
        type="primary",
        icon=":material/delete:",
        key="endpoint.remove",
        on_click=_remove,
        args=[store, name, label],
    ):
        st.rerun()


def _remove(store: Store, name: str, label: str) -> None:
    try:
        endpoints.remove(store, name)
    except TurntreeError as error:  # another tab was faster
        state.flash_error(error)
    else:
        state.flash(f"Removed {label}.")
