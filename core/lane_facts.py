"""What can be said of a lane without asking anyone: sums of its runs, length, reading level, and
how its settings differ from the others'."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.policies import POLICIES
from core.store import Store
from core.store.ledger import share
from core.types import Config, FinishReason, Json, Node, Run

LEAST_WORDS = 30
"""Of fewer words no reading level is told: it would be noise."""
_MOST = 200_000  # characters that are looked at
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_SENTENCE = re.compile(r"[.!?\u2026]+(?=\W|\Z)|\n+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One answer in numbers. Durations are milliseconds, ``cached`` is a share of the input from
    0 to 1, ``grade`` a school grade; None is unknown. ``replayed``: a stored answer was taken,
    and nobody was asked."""

    words: int
    characters: int
    grade: float | None
    finish: FinishReason | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: float | None = None
    cost_nanodollars: int | None = None
    replayed: bool = False
    first_token_ms: int | None = None
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """All of a lane's own answers: what is known of them, and of how many the cost is not."""

    answers: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_nanodollars: int | None = None
    unknown_cost: int = 0
    duration_ms: int | None = None


def of_lane(store: Store, lineage: Sequence[Node], common: int) -> tuple[Facts | None, Total]:
    """Facts of the last answer after the first ``common`` nodes, and the sums of all of them.

    Of a lane that ends where the others go on, the last answer is one that they share.
    """
    answers = [node for node in lineage[common:] if node.role == "assistant"]
    last = answers[-1] if answers else None
    if last is None and lineage and lineage[-1].role == "assistant":
        last = lineage[-1]
    if last is None:
        return None, Total()
    runs = store.runs.of_nodes(node.id for node in (*answers, last))
    return facts(last.text, runs.get(last.id)), total(answers, runs)


def facts(text: str, run: Run | None) -> Facts:
    """The numbers of one answer; of words that no run wrote, only what they tell themselves."""
    told = Facts(words=len(text.split()), characters=len(text), grade=reading_grade(text))
    if run is None:
        return told
    return replace(
        told,
        finish=run.finish_reason,
        input_tokens=run.usage.input_tokens,
        output_tokens=run.usage.output_tokens,
        cached=share(run.usage.cached_tokens, run.usage.input_tokens),
        cost_nanodollars=run.cost_nanodollars,
        replayed=run.replayed_from is not None,
        first_token_ms=run.first_token_ms,
        duration_ms=run.duration_ms,
    )


def total(answers: Sequence[Node], runs: Mapping[str, Run]) -> Total:
    """The sums; None where nothing is known of any answer."""
    known = [runs[node.id] for node in answers if node.id in runs]
    return Total(
        answers=len(answers),
        input_tokens=_sum([run.usage.input_tokens for run in known]),
        output_tokens=_sum([run.usage.output_tokens for run in known]),
        cost_nanodollars=_sum([run.cost_nanodollars for run in known]),
        unknown_cost=sum(run.cost_nanodollars is None for run in known),
        duration_ms=_sum([run.duration_ms for run in known]),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def reading_grade(text: str) -> float | None:
    """The school grade that reads a text with ease, after Coleman and Liau; None where it does
    not apply: too few words, or not in the Latin alphabet.

    Their formula counts letters and sentences, no syllables, so that it needs no dictionary. A
    line is a sentence; code and addresses are left out.
    """
    prose = _CODE.sub(" ", text[:_MOST])
    words = _WORD.findall(prose)
    letters = sum(map(len, words))
    if len(words) < LEAST_WORDS or len(_LATIN.findall("".join(words))) < 0.9 * letters:
        return None
    sentences = sum(bool(_WORD.search(piece)) for piece in _SENTENCE.split(prose))
    per_word = 100 / len(words)
    grade = 0.0588 * letters * per_word - 0.296 * max(sentences, 1) * per_word - 15.8
    return max(0.0, round(grade, 1))


def differences(configs: Sequence[Config]) -> list[dict[str, Json]]:
    """Of each config the settings that not all have alike: ``model`` (with its provider),
    ``system``, ``policy``, ``keep_turns``, and each knob by its name. None is unset."""
    told = [_settings(config) for config in configs]
    names = dict.fromkeys(name for settings in told for name in settings)
    differ = [name for name in names if any(one.get(name) != told[0].get(name) for one in told[1:])]
    return [{name: one.get(name) for name in differ} for one in told]


def _settings(config: Config) -> dict[str, Json]:
    policy = POLICIES.get(config.policy)
    return {
        "model": [config.provider, config.model],
        "system": config.system.strip(),
        "policy": config.policy,
        "keep_turns": config.keep_turns if policy and policy.keeps else None,
        **config.sampling,
    }
