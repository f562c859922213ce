"""The dialog that takes something from the library: choose, fill in, insert or run.

It stays open through reruns of the page, so that an answer which ends meanwhile does not close
it, and what was filled in stays for the next time.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from core import Config, Runner, TurntreeError, View, script, show
from core.errors import NotFound
from core.library import Kind, as_text, fill, matches, preview, variables_of
from core.library_templates import find, listed
from core.store.library import Entry
from pages.components import config_panel, library_fields, pane, sidebar, state
from pages.components.state import Place

_OPEN, _TROUBLE = "library.use", "library.trouble"
_ROWS = 40
_CSS = Path(__file__).with_name("library.css").read_text("utf-8")
_NEW = "A new session"
NAMES: dict[Kind, str] = {
    "prompt": "prompt",
    "conversation": "conversation",
    "system": "system prompt",
    "preset": "preset",
}


def open_dialog(item_id: str = "") -> None:
    """Show the dialog from now on, with an item or, without one, to choose one."""
    state.keep(_OPEN, item_id)
    state.keep(_TROUBLE, None)


def dress() -> None:
    """Apply the library's few lines of style."""
    st.html(f"<style>{_CSS}</style>")


def button(label: str = "Library", **more: Any) -> None:
    """The way into the dialog."""
    st.button(
        label,
        icon=":material/menu_book:",
        help="Prompts and conversations to use again",
        key="library.open",
        on_click=open_dialog,
        **more,
    )


def close() -> None:
    """The person has closed it, or has got what they came for."""
    state.keep(_OPEN, None)


def draw(runner: Runner) -> None:
    """The dialog, while it is open."""
    if state.kept(_OPEN) is not None:
        _dialog(runner)


@pane.window("Library", width="medium", icon=":material/menu_book:", on_dismiss=close)
def _dialog(runner: Runner) -> None:
    dress()
    if not (item_id := state.kept(_OPEN)):
        _choose(runner)
        return
    try:
        entry = find(runner.store, item_id)
    except NotFound as error:
        st.error(f"{error.message} {error.hint}")
        return
    _form(runner, entry)


# --- choosing --------------------------------------------------------------------------------


def _choose(runner: Runner) -> None:
    query = st.text_input(
        "Search the library",
        placeholder="Search prompts and conversations",
        label_visibility="collapsed",
        icon=":material/search:",
        key="library.use.search",
    )
    found = [
        entry
        for entry in listed(runner.store, "prompt", "conversation")
        if matches(words_of(entry), query or "")
    ]
    with st.container(key="library_rows", gap=None):
        for entry in found[:_ROWS]:
            st.button(
                f"{sidebar.label(entry.name)} :small[· {facts(entry)}]",
                key=f"library.use.{entry.id}",
                type="tertiary",
                help=sidebar.label(entry.shown.about) or None,
                on_click=open_dialog,
                args=[entry.id],
            )
    if not found:
        st.caption("Nothing has these words.")
    if len(found) > _ROWS:
        st.caption(f"{len(found) - _ROWS} more: search for them.")
    st.page_link(
        "library.py",
        label="Write, change, import, export",
        icon=":material/menu_book:",
        query_params={},
    )


def words_of(entry: Entry) -> tuple[str, ...]:
    """All that a search looks through."""
    return (entry.name, NAMES[entry.kind], *entry.tags, as_text(entry.kind, entry.shown))


def facts(entry: Entry) -> str:
    """What it is, in a few words: "conversation · 3 turns · 2 to fill in"."""
    body, told = entry.shown, [NAMES[entry.kind]]
    if entry.kind == "conversation":
        told.append(f"{len(body.turns)} turn{'' if len(body.turns) == 1 else 's'}")
    if body.config is not None:
        told.append(sidebar.label(body.config.model))
    if count := len(variables_of(body)):
        told.append(f"{count} to fill in")
    return " · ".join(told)


# --- filling in ------------------------------------------------------------------------------


