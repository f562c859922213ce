"""What is done to look at drafts: open the history of a branch. Without Streamlit."""

from collections.abc import Callable, Mapping

from core import Runner, View
from core.errors import NotFound, UserError
from core.tree import last_answer
from pages.components.act import Act, Dialog, Result


def _drafts(runner: Runner, view: View, act: Act) -> Result:
    """Go to a branch, and open the history of its drafts."""
    branch = runner.store.branches.get(act.get("branch") or view.branch.id)
    if branch.session_id != view.session.id:
        raise NotFound("There is no such branch in this session.")
    if last_answer(runner.store.nodes.lineage(branch.tip_id)) is None:
        raise UserError(
            f"There is no draft on branch {branch.name!r} yet.", hint="Send a message first."
        )
    return Result(branch=branch.id, dialog=Dialog(kind="drafts", branch=branch.id))


ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {"drafts": _drafts}
LOOKING = frozenset({"drafts"})
