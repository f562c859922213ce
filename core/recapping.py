"""Recaps that write themselves: when one goes before an answer, and what is asked for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.asking import Prepared, ready
from core.context import with_parts
from core.errors import UserError
from core.estimate import sums, tokens_of
from core.meter import measure
from core.models import facts, price
from core.policies import NOTHING, Choices, current_turn
from core.recap import choices_of, due, recap_call
from core.store import Store
from core.types import Branch, Call, Config, Node, Run, Session, Usage
from core.view import View

_FITS = 0.9  # of the window, by estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """What a recap does to every send from now on, in estimated tokens; money is nano-dollars.

    ``cost`` is what the saved input would cost if it were read anew. ``lost`` is the number of
    tokens after the cut that the provider keeps warm now and will read anew once, ``lost_cost``
    what that adds. None is unknown.
    """

    covered: int
    recap: int
    cost: int | None
    lost: int | None
    lost_cost: int | None

    @property
    def saved(self) -> int:
        """Tokens less in every send; less than nothing for a recap longer than what it covers."""
        return self.covered - self.recap


def gain(store: Store, view: View, covered: Sequence[Node], text: str) -> Gain:
    """What a recap of ``covered`` saves, and what its cut costs in lost cache."""
    config, measured = view.config, measure(store, view)
    factor = measured.calibration.factor
    before = round(sums(with_parts(covered))[-1][0] * factor)
    after = round(tokens_of(text) * factor) if text.strip() else 0
    system = next((part.tokens for part in measured.parts if part.name == "system"), 0)
    stands = choices_of(store, view.branch.id).recap is not None
    warm = None if measured.warm is None else measured.warm.tokens
    # With a recap in force the beginning has been cut already.
    lost = None if warm is None else 0 if stands else max(0, warm - before - system)
    return Gain(
        covered=before,
        recap=after,
        cost=_price(store, config, max(0, before - after)),
        lost=lost,
        lost_cost=None if lost is None else _difference(store, config, lost),
    )


def _price(store: Store, config: Config, tokens: int, cached: int = 0) -> int | None:
    usage = Usage(input_tokens=tokens, output_tokens=0, cached_tokens=cached)
    return price(store, config.provider, config.model, None, usage)


def _difference(store: Store, config: Config, tokens: int) -> int | None:
    cold, warm = _price(store, config, tokens), _price(store, config, tokens, tokens)
    return None if cold is None or warm is None else max(0, cold - warm)


def covered_by(store: Store, covers_to: str) -> tuple[Node, ...]:
    """The messages that a recap up to a node stands in for."""
    return with_parts(store.nodes.lineage(covers_to))


def request(
    store: Store, view: View, covers_to: str, config: Config, *, focus: str = "", prompt: str = ""
) -> Call:
    """The call that has a recap written for a branch. Raises ``UserError`` where nothing is to be
    covered."""
    covered = covered_by(store, covers_to)
    if not covered:
        raise UserError("There is nothing to recap yet.", hint="Send a message first.")
    choices = readable(store, view.branch.id, config, covered)
    return recap_call(covered, config, view.session, focus=focus, prompt=prompt, choices=choices)


def unwritten(store: Store, lineage: Sequence[Node]) -> Run | None:
    """The run that should have written a recap before the last answer, and did not; None when
    all went well. The answer was asked for with everything then."""
    if not lineage:
        return None
    asked = {node.id for node in lineage[current_turn(lineage) :]}
    latest = next(iter(store.runs.side(lineage[0].session_id, "auto_recap", 1)), None)
    if latest is None or latest.context_tip_id not in asked or latest.state != "ended":
        return None
    written = any(recap.run_id == latest.id for recap in store.recaps.of(latest.session_id))
    return None if written else latest


def recap_first(
    store: Store, branch: Branch, session: Session, config: Config, lineage: Sequence[Node]
) -> Prepared | None:
    """The request of the recap that must be written before ``lineage`` is answered, if one must."""
    if config.policy != "auto" and session.auto_recap is None:
        return None  # nothing is looked at for what hardly anybody has switched on
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
