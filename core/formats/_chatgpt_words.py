"""What a ChatGPT message says, by the type of its content, and which messages stay behind."""

from collections.abc import Mapping
from typing import Any

from core.interchange import fields
from core.types import Json

_PERSONAL = {"user_editable_context": "custom instructions", "model_editable_context": "memories"}
_REASONING = ("thoughts", "reasoning_recap")
_WITH_PARTS = ("", "text", "multimodal_text")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "code": ("text",),
    "execution_output": ("text",),
    "reasoning_recap": ("content",),
    "tether_browsing_display": ("result",),
    "tether_quote": ("title", "url", "text"),
    "sonic_webpage": ("title", "url", "text"),
    "system_error": ("name", "text"),
    "citable_code_output": ("output_str",),
}
"""Content that is no list of parts: the fields that hold its words."""
_ANY = ("text", "result", "content", "output_str")


def words_of(content: Mapping[str, Json]) -> str:
    """The words of a message's content, whatever its type; several are parted by a blank line."""
    parts = content.get("parts")
    if isinstance(parts, list):
        if len(parts) == 1 and isinstance(parts[0], str):
            return parts[0]
        said = [piece if isinstance(piece, str) else fields.words(piece, "text") for piece in parts]
        return "\n\n".join(filter(None, said))
    kind = fields.words(content, "content_type")
    if kind == "thoughts":
        thoughts = fields.objects(content, "thoughts")
        return "\n\n".join(filter(None, (_joined(one, "summary", "content") for one in thoughts)))
    if kind in _PERSONAL:
        return kind
    return _joined(content, *_FIELDS[kind]) if kind in _FIELDS else fields.words(content, *_ANY)


def why_hidden(
    message: Mapping[str, Json], metadata: Mapping[str, Json], content: Mapping[str, Json]
) -> str:
    """What a message is that stays behind; nothing for all others."""
    kind = content.get("content_type")
    if isinstance(kind, str) and kind in _PERSONAL:
        return _PERSONAL[kind]
    if metadata.get("is_visually_hidden_from_conversation"):
        return "hidden messages"
    return "messages of weight 0" if message.get("weight") == 0 else ""


def unknown_kind(content: Mapping[str, Json]) -> str:
    """The type of content that holds something, but nothing that is known to be words."""
    kind = fields.words(content, "content_type")
    known = kind in _FIELDS or kind in _WITH_PARTS or kind in _REASONING
    held = any(value for name, value in content.items() if name != "content_type")
    return "" if known or not held else kind[:40]


def is_reasoning(message: Mapping[str, Json], content: Mapping[str, Json]) -> bool:
    """Whether an answer is what a model thought on the way to one."""
    return content.get("content_type") in _REASONING or message.get("channel") == "analysis"


def tool_called(message: Mapping[str, Json]) -> str:
    """The tool that an answer is addressed to; nothing for one that is addressed to all."""
    recipient = message.get("recipient")
    return "" if recipient == "all" or not isinstance(recipient, str) else recipient


class Calls:
    """The calls of a conversation, as the tools' messages ask for them."""

    def __init__(self, mapping: Mapping[str, Any], parents: Mapping[str, str | None]) -> None:
        self._mapping, self._parents = mapping, parents
        self._known: dict[str, str] = {}

    def answered_by(self, result: str) -> str:
        """The call that a tool's message answers: the nearest above it, with nothing said to the
        person between; nothing where there is none."""
        path: list[str] = []
        key: str | None = result
        call = ""
        while key is not None and key in self._mapping:
            if key in self._known:
                call = self._known[key]
                break
            message = fields.mapping(self._mapping[key], "message")
            role = fields.name_of(fields.mapping(message, "author").get("role"))
            if role == "assistant" and tool_called(message):
                call = key
                break
            if _said(role, message) or len(path) > len(self._mapping):
                break
            path.append(key)
            key = self._parents[key]
        self._known.update(dict.fromkeys(path, call))
        return call


def _said(role: str, message: Mapping[str, Json]) -> bool:
    if role == "user":
        return True
    content = fields.mapping(message, "content")
    return role == "assistant" and bool(words_of(content)) and not is_reasoning(message, content)


def _joined(content: Mapping[str, Json], *names: str) -> str:
    return "\n\n".join(filter(None, (fields.words(content, name) for name in names)))
