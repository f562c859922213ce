"""Messages as OpenAI's servers take them, in Chat Completions and in Responses.

Chat: ``{"messages": [{"role", "content", "tool_calls", …}]}``, content being text, null, or a
list of parts, which training tools write as ``{"type", "value"}`` too. Responses: ``{"input":
[items], "instructions"}``, an item being a message, a call, its result or a piece of reasoning.
"""

from collections.abc import Mapping

from core.interchange import fields
from core.interchange.streams import compact
from core.interchange.times import iso
from core.interchange.turns import Turns
from core.types import Json, Part, Role, Text, Thinking, ToolCall, ToolResult

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_WORDS = frozenset({"text", "input_text", "output_text", "summary_text", "refusal"})
_CALLS = frozenset({"function_call", "custom_tool_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "mcp_call_output"})


def chat(value: Json, turns: Turns) -> None:
    """The messages of a Chat Completions request, or a bare list of them."""
    names: dict[str, str] = {}
    listed = value if isinstance(value, list) else fields.several(value, "messages")
    if isinstance(value, Mapping) and "messages" not in value and "role" in value:
        listed = [value]
    for message in listed:
        if not isinstance(message, Mapping):
            turns.leave("entries that are no messages", "they have neither a role nor words")
            continue
        _message(message, turns, names)


def _message(message: Mapping[str, Json], turns: Turns, names: dict[str, str]) -> None:
    role = _ROLES.get(fields.words(message, "role"), "user")
    at = iso(message.get("timestamp", message.get("created_at")))
    hidden = message.get("hide") is True
    parts = _said(message, turns)
    if role == "tool":
        call_id = fields.words(message, "tool_call_id", "id")
        name = fields.words(message, "name") or names.get(call_id, "")
        words = "".join(part.text for part in parts if isinstance(part, Text))
        others = [part for part in parts if not isinstance(part, Text)]
        parts = [ToolResult(call_id=call_id, name=name, text=words), *others]
    elif role == "assistant":
        parts += _calls(message)
        names |= {part.id: part.name for part in parts if isinstance(part, ToolCall)}
    if "weight" in message:
        turns.leave("training weights", "they say nothing to a reader")
    turns.add(
        role,
        parts,
        kind="hidden" if hidden else "shown",
        at=at,
        model=fields.words(message, "model") if role == "assistant" else "",
        why="hidden messages" if hidden else "",
    )


def _said(message: Mapping[str, Json], turns: Turns) -> list[Part]:
    thought = fields.words(message, "reasoning_content", "reasoning", "thinking")
    parts: list[Part] = [Thinking(text=thought)] if thought else []
    parts += content(message.get("content"), turns)
    if refusal := fields.words(message, "refusal"):
        parts.append(Text(text=refusal))
    if not parts and (spoken := fields.words(message.get("audio"), "transcript")):
        parts.append(Text(text=spoken))
    return parts


def _calls(message: Mapping[str, Json]) -> list[Part]:
    found = [call for call in fields.several(message, "tool_calls") if isinstance(call, Mapping)]
    made = [_call(call, fields.mapping(call, "function") or call) for call in found]
    old = fields.mapping(message, "function_call")
    return [*made, *([_call({}, old)] if old else [])]


def _call(call: Mapping[str, Json], function: Mapping[str, Json]) -> Part:
    return ToolCall(
        id=fields.name_of(call.get("id")),
        name=fields.words(function, "name"),
        arguments=compact(function.get("arguments", function.get("input", ""))),
    )


def content(given: Json, turns: Turns) -> list[Part]:
    """Text, or parts of several kinds."""
    if isinstance(given, str):
        return [Text(text=given)] if given else []
    if isinstance(given, Mapping):
        given = [given]
    found: list[Part] = []
    for part in given if isinstance(given, list) else []:
        found += _part(part, turns)
    return found


def _part(part: Json, turns: Turns) -> list[Part]:
    if isinstance(part, str):
        return [Text(text=part)] if part else []
    kind = fields.words(part, "type") or ("text" if fields.words(part, "text") else "")
    if kind in _WORDS:
        words = fields.words(part, "text", "value", "refusal")
        return [Text(text=words)] if words else []
    if kind in ("reasoning", "thinking", "reasoning_text"):
        words = fields.words(part, "text", "value", "thinking")
        return [Thinking(text=words)] if words else []
    if kind == "tool_call":
        return [_call(part, fields.mapping(part, "value") or fields.mapping(part, "function"))]
    return _file(kind, part, turns)


def _file(kind: str, part: Json, turns: Turns) -> list[Part]:
    name = fields.words(part, "filename", "name")
    if kind in ("image_url", "input_image", "image"):
        given = part.get("image_url", part.get("value", part.get("image")))
        address = fields.words(given, "url") if isinstance(given, Mapping) else given
        return turns.linked(name, address or fields.words(part, "file_id"))
    if kind in ("file", "input_file"):
        file = fields.mapping(part, "file") or part
        name = fields.words(file, "filename", "file_id", "file_url")
        data = fields.words(file, "file_data")
        if data and not data.startswith("data:"):
            return turns.encoded(name, "application/pdf", data)
        return turns.linked(name, data) if data else turns.absent(name)
    if kind == "input_audio":
        sound = fields.mapping(part, "input_audio") or part
        form = fields.words(sound, "format") or "wav"
        return turns.encoded(f"sound.{form}", f"audio/{form}", sound.get("data"))
    return turns.unknown(kind)


# --- Responses -------------------------------------------------------------------------------


def responses(value: Json, turns: Turns) -> None:
    """The items of a Responses request, with those of its answer where they stand beside."""
    if isinstance(value, list):
        items: list[Json] = value
    else:
        if words := fields.words(value, "instructions"):
            turns.system.append(words)
        given = value.get("input") if isinstance(value, Mapping) else None
        items = [{"role": "user", "content": given}] if isinstance(given, str) else []
        items += given if isinstance(given, list) else []
        items += fields.several(value, "output")
    answer = _Answer(turns)
    for item in items:
        if isinstance(item, Mapping):
            answer.take(item)
    answer.end()


class _Answer:
    """Items of the model's own, one after another, are one answer."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._parts: list[Part] = []
        self._names: dict[str, str] = {}

    def take(self, item: Mapping[str, Json]) -> None:
        kind = fields.words(item, "type") or "message"
        role = _ROLES.get(fields.words(item, "role"), "user")
        if kind == "message" and role == "assistant":
            if any(not isinstance(part, Thinking) for part in self._parts):
                self.end()
            self._parts += content(item.get("content"), self._turns)
        elif kind == "message":
            self.end()
            self._turns.add(role, content(item.get("content"), self._turns))
        elif kind in _RESULTS:
            self.end()
            self._turns.add("tool", self._result(item))
        else:
            self._made(kind, item)

    def end(self) -> None:
        """The answer is over."""
        if self._parts or self._turns.notes:
            self._turns.add("assistant", self._parts)
        self._parts = []

    def _made(self, kind: str, item: Mapping[str, Json]) -> None:
        if kind == "reasoning":
            if any(not isinstance(part, Thinking) for part in self._parts):
                self.end()
            told = [*fields.objects(item, "summary"), *fields.objects(item, "content")]
            words = "\n\n".join(filter(None, (fields.words(piece, "text") for piece in told)))
            self._parts += [Thinking(text=words)] if words else []
            if not words:
                self._turns.leave("hidden reasoning", "only its provider can read it")
        elif kind in _CALLS:
            call = _call({"id": fields.words(item, "call_id", "id")}, item)
            assert isinstance(call, ToolCall)
            self._names[call.id] = call.name
            self._parts.append(call)
        elif kind == "image_generation_call" and fields.words(item, "result"):
            self._parts += self._turns.encoded("image.png", "image/png", item.get("result"))
        else:
            self._turns.unknown(kind)

    def _result(self, item: Mapping[str, Json]) -> list[Part]:
        call_id, given = fields.words(item, "call_id"), item.get("output")
        parts = content(given, self._turns) if isinstance(given, list) else []
        words = "".join(part.text for part in parts if isinstance(part, Text))
        text = words if isinstance(given, list) else compact(given if given is not None else "")
        others = [part for part in parts if not isinstance(part, Text)]
        return [ToolResult(call_id=call_id, name=self._names.get(call_id, ""), text=text), *others]
