"""Claude, over Anthropic's messages. The key comes with the call, or from ``ANTHROPIC_API_KEY``.

Prompt caching is always on: below the length that a model caches it costs nothing, and above it
the next turn and every fork pay a fraction. Nothing but the key is read from the environment.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core.errors import (
    BadReply,
    BadRequest,
    MissingKey,
    ProviderError,
    Timeout,
    TurntreeError,
    Unreachable,
)
from core.types import Caching, Call, Endpoint, Event, Json, Knob, ModelInfo, Request, Stop
from core.wire import messages as wire
from core.wire import messages_code as code
from core.wire.code import public
from core.wire.complaints import error_for
from core.wire.connections import checked, heard, http_client, timeouts, transport_error
from core.wire.messages_answer import Answer, InBand, blamable, complaint
from core.wire.served import NO_KEY, Preset

if TYPE_CHECKING:
    import anthropic
    import httpx2

NAME = "anthropic"
URL = "https://api.anthropic.com"
VERSION = "2026-10-21"
"""Of the protocol: with it the sampling settings of older days are refused."""

_WAYS = ("adaptive", "enabled", "between_tools", "disabled")
_LEVELS = ("low", "medium", "high", "xhigh", "max")
_SUGGESTED: tuple[tuple[str, str, int, tuple[str, ...], tuple[str, ...], bool], ...] = (
    # id, label, window, ways to think, levels of effort, prefill
    ("claude-opus-5-5", "Claude Opus 5.5", 1_000_000, ("adaptive",), _LEVELS, False),
    (
        "claude-sonnet-5-5",
        "Claude Sonnet 5.5",
        1_000_000,
        ("adaptive", "enabled", "between_tools"),
        _LEVELS,
        False,
    ),
    (
        "claude-haiku-5-5",
        "Claude Haiku 5.5",
        1_000_000,
        ("adaptive", "enabled", "disabled"),
        _LEVELS,
        False,
    ),
    ("claude-fable-5-2", "Claude Fable 5.2", 1_000_000, ("adaptive",), _LEVELS, False),
    ("claude-opus-4-8", "Claude Opus 4.8", 1_000_000, ("adaptive", "disabled"), _LEVELS, False),
    (
        "claude-sonnet-4-6",
        "Claude Sonnet 4.6",
        1_000_000,
        ("adaptive", "enabled", "disabled"),
        ("low", "medium", "high", "max"),
        False,
    ),
    ("claude-haiku-4-5", "Claude Haiku 4.5", 200_000, ("enabled", "disabled"), (), True),
)

_USUALLY_KEPT = 1024
_LEAST_KEPT = (
    (re.compile(r"claude-(opus|fable|mythos)-5"), 512),
    (re.compile(r"claude-opus-4-7"), 2048),
    (re.compile(r"claude-(opus-4-[56]|haiku-4-5)"), 4096),
)
"""Tokens from which on a model keeps a prefix, where it is not the usual number."""
_THINKING = frozenset({"thinking", "budget_tokens", "effort"})


class Anthropic:
    """The adapter."""

    name = NAME
    label = "Anthropic"
    key_names: tuple[str, ...] = ("ANTHROPIC_API_KEY",)
    default_url = URL
    counts = True
    presets: tuple[Preset, ...] = ()

    def hidden(self) -> bool:
        """Never: a missing key is told when something is sent."""
        return False

    def models(self) -> tuple[ModelInfo, ...]:
        """Current models as suggestions; any other id may be typed."""
        return tuple(
            ModelInfo(
                id=name,
                label=label,
                window=window,
                knobs=_knobs(thoughts, efforts),
                thinking=bool(thoughts),
                images=True,
                tools=True,
                prefill=prefill,
            )
            for name, label, window, thoughts, efforts, prefill in _SUGGESTED
        )

    def assume(self, model: str) -> ModelInfo:
        """Every setting that a Claude may have; one that this one has not is refused by name."""
        knobs = _knobs(_WAYS, _LEVELS)
        return ModelInfo(id=model, label=model, knobs=knobs, thinking=True, images=True, tools=True)

    def build(self, call: Call) -> Request:
        """The call as messages. Raises :class:`Unsupported` for what Claude does not take."""
        return wire.build(call)

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Send and yield. A stopped stream just ends; all errors are ``core.errors``."""
        endpoint = _reachable(endpoint)
        answer = Answer()
        try:
            if stop.is_set():
                return
            with _opened(request, endpoint, stop) as response:
                for event in _events(response.response):
                    if stop.is_set():
                        return
                    yield from answer.take(event)
        except Exception as exc:  # noqa: BLE001 - whatever it is, a person gets words for it
            if stop.is_set():
                return
            error = translate(exc, request.envelope, endpoint)
            # A connection that breaks after the last word has cost nothing.
            if not (answer.finish and isinstance(error, Unreachable | Timeout)):
                raise error from None  # the SDK's own text may echo the key
        if not stop.is_set():
            yield from answer.end()

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The models that this key may use, the newest first. A real call."""
        endpoint = _reachable(endpoint)
        try:
            page = _client_of(endpoint).models.list(limit=1000)
            return tuple(_listed(entry.to_dict()) for entry in page)
        except Exception as exc:  # noqa: BLE001 - see stream
            raise translate(exc, {}, endpoint) from None

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """The input tokens, counted by the provider; None from a server that cannot count."""
        endpoint = _reachable(endpoint)
        sent = {name: value for name, value in wire.body(request).items() if name in code.COUNTED}
        try:
            return (
                _client_of(endpoint)
                .messages.count_tokens(model=sent["model"], messages=[], extra_body=sent)
                .input_tokens
            )
        except Exception as exc:  # noqa: BLE001 - see stream
            error = translate(exc, request.envelope, endpoint)
            if isinstance(error, BadRequest) and error.status in (404, 405):
                return None
            raise error from None

    def caching(self, model: str) -> Caching | None:
        """Five minutes from the last use; a prefix too short is not kept, and nothing says so."""
        least = next((least for names, least in _LEAST_KEPT if names.match(model)), _USUALLY_KEPT)
        return Caching(seconds=300, least=least, writes=True, bound_to=_THINKING)

    def body(self, request: Request) -> Json:
        """The messages with the cache breakpoints put on."""
        return wire.body(request)

    def script(self, request: Request, base_url: str) -> str:
        """A Python script of this call with the official SDK; the key is not in it."""
        return code.script(wire.body(request), _root(public(base_url)), self.key_names[0])

    def curl(self, request: Request, base_url: str) -> str:
        """The same call for a shell, with the key in its environment."""
        return code.curl(wire.body(request), _root(public(base_url)), self.key_names[0], VERSION)


ADAPTER = Anthropic()


# --- models --------------------------------------------------------------------------------


def _knobs(thoughts: tuple[str, ...], efforts: tuple[str, ...]) -> tuple[Knob, ...]:
    """The settings that a model takes; none of them is a temperature any more."""
    knobs = [
        Knob(
            name="max_tokens",
            label="Longest answer",
            kind="integer",
            low=1,
            step=1,
            help=f"In tokens, thinking included. {wire.LONGEST_ANSWER:,} unless set.",
        ),
    ]
    if efforts:
        about = "How much work goes into an answer. Unset, the model decides."
        knobs.append(
            Knob(name="effort", label="Effort", kind="choice", choices=efforts, help=about)
        )
    if thoughts:
        about = "Adaptive: the model decides how much. Enabled: up to a budget of tokens."
        knobs.append(
            Knob(name="thinking", label="Thinking", kind="choice", choices=thoughts, help=about)
        )
    if "enabled" in thoughts:
        knobs.append(
            Knob(
                name="budget_tokens",
                label="Thinking budget",
                kind="integer",
                low=wire.LEAST_THINKING,
                step=1024,
                help="In tokens, less than the longest answer. Only where thinking is enabled.",
            )
        )
    knobs.append(
        Knob(
            name="stop_sequences",
            label="Stop at",
            kind="list",
            help="The answer ends before any of these texts.",
        )
    )
    return tuple(knobs)


def _listed(entry: Mapping[str, Json]) -> ModelInfo:
    """A model as the provider lists it; what it does not say is taken from the suggestions."""
    name = str(entry.get("id") or "")
    known = next(
        (info for info in ADAPTER.models() if info.id == name), ModelInfo(id=name, label=name)
    )
    able = entry.get("capabilities")
    able = able if isinstance(able, Mapping) else {}
    thinks = "thinking" in _supported(able)
    thoughts = _supported((able.get("thinking") or {}).get("types"), _WAYS) if thinks else ()
    efforts = _supported(able.get("effort"), _LEVELS)
    ends = str(entry.get("retires_at") or "")[:10]
    old = entry.get("lifecycle") == "deprecated"
    return ModelInfo(
        id=name,
        label=str(entry.get("display_name") or known.label),
        window=entry.get("max_input_tokens") or known.window,
        output_limit=entry.get("max_tokens"),
        knobs=_knobs(thoughts, efforts) if able else known.knobs or _knobs((), ()),
        thinking=thinks if able else known.thinking,
        images="image_input" in _supported(able) if able else known.images,
        tools=True,
        prefill=known.prefill,
        note=("Deprecated" + (f": it ends on {ends}." if ends else ".")) if old else "",
    )


def _supported(flags: Json, order: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names under which support is told, the known ones first and in their order."""
    flags = flags if isinstance(flags, Mapping) else {}
    names = [n for n, flag in flags.items() if isinstance(flag, Mapping) and flag.get("supported")]
    return (*(n for n in order if n in names), *(n for n in names if n not in order))


