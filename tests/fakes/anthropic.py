"""Anthropic's messages on the wire, stricter than the real thing.

It refuses what a real server might refuse, in the documented shape, signs the thoughts it plays
with a hash of model and prefix, remembers prefixes at breakpoints as the real cache does, and
records every request it got.
"""

import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.fakes.anthropic_rules import Body, Refused, bare, check, prefix_of, signature
from tests.fakes.chat_completions import HangUp, Pause, Play, Played, Seen

__all__ = ["Anthropic", "HangUp", "Pause", "Play", "Refused", "Thought", "check"]

VERSION = "2026-10-21"
MODEL = "claude-opus-5-5-20261101"
LOOK_BACK = 20


@dataclass(frozen=True)
class Thought:
    """A whole block of thinking, signed when it is played; ``shown`` piece by piece."""

    shown: Sequence[str]
    index: int = 0
    redacted: bool = False


Step = bytes | Pause | HangUp | Thought


@dataclass
class Anthropic:
    """The fake. ``play`` is what comes next, unless ``plays`` holds something; ``seen`` is what
    came in, and ``warm`` how many of its blocks each request found in the cache."""

    key: str = ""
    play: Play = field(default_factory=Play)
    plays: list[Play] = field(default_factory=list)
    slice: int = 0
    models: Sequence[Body] = ()
    seen: list[Seen] = field(default_factory=list)
    warm: list[int] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    _cache: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self.answer, methods=["POST"]),
                Route("/v1/messages/count_tokens", self.count, methods=["POST"]),
                Route("/v1/models", self.listing, methods=["GET"]),
            ]
        )

    async def answer(self, request: Request) -> Response:
        seen = await self._received(request)
        complaint = self._complaint(request, seen)
        if complaint is not None:
            return Played(complaint, self.hung_up)
        self._remember(seen.body)
        play = self.plays.pop(0) if self.plays else self.play
        return Played(replace(play, steps=self._resolved(play.steps, seen.body)), self.hung_up)

    async def count(self, request: Request) -> Response:
        seen = await self._received(request)
        complaint = self._complaint(request, seen, counting=True)
        if complaint is not None:
            return Played(complaint, self.hung_up)
        return JSONResponse({"input_tokens": len(json.dumps(seen.body["messages"]))})

    async def listing(self, request: Request) -> Response:
        seen = await self._received(request)
        if complaint := self._stranger(request, seen):
            return Played(complaint, self.hung_up)
        names = [model["id"] for model in self.models]
        after = request.query_params.get("after_id")
        first = names.index(after) + 1 if after else 0
        page = list(self.models[first : first + 2])
        more = first + 2 < len(names)
        last = page[-1]["id"] if page else None
        return JSONResponse({"data": page, "has_more": more, "first_id": None, "last_id": last})

    async def _received(self, request: Request) -> Seen:
        headers = [(k.decode().lower(), v.decode()) for k, v in request.headers.raw]
        self.seen.append(Seen(headers, {}, await request.body()))
        return self.seen[-1]

    def _stranger(self, request: Request, seen: Seen) -> Play | None:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return _refused(seen, Refused("invalid bearer token", 401, "authentication_error"))
        if request.headers.get("anthropic-version") != VERSION:
            return _refused(seen, Refused("anthropic-version: header is required"))
        return None

    def _complaint(self, request: Request, seen: Seen, counting: bool = False) -> Play | None:
        if stranger := self._stranger(request, seen):
            return stranger
        try:
            seen.body = json.loads(seen.raw.decode("utf-8"))
            check(seen.body, counting)
            if not counting and seen.body.get("stream") is not True:
                raise Refused("stream: this server only streams")
        except Refused as exc:
            return _refused(seen, exc)
        except ValueError:
            return _refused(seen, Refused("The request body is not valid JSON"))
        return None

    def _remember(self, body: Body) -> None:
        """What the cache knows of this request, and what it keeps of it."""
        hashes: list[str] = []
        running = hashlib.sha256(body["model"].encode())
        marks = []
        for n, block in enumerate(prefix_of(body)):
            running.update(json.dumps(bare(block), sort_keys=True).encode())
            hashes.append(running.hexdigest())
            if "cache_control" in block:
                marks.append(n)
        known = [
            place + 1
            for mark in marks
            for place in range(max(0, mark - LOOK_BACK), mark + 1)
            if hashes[place] in self._cache
        ]
        self.warm.append(max(known, default=0))
        self._cache.update(hashes[mark] for mark in marks)

    def _resolved(self, steps: Sequence[Any], body: Body) -> list[Any]:
        """The steps with their thoughts signed, cut into pieces if so wanted."""
        made: list[Any] = []
        for step in steps:
            if not isinstance(step, Thought):
                made.append(step)
                continue
            said = "redacted" if step.redacted else "".join(step.shown)
            mark = signature(body, body["messages"], said)
            if step.redacted:
                made += [start_block(step.index, type="redacted_thinking", data=mark)]
            else:
                made += [start_block(step.index, type="thinking", thinking="", signature="")]
                made += [delta(step.index, "thinking", piece) for piece in step.shown]
                made += [delta(step.index, "signature", mark)]
            made.append(stop_block(step.index))
        if not self.slice:
            return made
        whole = b"".join(step for step in made if isinstance(step, bytes))
        return [whole[i : i + self.slice] for i in range(0, len(whole), self.slice)]


