"""Any server that speaks Chat Completions: Ollama, vLLM, LM Studio, llama.cpp, gateways.

The address comes with the call, or from ``TURNTREE_COMPATIBLE_URL`` (it usually ends in
``/v1``) and ``TURNTREE_COMPATIBLE_KEY``.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core.errors import (
    BadReply,
    BadRequest,
    Timeout,
    TurntreeError,
    Unreachable,
    Unsupported,
)
from core.types import (
    Caching,
    Call,
    Endpoint,
    Event,
    Json,
    ModelInfo,
    Request,
    Stop,
)
from core.wire import chat_completions as chat
from core.wire import openai_calls
from core.wire.code import curl, public
from core.wire.connections import checked, heard, http_client, timeouts
from core.wire.model_lists import KNOBS, models_of
from core.wire.served import NO_KEY, Preset, on_this_machine

if TYPE_CHECKING:
    import openai

PRESETS = (
    Preset(
        label="Ollama",
        base_url="http://127.0.0.1:11434/v1",
        about="Start it with `ollama serve`.",
        keyless=True,
    ),
    Preset(
        label="LM Studio",
        base_url="http://127.0.0.1:1234/v1",
        about="Start its local server first.",
        keyless=True,
    ),
    Preset(
        label="llama.cpp",
        base_url="http://127.0.0.1:8080/v1",
        about="Start it with `llama-server -m model.gguf`.",
        keyless=True,
    ),
    Preset(
        label="vLLM",
        base_url="http://127.0.0.1:8000/v1",
        about="Start it with `vllm serve MODEL`.",
        keyless=True,
    ),
    Preset(
        label="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        about="Its list of models is public: only a question tells whether the key is right.",
    ),
    Preset(
        label="Azure OpenAI",
        base_url="https://YOUR-RESOURCE.openai.azure.com/openai/v1",
        about="Put the name of your resource into the address. Models are called by the names "
        "of your deployments.",
    ),
)
"""Servers of this kind that people run, and where they usually answer."""
_READING = """\
    for chunk in stream:
        for choice in (chunk.choices or [])[:1]:
            print(choice.delta.content or "", end="", flush=True)
            for call in choice.delta.tool_calls or []:
                print(call.function.name or "", call.function.arguments or "", sep="", end="")
"""


class Compatible:
    """The adapter. Another one that drives a server of this kind gives its own name.

    ``takes`` are the kinds of files, besides text, that its models are trusted with: "image",
    "pdf". A server that does not take one after all says so itself.
    """

    key_names: tuple[str, ...] = ("TURNTREE_COMPATIBLE_KEY",)
    default_url = ""
    counts = False
    presets = PRESETS

    def __init__(
        self,
        name: str = "compatible",
        label: str = "OpenAI-compatible server",
        takes: chat.Takes = frozenset({"image"}),
    ) -> None:
        self.name = name
        self.label = label
        self._takes = takes

    def hidden(self) -> bool:
        """True until an address is set in the environment."""
        return not _named_address()

    def models(self) -> tuple[ModelInfo, ...]:
        """None: only the server knows, and asking it is not this call's business."""
        return ()

    def assume(self, model: str) -> ModelInfo:
        """All that the protocol has: a server that cannot do one thing says so itself."""
        return ModelInfo(id=model, label=model, knobs=KNOBS, images=True, tools=True)

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The models the server names; those of this very machine cost nothing."""
        endpoint = checked(endpoint or _from_environment(), NO_KEY)
        here = on_this_machine(endpoint.base_url)
        try:
            body = _client_for(endpoint).get("/models", cast_to=object)
        except Exception as exc:  # noqa: BLE001 - whatever it is, a person gets words for it
            raise translate(exc, {}, endpoint, self.name) from None
        if not isinstance(body, Mapping | list):
            raise BadReply("The server gave no list of models.", hint=openai_calls.ADDRESS_HINT)
        return models_of(body, free=here)

    def build(self, call: Call) -> Request:
        """The call as Chat Completions. Raises :class:`Unsupported`, :class:`BadFile`."""
        return Request(
            envelope=chat.envelope(call), messages=tuple(chat.messages(call, self._takes))
        )

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """None: servers of this kind have no common way to count."""
        return None

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Send and yield. A stopped stream just ends; all errors are ``core.errors``."""
        endpoint = checked(endpoint or _from_environment(), NO_KEY)
        answer = chat.Answer()
        try:
            if stop.is_set():
                return
            with _opened(request, endpoint, stop) as response:
                for chunk in openai_calls.objects(response.response):
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

    def caching(self, model: str) -> Caching | None:
        """None: every server has its own ways."""
        return None

    def body(self, request: Request) -> Json:
        """The messages with all the rest beside them."""
        return _body(request)

    def script(self, request: Request, base_url: str) -> str:
        """The call with the SDK that speaks this protocol."""
        from openai.resources.chat.completions import Completions

        return openai_calls.script(
            Completions.create,
            method="chat.completions.create",
            body=_body(request),
            client={
                "api_key": f"os.environ.get({self._key_name()!r}) or {NO_KEY!r}",
                "base_url": repr(public(base_url or _named_address())),
                "default_headers": openai_calls.NO_ACCOUNT,
            },
            reading=_READING,
        )

    def curl(self, request: Request, base_url: str) -> str:
        """The call as a command line."""
        key = f"Authorization: Bearer ${{{self._key_name()}:-{NO_KEY}}}"
        url = f"{public(base_url or _named_address()).rstrip('/')}/chat/completions"
        return curl(url, ["Content-Type: application/json", key], _body(request))

    def _key_name(self) -> str:
        return next(iter(self.key_names), "API_KEY")


ADAPTER = Compatible()


def _body(request: Request) -> dict[str, Json]:
    return {
        "model": request.envelope["model"],
        "messages": list(request.messages),
        **request.envelope,
    }


def _named_address() -> str:
    return os.environ.get("TURNTREE_COMPATIBLE_URL", "").strip()


def _from_environment() -> Endpoint:
    url = _named_address()
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


def _client_for(endpoint: Endpoint) -> "openai.OpenAI":
    headers = tuple(sorted(endpoint.headers.items()))
    return _client(endpoint.base_url, endpoint.api_key, headers)


def _opened(request: Request, endpoint: Endpoint, stop: Stop) -> "openai.Stream[Any]":
    """Send the request; the open stream once the server has accepted it."""
    try:
        with heard(stop):
            return _client_for(endpoint).chat.completions.create(
                model=request.envelope["model"],
                # As extra body: the SDK walks every message given here, and they are done.
                messages=[],
                stream=True,
                stream_options=request.envelope["stream_options"],
                extra_body=_body(request),
            )
    except (TypeError, ValueError):  # not a number, or not JSON
        raise BadRequest("The settings hold a value that cannot be sent.") from None


def translate(
    exc: Exception, envelope: Mapping[str, Json], endpoint: Endpoint, provider: str
) -> TurntreeError:
    """Our error for whatever the SDK or its transport raised."""
    import openai

    if endpoint.api_key == NO_KEY:  # words that may be said
        endpoint = replace(endpoint, api_key="")
    return openai_calls.error_of(
        exc,
        openai,
        provider=provider,
        model=str(envelope.get("model", "")),
        endpoint=endpoint,
        knobs={name: name for name in envelope if name not in chat.OURS},
    )
