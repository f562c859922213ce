"""Anthropic's messages in the contract suite: scenes become what the provider sends."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import anthropic
import anthropic._error_classes
import anthropic._response
import anthropic.lib.foundry
import httpx2

from core import errors
from core.providers import anthropic as adapter
from core.types import Endpoint, FinishReason, Usage
from core.wire.messages_answer import InBand
from tests.contract.case import Scene, Stage, Trouble, ask
from tests.contract.transport import samples
from tests.fakes import anthropic as fake
from tests.fakes.server import serving

KEY = "sk-fake-ant-0123456789abcdefWXYZ"
_WIRE_REASON: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_call": "tool_use",
}
_LONG = "prompt is too long: 210000 tokens > 200000 maximum"
_LIMIT = "Number of request tokens has exceeded your per-minute rate limit"
TROUBLES: dict[Trouble, fake.Play] = {
    "bad_key": fake.refusal(401, f"invalid bearer token {KEY}", kind="authentication_error"),
    "no_credit": fake.refusal(402, "Your credit is used up.", kind="billing_error"),
    "no_permission": fake.refusal(403, "Not in your region.", kind="permission_error"),
    "unknown_model": fake.refusal(404, "model: claude-nothing", kind="not_found_error"),
    "rate_limited": fake.refusal(
        429, _LIMIT, kind="rate_limit_error", headers={"retry-after": "7"}
    ),
    "quota": fake.refusal(
        429, "Limit reached.", kind="rate_limit_error", code="enforced_spend_limit_reached"
    ),
    "overloaded": fake.refusal(529, "Overloaded", kind="overloaded_error"),
    "server_error": fake.refusal(500, "Internal server error", kind="api_error"),
    "gateway_timeout": fake.refusal(504, "Took too long.", kind="timeout_error"),
    "context_too_long": fake.refusal(400, _LONG),
    "context_too_long_in_words": fake.refusal(400, f"messages: {_LONG}"),
    "too_many_bytes": fake.refusal(413, "Request exceeds the size", kind="request_too_large"),
    "bad_parameter": fake.refusal(400, "max_tokens: Input should be a valid integer"),
    "unprocessable": fake.refusal(422, "max_tokens: Input should be greater than 0"),
    "not_found": fake.refusal(404, "Not Found", kind="not_found_error"),
    "redirect": fake.Play(status=307, headers={"location": "http://192.0.2.1/v1"}, body=""),
    "page_instead_of_api": fake.Play(status=200, body="<html>Welcome</html>"),
}
_NOISE: Sequence[bytes] = (
    b": keep-alive\n\n",
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b"id: 7\nretry: 1000\n\n",
    b"event: novelty\ndata:\n\n",
    fake.sse({"type": "novelty", "index": 0, "delta": {"type": "text_delta", "text": "no"}}),
    fake.sse({"type": "content_block_delta", "index": 0, "delta": {"type": "novelty_delta"}}),
)


def steps(scene: Scene) -> list[Any]:
    """The stream of a scene."""
    stream: list[Any] = [fake.start(**_before(scene.usage))]
    index = 0
    if scene.thinking:
        stream.append(fake.Thought(scene.thinking))
        index += 1
    if scene.text:
        stream += fake.text(*scene.text, index=index)
        index += 1
    for n, call in enumerate(scene.calls, index):
        half = len(call.arguments) // 2
        pieces = (call.arguments[:half], call.arguments[half:])
        stream += fake.tool_use(call.id, call.name, *pieces, index=n)
    if scene.pause:
        stream = [step for piece in stream for step in (fake.Pause(scene.pause), piece)]
    if scene.stall:
        return [*stream, fake.Pause(30)]
    if scene.breaks:
        return [*stream, fake.HangUp()]
    if scene.trouble:
        return [*stream, fake.sse(TROUBLES[scene.trouble].body)]
    stream += _ending(scene)
    if scene.noise:
        stream = [step for piece in stream for step in (*_NOISE, piece)]
    return stream


def _ending(scene: Scene) -> list[bytes]:
    if scene.finish is None:
        return []
    if scene.finish == "content_filter":
        blocked = "Output blocked by content filtering policy"
        return [fake.sse(fake.complaint(blocked, "invalid_request_error"))]
    counted = _after(scene.usage)
    if scene.refusal:
        details = {"type": "refusal", "category": None, "explanation": scene.refusal}
        return fake.end("refusal", details, **counted)
    return fake.end(_WIRE_REASON.get(scene.finish, scene.finish), **counted)


def _before(usage: Usage | None) -> dict[str, Any]:
    """What is counted at the beginning; here input leaves out what was cached."""
    if usage is None or usage.input_tokens is None:
        return {}
    fresh = usage.input_tokens - (usage.cached_tokens or 0) - (usage.cache_write_tokens or 0)
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": 1 if usage.output_tokens else 0,
    }


def _after(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    thoughts = usage.reasoning_tokens
    details = None if thoughts is None else {"thinking_tokens": thoughts}
    return {"output_tokens": usage.output_tokens, "output_tokens_details": details}


class AnthropicCase:
    name = "anthropic"
    model = "claude-opus-5-5"
    can = frozenset(
        "build stream http thinking tools refusal usage slow cut_off".split()  # no progress
    )

    @contextmanager
    def stage(self, scene: Scene) -> Iterator[Stage]:
        server = fake.Anthropic(key=KEY, slice=scene.slice)
        if scene.trouble and not scene.trouble_after_text:
            server.play = TROUBLES[scene.trouble]
        else:
            server.play = fake.Play(steps=steps(scene), wait=scene.wait)
        adapter._client.cache_clear()
        with serving(server.app) as address:
            yield Stage(
                call=ask("Hi", self.model, sampling={"max_tokens": 500}),
                endpoint=Endpoint(base_url=address, api_key=KEY),
                seen=server.seen,
                hung_up=server.hung_up,
            )
        assert [seen.refused for seen in server.seen if seen.refused] == []

    def exceptions(self) -> Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
        wrap = partial(anthropic.APIConnectionError, request=_REQUEST)
        return {**_sdk_errors(), **samples(f"said {KEY}", wrap), **_unreadable()}

    def translate(self, exc: Exception) -> Exception:
        endpoint = Endpoint(base_url="http://127.0.0.1:1", api_key=KEY)
        return adapter.translate(exc, {"model": self.model}, endpoint)


_REQUEST = httpx2.Request("POST", "http://127.0.0.1:1/v1", headers={"Authorization": KEY})
_OF_STATUS: dict[int, type[Exception]] = {
    400: errors.BadRequest,
    401: errors.AuthFailed,
    402: errors.QuotaExhausted,
    403: errors.NoPermission,
    404: errors.BadRequest,
    408: errors.Timeout,
    409: errors.Overloaded,
    412: errors.BadRequest,
    413: errors.ContextTooLong,
    422: errors.BadRequest,
    429: errors.RateLimited,
    431: errors.BadRequest,
    499: errors.BadRequest,
    501: errors.Overloaded,
    503: errors.Overloaded,
    504: errors.Timeout,
    529: errors.Overloaded,
}
_OF_CODE: dict[str, type[Exception]] = {
    "contract_spend_limit_reached": errors.QuotaExhausted,
    "enforced_spend_limit_reached": errors.QuotaExhausted,
}


def _status(status: int, kind: str = "unheard_of_error", **more: Any) -> anthropic.APIStatusError:
    """What the SDK itself makes of an answer with this status and body."""
    body = {"type": "error", "error": {"type": kind, "message": f"said {KEY}", **more}}
    response = httpx2.Response(status, request=_REQUEST)
    return anthropic._error_classes.make_status_error(f"said {body}", body=body, response=response)


def _sdk_errors() -> dict[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
    """Every class of the SDK with what it becomes; one that is missing fails the suite."""
    response = httpx2.Response(200, request=_REQUEST)
    unread = errors.BadReply
    found: dict[type[Exception], Sequence[tuple[Exception, type[Exception]]]] = {
        anthropic.AnthropicError: [(anthropic.AnthropicError(KEY), unread)],
        anthropic.APIError: [(anthropic.APIError(KEY, _REQUEST, body=None), unread)],
        anthropic.APIResponseValidationError: [
            (anthropic.APIResponseValidationError(response, None), unread)
        ],
        anthropic.APIWebhookValidationError: [
            (anthropic.APIWebhookValidationError(KEY, _REQUEST, body=None), unread)
        ],
        anthropic.APIConnectionError: [
            (anthropic.APIConnectionError(request=_REQUEST), errors.Unreachable)
        ],
        anthropic.APITimeoutError: [(anthropic.APITimeoutError(_REQUEST), errors.Timeout)],
        anthropic.APIStatusError: [
            (_status(418), errors.BadRequest),
            (_status(200), unread),
            (_status(200, "overloaded_error"), errors.Overloaded),
            (_status(200, "timeout_error"), errors.Timeout),
        ],
        anthropic.InternalServerError: [
            (_status(status), errors.Overloaded) for status in (500, 502, 520)
        ],
        **{kind: [(kind.__new__(kind, KEY), unread)] for kind in _of_no_concern()},
        InBand: [
            (InBand({"type": "error", "error": {"type": kind, "message": KEY}}), ours)
            for kind, ours in _OF_KIND.items()
        ],
    }
    for (status, code), kind in anthropic._error_classes.ERROR_CLASSES.items():
        ours = _OF_CODE.get(code or "", _OF_STATUS[status])
        if code and "spend_limit" in code and status == 402:
            ours = errors.QuotaExhausted
        sample = _status(status, **({"details": {"error_code": code}} if code else {}))
        assert type(sample) is kind
        found[kind] = [(sample, ours)]
    return found


_OF_KIND: dict[str, type[Exception]] = {
    "invalid_request_error": errors.BadRequest,
    "authentication_error": errors.AuthFailed,
    "billing_error": errors.QuotaExhausted,
    "permission_error": errors.NoPermission,
    "not_found_error": errors.BadRequest,
    "request_too_large": errors.ContextTooLong,
    "rate_limit_error": errors.RateLimited,
    "api_error": errors.Overloaded,
    "timeout_error": errors.Timeout,
    "overloaded_error": errors.Overloaded,
    "novel_error": errors.BadReply,
}


def _of_no_concern() -> list[type[Exception]]:
    """Of files, tools, other clients and ways to log in that are not used."""
    import anthropic._exceptions as plain

    return [
        kind
        for kind in _below(anthropic.AnthropicError)
        if not issubclass(kind, anthropic.APIError)
        and (
            kind.__module__.startswith("anthropic.lib.") or issubclass(kind, plain.CredentialsError)
        )
    ] + [plain.RetryableError, anthropic._response.StreamAlreadyConsumed]


def _below(kind: type[Exception]) -> list[type[Exception]]:
    return [kind, *(deeper for sub in kind.__subclasses__() for deeper in _below(sub))]


def _unreadable() -> dict[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
    """What comes of bytes that are no text, and of text that is no JSON."""
    kinds = (UnicodeDecodeError, json.JSONDecodeError)
    return {kind: [(kind.__new__(kind, f"said {KEY}"), errors.BadReply)] for kind in kinds}


CASE = AnthropicCase()
