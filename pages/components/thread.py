"""The thread element: the whole conversation, drawn from data and streamed live."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from core import Run, Runner, View
from core.overflow import larger
from core.providers import model_info
from pages import backend
from pages.components import element, recap_marks
from pages.components.config_panel import models_offered
from pages.components.entry import entry_page, run_facts

_HERE = Path(__file__)
_element = st.components.v2.component(
    "turntree_thread",
    js=_HERE.with_suffix(".js").read_text("utf-8"),
    css=_HERE.with_suffix(".css").read_text("utf-8")
    + _HERE.with_name("files.css").read_text("utf-8"),
)
KEY = "turntree.thread"

_WITHOUT_WORDS = {
    "stopped": ("Stopped before the first word.", "Retry when you are ready."),
    "interrupted": (
        "Turntree ended before the first word of this answer.",
        "Nothing you wrote is lost. Retry when you are ready.",
    ),
    "cut_off": ("The stream ended before the first word.", "Retry; the provider may be busy."),
    "content_filter": ("The provider's filter held this answer back.", "Reword, then send again."),
    "refusal": ("The model refused without a word.", "Reword, or choose another model."),
}


def draw(runner: Runner, view: View, on_act: Callable[[], None]) -> None:
    """Draw the view. ``on_act`` runs when the person did something there."""
    element.mount(_element, KEY, thread_data(runner, view), on_act)


def thread_data(runner: Runner, view: View) -> dict[str, Any]:
    """Ids, marks and numbers of what is shown; the words come by their own route."""
    entries, more = entry_page(runner.store, view)
    running = running_here(runner, view)
    return {
        "token": backend.TOKEN,
        "session_id": view.session.id,
        "branch_id": view.branch.id,
        "branch_tip": view.branch.tip_id,
        "tip": view.tip_id,
        "entries": entries,
        "more": more,
        "focus": view.focus,
        "live": _live(runner, running) if running else None,
        "trouble": None if running else trouble(runner, view),
        "recap": recap_marks.mark(runner, view),
        "queue": [
            waiting | {"files": [file.name for file in waiting["files"]]}
            for waiting in runner.store.branches.queued(view.branch.id)
            if not waiting["state"].startswith("offer")
        ],
        "models": models_offered(),
        "readonly": False,
    }


def running_here(runner: Runner, view: View) -> Run | None:
    """The run that is about to continue what is shown."""
    if view.run is not None and view.run.state != "ended":
        return view.run
    return runner.answering(view.branch.id, view.tip_id) if view.tip_id else None


def trouble(runner: Runner, view: View) -> dict[str, Any] | None:
    """The last run at this tip, if it ended without a word."""
    if view.tip_id is None:
        return None
    run = view.run or runner.store.runs.last_from(view.tip_id, view.branch.id)
    if run is None or run.state != "ended" or run.node_id is not None:
        return None
    message, hint = recap_marks.trouble(run) or _WITHOUT_WORDS.get(
        run.finish_reason or "", ("The answer came back empty.", "Retry, or choose another model.")
    )
    refused = _refused_setting(run)
    if refused:
        hint = "You can also change it in Settings, then retry."
    return {
        "run": run.id,
        "kind": run.failure.kind if run.failure else run.finish_reason,
        "message": run.failure.message if run.failure else message,
        "hint": run.failure.hint if run.failure and not refused else hint,
        "retryable": True,
        "finish": run.finish_reason,
        "can_continue": False,
        "refused": refused,
        "larger": _larger(runner, run),
    }


def _larger(runner: Runner, run: Run) -> list[dict[str, Any]] | None:
    """Models with a larger window, where the provider said that it was too long; else None."""
    if run.failure is None or run.failure.kind != "ContextTooLong":
        return None
    return [
        {"provider": one.provider, "model": one.model, "label": one.label, "window": one.window}
        for one in larger(runner.store, run.config)
    ]


def _refused_setting(run: Run) -> str | None:
    """The setting that the provider would not take, as the settings call it."""
    name = run.failure.parameter if run.failure else None
    knobs = model_info(run.config.provider, run.config.model).knobs
    label = next((knob.label for knob in knobs if knob.name == name), name)
    return f"{label[0].lower()}{label[1:]}" if label else None


def _live(runner: Runner, run: Run) -> dict[str, Any]:
    live = runner.live(run.id)
    progress = {"stage": live.progress.stage, "share": live.progress.share} if live else {}
    recap = {"span": recap_marks.span(runner, run)} if run.purpose == "auto_recap" else {}
    return run_facts(run) | {"stage": "", "share": None} | progress | recap
