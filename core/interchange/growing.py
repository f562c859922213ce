"""From messages as another product keeps them to a tree as ours: whole, parents first.

What is broken is put right and told: ids that come twice, parents that are missing, circles.
What must not become a message is *hidden*: its children hang on its nearest kept ancestor. What
a model did on the way to an answer (tools, reasoning) is *machinery*: it becomes parts of the
answer that follows, on every branch below it, or an answer of its own where none follows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from core.types import (
    CarriedBranch,
    CarriedNode,
    LeftOut,
    MarkKind,
    Part,
    Parts,
    Role,
    Text,
    well_formed,
)

MAIN = "main"
_MOST_SHARED = 16 * 2**20
"""Characters of machinery that a conversation may hold once more, because several answers go back
to it; beyond that it stands as a message of its own above them."""
_AROUND = 100  # characters that a piece of machinery is stored with, whatever is in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Grain:
    """One message as it was found. ``order`` are its children's keys as the file lists them,
    where it does; ``why`` says of a hidden one what it is (``"custom instructions"``)."""

    key: str
    parent: str | None
    role: Role
    parts: Parts = ()
    kind: Literal["shown", "machinery", "hidden"] = "shown"
    at: str | None = None
    model: str = ""
    provider: str = ""
    marks: Mapping[MarkKind, str] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grown:
    """A tree that holds together; the first branch is the path that was open."""

    nodes: tuple[CarriedNode, ...]
    branches: tuple[CarriedBranch, ...]
    left_out: tuple[LeftOut, ...]
    repairs: tuple[str, ...]


def grow(grains: Iterable[Grain], current: str | None = None, named: str = "") -> Grown:
    """The tree of some messages. ``current`` is the key that the open path ends in: a message in
    the middle or one that is hidden will do, None takes the last child at every fork; ``named``
    says how the file calls such a key, and without it a missing one is no fault to tell."""
    repairs: list[str] = []
    by_key = _unique(grains, repairs)
    parents = _parents(by_key, repairs)
    children = _children(by_key, parents)
    nodes, standing = _kept(by_key, children)
    if named and nodes and current is not None and current not in by_key:
        repairs.append(f"{named} names a message that is not there; the newest path was opened")
    tip = standing.get(current or "") or _last_path(nodes)
    return Grown(
        nodes=tuple(nodes.values()),
        branches=tuple(_branches(nodes, tip)),
        left_out=_left_out(by_key.values()),
        repairs=tuple(repairs),
    )


def line(grains: Sequence[Grain]) -> Grown:
    """A conversation without branches: each message hangs on the one before it."""
    return grow(
        replace(grain, parent=grains[place - 1].key if place else None)
        for place, grain in enumerate(grains)
    )


RATINGS = ("ratings", "nobody rates messages here")
TAGS = ("tags", "sessions have no tags")


def left_out(counted: Mapping[tuple[str, str], int]) -> tuple[LeftOut, ...]:
    """Lines of a preview from ``(what, why)`` to how often."""
    return tuple(
        LeftOut(what=what, count=times, why=why) for (what, why), times in counted.items() if times
    )


def _unique(grains: Iterable[Grain], repairs: list[str]) -> dict[str, Grain]:
    found: dict[str, Grain] = {}
    taken: Counter[str] = Counter()
    same = 0
    patched = 0
    for came in grains:
        grain = _storable(came)
        patched += grain.parts != came.parts
        if grain.key not in found:
            found[grain.key] = grain
        elif found[grain.key] == grain:
            same += 1
        else:
            key = grain.key
            while key in found:
                taken[grain.key] += 1
                key = f"{grain.key}~{taken[grain.key] + 1}"
            found[key] = replace(grain, key=key)
    if patched:
        repairs.append(f"characters that are none were replaced in {_many(patched, 'message')}")
    if same:
        repairs.append(f"{_many(same, 'message')} came twice, word for word: kept once")
    if taken:
        repairs.append(
            f"{_many(taken.total(), 'message')} had the id of another: kept under a new one"
        )
    return found


def _storable(grain: Grain) -> Grain:
    """Ids and words as the database holds them: half characters are replaced."""
    parts = tuple(_whole(part) for part in grain.parts)
    parent = None if grain.parent is None else well_formed(grain.parent)
    key = well_formed(grain.key)
    if (key, parent, parts) == (grain.key, grain.parent, grain.parts):
        return grain
    return replace(grain, key=key, parent=parent, parts=parts)


def _whole(part: Part) -> Part:
    if type(part) is Text:  # nearly all there are
        said = well_formed(part.text)
        return part if said is part.text else replace(part, text=said)
    texts = {name: getattr(part, name) for name in part.__slots__ if name != "type"}
    whole = {name: well_formed(text) for name, text in texts.items() if isinstance(text, str)}
    return part if whole.items() <= texts.items() else replace(part, **whole)  # type: ignore[arg-type]


def _parents(by_key: Mapping[str, Grain], repairs: list[str]) -> dict[str, str | None]:
    """Every message's parent, where it is there and no circle leads back."""
    found = {key: grain.parent for key, grain in by_key.items()}
    orphans = [key for key, parent in found.items() if parent is not None and parent not in by_key]
    found.update(dict.fromkeys(orphans))
    settled: set[str] = set()
    circles = 0
    for start in found:
        path: list[str] = []
        on_path: set[str] = set()
        key: str | None = start
        while key is not None and key not in settled:
            if key in on_path:
                found[key] = None
                circles += 1
                break
            path.append(key)
            on_path.add(key)
            key = found[key]
        settled.update(path)
    if orphans:
        repairs.append(
            f"{_many(len(orphans), 'message')} hung on one that is not in the file:"
            " each begins a path of its own"
        )
    if circles:
        repairs.append(f"{_many(circles, 'circle')} of messages cut open")
    return found


