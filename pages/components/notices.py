"""What is to be said above the composer: the plan of turns, budgets, a check that found drift."""

from typing import Any

from core import Runner, View, drift
from core.steering import time_to_finish, warning
from pages.components import recap_marks

_LOW = 7  # of 10: below it, and with something dropped, the check speaks up


def notices(runner: Runner, view: View) -> list[dict[str, Any]]:
    """What is to be said now: ``text``, ``level`` (calm or warn) and ``acts`` with their labels."""
    found = [_plan(view), _budget(runner, view), _drift(runner, view)]
    return [*(one for one in found if one is not None), *recap_marks.notices(runner, view)]


def _plan(view: View) -> dict[str, Any] | None:
    budget = view.session.turn_budget
    if budget is None or not time_to_finish(view.session, view.turn):
        return None
    last = view.turn + 1 == budget
    said = "The next turn is the last." if last else f"All {budget} turns are used."
    if view.turn >= budget and view.branch.past_budget:
        said = f"Turn {view.turn} of {budget} planned."
    acts = [
        {"label": "Finish", "act": {"action": "finish"}, "about": "Write it into the composer"},
        {
            "label": "Send it now",
            "act": {"action": "finish", "send": True},
            "about": "Ask for the final version at once",
        },
    ]
    return {"text": said, "level": "calm", "acts": acts}


def _budget(runner: Runner, view: View) -> dict[str, Any] | None:
    said = warning(runner.store, view.session)
    return {"text": said, "level": "warn", "acts": []} if said else None


def _drift(runner: Runner, view: View) -> dict[str, Any] | None:
    """The last check, while the answer that it is about is the last one."""
    tip = view.lineage[-1] if view.lineage else None
    if tip is None or tip.role != "assistant":
        return None
    runs = drift.checks(runner.store, view.session.id, (tip,))
    if not runs:
        return None
    run = runs[0]
    if run.state != "ended":
        stop = {
            "label": "Stop",
            "act": {"action": "stop", "run": run.id},
            "about": "Stop the check",
        }
        return {"text": "Checking the answer for drift…", "level": "calm", "acts": [stop]}
    verdict = drift.verdict_of(runner.store, run)
    if verdict is None or verdict.score is None or (verdict.score >= _LOW and not verdict.dropped):
        return None
    count = len(verdict.dropped)
    dropped = f", {count} dropped" if count else ""
    return {
        "text": f"Drift check: {verdict.score:g} of 10{dropped}.",
        "level": "warn" if verdict.score < _LOW else "calm",
        "acts": [
            {
                "label": "Come back to the goal",
                "act": {"action": "come_back", "run": run.id},
                "about": "Write it into the composer",
            }
        ],
    }
