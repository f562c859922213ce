"""Turns of a conversation in the form of Anthropic's Messages protocol. No SDK, no network.

What was written once never changes: neighbours of one role stay apart, because the provider
joins them itself, and ids depend only on what came before.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeGuard, assert_never

from core.beginnings import Beginnings
from core.errors import Unsupported
from core.types import (
    AttachmentRef,
    Call,
    Json,
    Message,
    Parts,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    well_formed,
)

Block = dict[str, Json]

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_RUN = "(no result: the call was not run)"
_BEFORE = "(The beginning of this conversation is not shown.)"


@dataclass(slots=True)
class _Writer:
    """What is written so far. ``owed`` are the calls without a result, by the id they came
    with: the id they went out with, and the tool's name. ``ends`` counts what was written
    after each message."""

    wire: list[Block] = field(default_factory=list)
    owed: dict[str, tuple[str, str]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    ends: list[int] = field(default_factory=list)

    def copy(self) -> "_Writer":
        """Another one that goes on from here; blocks and messages are never changed."""
        return _Writer(list(self.wire), dict(self.owed), set(self.used), list(self.ends))

    def add(self, messages: Iterable[Message], files: Mapping[str, bytes]) -> None:
        """Write messages; those of the system have gone to the top already."""
        for message in messages:
            if message.role == "assistant":
                self._answer(message)
            elif message.role != "system":
                self._ask(message.parts, files)
            self.ends.append(len(self.wire))

    def settle(self) -> None:
        """Answer the calls that never got a result: they are refused without one."""
        self._results([_result(key, _NOT_RUN) for key, _ in self.owed.values()])
        self.owed.clear()

    def _say(self, role: str, blocks: list[Block]) -> None:
        if blocks and role == "assistant" and not self.wire:
            self._say("user", [{"type": "text", "text": _BEFORE}])
        if blocks:
            self.wire.append({"role": role, "content": blocks})

    def _answer(self, message: Message) -> None:
        if blocks := replayed(message.raw):
            self.settle()
            calls = [block for block in blocks if block["type"] == "tool_use"]
            self.owed.update({call["id"]: (call["id"], call["name"]) for call in calls})
            self.used.update(self.owed)
            self._say("assistant", blocks)
        elif parts := [p for p in _joined(message.parts) if _speaks(p)]:
            self.settle()
            blocks = [self._spoken(part, n) for n, part in enumerate(parts)]
            if isinstance(parts[-1], Text):
                # An answer to go on from may not end with a blank.
                blocks[-1] = {"type": "text", "text": parts[-1].text.rstrip()}
            self._say("assistant", blocks)

    def _spoken(self, part: Text | ToolCall, place: int) -> Block:
        if isinstance(part, Text):
            return {"type": "text", "text": part.text}
        key = self._id(part.id, place)
        self.owed[key if part.id in self.owed else part.id or key] = (key, part.name)
        return _use(key, part)

    def _id(self, given: str, place: int) -> str:
        """An id that the provider takes and that no other call in the conversation has."""
        key = _NOT_IN_NAMES.sub("_", given)[:64]
        if not key or key in self.used:
            key = f"toolu_{len(self.wire)}_{place}"
        self.used.add(key)
        return key

    def _ask(self, parts: Parts, files: Mapping[str, bytes]) -> None:
        """A person's turn: results right behind their calls, the rest as a turn of its own."""
        results, blocks = [], []
        for part in _joined(parts):
            match part:
                case Text():
                    if part.text.strip():
                        blocks.append({"type": "text", "text": part.text})
                case ToolResult():
                    if made := self._owed_result(part):
                        results.append(made)
                    else:
                        words = f"Result of {part.name}:\n{well_formed(part.text)}"
                        blocks.append({"type": "text", "text": words})
                case AttachmentRef():
                    blocks.append(_file(part, files))
                case Thinking() | ToolCall():
                    pass
                case _:
                    assert_never(part)
        self._results(results)
        if blocks:
            self.settle()
            self._say("user", blocks)

    def _owed_result(self, result: ToolResult) -> Block | None:
        key = result.call_id
        if key not in self.owed:
            if key:
                return None
            key = next((k for k, (_, name) in self.owed.items() if name == result.name), "")
        found = self.owed.pop(key, None)
        return _result(found[0], well_formed(result.text), result.is_error) if found else None

    def _results(self, results: list[Block]) -> None:
        """All results of one answer go into one turn, however they came."""
        if results and self.wire[-1]["role"] == "user":
            results = [*self.wire.pop()["content"], *results]
        self._say("user", results)


