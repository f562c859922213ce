"""What a judge would be asked: which answers, how often, in which orders, at what cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.columns import Column, shared
from core.errors import UserError
from core.estimate import MESSAGE, tokens_of
from core.judging import Criterion, plan, prompt, task_of
from core.models import price
from core.store import Store
from core.types import Comparison, Config, Node, Usage

MOST_CALLS = 60
_REPLY = 70  # tokens that a judge writes of one answer, about


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """How answers are to be judged: by which model, by what, and how often.

    ``own`` lets the judge judge answers of its own model as well.
    """

    config: Config
    criteria: tuple[Criterion, ...]
    rounds: int = 1
    by_pairs: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a brief comes to. ``tips`` maps the branches that are judged to their answers;
    ``own`` are the branches whose answers are of the judge's model, left out or not.
    ``tokens`` is what is sent in all, ≈; ``cost`` is nano-dollars, None where it is unknown."""

    tips: Mapping[str, str]
    own: tuple[str, ...]
    task: str
    orders: tuple[tuple[str, ...], ...]
    tokens: int
    cost: int | None
    sample: str


def answers(store: Store, found: Sequence[Column]) -> dict[str, Node]:
    """Branch id to the answer that is judged: the one marked final, else the last.

    Only what a lane does not have in common with all the others counts; a lane without such an
    answer is left out.
    """
    common = shared(found) if len(found) > 1 else 0
    judged = {}
    for column in found:
        said = [node for node in column.lineage[common:] if node.role == "assistant"]
        marks = store.nodes.marks(node.id for node in said)
        final = [node for node in said if "final" in marks.get(node.id, {})]
        if said and (final or said)[-1].text.strip():
            judged[column.branch.id] = (final or said)[-1]
    return judged


def prepare(store: Store, comparison: Comparison, found: Sequence[Column], brief: Brief) -> Plan:
    """What would be asked. Nothing is written; ``orders`` is empty for fewer than two answers."""
    session = store.sessions.get(comparison.session_id)
    judged = answers(store, found)
    own = own_answers(store, judged, found, brief.config)
    kept = {one: node for one, node in judged.items() if brief.own or one not in own}
    task = task_of(session.objective, session.done_when, _asked(store, found, kept))
    orders = plan(list(kept), brief.rounds, by_pairs=brief.by_pairs) if len(kept) > 1 else []
    words = {one: tokens_of(node.text) for one, node in kept.items()}
    empty = tokens_of(prompt(task, brief.criteria, [""] * len(kept))) + MESSAGE
    tokens = [round(empty + sum(words[one] for one in order)) for order in orders]
    usage = [
        Usage(input_tokens=sent, output_tokens=_REPLY * len(order))
        for sent, order in zip(tokens, orders, strict=True)
    ]
    config = brief.config
    costs = [price(store, config.provider, config.model, None, one) for one in usage]
    first = [kept[one].text for one in (orders[0] if orders else kept)]
    return Plan(
        tips={one: node.id for one, node in kept.items()},
        own=tuple(own),
        task=task,
        orders=tuple(orders),
        tokens=sum(tokens),
        cost=None if None in costs else sum(one for one in costs if one is not None),
        sample=prompt(task, brief.criteria, first),
    )


def own_answers(
    store: Store, judged: Mapping[str, Node], found: Sequence[Column], judge: Config
) -> list[str]:
    """The branches whose answer is of the judge's own model."""
    runs = store.runs.of_nodes(node.id for node in judged.values())
    by = {column.branch.id: column.config for column in found}
    made = {
        one: runs[node.id].config if node.id in runs else by[one] for one, node in judged.items()
    }
    return [
        one
        for one, config in made.items()
        if (config.provider, config.model) == (judge.provider, judge.model)
    ]


def _asked(store: Store, found: Sequence[Column], judged: Mapping[str, Node]) -> str:
    """The words that all the judged answers answer; empty where they differ."""
    asked = set()
    for column in found:
        if column.branch.id in judged:
            ids = [node.id for node in column.lineage]
            before = column.lineage[: ids.index(judged[column.branch.id].id)]
            asked.add(next((node.text for node in reversed(before) if node.role == "user"), ""))
    return asked.pop() if len(asked) == 1 else ""


def refuse(planned: Plan) -> None:
    """Raises ``UserError`` when fewer than two answers are left, or for too many calls."""
    if len(planned.tips) < 2:
        left = "the others are of the judge's own model" if planned.own else "the others are empty"
        raise UserError(
            f"There are not two answers to judge: {left}.",
            hint="Choose another judge, or let it judge its own."
            if planned.own
            else "Send a message to the lanes first.",
        )
    if len(planned.orders) > MOST_CALLS:
        raise UserError(
            f"{len(planned.orders)} calls are more than {MOST_CALLS}.",
            hint="Ask for fewer votes, or show all answers at once.",
        )
