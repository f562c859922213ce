"""OpenAI's Responses API on the wire, stricter than the real one.

It refuses whatever breaks a documented rule, with bodies in the documented shape, and signs the
reasoning it gives: with the model, the conversation before it, and the reasoning itself. A
stranger's reasoning, or its own in a changed conversation, it does not take.
"""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.fakes.chat_completions import (
    Body,
    HangUp,
    Pause,
    Play,
    Played,
    Seen,
    Step,
    refusal,
    sliced,
    sse,
)
from tests.fakes.openai_rules import check, check_count, reasoning
from tests.fakes.refusing import Refused

__all__ = [
    "HangUp",
    "Pause",
    "Play",
    "Refused",
    "Responses",
    "Step",
    "check",
    "reasoning",
    "refusal",
    "sliced",
    "sse",
]

MODELS: Sequence[Body] = (
    {"id": "gpt-4.1", "object": "model", "created": 10, "owned_by": "openai"},
    {
        "id": "gpt-5-mini",
        "object": "model",
        "created": 20,
        "owned_by": "openai",
        "shutdown_date": "2999-12-11",
    },
    {"id": "o1", "object": "model", "created": 5, "owned_by": "x", "shutdown_date": "2020-01-01"},
    {"id": "gpt-6-sol", "object": "model", "created": 30, "owned_by": "openai"},
    {"id": "text-embedding-3-small", "object": "model", "created": 1, "owned_by": "openai"},
    {"id": "gpt-4o-realtime-preview", "object": "model", "created": 2, "owned_by": "openai"},
    {"id": "gpt-image-2", "object": "model", "created": 3, "owned_by": "openai"},
    {"id": "gpt-4o-mini-tts", "object": "model", "created": 3, "owned_by": "openai"},
    {"id": "whisper-1", "object": "model", "created": 3, "owned_by": "openai"},
)
Playing = Play | Callable[[Body], Play]


class Responses:
    """The fake. ``app`` is ASGI, ``play`` what comes next, ``seen`` what came in."""

    def __init__(self, key: str = "") -> None:
        self.key = key
        self.play: Playing = Play()
        self.tokens = 42
        self.seen: list[Seen] = []
        self.hung_up = threading.Event()
        self.app = Starlette(
            routes=[
                Route("/v1/responses", self.create, methods=["POST"]),
                Route("/v1/responses/input_tokens", self.count, methods=["POST"]),
                Route("/v1/models", self.models, methods=["GET"]),
            ]
        )

    async def create(self, request: Request) -> Response:
        complaint, seen = await self._taken(request, check)
        if complaint is not None:
            return Played(complaint, self.hung_up)
        play = self.play if isinstance(self.play, Play) else self.play(seen.body)
        return Played(play, self.hung_up)

    async def count(self, request: Request) -> Response:
        complaint, _ = await self._taken(request, check_count)
        if complaint is not None:
            return Played(complaint, self.hung_up)
        return JSONResponse({"object": "response.input_tokens", "input_tokens": self.tokens})

    async def models(self, request: Request) -> Response:
        complaint, _ = await self._taken(request, None)
        if complaint is not None:
            return Played(complaint, self.hung_up)
        if isinstance(self.play, Play) and self.play.status != 200:
            return Played(self.play, self.hung_up)
        return JSONResponse({"object": "list", "data": MODELS})

    async def _taken(
        self, request: Request, judge: Callable[[Any], None] | None
    ) -> tuple[Play | None, Seen]:
        raw = await request.body()
        headers = [(k.decode().lower(), v.decode()) for k, v in request.headers.raw]
        seen = Seen(headers, {}, raw)
        self.seen.append(seen)
        complaint = self._complaint(request, seen, judge)
        if complaint is not None:
            seen.refused = complaint.body["error"]["message"]
        return complaint, seen

    def _complaint(
        self, request: Request, seen: Seen, judge: Callable[[Any], None] | None
    ) -> Play | None:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            given = request.headers.get("authorization", "")[7:]
            shown = f"{given[:8]}{'*' * 12}{given[-4:]}"
            message = f"Incorrect API key provided: {shown}. You can find your API key online."
            return refusal(401, message, code="invalid_api_key")
        if judge is None:
            return None
        try:
            seen.body = json.loads(seen.raw.decode("utf-8"))
        except ValueError:
            return refusal(400, "We could not parse the JSON body of your request.")
        try:
            judge(seen.body)
        except Refused as exc:
            return refusal(400, exc.message, param=exc.param, code=exc.code)
        return None


