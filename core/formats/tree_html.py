"""The tree as a page that is walked offline: a map of it, and the path through what is chosen.

There is no script. Each message is an element that a link of the map leads to; the style shows of
the message that is led to all that is before it, and what goes on after it. For that the tree is
nested as lanes: within a lane messages follow one another, and the lanes that leave a message
stand right after it, so that nesting grows with the logarithm of the tree and never with the
length of a conversation.
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from core.interchange.compared import extras
from core.interchange.graph import Graph, Row, excerpt, graph
from core.interchange.page import page, rendered, shown
from core.interchange.transcript import speaker
from core.types import AttachmentRef, Include, Node, Scope, TreeTaken

_STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")
_ROW, _LANE, _LEFT = 30, 14, 16  # pixels, of the map
_LIT = 300  # messages; in a map of more the path is not lit, as the style would grow too slow
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MOST_BYTES = 4_000_000  # of a picture that is put on the page


@dataclass(frozen=True, slots=True)
class _Book:
    """What is looked up while the page is written."""

    taken: TreeTaken
    graph: Graph
    include: Include
    numbers: Mapping[str, int]
    ends: Mapping[str, tuple[str, ...]]
    place: Mapping[str, tuple[int, int]]


class TreeHtml:
    """Every branch on one page, to be walked without the app and without a network."""

    name = "tree_html"
    label = "Walkable web page (HTML)"
    scopes: frozenset[Scope] = frozenset({"tree"})
    ending = "html"
    media_type = "text/html"
    options: frozenset[str] = frozenset({"thinking", "tools", "metadata"})

    def write(self, taken: TreeTaken, include: Include) -> bytes:
        """One page with all messages in it."""
        book = _book(taken, include)
        body = "\n".join(
            [
                '<input type="checkbox" id="map" class="sr-only" aria-label="Show the map">',
                *_head(taken),
                '<div class="walk">',
                *_map(book),
                '<main aria-label="Conversation">',
                *_lanes(book),
                *([] if taken.nodes else ['<p class="muted">Nothing was said yet.</p>']),
                "</main></div>",
            ]
        )
        return page(taken.session.title, body, _STYLE + _lights(book)).encode()


def _book(taken: TreeTaken, include: Include) -> _Book:
    found = graph(taken.nodes, taken.tip_id)
    ends: dict[str, tuple[str, ...]] = {}
    for branch in taken.branches:
        if branch.tip_id:
            ends[branch.tip_id] = (*ends.get(branch.tip_id, ()), branch.name)
    return _Book(
        taken=taken,
        graph=found,
        include=include,
        numbers={node.id: number for number, node in enumerate(taken.nodes, 1)},
        ends=ends,
        place={
            node.id: (place, len(among))
            for among in found.children.values()
            for place, node in enumerate(among)
        },
    )


def _head(taken: TreeTaken) -> Iterator[str]:
    messages, branches = len(taken.nodes), len(taken.branches)
    told = (
        f"{messages:,} message{'' if messages == 1 else 's'} · "
        f"{branches:,} branch{'' if branches == 1 else 'es'}"
    )
    title = shown(" ".join(taken.session.title.split()) or "Untitled")
    yield f'<header class="bar"><div><h1 dir="auto">{title}</h1><p class="muted small">{told}</p>'
    yield '</div><label for="map" class="toggle" aria-hidden="true">Map</label></header>'
    goals = (("Objective", taken.session.objective), ("Done when", taken.session.done_when))
    said = "".join(
        f'<p><b>{name}</b> <span dir="auto">{shown(text)}</span></p>'
        for name, text in goals
        if text.strip()
    )
    if said:
        yield f'<div class="goals">{said}</div>'


# --- the map ------------------------------------------------------------------------------------


def _map(book: _Book) -> Iterator[str]:
    rows = book.graph.rows
    width, height = _LEFT * 2 + (book.graph.lanes - 1) * _LANE, _ROW * len(rows)
    yield '<nav class="map" aria-label="Map of the tree"><div class="rows">'
    yield (
        f'<svg class="edges" width="{width}" height="{height}" aria-hidden="true"'
        f' viewBox="0 0 {width} {height}">{"".join(_edges(book.graph))}</svg>'
    )
    for row in rows:
        yield _row(book, row, width)
    yield "</div></nav>"


def _edges(found: Graph) -> Iterator[str]:
    for row in found.rows:
        x, y = _x(row.lane), _y(row.number)
        if row.reach > row.number:
            yield f'<path d="M{x} {y}V{_y(row.reach)}"/>'
        if row.above is not None and found.rows[row.above].lane != row.lane:
            left = _x(found.rows[row.above].lane)
            yield f'<path d="M{left} {y - _ROW}C{left} {y - 8} {left + 2} {y} {x} {y}"/>'


def _row(book: _Book, row: Row, width: int) -> str:
    node = row.node
    dot = f'<i style="left:{_x(row.lane) - 5}px"></i>'
    if node is None:
        return f'<span class="row start" style="padding-left:{width}px">{dot}The beginning</span>'
    number = book.numbers[node.id]
    marks = book.taken.marks.get(node.id, {})
    star = '<b class="star" title="Final">★</b> ' if "final" in marks else ""
    pills = "".join(
        f'<span class="pill">{shown(_short(name))}</span>' for name in book.ends.get(node.id, ())
    )
    kinds = f"row r{number} {node.role}{' on' if node.id in book.graph.path else ''}"
    who = shown(speaker(node, book.taken.models.get(node.id, "")))
    return (
        f'<a class="{kinds}" href="#n{number}" style="padding-left:{width}px">{dot}{star}'
        f'<span class="who">{who}</span> <span class="said" dir="auto">{shown(excerpt(node))}'
        f"</span>{pills}</a>"
    )


def _short(name: str, most: int = 28) -> str:
    line = " ".join(name.split())
    return f"{line[: most - 1]}…" if len(line) > most else line


def _x(lane: int) -> int:
    return _LEFT + lane * _LANE


def _y(number: int) -> int:
    return number * _ROW + _ROW // 2


def _lights(book: _Book) -> str:
    """The rules that light the rows of the path that is shown."""
    if len(book.taken.nodes) > _LIT:
        return ""
    lit = ",".join(
        f"body:has(#n{n}:target,#n{n} ~ :target,#n{n} ~ .lane :target,:target ~ #n{n}) .r{n}"
        for n in book.numbers.values()
    )
    chosen = ",".join(f"body:has(#n{n}:target) .r{n}" for n in book.numbers.values())
    if not lit:
        return ""
    return (
        f"{lit}{{--dot:var(--accent);--fill:var(--accent);color:var(--text)}}\n"
        f"{chosen}{{background:var(--tint)}}\n"
    )


# --- the conversation ---------------------------------------------------------------------------


def _lanes(book: _Book) -> Iterator[str]:
    """All lanes, the ones that leave a message right after it. No recursion: what is still to be
    written waits on a stack, the next on top."""
    waiting: list[Node | str] = [*reversed(_leaving(book, None, everyone=True))]
    while waiting:
        at = waiting.pop()
        if isinstance(at, str):
            yield at
            continue
        yield _message(book, at)
        main = book.graph.main.get(at.id)
        if main is not None:
            waiting.append(main)
        waiting += reversed(_leaving(book, at.id))


def _leaving(book: _Book, node_id: str | None, *, everyone: bool = False) -> list[Node | str]:
    main = book.graph.main.get(node_id)
    found: list[Node | str] = []
    for child in book.graph.children.get(node_id, ()):
        if everyone or child is not main:
            found += ['<div class="lane">', child, "</div>"]
    return found


def _message(book: _Book, node: Node) -> str:
    number, taken = book.numbers[node.id], book.taken
    on = " open" if node.id in book.graph.path else ""
    who = shown(speaker(node, taken.models.get(node.id, "")))
    told = "".join(
        f'<details class="fold"><summary>{shown(name)}</summary>'
        f'<pre class="plain" tabindex="0">{shown(text)}</pre></details>'
        for name, text in extras(node, book.include)
        if name != "Attached"
    )
    if node.role == "assistant":
        words = rendered(node.text) if node.text.strip() else '<p class="muted">(no words)</p>'
    else:
        words = f'<div class="plain" dir="auto">{shown(node.text)}</div>'
    return (
        f'<article id="n{number}" class="{node.role}{on}" tabindex="-1">'
        f'<p class="who">{who}{_about(book, node)}{_switch(book, node)}</p>'
        f"{told}{words}{_files(taken, node)}{_ways(book, node)}</article>"
    )


def _about(book: _Book, node: Node) -> str:
    """Its date and marks."""
    marks = book.taken.marks.get(node.id, {})
    said = ['<span class="star">★ final</span>'] if "final" in marks else []
    if label := marks.get("label"):
        said.append(f'<span class="pill">{shown(_short(label))}</span>')
    if book.include.metadata and node.created_at:
        said.append(f"<time>{shown(node.created_at[:16].replace('T', ' '))}</time>")
    said += [
        f'<span class="pill">{shown(_short(one))}</span>' for one in book.ends.get(node.id, ())
    ]
    return "".join(f" {one}" for one in said)


def _switch(book: _Book, node: Node) -> str:
    """The way to what stands in its place elsewhere."""
    place, count = book.place[node.id]
    if count < 2:
        return ""
    parent = node.parent_id if node.parent_id in book.numbers else None
    among = book.graph.children[parent]
    before = _step(book, among[place - 1], "‹", "Previous version") if place else ""
    after = _step(book, among[place + 1], "›", "Next version") if place + 1 < count else ""
    return f'<span class="switch">{before}<span>{place + 1} of {count}</span>{after}</span>'


def _step(book: _Book, node: Node, sign: str, label: str) -> str:
    return f'<a href="#n{book.numbers[node.id]}" aria-label="{label}">{sign}</a>'


def _ways(book: _Book, node: Node) -> str:
    """Where the tree forks: the beginnings of all that follows."""
    among = book.graph.children.get(node.id, ())
    if len(among) < 2:
        return ""
    links = "".join(
        f'<li><a href="#n{book.numbers[child.id]}"><span class="who">'
        f"{shown(speaker(child, book.taken.models.get(child.id, '')))}</span> "
        f'<span dir="auto">{shown(excerpt(child))}</span></a></li>'
        for child in among
    )
    return (
        f'<nav class="ways" aria-label="Ways on"><p>{len(among)} ways on from here</p>'
        f"<ul>{links}</ul></nav>"
    )


def _files(taken: TreeTaken, node: Node) -> str:
    """Its files: pictures as such, the others by name."""
    found = []
    for part in node.parts:
        if not isinstance(part, AttachmentRef):
            continue
        content = taken.files.get(part.sha256, b"") if part.media_type in _PICTURES else b""
        name = shown(part.name)
        if content and len(content) <= _MOST_BYTES:
            coded = b64encode(content).decode()
            found.append(f'<img src="data:{part.media_type};base64,{coded}" alt="{name}">')
        else:
            found.append(f'<span class="file">{name}</span>')
    return f'<p class="files">{"".join(found)}</p>' if found else ""


FORMAT = TreeHtml()
