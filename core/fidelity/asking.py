"""Asking a model what a recap leaves out, and reading its answer, however it is wrapped."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from core.context import in_context, system_text
from core.fidelity.check import Finding, plain
from core.fidelity.claim import Kind
from core.fidelity.words import stems
from core.policies import NOTHING, Choices
from core.told import json_in
from core.tree import turns
from core.types import Call, Config, Json, Message, Node, Session, Text

_REQUEST = """\
Below is a recap of the conversation above. Find what was stated above, still holds, and is \
missing from the recap or wrong in it: numbers, names, dates, quoted wording and requirements. \
Leave out what was corrected later, examples that nobody took up, and small talk.

Answer with JSON alone, a list of objects with the keys "kind" (number, name, date, quote or \
requirement), "text" (the words as they were written above) and "turn" (the number of the user \
message, counted from 1, that they belong to). Answer [] when nothing is missing.

The recap:

"""


def fidelity_call(
    covered: Sequence[Node],
    recap: str,
    config: Config,
    session: Session,
    choices: Choices = NOTHING,
) -> Call:
    """The call that asks a model what a recap of ``covered`` leaves out."""
    asked = Message(role="user", parts=(Text(text=_REQUEST + recap),))
    return Call(
        model=config.model,
        system=system_text(config, session),
        messages=(*in_context(covered, replace(config, policy="full"), choices), asked),
        sampling=config.sampling,
    )


def answered(text: str, nodes: Sequence[Node], recap: str) -> tuple[Finding, ...] | None:
    """The findings of a model's answer, however it is wrapped; None when it cannot be read.

    What the messages do not say is not believed, nor what the recap says word for word.
    """
    rows = _rows(text)
    if rows is None:
        return None
    numbers = turns(nodes)
    findings: list[Finding] = []
    for row in rows:
        words = " ".join(str(row.get("text") or row.get("fact") or "").split()).strip("\"'“”")
        place = _place(words, row.get("turn"), nodes, numbers)
        if place is None or f" {plain(words)} " in f" {plain(recap)} ":
            continue
        kind = str(row.get("kind") or row.get("type") or "").casefold().strip().rstrip("s")
        finding = Finding(
            kind=cast("Kind", kind if kind in get_args(Kind) else "requirement"),
            text=words,
            node_id=nodes[place].id,
            turn=numbers[place],
            snippet=words,
            by_model=True,
        )
        if all(plain(words) != plain(other.text) for other in findings):
            findings.append(finding)
    return tuple(findings)


def _rows(text: str) -> list[dict[str, Any]] | None:
    """The first JSON in a text that is a list of findings, or an object that holds one."""
    value = json_in(text, lambda found: _list_in(found) is not None)
    rows = _list_in(value)
    if rows is None:
        return None
    return [row if isinstance(row, dict) else {"text": row} for row in rows]


def _list_in(value: Json) -> list[Any] | None:
    if isinstance(value, dict):
        inner = next((one for one in value.values() if isinstance(one, list)), None)
        value = inner if inner is not None else [value] if "text" in value else None
    good = isinstance(value, list) and all(isinstance(row, dict | str) for row in value)
    return value if good else None


def _place(words: str, turn: Any, nodes: Sequence[Node], numbers: Sequence[int]) -> int | None:
    """The message that says something: by its words, and nearest to the turn that was named."""
    if not re.search(r"\w", words):
        return None
    bare, wanted = plain(words), stems(words)
    scores = []
    for place, node in enumerate(nodes):
        exact = f" {bare} " in f" {plain(node.text)} "
        share = len(wanted & stems(node.text)) / len(wanted) if wanted else 0.0
        named = isinstance(turn, int) and numbers[place] == turn
        if exact or share >= 0.7:
            scores.append((exact, named, node.role == "user", share, place))
    return max(scores)[-1] if scores else None