def _children(
    by_key: Mapping[str, Grain], parents: Mapping[str, str | None]
) -> dict[str | None, list[str]]:
    """Parent to children: as the parent lists them, and those it does not list in file order."""
    found: dict[str | None, list[str]] = {}
    for key, parent in parents.items():
        found.setdefault(parent, []).append(key)
    for parent, keys in found.items():
        if parent is not None and len(keys) > 1 and (order := by_key[parent].order):
            places = {key: place for place, key in enumerate(order)}
            keys.sort(key=lambda key: places.get(key, len(places)))
    return found


@dataclass(frozen=True, slots=True)
class _Way:
    """How far down one has come: the kept node above, and the machinery that waits for an
    answer, the last of it and the way before that."""

    above: str | None
    last: Grain | None = None
    before: "_Way | None" = None
    weight: int = 0

    def waiting(self) -> Parts:
        """The parts of the machinery, oldest first."""
        grains: list[Grain] = []
        way: _Way | None = self
        while way is not None and way.last is not None:
            grains.append(way.last)
            way = way.before
        return tuple(part for grain in reversed(grains) for part in grain.parts)

    def marks(self) -> dict[MarkKind, str]:
        """The marks of the machinery; of two of a kind the earlier one's."""
        found: dict[MarkKind, str] = {}
        way: _Way | None = self
        while way is not None and way.last is not None:
            found |= way.last.marks
            way = way.before
        return found


def _kept(
    by_key: Mapping[str, Grain], children: Mapping[str | None, list[str]]
) -> tuple[dict[str, CarriedNode], dict[str, str]]:
    """The nodes that stay, and for every key the node that stands where it stood."""
    nodes: dict[str, CarriedNode] = {}
    standing: dict[str, str] = {}
    shared = 0
    stack = [(key, _Way(None)) for key in reversed(children.get(None, []))]
    while stack:
        key, way = stack.pop()
        grain = by_key[key]
        if grain.kind == "hidden":
            below = way
        elif grain.kind == "machinery":
            below = _Way(way.above, grain, way, way.weight + _weight(grain))
        else:
            below = _Way(_show(nodes, grain, way))
        ways = len(children.get(key, ()))
        if below.last is not None and ways != 1:
            shared += below.weight * ways
            if not ways or shared > _MOST_SHARED:
                # No answer followed, and nothing of it is lost; or too many did.
                below = _Way(_answer_of(nodes, below))
        stack += [(child, below) for child in reversed(children.get(key, []))]
        if below.above is not None:
            standing[key] = below.above
    return nodes, standing


def _weight(grain: Grain) -> int:
    texts = (getattr(part, name) for part in grain.parts for name in part.__slots__)
    return _AROUND + sum(len(text) for text in texts if isinstance(text, str))


def _show(nodes: dict[str, CarriedNode], grain: Grain, way: _Way) -> str:
    above, parts = way.above, grain.parts
    if way.last is not None:
        if grain.role == "assistant":
            parts = way.waiting() + parts
            if marks := way.marks():
                grain = replace(grain, marks=marks | dict(grain.marks))
        else:
            above = _answer_of(nodes, way)
    nodes[grain.key] = _node(grain, above, parts)
    return grain.key


def _answer_of(nodes: dict[str, CarriedNode], way: _Way) -> str:
    """An answer made of machinery alone; two paths that go on from it share it."""
    assert way.last is not None
    if way.last.key not in nodes:
        answer = replace(way.last, role="assistant", marks=way.marks())
        nodes[way.last.key] = _node(answer, way.above, way.waiting())
    return way.last.key


def _node(grain: Grain, above: str | None, parts: Parts) -> CarriedNode:
    return CarriedNode(
        key=grain.key,
        parent=above,
        role=grain.role,
        parts=parts,
        at=grain.at,
        model=grain.model,
        provider=grain.provider,
        marks=grain.marks,
    )


def _last_path(nodes: Mapping[str, CarriedNode]) -> str | None:
    """Down from the last root, always to the last child."""
    last: dict[str | None, str] = {node.parent: key for key, node in nodes.items()}
    tip = last.get(None)
    while tip is not None and tip in last:
        tip = last[tip]
    return tip


def _branches(nodes: Mapping[str, CarriedNode], tip: str | None) -> Iterable[CarriedBranch]:
    """A branch for the open path and one for every other leaf, in the order of the leaves."""
    if tip is None:
        return
    drawn: set[str] = set()

    def fork_of(leaf: str) -> str | None:
        key: str | None = leaf
        while key is not None and key not in drawn:
            drawn.add(key)
            key = nodes[key].parent
        return key

    yield CarriedBranch(name=MAIN, tip=tip, forked_from=fork_of(tip))
    inner = {node.parent for node in nodes.values()}
    number = 1
    for key in nodes:
        if key not in inner and key != tip:
            number += 1
            yield CarriedBranch(name=f"branch {number}", tip=key, forked_from=fork_of(key))


def _left_out(grains: Iterable[Grain]) -> tuple[LeftOut, ...]:
    return left_out(
        Counter(
            (grain.why or "hidden messages", "not part of the conversation as it was shown")
            for grain in grains
            if grain.kind == "hidden" and grain.parts
        )
    )


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