def _form(runner: Runner, entry: Entry) -> None:
    st.button(
        "All of the library",
        icon=":material/arrow_back:",
        type="tertiary",
        on_click=open_dialog,
        key="library.use.back",
    )
    body = entry.body if entry.number else entry.shown
    st.markdown(f"**{sidebar.label(entry.name)}** :small[· {facts(entry)}]")
    if body.about:
        st.caption(sidebar.label(body.about))
    values = library_fields.draw(variables_of(body), of=entry.id, scope="library.use")
    if entry.kind == "preset":
        st.text(as_text("preset", body))
    else:
        label = f"The {len(body.turns)} turns" if entry.kind == "conversation" else "The words"
        with st.expander(label, type="compact", expanded=not variables_of(body)):
            for number, turn in enumerate(preview(body, values), 1):
                if entry.kind == "conversation":
                    st.caption(f"Turn {number}")
                st.text(turn)
    if trouble := state.kept(_TROUBLE):
        st.error(trouble, icon=":material/error:")
    _buttons(runner, replace(entry, body=body))


def _buttons(runner: Runner, entry: Entry) -> None:
    view = here(runner)
    new = view is None
    if entry.kind in ("prompt", "conversation") and view is not None:
        this = f"{view.session.title[:40]} · {view.branch.name[:40]}"
        where = st.radio(
            "Where", [this, _NEW], key="library.use.where", horizontal=True, format_func=_plain
        )
        new = where == _NEW
    acts: dict[Kind, list[tuple[str, Callable[[], None]]]] = {
        "prompt": [
            ("Insert into the composer", partial(_insert, entry)),
            ("Send", partial(_play, runner, entry, new=new, held=False)),
        ],
        "conversation": [
            ("Run", partial(_play, runner, entry, new=new, held=False)),
            ("Queue, paused", partial(_play, runner, entry, new=new, held=True)),
        ],
        "system": [("Use as system prompt", partial(_system, runner, entry))],
        "preset": [("Apply", partial(_apply, runner, entry))],
    }
    with st.container(horizontal=True):
        for number, (label, act) in enumerate(acts[entry.kind]):
            kind = "secondary" if number else "primary"
            if st.button(label, type=kind, key=f"library.use.act.{number}"):  # type: ignore[arg-type]
                _do(act)


def _plain(text: str) -> str:
    return text if text == _NEW else f"Here: {sidebar.label(text)}"


def _do(act: Callable[[], None]) -> None:
    """Do it and close; or say why not, and stay."""
    try:
        act()
    except TurntreeError as error:
        state.keep(_TROUBLE, f"{error.message} {error.hint}".strip())
    else:
        close()
    st.rerun()


def here(runner: Runner) -> View | None:
    """What the tab looks at, or looked at before it came to another page."""
    at = state.place()
    if at.session is None:
        return None
    try:
        return show(runner.store, at.session, branch_id=at.branch, node_id=at.node, run_id=at.run)
    except NotFound:
        return None


def _insert(entry: Entry) -> None:
    state.insert(fill(entry.body, library_fields.values(entry.id))[0])
    state.open_place(state.place())


def _play(runner: Runner, entry: Entry, *, new: bool, held: bool) -> None:
    turns = fill(entry.body, library_fields.values(entry.id))
    view = None if new else here(runner)
    if view is None:
        config = state.new_config() or config_panel.default_config(runner)
        session = runner.store.sessions.create(config=config)
        if entry.kind == "conversation":
            runner.store.sessions.change(session.id, title=entry.name)
        view = show(runner.store, session.id)
    branch = script.play(runner, view.branch.id, turns, at=view.tip_id, held=held)
    runner.announce(view.session.id)
    state.open_place(Place(session=view.session.id, branch=branch))


def _system(runner: Runner, entry: Entry) -> None:
    (system,) = fill(entry.body, library_fields.values(entry.id))
    choose(runner, lambda config: replace(config, system=system))
    state.flash(f"{entry.name!r} is the system prompt from the next message on.")
    state.open_place(state.place())


def _apply(runner: Runner, entry: Entry) -> None:
    preset = entry.body.config
    if preset is not None:
        choose(runner, lambda config: replace(preset, system=preset.system or config.system))
        state.flash(f"The settings of {entry.name!r} hold from the next message on.")
    state.open_place(state.place())


def choose(runner: Runner, change: Callable[[Config], Config]) -> None:
    """Change the settings of the session that the tab is at, or of the next new one."""
    view = here(runner)
    if view is not None:
        if view.branch.config is not None:
            runner.store.branches.choose_config(view.branch.id, change(view.branch.config))
        else:
            runner.store.sessions.choose(view.session.id, change(view.session.config))
        runner.announce(view.session.id)
    else:
        state.choose_new_config(change(state.new_config() or config_panel.default_config(runner)))
    state.settings_changed()
