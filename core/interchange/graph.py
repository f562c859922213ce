"""A tree of messages in lanes, as the page draws it: pure.

The open path is lane 0 and nothing else is. At a fork the side subtrees come first, one lane
further right, and the main child goes on in its parent's lane: the one on the open path, elsewhere
the heaviest. So n messages never need more than 2 + log2(n) lanes, and no line crosses another.
Nothing recurses: a conversation may be as deep as it likes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.types.kept import Node

_SHORTEST_FOLD = 4  # messages; fewer are not worth hiding
_MARKS = re.compile(
    r"^\s{0,3}(?:#{1,6}|>)\s+|\*\*|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)|~~|^```\w*$", re.MULTILINE
)
_SIDE = 60  # characters of what is told of a message


@dataclass(slots=True, kw_only=True)
class Row:
    """One line of the picture. ``node`` is None for the point above several first messages, and
    for ``folded`` messages; ``above`` is the row of its parent; ``reach`` the last row that its
    own lane's line goes down to."""

    number: int
    node: Node | None
    lane: int
    above: int | None
    reach: int
    folded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The rows from top to bottom; ``path`` are the ids on the open path."""

    rows: tuple[Row, ...]
    lanes: int
    path: frozenset[str]
    children: Mapping[str | None, tuple[Node, ...]] = field(default_factory=dict)
    main: Mapping[str | None, Node] = field(default_factory=dict)


@dataclass(slots=True)
class _Tree:
    """A tree while it is laid out."""

    nodes: Sequence[Node]
    children: dict[str | None, list[Node]] = field(default_factory=dict)
    size: dict[str | None, int] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    main: dict[str | None, Node] = field(default_factory=dict)


def graph(nodes: Sequence[Node], tip_id: str | None, *, fold: bool = False) -> Graph:
    """The tree in lanes; ``nodes`` come parents first. ``fold`` puts stretches without a fork,
    beside the ends that tell where they come from and lead to, into one row each."""
    tree = _grown(nodes, tip_id)
    rows: list[Row] = []
    stack: list[tuple[Node, int, int | None]] = []
    roots = tree.children.get(None, [])
    if len(roots) > 1:
        rows.append(Row(number=0, node=None, lane=0, above=None, reach=0))
        stack += _below(tree, None, 0, 0)
    elif roots:
        stack.append((roots[0], 0, None))
    while stack:
        node, lane, above = stack.pop()
        row = _put(rows, node, lane, above)
        if fold:
            node, row = _folded(tree, rows, node, row)
        stack += _below(tree, node.id, lane, row.number)
    return Graph(
        rows=tuple(rows),
        lanes=1 + max((row.lane for row in rows), default=0),
        path=frozenset(tree.path),
        children={key: tuple(found) for key, found in tree.children.items()},
        main=tree.main,
    )


def _grown(nodes: Sequence[Node], tip_id: str | None) -> _Tree:
    tree, known = _Tree(nodes), {node.id: node for node in nodes}
    for node in nodes:
        parent = node.parent_id if node.parent_id in known else None
        tree.children.setdefault(parent, []).append(node)
    for node in reversed(nodes):
        parent = node.parent_id if node.parent_id in known else None
        own = tree.size.get(node.id, 0) + 1
        tree.size[node.id] = own
        tree.size[parent] = tree.size.get(parent, 0) + own
    at = known.get(tip_id) if tip_id else None
    while at is not None:
        tree.path.append(at.id)
        at = known.get(at.parent_id) if at.parent_id else None
    open_path = set(tree.path)
    for parent, found in tree.children.items():
        on_path = [one for one in found if one.id in open_path]
        if on_path:
            tree.main[parent] = on_path[0]
        elif parent != tip_id or tip_id is None:
            tree.main[parent] = max(reversed(found), key=lambda one: tree.size[one.id])
    return tree


def _below(
    tree: _Tree, parent: str | None, lane: int, row: int
) -> Iterator[tuple[Node, int, int | None]]:
    """What comes under a message, the last to be drawn first."""
    main = tree.main.get(parent)
    if main is not None:
        yield main, lane, row
    for child in reversed(tree.children.get(parent, [])):
        if child is not main:
            yield child, lane + 1, row


def _put(rows: list[Row], node: Node | None, lane: int, above: int | None, folded: int = 0) -> Row:
    row = Row(number=len(rows), node=node, lane=lane, above=above, reach=len(rows), folded=folded)
    rows.append(row)
    if above is not None:
        reach = row.number if rows[above].lane == lane else row.number - 1
        rows[above].reach = max(rows[above].reach, reach)
    return row


def _folded(tree: _Tree, rows: list[Row], node: Node, row: Row) -> tuple[Node, Row]:
    """Go down a stretch without a fork, and stand for it with one row."""
    run: list[Node] = []
    at = node
    while len(tree.children.get(at.id, [])) == 1 and tree.main.get(at.id) is not None:
        at = tree.children[at.id][0]
        run.append(at)
    hidden = run[:-1]
    if len(hidden) < _SHORTEST_FOLD:
        return node, row
    return hidden[-1], _put(rows, None, row.lane, row.number, folded=len(hidden))


def excerpt(node: Node, most: int = _SIDE) -> str:
    """The beginning of a message in one line; of one without words, what it has."""
    words = " ".join(_MARKS.sub("", node.text[: 8 * most]).split())
    if not words:
        kinds = {part.type for part in node.parts}
        for kind, said in (
            ("attachment", "(a file)"),
            ("tool_call", "(called a tool)"),
            ("tool_result", "(a tool's result)"),
            ("thinking", "(thinking)"),
        ):
            if kind in kinds:
                return said
        return "(no words)"
    return f"{words[: most - 1]}…" if len(words) > most else words
