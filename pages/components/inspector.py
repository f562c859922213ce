"""The right side: tree, meter, branch notes, settings, bin. On a phone the same in a drawer."""

from collections.abc import Callable
from dataclasses import fields, replace

import streamlit as st

from core import Config, Runner, View
from core.meter import Meter, measure
from core.providers import adapters
from pages.components import (
    config_panel,
    context_panel,
    element,
    key_panel,
    meter,
    pane,
    state,
    steering_panel,
    tree_panel,
)
from pages.components.acts import Act

DRAWER_TREE = "turntree.tree.drawer"


def draw(
    runner: Runner,
    view: View,
    measured: Meter,
    on_tree: Callable[[], None],
    on_meter: Callable[[], None],
    handle: Callable[[Act], None],
) -> None:
    """Tree on top, because it is what people look for; the rest beneath."""
    tree_panel.draw(runner, view, on_tree)
    meter.draw(measured, on_meter)
    _panels(runner, view, handle, scope=view.session.id)


@pane.window("Tree and settings", position="right", on_dismiss="rerun")
def drawer(
    runner: Runner,
    view: View,
    on_tree: Callable[[], None],
    on_meter: Callable[[], None],
    handle: Callable[[Act], None],
) -> None:
    """The inspector for narrow screens."""
    view = _as_it_is_now(runner, view)
    tree_panel.draw(runner, view, on_tree, key=DRAWER_TREE)
    if element.act(DRAWER_TREE):
        st.rerun()  # the page behind follows, and the drawer closes over what was chosen
    meter.draw(measure(runner.store, context_panel.once(view)), on_meter, key=meter.DRAWER)
    if (act := element.act(meter.DRAWER)) and act.get("action") in ("preview", "recap"):
        st.rerun()  # one dialog at a time: the drawer makes room for what was asked for
    if view.lineage and st.button("Recap", icon=":material/history_edu:", key="drawer.recap"):
        handle({"action": "recap"})
        st.rerun()
    context_panel.draw(runner, view, handle, scope="drawer")
    _settings_of(runner, view, scope=f"drawer.{view.session.id}")
    steering_panel.draw(runner, view, handle, scope="drawer")


def _as_it_is_now(runner: Runner, view: View) -> View:
    """The view, with what was chosen in the drawer since it was opened: it runs by itself."""
    session = runner.store.sessions.get(view.session.id)
    return replace(view, session=session, branch=runner.store.branches.get(view.branch.id))


def settings(config: Config, choose: Callable[[Config], None], *, scope: str) -> None:
    """The settings of the next run, with the embedded model's state where it is chosen."""
    with st.container(key=f"settings.{scope}"):
        config_panel.draw(config, choose, scope=scope)
        found = adapters().get(config.provider)  # a newer Turntree may have known more of them
        if found is not None and found.default_url:
            key_panel.draw(found, scope=f"{scope}.{found.name}")
        if config.provider == "local":
            config_panel.local_state()


def _panels(runner: Runner, view: View, handle: Callable[[Act], None], *, scope: str) -> None:
    context_panel.draw(runner, view, handle, scope="page")
    with st.expander("Settings", icon=":material/tune:", expanded=True, type="compact"):
        _settings_of(runner, view, scope=scope)
    steering_panel.draw(runner, view, handle, scope="page")
    with st.expander("Branch note", icon=":material/notes:", type="compact"):
        _note(runner, view)
    if bins := runner.store.branches.bins(view.session.id):
        with st.expander(f"Bin ({len(bins)})", icon=":material/delete:", type="compact"):
            for pruned in bins[:20]:
                _binned(pruned["id"], pruned["label"], handle)


def _settings_of(runner: Runner, view: View, *, scope: str) -> None:
    own = view.branch.config
    drawn = own or view.session.config

    def choose(config: Config) -> None:
        """Only what was changed here: something else may have been changed meanwhile."""
        changed = {
            field.name: getattr(config, field.name)
            for field in fields(Config)
            if getattr(config, field.name) != getattr(drawn, field.name)
        }
        if changed and own is not None:
            now = runner.store.branches.get(view.branch.id).config or own
            runner.store.branches.choose_config(view.branch.id, replace(now, **changed))
        elif changed:
            now = runner.store.sessions.get(view.session.id).config
            runner.store.sessions.choose(view.session.id, replace(now, **changed))

    if own is not None:
        _own_settings(runner, view)
    settings(drawn, choose, scope=f"{scope}.{state.settings_number()}")


def _own_settings(runner: Runner, view: View) -> None:
    """Say that the settings are the branch's own, and let it have the session's again."""
    st.caption("These settings are this branch's own; the session's others keep theirs.")
    st.button(
        "Use the session's settings",
        key=f"own_settings.{view.branch.id}",
        type="tertiary",
        on_click=_give_up_own,
        args=[runner, view],
    )


def _give_up_own(runner: Runner, view: View) -> None:
    runner.store.branches.choose_config(view.branch.id, None)
    state.settings_changed()


def _note(runner: Runner, view: View) -> None:
    key = f"note.{view.branch.id}"
    state.control(key, view.branch.note)
    st.text_area(
        f"What {view.branch.name!r} is about",
        view.branch.note,
        key=key,
        height=90,
        placeholder="Why this branch, and how it went",
        on_change=lambda: runner.store.branches.annotate(view.branch.id, state.value(key) or ""),
    )


def _binned(bin_id: str, label: str, handle: Callable[[Act], None]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.text(label)
        st.button(
            "Restore",
            key=f"restore.{bin_id}",
            on_click=handle,
            args=[{"action": "restore", "bin": bin_id}],
        )
