"""The library: what people keep to use again, the templates, and the bin."""

from functools import partial

import streamlit as st

from core import TurntreeError
from core.errors import NotFound
from core.library import KINDS, Body, Kind, matches
from core.library_files import ENDINGS, MOST_BYTES, read, to_json
from core.library_templates import entries as templates
from core.library_templates import find
from core.store.library import Entry
from pages import backend
from pages.components import (
    config_panel,
    frame,
    library_editor,
    library_use,
    pane,
    sidebar,
    state,
    words,
)

_PAGE = 50
_TITLES: dict[Kind, str] = {
    "prompt": "Prompts",
    "conversation": "Conversations",
    "system": "System prompts",
    "preset": "Presets",
}
runner = backend.runner()
store = runner.store


def begin(kind: Kind) -> None:
    """A new item, empty but for a name; its draft is kept from the first letter on."""
    config = config_panel.default_config(runner) if kind == "preset" else None
    turns = () if kind == "preset" else ("",)
    made = store.library.begin(
        kind, f"New {library_use.NAMES[kind]}", Body(turns=turns, config=config)
    )
    state.ask(item=made.id)


def bring_in(key: str) -> None:
    """Import what was chosen, each file whole or not at all, and say what came of it."""
    for file in state.value(key) or []:
        try:
            added = store.library.add(read(file.name, file.getvalue()))
        except TurntreeError as error:
            state.flash_error(error)
            continue
        told = [f"{file.name}: {words.counted(len(added.ids), 'item')} imported."]
        told += [f"{old!r} is called {new!r} here." for old, new in added.renamed[:5]]
        if added.known:
            told.append(f"{words.counted(len(added.known), 'item')} was there already.")
        state.flash(" ".join(told))
    state.keep("library.imports", state.kept("library.imports", 0) + 1)  # empties the field


def head() -> None:
    """The title, and what makes new items or takes them away as a file."""
    with st.container(horizontal=True, vertical_alignment="center", key="library_head"):
        st.title("Library", anchor=False, width="stretch")
        with st.popover("New", icon=":material/add:", type="primary"):
            for kind in KINDS:
                st.button(
                    library_use.NAMES[kind].capitalize(),
                    key=f"new.{kind}",
                    width="stretch",
                    on_click=begin,
                    args=[kind],
                )
        with st.popover("Import", icon=":material/upload:"):
            key = f"import.{state.kept('library.imports', 0)}"
            st.file_uploader(
                "Library files (JSON), or prompts as Markdown or text",
                type=list(ENDINGS),
                accept_multiple_files=True,
                key=key,
                on_change=bring_in,
                args=[key],
                max_upload_size=MOST_BYTES // 1_000_000,
            )
            st.caption("A file is taken whole or not at all. Names in use get a number.")
        st.download_button(
            "Export all",
            icon=":material/download:",
            data=lambda: to_json(store.library.items(one.id for one in store.library.entries())),
            file_name="turntree-library.json",
            mime="application/json",
            on_click="ignore",
            disabled=not store.library.entries(),
        )


def filtered(found: list[Entry]) -> list[Entry]:
    """Those that have the words, the kind and every tag asked for."""
    query = st.text_input(
        "Search the library",
        placeholder="Search names, words and tags",
        label_visibility="collapsed",
        icon=":material/search:",
        key="library.search",
    )
    with st.container(horizontal=True):
        kind = st.segmented_control(
            "Kind", KINDS, format_func=_TITLES.__getitem__, key="library.kind"
        )
        known = sorted({tag for entry in found for tag in entry.tags})
        tags = st.multiselect("Tags", known, key="library.tags", placeholder="Any", width=320)
    return [
        entry
        for entry in found
        if matches(library_use.words_of(entry), query or "")
        and kind in (None, entry.kind)
        and set(tags) <= set(entry.tags)
    ]


def row(entry: Entry) -> None:
    """One item: what it is, and the ways to use and to open it."""
    with st.container(
        horizontal=True, vertical_alignment="center", border=True, key=f"library_row.{entry.id}"
    ):
        with st.container(gap="xsmall"):
            told = [library_use.facts(entry)]
            if entry.number > 1:
                told.append(f"version {entry.number}")
            if entry.draft is not None:
                told.append("unsaved edits" if entry.number else "not saved yet")
            st.markdown(f"**{sidebar.label(entry.name)}**  \n:small[{' · '.join(told)}]")
            about = " · ".join(filter(None, [entry.shown.about, ", ".join(entry.tags)]))
            if about:
                st.caption(sidebar.label(about))
        library_editor.use_button(entry)
        st.button("Open", key=f"open.{entry.id}", on_click=partial(state.ask, item=entry.id))


def binned_row(entry: Entry) -> None:
    """One item of the bin."""
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(f"**{sidebar.label(entry.name)}** :small[· {library_use.facts(entry)}]")
        st.button("Restore", key=f"restore.{entry.id}", on_click=take_out, args=[entry.id])
        if st.button("Delete for good", key=f"delete.{entry.id}"):
            confirm(entry.id, entry.name)


def take_out(item_id: str) -> None:
    """Take an item out of the bin."""
    name = store.library.restore(item_id)
    state.flash(f"{name!r} is back in the library.")


@pane.window("Delete for good?")
def confirm(item_id: str, name: str) -> None:
    """Ask once before the only act that cannot be undone."""
    st.write("It will be gone with every version. There is no way back.")
    st.text(name)
    if st.button("Delete for good", type="primary", icon=":material/delete_forever:"):
        store.library.delete_for_good(item_id)
        st.rerun()


def listing() -> None:
    """A person's own items, the templates, and the bin."""
    own, gone = store.library.entries(), store.library.entries(binned=True)
    shown = filtered([*own, *templates()])
    mine = [entry for entry in shown if entry.number or entry.draft is not None]
    theirs = [entry for entry in shown if entry not in mine]
    names = [f"Yours ({len(mine)})", f"Templates ({len(theirs)})", f"Bin ({len(gone)})"]
    yours, shipped, bin_ = st.tabs(names, default=names[0] if own else names[1])
    with yours:
        limit = state.shown("library", _PAGE)
        for entry in mine[:limit]:
            row(entry)
        if not mine:
            st.caption(
                "Nothing yet: start with New, or copy a template."
                if not own
                else "Nothing of yours has these words."
            )
        if len(mine) > limit and st.button(f"Show more ({len(mine) - limit})"):
            state.show_more("library", limit + _PAGE)
            st.rerun()
    with shipped:
        for entry in theirs:
            row(entry)
        if not theirs:
            st.caption("No template has these words.")
    with bin_:
        for entry in gone[:_PAGE]:
            binned_row(entry)
        if not gone:
            st.caption("The bin is empty.")


def opened() -> Entry | None:
    """The item that the address names, unless it is gone or in the bin."""
    item_id = state.asked("item")
    if item_id is None:
        return None
    try:
        entry = find(store, item_id)
    except NotFound as error:
        state.flash_error(error)
        entry = None
    if entry is None or entry.binned_at is not None:
        state.ask(item=None)
        return None
    return entry


if state.leaving():
    st.switch_page("playground.py", query_params=state.link())
sidebar.draw(runner, None)
library_use.dress()
current = opened()
if current is None:
    head()
    frame.show_flashes()
    listing()
else:
    frame.show_flashes()
    library_editor.draw(store, current)
library_use.draw(runner)
