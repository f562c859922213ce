"""Gemini, through the official SDK: generateContent as a stream.

The SDK finds the address, sends, and tells refusals apart; the stream itself is read here. Its
own reader dies of a comment between two events and drops whatever it does not know yet, and
the model wants its parts back exactly as it gave them.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import (
    AuthFailed,
    BadReply,
    BadRequest,
    MissingKey,
    ProviderError,
    Timeout,
    TurntreeError,
    UnknownModel,
    Unreachable,
    Unsupported,
)
from core.types import Caching, Call, Endpoint, Event, Json, Knob, ModelInfo, Request, Stop
from core.wire import gemini_call as wire
from core.wire.code import public
from core.wire.complaints import error_for
from core.wire.connections import checked, heard, http_client, timeouts, transport_error
from core.wire.gemini_answer import Answer, InBand
from core.wire.gemini_code import curl, script
from core.wire.gemini_complaints import complaint
from core.wire.served import Preset

if TYPE_CHECKING:
    import httpx2
    from google import genai

Result = TypeVar("Result")
NAME = "gemini"
KEY_NAMES = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
VERSION = "v1beta"  # previews and the "latest" names are found there only
_ADDRESS = re.compile(r"(?P<host>.*?)/*(?:/(?P<version>v\d\w*))?/*")
_MODEL = re.compile(r"(?!.*\.\.)[\w.@:/-]+")
_NOT_TEXT = re.compile(r"image|tts|audio|live|video|embed|robotics|computer-use|lyria|veo|imagen")
_KEEPS_NOTHING = re.compile(r"(models/)?(gemini-(1|2\.0)|gemma|learnlm)|tunedModels/")
_ADDRESS_HINT = "Check the server's address in Settings, then retry."
_NOWHERE = (301, 302, 303, 307, 308, 404, 405)
_OPENED: ContextVar[list["httpx2.Response"]] = ContextVar("answers of the call being made")

_COMMON = (
    Knob(name="temperature", label="Temperature", kind="number", low=0.0, high=2.0, step=0.05),
    Knob(name="top_p", label="Top p", kind="number", low=0.0, high=1.0, step=0.05),
    Knob(name="top_k", label="Top k", kind="integer", low=1, high=100, step=1),
    Knob(name="max_tokens", label="Longest answer", kind="integer", low=1, step=1,
         help="In tokens, those of the thinking included."),
    Knob(name="seed", label="Seed", kind="integer", low=0, high=2**31 - 1, step=1),
    Knob(name="stop", label="Stop at", kind="list", help="At most five texts."),
)  # fmt: skip
_SHOWN = Knob(name="include_thoughts", label="Thoughts", kind="choice", choices=("yes", "no"))
_LEVEL = Knob(
    name="thinking_level", label="Thinking", kind="choice",
    choices=("minimal", "low", "medium", "high"),
)  # fmt: skip
_BUDGET = Knob(
    name="thinking_budget", label="Thinking", kind="integer", low=-1, high=32768, step=1,
    help="In tokens; -1 leaves it to the model, 0 turns it off where that can be done.",
)  # fmt: skip


def _info(
    name: str, window: int | None = None, limit: int | None = None, thinks: bool = True
) -> ModelInfo:
    older = bool(wire.OLDER.match(name))
    return ModelInfo(
        id=name,
        label=name,
        window=window,
        output_limit=limit,
        knobs=(*_COMMON, *((_BUDGET if older else _LEVEL, _SHOWN) if thinks else ())),
        thinking=thinks,
        images=True,
        tools=True,
    )


MODELS = (
    _info("gemini-3.8-flash", 1_000_000),
    _info("gemini-4-argon", 1_048_576),
    _info("gemini-3.5-flash-lite", 1_000_000),
    _info("gemini-3.1-pro-preview"),
    _info("gemini-2.5-pro"),
    _info("gemini-2.5-flash", 1_048_576),
)
_KNOWN = {info.id: info for info in MODELS}


class Gemini:
    """The adapter."""

    name = NAME
    label = "Google Gemini"
    key_names: tuple[str, ...] = KEY_NAMES
    default_url = "https://generativelanguage.googleapis.com"
    counts = True
    presets: tuple[Preset, ...] = ()

    def hidden(self) -> bool:
        """Never: a missing key is told when something is sent."""
        return False

    def models(self) -> tuple[ModelInfo, ...]:
        """Some current models; any other name is accepted besides."""
        return MODELS

    def assume(self, model: str) -> ModelInfo:
        """What its name tells: how its thinking is set."""
        return _info(model)

    def build(self, call: Call) -> Request:
        """The call as generateContent. Raises :class:`Unsupported` for files it cannot take."""
        older = bool(wire.OLDER.match(call.model))
        known = _KNOWN.get(call.model)
        envelope = wire.envelope(call, thinks=known.thinking if known else not older)
        return Request(envelope=envelope, messages=tuple(wire.contents(call, signed=not older)))

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Send and yield. A stopped stream just ends; all errors are ``core.errors``."""
        endpoint = _reachable(endpoint)
        answer, envelope = Answer(), request.envelope
        try:
            if stop.is_set():
                return
            response = _opened(request, endpoint, stop)
            try:
                for chunk in _chunks(response):
                    if stop.is_set():
                        return
                    yield from answer.take(chunk)
            finally:
                response.close()
        except Exception as exc:  # noqa: BLE001 - whatever it is, a person gets words for it
            if stop.is_set():
                return
            error = translate(exc, envelope, endpoint)
            # A connection that breaks after the last word has cost nothing.
            if not (answer.finish and isinstance(error, Unreachable | Timeout)):
                raise error from None  # the SDK's own text may echo the key
        if not stop.is_set():
            yield from _translated(lambda: list(answer.end()), envelope, endpoint)

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The models that write text, with their limits. A real call."""
        endpoint = _reachable(endpoint)
        found = _translated(
            lambda: list(_client_of(endpoint).models.list(config={"page_size": 1000})),
            {},
            endpoint,
        )
        return tuple(
            _listed(model)
            for model in found
            if "generateContent" in (model.supported_actions or ())
            and not _NOT_TEXT.search(model.name or "")
        )

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """The tokens of the whole request: contents, system text and tools. A real call."""
        endpoint = _reachable(endpoint)
        model = str(request.envelope["model"])
        path = model if "/" in model else f"models/{model}"
        whole = {**_body(request), "model": path}
        # The SDK itself counts contents only; an empty list is as good as none on the wire.
        extra = {"contents": [], "generateContentRequest": whole}
        counted = _translated(
            lambda: _client_of(endpoint).models.count_tokens(
                model=_checked(request.envelope),
                contents=".",
                config={"http_options": {"extra_body": extra}},
            ),
            request.envelope,
            endpoint,
        )
        return counted.total_tokens

    def caching(self, model: str) -> Caching | None:
        """Some minutes, on most days: Google promises no hit. Models before 2.5 keep nothing."""
        if _KEEPS_NOTHING.match(model):
            return None
        return Caching(seconds=300, least=2048 if wire.OLDER.match(model) else 4096)

    def body(self, request: Request) -> Json:
        """The contents with all the rest; the model stands in the address, not in here."""
        return _body(request)

    def script(self, request: Request, base_url: str) -> str:
        """A Python script of this very call, with the official SDK."""
        return script(request, *_address(public(base_url or self.default_url)), self.key_names[0])

    def curl(self, request: Request, base_url: str) -> str:
        """The same call as a curl command line."""
        return curl(request, *_address(public(base_url or self.default_url)), self.key_names[0])


ADAPTER = Gemini()


# --- the way there -----------------------------------------------------------------------


def _reachable(endpoint: Endpoint | None) -> Endpoint:
    """The endpoint with an address and a key; the environment's key goes to Google only."""
    if endpoint is None:
        keys = (os.environ.get(name, "").strip() for name in KEY_NAMES)
        endpoint = Endpoint(base_url="", api_key=next(filter(None, keys), ""))
    if not endpoint.api_key.strip():
        raise MissingKey("No key is set for Google Gemini.")
    return checked(replace(endpoint, base_url=endpoint.base_url or ADAPTER.default_url), "")


