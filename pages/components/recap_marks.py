"""Where a recap cuts, as the thread and the tree take it, and what is to be said of it."""

from typing import Any

from core import Runner, View
from core.recap import Cut, cut_of, drafts
from core.recapping import unwritten
from core.tree import turns
from core.types import CONVERSATION, Run


def mark(runner: Runner, view: View) -> dict[str, Any] | None:
    """The divider of the branch's recap, or of one that could be switched on; else None."""
    cut = cut_of(runner.store, view.branch.id, view.lineage)
    if cut is None:
        return None
    ids = [one.id for one in cut.versions]
    return {
        "id": cut.recap.id,
        "at": cut.recap.covers_to if cut.on_path else None,
        "active": cut.active,
        "applies": cut.applies,
        "messages": cut.messages,
        "by_itself": cut.by_itself,
        "version": ids.index(cut.recap.id) + 1 if cut.recap.id in ids else 1,
        "versions": len(ids),
    }


def span(runner: Runner, run: Run) -> str:
    """Which turns a recap that goes before an answer covers: "turns 1–4"."""
    nodes = [node for node in runner.store.nodes.lineage(run.context_tip_id) if node.parts]
    last = (turns(nodes)[-1] if nodes else 1) - run.config.keep_turns - 1
    return "turn 1" if last <= 1 else f"turns 1–{last}"


def notices(runner: Runner, view: View) -> list[dict[str, Any]]:
    """What is to be said above the composer: a recap that wrote itself or could not, a draft."""
    cut = cut_of(runner.store, view.branch.id, view.lineage)
    found = [_by_itself(runner, view, cut), _unwritten(runner, view), _waiting(runner, view)]
    return [one for one in found if one is not None]


def _by_itself(runner: Runner, view: View, cut: Cut | None) -> dict[str, Any] | None:
    """Said until the next message: later the divider says it."""
    if cut is None or not (cut.active and cut.by_itself and cut.recap.run_id):
        return None
    run = runner.store.runs.get(cut.recap.run_id)
    asked = [node.id for node in view.lineage if node.role == "user"][-1:]
    if run.context_tip_id not in asked:
        return None
    return {
        "text": f"A recap of {span(runner, run)} wrote itself and stands in from now on.",
        "level": "calm",
        "acts": [
            {
                "label": "View",
                "act": {"action": "recap_view", "recap": cut.recap.id},
                "about": "Read the recap",
            },
            {
                "label": "Switch off",
                "act": {"action": "recap_off"},
                "about": "Send everything again, as before",
            },
        ],
    }


def _unwritten(runner: Runner, view: View) -> dict[str, Any] | None:
    run = unwritten(runner.store, view.lineage)
    answered = bool(view.lineage) and view.lineage[-1].role != "user"
    if run is None or not answered:
        return None
    why = run.failure.message if run.failure else "It did not come to its end."
    return {
        "text": f"The recap could not be written, so everything was sent. {why}",
        "level": "warn",
        "acts": [
            {
                "label": "What was sent",
                "act": {"action": "sent", "run": run.id},
                "about": "Look into the failed call",
            }
        ],
    }


def _waiting(runner: Runner, view: View) -> dict[str, Any] | None:
    latest = next(iter(drafts(runner.store, view.lineage, fresh=True)), None)
    if latest is None:
        return None
    writing = latest.state != "ended"
    return {
        "text": "A recap is being written." if writing else "A recap draft waits to be placed.",
        "level": "calm",
        "acts": [
            {
                "label": "Open",
                "act": {"action": "recap_draft", "run": latest.id},
                "about": "Go on with the draft",
            }
        ],
    }


def trouble(run: Run) -> tuple[str, str] | None:
    """What happened and what to do, where a recap that was to go first was never finished."""
    if run.purpose != "auto_recap" or run.purpose not in CONVERSATION:
        return None
    hint = "Your message is kept. Retry, or choose under Context what is sent."
    return {
        "stopped": ("Stopped while a recap was written first: nothing was answered.", hint),
        "interrupted": ("Turntree ended while a recap was written first.", hint),
    }.get(run.finish_reason or "")