def _refused(seen: Seen, exc: Refused) -> Play:
    seen.refused = exc.message
    return refusal(exc.status, exc.message, kind=exc.kind)


def refusal(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Play:
    """An error in the documented shape."""
    return Play(
        status=status,
        body=complaint(message, kind, code),
        headers={"request-id": "req_fake_1", **(headers or {})},
    )


def complaint(message: str, kind: str, code: str | None = None) -> Body:
    """The body of an error, or of an event in the stream."""
    details = {"details": {"error_code": code}} if code else {}
    error = {"type": kind, "message": message, **details}
    return {"type": "error", "error": error, "request_id": "req_fake_1"}


def plain(message: Body) -> Body:
    """A message without its breakpoints."""
    return {**message, "content": [bare(block) for block in message["content"]]}


# --- writing streams -------------------------------------------------------------------------


def sse(payload: Mapping[str, Any]) -> bytes:
    """One event under its name; unescaped, so that text is cut inside UTF-8 when sliced."""
    head = f"event: {payload['type']}\n"
    try:
        return f"{head}data: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()
    except UnicodeEncodeError:  # half a character can only be sent escaped
        return f"{head}data: {json.dumps(payload)}\n\n".encode()


def start(model: str = MODEL, **usage: Any) -> bytes:
    """The beginning of an answer."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
    rest = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage or None}
    return sse({"type": "message_start", "message": message | rest})


def start_block(index: int = 0, **block: Any) -> bytes:
    """The beginning of a block."""
    return sse({"type": "content_block_start", "index": index, "content_block": block})


_FIELDS = {"input_json": "partial_json"}


def delta(index: int, kind: str, piece: str) -> bytes:
    """A piece of a block: of text, thinking, signature or input_json."""
    inner = {"type": f"{kind}_delta", _FIELDS.get(kind, kind): piece}
    return sse({"type": "content_block_delta", "index": index, "delta": inner})


def stop_block(index: int = 0) -> bytes:
    """The end of a block."""
    return sse({"type": "content_block_stop", "index": index})


def text(*pieces: str, index: int = 0) -> list[bytes]:
    """A block of text."""
    middle = [delta(index, "text", piece) for piece in pieces]
    return [start_block(index, type="text", text=""), *middle, stop_block(index)]


def tool_use(key: str, name: str, *pieces: str, index: int = 0) -> list[bytes]:
    """A call for a tool, its input in pieces."""
    first = start_block(index, type="tool_use", id=key, name=name, input={})
    middle = [delta(index, "input_json", piece) for piece in ("", *pieces)]
    return [first, *middle, stop_block(index)]


def end(reason: str | None = "end_turn", details: Any = None, **usage: Any) -> list[bytes]:
    """The end of an answer."""
    said = {"stop_reason": reason, "stop_sequence": None, "stop_details": details}
    counted = {"output_tokens": None} | usage
    return [
        sse({"type": "message_delta", "delta": said, "usage": counted}),
        sse({"type": "message_stop"}),
    ]
