"""What opens the dialogs that start lanes and jobs. Without Streamlit."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from core import Runner, View
from core.errors import NotFound
from core.store import Store
from pages.components.act import Act, Dialog, Result

_STAY = Result(stay=True)


def _opens(kind: str) -> Callable[[Runner, View, Act], Result]:
    """``node`` is what it is about, ``branch`` another branch than the one that is shown."""

    def show(runner: Runner, view: View, act: Act) -> Result:
        node, branch = act.get("node"), act.get("branch")
        if node and runner.store.nodes.get(node).session_id != view.session.id:
            raise NotFound("There is no such message in this session.")
        if branch and runner.store.branches.get(branch).session_id != view.session.id:
            raise NotFound("There is no such branch in this session.")
        opened = Dialog(kind=kind, branch=view.branch.id, node=node, text=branch or "")
        return replace(_STAY, dialog=opened)

    return show


def _fan(runner: Runner, view: View, act: Act) -> Result:
    """From a message, or from the end of what is shown: that place stays while it is written.

    ``text`` is what stands in the composer: it comes along.
    """
    node = act.get("node") or view.tip_id
    opened = _opens("fan")(runner, view, {"node": node})
    if words := str(act.get("text") or "").strip():
        key = draft_of(view.session.id, node)
        before = runner.store.drafts.get(key) or ""
        if words not in before:
            joined = "\n\n".join(filter(None, [before.strip(), words]))
            runner.store.drafts.keep(view.session.id, key, joined)
    if opened.dialog is None:
        return opened
    return replace(opened, dialog=replace(opened.dialog, text=words))


def draft_of(session_id: str, node_id: str | None) -> str:
    """Under which key the words for several models are kept, from that place."""
    return f"fan.{session_id}.{node_id or 'start'}"


def note_gone(store: Store, view: View, text: str, mark: str) -> None:
    """Note that words of a branch's composer went out from a dialog: they need not wait there
    any more, in whatever tab. ``mark`` tells this time from another."""
    told = json.dumps({"text": text, "n": mark})
    store.drafts.keep(view.session.id, _gone(view.branch.id), told)


def gone(store: Store, view: View) -> dict[str, str] | None:
    """What :func:`note_gone` noted last for the branch."""
    told = store.drafts.get(_gone(view.branch.id))
    return json.loads(told) if told else None


def _gone(branch_id: str) -> str:
    return f"composer.gone.{branch_id}"


ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {
    "fan": _fan,
    "beside": _opens("beside"),
    "replay": _opens("replay"),
    "rebase": _opens("rebase"),
    "pick": _opens("pick"),
    "matrix": _opens("matrix"),
}
LOOKING = frozenset(ACTIONS)
"""Those that change nothing."""
