"""OpenAssistant: trees of replies, a tree a line, or its messages one a line.

A tree is ``{message_tree_id, tree_state, prompt: {message_id, text, role, replies: […]}}``; flat
files have the same messages with ``parent_id``, in any order. ``rank`` 0 is the reply that people
found best: the open path follows it; their labels stay behind. Deleted messages are marked, not
removed, and files that were filtered by language have replies to messages that are gone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from core.errors import BadFile
from core.interchange import fields, outline, streams
from core.interchange.growing import RATINGS, Grain, grow, left_out
from core.interchange.times import iso
from core.types import Carried, Damaged, Json, Role, Source, Text

Message = Mapping[str, Json]
_ROLES: Mapping[str, Role] = {
    "prompter": "user",
    "user": "user",
    "assistant": "assistant",
    "system": "system",
}


class OpenAssistant:
    """Trees of prompts and ranked replies."""

    name = "oasst"
    label = "OpenAssistant"

    def recognise(self, source: Source) -> float:
        """Sure of messages that name their tree, or of a prompt with replies."""
        keys = outline.paths(source)
        if "prompt.message_id" in keys or {"message_tree_id", "prompt"} <= keys:
            return 0.97
        return 0.97 if {"message_tree_id", "message_id"} <= keys else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The trees: in their order, those of a flat file as they become whole."""
        if "prompt" in outline.paths(source):
            yield from streams.each(streams.values(source), _tree)
        else:
            yield from _flat(source)


def _tree(value: Json) -> Carried:
    prompt = fields.mapping(value, "prompt")
    if not prompt:
        raise ValueError("there is no prompt")
    messages: list[tuple[Message, str | None]] = []
    stack: list[tuple[Message, str | None]] = [(prompt, None)]
    while stack:
        message, above = stack.pop()
        messages.append((message, above))
        key = _key(message, above)
        replies = sorted(fields.objects(message, "replies"), key=_rank)
        stack += [(reply, key) for reply in reversed(replies)]
    return _carried(fields.words(value, "message_tree_id"), messages)


def _flat(source: Source) -> Iterator[Carried | Damaged]:
    """The file is read twice: first to count what belongs to each tree, so that a tree can be
    let go as soon as it is whole."""
    wanted: Counter[str] = Counter()
    with suppress(BadFile):  # it comes again below, after what can be read
        for _, value in streams.values(source):
            if _is_message(value):
                wanted[fields.words(value, "message_tree_id")] += 1
    held: dict[str, list[Message]] = {}
    weight = 0
    for place, value in streams.values(source):
        if isinstance(value, Damaged):
            yield value
        elif not _is_message(value):
            yield Damaged(place=place, why="there is no message with an id")
        else:
            tree = fields.words(value, "message_tree_id")
            held.setdefault(tree, []).append(value)
            weight += len(fields.words(value, "text"))
            if len(held[tree]) == wanted[tree]:
                whole = held.pop(tree)
                weight -= sum(len(fields.words(one, "text")) for one in whole)
                yield from streams.each(iter([(place, whole)]), _of_flat)
            elif weight > streams.MOST_OF_ONE:
                raise BadFile(
                    f"{place}: too many trees have begun and none of them is whole.",
                    hint="Sort the file by message_tree_id, then import it again.",
                )


def _is_message(value: Json) -> bool:
    return isinstance(value, Mapping) and bool(fields.words(value, "message_id"))


def _of_flat(value: Json) -> Carried:
    ordered = sorted(value, key=_rank)
    return _carried(
        fields.words(value[0], "message_tree_id"),
        [(one, fields.words(one, "parent_id") or None) for one in ordered],
    )


def _carried(tree: str, messages: Sequence[tuple[Message, str | None]]) -> Carried:
    """The conversation of some messages and their parents, siblings best first."""
    grains = [_grain(message, above) for message, above in messages]
    grown = grow(grains, _best(grains))
    root = next((one for one in grown.nodes if one.parent is None and one.role == "user"), None)
    return Carried(
        key=tree or (grains[0].key if grains else ""),
        title=root.text[:70] if root else "",
        nodes=grown.nodes,
        branches=grown.branches,
        left_out=grown.left_out
        + left_out({RATINGS: fields.filled((one for one, _ in messages), "labels", "emojis")}),
        repairs=grown.repairs,
    )


def _grain(message: Message, above: str | None) -> Grain:
    said = fields.words(message, "text")
    deleted = message.get("deleted") is True
    role = _ROLES.get(fields.words(message, "role"), "user")
    return Grain(
        key=_key(message, above),
        parent=above,
        role=role,
        parts=(Text(text=said),),
        kind="hidden" if deleted else "shown",
        at=iso(message.get("created_date")),
        model=fields.words(message, "model_name") if role == "assistant" else "",
        why="deleted messages" if deleted else "",
    )


def _key(message: Message, above: str | None) -> str:
    return (
        fields.words(message, "message_id")
        or streams.fingerprint(above, fields.words(message, "text"))[:24]
    )


def _rank(message: Message) -> float:
    """Best first, those without a rank last."""
    rank = message.get("rank")
    if isinstance(rank, bool) or not isinstance(rank, int | float):
        return float("inf")
    return float(max(-1e9, min(rank, 1e9)))


def _best(grains: Sequence[Grain]) -> str | None:
    """Where one ends who always takes the best reply; a deleted one only where there is no
    other, to go on below it."""
    keys = {grain.key for grain in grains}
    first: dict[str | None, str] = {}
    for grain in sorted(grains, key=lambda grain: grain.kind == "hidden"):
        first.setdefault(grain.parent if grain.parent in keys else None, grain.key)
    tip = first.get(None)
    seen: set[str] = set()
    while tip is not None and tip in first and tip not in seen:
        seen.add(tip)
        tip = first[tip]
    return tip


FORMAT = OpenAssistant()
