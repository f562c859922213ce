"""The playground: prompt, stream, refine, fork. Without a session, the start page."""

from collections.abc import Sequence

import streamlit as st

from core import Config, Queued, TurntreeError, View, show
from core.errors import NotFound
from core.examples import open_example
from core.files import Upload, attach
from core.meter import measure
from core.overflow import overfull
from core.steering import goes_past
from pages import backend
from pages.components import (
    acts,
    acts_context,
    composer,
    config_panel,
    context_panel,
    dialogs,
    element,
    frame,
    header,
    inspector,
    library_use,
    meter,
    offers,
    sent,
    sidebar,
    start,
    state,
    thread,
    tree_panel,
)
from pages.components.state import Place

runner = backend.runner()


def view_now() -> View | None:
    """What the tab looks at; None on the start page or when the session is gone."""
    here = state.place()
    if here.session is None:
        return None
    try:
        return show(
            runner.store,
            here.session,
            branch_id=here.branch,
            node_id=here.node,
            run_id=here.run,
        )
    except NotFound as error:
        state.flash_error(error)
        state.go(Place())
        return None


def on_thread() -> None:
    """Something was done in the thread."""
    handle(element.take(thread.KEY))


def on_tree() -> None:
    """Something was done in the tree."""
    handle(element.take(tree_panel.KEY))


def on_meter() -> None:
    """Something was done in the meter."""
    handle(element.take(meter.KEY))


def on_drawer_meter() -> None:
    """Something was done in the meter of the drawer."""
    handle(element.take(meter.DRAWER))


def on_drawer_tree() -> None:
    """Something was done in the tree of the drawer."""
    handle(element.take(inspector.DRAWER_TREE))


def handle(act: acts.Act | None) -> None:
    """Do it, and go where it leads."""
    view = view_now()
    if not act or view is None:
        return
    alone = act.get("action") == "send_files"
    view = context_panel.once(view) if alone else view
    try:
        result = acts.perform(runner, view, act)
    except TurntreeError as error:
        state.flash_error(error)
        return
    if act["action"] in acts_context.CONFIGURES:
        state.settings_changed()
    if result.said:
        state.flash(result.said)
    if result.insert is not None:
        state.insert(result.insert)
    if result.sent is not None:
        state.look_into(result.sent)
    if alone and not result.stay:
        context_panel.forget_once(view)
    if result.dialog is not None:
        state.open_dialog(result.dialog)
    if not result.stay:
        state.go(
            Place(
                session=view.session.id,
                branch=result.branch or view.branch.id,
                node=result.node,
                run=result.run,
            )
        )


def on_composer() -> None:
    """Something was done beside the input."""
    handle(element.take(composer.COMPANION))


def send(words: str, uploads: Sequence[Upload] = ()) -> None:
    """Send what the person wrote and attached.

    Whatever fails, the words come back into the composer, and files that can be taken wait
    beside it: they are stored before anything else is done.
    """
    try:
        view = view_now() or _new_session()
        if bad := attach(runner.store, view.branch.id, uploads):
            for error in bad:
                state.flash_error(error)
            state.insert(words)
            return
        if words.lstrip()[:5].lower() == "fork:" and any(n.role == "user" for n in view.lineage):
            acts.offer(runner, view, words)
            return
        if goes_past(view.session, view.branch, _next_turn(view), words):
            acts.offer(runner, view, words, "offer_past")
            return
        view = context_panel.once(view)
        if overfull(runner.store, view, words):
            acts.offer(runner, view, words, "offer_long")
            return
        sent = acts.send_pending(runner, view, words)
        if not isinstance(sent, Queued):
            context_panel.forget_once(view)
            _say_if_forked(view, sent.branch_id)
            state.go(Place(session=view.session.id, branch=sent.branch_id))
    except TurntreeError as error:
        state.flash_error(error)
        state.insert(words)


def _next_turn(view: View) -> int:
    """The number of the turn that is about to be sent, after those that wait."""
    queued = runner.store.branches.queued(view.branch.id)
    return view.turn + 1 + sum(one["state"] in ("waiting", "held") for one in queued)


def _say_if_forked(view: View, branch_id: str) -> None:
    if branch_id != view.branch.id:
        name = runner.store.branches.get(branch_id).name
        state.flash(f"This went on from an earlier message, so it became the branch {name!r}.")


def _new_session() -> View:
    config = state.new_config() or config_panel.default_config(runner)
    session = runner.store.sessions.create(config=config)
    state.go(Place(session=session.id, branch=session.current_branch_id))
    return show(runner.store, session.id)


def on_example(name: str) -> None:
    """Open a worked example as a session of the person's own."""
    config = state.new_config() or config_panel.default_config(runner)
    session = open_example(runner.store, name, config)
    state.go(Place(session=session.id, branch=session.current_branch_id))


def settle(view: View) -> None:
    """Once the answer that the tab waited for is there, stand on its branch."""
    here = state.place()
    if here.run and view.run is None:
        node = None if view.on_branch else view.tip_id
        state.go(Place(session=view.session.id, branch=view.branch.id, node=node))
    elif here.branch != view.branch.id:
        state.go(Place(session=here.session, branch=view.branch.id, node=here.node, run=here.run))


def draw_session(view: View) -> None:
    """Conversation in the middle, tree and settings at the right."""
    settle(view)
    busy = thread.running_here(runner, view) is not None
    context_panel.chip(view)
    offers.draw(runner, view, handle)
    composer.draw(runner, view, send, on_composer, busy=busy)
    sidebar.draw(runner, view)
    runner.store.sessions.seen(view.session.id)
    measured = measure(runner.store, context_panel.once(view))
    middle, right = st.columns([3, 1.15], gap="large")
    with middle, st.container(key="middle"):
        header.draw(
            runner,
            view,
            measured,
            open_drawer=lambda: inspector.drawer(
                runner, view, on_drawer_tree, on_drawer_meter, handle
            ),
            handle=handle,
        )
        frame.show_flashes()
        thread.draw(runner, view, on_thread)
    with right, st.container(key="inspector"):
        inspector.draw(runner, view, measured, on_tree, on_meter, handle)


def draw_start() -> None:
    """The first screen: an input that works at once, and examples to open."""
    composer.draw(runner, None, send, on_composer, busy=False)
    sidebar.draw(runner, None)
    middle, right = st.columns([3, 1.15], gap="large")
    with middle, st.container(key="middle"):
        frame.show_flashes()
        start.draw(on_example)
    with right, st.container(key="inspector"):
        config: Config = state.new_config() or config_panel.default_config(runner)
        inspector.settings(config, state.choose_new_config, scope="new")


state.leaving()
if there := state.bound():
    st.switch_page("compare.py", query_params=there)
current = view_now()
if current is None:
    draw_start()
else:
    draw_session(current)
sent.draw(runner)
if state.looked_into() is None:  # one dialog at a time
    if state.dialog() is None:
        library_use.draw(runner)
    else:
        dialogs.draw(runner, current)
