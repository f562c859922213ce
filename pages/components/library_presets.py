"""Presets and system prompts beside the settings: take one, or keep what is set as one."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

import streamlit as st

from core import Config, TurntreeError
from core.library import Body, Kind, fill, variables_of
from core.library_templates import listed
from core.store import Store
from core.store.library import Entry
from pages.components import sidebar, state

Choose = Callable[[Config], None]
_NAMES: dict[Kind, str] = {"preset": "these settings", "system": "this system prompt"}
USE = "library.use"


def presets(store: Store, config: Config, choose: Choose, *, scope: str) -> None:
    """Saved settings: one click applies them, and one more brings back what was set before."""
    with _folding("Presets", f"{scope}.presets") as opened:
        if opened:
            _list(store, "preset", config, choose, scope)


def system_prompts(store: Store, config: Config, choose: Choose, *, scope: str) -> None:
    """Saved system prompts, beneath the field for it."""
    with _folding("System prompts", f"{scope}.systems") as opened:
        if opened:
            _list(store, "system", config, choose, scope)


@contextmanager
def _folding(label: str, key: str) -> Generator[bool]:
    """A popover; yields whether it is open, and only then has it a body."""
    panel = st.popover(
        label, icon=":material/bookmarks:", key=f"{key}.popover", on_change="rerun", width="stretch"
    )
    with panel:
        yield bool(panel.open)


def _list(store: Store, kind: Kind, config: Config, choose: Choose, scope: str) -> None:
    entries = listed(store, kind)
    if not entries:
        st.caption("None yet. Keep what is set here as the first one.")
    for entry in entries:
        _row(entry, config, choose, scope)
    before: Config | None = state.kept(f"before.{scope}")
    if before is not None and before != config:
        st.button(
            "Back to what was set before",
            icon=":material/undo:",
            key=f"{scope}.{kind}.before",
            on_click=_take,
            args=[before, config, choose, scope],
        )
    _keep(store, kind, config, scope)


def _row(entry: Entry, config: Config, choose: Choose, scope: str) -> None:
    body, key = entry.body, f"{scope}.take.{entry.id}"
    asks = bool(variables_of(body))
    told = f" :small[· {sidebar.label(body.config.model)}]" if body.config else ""
    label = sidebar.label(entry.name) + told + (" :small[· asks first]" if asks else "")
    about = sidebar.label(body.about) or None
    if asks:
        if st.button(label, key=key, type="tertiary", help=about):
            state.keep(USE, entry.id)
            st.rerun()  # the dialog is drawn by the page
        return
    if body.config is not None:
        wanted = replace(body.config, system=body.config.system or config.system)
    elif body.turns:
        wanted = replace(config, system=fill(body, {})[0])
    else:
        return  # never saved
    st.button(
        label,
        key=key,
        type="tertiary",
        help=about,
        disabled=wanted == config,
        on_click=_take,
        args=[wanted, config, choose, scope],
    )


def _take(wanted: Config, before: Config, choose: Choose, scope: str) -> None:
    state.keep(f"before.{scope}", before)
    choose(wanted)


def _keep(store: Store, kind: Kind, config: Config, scope: str) -> None:
    """A name, and what is set is kept; under a name in use, as its next version."""
    empty = kind == "system" and not config.system.strip()
    with st.form(f"{scope}.{kind}.keep", border=False, clear_on_submit=True):
        name = st.text_input(
            "Name", placeholder=f"Keep {_NAMES[kind]} as …", key=f"{scope}.{kind}.name"
        )
        if st.form_submit_button(f"Keep {_NAMES[kind]}", disabled=empty):
            try:
                state.flash(keep(store, kind, name, config))
            except TurntreeError as error:
                state.flash_error(error)
            st.rerun()
    st.caption("A name that is in use gets a new version; older ones stay in the library.")


def keep(store: Store, kind: Kind, name: str, config: Config) -> str:
    """Keep the config, or its system prompt, under a name; what was done, in words."""
    body = Body(config=config) if kind == "preset" else Body(turns=(config.system,))
    plain = " ".join(name.split())
    for entry in store.library.entries(kind):
        if entry.name.casefold() == plain.casefold():
            saved = store.library.save(entry.id, replace(body, about=entry.body.about))
            return f"{entry.name!r} is at version {saved.number}."
    return f"{store.library.create(kind, plain, body).name!r} is in the library."