# --- writing streams -------------------------------------------------------------------------

_HEAD = {"id": "resp_1", "object": "response", "created_at": 1700000000}


def event(kind: str, **more: Any) -> bytes:
    """One event, named as the API names it."""
    return f"event: {kind}\n".encode() + sse({"type": kind, "sequence_number": 1, **more})


def response(status: str, model: str = "gpt-6-sol-2026-10-01", **more: Any) -> Body:
    """The response object of the first and last events."""
    return {**_HEAD, "status": status, "model": model, "output": [], "usage": None, **more}


def created() -> list[bytes]:
    """How every answer begins."""
    begun = response("in_progress")
    return [event(f"response.{name}", response=begun) for name in ("created", "in_progress")]


def thought(place: int, item: Body, pieces: Sequence[str]) -> list[bytes]:
    """A reasoning item, its summary in pieces."""
    bare = {**item, "summary": [], "encrypted_content": "incomplete"}
    part = {"type": "summary_text", "text": ""}
    at = {"output_index": place, "item_id": item["id"], "summary_index": 0}
    return [
        event("response.output_item.added", output_index=place, item=bare),
        event("response.reasoning_summary_part.added", **at, part=part),
        *(
            event("response.reasoning_summary_text.delta", **at, delta=piece, obfuscation="x")
            for piece in pieces
        ),
        event("response.output_item.done", output_index=place, item=item),
    ]


def message(place: int, pieces: Sequence[str], *, refused: bool = False) -> list[bytes]:
    """A message item in pieces, and then whole."""
    kind = "refusal" if refused else "output_text"
    key = f"msg_{place}"
    at = {"output_index": place, "item_id": key, "content_index": 0}
    whole = said(place, "".join(pieces), refused=refused)
    bare = {**whole, "status": "in_progress", "content": []}
    return [
        event("response.output_item.added", output_index=place, item=bare),
        event("response.content_part.added", **at, part={"type": kind}),
        *(event(f"response.{kind}.delta", **at, delta=piece) for piece in pieces),
        event(f"response.{kind}.done", **at, text="".join(pieces)),
        event("response.output_item.done", output_index=place, item=whole),
    ]


def said(place: int, text: str, *, refused: bool = False) -> Body:
    """A whole message item."""
    part: Body = {"type": "output_text", "text": text, "annotations": []}
    if refused:
        part = {"type": "refusal", "refusal": text}
    return {
        "id": f"msg_{place}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "phase": "final_answer",
        "content": [part],
    }


def tool_call(place: int, call_id: str, name: str, arguments: str) -> list[bytes]:
    """A function call, its arguments in two halves."""
    half = len(arguments) // 2
    item = {
        "id": f"fc_{place}",
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }
    at = {"output_index": place, "item_id": item["id"]}
    bare = {**item, "status": "in_progress", "arguments": ""}
    return [
        event("response.output_item.added", output_index=place, item=bare),
        *(
            event("response.function_call_arguments.delta", **at, delta=piece)
            for piece in (arguments[:half], arguments[half:])
        ),
        event("response.function_call_arguments.done", **at, arguments=arguments),
        event("response.output_item.done", output_index=place, item=item),
    ]


def completed(usage: Body | None = None, **more: Any) -> bytes:
    """The last event of a good answer."""
    return event("response.completed", response=response("completed", usage=usage, **more))


def incomplete(reason: str, usage: Body | None = None) -> bytes:
    """The last event of an answer that was ended early."""
    body = response("incomplete", usage=usage, incomplete_details={"reason": reason})
    return event("response.incomplete", response=body)


def failed(code: str, words: str) -> bytes:
    """The last event of an answer that went wrong."""
    body = response("failed", error={"code": code, "message": words})
    return event("response.failed", response=body)
