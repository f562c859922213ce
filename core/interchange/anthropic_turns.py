"""Messages as Anthropic's server takes them: ``{"system", "messages": [{"role", "content"}]}``.

Content is text or a list of blocks. Results of tools stand in a person's turn; here they are a
message of their own, before what the person said. Tools that the server ran itself stand with
their results in the answer, and stay there.
"""

from collections.abc import Mapping

from core.interchange import fields
from core.interchange.streams import compact
from core.interchange.times import iso
from core.interchange.turns import Turns
from core.types import Json, Part, Role, Text, Thinking, ToolCall, ToolResult


def messages(value: Json, turns: Turns) -> None:
    """The messages of a request, or a bare list of them."""
    if isinstance(value, Mapping) and (words := _flat(value.get("system"), turns)):
        turns.system.append(words)
    listed = value if isinstance(value, list) else fields.several(value, "messages")
    names: dict[str, str] = {}
    for message in listed:
        if not isinstance(message, Mapping):
            turns.leave("entries that are no messages", "they have neither a role nor words")
            continue
        _message(message, turns, names)


def _message(message: Mapping[str, Json], turns: Turns, names: dict[str, str]) -> None:
    said = fields.words(message, "role")
    role: Role = "assistant" if said == "assistant" else "system" if said == "system" else "user"
    at = iso(message.get("created_at", message.get("timestamp")))
    model = fields.words(message, "model") if role == "assistant" else ""
    results: list[Part] = []
    parts: list[Part] = []
    for block in _blocks(message.get("content")):
        made = _block(block, turns, names)
        is_result = role == "user" and fields.words(block, "type") == "tool_result"
        (results if is_result else parts).extend(made)
    if results:
        turns.add("tool", results, at=at)
        if not parts and not turns.notes:
            return
    turns.add(role, parts, at=at, model=model)


def _blocks(content: Json) -> list[Mapping[str, Json]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    given = content if isinstance(content, list) else [content]
    made = [{"type": "text", "text": one} if isinstance(one, str) else one for one in given]
    return [one for one in made if isinstance(one, Mapping)]


def _block(block: Mapping[str, Json], turns: Turns, names: dict[str, str]) -> list[Part]:
    kind = fields.words(block, "type")
    if kind == "text":
        words = fields.words(block, "text")
        return [Text(text=words)] if words else []
    if kind == "thinking":
        words = fields.words(block, "thinking", "text")
        return [Thinking(text=words)] if words else []
    if kind == "redacted_thinking":
        turns.leave("hidden reasoning", "only its provider can read it")
        return []
    if kind.endswith("tool_use"):
        call = ToolCall(
            id=fields.words(block, "id"),
            name=fields.words(block, "name"),
            arguments=compact(block.get("input", {})),
        )
        names[call.id] = call.name
        return [call]
    if kind.endswith("tool_result"):
        return _result(block, turns, names)
    if kind in ("image", "document", "search_result"):
        return _file(kind, block, turns)
    return turns.unknown(kind)


def _result(block: Mapping[str, Json], turns: Turns, names: Mapping[str, str]) -> list[Part]:
    content, call_id = block.get("content"), fields.words(block, "tool_use_id")
    files: list[Part] = []
    if isinstance(content, list) and all(_known(one) for one in content):
        words = "".join(fields.words(one, "text") for one in content)
        for one in content:
            if fields.words(one, "type") in ("image", "document"):
                files += _file(fields.words(one, "type"), one, turns)
    else:
        words = compact(content) if content is not None else ""
    name = names.get(call_id, "")
    failed = block.get("is_error") is True
    return [ToolResult(call_id=call_id, name=name, text=words, is_error=failed), *files]


def _known(one: Json) -> bool:
    return isinstance(one, Mapping) and one.get("type") in ("text", "image", "document")


def _file(kind: str, block: Mapping[str, Json], turns: Turns) -> list[Part]:
    source = block.get("source")
    name = fields.words(block, "title", "name", "filename")
    if kind == "search_result" or not isinstance(source, Mapping):
        words = "\n\n".join(fields.words(one, "text") for one in fields.objects(block, "content"))
        named = name or (source if isinstance(source, str) else "")
        return [Text(text=f"{named}\n{words}".strip())] if words else turns.absent(named)
    media_type = fields.words(source, "media_type")
    match fields.words(source, "type"):
        case "base64":
            return turns.encoded(name, media_type, source.get("data"))
        case "text":
            content = fields.words(source, "data").encode("utf-8", "replace")
            return [turns.file(name, media_type or "text/plain", content)]
        case "content":
            words = _flat(source.get("content"), turns)
            return [Text(text=words)] if words else []
        case _:
            return turns.absent(name or fields.words(source, "url", "file_id"))


def _flat(content: Json, turns: Turns) -> str:
    """Text, or the words of blocks."""
    if isinstance(content, str):
        return content
    blocks = _blocks(content) if content else []
    for block in blocks:
        if fields.words(block, "type") != "text":
            turns.unknown(block.get("type"))
    return "\n\n".join(filter(None, (fields.words(block, "text") for block in blocks)))
