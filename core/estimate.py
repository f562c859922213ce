"""How many tokens words come to where nobody has counted them: pure, and always marked ≈.

The estimate looks at kinds of characters, as every tokenizer treats them: a short word is one
token, a long one several, a Chinese character nearly one each, a sign rather less. How far a
model's own counts are from it is learned from the answers that the model gave.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.beginnings import Beginnings
from core.types import AttachmentRef, Node, Parts, Text, ToolCall, ToolResult

MESSAGE = 4.0
"""Tokens that a message takes besides its words."""
_PIECE = re.compile(
    r"([A-Za-z]+)|(\d+)|([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|([\U00010000-\U0010ffff])"
    r"|([^\W\d_]+)|([^\w\s]|_|\n+| {2,})"
)
_SLICES, _SLICE = 16, 8_000  # of a very long text, this much is looked at
_PRIOR = 200.0  # tokens of evidence that the estimate itself weighs against a model's counts
_LEAST, _MOST = 0.25, 4.0

Sums = tuple[float, int]
"""Of a beginning: its estimated tokens, and its files, which no estimate covers."""
_summed: Beginnings[tuple[Sums, ...]] = Beginnings()


def tokens_of(text: str) -> float:
    """The estimate for some words. Of a very long text only samples are looked at."""
    if len(text) > 2 * _SLICES * _SLICE:
        step = len(text) // _SLICES
        sample = "".join(text[start : start + _SLICE] for start in range(0, len(text), step))
        return tokens_of(sample) * len(text) / len(sample)
    return sum(_worth(match) for match in _PIECE.finditer(text))


def _worth(match: re.Match[str]) -> float:
    kind, size = match.lastindex, match.end() - match.start()
    if kind == 1:  # a Latin word
        return -(-size // 7)
    if kind == 2:  # digits
        return -(-size // 3)
    if kind == 3:  # Chinese, Japanese, Korean
        return 0.8
    if kind == 4:  # emoji, rare characters
        return 1.8
    return max(1.0, size / 3.5) if kind == 5 else 0.7  # another alphabet; a sign or some space


def tokens_in(parts: Parts) -> float:
    """The estimate for what is sent of a message's parts: files left out, thinking is not sent."""
    total = 0.0
    for part in parts:
        if isinstance(part, Text | ToolResult):
            total += tokens_of(part.text)
        elif isinstance(part, ToolCall):
            total += tokens_of(part.name) + tokens_of(part.arguments) + MESSAGE
    return total


def sums(lineage: Sequence[Node]) -> tuple[Sums, ...]:
    """The sums of every beginning of a lineage, the empty one first.

    Only what is new since the last look is estimated: a turn costs the same however long the
    conversation is.
    """
    known, found = _summed.longest(lineage, ((0.0, 0),))
    if known == len(lineage):
        return found
    grown = list(found)
    for node in lineage[known:]:
        tokens, files = grown[-1]
        more = tokens_in(node.parts) + tokens_of(node.sent_suffix) + MESSAGE
        grown.append((tokens + more, files + sum(isinstance(p, AttachmentRef) for p in node.parts)))
    made = tuple(grown)
    _summed.keep(lineage, made)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How a model's own counts compare with the estimate: times ``factor``, on average.

    ``answers`` says how many answers it was learned from; without any the estimate stands.
    """

    factor: float = 1.0
    answers: int = 0


def calibrated(pairs: Iterable[tuple[float, int]]) -> Calibration:
    """Learn from pairs of an estimate and the model's own count. A few words prove little, and
    a count far from the estimate is one of something else, such as thinking that is not shown."""
    known = [(mine, own) for mine, own in pairs if mine > 0 and _LEAST < own / mine < _MOST]
    estimated = sum(mine for mine, _ in known) + _PRIOR
    counted = sum(own for _, own in known) + _PRIOR
    return Calibration(factor=counted / estimated, answers=len(known))
