"""Whose messages these are: OpenAI's (both protocols), Anthropic's or Gemini's; and what they say.

The shapes are those of the servers' own documentation and of what libraries save of them. Plain
messages with a role and words are common to two; without a sign of either they are OpenAI's.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from core.interchange import anthropic_turns, fields, gemini_turns, openai_turns, streams
from core.interchange.glimpse import glimpse
from core.interchange.times import iso
from core.interchange.turns import Turns
from core.types import Carried, Damaged, Json, Source

Dialect = Literal["chat", "responses", "anthropic", "gemini", ""]
Layout = Literal["one", "messages", "message lines", "lines", ""]
"""A file of whole conversations (one, or a list of them), of the messages of one in a list or
line by line, or of a conversation a line."""

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_NOT_OURS = frozenset(
    {"mapping", "history", "chat_messages", "conversationId", "messagesTree", "conversations"}
    | {"chat", "chunkedPrompt", "responses", "chatId"}
)
_OF_PRODUCTS = frozenset(
    {"parentId", "parent_id", "messageId", "parentMessageId", "childrenIds", "from", "sender"}
    | {"uuid", "author", "mes", "isCreatedByUser", "replies"}
)
_CLAUDES_TYPES = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking", "document"})
_CLAUDES_FIELDS = ("anthropic_version", "stop_sequences", "thinking", "system")
_WRAPPED = ("body", "params", "request")
_ITEMS = re.compile(r"message|reasoning|item_reference|[a-z_]+_call(_output)?")


def unwrapped(value: Json) -> Json:
    """The request inside a line of a batch; any other value as it is."""
    if isinstance(value, Mapping) and not {"messages", "contents", "input"} & value.keys():
        for name in _WRAPPED:
            inner = value.get(name)
            if isinstance(inner, Mapping) and {"messages", "contents", "input"} & inner.keys():
                return inner
    return value


def dialect(value: Json) -> Dialect:
    """Whose form a conversation has, or a bare list of its messages; nothing for neither."""
    value = unwrapped(value)
    if isinstance(value, list):
        return _of_list(value)
    if not isinstance(value, Mapping) or _NOT_OURS & value.keys():
        return ""
    if "contents" in value:
        return "gemini" if gemini_turns.speaks(value["contents"]) else ""
    if "messages" in value:
        found = _of_messages(fields.several(value, "messages"))
        return "anthropic" if found == "chat" and _is_claudes(value) else found
    if "input" in value and ("model" in value or "instructions" in value):
        given = value["input"]
        return "responses" if isinstance(given, str) or _are_items(given) else ""
    return _of_list([value]) if "role" in value else ""


def _of_list(values: list[Json]) -> Dialect:
    if gemini_turns.speaks(values):
        return "gemini"
    typed = [fields.words(one, "type") for one in values[:20]]
    if _are_items(values) and any(kind != "message" and _ITEMS.fullmatch(kind) for kind in typed):
        return "responses"
    return _of_messages(values)


def _of_messages(messages: list[Json]) -> Dialect:
    several = [one for one in messages if isinstance(one, Mapping)]
    if not several or any(_OF_PRODUCTS & one.keys() for one in several):
        return ""
    if not all(fields.words(one, "role") in _ROLES for one in several[:-1] or several):
        return ""  # the last one may be cut off where the glimpse ends
    if not any(one.keys() & {"content", "tool_calls", "function_call"} for one in several):
        return ""
    types = {fields.words(part, "type") for one in several for part in _blocks(one)}
    shown = any("source" in part for one in several for part in _blocks(one))
    return "anthropic" if types & _CLAUDES_TYPES or shown else "chat"


def _blocks(message: Mapping[str, Json]) -> Iterable[Mapping[str, Json]]:
    return fields.objects(message, "content")


def _are_items(values: Json) -> bool:
    if not isinstance(values, list) or not values:
        return False
    first = values[0]
    if not isinstance(first, Mapping):
        return False
    return fields.words(first, "role") in _ROLES or bool(
        _ITEMS.fullmatch(fields.words(first, "type"))
    )


def _is_claudes(value: Mapping[str, Json]) -> bool:
    """Whether a conversation that could be either's is Anthropic's, by what is around it."""
    roles = {fields.words(one, "role") for one in fields.objects(value, "messages")}
    if roles - {"user", "assistant"}:
        return False
    if any(name in value for name in _CLAUDES_FIELDS):
        return True
    described = any("input_schema" in tool for tool in fields.objects(value, "tools"))
    return described or fields.words(value, "model").startswith("claude")


# --- what a file holds -----------------------------------------------------------------------


def look(source: Source) -> tuple[Layout, Dialect]:
    """How a file is laid out, and whose messages are in it; judged by its beginning."""
    seen = glimpse(source)
    if isinstance(seen.value, list):
        found = dialect(seen.value)
        if found:
            return "messages", found
        first = next(iter(seen.value), None)
        return ("one", dialect(first)) if isinstance(first, Mapping) else ("", "")
    if not isinstance(seen.value, Mapping):
        return "", ""
    found = dialect(seen.value)
    if found and "role" in seen.value and not {"messages", "contents"} & seen.value.keys():
        return "message lines", found
    more = seen.after == "{" and seen.in_one_line
    alone = seen.in_one_line and seen.after == "" and "model" not in seen.value
    bare = "messages" in seen.value or "contents" in seen.value
    return ("lines" if more or (alone and bare) else "one"), found


_SPEAKERS: Mapping[str, Callable[[Json, Turns], None]] = {
    "chat": openai_turns.chat,
    "responses": openai_turns.responses,
    "anthropic": anthropic_turns.messages,
    "gemini": gemini_turns.contents,
}
_PROVIDERS: Mapping[str, str] = {
    "chat": "openai",
    "responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gemini",
}


def conversations(source: Source) -> Iterator[Carried | Damaged]:
    """The conversation of a file, be it alone or a bare list of its messages, or each of several.
    Raises ``BadFile``."""
    layout, _ = look(source)
    if layout == "messages":
        messages = [value for _, value in streams.items(source)]
        yield from streams.each(iter([(source.name, messages)]), conversation)
        return
    many = streams.decoded_head(source).lstrip().startswith("[")
    yield from streams.each(
        streams.items(source), lambda value: conversation(value, one_of_many=many)
    )


def conversation(value: Json, *, one_of_many: bool = False) -> Carried | None:
    """A conversation, in whichever of the forms; None for what is none."""
    given = unwrapped(value)
    found = dialect(given)
    if not found:
        return None
    turns = gathered(given)
    about = given if isinstance(given, Mapping) else {}
    if tools := len(fields.several(about, "tools")):
        turns.leave("definitions of tools", "a conversation keeps calls and results alone", tools)
    return turns.carried(
        title=fields.words(about, "title"),
        at=iso(about.get("created_at", about.get("created"))),
        model=fields.words(about, "model"),
        provider=_PROVIDERS[found] if fields.words(about, "model") else "",
        one_of_many=one_of_many,
    )


def gathered(value: Json) -> Turns:
    """The messages of a conversation in whichever of the forms; none for what is none."""
    turns = Turns()
    if found := dialect(value):
        _SPEAKERS[found](value, turns)
    return turns
