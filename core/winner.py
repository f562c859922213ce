"""The winner of a comparison, and why the others lost."""

from collections.abc import Mapping, Sequence

from core.columns import columns
from core.errors import UserError
from core.lanes import keep
from core.runner import Runner
from core.store import Store
from core.types import Branch, Comparison, Verdict, new_id, now

_COMPARISONS = 20  # the latest of a session, whose winners the tree marks


def winner(store: Store, comparison: Comparison) -> Branch | None:
    """The branch of the lane that was kept, if it is still one."""
    kept = (lane for lane in store.comparisons.lanes(comparison.id) if lane.kept_at)
    return next((store.branches.get(lane.branch_id) for lane in kept), None)


def losers(store: Store, comparison: Comparison) -> list[Branch]:
    """The other lanes' branches, once there is a winner; each with its ``note``: why."""
    won = winner(store, comparison)
    if won is None:
        return []
    lanes = store.comparisons.lanes(comparison.id)
    return [store.branches.get(one.branch_id) for one in lanes if one.branch_id != won.id]


def winners(store: Store, session_id: str) -> frozenset[str]:
    """The branches that won a comparison of the session."""
    found = (winner(store, one) for one in store.comparisons.of(session_id, _COMPARISONS))
    return frozenset(branch.id for branch in found if branch is not None)


def choose(runner: Runner, comparison: Comparison, branch_id: str, *, verdict: bool) -> Branch:
    """Mark a lane as the winner; with ``verdict`` that counts in the standings.

    The session goes on with its branch. Raises ``UserError`` for a branch that is no lane.
    """
    store = runner.store
    found = columns(store, comparison)
    chosen = next((column for column in found if column.branch.id == branch_id), None)
    if chosen is None:
        raise UserError("This branch is no lane of the comparison.", hint="Choose another one.")
    with store.write():
        branch = keep(runner, chosen.lane.id)
        if verdict:
            tips = {one.branch.id: one.answer.id for one in found if one.answer is not None}
            store.verdicts.add(
                Verdict(
                    id=new_id(),
                    session_id=comparison.session_id,
                    comparison_id=comparison.id,
                    by="person",
                    tips=tips,
                    winner=branch_id,
                    blind=comparison.blind,
                    created_at=now(),
                )
            )
    return branch


def give_reasons(store: Store, reasons: Mapping[str, str]) -> None:
    """Say of each losing branch, by its id, why: that is its note from now on."""
    with store.write():
        for branch_id, reason in reasons.items():
            store.branches.annotate(branch_id, " ".join(reason.split()))


def carried(lost: Sequence[Branch]) -> str:
    """The reasons as words for the winner's next prompt; empty where nobody gave one.

    No branch is named: its name is a model's as a rule, and no business of another model.
    """
    reasons = list(dict.fromkeys(branch.note.strip() for branch in lost if branch.note.strip()))
    if not reasons:
        return ""
    listed = "\n".join(f"- {reason}" for reason in reasons)
    return f"What did not work in the alternatives:\n{listed}\n\n"
