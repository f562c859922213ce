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
    /refuse max_tokens   400, while that setting is sent
    /count               replies "context N messages", the system prompt counted
    /context             replies with the messages received, as JSON

``/script {...}`` on the first line gives the same as one JSON object, keys as the fields of
:class:`Script`. ``/aside {...}`` on a later line does too: for what is asked beside the
conversation, where a person's words stand within others. Usage counts words. ``max_tokens``
counts words too and ends with "length". A trailing assistant message is continued: the reply
goes on where it stops. Tools are not called again once their results are there.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pprint import pformat
from threading import Lock
from typing import assert_never

import core.errors
from core.errors import BadRequest, ProviderError, UnknownModel
from core.types import (
    AttachmentRef,
    Caching,
    Call,
    Delta,
    End,
    Endpoint,
    Event,
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
from core.wire.echo_scripts import Script, read

_PIECE = re.compile(r"\s*\S+(?:\s+\Z)?|\s+\Z")
_KNOBS = (Knob(name="max_tokens", label="Longest answer (words)", kind="integer", low=1),)
_SCRIPT = """\
from core.providers.echo import ADAPTER
from core.types import Delta, Request, Stop

request = Request(envelope={envelope}, messages={messages})
for event in ADAPTER.stream(request, None, Stop()):
    if isinstance(event, Delta) and event.kind == "text":
        print(event.text, end="", flush=True)
print()
"""


class Echo:
    """The adapter. It reads no key, opens no connection, and forgets what it is told."""

    name = "echo"
    label = "Echo (scripted)"
    key_names: tuple[str, ...] = ()
    default_url = ""
    counts = True

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
            images=True,
            tools=True,
            prefill=True,
            free=True,
        )
        return (
            plain,
            replace(plain, id="echo-slow", label="Echo, slowly"),
            replace(plain, id="echo-think", label="Echo, thinking first", thinking=True),
        )

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The same as :meth:`models`."""
        return self.models()

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """Exactly the words that :meth:`stream` reports as input."""
        return len(_words_sent(request))

    def caching(self, model: str) -> Caching | None:
        """As if it kept everything for five minutes."""
        return Caching(seconds=300)

    def body(self, request: Request) -> Json:
        """What :meth:`stream` is given: nothing of this provider goes over a wire."""
        return {**request.envelope, "messages": list(request.messages)}

    def script(self, request: Request, base_url: str) -> str:
        """The request played again; it runs where Turntree's own code can be imported."""
        envelope, messages = pformat(dict(request.envelope)), pformat(list(request.messages))
        return _SCRIPT.format(envelope=envelope, messages=messages)

    def curl(self, request: Request, base_url: str) -> str:
        """A comment: nothing of this provider goes over a wire."""
        return "# The scripted provider has no address: it answers within Turntree.\n"

    def build(self, call: Call) -> Request:
        """Role and text, and tools and files where there are any; the system prompt first."""
        knobs = {k: v for k, v in sorted(call.sampling.items()) if v is not None}
        wire = [_wire(message) for message in call.messages]
        if call.system.strip():
            wire.insert(0, {"role": "system", "text": well_formed(call.system)})
        kept = tuple(message for message in wire if len(message) > 1)
        tools = {"tools": [tool.name for tool in call.tools]} if call.tools else {}
        return Request(envelope={"model": call.model, **knobs, **tools}, messages=kept)

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Play the script in the last user message. The endpoint is not used."""
        model = request.envelope["model"]
        if model not in {info.id for info in self.models()}:
            raise UnknownModel(f"The provider does not know the model {model!r}.")
        script = _limited(read(request), request)
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
        if script.refuse in request.envelope:
            return _refusal(script.refuse, request)
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
    words = _words_sent(request)
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
        raw=[{"role": "assistant", "text": script.reply}],
    )


def _words_sent(request: Request) -> list[str]:
    return " ".join(m.get("text", "") for m in request.messages).split()


def _refusal(setting: str, request: Request) -> Exception:
    return BadRequest(
        f"The provider answered 400: Unsupported parameter: {setting!r} is not supported with"
        " this model.",
        hint=f"Clear or change {setting!r} in the settings, then retry.",
        provider="echo",
        model=request.envelope["model"],
        status=400,
        parameter=setting,
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