# --- the connection ------------------------------------------------------------------------


def _root(base_url: str) -> str:
    """The address without the /v1 that the SDK adds itself."""
    return (base_url.strip() or URL).rstrip("/").removesuffix("/v1")


def _reachable(endpoint: Endpoint | None) -> Endpoint:
    """The endpoint to use. Raises :class:`MissingKey` where the provider is sure to want one."""
    if endpoint is None:
        key = next(filter(None, (os.environ.get(name, "") for name in ADAPTER.key_names)), "")
        endpoint = Endpoint(base_url=URL, api_key=key)
    root = _root(endpoint.base_url)
    if root == URL and not endpoint.api_key.strip():
        raise MissingKey("No key is set for Anthropic.")
    given = Endpoint(base_url=root, api_key=endpoint.api_key, headers=endpoint.headers)
    return checked(given, NO_KEY)


@lru_cache(maxsize=8)
def _client(base_url: str, key: str, headers: tuple[tuple[str, str], ...]) -> "anthropic.Anthropic":
    """One kept client per server and key. Nothing in it comes from the environment."""
    import anthropic

    ours = {"Authorization": f"Bearer {key}", "anthropic-version": VERSION}
    return anthropic.Anthropic(
        api_key=key,
        base_url=base_url,
        timeout=timeouts(),
        max_retries=0,
        open_telemetry=False,
        http_client=http_client(base_url, {**ours, **dict(headers)}),
    )


