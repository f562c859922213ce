"""What calls that are yet to be made come to: tokens and money, always by estimate.

The answers that a replay repeats stand for the new ones; where there is none, the latest answers
of the model do. What nobody knows stays unknown, and is never counted as zero.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from core.branching import new_node
from core.context import system_text, with_parts
from core.estimate import calibrated, sums, tokens_in, tokens_of
from core.meter import measure
from core.models import facts, price
from core.policies import NOTHING, Choices, plan
from core.recap import choices_of, uncovered
from core.replay import Turn, filled, results, said_in, turns_of
from core.store import Store
from core.types import Config, JobMode, Node, Session, Text, Usage
from core.view import View
from core.weight import recap_guess, shortened, straight, weigh

_LOOKED_AT = 40  # cells of a matrix that are worked out; the others are like them


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Calls of one model; the tokens of all of them. Money is nano-dollars, None unknown.

    ``output`` of None says that nobody can tell how long the answers will be: ``cost`` is then of
    what is sent alone. ``largest`` is the input of the largest call.
    """

    calls: int
    input: int
    output: int | None
    cost: int | None
    largest: int
    window: int | None = None

    @property
    def overflows(self) -> bool:
        """Whether a call is known not to fit the model's window."""
        return self.window is not None and self.largest > self.window


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Forecasts together. ``unknown`` are those of unknown price, ``open`` those of which ``cost``
    holds what is sent alone."""

    calls: int
    input: int
    output: int
    cost: int | None
    unknown: int
    open: int


def together(found: Iterable[Forecast]) -> Total:
    """The sum of what is known, and how much is not."""
    every = list(found)
    known = [one.cost for one in every if one.cost is not None]
    return Total(
        calls=sum(one.calls for one in every),
        input=sum(one.input for one in every),
        output=sum(one.output or 0 for one in every),
        cost=sum(known) if known else None,
        unknown=len(every) - len(known),
        open=sum(one.output is None and bool(one.cost) for one in every),
    )


def send(store: Store, view: View, text: str, config: Config, samples: int = 1) -> Forecast:
    """Words sent under a view's tip with a config, so many times."""
    meter = measure(store, view, config)
    words = round(tokens_of(text) * meter.calibration.factor)
    answer = _typical(store, config)
    more = _price(store, config, words, answer or 0)
    cost = None if meter.cost is None or more is None else meter.cost + more
    one = Forecast(
        calls=1,
        input=meter.tokens + words,
        output=answer,
        cost=cost,
        largest=meter.tokens + words,
        window=meter.window,
    )
    return _times(one, samples)


def replay(
    store: Store,
    session: Session,
    branch_id: str,
    config: Config,
    *,
    mode: JobMode = "free",
    from_turn: int = 1,
    tools_again: bool = False,
    samples: int = 1,
) -> Forecast:
    """What :func:`core.replay.replay` will send."""
    lineage = store.nodes.lineage(store.branches.get(branch_id).tip_id)
    turns = [turn for turn in turns_of(lineage) if turn.number >= from_turn]
    forced = mode == "forced"
    before = _before(lineage, turns)
    choices = choices_of(store, branch_id)
    game = _Game(store, session, config, choices if forced else _on(choices, before))
    found = game.play(before, turns, forced=forced, tools_again=tools_again)
    return _times(found, samples)


def rebase(
    store: Store, session: Session, branch_id: str, turn: int, text: str, config: Config
) -> Forecast:
    """What :func:`core.replay.rebase` will send."""
    lineage = store.nodes.lineage(store.branches.get(branch_id).tip_id)
    turns = [one for one in turns_of(lineage) if one.number >= turn]
    before = _before(lineage, turns)
    if turns:
        first = turns[0]
        files = tuple(part for part in first.asked.parts if not isinstance(part, Text))
        changed = replace(first.asked, parts=(*files, Text(text=text)))
        turns[0] = replace(first, asked=changed, rounds=())
    game = _Game(store, session, config, _on(choices_of(store, branch_id), before))
    return game.play(before, turns)


def cherry_pick(
    store: Store,
    session: Session,
    from_branch: str,
    picked: Iterable[int],
    onto_branch: str,
    config: Config,
) -> Forecast:
    """What :func:`core.replay.cherry_pick` will send when it plays the turns anew."""
    wanted = set(picked)
    source = store.nodes.lineage(store.branches.get(from_branch).tip_id)
    turns = [turn for turn in turns_of(source) if turn.number in wanted]
    before = store.nodes.lineage(store.branches.get(onto_branch).tip_id)
    game = _Game(store, session, config, choices_of(store, onto_branch))
    return game.play(before, turns)


def one_more(store: Store, session: Session, comparison_id: str, config: Config) -> Forecast:
    """What :func:`core.replay.one_more` will send. Raises ``UserError`` as that does."""
    base, said = said_in(store, store.comparisons.get(comparison_id))
    before = store.nodes.lineage(base)
    lanes = store.comparisons.lanes(comparison_id, dropped=True)
    choices = choices_of(store, lanes[0].branch_id) if lanes else NOTHING
    game = _Game(store, session, config, _on(choices, before))
    return game.play(before, said, tools_again=True)


