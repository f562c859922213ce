"""The scripts of the scripted provider: how a message says what is to be answered."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, cast, get_args

from core.errors import BadRequest
from core.types import FinishReason, Request, Usage

_SLOW = 20
_ASIDE = re.compile(r"^/aside (\{.*\})$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """How an answer is played. ``delay`` is milliseconds; words count from the first."""

    reply: str = ""
    thinking: str = ""
    delay: float = 0
    chunk: int = 0
    progress: int = 0
    finish: FinishReason = "stop"
    cut: int | None = None
    noend: bool = False
    stall: int | None = None
    tools: tuple[tuple[str, str], ...] = ()
    usage: Usage | None = None
    fail: str = ""
    times: int | None = None
    after: int = 0
    retry_after: float | None = None
    status: int | None = None
    refuse: str = ""


def read(request: Request) -> Script:
    """The script that the last user message asks for, on this model."""
    said = [m.get("text", "") for m in request.messages if m["role"] == "user"]
    text = said[-1] if said else ""
    aside = _ASIDE.search(text)
    if text.startswith("/script "):
        script = _from_json(text.removeprefix("/script "))
    elif aside and aside.start():
        script = _from_json(aside[1])
    else:
        script = _from_lines(text, request)
    if request.envelope["model"] == "echo-slow" and not script.delay:
        script = replace(script, delay=_SLOW)
    if request.envelope["model"] == "echo-think" and not script.thinking:
        script = replace(script, thinking=f"I was sent {len(text.split())} words.")
    last = request.messages[-1] if request.messages else {}
    if last.get("tool_results"):
        script = replace(script, tools=())
    begun = last.get("text", "") if last.get("role") == "assistant" else ""
    return replace(script, reply=script.reply.removeprefix(begun)) if begun else script


def _from_json(text: str) -> Script:
    try:
        given = json.loads(text)
        given["tools"] = tuple((name, json.dumps(args)) for name, args in given.get("tools", []))
        given["usage"] = Usage(**given["usage"]) if "usage" in given else None
        return Script(**given)
    except (ValueError, TypeError, AttributeError) as exc:
        names = ", ".join(field.name for field in fields(Script))
        raise BadRequest(
            f"The script cannot be read: {exc}", hint=f"Use a JSON object of: {names}."
        ) from None


def _from_lines(text: str, request: Request) -> Script:
    """Directives until the first line that is none; the rest is the reply."""
    given: dict[str, Any] = {}
    lines = text.split("\n")
    while lines and (found := re.fullmatch(r"/([a-z-]+) ?(.*)", lines[0])):
        directive = _DIRECTIVES.get(found[1])
        if directive is None:
            break
        try:
            directive(given, found[2].strip(), request)
        except (ValueError, IndexError):
            raise BadRequest(
                f"The directive {lines[0]!r} cannot be read.",
                hint="See the beginning of core/providers/echo.py for the directives.",
            ) from None
        lines.pop(0)
    given["reply"] = "\n".join([*filter(None, [given.get("reply", "")]), *lines])
    return Script(**given)


Reader = Callable[[dict[str, Any], str, Request], None]


def _value(name: str, kind: Callable[[str], Any]) -> Reader:
    def read(given: dict[str, Any], text: str, _: Request) -> None:
        given[name] = kind(text)

    return read


def _think(given: dict[str, Any], text: str, _: Request) -> None:
    given["thinking"] = "\n".join(filter(None, [given.get("thinking", ""), text]))


def _tool(given: dict[str, Any], text: str, _: Request) -> None:
    name, _sep, arguments = text.partition(" ")
    given["tools"] = (*given.get("tools", ()), (name, arguments or "{}"))


def _usage(given: dict[str, Any], text: str, _: Request) -> None:
    names = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
    numbers = [] if text == "none" else [int(word) for word in text.split()]
    given["usage"] = Usage(**dict(zip(names, numbers, strict=False)))


def _fail(given: dict[str, Any], text: str, _: Request) -> None:
    kind, *words = text.split()
    given["fail"] = kind
    if words and words[0] != "after":
        given["times"] = int(words.pop(0))
    if words:
        given["after"] = int(words[1])


def _count(given: dict[str, Any], _text: str, request: Request) -> None:
    given["reply"] = f"context {len(request.messages)} messages"


def _context(given: dict[str, Any], _text: str, request: Request) -> None:
    given["reply"] = json.dumps(list(request.messages), ensure_ascii=False, indent=1)


def _reason(text: str) -> FinishReason:
    if text not in get_args(FinishReason):
        raise ValueError(text)
    return cast("FinishReason", text)


_DIRECTIVES: dict[str, Reader] = {
    "delay": _value("delay", float),
    "chunk": _value("chunk", int),
    "think": _think,
    "progress": _value("progress", int),
    "finish": _value("finish", _reason),
    "cut": _value("cut", int),
    "noend": _value("noend", lambda _: True),
    "stall": _value("stall", int),
    "tool": _tool,
    "usage": _usage,
    "fail": _fail,
    "retry-after": _value("retry_after", float),
    "status": _value("status", int),
    "refuse": _value("refuse", str),
    "count": _count,
    "context": _context,
}
