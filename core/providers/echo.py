"""A scripted provider for demos and tests. Shown only while ``TURNTREE_ECHO`` is ``1``.

It answers with the last thing the person wrote, word by word, unless that text begins with
lines of directives; what follows them is the reply::

    /delay 20            milliseconds before each piece
    /chunk 3             characters a piece, instead of whole words
    /think Let me see    thinking before the reply; more lines, more thinking
    /progress 4          so many progress events first
    /finish length       the finish reason: stop, length, content_filter, refusal, tool_call
    /cut 5               the answer is cut off after 5 words
    /noend               the stream ends without a terminal event
    /stall 5             silence after 5 words, until stopped
    /tool name {"a": 1}  a tool call at the end; more lines, more calls
    /usage 10 20 5 3     input, output, cached and reasoning tokens; "/usage none" for unknown
    /fail Overloaded 2   that error of ``core.errors``, the first 2 times this is sent (always
                         without a number); "/fail RateLimited 1 after 3" once 3 words are out
    /retry-after 1.5     seconds, for the error
    /status 503          HTTP status, for the error
    /count               replies "context N messages", the system prompt counted
    /context             replies with the messages received, as JSON

``/script {...}`` on the first line gives the same as one JSON object, keys as the fields of
:class:`Script`. Usage counts words. ``max_tokens`` counts words too and ends with "length".
A trailing assistant message is continued: the reply goes on where it stops.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from threading import Lock
from typing import Any, assert_never, cast, get_args

import core.errors
from core.errors import BadRequest, ProviderError, UnknownModel
from core.types import (
    AttachmentRef,
    Call,
    Delta,
    End,
    Endpoint,
    Event,
    FinishReason,
    Json,
    Knob,
    Message,
    ModelInfo,
    Progress,
    Request,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    well_formed,
)

_PIECE = re.compile(r"\s*\S+(?:\s+\Z)?|\s+\Z")
_KNOBS = (Knob(name="max_tokens", label="Longest answer (words)", kind="integer", low=1),)
_SLOW = 20


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


class Echo:
    """The adapter. It reads no key, opens no connection, and forgets what it is told."""

    name = "echo"
    label = "Echo (scripted)"

    def __init__(self) -> None:
        self._failed: dict[str, int] = {}
        self._lock = Lock()

    def hidden(self) -> bool:
        """True unless asked for in the environment."""
        return os.environ.get("TURNTREE_ECHO") != "1"

    def models(self) -> tuple[ModelInfo, ...]:
        """Plain, slow (20 ms a word) and thinking."""
        plain = ModelInfo(
            id="echo-1",
            label="Echo",
            window=8192,
            knobs=_KNOBS,
            tools=True,
            prefill=True,
            free=True,
        )
        return (
            plain,
            replace(plain, id="echo-slow", label="Echo, slowly"),
            replace(plain, id="echo-think", label="Echo, thinking first", thinking=True),
        )

    def build(self, call: Call) -> Request:
        """Role and text, and tools and files where there are any; the system prompt first."""
        knobs = {k: v for k, v in sorted(call.sampling.items()) if v is not None}
        wire = [_wire(message) for message in call.messages]
        if call.system.strip():
            wire.insert(0, {"role": "system", "text": well_formed(call.system)})
        kept = tuple(message for message in wire if len(message) > 1)
        return Request(envelope={"model": call.model, **knobs}, messages=kept)

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Play the script in the last user message. The endpoint is not used."""
        model = request.envelope["model"]
        if model not in {info.id for info in self.models()}:
            raise UnknownModel(f"The provider does not know the model {model!r}.")
        script = _limited(_read(request), request)
        trouble = self._trouble(script, request)
        if trouble and not script.after:
            raise trouble
        for event, pause in _played(script, bool(trouble)):
            if stop.wait(pause) or stop.is_set():
                return
            if event is not None:
                yield event
        if trouble:
            raise trouble
        if not script.noend:
            yield from _ending(script, request)

    def _trouble(self, script: Script, request: Request) -> Exception | None:
        """The error to raise, counted by request: after ``times`` failures it succeeds."""
        if not script.fail:
            return None
        if script.times is None:
            return _error(script, request)
        key = sha256(json.dumps([dict(request.envelope), request.messages]).encode()).hexdigest()
        with self._lock:
            failed = self._failed.pop(key, 0)
            if failed >= script.times:
                return None
            self._failed[key] = failed + 1
        return _error(script, request)


ADAPTER = Echo()