def _address(base_url: str) -> tuple[str, str]:
    """Host and version of an address that may name either or both."""
    parts = _ADDRESS.fullmatch(base_url)
    return (parts["host"], parts["version"] or VERSION) if parts else (base_url, VERSION)


def _client_of(endpoint: Endpoint) -> "genai.Client":
    headers = tuple(sorted(endpoint.headers.items()))
    return _client(endpoint.base_url, endpoint.api_key, headers)


@lru_cache(maxsize=8)
def _client(base_url: str, key: str, headers: tuple[tuple[str, str], ...]) -> "genai.Client":
    """One kept client per server and key. Nothing in it comes from the environment."""
    from google import genai
    from google.genai import types
    from google.genai.client import DebugConfig

    host, version = _address(base_url)
    http = http_client(base_url, {"x-goog-api-key": key, **dict(headers)})
    hooks = http.event_hooks
    http.event_hooks = {
        "request": [*hooks["request"], _limit],
        "response": [*hooks["response"], _take],
    }
    options = types.HttpOptions(base_url=host, api_version=version, httpx_client=http)
    recorder = DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
    return genai.Client(api_key=key, enterprise=False, http_options=options, debug_config=recorder)


def _limit(request: "httpx2.Request") -> None:
    """Give the request its timeouts: the SDK asks for none, whatever its client says."""
    request.extensions = {**request.extensions, "timeout": timeouts().as_dict()}


