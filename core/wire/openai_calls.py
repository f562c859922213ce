"""What the two protocols of the OpenAI SDK share: event streams, complaints, code.

The SDK itself is imported by the adapters alone and handed in where its classes are needed.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from core.errors import BadReply, ProviderError, Timeout, TurntreeError, Unreachable
from core.types import Endpoint, Json
from core.wire.code import arguments, split_known
from core.wire.complaints import error_for, read
from core.wire.connections import transport_error

if TYPE_CHECKING:
    import httpx2

NO_ACCOUNT = '{"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}'
"""Source: the SDK would send these from the environment, to whatever server."""
ADDRESS_HINT = "Check the server's address: it usually ends in /v1."


class InBand(Exception):
    """The provider complains in the middle of its answer; ``body`` says of what."""

    def __init__(self, body: Json) -> None:
        super().__init__("complaint in the stream")
        self.body = body


def objects(response: "httpx2.Response") -> Iterator[Mapping[str, Json]]:
    """The objects in an event stream. The SDK's own reader dies of an event without data."""
    import httpx2

    if response.headers.get("content-type", "").startswith(("application/json", "text/html")):
        raise BadReply("The server answered without streaming.", hint=ADDRESS_HINT)
    # Event streams are UTF-8 by definition, whatever a server calls them.
    response.headers["content-type"] = "text/event-stream"
    for event in httpx2.EventSource(response):
        if event.data.startswith("[DONE]"):
            return
        found = json.loads(event.data) if event.data else None
        if isinstance(found, Mapping):
            yield found


def error_of(
    exc: Exception,
    sdk: Any,
    *,
    provider: str,
    model: str,
    endpoint: Endpoint,
    knobs: Mapping[str, str],
) -> TurntreeError:
    """Our error for whatever the SDK or its transport raised.

    ``knobs`` are those sent: their places in the request, with our names.
    """
    if isinstance(exc, TurntreeError):
        if isinstance(exc, ProviderError):
            exc.provider, exc.model = provider, model
        return exc
    if broken := transport_error(exc.__cause__, provider=provider, model=model) or transport_error(
        exc, provider=provider, model=model
    ):
        return broken
    if isinstance(exc, sdk.APITimeoutError):
        return Timeout("The server was silent for too long.", provider=provider, model=model)
    if isinstance(exc, sdk.APIConnectionError):
        return Unreachable("No connection to the server.", provider=provider, model=model)
    if isinstance(exc, InBand | sdk.APIError):
        response = getattr(exc, "response", None)
        complaint = read(
            exc.body,
            status=getattr(exc, "status_code", None),
            headers=response.headers if response is not None else {},
            knobs=knobs,
        )
        secrets = [endpoint.api_key, *endpoint.headers.values()]
        return error_for(complaint, provider=provider, model=model, secrets=secrets)
    return BadReply("The answer could not be understood.", provider=provider, model=model)


def script(
    create: Callable[..., Any],
    *,
    method: str,
    body: Mapping[str, Json],
    client: Mapping[str, str],
    reading: str,
) -> str:
    """A call of the SDK as a script: ``client`` is source by argument, ``reading`` the loop."""
    known, extra = split_known(body, inspect.signature(create).parameters)
    given = {**known, **({"extra_body": extra} if extra else {})}
    made = "\n".join(f"    {name}={source}," for name, source in client.items())
    return (
        f'"""One call, streamed to the screen. Needs the package openai."""\n\n'
        f"import os\n\nimport openai\n\n"
        f"client = openai.OpenAI(\n{made}\n)\n"
        f"stream = client.{method}(\n{arguments(given)}\n)\n"
        f"with stream:\n{reading}print()\n"
    )
