"""Standings: what verdicts come to for each model, over a session or over all of them. Pure but
for looking up which run wrote an answer.

*Strength* is a Bradley-Terry model of the duels that verdicts hold: the chance that one beats
another is ``s1 / (s1 + s2)``. It is fitted by Newton's method to the logarithm of the posterior,
with one tie of each model against an average one as the prior: without it whoever never lost would
be infinitely strong. Strengths are told from the mean of all who were compared, as duels say
nothing of where all of them stand; the interval is 95% of a normal distribution with the
curvature there.

*Aptitude* and *unreliability* are those of Laban, Hayashi, Zhou and Neville (arXiv 2505.06120): of
the samples of one model for one task, the 90th percentile of their scores, and the distance from
it to the 10th; then the mean over tasks.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.store import Store
from core.types import Config, Run, Verdict

AVERAGE = 1000.0
"""The mean strength of all who were compared, on the scale of Elo: 400 points are ten to one."""
_SCALE = 400 / math.log(10)
_PRIOR = 1.0  # duels against an average model, half of them won
_WIDE = 1.959964  # standard deviations of a 95% interval
_ROUNDS = 100
_FULL = 100.0  # the highest score, whoever gave it
NO_MODEL = "no recorded model"
"""Who wrote what a person typed or brought along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """A Bradley-Terry strength on the scale of Elo, with the ends of its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What verdicts come to for one model, or one model with its settings.

    ``judged`` counts its answers in verdicts that chose; of these ``won``, ``tied``, ``lost``.
    ``cost`` is what its judged answers cost in nano-dollars, ``unknown`` how many of them have no
    known cost; ``cost_per_win`` is None without a win or with an unknown cost. Scores run
    from 0 to 100; ``samples`` are the answers that have one. ``unreliability`` is None where no
    task has two samples.
    """

    name: str
    judged: int = 0
    won: int = 0
    tied: int = 0
    lost: int = 0
    strength: Strength | None = None
    cost: int | None = None
    unknown: int = 0
    cost_per_win: int | None = None
    samples: int = 0
    mean: float | None = None
    aptitude: float | None = None
    unreliability: float | None = None


@dataclass(slots=True, kw_only=True)
class _Tally:
    """A standing while it is counted. ``scores``: task to answer to the scores it was given."""

    won: int = 0
    tied: int = 0
    lost: int = 0
    costs: dict[str, int | None] = field(default_factory=dict)
    scores: dict[str, dict[str, list[float]]] = field(default_factory=dict)


def standings(
    store: Store, verdicts: Sequence[Verdict], *, by_settings: bool = False
) -> list[Standing]:
    """Who stands how, the strongest first. ``by_settings`` tells apart settings of a model."""
    runs = store.runs.of_nodes({node for verdict in verdicts for node in verdict.tips.values()})
    tallies: dict[str, _Tally] = {}
    duels: list[Duel] = []
    for verdict in verdicts:
        names = {
            one: contestant(runs.get(node), by_settings=by_settings)
            for one, node in verdict.tips.items()
        }
        for name in names.values():
            tallies.setdefault(name, _Tally())
        _count(verdict, names, runs, tallies)
        duels += duels_of(verdict, names)
    fitted = strengths(duels)
    rows = [_standing(name, tally, fitted.get(name)) for name, tally in tallies.items()]
    rows = [row for row in rows if row.judged or row.samples]
    return sorted(rows, key=lambda row: (-(row.strength.value if row.strength else 0.0), row.name))


def contestant(run: Run | None, *, by_settings: bool) -> str:
    """What an answer counts for: its model, with its settings if these are told apart."""
    if run is None:
        return NO_MODEL
    name = f"{run.config.provider} · {run.config.model}"
    settings = told(run.config) if by_settings else ""
    return f"{name} · {settings}" if settings else name


def told(config: Config) -> str:
    """The settings of a config in words: what was set, and nothing of what was not."""
    said = [f"{name} {_value(value)}" for name, value in sorted(config.sampling.items())]
    if config.policy != "full":
        said.append(f"context {config.policy}")
    if words := " ".join(config.system.split()):
        said.append(f"“{words[:39]}…”" if len(words) > 40 else f"“{words}”")
    return ", ".join(said)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _count(
    verdict: Verdict,
    names: Mapping[str, str],
    runs: Mapping[str, Run],
    tallies: Mapping[str, _Tally],
) -> None:
    task = verdict.comparison_id or verdict.session_id
    for branch, node in verdict.tips.items():
        tally = tallies[names[branch]]
        if verdict.winner is not None or verdict.tie:
            run = runs.get(node)
            tally.costs[node] = run.cost_nanodollars if run else None
            tally.won += verdict.winner == branch
            tally.tied += verdict.tie
            tally.lost += not verdict.tie and verdict.winner != branch
        if branch in verdict.ratings:
            score = full_score(verdict, verdict.ratings[branch])
            tally.scores.setdefault(task, {}).setdefault(node, []).append(score)


