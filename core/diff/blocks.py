"""Texts in paragraphs, tables and fenced code, and what became of each. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from core.diff.alike import matches
from core.diff.segments import Block, Hunk, Kind, Op, Segment
from core.diff.tables import DASHES, LINES, table
from core.diff.words import COUNTED, merged, words

_PAIRS = 2_500  # of blocks, weighed one by one
_RELATED = 0.2  # of their words that two tables, or two pieces of code, have in common at least
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")


def blocks(text: str) -> tuple[Block, ...]:
    """A text in pieces; joined they are the text."""
    lines = LINES.findall(text)
    found: list[Block] = []
    start = 0
    while start < len(lines):
        kind, end = _block_end(lines, start)
        while end < len(lines) and not lines[end].strip():
            end += 1
        found.append(Block(kind, "".join(lines[start:end])))
        start = end
    return tuple(found)


def _block_end(lines: Sequence[str], start: int) -> tuple[Kind, int]:
    if fence := _FENCE.match(lines[start]):
        return "code", _fence_end(lines, start, fence[1])
    if _is_table(lines, start):
        end = start + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        return "table", end
    end = start + 1
    while (
        end < len(lines)
        and (not lines[start].strip() or lines[end].strip())
        and not _FENCE.match(lines[end])
        and not _is_table(lines, end)
    ):
        if lines[end].strip():
            start = end  # blank lines at the beginning belong to what follows
        end += 1
    return "prose", end


def _fence_end(lines: Sequence[str], start: int, fence: str) -> int:
    for place in range(start + 1, len(lines)):
        line = lines[place].strip()
        if len(line) >= len(fence) and not line.strip(fence[0]):
            return place + 1
    return len(lines)


def _is_table(lines: Sequence[str], start: int) -> bool:
    return (
        "|" in lines[start]
        and start + 1 < len(lines)
        and "|" in lines[start + 1]
        and DASHES.fullmatch(lines[start + 1]) is not None
    )


def hunks(old: Sequence[Block], new: Sequence[Block]) -> tuple[Hunk, ...]:
    """What became of the blocks of one text in another."""
    return tuple(_joined(_hunks(old, new)))


def _hunks(old: Sequence[Block], new: Sequence[Block]) -> Iterator[Hunk]:
    found = matches(
        [(one.kind, one.text.strip()) for one in old], [(one.kind, one.text.strip()) for one in new]
    )
    i = j = 0
    for x, y, length in (*found, (len(old), len(new), 0)):
        yield from _region(_runs(old[i:x]), _runs(new[j:y]))
        for one, other in zip(old[x : x + length], new[y : y + length], strict=True):
            yield _pair(one, other)
        i, j = x + length, y + length


def _runs(found: Sequence[Block]) -> list[Block]:
    """Paragraphs that follow each other as one, in which words may have moved between them."""
    runs: list[Block] = []
    for prose, some in groupby(found, lambda one: one.kind == "prose"):
        these = list(some)
        runs += [Block("prose", "".join(one.text for one in these))] if prose else these
    return runs


def _region(old: Sequence[Block], new: Sequence[Block]) -> Iterator[Hunk]:
    """Blocks of which none stayed as it was: those of a kind that are most alike are compared."""
    i = j = 0
    for x, y in (*_partners(old, new), (len(old), len(new))):
        for one in old[i:x]:
            yield _lone(one, "removed")
        for one in new[j:y]:
            yield _lone(one, "added")
        if x < len(old) and y < len(new):
            yield _pair(old[x], new[y])
        i, j = x + 1, y + 1


def _partners(old: Sequence[Block], new: Sequence[Block]) -> list[tuple[int, int]]:
    if not old or not new:
        return []
    if len(old) == len(new) == 1 and old[0].kind == new[0].kind == "prose":
        return [(0, 0)]
    if len(old) * len(new) > _PAIRS:
        kinds = matches([one.kind for one in old], [one.kind for one in new])
        return [(i + n, j + n) for i, j, length in kinds for n in range(length)]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    said, other = [_said(one) for one in old], [_said(one) for one in new]
    weights = [[_weight(a, b) for b in other] for a in said]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            together = weights[i][j] + best[i + 1][j + 1] if weights[i][j] else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], together)
    found, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        if weights[i][j] and best[i][j] == weights[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _said(block: Block) -> tuple[Kind, frozenset[str]]:
    return block.kind, frozenset(COUNTED.findall(block.text))


def _weight(one: tuple[Kind, frozenset[str]], other: tuple[Kind, frozenset[str]]) -> float:
    if one[0] != other[0]:
        return 0.0
    total = len(one[1]) + len(other[1])
    alike = 2 * len(one[1] & other[1]) / total if total else 1.0
    return alike + 0.01 if one[0] == "prose" else alike if alike >= _RELATED else 0.0


def _pair(old: Block, new: Block) -> Hunk:
    if old.kind == "table":
        return table(old.text, new.text)
    if old.kind == "code":
        return Hunk("code", tuple(merged(_code(old.text, new.text))))
    return Hunk("prose", words(old.text, new.text))


def _lone(block: Block, op: Op) -> Hunk:
    segments = (Segment(op, block.text),)
    if block.kind != "table":
        return Hunk(block.kind, segments)
    return table(block.text, "") if op == "removed" else table("", block.text)


def _code(old: str, new: str) -> Iterator[Segment]:
    """By lines."""
    before, after = LINES.findall(old), LINES.findall(new)
    keys = [[line.rstrip("\n") for line in lines] for lines in (before, after)]
    i = j = 0
    for x, y, length in (*matches(*keys), (len(before), len(after), 0)):
        yield Segment("removed", "".join(before[i:x]))
        yield Segment("added", "".join(after[j:y]))
        for n in range(length):
            yield from words(before[x + n], after[y + n])
        i, j = x + length, y + length


def _joined(found: Iterable[Hunk]) -> Iterator[Hunk]:
    """Paragraphs that stayed as one; nothing empty."""
    held: list[str] = []
    for hunk in found:
        if hunk.kind == "prose" and hunk.same:
            held += [one.text for one in hunk.segments]
            continue
        if held:
            yield Hunk("prose", (Segment("same", "".join(held)),))
            held = []
        yield hunk
    if held:
        yield Hunk("prose", (Segment("same", "".join(held)),))
