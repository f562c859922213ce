"""Gemini's REST interface on the wire, stricter than the real one.

It refuses whatever Google's documentation rules out, with bodies in Google's shape, records
every request it got, and then plays the steps a test has put on. Thoughts are signed with a
hash of the model, of all that came before and of the signed part itself: a signature that is
another model's, or that has lost its place, is refused.
"""

import json
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.fakes.chat_completions import Play, Played, Seen, sse
from tests.fakes.gemini_rules import (
    DUMMY,
    Refused,
    check,
    error_info,
    known,
    quota,
    refusal,
    retry_info,
    signature,
    violation,
)

__all__ = [
    "DUMMY",
    "Gemini",
    "Refused",
    "check",
    "chunk",
    "error_info",
    "quota",
    "refusal",
    "retry_info",
    "signature",
    "signed",
    "violation",
]

Body = dict[str, Any]
Script = Play | Callable[[str, Body], Play]


class Gemini:
    """The fake. ``app`` is ASGI, ``play`` what comes next, ``seen`` what came in."""

    def __init__(self, key: str, models: Sequence[Body] = ()) -> None:
        self.key = key
        self.models = list(models)
        self.play: Script = Play()
        self.seen: list[Seen] = []
        self.paths: list[str] = []
        self.hung_up = threading.Event()
        self.app = Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "POST"])])

    async def answer(self, request: Request) -> Response:
        raw = await request.body()
        headers = [(k.decode().lower(), v.decode()) for k, v in request.headers.raw]
        seen = Seen(headers, {}, raw)
        self.seen.append(seen)
        self.paths.append(f"{request.url.path}?{request.url.query}")
        try:
            return self._answer(request, seen)
        except Refused as exc:
            seen.refused = exc.message
            return Played(exc.play(), self.hung_up)

    def _answer(self, request: Request, seen: Seen) -> Response:
        place = re.fullmatch(r"/(v1|v1beta)/(?:models/([\w.-]+):)?(\w+)", request.url.path)
        if place is None:
            raise Refused("Requested entity was not found.", 404, "NOT_FOUND")
        if request.headers.get("x-goog-api-key") != self.key:
            raise Refused(
                "API key not valid. Please pass a valid API key.", reason="API_KEY_INVALID"
            )
        model, method = place[2] or "", place[3]
        if method == "models" and request.method == "GET":
            return JSONResponse(self._page(request))
        if model == "no-such-model":
            raise Refused(
                f"models/{model} is not found for API version v1beta, or is not supported for"
                " generateContent.", 404, "NOT_FOUND",
            )  # fmt: skip
        seen.body = _json(seen.raw)
        if method == "countTokens":
            return JSONResponse(self._count(model, seen.body))
        if method != "streamGenerateContent" or request.query_params.get("alt") != "sse":
            raise Refused("Method not found.", 404, "NOT_FOUND")
        check(model, seen.body)
        play = self.play if isinstance(self.play, Play) else self.play(model, seen.body)
        return Played(play, self.hung_up)

    def _page(self, request: Request) -> Body:
        """Two models a page, whatever was asked for: clients must follow the token."""
        start = int(request.query_params.get("pageToken", "0"))
        page: Body = {"models": self.models[start : start + 2]}
        if start + 2 < len(self.models):
            page["nextPageToken"] = str(start + 2)
        return page

    def _count(self, model: str, body: Body) -> Body:
        known(body, {"contents", "generateContentRequest"}, "count")
        whole = body.get("generateContentRequest")
        if whole is not None:
            if body.get("contents"):
                raise Refused("contents and generate_content_request are mutually exclusive.")
            whole = dict(whole)
            if whole.pop("model", None) != f"models/{model}":
                raise Refused("The model names do not match.")
            check(model, whole)
        return {"totalTokens": len(json.dumps(whole or body["contents"]))}


def _json(raw: bytes) -> Body:
    def no_constant(name: str) -> None:
        raise ValueError(name)

    try:
        body = json.loads(raw.decode("utf-8"), parse_constant=no_constant)
    except ValueError:
        raise Refused("Invalid JSON payload received. Unexpected token.") from None
    if not isinstance(body, dict):
        raise Refused("Invalid JSON payload received.")
    return canonical(body)


def canonical(thing: Any, name: str = "") -> Any:
    """One form for what may be written in two: names in either case, bytes in either alphabet."""
    if name in ("args", "response", "parametersJsonSchema", "responseJsonSchema"):
        return thing
    if name in ("data", "thoughtSignature") and isinstance(thing, str):
        return thing.replace("-", "+").replace("_", "/")
    if isinstance(thing, list):
        return [canonical(one) for one in thing]
    if isinstance(thing, dict):
        named = {
            re.sub(r"(?<=[a-z])_([a-z])", lambda c: c[1].upper(), n): v for n, v in thing.items()
        }
        return {n: canonical(v, n) for n, v in named.items()}
    return thing


# --- writing streams ---------------------------------------------------------------------


def chunk(*parts: Body, finish: str | None = None, **more: Any) -> bytes:
    """A chunk with one candidate."""
    candidate: Body = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return sse({"candidates": [candidate], **_HEAD, **more})


def signed(model: str, body: Body, part: Body) -> Body:
    """A part of the answer to a request, with its signature."""
    return {**part, "thoughtSignature": signature(model, body["contents"], part)}


_HEAD = {"modelVersion": "fake-gemini-001", "responseId": "r1"}