def matrix(
    store: Store,
    session: Session,
    branch_id: str,
    at: str | None,
    turns: Sequence[str],
    variables: Mapping[str, Sequence[str]],
    configs: Sequence[Config],
    *,
    samples: int = 1,
) -> list[Forecast]:
    """What the cells of each config will send, in the order of ``configs``."""
    before = store.nodes.lineage(at)
    choices = _on(choices_of(store, branch_id), before)
    every = [dict(zip(variables, one, strict=True)) for one in product(*variables.values())]
    looked = every[:: max(1, len(every) // _LOOKED_AT)]
    found = []
    for config in configs:
        game = _Game(store, session, config, choices)
        cells = [game.play(before, _written(session, turns, values)) for values in looked]
        one = _added(cells, len(every) / len(looked) if looked else 0)
        found.append(_times(one, samples))
    return found


def _written(session: Session, turns: Sequence[str], values: Mapping[str, str]) -> list[Turn]:
    """The turns of a cell as they would be written."""
    return [
        Turn(number=n, asked=new_node(session.id, None, "user", (Text(text=text),)))
        for n, text in enumerate((filled(turn, values) for turn in turns), 1)
    ]


def _before(lineage: Sequence[Node], turns: Sequence[Turn]) -> tuple[Node, ...]:
    """What stands above the first of the turns."""
    if not turns:
        return tuple(lineage)
    ids = [node.id for node in lineage]
    return tuple(lineage[: ids.index(turns[0].asked.id)])


def _on(choices: Choices, lineage: Sequence[Node]) -> Choices:
    """The choices as far as they are about nodes that are there: new nodes have none."""
    ids = {node.id for node in lineage}
    recap = choices.recap if choices.recap and choices.recap.covers_to in ids else None
    return Choices(recap=recap, pinned=choices.pinned & ids, muted=choices.muted & ids)


# --- playing it without asking anybody -----------------------------------------------------------


class _Game:
    """Turns of one config, with what is known of its model."""

    def __init__(self, store: Store, session: Session, config: Config, choices: Choices) -> None:
        latest = store.runs.counted(config.provider, config.model)
        self._store, self._config, self._choices = store, config, choices
        self._factor = calibrated((tokens_of(one.text), one.tokens) for one in latest).factor
        self._typical = _typical(store, config)
        self._system = tokens_of(system_text(config, session))
        self._window = facts(store, config.provider, config.model).window.value

    def play(
        self,
        before: Sequence[Node],
        turns: Sequence[Turn],
        *,
        forced: bool = False,
        tools_again: bool = False,
    ) -> Forecast:
        """The sum over the turns, one after the other on what stands before them."""
        so_far, sent, open_answers = tuple(before), [], False
        answered, unwritten, cost = 0, 0, 0
        price_known = True
        for turn in turns:
            rounds = () if tools_again else results(turn.rounds)
            tokens = round(
                self._factor * (self._system + self._weight((*so_far, turn.asked, *rounds)))
            )
            tokens += unwritten
            answer = self._answer(turn)
            open_answers |= answer is None
            one = _price(self._store, self._config, tokens, answer or 0)
            price_known &= one is not None
            cost += one or 0
            sent.append(tokens)
            answered += answer or 0
            so_far = (*so_far, turn.asked, *(turn.rounds if forced else rounds))
            if turn.answer is not None:
                so_far = (*so_far, turn.answer)
            else:
                unwritten += answer or 0
        return Forecast(
            calls=len(turns),
            input=sum(sent),
            output=None if open_answers else answered,
            cost=cost if price_known else None,
            largest=max(sent, default=0),
            window=self._window,
        )

    def _answer(self, turn: Turn) -> int | None:
        if turn.answer is None:
            return self._typical
        return round(self._factor * tokens_in(turn.answer.parts))

    def _weight(self, lineage: Sequence[Node]) -> float:
        """The estimate of what the policy sends of a lineage."""
        nodes, config, choices = with_parts(lineage), self._config, self._choices
        if config.policy == "auto":
            cut = uncovered(nodes, config.keep_turns, choices.recap)
            if cut is not None:
                place = nodes.index(cut) + 1
                return shortened(nodes, place, recap_guess(sums(nodes)[place][0]))
        if config.policy in ("full", "auto") and not choices:
            return straight(nodes).total
        recap = tokens_of(choices.recap.text) if choices.recap else 0.0
        return weigh(plan(config.policy, nodes, choices, config.keep_turns), nodes, recap).total


def _typical(store: Store, config: Config) -> int | None:
    """How long the latest answers of the model were on average; None where there is none."""
    counts = [one.tokens for one in store.runs.counted(config.provider, config.model)]
    return round(sum(counts) / len(counts)) if counts else None


def _price(store: Store, config: Config, given: int, answered: int) -> int | None:
    usage = Usage(input_tokens=given, output_tokens=answered)
    return price(store, config.provider, config.model, None, usage)


def _times(one: Forecast, samples: int) -> Forecast:
    return replace(
        one,
        calls=one.calls * samples,
        input=one.input * samples,
        output=None if one.output is None else one.output * samples,
        cost=None if one.cost is None else one.cost * samples,
    )


def _added(cells: Sequence[Forecast], times: float) -> Forecast:
    """The cells of one config together, scaled to those that were not looked at."""
    total = together(cells)
    return Forecast(
        calls=round(total.calls * times),
        input=round(total.input * times),
        output=None if any(one.output is None for one in cells) else round(total.output * times),
        cost=None if total.unknown or total.cost is None else round(total.cost * times),
        largest=max((one.largest for one in cells), default=0),
        window=cells[0].window if cells else None,
    )
