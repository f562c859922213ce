"""Any server that speaks Chat Completions: Ollama, vLLM, LM Studio, llama.cpp, gateways.

The address comes with the call, or from ``TURNTREE_COMPATIBLE_URL`` (it usually ends in
``/v1``) and ``TURNTREE_COMPATIBLE_KEY``.
"""

import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core.errors import (
    BadReply,
    BadRequest,
    ProviderError,
    Timeout,
    TurntreeError,
    Unreachable,
    Unsupported,
)
from core.types import (
    Call,
    Endpoint,
    Event,
    Json,
    ModelInfo,
    Request,
    Stop,
)
from core.wire import chat_completions as chat
from core.wire.complaints import error_for, read
from core.wire.connections import checked, heard, http_client, timeouts, transport_error

if TYPE_CHECKING:
    import httpx2
    import openai

NO_KEY = "not-needed"


class Compatible:
    """The adapter. Another one that drives a server of this kind gives its own name."""

    def __init__(self, name: str = "compatible", label: str = "OpenAI-compatible server") -> None:
        self.name = name
        self.label = label

    def hidden(self) -> bool:
        """True until an address is set in the environment."""
        return not os.environ.get("TURNTREE_COMPATIBLE_URL", "").strip()

    def models(self) -> tuple[ModelInfo, ...]:
        """None: only the server knows, and asking it is not this call's business."""
        return ()

    def build(self, call: Call) -> Request:
        """The call as Chat Completions. Raises :class:`Unsupported` for attachments."""
        return Request(envelope=chat.envelope(call), messages=tuple(chat.messages(call)))

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Send and yield. A stopped stream just ends; all errors are ``core.errors``."""
        endpoint = checked(endpoint or _from_environment(), NO_KEY)
        answer = chat.Answer()
        try:
            if stop.is_set():
                return
            with _opened(request, endpoint, stop) as response:
                for chunk in _chunks(response.response):
                    if stop.is_set():
                        return
                    yield from answer.take(chunk)
        except Exception as exc:  # noqa: BLE001 - whatever it is, a person gets words for it
            if stop.is_set():
                return
            error = translate(exc, request.envelope, endpoint, self.name)
            # A connection that breaks after the last word has cost nothing.
            if not (answer.finish and isinstance(error, Unreachable | Timeout)):
                raise error from None  # the SDK's own text may echo the key
        if not stop.is_set():
            yield from answer.end()


ADAPTER = Compatible()


def _from_environment() -> Endpoint:
    url = os.environ.get("TURNTREE_COMPATIBLE_URL", "").strip()
    if not url:
        raise Unsupported(
            "No address is set for the OpenAI-compatible server.",
            hint="Set TURNTREE_COMPATIBLE_URL, for example to http://127.0.0.1:11434/v1.",
        )
    return Endpoint(base_url=url, api_key=os.environ.get("TURNTREE_COMPATIBLE_KEY", ""))


@lru_cache(maxsize=8)
def _client(base_url: str, key: str, headers: tuple[tuple[str, str], ...]) -> "openai.OpenAI":
    """One kept client per server and key. Nothing in it comes from the environment."""
    import openai

    http = http_client(base_url, {"Authorization": f"Bearer {key}", **dict(headers)})
    return openai.OpenAI(
        api_key=key, base_url=base_url, timeout=timeouts(), max_retries=0, http_client=http
    )


def _opened(request: Request, endpoint: Endpoint, stop: Stop) -> "openai.Stream[Any]":
    """Send the request; the open stream once the server has accepted it."""
    headers = tuple(sorted(endpoint.headers.items()))
    client = _client(endpoint.base_url, endpoint.api_key, headers)
    rest = {name: value for name, value in request.envelope.items() if name not in chat.OURS}
    try:
        with heard(stop):
            return client.chat.completions.create(
                model=request.envelope["model"],
                # As extra body: the SDK walks every message given here, and they are done.
                messages=[],
                stream=True,
                stream_options=request.envelope["stream_options"],
                extra_body={**rest, "messages": request.messages},
            )
    except (TypeError, ValueError):  # not a number, or not JSON
        raise BadRequest("The settings hold a value that cannot be sent.") from None


def _chunks(response: "httpx2.Response") -> Iterator[Mapping[str, Json]]:
    """The objects in the stream. The SDK's own reader dies of an event that has no data."""
    import httpx2

    if response.headers.get("content-type", "").startswith(("application/json", "text/html")):
        raise BadReply(
            "The server answered without streaming.",
            hint="Check the server's address: it usually ends in /v1.",
        )
    # Event streams are UTF-8 by definition, whatever a server calls them.
    response.headers["content-type"] = "text/event-stream"
    for event in httpx2.EventSource(response):
        if event.data.startswith("[DONE]"):
            return
        chunk = json.loads(event.data) if event.data else None
        if isinstance(chunk, Mapping):
            yield chunk


def translate(
    exc: Exception, envelope: Mapping[str, Json], endpoint: Endpoint, provider: str
) -> TurntreeError:
    """Our error for whatever the SDK or its transport raised."""
    import openai

    model = str(envelope.get("model", ""))
    if isinstance(exc, TurntreeError):
        if isinstance(exc, ProviderError):
            exc.provider, exc.model = provider, model
        return exc
    if broken := transport_error(exc.__cause__, provider=provider, model=model) or transport_error(
        exc, provider=provider, model=model
    ):
        return broken
    if isinstance(exc, openai.APITimeoutError):
        return Timeout("The server was silent for too long.", provider=provider, model=model)
    if isinstance(exc, openai.APIConnectionError):
        return Unreachable("No connection to the server.", provider=provider, model=model)
    if isinstance(exc, openai.APIError | chat.InBand):
        response = getattr(exc, "response", None)
        complaint = read(
            exc.body,
            status=getattr(exc, "status_code", None),
            headers=response.headers if response is not None else {},
            knobs=[name for name in envelope if name not in chat.OURS],
        )
        secrets = [endpoint.api_key, *endpoint.headers.values()]
        hidden = [secret for secret in secrets if secret != NO_KEY]
        return error_for(complaint, provider=provider, model=model, secrets=hidden)
    return BadReply("The answer could not be understood.", provider=provider, model=model)
