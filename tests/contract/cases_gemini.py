"""Gemini in the contract suite: scenes become what generateContent streams."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from google.genai import _api_client
from google.genai import errors as sdk

from core import errors
from core.providers import gemini
from core.types import Endpoint, FinishReason, Usage
from core.wire.gemini_answer import InBand
from tests.contract.case import Scene, Stage, Trouble, ask
from tests.contract.transport import samples
from tests.fakes import gemini as fake
from tests.fakes.chat_completions import HangUp, Pause, Play, Step, sliced, sse
from tests.fakes.server import serving

KEY = "sk-fake-AIza0123456789abcdefWXYZ"
MODEL = "gemini-3.8-flash"
Part = dict[str, Any]
_WIRE_REASON: dict[FinishReason, str] = {
    "stop": "STOP",
    "tool_call": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
}
_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_LONG = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
TROUBLES: dict[Trouble, Play] = {
    "bad_key": fake.refusal(
        400,
        f"API key not valid. Please pass a valid API key: {KEY}.",
        "INVALID_ARGUMENT",
        fake.error_info("API_KEY_INVALID"),
    ),
    "no_credit": fake.refusal(
        429, "Your prepayment credits are depleted. See billing.", "RESOURCE_EXHAUSTED"
    ),
    "no_permission": fake.refusal(
        403, "Generative Language API has not been used in project 1.", "PERMISSION_DENIED"
    ),
    "unknown_model": fake.refusal(
        404,
        "models/gemini-9 is not found for API version v1beta, or is not supported for"
        " generateContent. Call ListModels to see the list of available models.",
        "NOT_FOUND",
    ),
    "rate_limited": fake.refusal(
        429,
        f"{_QUOTA} Please retry in 7.2s.",
        "RESOURCE_EXHAUSTED",
        fake.quota("GenerateRequestsPerMinutePerProjectPerModel"),
        fake.retry_info("7s"),
    ),
    "quota": fake.refusal(
        429,
        f"{_QUOTA} Please retry in 7.2s.",
        "RESOURCE_EXHAUSTED",
        fake.quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        fake.retry_info("7s"),
    ),
    "overloaded": fake.refusal(
        503, "The model is overloaded. Please try again later.", "UNAVAILABLE"
    ),
    "server_error": fake.refusal(500, "An internal error has occurred.", "INTERNAL"),
    "gateway_timeout": fake.refusal(
        504, "Deadline expired before operation could complete.", "DEADLINE_EXCEEDED"
    ),
    "context_too_long": fake.refusal(400, _LONG, "INVALID_ARGUMENT"),
    "context_too_long_in_words": fake.refusal(
        400, "The prompt exceeds the context window of the model.", "INVALID_ARGUMENT"
    ),
    "too_many_bytes": Play(status=413, body="<html>Request Entity Too Large</html>"),
    "bad_parameter": fake.refusal(
        400,
        "Invalid value at 'generation_config.temperature' (type.googleapis.com/google.type.Float)",
        "INVALID_ARGUMENT",
        fake.violation("generation_config.temperature", "out of range"),
    ),
    "unprocessable": Play(
        status=422,
        body={"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs not permitted"}]},
    ),
    "not_found": Play(status=404, body="<html>404. That is an error.</html>"),
    "redirect": Play(status=307, headers={"location": "http://192.0.2.1/v1"}, body=""),
    "page_instead_of_api": Play(status=200, body="<html>Welcome</html>"),
}
_NOISE: Sequence[Step] = (
    b": keep-alive\n\n",
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b"id: 7\nretry: 1000\n\n",
    sse({"novelty": {"a": [1]}, "candidates": None}),
    sse({"candidates": [{"content": {"role": "model"}, "novelty": 1}]}),
    sse({"candidates": [{"content": {"parts": [{"novelty": {"a": 1}}]}}]}),
)


def steps(scene: Scene, sign: Callable[[Part], Part] = lambda part: part) -> list[Step]:
    """The stream of a scene; ``sign`` signs what the model signs: the first of its calls, or
    an empty last part where it thought and called nothing."""
    stream: list[Step] = [fake.chunk({"text": word, "thought": True}) for word in scene.thinking]
    stream += [fake.chunk({"text": word}) for word in scene.text]
    for place, call in enumerate(scene.calls):
        function = {"name": call.name, "args": json.loads(call.arguments)}
        part = {"functionCall": {**function, **({"id": call.id} if call.id else {})}}
        stream.append(fake.chunk(part if place else sign(part)))
    if scene.pause:
        stream = [step for piece in stream for step in (Pause(scene.pause), piece)]
    if scene.stall:
        return [*stream, Pause(30)]
    if scene.breaks:
        return [*stream, HangUp()]
    if scene.trouble:
        return [*stream, sse(TROUBLES[scene.trouble].body)]
    if scene.finish is not None:
        more = {"usageMetadata": usage(scene.usage)} if scene.usage else {}
        last = {"text": ""}
        last = sign(last) if scene.thinking and not scene.calls else last
        stream.append(fake.chunk(last, finish=_WIRE_REASON[scene.finish], **more))
    if scene.noise:
        stream = [step for piece in stream for step in (*_NOISE, piece)]
    return sliced(stream, scene.slice) if scene.slice else stream


def usage(given: Usage) -> dict[str, int]:
    """Tokens as Gemini counts them: thoughts are not among the candidates'."""
    said = None
    if given.output_tokens is not None:
        said = given.output_tokens - (given.reasoning_tokens or 0)
    numbers = {
        "promptTokenCount": given.input_tokens,
        "cachedContentTokenCount": given.cached_tokens,
        "candidatesTokenCount": said,
        "thoughtsTokenCount": given.reasoning_tokens,
    }
    return {name: number for name, number in numbers.items() if number is not None}


