"""Whether an answer can still be had: its very request sent again, and what came against it.

The repetition is a run of its own beside the conversation. It stays in the ledger with its words,
so that what it came to can be read at any later time.
"""

from dataclasses import dataclass
from typing import Literal

from core.diff import Diff, compare
from core.errors import NotFound, UserError
from core.exporting import node_of
from core.runner import Runner
from core.store import Store
from core.types import Node, Run, text_of

_ALIKE = 0.9  # the share of words that two answers have in common, to be called alike
_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What asking the same once more came to, against the answer as it was written.

    ``likeness`` is the share of words in common, 0 to 1; with ``outcome`` and ``diff`` it is
    there once the run is done. ``run`` is the new run, ``before`` the one that wrote the answer.
    """

    run: Run
    before: Run
    state: Literal["running", "failed", "done"]
    outcome: Literal["same", "alike", "different", ""] = ""
    likeness: float | None = None
    diff: Diff | None = None
    text: str = ""

    @property
    def models(self) -> tuple[str, str]:
        """The models that answered then and now, as the provider names them."""
        return model_of(self.before), model_of(self.run)


def why_not(store: Store, session_id: str, node_id: str) -> str:
    """Why an answer cannot be asked for again, in words; empty where it can."""
    node = node_of(store, session_id, node_id)
    if node.role != "assistant":
        return "Only an answer can be asked for again."
    if node.author == "import":
        return "It was imported: what was sent for it is not known here."
    if node.id in store.runs.of_nodes([node.id]):
        return ""
    if node.author == "hand-edited":
        return "It was edited by hand: no request gives these words."
    return "It is not known what was sent for it."


def reproduce(runner: Runner, session_id: str, node_id: str) -> Run:
    """Send the very request of an answer again, beside the conversation: no node comes of it.

    Raises ``UserError`` where there is no request to send, or a budget is used up.
    """
    if reason := why_not(runner.store, session_id, node_id):
        raise UserError(reason, hint="Choose an answer that a model wrote here.")
    before = runner.store.runs.of_nodes([node_id])[node_id]
    return runner.repeat(before.id, at=node_id)


def reruns(store: Store, session_id: str, node_id: str) -> list[Drift]:
    """Every time that an answer was asked for again, the latest first."""
    found = store.runs.side(session_id, "rerun", _MOST)
    return [drift_of(store, run.id) for run in found if run.context_tip_id == node_id]


def drift(store: Store, session_id: str, node_id: str) -> Drift | None:
    """What the latest repetition of an answer came to; None where none was asked for."""
    return next(iter(reruns(store, session_id, node_id)), None)


def drift_of(store: Store, run_id: str) -> Drift:
    """What became of one repetition. Raises :class:`NotFound` for a run that is none."""
    run = store.runs.get(run_id)
    if run.purpose != "rerun" or run.context_tip_id is None:
        raise NotFound("This run repeats no answer.", hint="Choose one from the list.")
    node = store.nodes.get(run.context_tip_id)
    before = store.runs.of_nodes([node.id]).get(node.id)
    if before is None:
        raise NotFound("What was sent for this answer is not known any more.")
    if run.state != "ended":
        return Drift(run=run, before=before, state="running")
    if run.finish_reason not in ("stop", "length", "tool_call", "refusal", "content_filter"):
        return Drift(run=run, before=before, state="failed", text=text_of(run.partial))
    then, again = _written(store, node, before), text_of(run.partial)
    diff = compare(then, again)
    outcome: Literal["same", "alike", "different"] = "different"
    if then == again:
        outcome = "same"
    elif diff.share >= _ALIKE:
        outcome = "alike"
    return Drift(
        run=run, before=before, state="done", outcome=outcome,
        likeness=1.0 if then == again else diff.share, diff=diff, text=again,
    )  # fmt: skip


def _written(store: Store, node: Node, run: Run) -> str:
    """What a run wrote: of one beside the conversation that was placed later, its own words; of
    one that continued an answer, without that answer."""
    if run.partial:
        return text_of(run.partial)
    if run.purpose == "continue" and node.source_id is not None:
        began = "".join(one.text for one in store.nodes.many([node.source_id]))
        return node.text.removeprefix(began)
    return node.text


def model_of(run: Run) -> str:
    """Who answered, as the provider names it."""
    return run.resolved_model or run.config.model
