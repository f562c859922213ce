"""LibreChat: one conversation a file, its messages nested in each other or in a flat list.

``{conversationId, endpoint, title, options, messages | messagesTree}``. Who spoke tells
``isCreatedByUser``, not ``sender``, which is a label. The system prompt is in
``options.promptPrefix``. No field says which path was open: LibreChat shows the last sibling at
every fork. Messages may lack a date, and ``exportAt`` is a time without a day.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from core.interchange import fields, outline, streams
from core.interchange.attached import Attached, joined
from core.interchange.growing import RATINGS, TAGS, Grain, grow, left_out, line
from core.interchange.times import iso
from core.types import (
    Carried,
    Damaged,
    Json,
    LeftOut,
    MarkKind,
    Parts,
    Source,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    text_of,
)

Message = Mapping[str, Json]
_NOBODY = ("", "00000000-0000-0000-0000-000000000000")
_OLD_THINKING = re.compile(r"\A:::thinking\n(.*?)\n?:::\n*", re.DOTALL)


class LibreChat:
    """Conversations, one or several in a file."""

    name = "librechat"
    label = "LibreChat"

    def recognise(self, source: Source) -> float:
        """Sure of messages with LibreChat's ids, beside the id of their conversation."""
        keys = outline.paths(source)
        if "conversationId" not in keys or "mapping" in keys:
            return 0.0
        if keys & {"messagesTree", "exportAt", "recursive", "messages.messageId"}:
            return 0.97
        return 0.7 if "messages" in keys else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversations, in their order."""
        yield from streams.each(streams.values(source), _conversation)


def _conversation(value: Json) -> Carried:
    if not isinstance(value, Mapping) or not value.keys() & {"messages", "messagesTree"}:
        raise ValueError("there is no conversation with messages in it")
    top = fields.several(value, "messagesTree") or fields.several(value, "messages")
    if top and not any(isinstance(one, Mapping) for one in top):
        raise ValueError("none of its messages can be read")
    options = fields.mapping(value, "options")
    endpoint = fields.words(value, "endpoint") or fields.words(options, "endpoint")
    reading = _Reading(endpoint, fields.words(options, "model"))
    grains = list(reading.grains(top))
    linear = not reading.related and len(grains) > 1
    grown = line(grains) if linear else grow(grains)
    dates = [grain.at for grain in grains if grain.at is not None]
    return Carried(
        key=fields.words(value, "conversationId")
        or streams.fingerprint(*(grain.key for grain in grains[:1])),
        title=fields.words(value, "title"),
        nodes=grown.nodes,
        branches=grown.branches,
        at=iso(value.get("createdAt")) or min(dates, default=None),
        updated_at=iso(value.get("updatedAt")) or max(dates, default=None),
        system=fields.words(options, "promptPrefix", "system"),
        model=reading.model,
        provider=endpoint,
        files=reading.attached.files,
        left_out=grown.left_out + reading.attached.left_out() + _left_out(value, reading.rated),
        repairs=grown.repairs,
    )


def _left_out(value: Json, rated: int) -> tuple[LeftOut, ...]:
    examples = fields.several(fields.mapping(value, "options"), "examples")
    return left_out(
        {
            ("examples of the preset", "they are no part of the conversation"): len(examples),
            RATINGS: rated,
            TAGS: len(fields.several(value, "tags")),
        }
    )


class _Reading:
    """One conversation as it is read. ``related`` says that its messages name each other,
    ``rated`` how many have a thumb up or down."""

    def __init__(self, endpoint: str, model: str) -> None:
        self.endpoint, self.model = endpoint, model
        self.attached = Attached()
        self.related = False
        self.rated = 0

    def grains(self, top: list[Json]) -> Iterator[Grain]:
        """All messages, each before its children, however deep they lie."""
        stack: list[tuple[Json, str | None, int]] = []
        stack += [(one, None, place) for place, one in enumerate(top)][::-1]
        while stack:
            message, above, place = stack.pop()
            if not isinstance(message, Mapping):
                continue
            grain = self._grain(message, above, place)
            yield grain
            children = fields.several(message, "children")
            self.related = self.related or bool(children) or grain.parent is not None
            stack += [(one, grain.key, place) for place, one in enumerate(children)][::-1]

    def _grain(self, message: Message, above: str | None, place: int) -> Grain:
        parent = above
        if parent is None:
            named = fields.words(message, "parentMessageId")
            parent = None if named in _NOBODY else named
        key = fields.name_of(message.get("messageId")) or fields.name_of(message.get("_id"))
        by_user = _by_user(message)
        absent: list[str] = []
        parts = (*self._parts(message), *self._files(message, absent))
        self.rated += fields.filled((message,), "feedback")
        return Grain(
            key=key or streams.fingerprint(parent, place, text_of(parts))[:24],
            parent=parent,
            role="user" if by_user else "assistant",
            parts=parts,
            at=iso(message.get("createdAt")),
            model="" if by_user else fields.words(message, "model") or self.model,
            provider="" if by_user else fields.words(message, "endpoint") or self.endpoint,
            marks=joined(self.attached.missing(absent), _trouble(message)),
        )

    def _parts(self, message: Message) -> Parts:
        found: list[Any] = []
        for part in fields.several(message, "content"):
            found += self._part(part)
        said = fields.words(message, "text")
        if said and not any(isinstance(part, Text) for part in found):
            if old := _OLD_THINKING.match(said):
                found.append(Thinking(text=old[1]))
                said = said[old.end() :]
            found.append(Text(text=said))
        return tuple(found)

    def _part(self, part: Json) -> list[Any]:
        kind = fields.words(part, "type")
        if kind == "think":
            words = _value(part, "think")
            return [Thinking(text=words)] if words else []
        if kind == "tool_call":
            return _tool(fields.mapping(part, "tool_call"))
        if kind in ("image_url", "image_file"):
            held = fields.mapping(part, kind)
            url = fields.words(held, "url", "filepath") or fields.words(part, "image_url")
            found = self.attached.data_url(url, fields.words(held, "filename"))
            return [found] if found else []
        words = _value(part, "text") or (_value(part, "error") if kind == "error" else "")
        return [Text(text=words)] if words else []

    def _files(self, message: Message, absent: list[str]) -> Iterator[Any]:
        """The files of a message; names without content are added to ``absent``."""
        files = fields.objects(message, "files") + fields.objects(message, "attachments")
        pictures = [
            fields.mapping(part, "image_file")
            for part in fields.objects(message, "content")
            if part.get("type") == "image_file"
        ]
        for file in [*files, *pictures]:
            name = fields.words(file, "filename", "name")
            url = fields.words(file, "filepath", "url", "preview")
            if found := self.attached.data_url(url, name):
                if file not in pictures:
                    yield found
            elif name or url:
                absent.append(name or url.rsplit("/", 1)[-1])


def _value(part: Json, key: str) -> str:
    """Text under a key, or one level down, as agents keep it."""
    return fields.words(part, key) or fields.words(fields.mapping(part, key), "value")


def _tool(call: Message) -> list[Any]:
    key = fields.words(call, "id")
    inner = fields.mapping(call, "function")
    name = fields.words(call, "name") or fields.words(inner, "name") or fields.words(call, "type")
    arguments = call.get("args", inner.get("arguments", call.get("input", "")))
    result = call.get("output", inner.get("output"))
    found: list[Any] = [ToolCall(id=key, name=name, arguments=streams.compact(arguments or ""))]
    if result:
        found.append(ToolResult(call_id=key, name=name, text=streams.compact(result)))
    return found


def _by_user(message: Message) -> bool:
    told = message.get("isCreatedByUser")
    if isinstance(told, bool):
        return told
    return fields.words(message, "role", "sender").lower() in ("user", "you", "human")


def _trouble(message: Message) -> Mapping[MarkKind, str]:
    if message.get("error") is True:
        return {"note": "An error there, not an answer"}
    return {"note": "Not written to its end there"} if message.get("unfinished") is True else {}


FORMAT = LibreChat()