class GeminiCase:
    name = "gemini"
    model = MODEL
    can = frozenset({"build", "stream", "http", "thinking", "tools", "usage", "slow", "cut_off"})

    @contextmanager
    def stage(self, scene: Scene) -> Iterator[Stage]:
        server = fake.Gemini(key=KEY)
        if scene.trouble and not scene.trouble_after_text:
            server.play = TROUBLES[scene.trouble]
        else:
            server.play = Play(steps=steps(scene), wait=scene.wait)
        with serving(server.app) as address:
            yield Stage(
                call=ask("Hi", self.model, sampling={"temperature": 0.5}),
                endpoint=Endpoint(base_url=address, api_key=KEY),
                seen=server.seen,
                hung_up=server.hung_up,
            )
        assert [seen.refused for seen in server.seen if seen.refused] == []

    def exceptions(self) -> Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
        return {**_sdk_errors(), **samples(f"said {KEY}")}  # it leaks them as they are

    def translate(self, exc: Exception) -> Exception:
        endpoint = Endpoint(base_url="http://127.0.0.1:1", api_key=KEY)
        return gemini.translate(exc, {"model": self.model}, endpoint)


def _said(code: int, status: str = "", *details: Any) -> dict[str, Any]:
    error = {"code": code, "message": f"said {KEY}", "status": status, "details": list(details)}
    return {"error": error}


def _sdk_errors() -> dict[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
    """Every class of the SDK with what it becomes; one that is missing fails the suite."""
    client, server, unread = sdk.ClientError, sdk.ServerError, errors.BadReply
    bad_key = fake.error_info("API_KEY_INVALID")
    return {
        sdk.APIError: [
            (sdk.APIError(307, _said(307)), errors.Unreachable),
            (sdk.APIError(418, {"message": KEY}), errors.BadRequest),
            (sdk.APIError(502, "text"), errors.Overloaded),
        ],
        client: [
            (client(400, _said(400, "INVALID_ARGUMENT")), errors.BadRequest),
            (client(400, _said(400, "INVALID_ARGUMENT", bad_key)), errors.AuthFailed),
            (client(400, [_said(400, "INVALID_ARGUMENT", bad_key)]), errors.AuthFailed),
            (client(401, _said(401, "UNAUTHENTICATED")), errors.AuthFailed),
            (client(403, _said(403, "PERMISSION_DENIED")), errors.NoPermission),
            (client(404, _said(404, "NOT_FOUND")), errors.BadRequest),
            (client(413, {"message": ""}), errors.ContextTooLong),
            (client(429, _said(429, "RESOURCE_EXHAUSTED")), errors.RateLimited),
        ],
        server: [
            (server(500, _said(500, "INTERNAL")), errors.Overloaded),
            (server(503, _said(503, "UNAVAILABLE")), errors.Overloaded),
            (server(504, _said(504, "DEADLINE_EXCEEDED")), errors.Timeout),
        ],
        InBand: [
            (InBand(_said(429, "RESOURCE_EXHAUSTED")["error"]), errors.RateLimited),
            (InBand(KEY), unread),
        ],
        _api_client.EphemeralTokenAPIKeyError: [
            (_api_client.EphemeralTokenAPIKeyError(KEY), errors.AuthFailed)
        ],
        **{
            kind: [(kind(KEY), unread)]
            for kind in (
                # of automatic function calling and of another interface, which are not used
                sdk.UnknownFunctionCallArgumentError,
                sdk.UnsupportedFunctionError,
                sdk.FunctionInvocationError,
                sdk.UnknownApiResponseError,
                sdk.ContinuationInterruptedError,
            )
        },
    }


CASE = GeminiCase()
