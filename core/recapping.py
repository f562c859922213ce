"""Recaps that write themselves: when one goes before an answer, and what is asked for it."""

from collections.abc import Sequence

from core.asking import Prepared, ready
from core.context import with_parts
from core.estimate import sums
from core.meter import measure
from core.models import facts
from core.policies import NOTHING, Choices, current_turn
from core.recap import choices_of, due, recap_call
from core.store import Store
from core.types import Branch, Config, Node, Session
from core.view import View

_FITS = 0.9  # of the window, by estimate


def recap_first(
    store: Store, branch: Branch, session: Session, config: Config, lineage: Sequence[Node]
) -> Prepared | None:
    """The request of the recap that must be written before ``lineage`` is answered, if one must."""
    nodes = with_parts(lineage)
    full = _full(store, branch, session, config, nodes)
    cut = due(store, branch, nodes, config, full=full)
    if cut is None:
        return None
    covered = nodes[: nodes.index(cut) + 1]
    call = recap_call(covered, config, session, choices=readable(store, branch.id, config, covered))
    return ready(store, covered, call, config)


def readable(store: Store, branch_id: str, config: Config, covered: Sequence[Node]) -> Choices:
    """How much of what a recap covers is read for it: all of it, or, where that does not fit into
    the model's window, with the branch's recap in place of what that covers."""
    window = facts(store, config.provider, config.model).window.value
    fits = window is None or sums(covered)[-1][0] < _FITS * window
    return NOTHING if fits else choices_of(store, branch_id)


def _full(
    store: Store, branch: Branch, session: Session, config: Config, nodes: Sequence[Node]
) -> bool:
    if session.auto_recap is None or not nodes:
        return False
    before = tuple(nodes[: current_turn(nodes)])
    tip_id = before[-1].id if before else None
    view = View(session=session, branch=branch, tip_id=tip_id, lineage=before)
    share = measure(store, view, config).share
    return share is not None and share >= session.auto_recap
