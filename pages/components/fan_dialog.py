"""One prompt to several models: written, chosen, priced, then sent to lanes of their own."""

import streamlit as st

from core import Runner, TurntreeError, View
from core.context import config_for
from core.forecast import one_more
from core.forecast import send as forecast
from core.lanes import Fan, Wish, fan_out
from core.replay import one_more as new_lane
from core.types import AttachmentRef, Comparison, Config, Node
from pages import backend
from pages.components import lane_wishes, pace_fields, pane, sidebar, state
from pages.components.act import Dialog
from pages.components.acts_replay import draft_of, note_gone

_SCOPE = "lanes"
ADDING = "lanes.adding"
"""Under this name the tab keeps the comparison that a lane is being added to."""


@pane.window("Send to several models", width="medium", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """The prompt, the lanes, what they come to, and the button that sends."""
    store, session = runner.store, view.session
    node = store.nodes.get(dialog.node) if dialog.node else None
    again = node is not None and node.role == "user"
    at = node.parent_id if node is not None and again else dialog.node
    before = View(session=session, branch=view.branch, tip_id=at, lineage=store.nodes.lineage(at))
    key = draft_of(session.id, dialog.node)
    chosen = lane_wishes.Chosen(store, session, _SCOPE)
    with st.container(key="fan_dialog", gap="small"):
        st.caption(_where(before, node if again else None))
        text = lane_wishes.area(
            store,
            session,
            "Prompt",
            key,
            node.text if node is not None and again else "",
            height=130,
            placeholder="What every model is asked",
        )
        files = _files(runner, view, at, node if again else None)
        lanes = chosen.lanes(view.config)
        found = lane_wishes.draw(
            lanes,
            chosen.keep,
            lambda config, samples: forecast(store, before, text, config, samples),
            scope=f"{_SCOPE}.{session.id}",
        )
        if st.button(
            "Many prompts or many samples: a matrix…",
            icon=":material/grid_on:",
            type="tertiary",
            key="fan.matrix",
            help="Every value of a template's variables with every model, as a job",
        ):
            state.open_dialog(Dialog(kind="matrix", branch=view.branch.id))
            st.rerun()
        warm, reuse = _options()
        st.markdown(f"**{lane_wishes.total(found, 'lane')}**")
        count = sum(lane.samples for lane in lanes)
        if st.button(
            f"Send to {count} lanes" if count > 1 else "Send to 1 lane",
            type="primary",
            icon=":material/send:",
            key="fan.send",
        ):
            wishes = [Wish(config=one.config, samples=one.samples) for one in lanes]
            chosen.keep(lanes)
            try:
                fan = fan_out(
                    runner, view.branch.id, at, text, wishes, files=files, warm=warm, reuse=reuse
                )
            except TurntreeError as error:
                lane_wishes.trouble(error)
            else:
                store.drafts.drop(key)
                if dialog.text:  # they came from the composer
                    note_gone(store, view, dialog.text, fan.comparison.id)
                _gone(runner, view, files, fan)


def _where(before: View, again: Node | None) -> str:
    if again is not None:
        return f"Turn {before.turn + 1} is asked again, in lanes of their own; it stays as it is."
    if not before.lineage:
        return "Each model answers on a branch of its own."
    return (
        f"After turn {before.turn} of {sidebar.label(before.branch.name)}. Each model answers on"
        " a branch of its own; this one stays as it is."
    )


def _files(
    runner: Runner, view: View, at: str | None, again: Node | None
) -> tuple[AttachmentRef, ...]:
    """What goes along: the files of a message that is asked again, or those beside the composer."""
    if again is not None:
        files = tuple(part for part in again.parts if isinstance(part, AttachmentRef))
    else:
        files = runner.store.attachments.pending(view.branch.id) if at == view.tip_id else ()
    if files:
        st.caption("Goes along: " + sidebar.label(", ".join(file.name for file in files)))
    return files


def _options() -> tuple[bool, bool]:
    with st.container(horizontal=True, gap="medium"):
        warm = st.toggle(
            "First lane warms the cache",
            value=True,
            key="fan.warm",
            help="Lanes of one model wait for the first word of the first: what they have in"
            " common is then read from the provider's cache.",
        )
        reuse = pace_fields.reuse("fan.reuse")
    return warm, reuse


def _gone(runner: Runner, view: View, files: tuple[AttachmentRef, ...], fan: Fan) -> None:
    """The lanes are on their way: look at them."""
    pending = runner.store.attachments.pending(view.branch.id)
    sent = {file.sha256 for file in files}
    runner.store.attachments.let_go(
        view.branch.id, [file.sha256 for file in pending if file.sha256 in sent]
    )
    state.compare(view.session.id, fan.comparison.id)


# --- one lane more -------------------------------------------------------------------------------


def _added() -> None:
    """The person has closed the dialog, or has got the lane."""
    state.keep(ADDING, None)


@pane.window("Add a lane", width="medium", on_dismiss=_added)
def add_lane(runner: Runner, comparison: Comparison) -> None:
    """Another model answers all that was said in the lanes so far."""
    store = runner.store
    session = store.sessions.get(comparison.session_id)
    chosen = f"lane.config.{comparison.id}"
    config = state.kept(chosen) or _beside(runner, comparison)
    with st.container(key="add_lane", gap="small"):
        st.caption("It is asked all that was said in the lanes so far, turn after turn.")
        lane_wishes.one(config, lambda now: state.keep(chosen, now), scope=f"lane.{comparison.id}")
        try:
            lane_wishes.tell(one_more(store, session, comparison.id, config), config)
            if st.button("Add the lane", type="primary", icon=":material/add:", key="lane.start"):
                job = new_lane(store, comparison.id, config)
                backend.player().start(job.id)
                state.keep(chosen, None)
                _added()
                st.rerun()
        except TurntreeError as error:
            lane_wishes.trouble(error)


def _beside(runner: Runner, comparison: Comparison) -> Config:
    """The first lane's config with a model that no lane has."""
    session = runner.store.sessions.get(comparison.session_id)
    configs = [
        config_for(session, runner.store.branches.get(lane.branch_id))
        for lane in runner.store.comparisons.lanes(comparison.id)
    ]
    lanes = [
        lane_wishes.Choice(id=str(number), config=config) for number, config in enumerate(configs)
    ]
    return lane_wishes.unused(lanes) if lanes else session.config
