"""Threads of ``llm`` since 0.32: messages in a tree, each named by the hash of all up to it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.interchange import fields
from core.interchange.growing import Grain, Grown, grow, left_out
from core.interchange.streams import compact
from core.interchange.tables import Tables
from core.interchange.times import iso
from core.interchange.turns import Turns, title_of
from core.types import (
    Carried,
    CarriedBranch,
    Json,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    well_formed,
)

Row = dict[str, Json]
_ROLES: Mapping[str, Role] = {"assistant": "assistant", "system": "system", "tool": "tool"}


def threads(tables: Tables) -> Iterator[Carried]:
    """One conversation for every thread that was not forked, with all that were forked from it."""
    if "messages" not in tables.names:
        return
    there = {fields.name_of(row.get("id")) for row in tables.rows("threads")}
    met: set[str] = set()
    waiting: list[Row] = []
    for row in tables.rows("threads", order=("id",)):
        origin = fields.name_of(row.get("forked_from"))
        if origin in there and origin != row.get("id"):
            waiting.append(row)
        else:
            yield from _conversation(tables, _family(tables, row, met))
    for row in waiting:  # forked from one another in a circle
        if fields.name_of(row.get("id")) not in met:
            yield from _conversation(tables, _family(tables, row, met))


def _family(tables: Tables, first: Row, met: set[str]) -> list[Row]:
    """A thread and all that go back to it."""
    found = [first]
    met.add(fields.name_of(first.get("id")))
    for row in found:
        for forked in tables.rows("threads", order=("id",), forked_from=row.get("id")):
            key = fields.name_of(forked.get("id"))
            if key not in met:
                met.add(key)
                found.append(forked)
    return found


def _conversation(tables: Tables, family: list[Row]) -> Iterator[Carried]:
    reading = _Reading(tables)
    turns = [
        turn
        for row in family
        for turn in tables.rows("turns", order=("datetime_utc", "id"), thread_id=row.get("id"))
    ]
    turns.sort(key=lambda turn: (fields.words(turn, "datetime_utc"), fields.words(turn, "id")))
    for turn in turns:
        reading.turn(turn)
    for row in family:
        reading.up(row.get("tip_message_hash"), iso(row.get("datetime_utc")))
    if not reading.grains:
        return
    tip = fields.name_of(family[0].get("tip_message_hash"))
    grown = grow(_ordered(reading.grains), tip, "The thread")
    if not grown.nodes:
        return
    dates = [node.at for node in grown.nodes if node.at]
    yield Carried(
        key=fields.name_of(family[0].get("id")),
        title=well_formed(fields.words(family[0], "name")) or title_of(reading.grains.values()),
        nodes=grown.nodes,
        branches=_named(grown, family),
        at=iso(family[0].get("datetime_utc")) or min(dates, default=None),
        updated_at=max(dates, default=None),
        system=well_formed(reading.system),
        model=fields.words(turns[-1], "model") if turns else "",
        files=reading.turns.files,
        left_out=(*grown.left_out, *left_out(reading.turns.left)),
        repairs=grown.repairs,
    )


def _ordered(grains: Mapping[str, Grain]) -> Iterable[Grain]:
    """Siblings by their time: whoever was there first comes first."""
    return sorted(grains.values(), key=lambda grain: grain.at or "")


def _named(grown: Grown, family: Sequence[Row]) -> tuple[CarriedBranch, ...]:
    """The branches that end where a forked thread does, under its name."""
    names = {fields.name_of(row.get("tip_message_hash")): row.get("name") for row in family[1:]}
    taken = {branch.name for branch in grown.branches}
    found = []
    for branch in grown.branches:
        name = names.get(branch.tip)
        if isinstance(name, str) and name.strip() and name not in taken:
            taken.add(name)
            branch = replace(branch, name=well_formed(name))
        found.append(branch)
    return tuple(found)


@dataclass(slots=True)
class _Reading:
    """The messages of some threads by their hash. What one shares with another is read once."""

    tables: Tables
    turns: Turns = field(default_factory=Turns)
    grains: dict[str, Grain] = field(default_factory=dict)
    system: str = ""

    def turn(self, turn: Row) -> None:
        """The messages up from where a turn ended: it gives those their time that have none, and
        what it answered its model."""
        at = iso(turn.get("datetime_utc"))
        model = fields.words(turn, "resolved_model", "model")
        self.up(turn.get("tip_message_hash"), at, model, turn.get("parent_message_hash"))

    def up(self, tip: Json, at: str | None, model: str = "", until: Json = None) -> None:
        """The messages from one upward, to those that are known."""
        key = fields.name_of(tip)
        own = bool(model)
        while key and key not in self.grains:
            row = self.tables.row("messages", hash=key)
            if not row:
                return
            own = own and key != until
            parent = fields.name_of(row.get("parent_hash")) or None
            self.grains[key] = self._grain(row, key, parent, at, model if own else "")
            key = parent or ""

    def _grain(self, row: Row, key: str, parent: str | None, at: str | None, model: str) -> Grain:
        role = _ROLES.get(fields.words(row, "role"), "user")
        parts: list[Part] = []
        for part in self.tables.rows("parts", order=("position", "id"), message_hash=key):
            parts += _part(self.tables, part, self.turns)
        notes, self.turns.notes = self.turns.notes, []
        if role == "system" and parent is None:
            self.system = "".join(part.text for part in parts if isinstance(part, Text))
            return Grain(key=key, parent=None, role=role, kind="hidden")
        calls = any(isinstance(part, ToolCall) for part in parts)
        if calls and any(isinstance(part, Text) for part in parts):
            parts.append(Text(text="\n\n"))
        return Grain(
            key=key,
            parent=parent,
            role=role,
            parts=tuple(parts),
            kind="machinery" if role == "tool" or (role == "assistant" and calls) else "shown",
            at=at,
            model=model if role == "assistant" else "",
            marks={"note": "\n".join(notes)} if notes else {},
        )


def _part(tables: Tables, row: Row, turns: Turns) -> list[Part]:
    told = _object(row.get("payload"))
    name = fields.words(row, "tool_name") or fields.words(told, "name")
    call_id = fields.words(told, "tool_call_id")
    match fields.words(row, "type"):
        case "text":
            words = words_of(tables, row)
            return [Text(text=words)] if words else []
        case "reasoning":
            words = words_of(tables, row)
            return [Thinking(text=words)] if words else []
        case "tool_call":
            arguments = compact(told.get("arguments", {}))
            return [ToolCall(id=call_id, name=name, arguments=arguments)]
        case "tool_result":
            text = compact(told.get("output", ""))
            failed = bool(told.get("exception"))
            found: list[Part] = [ToolResult(call_id=call_id, name=name, text=text, is_error=failed)]
            for held in fields.objects(told, "attachments"):
                found += file(tables, held.get("id"), turns)
            return found
        case "attachment":
            return file(tables, fields.mapping(told, "attachment").get("id"), turns)
        case kind:
            return turns.unknown(kind)


# --- what both generations share -------------------------------------------------------------


def words_of(tables: Tables, part: Row) -> str:
    """The text of a part: as it is, or put together from fragments and what is between them."""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    told = _object(part.get("payload"))
    pieces = fields.objects(told, "text_ref")
    if not pieces:
        return fields.words(told, "text")
    return "".join(
        fields.words(piece, "literal")
        if "literal" in piece
        else fragment(tables, piece.get("fragment"))
        for piece in pieces
    )


def covered(tables: Tables, key: str, asked: Sequence[str]) -> bool:
    """Whether a thread has all that was asked in the rows of an older conversation."""
    at = fields.name_of(tables.row("threads", id=key).get("tip_message_hash"))
    said: list[str] = []
    met: set[str] = set()
    while at and at not in met:
        met.add(at)
        row = tables.row("messages", hash=at)
        if row.get("role") == "user":
            parts = tables.rows("parts", order=("position",), message_hash=at)
            said.append("".join(words_of(tables, part) for part in parts))
        at = fields.name_of(row.get("parent_hash"))
    there = set(said)
    return bool(said) and all(
        one in there or any(words.endswith(one) for words in said) for one in asked
    )


def file(tables: Tables, key: Json, turns: Turns) -> list[Part]:
    """An attachment: its bytes where they were kept, else a note of its name."""
    row = tables.row("attachments", id=key)
    content, kind = row.get("content"), fields.words(row, "type")
    name = fields.words(row, "path").replace("\\", "/").rpartition("/")[2]
    if isinstance(content, bytes) and content:
        return [turns.file(name, kind, content)]
    return turns.absent(name or fields.words(row, "url") or kind or fields.name_of(key))


def fragment(tables: Tables, key: Json) -> str:
    """The words of a fragment; nothing if it is gone."""
    return fields.words(tables.row("fragments", id=key), "content")


def _object(text: Json) -> Mapping[str, Json]:
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
