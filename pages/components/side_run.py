"""What is asked beside the conversation, as the page shows it: the words as they come, Stop,
what went wrong and Retry, and in the end words that can be edited."""

from collections.abc import Callable

import streamlit as st

from core import Run, Runner, TurntreeError
from core.types import Parts, Thinking, text_of
from pages.components import pane, sidebar, state, words

Again = Callable[[], None]
"""Starts another run, and has the page show it."""
_LOOK = 0.4  # seconds between two looks at a run
_WITHOUT_WORDS = {
    "stopped": "Stopped before the first word.",
    "interrupted": "Turntree ended before the first word.",
}


def draw(
    runner: Runner,
    run_id: str,
    retry: Again,
    *,
    busy: str = "Asking the model…",
    shows: bool = True,
    scope: str = "",
) -> str | None:
    """Follow a side run. The words once it has ended with some, None before that.

    ``retry`` starts another run and has the page show it; it is called before a rerun.
    ``busy`` is said while nothing has come yet; with ``shows`` false, all the while. ``scope``
    tells two places apart that show the same run.
    """
    run = runner.store.runs.get(run_id)
    if run.state != "ended":
        _following(runner, run_id, busy, shows, scope)
        return None
    found = text_of(run.partial).strip()
    if run.failure is not None or not found or run.finish_reason not in ("stop", "length"):
        _trouble(run, found, retry, scope)
    elif run.finish_reason == "length":
        st.caption("The model hit its length limit: the end may be missing.")
    return found or None


def edit(runner: Runner, key: str, found: str, label: str, *, height: int = 260) -> str:
    """The words of an ended run as a field; what the person made of them, now or before a reload.

    ``key`` is the id of the session's run, or begins with it.
    """
    widget, drafts = f"side.{key}", runner.store.drafts
    written = drafts.get(widget)
    words_now = found if written is None else written
    state.control(widget, words_now)
    session = runner.store.runs.get(key.partition(".")[0]).session_id
    return st.text_area(
        label,
        words_now,
        key=widget,
        height=height,
        on_change=lambda: drafts.keep(session, widget, state.value(widget) or ""),
    )


@pane.fragment(run_every=_LOOK)
def _following(runner: Runner, run_id: str, busy: str, shows: bool, scope: str) -> None:
    live = runner.live(run_id)
    run = live.run if live else runner.store.runs.get(run_id)
    if run.state == "ended":
        st.rerun()  # the whole page: what was waited for is there
    arrived = live.parts() if live else run.partial
    with st.container(key=f"side_run.{run_id}.{scope}"):
        said = text_of(arrived) if shows else ""
        if said:
            st.text(said)
        else:
            st.caption(f"{busy} {_stage(runner, run_id, arrived)}".strip())
        st.button(
            "Stop",
            icon=":material/stop:",
            key=f"stop.{run_id}.{scope}",
            on_click=runner.stop,
            args=[run_id],
        )


def _stage(runner: Runner, run_id: str, arrived: Parts) -> str:
    live = runner.live(run_id)
    if live is not None and live.retry_at is not None:
        return f"Trying again: {live.retry_why}"
    if any(isinstance(part, Thinking) for part in arrived):
        return "It is thinking."
    if live is not None and live.progress.share is not None:
        return f"{live.progress.stage} {live.progress.share:.0%}"
    return ""


def _trouble(run: Run, found: str, retry: Again, scope: str) -> None:
    """Why it did not end well, and another try."""
    why = run.failure.message if run.failure else _WITHOUT_WORDS.get(run.finish_reason or "", "")
    if found and not run.failure:
        why = f"It {words.outcome(run.finish_reason)}: the end may be missing."
    hint = run.failure.hint if run.failure else ""
    with st.container(key=f"trouble.{run.id}.{scope}"):
        st.warning(sidebar.label(why or "The answer came back empty."), icon=":material/error:")
        if hint:
            st.caption(sidebar.label(hint))
        if st.button("Retry", icon=":material/refresh:", key=f"again.{run.id}.{scope}"):
            try_again(retry)


def try_again(retry: Again) -> None:
    """Ask once more, and draw the page anew with what comes of it."""
    try:
        retry()
    except TurntreeError as error:
        state.flash_error(error)
    st.rerun()
