"""How long it takes to tell what differs between two answers of a megabyte, beside a second; and
of ten kilobytes beside the standard library's way."""

import re
import time
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from random import Random

from bench.table import Line, milliseconds, ratio, show, undisturbed
from bench.words import prose
from core.diff import compare, of_new

_LONG, _SHORT = 1_000_000, 10_000  # characters
_ROUNDS = 5
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


def paragraphs(seed: int, length: int) -> str:
    """Prose in paragraphs of a few sentences."""
    random = Random(seed)
    return re.sub(
        r"\. ", lambda _: ".\n\n" if random.random() < 0.25 else ". ", prose(seed, length)
    )


def rewritten(text: str, share: float) -> str:
    """The same with so many of its words changed, left out, or with another beside them."""
    random = Random(1)

    def change(found: re.Match[str]) -> str:
        word = found[0]
        if random.random() >= share:
            return word
        return random.choice(["", f"{word}ish", f"{word} anew"])

    return re.sub(r"\w+", change, text)


def cases(length: int) -> list[tuple[str, str, str]]:
    """Pairs of texts, from alike to unlike."""
    text = paragraphs(1, length)
    return [
        ("one word changed", text, text.replace("because", "since", 1)),
        ("a word in twenty changed", text, rewritten(text, 0.05)),
        ("a number in every sentence", text, re.sub(r"-(\d+)", r"-1\1", text)),
        ("a word in three changed", text, rewritten(text, 0.33)),
        ("nothing in common", text, paragraphs(7, length)),
    ]


def _timed(act: Callable[[str, str], object], old: str, new: str) -> list[float]:
    taken = []
    for number in range(_ROUNDS):
        fresh = f"{new} {number}"  # never one that is remembered
        began = time.perf_counter()
        act(old, fresh)
        taken.append(time.perf_counter() - began)
    return taken


def _standard(old: str, new: str) -> Sequence[object]:
    pair = _WORDS.findall(old), _WORDS.findall(new)
    return SequenceMatcher(None, *pair, autojunk=False).get_opcodes()


def run() -> None:
    """Measure and print."""
    long, short = [], []
    with undisturbed():
        for name, old, new in cases(_LONG):
            found = compare(old, new)
            assert of_new(one for hunk in found.hunks for one in hunk.segments) == new
            taken = _timed(compare, old, new)
            long.append(_line(name, taken, [1.0]))
        for name, old, new in cases(_SHORT):
            short.append(_line(name, _timed(compare, old, new), _timed(_standard, old, new)))
    show("Two answers of a megabyte", "a second", "this", long)
    show("Two answers of ten kilobytes", "difflib", "this", short)


def _line(what: str, measured: Sequence[float], base: Sequence[float]) -> Line:
    return Line(
        what=what,
        base=milliseconds(base),
        measured=milliseconds(measured),
        ratio=ratio(measured, base),
        target=1.0,
    )