_kept: Beginnings[_Writer] = Beginnings()


def written(call: Call) -> tuple[list[Block], list[int]]:
    """The messages in this form, and how many there were after each of the call's."""
    earlier, last = call.messages[:-1], call.messages[-1:]
    known, writer = _kept.longest(earlier, _Writer())
    writer = writer.copy()
    writer.add(earlier[known:], call.attachments)
    _kept.keep(earlier, writer.copy())
    writer.add(last, call.attachments)
    writer.settle()
    return writer.wire, writer.ends


def replayed(raw: Json) -> list[Block]:
    """The provider's own blocks as they may be sent again: none empty, no thinking at the end."""
    blocks = [
        block
        for block in (raw if isinstance(raw, list) else [])
        if isinstance(block, dict)
        and (block.get("type") != "text" or str(block.get("text", "")).strip())
    ]
    while blocks and blocks[-1].get("type") in _THOUGHTS:
        blocks.pop()
    return blocks


def _joined(parts: Parts) -> Parts:
    """The parts with neighbouring words joined: where they were split means nothing."""
    made: list[Json] = []
    for part in parts:
        if isinstance(part, Thinking):
            continue
        if isinstance(part, Text) and made and isinstance(made[-1], Text):
            made[-1] = Text(text=made[-1].text + part.text)
        else:
            made.append(part)
    return tuple(Text(text=well_formed(p.text)) if isinstance(p, Text) else p for p in made)


def encodable(value: Json) -> Json:
    """The value with all its texts such as UTF-8 can hold."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {well_formed(key): encodable(inner) for key, inner in value.items()}
    return [encodable(inner) for inner in value] if isinstance(value, list) else value


def _speaks(part: Json) -> TypeGuard[Text | ToolCall]:
    """Whether a part is for others to read; thinking is for its own model only."""
    return isinstance(part, ToolCall) or (isinstance(part, Text) and bool(part.text.strip()))


def _use(key: str, call: ToolCall) -> Block:
    """A call; its arguments must be an object, and are wrapped where they are none."""
    given: Json = {}
    with suppress(ValueError):
        given = encodable(json.loads(call.arguments, parse_constant=str))
    if not isinstance(given, dict) or (not given and call.arguments.strip(" {}")):
        given = {"input": well_formed(call.arguments)}
    name = _NOT_IN_NAMES.sub("_", call.name)[:128] or "tool"
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def _result(key: str, text: str, is_error: bool = False) -> Block:
    made: Block = {"type": "tool_result", "tool_use_id": key}
    made["content"] = text if text.strip() else "(no output)"
    return {**made, "is_error": True} if is_error else made


# --- files ---------------------------------------------------------------------------------

_IMAGES = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
_TEXTS = re.compile(
    r"text/.+|application/(.+\+)?(json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|x-ndjson)"
)


def _file(ref: AttachmentRef, files: Mapping[str, bytes]) -> Block:
    """A file as a block. Raises :class:`Unsupported` for one that Claude does not read."""
    content = files.get(ref.sha256)
    if content is None:
        raise Unsupported(
            f"The file {ref.name} is missing.",
            hint="Remove it from the message, or attach it anew.",
        )
    kind = ref.media_type.partition(";")[0].strip().lower()
    if kind in _IMAGES:
        # The bytes decide: one called by another's name is refused.
        kind = next((name for name, magic in _IMAGES.items() if content.startswith(magic)), kind)
        return {"type": "image", "source": _base64(kind, content)}
    if kind == "application/pdf":
        return {"type": "document", "source": _base64(kind, content), "title": ref.name[:255]}
    if _TEXTS.fullmatch(kind):
        with suppress(UnicodeDecodeError):
            text = content.decode("utf-8-sig")
            data = text if text.strip() else "(an empty file)"
            source = {"type": "text", "media_type": "text/plain", "data": data}
            return {"type": "document", "source": source, "title": ref.name[:255]}
    raise Unsupported(
        f"Claude cannot be sent {ref.name} ({kind or 'unknown type'}).",
        hint="Send it as PNG, JPEG, GIF, WebP, PDF or UTF-8 text, or remove it.",
    )


def _base64(kind: str, content: bytes) -> Block:
    return {"type": "base64", "media_type": kind, "data": base64.b64encode(content).decode()}