def full_score(verdict: Verdict, rating: float) -> float:
    """A rating as a score from 0 to 100: of a person's 1 to 5, of a judge's 0 to 10."""
    return rating * _FULL / 10 if verdict.by == "judge" else (rating - 1) * _FULL / 4


def _standing(name: str, tally: _Tally, strength: Strength | None) -> Standing:
    known = [cost for cost in tally.costs.values() if cost is not None]
    unknown = len(tally.costs) - len(known)
    cost = sum(known) if known else None
    tasks = [
        [sum(given) / len(given) for given in answers.values()] for answers in tally.scores.values()
    ]
    several = [scores for scores in tasks if len(scores) > 1]
    return Standing(
        name=name,
        judged=tally.won + tally.tied + tally.lost,
        won=tally.won,
        tied=tally.tied,
        lost=tally.lost,
        strength=strength,
        cost=cost,
        unknown=unknown,
        cost_per_win=round(cost / tally.won)
        if cost is not None and tally.won and not unknown
        else None,
        samples=sum(map(len, tasks)),
        mean=_mean([_mean(scores) for scores in tasks]),
        aptitude=_mean([_percentile(scores, 90) for scores in tasks]),
        unreliability=_mean([_percentile(s, 90) - _percentile(s, 10) for s in several]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _percentile(values: Sequence[float], share: float) -> float:
    return float(np.percentile(values, share))


# --- Bradley-Terry -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """Two that were compared: ``share`` is 1 where ``one`` was better, 0 where the other was,
    one half for a tie."""

    one: str
    other: str
    share: float


def duels_of(verdict: Verdict, names: Mapping[str, str]) -> list[Duel]:
    """The duels that a verdict holds: the winner against each of the others, or all even.

    Answers of the same contestant do not compete.
    """
    if verdict.winner is not None and verdict.winner in names:
        best = names[verdict.winner]
        others = [name for branch, name in names.items() if branch != verdict.winner]
        return [Duel(one=best, other=name, share=1.0) for name in others if name != best]
    if not verdict.tie:
        return []
    each = list(names.values())
    return [
        Duel(one=one, other=other, share=0.5)
        for place, one in enumerate(each)
        for other in each[place + 1 :]
        if other != one
    ]


def strengths(duels: Sequence[Duel], *, prior: float = _PRIOR) -> dict[str, Strength]:
    """The Bradley-Terry strength of everybody who was in a duel. ``prior`` counts duels."""
    names = sorted({name for duel in duels for name in (duel.one, duel.other)})
    if not names:
        return {}
    place = {name: number for number, name in enumerate(names)}
    won = np.zeros((len(names), len(names)))
    for duel in duels:
        one, other = place[duel.one], place[duel.other]
        won[one, other] += duel.share
        won[other, one] += 1 - duel.share
    at, curvature = _fitted(won, prior)
    from_mean = np.eye(len(names)) - 1 / len(names)
    at = from_mean @ at
    wide = _WIDE * np.sqrt(np.diag(from_mean @ np.linalg.inv(curvature) @ from_mean))
    return {
        name: Strength(
            value=AVERAGE + _SCALE * at[number],
            low=AVERAGE + _SCALE * (at[number] - wide[number]),
            high=AVERAGE + _SCALE * (at[number] + wide[number]),
        )
        for name, number in place.items()
    }


def _fitted(won: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of strength, and the curvature of the posterior there. It has one maximum."""
    played, at = won + won.T, np.zeros(len(won))
    curvature = np.eye(len(won))
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(at[None, :] - at[:, None]))
        average = 1 / (1 + np.exp(-at))
        slope = won.sum(1) - (played * chance).sum(1) + prior * (0.5 - average)
        weight = played * chance * (1 - chance)
        curvature = np.diag(weight.sum(1) + prior * average * (1 - average)) - weight
        step = np.clip(np.linalg.solve(curvature, slope), -2, 2)
        at = at + step
        if np.abs(step).max() < 1e-10:
            break
    return at, curvature
