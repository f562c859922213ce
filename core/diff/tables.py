"""Two tables laid over each other: rows and cells. Pure."""

import re
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Levenshtein

from core.diff.alike import matches
from core.diff.segments import Hunk, Op, Row, Segment
from core.diff.words import merged, words

LINES = re.compile(r"[^\n]*\n|[^\n]+")
DASHES = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")
Columns = list[tuple[int | None, int | None]]


def table(old: str, new: str) -> Hunk:
    """Two tables laid over each other; one of them may be empty."""
    before, after = LINES.findall(old), LINES.findall(new)
    columns = _columns(_cells(before[0]) if before else [], _cells(after[0]) if after else [])
    segments: list[Segment] = []
    rows: list[Row] = []
    for one, other in _row_pairs(before, after):
        if one is None or other is None:
            op: Op = "added" if one is None else "removed"
            segments.append(Segment(op, one or other or ""))
        else:
            segments += words(one, other)
        shown = [line for line in (one, other) if line is not None and line.strip()]
        if shown and not all(DASHES.fullmatch(line) for line in shown):
            rows.append(_row(one, other, columns))
    return Hunk("table", tuple(merged(segments)), tuple(rows))


def _cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|")
    cells = [cell.strip() for cell in _BAR.split(bare)]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


def _columns(old: Sequence[str], new: Sequence[str]) -> Columns:
    """Which column became which, by their headings."""
    found: Columns = []
    for op in Levenshtein.opcodes(list(old), list(new)):
        gone, come = range(op.src_start, op.src_end), range(op.dest_start, op.dest_end)
        if op.tag == "delete":
            found += [(i, None) for i in gone]
        elif op.tag == "insert":
            found += [(None, j) for j in come]
        else:
            found += zip(gone, come, strict=True)
    return found


def _row_pairs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Head with head; then rows that stayed, and in between those with the same first cell."""
    heads = 2 if old and new else 0
    yield from zip(old[:heads], new[:heads], strict=True)
    before, after = [_cells(line) for line in old], [_cells(line) for line in new]
    pairs = [
        (heads + i + n, heads + j + n)
        for i, j, length in matches(
            [tuple(cells) for cells in before[heads:]], [tuple(cells) for cells in after[heads:]]
        )
        for n in range(length)
    ]
    i = j = heads
    for x, y in (*pairs, (len(old), len(new))):
        first = matches([cells[0] for cells in before[i:x]], [cells[0] for cells in after[j:y]])
        named = [(i + a + n, j + b + n) for a, b, length in first for n in range(length)]
        for p, q in (*named, (x, y)):
            yield from ((line, None) for line in old[i:p])
            yield from ((None, line) for line in new[j:q])
            if p < len(old) and q < len(new):
                yield old[p], new[q]
            i, j = p + 1, q + 1


def _row(old: str | None, new: str | None, columns: Columns) -> Row:
    before = None if old is None else _cells(old)
    after = None if new is None else _cells(new)
    rest = range(len(columns), max(len(before or ()), len(after or ())))
    cells = tuple(_cell(before, after, i, j) for i, j in (*columns, *((n, n) for n in rest)))
    if before is None or after is None:
        return Row("added" if before is None else "removed", cells)
    stayed = all(one.op == "same" for cell in cells for one in cell)
    return Row("same" if stayed else "changed", cells)


def _cell(
    old: Sequence[str] | None, new: Sequence[str] | None, i: int | None, j: int | None
) -> tuple[Segment, ...]:
    gone = old[i] if old is not None and i is not None and i < len(old) else ""
    come = new[j] if new is not None and j is not None and j < len(new) else ""
    return words(gone, come)
