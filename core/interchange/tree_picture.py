"""The picture of a tree as SVG: dots in lanes, and beside each what was said. No script, no font
and no address in it; every word is escaped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.interchange.graph import Graph, Row, excerpt, graph
from core.interchange.page import shown
from core.interchange.transcript import SPEAKERS
from core.types.taken import TreeTaken

_ROW, _LANE, _LEFT, _TOP, _FOOT = 30, 18, 28, 104, 44
_WIDTH, _WORDS = 1040, 112
_NAME = 30  # characters of a branch's name
_SANS = "Inter, 'Noto Sans', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


@dataclass(frozen=True, slots=True)
class Colours:
    """What the picture is drawn with."""

    paper: str
    text: str
    muted: str
    line: str
    accent: str
    tint: str


LIGHT = Colours("#ffffff", "#1b1d24", "#676b78", "#c9ccd6", "#4f46e5", "#eeedfc")
DARK = Colours("#0f1116", "#e8eaf0", "#9a9eab", "#3a3f4c", "#9a9bfa", "#1f2036")


def drawing(taken: TreeTaken, *, fold: bool = False, colours: Colours | None = None) -> str:
    """The tree as an SVG document. With ``colours`` these are used everywhere; without, a reader's
    light or dark scheme decides."""
    found = graph(taken.nodes, taken.tip_id, fold=fold)
    height = _TOP + _ROW * max(1, len(found.rows)) + _FOOT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}"'
        f' viewBox="0 0 {_WIDTH} {height}" role="img" font-family="{_SANS}">',
        f"<title>{shown(_line(taken.session.title))}</title>",
        f"<style>{_style(colours)}</style>",
        f'<rect class="paper" width="{_WIDTH}" height="{height}"/>',
        *_head(taken),
        *_edges(found),
        *_rows(taken, found),
        *_foot(found, height),
        "</svg>\n",
    ]
    return "\n".join(lines)


def _style(colours: Colours | None) -> str:
    if colours is not None:
        return _rules(colours)
    return f"{_rules(LIGHT)}@media (prefers-color-scheme: dark) {{{_rules(DARK)}}}"


def _rules(c: Colours) -> str:
    return (
        f".paper{{fill:{c.paper}}}.text{{fill:{c.text}}}.muted{{fill:{c.muted}}}"
        f".own{{fill:{c.accent}}}.tint{{fill:{c.tint}}}"
        f".edge{{fill:none;stroke:{c.line};stroke-width:2}}"
        f".edge-on{{fill:none;stroke:{c.accent};stroke-width:2}}"
        f".dot{{fill:{c.paper};stroke:{c.muted};stroke-width:2}}"
        f".dot-on{{fill:{c.accent};stroke:{c.accent};stroke-width:2}}"
        f".dot-you{{fill:{c.paper};stroke:{c.accent};stroke-width:2}}"
        f".rule{{stroke:{c.line};stroke-width:1}}"
    )


def _head(taken: TreeTaken) -> Iterator[str]:
    messages, branches = len(taken.nodes), len(taken.branches)
    told = f"{_counted(messages, 'message')} · {_counted(branches, 'branch', 'branches')}"
    title = _short(_line(taken.session.title) or "Untitled", 68)
    x = _LEFT - 6
    yield f'<text class="text" x="{x}" y="46" font-size="23" font-weight="700">{title}</text>'
    yield f'<text class="muted" x="{x}" y="70" font-size="13">{told}</text>'
    yield f'<line class="rule" x1="{_LEFT - 6}" x2="{_WIDTH - 22}" y1="86" y2="86"/>'


def _foot(found: Graph, height: int) -> Iterator[str]:
    hidden = sum(row.folded for row in found.rows)
    if not found.rows:
        yield _text(_LEFT, _TOP + 14, "muted", "Nothing was said yet.", 14)
    if hidden:
        told = f"{_counted(hidden, 'message')} on straight stretches are not drawn."
        yield f'<text class="muted" x="{_LEFT - 6}" y="{height - 18}" font-size="12">{told}</text>'


def _edges(found: Graph) -> list[str]:
    """The open path last: it is drawn above the others."""
    return sorted(_all_edges(found), key=lambda edge: 'class="edge-on"' in edge)


def _all_edges(found: Graph) -> Iterator[str]:
    for row in found.rows:
        on = _on(found, row)
        if row.reach > row.number:
            yield _line_down(found, row)
        if row.above is None or found.rows[row.above].lane == row.lane:
            continue
        above = found.rows[row.above]
        x, to, y = _x(above.lane), _x(row.lane), _y(row.number)
        kind = "edge-on" if on else "edge"
        yield f'<path class="{kind}" d="M{x} {y - _ROW}C{x} {y - 8} {x + 2} {y} {to} {y}"/>'


def _line_down(found: Graph, row: Row) -> str:
    """Down to the last row that hangs on this one's lane."""
    x = _x(row.lane)
    kind = "edge-on" if row.lane == 0 and found.path and _goes_on(found, row) else "edge"
    return f'<path class="{kind}" d="M{x} {_y(row.number)}V{_y(row.reach)}"/>'