def _take(response: "httpx2.Response") -> None:
    """Take the body of an accepted stream, and leave the SDK an empty one."""
    import httpx2

    if response.status_code != 200 or not response.request.url.path.endswith(
        ":streamGenerateContent"
    ):
        return
    taken = httpx2.Response(
        200, headers=response.headers, stream=response.stream, request=response.request
    )
    _OPENED.get().append(taken)
    response.stream = httpx2.ByteStream(b"")


def _body(request: Request) -> dict[str, Any]:
    rest = {name: value for name, value in request.envelope.items() if name != "model"}
    return {**rest, "contents": list(request.messages)}


def _checked(envelope: Mapping[str, Json]) -> str:
    """The model's name, once all can be sent: the SDK would let NaN through."""
    model = str(envelope["model"])
    if not _MODEL.fullmatch(model):
        raise UnknownModel(f"{model!r} cannot be the name of a model.")
    try:
        json.dumps(envelope, allow_nan=False)
    except (TypeError, ValueError):  # not JSON, or not a number
        raise BadRequest("The settings hold a value that cannot be sent.") from None
    return model


def _opened(request: Request, endpoint: Endpoint, stop: Stop) -> "httpx2.Response":
    """Send the request; the open stream once the provider has accepted it."""
    client, model = _client_of(endpoint), _checked(request.envelope)
    taken: list[httpx2.Response] = []
    token = _OPENED.set(taken)
    try:
        with heard(stop):
            stream = client.models.generate_content_stream(
                model=model,
                contents=".",  # the true ones go as extra body: the SDK drops what it does not know
                config={
                    "http_options": {"extra_body": _body(request)},
                    "automatic_function_calling": {"disable": True},
                    "automatic_continuation": False,
                },
            )
            for _ in stream:
                pass
    finally:
        _OPENED.reset(token)
    return taken[0]


def _chunks(response: "httpx2.Response") -> Iterator[Mapping[str, Json]]:
    """The objects in the stream."""
    import httpx2

    kind = response.headers.get("content-type", "")
    if kind.startswith(("application/json", "text/html")):
        raise BadReply(
            "The server answered without streaming.",
            hint=_ADDRESS_HINT,
        )
    # Event streams are UTF-8 by definition, whatever a server calls them.
    response.headers["content-type"] = "text/event-stream"
    for event in httpx2.EventSource(response):
        chunk = json.loads(event.data) if event.data and event.data != "[DONE]" else None
        if isinstance(chunk, Mapping):
            yield chunk


def _listed(model: Any) -> ModelInfo:
    name = str(model.name).removeprefix("models/")
    known = _KNOWN.get(name)
    thinks = known.thinking if known and model.thinking is None else bool(model.thinking)
    window = model.input_token_limit or (known.window if known else None)
    info = _info(name, window, model.output_token_limit, thinks)
    most = model.max_temperature
    knobs = tuple(
        replace(knob, high=most) if most and knob.name == "temperature" else knob
        for knob in info.knobs
    )
    return replace(info, label=model.display_name or name, knobs=knobs)


# --- what went wrong ---------------------------------------------------------------------


def _translated(
    make: Callable[[], Result], envelope: Mapping[str, Json], endpoint: Endpoint
) -> Result:
    try:
        return make()
    except Exception as exc:  # noqa: BLE001 - whatever it is, a person gets words for it
        raise translate(exc, envelope, endpoint) from None


def translate(exc: Exception, envelope: Mapping[str, Json], endpoint: Endpoint) -> TurntreeError:
    """Our error for whatever the SDK or its transport raised."""
    if isinstance(exc, ImportError):
        return Unsupported(
            "The software that speaks to Gemini cannot be loaded.",
            hint="Install it again; if GOOGLE_GENAI_HTTP_CLIENT is set, unset it.",
        )
    from google.genai import _api_client, errors

    model = str(envelope.get("model", ""))
    if isinstance(exc, TurntreeError):
        if isinstance(exc, ProviderError):
            exc.provider, exc.model = NAME, model
        return exc
    if broken := transport_error(exc, provider=NAME, model=model):
        return broken
    if isinstance(exc, _api_client.EphemeralTokenAPIKeyError):
        return AuthFailed("This key is for live sessions only.", provider=NAME, model=model)
    if isinstance(exc, errors.APIError | InBand):
        response = getattr(exc, "response", None)
        told = complaint(
            exc.body if isinstance(exc, InBand) else exc.details,
            status=getattr(exc, "code", None),
            headers=getattr(response, "headers", None) or {},
            settings=wire.settings(envelope),
        )
        secrets = [endpoint.api_key, *endpoint.headers.values()]
        error = error_for(told, provider=NAME, model=model, secrets=secrets)
        if isinstance(error, ProviderError) and error.status in _NOWHERE:
            error.hint = _ADDRESS_HINT
        return error
    return BadReply("The answer could not be understood.", provider=NAME, model=model)