def _wire(message: Message) -> dict[str, Json]:
    """A message as JSON; thinking is never sent, and a message of nothing has only its role."""
    wire: dict[str, Json] = {"role": message.role}
    for part in message.parts:
        match part:
            case Text():
                wire["text"] = wire.get("text", "") + well_formed(part.text)
            case Thinking():
                pass
            case ToolCall():
                call = {"id": part.id, "name": part.name, "arguments": part.arguments}
                wire.setdefault("tool_calls", []).append(call)
            case ToolResult():
                result = {
                    "call_id": part.call_id,
                    "name": part.name,
                    "text": well_formed(part.text),
                }
                wire.setdefault("tool_results", []).append(result)
            case AttachmentRef():
                wire.setdefault("files", []).append({"name": part.name, "sha256": part.sha256})
            case _:
                assert_never(part)
    if not wire.get("text", "").strip():
        wire.pop("text", None)
    return wire


# --- reading the script --------------------------------------------------------------------


def _read(request: Request) -> Script:
    """The script that the last user message asks for, on this model."""
    said = [m.get("text", "") for m in request.messages if m["role"] == "user"]
    text = said[-1] if said else ""
    if text.startswith("/script "):
        script = _from_json(text.removeprefix("/script "))
    else:
        script = _from_lines(text, request)
    if request.envelope["model"] == "echo-slow" and not script.delay:
        script = replace(script, delay=_SLOW)
    if request.envelope["model"] == "echo-think" and not script.thinking:
        script = replace(script, thinking=f"I was sent {len(text.split())} words.")
    last = request.messages[-1] if request.messages else {}
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
        read = _DIRECTIVES.get(found[1])
        if read is None:
            break
        try:
            read(given, found[2].strip(), request)
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
    "count": _count,
    "context": _context,
}


# --- playing it ----------------------------------------------------------------------------


def _limited(script: Script, request: Request) -> Script:
    """The script within ``max_tokens`` words, and with its call for tools as its reason."""
    if script.tools and script.finish == "stop":
        script = replace(script, finish="tool_call")
    most = request.envelope.get("max_tokens")
    words = _PIECE.findall(script.reply)
    if isinstance(most, int) and len(words) > most:
        return replace(script, reply="".join(words[:most]), finish="length", tools=())
    return script


def _played(script: Script, failing: bool) -> Iterator[tuple[Event | None, float]]:
    """Events, each with the seconds of silence before it."""
    pause = script.delay / 1000
    for step in range(1, script.progress + 1):
        yield Progress(stage="reading the prompt", share=step / script.progress), pause
    for piece in _PIECE.findall(script.thinking):
        yield Delta(text=piece, kind="thinking"), pause
    ends = [
        n for n in (script.cut, script.stall, script.after if failing else None) if n is not None
    ]
    reply = "".join(_PIECE.findall(script.reply)[: min(ends, default=None)])
    size = script.chunk
    pieces = (
        [reply[i : i + size] for i in range(0, len(reply), size)] if size else _PIECE.findall(reply)
    )
    for piece in pieces:
        yield Delta(text=piece), pause
    if script.stall is not None and script.stall <= len(_PIECE.findall(script.reply)):
        yield None, 3600.0


def _ending(script: Script, request: Request) -> Iterator[Event]:
    """Tool calls and the terminal event; ids are the same for the same script."""
    cut = script.cut is not None and script.cut < len(_PIECE.findall(script.reply))
    calls = () if cut else script.tools
    for number, (name, arguments) in enumerate(calls):
        call_id = f"call_{len(request.messages)}_{number}"
        yield ToolCall(id=call_id, name=name, arguments=arguments)
    words = " ".join(m.get("text", "") for m in request.messages).split()
    spoken = f"{script.thinking} {script.reply}".split()
    counted = Usage(
        input_tokens=len(words),
        output_tokens=len(spoken),
        reasoning_tokens=len(script.thinking.split()),
    )
    yield End(
        finish_reason="cut_off" if cut else script.finish,
        usage=counted if script.usage is None else script.usage,
        resolved_model=request.envelope["model"],
        raw={"text": script.reply},
    )


def _error(script: Script, request: Request) -> Exception:
    kind = getattr(core.errors, script.fail, None)
    if not (isinstance(kind, type) and issubclass(kind, core.errors.TurntreeError)):
        return BadRequest(f"There is no error called {script.fail!r}.")
    message = f"The script asked for this {script.fail}."
    if not issubclass(kind, ProviderError):
        return kind(message)
    return kind(
        message,
        provider="echo",
        model=request.envelope["model"],
        status=script.status,
        retry_after=script.retry_after,
    )
