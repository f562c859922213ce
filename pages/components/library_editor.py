"""One item of the library: its words, its variables, its versions.

Every change is kept as a draft in the database the moment a field is left, so that neither a
rerun nor a reload nor a crash takes it; *Save* makes a version of it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from core import Config, TurntreeError
from core.library import Body
from core.library_files import file_name, to_json, to_markdown
from core.library_templates import PREFIX, templates
from core.store import Store
from core.store.library import Entry
from pages.components import (
    config_panel,
    library_use,
    library_variables,
    library_versions,
    sidebar,
    state,
)
from pages.components.library_variables import Change


def draw(store: Store, entry: Entry) -> None:
    """The item, to be read if it came with Turntree, else to be changed."""
    st.button(
        "Library",
        icon=":material/arrow_back:",
        type="tertiary",
        on_click=state.ask,
        kwargs={"item": None},
        key="library.back",
    )
    if entry.id.startswith(PREFIX):
        _template(store, entry)
        return
    _head(store, entry)
    count = f" ({entry.number})" if entry.number else ""
    edit, versions = st.tabs(["Edit", f"Versions{count}"], key=f"tabs.{entry.id}")
    with edit:
        _edit(store, entry)
    with versions:
        library_versions.draw(store, entry)


def tried(act: Callable[[], Any], said: str = "") -> None:
    """Do it; say that it was done, or why it cannot be."""
    try:
        act()
    except TurntreeError as error:
        state.flash_error(error)
    else:
        if said:
            state.flash(said)


# --- one that came with Turntree ----------------------------------------------------------------


def _template(store: Store, entry: Entry) -> None:
    st.title(entry.name, anchor=False)
    st.caption(f"{library_use.facts(entry)} · comes with Turntree")
    if entry.body.about:
        st.markdown(sidebar.label(entry.body.about))
    with st.container(horizontal=True):
        use_button(entry, primary=True)
        st.button(
            "Make a copy of your own",
            icon=":material/content_copy:",
            on_click=copy,
            args=[store, entry],
            key="library.copy",
        )
        _export(store, entry)
    for number, turn in enumerate(entry.body.turns, 1):
        with st.container(border=True):
            if entry.kind == "conversation":
                st.caption(f"Turn {number}")
            st.text(turn)


def use_button(entry: Entry, *, primary: bool = False) -> None:
    """The way to the dialog that uses it."""
    dirty = entry.draft is not None and entry.number > 0
    ready = entry.number > 0 or entry.id.startswith(PREFIX)
    st.button(
        "Use",
        icon=":material/play_arrow:",
        key=f"use.{entry.id}",
        type="primary" if primary else "secondary",
        help="Uses the last version: there are unsaved edits" if dirty else None,
        disabled=not ready,
        on_click=library_use.open_dialog,
        args=[entry.id],
    )


def copy(store: Store, entry: Entry) -> None:
    """Begin an item of one's own with the same words, and go there."""
    made = store.library.begin(entry.kind, entry.name, entry.shown)

    def first_version() -> None:
        store.library.save(made.id, entry.shown, note=f"A copy of {entry.name}")
        store.library.tag(made.id, entry.tags)

    tried(first_version, f"{made.name!r} is yours to change.")
    state.ask(item=made.id)


# --- one's own ----------------------------------------------------------------------------------


