"""What one tab looks at: a lineage of a session, and how much of it is drawn.

The cost is that of what is shown: a window of the lineage, whatever its length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.context import config_for
from core.errors import NotFound
from core.store import Store
from core.tree import siblings, turns
from core.types import Branch, Config, Node, Run, Session

WINDOW = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """``tip_id`` is the last node shown; it is the branch's tip unless the tab looks elsewhere.

    ``focus`` is the node to scroll to, ``run`` the run that the tab waits for.
    """

    session: Session
    branch: Branch
    tip_id: str | None
    lineage: tuple[Node, ...]
    focus: str | None = None
    run: Run | None = None

    @property
    def on_branch(self) -> bool:
        """Whether the tab looks at the branch's own tip."""
        return self.tip_id == self.branch.tip_id

    @property
    def config(self) -> Config:
        """What the next answer of the branch is asked with."""
        return config_for(self.session, self.branch)

    @property
    def turn(self) -> int:
        """The number of the last turn shown, 0 when there is none."""
        return turns(self.lineage)[-1] if self.lineage else 0


def show(
    store: Store,
    session_id: str,
    *,
    branch_id: str | None = None,
    node_id: str | None = None,
    run_id: str | None = None,
) -> View:
    """The view that a deep link asks for; what is gone or binned is passed over.

    A node shows the path that leads through it. A run shows what it answers while it runs, and
    its answer once it is there. Raises ``NotFound`` for an unknown session.
    """
    session = store.sessions.get(session_id)
    run = _run(store, session_id, run_id)
    if run is not None and _binned(store, session_id, run.context_tip_id):
        run = None
    answer = run.node_id if run is not None and run.state == "ended" else None
    if answer is not None:
        node_id, run = answer, None
    elif run is not None:
        branch_id = run.branch_id
    branch = _branch(store, session, branch_id)
    tip: str | None
    focus: str | None = None
    if run is not None and run.context_tip_id is not None:
        tip = run.context_tip_id
    else:
        branch, tip, focus = _tip(store, branch, node_id)
    return View(
        session=session,
        branch=branch,
        tip_id=tip,
        lineage=store.nodes.lineage(tip),
        focus=None if focus == answer else focus,
        run=run,
    )


def entries(
    store: Store, view: View, *, before: str | None = None, limit: int = WINDOW
) -> tuple[list[dict[str, Any]], bool]:
    """What is known about the last ``limit`` messages before ``before`` (or at the end), oldest
    first, without their words; and whether there are older ones."""
    lineage = view.lineage
    end = len(lineage)
    if before is not None:
        end = next((i for i, node in enumerate(lineage) if node.id == before), 0)
    start = max(0, end - limit)
    window = lineage[start:end]
    numbers = turns(lineage[:end])[start:]
    ids = [node.id for node in window]
    hidden = store.branches.hidden_roots(view.session.id)
    family = store.nodes.child_ids([node.parent_id for node in window], view.session.id)
    marks = store.nodes.marks(ids)
    runs = store.runs.of_nodes(ids)
    forks = store.branches.forked_at(ids)
    chosen = {(one.kind, one.target_id) for one in store.recaps.overrides(view.branch.id)}
    found = []
    for offset, node in enumerate(window):
        alternatives = [
            child
            for child, role in family.get(node.parent_id, [])
            if role == node.role and child not in hidden
        ]
        found.append(
            {
                "id": node.id,
                "role": node.role,
                "author": node.author,
                "at": node.created_at,
                "turn": numbers[offset],
                "siblings": siblings(node.id, alternatives),
                "forks": [b for b in forks.get(node.id, []) if b.id != view.branch.id],
                "final": "final" in marks.get(node.id, {}),
                "note": marks.get(node.id, {}).get("note") or "",
                "pinned": ("pin", node.id) in chosen,
                "muted": ("mute", node.id) in chosen,
                "previous_answer": _previous_answer(lineage, start + offset),
                "run": runs.get(node.id),
            }
        )
    return found, start > 0


def _previous_answer(lineage: Sequence[Node], index: int) -> str | None:
    if lineage[index].role != "assistant":
        return None
    for node in reversed(lineage[:index]):
        if node.role == "assistant":
            return node.id
    return None


def _run(store: Store, session_id: str, run_id: str | None) -> Run | None:
    if run_id is None:
        return None
    try:
        run = store.runs.get(run_id)
    except NotFound:
        return None
    if run.purpose == "auto_recap" and run.state == "ended" and run.context_tip_id:
        # A recap went first: what is waited for is the answer after it.
        run = store.runs.last_from(run.context_tip_id, run.branch_id) or run
    return run if run.session_id == session_id else None


def _binned(store: Store, session_id: str, node_id: str | None) -> bool:
    hidden = store.branches.hidden_roots(session_id)
    return bool(hidden) and any(node.id in hidden for node in store.nodes.lineage(node_id))


def _branch(store: Store, session: Session, branch_id: str | None) -> Branch:
    live = {branch.id: branch for branch in store.branches.of(session.id)}
    for wanted in (branch_id, session.current_branch_id):
        if wanted in live:
            return live[wanted]
    if not live:
        raise NotFound("The session has no branch left.", hint="Restore one from its bin.")
    return next(reversed(live.values()))


def _tip(
    store: Store, branch: Branch, node_id: str | None
) -> tuple[Branch, str | None, str | None]:
    """The branch, tip and focus that show ``node_id``, or the branch's own tip."""
    if node_id is None or not store.nodes.many([node_id]):
        return branch, branch.tip_id, None
    elsewhere = store.nodes.get(node_id).session_id != branch.session_id
    if elsewhere or _binned(store, branch.session_id, node_id):
        return branch, branch.tip_id, None
    if any(node.id == node_id for node in store.nodes.lineage(branch.tip_id)):
        return branch, branch.tip_id, node_id
    leaf = store.nodes.latest_leaf(node_id, store.branches.hidden_roots(branch.session_id))
    ending = store.branches.with_tip_in([leaf])
    return (ending[0] if ending else branch), leaf, node_id
