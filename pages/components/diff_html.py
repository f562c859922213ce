"""What differs between two texts as HTML: every word escaped. Knows no Streamlit."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from core.diff import Diff, Hunk, Row, Segment
from pages.components import words

MOST = 120_000
"""Characters of changes on the screen, until all are asked for."""
_FOLDS = 420  # characters that stayed; more of them are folded
_AROUND = 160  # characters shown beside a change
_OPENS = 20_000  # characters of what is folded; more is left out
_TAGS = {"added": "ins", "removed": "del"}


def inline(diff: Diff, *, fold: bool) -> str:
    """Both texts as one."""
    told = "".join(_told(hunk, fold) for hunk in _folded(diff.hunks, fold))
    return f'<div class="diff" role="group" aria-label="What differs">{told}</div>'


def beside(diff: Diff, old: str, new: str, *, fold: bool) -> str:
    """The old text on the left, the new one on the right; ``old`` and ``new`` name them."""
    heads = f'<p class="name">{escape(old)}</p><p class="name">{escape(new)}</p>'
    told = "".join(_sides(hunk, fold) for hunk in _folded(diff.hunks, fold))
    label = "What differs, side by side"
    return f'<div class="diff beside" role="group" aria-label="{label}">{heads}{told}</div>'


def legend(diff: Diff, old: str, new: str) -> str:
    """What the marks mean, and how much there is of each."""
    only = (("del", old, "\u2212", diff.removed), ("ins", new, "+", diff.added))
    marks = "".join(
        f"<span><{tag}>only in {escape(name)}</{tag}> <b>{sign}{count:,}</b></span>"
        for tag, name, sign, count in only
    )
    same = words.percent(diff.share)
    return f'<p class="diff-legend">{marks}<span>{same} of the words the same</span></p>'


def counts(diff: Diff) -> str:
    """The size of a change in plain words."""
    same = words.percent(diff.share)
    return f"+{diff.added:,} \u2212{diff.removed:,} words, {same} the same"


def reading(text: str) -> str:
    """A text alone, to be read."""
    return f'<div class="reading" dir="auto">{escape(text[:MOST])}</div>'


def shortened(diff: Diff, most: int = MOST) -> tuple[Diff, bool]:
    """Its beginning, with so many characters of changes; and whether something is left out."""
    kept: list[Hunk] = []
    for hunk in diff.hunks:
        segments: list[Segment] = []
        for one in hunk.segments:
            size = len(one.text) if one.op != "same" else min(len(one.text), _FOLDS)
            if size > most:
                text = one.text[:most] if one.op != "same" else ""
                segments.append(Segment(one.op, text))
                rows = hunk.rows[: max(1, len(segments) // 2)]
                kept.append(Hunk(hunk.kind, tuple(segments), rows))
                return Diff(tuple(kept), diff.same, diff.added, diff.removed), True
            most -= size
            segments.append(one)
        kept.append(hunk)
    return diff, False


# --- what stayed ---------------------------------------------------------------------------------


def _folded(hunks: Sequence[Hunk], fold: bool) -> Iterator[Hunk | str]:
    """The hunks; where nothing changed in several in a row, and they are long, one fold."""
    for same, some in groupby(hunks, lambda hunk: hunk.same):
        these = list(some)
        text = "".join(one.text for hunk in these for one in hunk.segments)
        if same and fold and len(text) > _FOLDS:
            yield _fold(text.strip("\n"))
        else:
            yield from these


def _fold(text: str) -> str:
    said = words.counted(len(text.split()), "word")
    shown = f"{text[:_OPENS]}\n…" if len(text) > _OPENS else text
    return (
        f'<details class="fold"><summary>{said} the same</summary>'
        f'<div class="text">{escape(shown)}</div></details>'
    )


def _stayed(text: str, fold: bool, *, first: bool, last: bool) -> str:
    """Words that stayed within a paragraph; the middle of many is folded."""
    if not fold or len(text) <= _FOLDS:
        return escape(text)
    head = "" if first else _cut(text[:_AROUND])
    tail = "" if last else _cut(text[-_AROUND:][::-1])[::-1]
    middle = text[len(head) : len(text) - len(tail)]
    return escape(head) + _fold(middle.strip("\n")) + escape(tail)


def _cut(text: str) -> str:
    """Its beginning, up to a line's end or a space."""
    line = text.find("\n")
    return text[: line + 1] if line >= 0 else text[: text.rfind(" ") + 1] or text


