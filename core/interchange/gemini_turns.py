"""Contents as Gemini's server takes them: ``{"contents": [{"role", "parts"}], …}``.

Names come in two cases, as the server itself takes them: ``inlineData`` and ``inline_data``.
Roles are user, model and, in older files, function. Calls mostly have no id: what they gave is
told apart by name and order.
"""

import re
from collections import deque
from collections.abc import Mapping
from itertools import groupby

from core.interchange import fields
from core.interchange.streams import compact
from core.interchange.turns import Turns
from core.types import Json, Part, Text, Thinking, ToolCall, ToolResult

_SNAKE = re.compile(r"_([a-z])")
_KINDS = (
    "functionCall", "functionResponse", "inlineData", "fileData", "executableCode",
    "codeExecutionResult",
)  # fmt: skip


def speaks(contents: Json) -> bool:
    """Whether these are contents: objects with parts, of a role that there is."""
    if isinstance(contents, str):
        return bool(contents)
    first = contents[0] if isinstance(contents, list) and contents else contents
    if not isinstance(first, Mapping) or first.get("role", "") not in ("", None, *_ROLES):
        return False
    return isinstance(first.get("parts"), list | str) and not {"author", "message"} & first.keys()


_ROLES = ("user", "model", "function", "tool", "system")


def contents(value: Json, turns: Turns) -> None:
    """The contents of a request, or a bare list of them."""
    listed = value
    if isinstance(value, Mapping) and "contents" in value:
        told = value.get("systemInstruction", value.get("system_instruction"))
        if words := instruction(told):
            turns.system.append(words)
        listed = value["contents"]
    if isinstance(listed, str | Mapping):
        listed = [{"role": "user", "parts": [listed]} if isinstance(listed, str) else listed]
    calls = Calls()
    for content in listed if isinstance(listed, list) else []:
        if isinstance(content, Mapping):
            _content(content, turns, calls)
        else:
            turns.leave("entries that are no messages", "they have neither a role nor parts")


def instruction(given: Json) -> str:
    """The system prompt: text, an object with a text, or one with parts."""
    if isinstance(given, str):
        return given
    if words := fields.words(given, "text"):
        return words
    if isinstance(given, Mapping) and isinstance(given.get("parts"), Mapping):
        return fields.words(given["parts"], "text")
    return "".join(fields.words(part, "text") for part in fields.objects(given, "parts"))


def _content(content: Mapping[str, Json], turns: Turns, calls: "Calls") -> None:
    role = fields.words(content, "role")
    given = content.get("parts")
    results: list[Part] = []
    parts: list[Part] = []
    for one in given if isinstance(given, list) else [given]:
        made = part(one, turns, calls)
        mine = role != "model" and any(isinstance(piece, ToolResult) for piece in made)
        (results if mine else parts).extend(made)
    if results:
        turns.add("tool", results)
        if not parts and not turns.notes:
            return
    who = "assistant" if role == "model" else "system" if role == "system" else "user"
    turns.add(who, joined(parts))  # type: ignore[arg-type]


class Calls:
    """Calls by id, and by name in their order where they have none."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        self._by_name: dict[str, deque[str]] = {}
        self._count = 0

    def made(self, given: str, name: str) -> str:
        """The id of a call: its own, or one made up for it."""
        self._count += 1
        key = given or f"call_{self._count}"
        self._waiting[key] = name
        self._by_name.setdefault(name, deque()).append(key)
        return key

    def answered(self, given: str, name: str) -> str:
        """The id of the call that this is the result of; nothing if none waits."""
        if given:
            self._waiting.pop(given, None)
            return given
        calls = self._by_name.get(name, deque())
        while calls:
            key = calls.popleft()
            if self._waiting.pop(key, None) is not None:
                return key
        return ""


def part(given: Json, turns: Turns, calls: Calls) -> list[Part]:
    """One part of a content, whatever it is."""
    if isinstance(given, str):
        return [Text(text=given)] if given else []
    if not isinstance(given, Mapping):
        return []
    found = {_SNAKE.sub(lambda hit: hit[1].upper(), name): one for name, one in given.items()}
    if isinstance(found.get("text"), str):
        words = found["text"]
        thought = found.get("thought") is True
        return ([Thinking(text=words)] if thought else [Text(text=words)]) if words else []
    kind = next((name for name in _KINDS if isinstance(found.get(name), Mapping)), "")
    if not kind:
        left = [name for name in found if name not in ("thought", "thoughtSignature")]
        return turns.unknown(left[0]) if left else []
    inner = {_SNAKE.sub(lambda hit: hit[1].upper(), n): one for n, one in found[kind].items()}
    return _special(kind, inner, turns, calls)


def _special(kind: str, inner: Mapping[str, Json], turns: Turns, calls: Calls) -> list[Part]:
    name, key = fields.words(inner, "name"), fields.words(inner, "id")
    media_type = fields.words(inner, "mimeType")
    match kind:
        case "functionCall":
            arguments = compact(inner.get("args", {}))
            return [ToolCall(id=calls.made(key, name), name=name, arguments=arguments)]
        case "functionResponse":
            text, failed = _response(inner.get("response"))
            call = calls.answered(key, name)
            return [ToolResult(call_id=call, name=name, text=text, is_error=failed)]
        case "inlineData":
            return turns.encoded(fields.words(inner, "displayName"), media_type, inner.get("data"))
        case "fileData":
            return turns.absent(fields.words(inner, "displayName", "fileUri"))
        case "executableCode":
            code = fields.words(inner, "code")
            return [ToolCall(id=calls.made(key, "code"), name="code", arguments=code)]
        case _:
            outcome = fields.words(inner, "outcome")
            failed = bool(outcome) and not outcome.endswith("OK")
            return [
                ToolResult(
                    call_id=calls.answered(key, "code"),
                    name="code",
                    text=fields.words(inner, "output"),
                    is_error=failed,
                )
            ]


def _response(given: Json) -> tuple[str, bool]:
    """What a function gave, and whether it failed."""
    if isinstance(given, Mapping) and len(given) == 1:
        for name in ("output", "result", "error", "content"):
            if name in given:
                return compact(given[name]), name == "error"
    return compact(given) if given is not None else "", False


def joined(parts: list[Part]) -> list[Part]:
    """Neighbouring words are one text: an answer in pieces was one answer."""
    made: list[Part] = []
    for kind, run in groupby(parts, type):
        if kind is Text or kind is Thinking:
            words = "".join(one.text for one in run if isinstance(one, Text | Thinking))
            made.append(Text(text=words) if kind is Text else Thinking(text=words))
        else:
            made += run
    return made
