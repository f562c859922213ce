"""What plays turns again: replay a branch, change a turn and re-run below, carry turns over."""

from collections.abc import Callable, Sequence

import streamlit as st

from core import Branch, Config, Runner, TurntreeError, View, forecast, show
from core.context import config_for
from core.replay import Pace, Turn, cherry_pick, rebase, replay, turns_of
from core.types import Job, JobMode
from pages import backend
from pages.components import lane_wishes, pace_fields, pane, sidebar, state
from pages.components.act import Dialog
from pages.components.state import Place

_MOST_SAMPLES, _MOST_AT_ONCE = 10, 8
_TICKS = 60  # turns with a tick of their own; of a longer branch the last ones
MODES: dict[JobMode, tuple[str, str]] = {
    "free": ("Free", "Each new answer is part of what the next turn is asked with."),
    "forced": (
        "Teacher-forced",
        "The original answers stay in the context; every turn is answered once anew.",
    ),
}


# --- replay --------------------------------------------------------------------------------------


@pane.window("Replay a branch", width="medium", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """Play the person's turns of a branch with another config, on a new branch."""
    store, session = runner.store, view.session
    branch = _branch(runner, view, dialog)
    turns = turns_of(store.nodes.lineage(branch.tip_id))
    with st.container(key="replay_dialog", gap="small"):
        if not turns:
            st.info("Nothing was asked on this branch yet. Send a message first.")
            return
        st.caption(
            f"What you wrote on {sidebar.label(branch.name)} is asked again, turn after turn, as a"
            " new branch. This one stays as it is."
        )
        config = _config(view, branch, "replay")
        first = _first(turns, dialog.node)
        mode = _mode()
        samples, pace = _pace(len(turns))
        tools_again = _tools([turn for turn in turns if turn.number >= first])
        found = forecast.replay(
            store,
            session,
            branch.id,
            config,
            mode=mode,
            from_turn=first,
            tools_again=tools_again,
            samples=samples,
        )
        lane_wishes.tell(found, config)
        if st.button(
            "Start the replay", type="primary", icon=":material/play_arrow:", key="replay.start"
        ):
            _start(
                runner,
                view,
                lambda: replay(
                    store,
                    branch.id,
                    config,
                    mode=mode,
                    from_turn=first,
                    tools_again=tools_again,
                    samples=samples,
                    pace=pace,
                ),
                "The replay has begun.",
            )


def _branch(runner: Runner, view: View, dialog: Dialog) -> Branch:
    """The branch that is meant: the one named, else one that leads through the message."""
    if dialog.text:
        return runner.store.branches.get(dialog.text)
    if dialog.node and all(
        node.id != dialog.node for node in runner.store.nodes.lineage(view.branch.tip_id)
    ):
        session = view.session.id
        return show(runner.store, session, branch_id=view.branch.id, node_id=dialog.node).branch
    return view.branch


def _config(view: View, branch: Branch, scope: str) -> Config:
    """The config to play with, as it was left."""
    kept = f"{scope}.config.{branch.id}"
    config: Config = state.kept(kept) or config_for(view.session, branch)
    lane_wishes.one(config, lambda now: state.keep(kept, now), scope=f"{scope}.{branch.id}")
    return config


def _first(turns: Sequence[Turn], node: str | None) -> int:
    """The turn to begin with: the clicked one at first."""
    clicked = _number(turns, node)
    if len(turns) == 1:
        return 1
    return int(
        st.number_input(
            f"From turn (of {len(turns)})",
            min_value=1,
            max_value=len(turns),
            value=clicked,
            step=1,
            key=f"replay.from.{turns[0].asked.id}.{node}",
            help="What stands before it is kept as it is, and sent along.",
        )
    )


def _number(turns: Sequence[Turn], node: str | None) -> int:
    """The number of the turn that a message belongs to, 1 where it is not there."""
    for turn in turns:
        answer = [turn.answer.id] if turn.answer else []
        if node in (turn.asked.id, *(one.id for one in turn.rounds), *answer):
            return turn.number
    return 1


def _mode() -> JobMode:
    chosen = st.radio(
        "Mode",
        list(MODES),
        format_func=lambda mode: MODES[mode][0],
        captions=[sentence for _, sentence in MODES.values()],
        key="replay.mode",
    )
    return "forced" if chosen == "forced" else "free"


def _pace(turns: int) -> tuple[int, Pace]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        samples = pace_fields.whole(
            "Samples",
            most=_MOST_SAMPLES,
            value=1,
            key="replay.samples",
            about="So many new branches, each with answers of its own.",
        )
        at_once = 1
        if samples > 1:
            at_once = pace_fields.whole(
                "At once",
                most=_MOST_AT_ONCE,
                value=min(4, samples),
                key="replay.at_once",
                about="Calls on their way at the same time; within a branch turns wait.",
            )
        reuse = pace_fields.reuse("replay.reuse")
    return samples, Pace(concurrency=at_once, reuse=reuse)


def _tools(turns: Sequence[Turn]) -> bool:
    """Whether recorded tool results are left out; asked only where there are some."""
    if not any(turn.rounds for turn in turns):
        return False
    chosen = st.radio(
        "Recorded tool results",
        ["kept", "left out"],
        captions=[
            "They stand where they stood.",
            "The model answers without them.",
        ],
        key="replay.tools",
        help="Nothing is executed either way.",
        horizontal=True,
    )
    st.caption("No tool is executed.")
    return bool(chosen == "left out")


# --- change a turn, re-run what is below ---------------------------------------------------------


@pane.window("Change and re-run below", width="medium", on_dismiss=state.close_dialog)
def change(runner: Runner, view: View, dialog: Dialog) -> None:
    """Other words for a turn; everything below is asked anew, on a new branch."""
    store, session = runner.store, view.session
    branch = _branch(runner, view, dialog)
    turns = turns_of(store.nodes.lineage(branch.tip_id))
    turn = next((one for one in turns if one.asked.id == dialog.node), None)
    with st.container(key="rebase_dialog", gap="small"):
        if turn is None:
            st.info("This message is not a turn of this branch. Go to its branch first.")
            return
        below = len(turns) - turn.number
        rest = f" and the {below} after it are" if below else " is"
        st.caption(
            f"Turn {turn.number}{rest} asked again on a new branch, with these words in place of"
            f" the old ones. {sidebar.label(branch.name)} stays as it is."
        )
        key = f"rebase.{branch.id}.{turn.asked.id}"
        text = lane_wishes.area(
            store, session, f"Turn {turn.number}", key, turn.asked.text, height=150
        )
        config = _config(view, branch, "rebase")
        found = forecast.rebase(store, session, branch.id, turn.number, text, config)
        lane_wishes.tell(found, config)

        def make() -> Job:
            return rebase(store, branch.id, turn.number, text, config)

        if st.button("Re-run", type="primary", icon=":material/play_arrow:", key="rebase.start"):
            _start(runner, view, make, "The turns below are asked again.", draft=key)


# --- carry turns over ----------------------------------------------------------------------------


@pane.window("Carry turns onto another branch", width="medium", on_dismiss=state.close_dialog)
def pick(runner: Runner, view: View, dialog: Dialog) -> None:
    """Tick turns of a branch; they go onto the end of another one, as a new branch."""
    store, session = runner.store, view.session
    source = _branch(runner, view, dialog)
    turns = turns_of(store.nodes.lineage(source.tip_id))
    others = {one.id: one.name for one in store.branches.of(session.id) if one.id != source.id}
    with st.container(key="pick_dialog", gap="small"):
        if not turns or not others:
            st.info("It takes a branch with a turn, and another branch to carry it to.")
            return
        onto = st.selectbox(
            "Onto the end of",
            list(others),
            format_func=lambda name: others.get(name, name),
            key=f"pick.onto.{source.id}",
            help="That branch stays as it is: a new one goes on from its end.",
        )
        picked = _ticks(source, turns)
        execute = (
            st.radio(
                "The answers",
                ["Asked anew", "Copied as they are"],
                captions=["With what is there in their context.", "Nothing is sent."],
                horizontal=True,
                key="pick.execute",
            )
            == "Asked anew"
        )
        config = view.config
        if execute:
            config = _config(view, source, "pick")
            if picked:
                found = forecast.cherry_pick(store, session, source.id, picked, onto, config)
                lane_wishes.tell(found, config)

        def make() -> Job:
            return cherry_pick(store, source.id, picked, onto, config, execute=execute)

        if st.button("Carry over", type="primary", icon=":material/move_down:", key="pick.start"):
            _start(runner, view, make, "Carried over, on a new branch.")


def _ticks(source: Branch, turns: Sequence[Turn]) -> list[int]:
    shown = turns[-_TICKS:]
    st.markdown(f"Turns of {sidebar.label(source.name)}")
    if len(shown) < len(turns):
        st.caption(f"The last {len(shown)} of {len(turns)}.")
    box = st.container(height=230 if len(shown) > 6 else "content", key="pick_turns", gap=None)
    with box:
        return [
            turn.number
            for turn in shown
            if st.checkbox(
                f"{turn.number}. {_line(turn.asked.text)}", key=f"pick.{source.id}.{turn.number}"
            )
        ]


def _line(text: str, most: int = 80) -> str:
    """The beginning of some words on one line, as plain text."""
    line = " ".join(text.split())
    return sidebar.label(f"{line[:most]}…" if len(line) > most else line)


# --- beginning -----------------------------------------------------------------------------------


def _start(
    runner: Runner, view: View, make: Callable[[], Job], said: str, *, draft: str | None = None
) -> None:
    """Write the job and play it; go to the branch that it builds. Or say why not, and stay."""
    try:
        job = make()
        began = backend.player().start(job.id)
    except TurntreeError as error:
        lane_wishes.trouble(error)
        return
    if draft:
        runner.store.drafts.drop(draft)
    if began.state == "paused" and began.note:
        state.flash(began.note, bad=True)
    else:
        state.flash(said)
    state.close_dialog()
    (line, *_) = runner.store.jobs.lines(job.id)
    if line.branch_id:
        state.go(Place(session=view.session.id, branch=line.branch_id))
    st.rerun()