def _goes_on(found: Graph, row: Row) -> bool:
    """Whether the open path goes on below."""
    reached = found.rows[row.reach]
    return _on(found, row) and reached.lane == 0 and _on(found, reached)


def _on(found: Graph, row: Row) -> bool:
    if row.node is None:
        return row.lane == 0 and bool(found.path)
    return row.node.id in found.path


def _rows(taken: TreeTaken, found: Graph) -> Iterator[str]:
    ends: dict[str, list[str]] = {}
    for branch in taken.branches:
        if branch.tip_id:
            ends.setdefault(branch.tip_id, []).append(_short(_line(branch.name), _NAME))
    words = _x(found.lanes - 1) + 20
    for row in found.rows:
        x, y = _x(row.lane), _y(row.number)
        if row.folded:
            yield f'<path class="edge" d="M{x} {y - 8}V{y + 8}" stroke-dasharray="2 3"/>'
            yield _text(words, y, "muted", f"{_counted(row.folded, 'message')} in a row", 13)
        elif row.node is None:
            yield f'<circle class="dot" cx="{x}" cy="{y}" r="3.5"/>'
            yield _text(words, y, "muted", "The beginning", 13)
        else:
            yield from _message(taken, found, row, ends, words)


def _message(
    taken: TreeTaken, found: Graph, row: Row, ends: Mapping[str, list[str]], words: int
) -> Iterator[str]:
    node = row.node
    assert node is not None
    x, y, on = _x(row.lane), _y(row.number), node.id in found.path
    kind = "dot-on" if on else "dot"
    if node.role == "user":
        yield f'<rect class="{kind}" x="{x - 5}" y="{y - 5}" width="10" height="10" rx="2.5"/>'
    else:
        yield f'<circle class="{kind}" cx="{x}" cy="{y}" r="5"/>'
    marks = taken.marks.get(node.id, {})
    star = "★ " if "final" in marks or "star" in marks else ""
    who = taken.models.get(node.id) if node.role == "assistant" else None
    speaker = _short(who or SPEAKERS[node.role], 26)
    names = ends.get(node.id, ())
    room = _WORDS - 2 * row.lane - sum(len(name) + 5 for name in names) - len(speaker)
    said = shown(excerpt(node, max(24, room)))
    pills = "".join(
        f'<tspan class="own" font-weight="600" dx="10">⎇ {name}</tspan>' for name in names
    )
    yield (
        f'<text x="{words}" y="{y + 4.5}" font-size="13.5" xml:space="preserve">'
        f'<tspan class="{"own" if star else "muted"}" font-size="12.5">{star}{speaker}</tspan>'
        f'<tspan class="{"text" if on else "muted"}" dx="8">{said}</tspan>{pills}</text>'
    )


def _text(x: float, y: float, kind: str, words: str, size: float) -> str:
    return (
        f'<text class="{kind}" x="{x}" y="{y + 4.5}" font-size="{size}"'
        f' font-style="italic">{words}</text>'
    )


def _x(lane: int) -> int:
    return _LEFT + lane * _LANE


def _y(number: int) -> int:
    return _TOP + number * _ROW + _ROW // 2


def _line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str, most: int) -> str:
    return shown(f"{text[: most - 1]}…" if len(text) > most else text)


def _counted(count: int, noun: str, several: str = "") -> str:
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"
