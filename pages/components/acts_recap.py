"""What the buttons of a recap do: open its dialog, switch one on and off. Without Streamlit."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from core import Runner, View
from core.errors import NotFound, UserError
from core.recap import activate, cut_of
from core.types import Recap
from pages.components.act import Act, Dialog, Result

_STAY = Result(stay=True)


def _write(runner: Runner, view: View, act: Act) -> Result:
    """Open the dialog for a new recap: up to a node, or with the last turns left out."""
    if not any(node.parts for node in view.lineage):
        raise UserError("There is nothing to recap yet.", hint="Send a message first.")
    node = act.get("node")
    if node is not None and all(one.id != node for one in view.lineage):
        raise NotFound("This message is not part of what is shown.")
    return replace(_STAY, dialog=Dialog(kind="recap", branch=view.branch.id, node=node))


def _draft(runner: Runner, view: View, act: Act) -> Result:
    """Open the dialog with a draft that was written, or is being written."""
    run = runner.store.runs.get(act["run"])
    if run.session_id != view.session.id or run.purpose != "recap":
        raise NotFound("There is no such draft in this session.")
    return replace(_STAY, dialog=Dialog(kind="recap", branch=view.branch.id, run=run.id))


def _view(runner: Runner, view: View, act: Act) -> Result:
    recap = _recap(runner, view, act)
    return replace(_STAY, dialog=Dialog(kind="recaps", branch=view.branch.id, recap=recap.id))


def _edit(runner: Runner, view: View, act: Act) -> Result:
    recap = _recap(runner, view, act)
    return replace(_STAY, dialog=Dialog(kind="recap_edit", branch=view.branch.id, recap=recap.id))


def _on(runner: Runner, view: View, act: Act) -> Result:
    recap = _recap(runner, view, act)
    activate(runner.store, view.branch.id, recap.id)
    return replace(_STAY, said=switched_on(runner, view))


def _off(runner: Runner, view: View, act: Act) -> Result:
    activate(runner.store, view.branch.id, None)
    said = "The recap is switched off: everything is sent again, exactly as before."
    if view.config.policy == "auto" or view.session.auto_recap is not None:
        said += " A recap may write itself again; under Context you can change that."
    return replace(_STAY, said=said)


def switched_on(runner: Runner, view: View) -> str:
    """What is to be said after a recap was activated on the view's branch."""
    cut = cut_of(runner.store, view.branch.id, view.lineage)
    if cut is None or not cut.on_path:
        return "The recap is active, but what it covers is not part of what is shown here."
    if not cut.applies:
        return (
            "The recap covers the very question that is to be answered, so this answer is asked"
            " for without it. It applies from the next message on."
        )
    return f"The recap stands in for the {cut.messages} messages above it."


def _recap(runner: Runner, view: View, act: Act) -> Recap:
    recap = runner.store.recaps.get(act["recap"])
    if recap.session_id != view.session.id:
        raise NotFound("There is no such recap in this session.")
    return recap


ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {
    "recap": _write,
    "recap_draft": _draft,
    "recap_view": _view,
    "recap_edit": _edit,
    "recap_on": _on,
    "recap_off": _off,
}
LOOKING = frozenset({"recap", "recap_draft", "recap_view", "recap_edit"})
