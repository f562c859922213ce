"""What a message's button for bringing it into another branch does. Without Streamlit."""

from collections.abc import Callable, Mapping

from core import Runner, View
from core.errors import NotFound, UserError
from pages.components.act import Act, Dialog, Result


def _bring(runner: Runner, view: View, act: Act) -> Result:
    """Open the dialog for an answer of what is shown."""
    node = next((one for one in view.lineage if one.id == act["node"]), None)
    if node is None:
        raise NotFound("This message is not part of what is shown.")
    if not node.text.strip():
        raise UserError("There are no words to bring.", hint="Choose another message.")
    if len(runner.store.branches.of(view.session.id)) < 2:
        raise UserError("There is no other branch yet.", hint="Fork one first.")
    return Result(stay=True, dialog=Dialog(kind="bring_in", branch=view.branch.id, node=node.id))


ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {"bring_in": _bring}
LOOKING = frozenset({"bring_in"})
