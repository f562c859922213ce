"""Fine-tuning files: a conversation a line, in the form of OpenAI, Anthropic or Gemini.

Also pairs, ``{"prompt", "completion"}``, and preferences, where the answer that was not preferred
becomes a branch of its own: ``{"input", "preferred_output", "non_preferred_output"}`` of OpenAI,
``{"prompt", "chosen", "rejected"}`` of others. Batches of requests have this form too. Content
may be missing, and a call at the end without its result is usual. There are no ids: what was
imported before is known by all its words.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from core.errors import UserError
from core.interchange import streams
from core.interchange.dialects import conversation, gathered, look
from core.interchange.glimpse import glimpse
from core.interchange.growing import Grain, grow
from core.interchange.turns import Turns
from core.types import BranchTaken, Carried, Damaged, Include, Json, Scope, Source, Text

_PREFERRED = (("preferred_output", "non_preferred_output"), ("chosen", "rejected"))


class FineTuning:
    """Examples for training; thousands in a file are usual."""

    name = "finetuning"
    label = "Fine-tuning JSONL"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "jsonl"
    media_type = "application/jsonl"
    options: frozenset[str] = frozenset()

    def recognise(self, source: Source) -> float:
        """Sure of lines that each are a conversation, a pair or a preference."""
        layout, found = look(source)
        if layout == "lines" and found:
            return 0.9
        seen = glimpse(source)
        lines = seen.in_one_line and seen.after in ("", "{")
        return 0.85 if lines and (_is_pair(seen.value) or _preference(seen.value)) else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The examples, line by line."""
        yield from streams.each(streams.json_lines(source), _example)

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The branch as one example, up to its last answer. Raises ``UserError`` without one."""
        if taken.body is None:
            raise UserError("This branch cannot be written as a request.", hint="Reload the page.")
        body = taken.body("compatible")
        messages = list(body["messages"])
        while messages and messages[-1]["role"] != "assistant":
            messages.pop()
        if not messages:
            raise UserError(
                "There is no answer to learn from.", hint="Choose a branch that has an answer."
            )
        kept = {"messages": messages} | ({"tools": body["tools"]} if "tools" in body else {})
        return (json.dumps(kept, ensure_ascii=False) + "\n").encode()


def _example(value: Json) -> Carried | None:
    if _preference(value):
        return _forked(value)
    if _is_pair(value):
        turns = Turns()
        turns.add("user", [Text(text=value["prompt"])] if value["prompt"] else [])
        turns.add("assistant", [Text(text=value["completion"])] if value["completion"] else [])
        return turns.carried(one_of_many=True)
    return conversation(value, one_of_many=True)


def _is_pair(value: Json) -> bool:
    names = ("prompt", "completion")
    return isinstance(value, Mapping) and all(isinstance(value.get(name), str) for name in names)


def _preference(value: Json) -> tuple[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    return next((pair for pair in _PREFERRED if pair[0] in value and pair[1] in value), None)


def _forked(value: Mapping[str, Json]) -> Carried | None:
    """What was asked, then both answers, the preferred one on the path that is open."""
    pair = _preference(value)
    assert pair is not None
    asked, shared = value.get("input", value.get("prompt")), Turns()
    if isinstance(asked, str):
        shared.add("user", [Text(text=asked)])
    elif asked is not None:
        shared = gathered(asked)
    answers = [_answer(value[name], len(shared.grains)) for name in pair]
    if asked is None:
        _share(shared, answers)
    if not answers[0].grains and not shared.grains:
        return None
    grains = _chained(shared.grains, None)
    fork = grains[-1].key if grains else None
    paths = [
        _chained(answer.grains, fork, name) for answer, name in zip(answers, pair, strict=True)
    ]
    tip = paths[0][-1].key if paths[0] else fork
    grown = grow([*grains, *paths[0], *paths[1]], tip)
    whole = shared.carried(one_of_many=True) or answers[0].carried(one_of_many=True)
    assert whole is not None
    return replace(
        whole,
        key=streams.fingerprint(whole.system, [(one.role, one.parts) for one in grown.nodes]),
        nodes=grown.nodes,
        branches=tuple(
            replace(branch, name="not preferred" if place else branch.name)
            for place, branch in enumerate(grown.branches)
        ),
        files={**shared.files, **answers[0].files, **answers[1].files},
    )


def _share(shared: Turns, answers: list[Turns]) -> None:
    """Move what both answers begin with to where it is said once."""
    shared.system = answers[0].system
    while all(answer.grains for answer in answers):
        first, second = (answer.grains[0] for answer in answers)
        if (first.role, first.parts) != (second.role, second.parts):
            return
        shared.grains.append(first)
        for answer in answers:
            del answer.grains[0]


def _answer(given: Json, after: int) -> Turns:
    """One of two answers: text, a message, or several; where all turns stand in it, the end."""
    if isinstance(given, str):
        turns = Turns()
        turns.add("assistant", [Text(text=given)] if given else [])
        return turns
    turns = gathered([given] if isinstance(given, Mapping) else given)
    if len(turns.grains) > after and after and turns.grains[0].role == "user":
        turns.grains = turns.grains[after:]
    return turns


def _chained(grains: list[Grain], parent: str | None, name: str = "") -> list[Grain]:
    found = []
    for place, grain in enumerate(grains):
        key = f"{name}{place}"
        found.append(replace(grain, key=key, parent=parent))
        parent = key
    return found


FORMAT = FineTuning()
