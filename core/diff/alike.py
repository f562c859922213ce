"""What stayed, of two sequences: aligned by :mod:`rapidfuzz`, however long they are. Pure."""

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from itertools import compress

from rapidfuzz.distance import Levenshtein

Match = tuple[int, int, int]  # where it begins on either side, and its length

_AREA = 200_000_000  # pairs that are aligned at once: the time grows with them
_ANCHORS = (5, 2)  # in a row that are there once on either side
_SAMPLED = 4  # one in so many may begin an anchor, the same ones on either side
_LEAST_ANCHORED = 0.02  # of them; below it two long sequences are unlike


def matches(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Match]:
    """Stretches that stayed, in order. What is very long and unlike is told to have none."""
    numbers: dict[Hashable, int] = {}
    a = [numbers.setdefault(one, len(numbers)) for one in old]
    b = [numbers.setdefault(one, len(numbers)) for one in new]
    head = _common(a, b)
    tail = _common(a[:head:-1], b[:head:-1]) if head < min(len(a), len(b)) else 0
    found = [(0, 0, head)] if head else []
    found += _between(a[head : len(a) - tail], b[head : len(b) - tail], head, head, _ANCHORS)
    return [*found, (len(a) - tail, len(b) - tail, tail)] if tail else found


def _common(a: Sequence[int], b: Sequence[int]) -> int:
    """How long a beginning they share."""
    both = enumerate(zip(a, b, strict=False))
    return next((place for place, (x, y) in both if x != y), min(len(a), len(b)))


def _between(a: list[int], b: list[int], i: int, j: int, anchors: Sequence[int]) -> Iterator[Match]:
    """Stretches of two sequences that begin at ``i`` and ``j``."""
    if not a or not b:
        return
    if len(a) * len(b) <= _AREA:
        for op in Levenshtein.opcodes(a, b):
            if op.tag == "equal":
                yield i + op.src_start, j + op.dest_start, op.src_end - op.src_start
        return
    if not anchors:
        return
    p = q = 0
    for x, y, length in (*_anchors(a, b, anchors[0]), (len(a), len(b), 0)):
        yield from _between(a[p:x], b[q:y], i + p, j + q, anchors[1:])
        if length:
            yield i + x, j + y, length
        p, q = x + length, y + length


def _anchors(a: list[int], b: list[int], size: int) -> list[Match]:
    """Of what is there once on either side the longest part that is in the same order."""
    here, there = _once(a, size), _once(b, size)
    pairs = _rising([(i, there[gram]) for gram, i in here.items() if gram in there])
    if len(pairs) < _LEAST_ANCHORED * min(len(here), len(there)):
        return []
    found: list[Match] = []
    i = j = 0
    for x, y in pairs:
        if x >= i and y >= j:
            found.append((x, y, size))
            i, j = x + size, y + size
    return found


def _once(numbers: list[int], size: int) -> dict[tuple[int, ...], int]:
    """What is there once, with its place, in order."""
    wanted = [number % _SAMPLED == 0 for number in numbers]
    grams = list(compress(zip(*(numbers[n:] for n in range(size)), strict=False), wanted))
    places = list(compress(range(len(numbers) - size + 1), wanted))
    last = dict(zip(grams, places, strict=True))
    first = dict(zip(reversed(grams), reversed(places), strict=True))
    return {gram: place for gram, place in last.items() if first[gram] == place}


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part, of pairs in the order of their first, in which the second rises too."""
    ends: list[int] = []  # the smallest end of a part of each length
    last: list[int] = []  # which pair that is
    before: list[int] = []
    for place, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        before.append(last[at - 1] if at else -1)
        ends[at : at + 1], last[at : at + 1] = [j], [place]
    found = []
    place = last[-1] if last else -1
    while place >= 0:
        found.append(pairs[place])
        place = before[place]
    return found[::-1]
