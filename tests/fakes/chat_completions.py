"""A Chat Completions server on the wire, stricter than any real one.

It refuses whatever a real server might refuse, with bodies in the documented shape, records
every request it got, and then plays the steps a test has put on.
"""

import asyncio
import json
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tests.fakes.refusing import MAGIC, PDF, Refused, check_data_url

Body = dict[str, Any]


@dataclass(frozen=True)
class Pause:
    """Silence, in seconds; ends early when the client hangs up."""

    seconds: float


@dataclass(frozen=True)
class HangUp:
    """The connection is closed in the middle of the body."""


Step = bytes | Pause | HangUp


@dataclass
class Play:
    """What the server answers: a status with headers and body, or a stream of steps."""

    steps: Sequence[Step] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    wait: float = 0
    content_type: str = "text/event-stream; charset=utf-8"


@dataclass
class Seen:
    """A request as it came over the wire."""

    headers: list[tuple[str, str]]
    body: Body
    raw: bytes
    refused: str | None = None


class ChatCompletions:
    """The fake. ``app`` is ASGI, ``play`` what comes next, ``seen`` what came in."""

    def __init__(self, key: str = "", extras: frozenset[str] = frozenset()) -> None:
        self.key = key
        self.extras = extras
        self.play = Play()
        self.seen: list[Seen] = []
        self.hung_up = threading.Event()
        self.models: Any = {"object": "list", "data": [{"id": "m", "object": "model"}]}
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self.complete, methods=["POST"]),
                Route("/v1/models", self.list_models, methods=["GET"]),
            ]
        )

    async def list_models(self, request: Request) -> Response:
        headers = [(k.decode().lower(), v.decode()) for k, v in request.headers.raw]
        self.seen.append(Seen(headers, {}, b""))
        if request.headers.get("authorization") != f"Bearer {self.key}":
            refused = refusal(401, "Incorrect API key provided.", code="invalid_api_key")
            return Played(refused, self.hung_up)
        if isinstance(self.models, Play):
            return Played(self.models, self.hung_up)
        return JSONResponse(self.models)

    async def complete(self, request: Request) -> Response:
        raw = await request.body()
        headers = [(k.decode().lower(), v.decode()) for k, v in request.headers.raw]
        seen = Seen(headers, {}, raw)
        self.seen.append(seen)
        complaint = self._complaint(request, seen)
        if complaint is not None:
            seen.refused = complaint.body["error"]["message"]
        return Played(complaint or self.play, self.hung_up)

    def _complaint(self, request: Request, seen: Seen) -> Play | None:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            given = request.headers.get("authorization", "")[7:]
            shown = f"{given[:8]}{'*' * 12}{given[-4:]}"
            message = f"Incorrect API key provided: {shown}. You can find your API key online."
            return refusal(401, message, code="invalid_api_key")
        try:
            seen.body = json.loads(seen.raw.decode("utf-8"))
        except ValueError:
            return refusal(400, "We could not parse the JSON body of your request.")
        try:
            check(seen.body, self.extras)
        except Refused as exc:
            return refusal(400, exc.message, param=exc.param, code=exc.code)
        return None


class Played(Response):
    """A response that follows its steps and notices when the client goes away."""

    def __init__(self, play: Play, hung_up: threading.Event) -> None:
        super().__init__()
        self.play, self.hung_up = play, hung_up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(self._gone(receive))
        try:
            if await _silence(self.play.wait, gone):
                return
            if self.play.body is not None or self.play.status != 200:
                await self._whole(scope, receive, send)
            else:
                await self._steps(send, gone)
        finally:
            gone.cancel()

    async def _gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.hung_up.set()

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = self.play.body
        headers = dict(self.play.headers)
        if isinstance(body, str):
            answer = Response(body, self.play.status, headers, media_type="text/html")
        else:
            answer = JSONResponse(body, self.play.status, headers)
        await answer(scope, receive, send)

    async def _steps(self, send: Send, gone: "asyncio.Future[None]") -> None:
        headers = {"content-type": self.play.content_type, **self.play.headers}
        pairs = [(k.encode(), v.encode()) for k, v in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": pairs})
        for step in self.play.steps:
            if gone.done():
                return
            if isinstance(step, HangUp):
                raise ConnectionAbortedError("as the test asked")
            if isinstance(step, Pause):
                await _silence(step.seconds, gone)
            else:
                await send({"type": "http.response.body", "body": step, "more_body": True})
                await asyncio.sleep(0)  # let a hang-up be noticed
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _silence(seconds: float, gone: "asyncio.Future[None]") -> bool:
    """Wait; true when the client hung up meanwhile."""
    if seconds:
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(gone), seconds)
    return gone.done()


