"""How a run ends in the database: answer, usage, branch and state in one transaction."""

from dataclasses import dataclass

from core.branching import arrive, new_node
from core.context import with_parts
from core.live import Outcome, joined
from core.models import price
from core.recap import activate, add, boundary
from core.store import Store
from core.types import Node, Parts, Run, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Where the answer went: a branch of its own, if the run's had moved on. No words, no node."""

    branch_id: str
    node_id: str | None


def settle(store: Store, run: Run, parts: Parts, outcome: Outcome) -> Settled | None:
    """End a run. None, and nothing is written, if it had ended before.

    So an owner that slept through the sweep of its own run cannot overwrite what was kept.
    """
    # Before the transaction: the first price takes a moment to find.
    cost = _cost(store, run, outcome)
    with store.write():
        aside = run.purpose not in ("reply", "continue")
        node = _answer(store, run, parts, outcome) if parts and not aside else None
        if not store.runs.end(
            run.id,
            finish_reason=outcome.finish_reason,
            node_id=node.id if node else None,
            usage=outcome.usage,
            resolved_model=outcome.resolved_model,
            cost_nanodollars=cost,
            first_token_ms=outcome.first_token_ms,
            duration_ms=outcome.duration_ms,
            failure=outcome.failure,
            words=parts if aside else (),
        ):
            return None
        if aside:
            return _beside(store, run, parts, outcome)
        branch_id = _place(store, run, node) if node else run.branch_id
        if outcome.finish_reason != "stop" or node is None:
            store.branches.hold_queue(branch_id)
        store.sessions.touch(run.session_id)
        return Settled(branch_id=branch_id, node_id=node.id if node else None)


def _beside(store: Store, run: Run, parts: Parts, outcome: Outcome) -> Settled:
    """The end of what makes no node. A recap that wrote itself is active from now on."""
    if run.purpose == "auto_recap" and outcome.finish_reason == "stop":
        nodes = with_parts(store.nodes.lineage(run.context_tip_id))
        cut, text = boundary(nodes, run.config.keep_turns), text_of(parts)
        if cut is not None and text.strip():
            written = add(store, run.session_id, cut.id, text, run_id=run.id)
            activate(store, run.branch_id, written.id)
    elif run.purpose == "auto_recap" and outcome.finish_reason in ("stopped", "interrupted"):
        store.branches.hold_queue(run.branch_id)
    return Settled(branch_id=run.branch_id, node_id=None)


def _cost(store: Store, run: Run, outcome: Outcome) -> int | None:
    if run.replayed_from is not None:
        return 0  # nobody was asked
    provider, model = run.config.provider, run.config.model
    return price(store, provider, model, outcome.resolved_model, outcome.usage)


def _answer(store: Store, run: Run, parts: Parts, outcome: Outcome) -> Node:
    parent_id, source_id = run.context_tip_id, None
    if run.purpose == "continue" and run.context_tip_id:
        unfinished = store.nodes.get(run.context_tip_id)
        parts = joined(unfinished.parts, parts)
        parent_id, source_id = unfinished.parent_id, unfinished.id
    return new_node(
        run.session_id,
        parent_id,
        "assistant",
        parts,
        author="model",
        source_id=source_id,
        raw=outcome.raw,
    )


def _place(store: Store, run: Run, node: Node) -> str:
    """Write the answer and bring the branch to it, or another; returns that branch's id."""
    store.nodes.add(node)
    placed = arrive(store, run.branch_id, node, replaces=_expected_tip(store, run), why="answer")
    if placed.id != run.branch_id:
        store.branches.move_queue(run.branch_id, placed.id)
    return placed.id


def _expected_tip(store: Store, run: Run) -> str | None:
    """Where the branch must stand for the answer to move it: at what was asked, or at the
    older answer that this one replaces."""
    tip_id = store.branches.get(run.branch_id).tip_id
    if tip_id not in (None, run.context_tip_id):
        tip = store.nodes.get(tip_id)
        older = tip.role == "assistant" and tip.id < run.id
        if older and tip.parent_id == run.context_tip_id:
            return tip_id
    return run.context_tip_id