# --- one text ------------------------------------------------------------------------------------


def _told(hunk: Hunk | str, fold: bool) -> str:
    if isinstance(hunk, str):
        return hunk
    if hunk.kind == "table":
        return _table(hunk.rows)
    if hunk.kind == "code":
        return f'<pre class="code">{"".join(_lines(hunk.segments))}</pre>'
    last = len(hunk.segments) - 1
    said = "".join(
        _stayed(one.text, fold, first=n == 0, last=n == last) if one.op == "same" else _mark(one)
        for n, one in enumerate(hunk.segments)
    )
    return f'<div class="text" dir="auto">{said.rstrip(chr(10))}</div>'


def _mark(one: Segment) -> str:
    """A change; line breaks alone would not be seen."""
    if one.op == "same":
        return escape(one.text)
    tag = _TAGS[one.op]
    text = one.text.replace("\n", "¶\n") if not one.text.strip() else one.text
    return f"<{tag}>{escape(text)}</{tag}>"


def _lines(segments: Iterable[Segment]) -> Iterator[str]:
    """Code line by line, with a sign before what came or went."""
    for one in segments:
        if not one.text.strip("\n"):
            continue
        sign = {"same": " ", "added": "+", "removed": "\u2212"}[one.op]
        for line in one.text.rstrip("\n").split("\n"):
            tag = _TAGS.get(one.op, "span")
            gutter = f'<span class="sign" aria-hidden="true">{sign}</span>'
            yield f'<{tag} class="line">{gutter}{escape(line)}\n</{tag}>'


def _table(rows: Sequence[Row]) -> str:
    told = []
    for place, row in enumerate(rows):
        cell = "th" if place == 0 else "td"
        cells = "".join(f"<{cell}>{''.join(map(_mark, one))}</{cell}>" for one in row.cells)
        told.append(f'<tr class="{row.op}">{cells}</tr>')
    return f'<div class="wide"><table>{"".join(told)}</table></div>'


# --- two texts -----------------------------------------------------------------------------------


def _sides(hunk: Hunk | str, fold: bool) -> str:
    if isinstance(hunk, str):
        return hunk
    if hunk.kind == "table":
        left = _table([_one_side(row, "added") for row in hunk.rows if row.op != "added"])
        right = _table([_one_side(row, "removed") for row in hunk.rows if row.op != "removed"])
        return _two(left, right, same=hunk.same)
    if hunk.kind == "code":
        left = "".join(_lines(one for one in hunk.segments if one.op != "added"))
        right = "".join(_lines(one for one in hunk.segments if one.op != "removed"))
        return _two(*(f'<pre class="code">{side}</pre>' for side in (left, right)), same=hunk.same)
    return "".join(_prose_sides(hunk.segments, fold))


def _one_side(row: Row, without: str) -> Row:
    return Row(row.op, tuple(tuple(one for one in cell if one.op != without) for cell in row.cells))


def _prose_sides(segments: Sequence[Segment], fold: bool) -> Iterator[str]:
    """Paragraphs beside each other: they begin where a line ended on both sides."""
    for stayed, rows in groupby(_line_pairs(segments), lambda row: all(map(_same, row))):
        these = list(rows)
        text = "".join(one.text for row in these for one in row)
        if stayed and fold and len(text) > _FOLDS:
            yield _fold(text.strip("\n"))
            continue
        for row in these:
            left = "".join(_mark(one) for one in row if one.op != "added").rstrip("\n")
            right = "".join(_mark(one) for one in row if one.op != "removed").rstrip("\n")
            if left or right:
                yield _two(
                    *(f'<div class="text" dir="auto">{t}</div>' for t in (left, right)), same=stayed
                )


def _same(one: Segment) -> bool:
    return one.op == "same"


def _line_pairs(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    row: list[Segment] = []
    for one in segments:
        if one.op != "same":
            row.append(one)
            continue
        *lines, rest = one.text.split("\n")
        for line in lines:
            yield [*row, Segment("same", f"{line}\n")]
            row = []
        row += [Segment("same", rest)] if rest else []
    if row:
        yield row


def _two(left: str, right: str, *, same: bool) -> str:
    kind = " both" if same else ""
    return f'<div class="side old{kind}">{left}</div><div class="side new{kind}">{right}</div>'