def refusal(
    status: int,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    kind: str = "invalid_request_error",
    headers: Mapping[str, str] | None = None,
) -> Play:
    """An error in the documented shape."""
    error = {"message": message, "type": kind, "param": param, "code": code}
    return Play(status=status, body={"error": error}, headers=headers or {})


# --- writing streams -------------------------------------------------------------------------


def sse(payload: Any) -> bytes:
    """One event; unescaped, so that text is cut inside UTF-8 when sliced."""
    text = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    try:
        return f"data: {text}\n\n".encode()
    except UnicodeEncodeError:  # half a character can only be sent escaped
        return f"data: {json.dumps(payload)}\n\n".encode()


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """A chunk with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return sse({**_HEAD, "choices": [choice], **more})


def usage(**numbers: Any) -> bytes:
    """The chunk that only carries the usage."""
    return sse({**_HEAD, "choices": [], "usage": numbers})


def sliced(steps: Sequence[Step], size: int) -> list[Step]:
    """The same bytes in pieces of ``size``, whatever they cut through."""
    whole = b"".join(step for step in steps if isinstance(step, bytes))
    return [whole[i : i + size] for i in range(0, len(whole), size)]


DONE = b"data: [DONE]\n\n"
_HEAD = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1700000000,
    "model": "fake-model-2026-01-01",
}


# --- judging requests ------------------------------------------------------------------------


_RANGES: dict[str, tuple[type | tuple[type, ...], float, float]] = {
    "temperature": ((int, float), 0, 2),
    "top_p": ((int, float), 0, 1),
    "frequency_penalty": ((int, float), -2, 2),
    "presence_penalty": ((int, float), -2, 2),
    "max_tokens": (int, 1, 1_000_000),
    "seed": (int, -(2**63), 2**63 - 1),
}
_OURS = {"model", "messages", "stream", "stream_options", "stop", "tools", "tool_choice"}
_KNOWN = {*_OURS, "reasoning_effort", *_RANGES}


def check(body: Any, extras: frozenset[str] = frozenset()) -> None:
    """Raise :class:`Refused` at the first thing that is not right."""
    if not isinstance(body, dict):
        raise Refused("The body must be an object.")
    for name in body:
        if name not in _KNOWN | extras:
            raise Refused(f"Unrecognized request argument supplied: {name}", name)
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refused("you must provide a model parameter", "model")
    if body["model"] == "no-such-model":
        message = "The model `no-such-model` does not exist or you do not have access to it."
        raise Refused(message, None, "model_not_found")
    for name, (kind, low, high) in _RANGES.items():
        if name in body:
            _in_range(name, body[name], kind, low, high)
    _check_stream(body)
    _check_stops(body.get("stop"))
    _check_tools(body.get("tools"), body.get("tool_choice"))
    _check_messages(body.get("messages"))


def _in_range(name: str, value: Any, kind: Any, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise Refused(f"Invalid type for '{name}'.", name, "invalid_type")
    if not low <= value <= high:
        raise Refused(f"Invalid '{name}': out of range.", name, "decimal_above_max_value")


def _check_stream(body: Body) -> None:
    if not isinstance(body.get("stream", False), bool):
        raise Refused("Invalid type for 'stream'.", "stream", "invalid_type")
    options = body.get("stream_options")
    if options is not None and not body.get("stream"):
        raise Refused("'stream_options' is only allowed with 'stream'.", "stream_options")
    if options is not None and set(options) - {"include_usage"}:
        raise Refused("Unknown parameter in 'stream_options'.", "stream_options")


def _check_stops(stops: Any) -> None:
    if stops is None:
        return
    if not isinstance(stops, list) or not 1 <= len(stops) <= 4:
        raise Refused("Invalid 'stop': 1 to 4 strings.", "stop")
    if not all(isinstance(stop, str) and stop for stop in stops):
        raise Refused("Invalid 'stop': empty string.", "stop")


def _check_tools(tools: Any, choice: Any) -> None:
    if tools is None and choice is None:
        return
    if not isinstance(tools, list) or not tools:
        raise Refused("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    names = set()
    for number, tool in enumerate(tools):
        function = tool.get("function") or {}
        if set(tool) != {"type", "function"} or tool["type"] != "function":
            raise Refused(f"Invalid 'tools[{number}]'.", "tools")
        if set(function) - {"name", "description", "parameters"}:
            raise Refused(f"Unknown field in 'tools[{number}].function'.", "tools")
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(function.get("name"))):
            raise Refused(f"Invalid 'tools[{number}].function.name'.", "tools")
        schema = function.get("parameters") or {}
        if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
            raise Refused(f"Invalid schema for function '{function['name']}'.", "tools")
        names.add(function["name"])
    if len(names) != len(tools):
        raise Refused("Tool names must be unique.", "tools")
    named = [{"type": "function", "function": {"name": name}} for name in names]
    if choice not in (None, "auto", "required", "none", *named):
        raise Refused("Invalid 'tool_choice'.", "tool_choice")


_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refused("Invalid 'messages': empty array.", "messages", "empty_array")
    owed: set[str] = set()
    before = ""
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        if role not in _FIELDS or set(message) - _FIELDS[role]:
            raise Refused(f"Invalid value or field in '{where}'.", where)
        if role == "system" and number:
            raise Refused("System message must be at the beginning.", where)
        if role == before and role != "tool":
            raise Refused("Conversation roles must alternate user/assistant/...", where)
        if role == "tool":
            _check_result(message, owed, where)
        elif owed:
            raise Refused(f"tool_call_ids did not have response messages: {owed}", where)
        elif message.get("tool_calls") is not None:
            owed = _check_calls(message, where)
        if message.get("tool_calls") is None:
            _check_content(message, where)
        before = role
    if owed:
        raise Refused(f"tool_call_ids did not have response messages: {owed}", "messages")


def _check_content(message: Body, where: str) -> None:
    content = message.get("content")
    if isinstance(content, list) and content and message["role"] == "user":
        for part in content:
            _check_part(part, where)
        return
    if not isinstance(content, str) or not content.strip():
        raise Refused(f"Invalid '{where}.content': must not be empty.", where)


def _check_part(part: Body, where: str) -> None:
    match part:
        case {"type": "text", "text": str(text)} if text.strip() and len(part) == 2:
            pass
        case {"type": "image_url", "image_url": {"url": url}} if len(part) == 2:
            check_data_url(url, MAGIC, where)
        case {"type": "file", "file": {"filename": str(), "file_data": url}} if len(part) == 2:
            check_data_url(url, PDF, where)
        case _:
            raise Refused(f"Invalid part in '{where}.content'.", where)


def _check_result(message: Body, owed: set[str], where: str) -> None:
    if message.get("tool_call_id") not in owed:
        raise Refused("'tool' must be a response to a preceding message with 'tool_calls'.", where)
    owed.discard(message["tool_call_id"])


def _check_calls(message: Body, where: str) -> set[str]:
    calls = message["tool_calls"]
    if message["role"] != "assistant" or not isinstance(calls, list) or not calls:
        raise Refused(f"Invalid '{where}.tool_calls'.", where)
    for call in calls:
        function = call.get("function") or {}
        if not call.get("id") or call.get("type") != "function" or not function.get("name"):
            raise Refused(f"Missing field in '{where}.tool_calls'.", where)
        try:
            arguments = json.loads(function["arguments"])
        except (ValueError, TypeError, KeyError):
            arguments = None
        if not isinstance(arguments, dict):
            raise Refused("Tool call arguments must be a JSON object.", where)
    ids = {call["id"] for call in calls}
    if len(ids) != len(calls):
        raise Refused("Duplicate tool call ids.", where)
    return ids
