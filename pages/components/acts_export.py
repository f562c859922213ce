"""What is done to take something away: open the export of a message or a branch. No Streamlit."""

from collections.abc import Callable, Mapping

from core import Runner, View
from core.errors import NotFound
from pages.components.act import Act, Dialog, Result


def _export(runner: Runner, view: View, act: Act) -> Result:
    """Of a message: it and the path to it. Of a branch: go there. Of neither: of what is shown."""
    if act.get("branch"):
        branch = runner.store.branches.get(act["branch"])
        if branch.session_id != view.session.id:
            raise NotFound("There is no such branch in this session.")
        return Result(branch=branch.id, dialog=_dialog(branch.id, "branch"))
    if act.get("node"):
        node = runner.store.nodes.get(act["node"])
        if node.session_id != view.session.id:
            raise NotFound("There is no such message in this session.")
        what = "answer" if node.role == "assistant" else "branch"
        return Result(stay=True, dialog=_dialog(view.branch.id, what, node.id))
    return Result(stay=True, dialog=_dialog(view.branch.id, ""))


def _dialog(branch: str, what: str, node: str | None = None) -> Dialog:
    return Dialog(kind="export", branch=branch, text=what, node=node)


ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {"export": _export}
LOOKING = frozenset({"export"})