def _client_of(endpoint: Endpoint) -> "anthropic.Anthropic":
    headers = tuple(sorted(endpoint.headers.items()))
    return _client(endpoint.base_url, endpoint.api_key, headers)


def _opened(request: Request, endpoint: Endpoint, stop: Stop) -> "anthropic.Stream[Any]":
    """Send the request; the open stream once the server has accepted it."""
    client = _client_of(endpoint)
    try:
        with heard(stop):
            return client.messages.create(
                # All of it is extra body: settings that the SDK does not know are sent too, and
                # it does not warn, to nobody's use, of a model that will be gone.
                model="",
                max_tokens=0,
                messages=[],
                stream=True,
                extra_body=wire.body(request),
            )
    except (TypeError, ValueError):  # not a number, or not JSON
        raise BadRequest("The settings hold a value that cannot be sent.") from None


def _events(response: "httpx2.Response") -> Iterator[Mapping[str, Json]]:
    """The objects in the stream, to its last one. The SDK's own reader dies of broken tools."""
    import httpx2

    if response.headers.get("content-type", "").startswith(("application/json", "text/html")):
        raise BadReply("The server answered without streaming.", hint=_ADDRESS)
    # Event streams are UTF-8 by definition, whatever a server calls them.
    response.headers["content-type"] = "text/event-stream"
    for event in httpx2.EventSource(response):
        told = json.loads(event.data) if event.data else None
        if isinstance(told, Mapping):
            yield told
            if told.get("type") == "message_stop":
                return


_ADDRESS = f"Check the server's address: it usually is {URL}, and without /v1."


def translate(exc: Exception, envelope: Mapping[str, Json], endpoint: Endpoint) -> TurntreeError:
    """Our error for whatever the SDK or its transport raised."""
    import anthropic

    model = str(envelope.get("model", ""))
    if isinstance(exc, TurntreeError):
        if isinstance(exc, ProviderError):
            exc.provider, exc.model = NAME, model
        return exc
    if broken := transport_error(exc.__cause__, provider=NAME, model=model) or transport_error(
        exc, provider=NAME, model=model
    ):
        return broken
    if isinstance(exc, anthropic.APITimeoutError):
        return Timeout("The server was silent for too long.", provider=NAME, model=model)
    if isinstance(exc, anthropic.APIConnectionError):
        return Unreachable("No connection to the server.", provider=NAME, model=model)
    if isinstance(exc, anthropic.APIError | InBand):
        response = getattr(exc, "response", None)
        told = complaint(
            exc.body,
            status=getattr(exc, "status_code", None),
            headers=response.headers if response is not None else {},
            knobs=blamable(envelope, wire.OURS),
        )
        secrets = [endpoint.api_key, *endpoint.headers.values()]
        hidden = [secret for secret in secrets if secret != NO_KEY]
        error = error_for(told, provider=NAME, model=model, secrets=hidden)
        if "/v1" in error.hint:
            error.hint = _ADDRESS
        return error
    return BadReply("The answer could not be understood.", provider=NAME, model=model)
