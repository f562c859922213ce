"""Chat Completions in the contract suite: scenes become what a server sends."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

import httpx2
import openai
import openai.lib._old_api
import openai.lib.azure

from core import errors
from core.providers import compatible
from core.types import Endpoint, FinishReason, Usage
from tests.contract.case import Scene, Stage, Trouble, ask
from tests.contract.transport import samples
from tests.fakes import chat_completions as fake
from tests.fakes.server import serving

KEY = "sk-fake-0123456789abcdefWXYZ"
_WIRE_REASON: dict[FinishReason, str] = {"tool_call": "tool_calls", "refusal": "stop"}
_LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
TROUBLES: dict[Trouble, fake.Play] = {
    "bad_key": fake.refusal(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key"),
    "no_credit": fake.refusal(402, "Insufficient credits.", code="402"),
    "no_permission": fake.refusal(403, "Country, region, or territory not supported."),
    "unknown_model": fake.refusal(404, "The model does not exist.", code="model_not_found"),
    "rate_limited": fake.refusal(
        429, "Rate limit reached.", code="rate_limit_exceeded", headers={"retry-after": "7"}
    ),
    "quota": fake.refusal(429, "You exceeded your current quota.", code="insufficient_quota"),
    "overloaded": fake.refusal(503, "Loading model", kind="unavailable_error"),
    "server_error": fake.refusal(500, "The server had an error.", kind="server_error"),
    "gateway_timeout": fake.Play(status=504, body="<html>Gateway time-out</html>"),
    "context_too_long": fake.refusal(400, "Too much.", code="context_length_exceeded"),
    "context_too_long_in_words": fake.refusal(400, _LONG),
    "too_many_bytes": fake.Play(status=413, body="<html>Request Entity Too Large</html>"),
    "bad_parameter": fake.refusal(
        400, "Unsupported value: 'temperature'.", param="temperature", code="unsupported_value"
    ),
    "unprocessable": fake.Play(
        status=422,
        body={"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs not permitted"}]},
    ),
    "not_found": fake.Play(status=404, body={"detail": "Not Found"}),
    "redirect": fake.Play(status=307, headers={"location": "http://192.0.2.1/v1"}, body=""),
    "page_instead_of_api": fake.Play(status=200, body="<html>Welcome</html>"),
}
_NOISE: Sequence[fake.Step] = (
    b": keep-alive\n\n",
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b"id: 7\nretry: 1000\n\n",
    fake.sse({"choices": None, "novelty": {"a": [1]}}),
    fake.sse({"choices": []}),
)


def steps(scene: Scene) -> list[fake.Step]:
    """The stream of a scene."""
    stream: list[fake.Step] = []
    for number in range(1, scene.progress + 1):
        done = {"total": scene.progress, "cache": 0, "processed": number, "time_ms": 1}
        stream.append(fake.chunk({}, prompt_progress=done))
    stream += [fake.chunk({"reasoning_content": word}) for word in scene.thinking]
    stream += [fake.chunk({"content": word}) for word in scene.text]
    if scene.refusal:
        stream.append(fake.chunk({"refusal": scene.refusal}))
    for index, call in enumerate(scene.calls):
        stream += _call_steps(index, call)
    if scene.pause:
        stream = [step for piece in stream for step in (fake.Pause(scene.pause), piece)]
    if scene.stall:
        return [*stream, fake.Pause(30)]
    if scene.breaks:
        return [*stream, fake.HangUp()]
    if scene.trouble:
        body = TROUBLES[scene.trouble].body
        return [*stream, fake.sse({"error": {**body["error"], "code": body["error"]["code"]}})]
    if scene.finish is not None:
        stream.append(fake.chunk({}, _WIRE_REASON.get(scene.finish, scene.finish)))
        stream += _usage_steps(scene.usage)
        stream.append(fake.DONE)
    if scene.noise:
        stream = [step for piece in stream for step in (*_NOISE, piece)]
    return fake.sliced(stream, scene.slice) if scene.slice else stream


def _call_steps(index: int, call: Any) -> list[fake.Step]:
    half = len(call.arguments) // 2
    first = {"name": call.name, "arguments": call.arguments[:half]}
    second = {"arguments": call.arguments[half:]}
    return [
        fake.chunk({"tool_calls": [{"index": index, "id": call.id, "function": first}]}),
        fake.chunk({"tool_calls": [{"index": index, "function": second}]}),
    ]


def _usage_steps(usage: Usage | None) -> list[fake.Step]:
    if usage is None:
        return []
    numbers = asdict(usage)
    return [
        fake.usage(
            prompt_tokens=numbers["input_tokens"],
            completion_tokens=numbers["output_tokens"],
            total_tokens=0,
            prompt_tokens_details={
                "cached_tokens": numbers["cached_tokens"],
                "cache_write_tokens": numbers["cache_write_tokens"],
            },
            completion_tokens_details={"reasoning_tokens": numbers["reasoning_tokens"]},
        )
    ]


class CompatibleCase:
    name = "compatible"
    model = "fake-model"
    can = frozenset(
        {
            "build",
            "stream",
            "http",
            "thinking",
            "tools",
            "refusal",
            "progress",
            "usage",
            "slow",
            "cut_off",
        }
    )

    @contextmanager
    def stage(self, scene: Scene) -> Iterator[Stage]:
        server = fake.ChatCompletions(key=KEY)
        if scene.trouble and not scene.trouble_after_text:
            server.play = TROUBLES[scene.trouble]
        else:
            server.play = fake.Play(steps=steps(scene), wait=scene.wait)
        compatible._client.cache_clear()
        with serving(server.app) as address:
            yield Stage(
                call=ask("Hi", self.model, sampling={"temperature": 0.5}),
                endpoint=Endpoint(base_url=f"{address}/v1", api_key=KEY),
                seen=server.seen,
                hung_up=server.hung_up,
            )
        assert [seen.refused for seen in server.seen if seen.refused] == []

    def exceptions(self) -> Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
        wrap = partial(openai.APIConnectionError, request=_REQUEST)
        return {**_sdk_errors(), **samples(f"said {KEY}", wrap)}

    def translate(self, exc: Exception) -> Exception:
        endpoint = Endpoint(base_url="http://127.0.0.1:1/v1", api_key=KEY)
        return compatible.translate(exc, {"model": self.model}, endpoint, self.name)


_REQUEST = httpx2.Request("POST", "http://127.0.0.1:1/v1", headers={"Authorization": KEY})


def _status(kind: type[openai.APIStatusError], status: int, **body: Any) -> openai.APIStatusError:
    response = httpx2.Response(status, request=_REQUEST)
    if kind is openai.OAuthError:
        return openai.OAuthError(response=response, body=body)
    return kind(f"said {KEY}", response=response, body={"message": f"said {KEY}", **body})


def _sdk_errors() -> dict[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
    """Every class of the SDK with what it becomes; one that is missing fails the suite."""
    response = httpx2.Response(200, request=_REQUEST)
    bad = openai.BadRequestError
    unread = errors.BadReply
    return {
        openai.OpenAIError: [(openai.OpenAIError(KEY), unread)],
        openai.APIError: [
            (openai.APIError(KEY, _REQUEST, body=None), unread),
            (openai.APIError(KEY, _REQUEST, body={"code": 429}), errors.RateLimited),
            (openai.APIError(KEY, _REQUEST, body={"type": "server_error"}), errors.Overloaded),
        ],
        openai.APIResponseValidationError: [
            (openai.APIResponseValidationError(response, None), unread)
        ],
        openai.APIConnectionError: [
            (openai.APIConnectionError(request=_REQUEST), errors.Unreachable)
        ],
        openai.APITimeoutError: [(openai.APITimeoutError(_REQUEST), errors.Timeout)],
        openai.APIStatusError: [(_status(openai.APIStatusError, 418), errors.BadRequest)],
        bad: [
            (_status(bad, 400), errors.BadRequest),
            (_status(bad, 400, code="context_length_exceeded"), errors.ContextTooLong),
        ],
        openai.AuthenticationError: [(_status(openai.AuthenticationError, 401), errors.AuthFailed)],
        openai.OAuthError: [(_status(openai.OAuthError, 401), errors.AuthFailed)],
        openai.PermissionDeniedError: [
            (_status(openai.PermissionDeniedError, 403), errors.NoPermission)
        ],
        openai.NotFoundError: [
            (_status(openai.NotFoundError, 404, code="model_not_found"), errors.UnknownModel),
            (_status(openai.NotFoundError, 404), errors.BadRequest),
        ],
        openai.ConflictError: [(_status(openai.ConflictError, 409), errors.Overloaded)],
        openai.UnprocessableEntityError: [
            (_status(openai.UnprocessableEntityError, 422), errors.BadRequest)
        ],
        openai.RateLimitError: [
            (_status(openai.RateLimitError, 429), errors.RateLimited),
            (_status(openai.RateLimitError, 429, code="insufficient_quota"), errors.QuotaExhausted),
        ],
        openai.InternalServerError: [
            (_status(openai.InternalServerError, status), errors.Overloaded)
            for status in (500, 502, 503, 529)
        ],
        **{kind: [(_bare(kind), unread)] for kind in _OF_NO_CONCERN},
    }


def _bare(kind: type[Exception]) -> Exception:
    """An instance of a class whose constructor wants what only the SDK has."""
    return kind.__new__(kind, KEY)


_OF_NO_CONCERN: tuple[type[Exception], ...] = (
    # of parsing helpers, web sockets, other clients and ways to log in that are not used
    openai.LengthFinishReasonError,
    openai.ContentFilterFinishReasonError,
    openai.WebSocketConnectionClosedError,
    openai.WebSocketQueueFullError,
    openai._exceptions.SubjectTokenProviderError,
    openai._AmbiguousModuleClientUsageError,
    openai._response.StreamAlreadyConsumed,
    openai.lib._old_api.APIRemovedInV1,
    openai.lib.azure.MutuallyExclusiveAuthError,
)


def bytes_of(request: Any) -> str:
    """A built request as text, key order included."""
    return json.dumps([request.envelope, request.messages])


CASE = CompatibleCase()