def _head(store: Store, entry: Entry) -> None:
    key = f"name.{entry.id}"
    state.control(key, entry.name)
    st.text_input(
        "Name",
        entry.name,
        key=key,
        on_change=lambda: tried(lambda: store.library.rename(entry.id, state.value(key) or "")),
    )
    tags_key = f"tags.{entry.id}"
    known = sorted({tag for one in store.library.entries() for tag in one.tags} | set(entry.tags))
    state.control(tags_key, list(entry.tags))
    st.multiselect(
        "Tags",
        known,
        list(entry.tags),
        key=tags_key,
        accept_new_options=True,
        placeholder="Add a tag",
        on_change=lambda: tried(lambda: store.library.tag(entry.id, state.value(tags_key))),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        use_button(entry)
        st.button(
            "Copy", icon=":material/content_copy:", on_click=copy, args=[store, entry], key="copy"
        )
        _export(store, entry)
        st.button(
            "Bin", icon=":material/delete:", on_click=_bin, args=[store, entry], key="bin_item"
        )
        version = f"version {entry.number}" if entry.number else "not saved yet"
        edits = " · unsaved edits" if entry.draft is not None and entry.number else ""
        st.caption(f"{library_use.facts(entry)} · {version}{edits}")


def _export(store: Store, entry: Entry) -> None:
    shipped = entry.id.startswith(PREFIX)

    def as_json() -> bytes:
        if shipped:
            return to_json([templates()[entry.id.removeprefix(PREFIX)]])
        return to_json(store.library.items([entry.id]))

    with st.popover("Export", icon=":material/download:"):
        st.download_button(
            "Everything (JSON)",
            data=as_json,
            file_name=file_name(entry.name, "json"),
            mime="application/json",
            on_click="ignore",
            help="All versions, variables and tags; can be imported again",
            width="stretch",
        )
        if entry.kind != "preset":
            st.download_button(
                "The words (Markdown)",
                data=lambda: to_markdown(_item(store, entry)),
                file_name=file_name(entry.name, "md"),
                mime="text/markdown",
                on_click="ignore",
                width="stretch",
            )


def _item(store: Store, entry: Entry) -> Any:
    if entry.id.startswith(PREFIX):
        return templates()[entry.id.removeprefix(PREFIX)]
    return store.library.items([entry.id])[0]


def _bin(store: Store, entry: Entry) -> None:
    store.library.bin(entry.id)
    state.flash(f"{entry.name!r} is in the bin. It can be restored there.")
    state.ask(item=None)


def _change(store: Store, item_id: str, change: Change) -> None:
    """Keep a change as the draft, on top of whatever another tab has done meanwhile."""
    tried(lambda: store.library.keep_draft(item_id, change(store.library.get(item_id).shown)))


def _edit(store: Store, entry: Entry) -> None:
    keep = partial(_change, store, entry.id)
    library_variables.text(
        f"about.{entry.id}",
        "What it is for",
        entry.shown.about,
        lambda text: keep(lambda body: replace(body, about=text)),
        line=True,
    )
    if entry.kind == "preset":
        _preset(entry, keep)
    else:
        _turns(entry, keep)
        library_variables.draw(entry, keep)
    _save(store, entry)


def _preset(entry: Entry, keep: Callable[[Change], None]) -> None:
    config = entry.shown.config or Config(provider="", model="")

    def choose(chosen: Config) -> None:
        keep(lambda body: replace(body, config=chosen))

    with st.container(key="library.preset"):
        config_panel.draw(config, choose, scope=f"preset.{entry.id}", library=False)


def _turns(entry: Entry, keep: Callable[[Change], None]) -> None:
    turns = entry.shown.turns or ("",)
    several = entry.kind == "conversation"
    for number, turn in enumerate(turns):
        library_variables.text(
            f"turn.{entry.id}.{number}",
            f"Turn {number + 1}" if several else "The words",
            turn,
            lambda text, at=number: keep(partial(_put_turn, at=at, text=text)),  # type: ignore[misc]
        )
        if several and len(turns) > 1:
            with st.container(horizontal=True, gap="small"):
                _turn_buttons(entry, number, len(turns), keep)
    if several:
        st.button(
            "Add a turn",
            icon=":material/add:",
            key=f"add_turn.{entry.id}",
            on_click=keep,
            args=[lambda body: replace(body, turns=((body.turns or ("",)) + ("",)))],
        )
    st.caption("Write `{{name}}` where something is to be filled in; `\\{{name}}` stays as it is.")


def _turn_buttons(entry: Entry, at: int, count: int, keep: Callable[[Change], None]) -> None:
    for label, to, icon, off in (
        ("Earlier", at - 1, ":material/arrow_upward:", at == 0),
        ("Later", at + 1, ":material/arrow_downward:", at == count - 1),
        ("Remove", None, ":material/remove:", False),
    ):
        st.button(
            f"{label} :small[turn {at + 1}]",
            icon=icon,
            key=f"{label}.{entry.id}.{at}",
            type="tertiary",
            disabled=off,
            on_click=keep,
            args=[partial(_move_turn, at=at, to=to)],
        )


def _put_turn(body: Body, *, at: int, text: str) -> Body:
    turns = [*body.turns, *[""] * (at + 1 - len(body.turns))]
    turns[at] = text
    return replace(body, turns=tuple(turns))


def _move_turn(body: Body, *, at: int, to: int | None) -> Body:
    turns = list(body.turns)
    if at < len(turns):
        turn = turns.pop(at)
        if to is not None:
            turns.insert(to, turn)
    return replace(body, turns=tuple(turns))


# --- saving -----------------------------------------------------------------------------------


def _save(store: Store, entry: Entry) -> None:
    dirty = entry.draft is not None
    with st.container(horizontal=True, vertical_alignment="bottom", key="library.save"):
        st.text_input(
            "Note for this version",
            key=f"note.of.{entry.id}.{entry.number}",
            placeholder="What is new about it",
        )
        st.button(
            f"Save version {entry.number + 1}",
            type="primary",
            key=f"save.{entry.id}",
            disabled=not dirty,
            on_click=_saved,
            args=[store, entry],
        )
        if dirty and entry.number:
            st.button(
                f"Back to version {entry.number}",
                key=f"back.{entry.id}",
                help="The edits stay among the versions",
                on_click=_back,
                args=[store, entry],
            )


def _saved(store: Store, entry: Entry) -> None:
    note = state.value(f"note.of.{entry.id}.{entry.number}") or ""

    def save() -> None:
        now = store.library.get(entry.id)
        saved = store.library.save(entry.id, now.shown, note=note)
        meanwhile = " Another tab had saved one meanwhile." if now.number != entry.number else ""
        state.flash(f"Saved as version {saved.number}.{meanwhile}")

    tried(save)


def _back(store: Store, entry: Entry) -> None:
    newest = store.library.versions(entry.id)[0]
    tried(lambda: store.library.restore_version(entry.id, newest.id), "The edits are kept.")
