"""OpenAI by its Responses API. Nothing is stored there: each request carries everything.

The key is ``OPENAI_API_KEY``, or comes with the call. The address is OpenAI's own unless the
call names another that speaks the same protocol.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from core.errors import (
    BadReply,
    BadRequest,
    MissingKey,
    Timeout,
    TurntreeError,
    Unreachable,
)
from core.types import Caching, Call, Endpoint, Event, Json, Knob, ModelInfo, Request, Stop
from core.wire import openai_calls, responses
from core.wire.code import curl, public
from core.wire.connections import checked, heard, http_client, timeouts
from core.wire.loose import count, of, several, words
from core.wire.served import Preset

if TYPE_CHECKING:
    import openai

NAME = "openai"
_LONGEST = Knob(
    name="max_tokens",
    label="Longest answer",
    kind="integer",
    low=16,
    step=1,
    help="In tokens, thinking included.",
)
THINKING_KNOBS = (
    _LONGEST,
    Knob(
        name="reasoning_effort",
        label="Thinking effort",
        kind="choice",
        choices=("none", "minimal", "low", "medium", "high", "xhigh", "max"),
        help="Not every model knows every level.",
    ),
    Knob(
        name="reasoning_summary",
        label="Show the thinking",
        kind="choice",
        choices=("auto", "concise", "detailed"),
        help="Unset, the model thinks in silence.",
    ),
    Knob(
        name="verbosity",
        label="Wordiness",
        kind="choice",
        choices=("low", "medium", "high"),
    ),
)
PLAIN_KNOBS = (
    _LONGEST,
    Knob(name="temperature", label="Temperature", kind="number", low=0.0, high=2.0, step=0.05),
    Knob(name="top_p", label="Top p", kind="number", low=0.0, high=1.0, step=0.05),
)
SUGGESTED: dict[str, tuple[str, int | None]] = {
    "gpt-6.1-sol": ("GPT-6.1 Sol", 1_050_000),
    "gpt-6.1-terra": ("GPT-6.1 Terra", 1_050_000),
    "gpt-6-luna": ("GPT-6 Luna", 1_050_000),
    "gpt-6-astra": ("GPT-6 Astra", 1_050_000),
    "gpt-6-sol": ("GPT-6 Sol", 1_050_000),
    "gpt-5.6-sol": ("GPT-5.6 Sol", 1_050_000),
    "gpt-5.6-terra": ("GPT-5.6 Terra", 1_050_000),
    "gpt-5.6-luna": ("GPT-5.6 Luna", 1_050_000),
    "gpt-5.5": ("GPT-5.5", 1_000_000),
    "gpt-5.4": ("GPT-5.4", 1_050_000),
    "gpt-5.4-mini": ("GPT-5.4 mini", 400_000),
}
"""Names and windows in tokens; the list that OpenAI gives holds neither."""

_WRITES_TEXT = re.compile(r"(ft:)?(gpt-|o\d|chatgpt-|codex-)")
_OTHER_KINDS = re.compile(
    r"audio|realtime|transcri|tts|image|-search|deep-research|moderation|instruct|live|oss"
)
_KEEPS_LONGER = re.compile(r"gpt-(5\.[6-9]|[6-9])")
_THOUGHT = frozenset({"reasoning_effort", "verbosity"})
_COUNTED = ("model", "instructions", "tools", "tool_choice", "reasoning", "text")
_POLICY = frozenset(
    {
        "invalid_prompt",
        "bio_policy",
        "misalignment_policy_violation",
        "image_content_policy_violation",
    }
)
_READING = """\
    for event in stream:
        if event.type in ("response.output_text.delta", "response.refusal.delta"):
            print(event.delta, end="", flush=True)
        elif event.type == "response.output_item.done" and event.item.type == "function_call":
            print(f"{event.item.name}({event.item.arguments})")
"""


class OpenAI:
    """The adapter."""

    name = NAME
    label = "OpenAI"
    key_names: tuple[str, ...] = ("OPENAI_API_KEY",)
    default_url = "https://api.openai.com/v1"
    counts = True
    presets: tuple[Preset, ...] = ()

    def hidden(self) -> bool:
        """Never: without a key, sending says so."""
        return False

    def models(self) -> tuple[ModelInfo, ...]:
        """Those worth starting with; any other name can be typed."""
        return tuple(_info(name) for name in SUGGESTED)

    def assume(self, model: str) -> ModelInfo:
        """What its name tells: whether it thinks."""
        return _info(model)

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The text models the key may use, the newest first."""
        endpoint = self._endpoint(endpoint)
        try:
            body = _client_for(endpoint).get("/models", cast_to=object)
        except Exception as exc:  # noqa: BLE001 - whatever it is, a person gets words for it
            raise translate(exc, {}, endpoint) from None
        if not isinstance(body, Mapping):
            raise BadReply("The server gave no list of models.", hint=openai_calls.ADDRESS_HINT)
        entries = sorted(
            several(body.get("data")), key=lambda entry: -(count(of(entry, "created")) or 0)
        )
        today = datetime.now(UTC).date().isoformat()
        named = {words(of(e, "id")): words(of(e, "shutdown_date")) for e in entries}
        return tuple(
            replace(_info(name), note=f"Shuts down on {gone}." if gone else "")
            for name, gone in named.items()
            if _WRITES_TEXT.match(name)
            and not _OTHER_KINDS.search(name)
            and (not gone or gone[:10] > today)
        )

    def build(self, call: Call) -> Request:
        """The call as items. Raises :class:`Unsupported`, :class:`BadFile` for attachments."""
        return Request(envelope=responses.envelope(call), messages=tuple(responses.items(call)))

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """What the input comes to, as OpenAI itself counts it; None if it does not say."""
        endpoint = self._endpoint(endpoint)
        told = {name: request.envelope[name] for name in _COUNTED if name in request.envelope}
        try:
            counted = _client_for(endpoint).responses.input_tokens.count(
                extra_body={**told, "input": list(request.messages)}
            )
        except Exception as exc:  # noqa: BLE001 - as above
            raise translate(exc, request.envelope, endpoint) from None
        return count(getattr(counted, "input_tokens", None))

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Send and yield. A stopped stream just ends; all errors are ``core.errors``."""
        endpoint = self._endpoint(endpoint)
        answer = responses.Answer()
        try:
            if stop.is_set():
                return
            with _opened(request, endpoint, stop) as response:
                for event in openai_calls.objects(response.response):
                    if stop.is_set():
                        return
                    yield from answer.take(event)
                    if answer.ended:
                        break
        except Exception as exc:  # noqa: BLE001 - whatever it is, a person gets words for it
            if stop.is_set():
                return
            error = translate(exc, request.envelope, endpoint)
            # A connection that breaks after the last word has cost nothing.
            if not (answer.ended and isinstance(error, Unreachable | Timeout)):
                raise error from None  # the SDK's own text may echo the key
        if not stop.is_set():
            yield from answer.end()

    def caching(self, model: str) -> Caching | None:
        """Newer models keep a prefix for half an hour at least, and charge for it; older ones
        for five to ten minutes."""
        newer = bool(_KEEPS_LONGER.match(model))
        return Caching(seconds=1800 if newer else 300, least=1024, writes=newer, bound_to=_THOUGHT)

    def body(self, request: Request) -> Json:
        """The items with all the rest beside them."""
        return _body(request)

    def script(self, request: Request, base_url: str) -> str:
        """The call with OpenAI's own SDK."""
        from openai.resources.responses import Responses

        url = public(base_url or self.default_url)
        elsewhere = {"default_headers": openai_calls.NO_ACCOUNT} if url != self.default_url else {}
        client = {"api_key": f"os.environ[{self.key_names[0]!r}]", "base_url": repr(url)}
        return openai_calls.script(
            Responses.create,
            method="responses.create",
            body=_body(request),
            client={**client, **elsewhere},
            reading=_READING,
        )

    def curl(self, request: Request, base_url: str) -> str:
        """The call as a command line."""
        url = f"{public(base_url or self.default_url).rstrip('/')}/responses"
        key = f"Authorization: Bearer ${self.key_names[0]}"
        return curl(url, ["Content-Type: application/json", key], _body(request))

    def _endpoint(self, given: Endpoint | None) -> Endpoint:
        """Where to and with which key. The environment's key goes to OpenAI's address only."""
        if given is None:
            given = Endpoint(base_url="", api_key=os.environ.get(self.key_names[0], ""))
        if not given.api_key.strip():
            raise MissingKey("There is no key for OpenAI.")
        return checked(replace(given, base_url=given.base_url or self.default_url), "")


ADAPTER = OpenAI()


def _info(name: str) -> ModelInfo:
    label, window = SUGGESTED.get(name, (name, None))
    thinks = responses.thinks(name)
    return ModelInfo(
        id=name,
        label=label,
        window=window,
        knobs=THINKING_KNOBS if thinks else PLAIN_KNOBS,
        thinking=thinks,
        images=not name.startswith("gpt-3"),
        tools=True,
    )


def _body(request: Request) -> dict[str, Json]:
    model = request.envelope["model"]
    return {"model": model, "input": list(request.messages), **request.envelope}


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
    """Send the request; the open stream once OpenAI has accepted it."""
    try:
        with heard(stop):
            return _client_for(endpoint).responses.create(
                # As extra body: the SDK walks every item given here, and they are done.
                stream=True,
                extra_body=_body(request),
            )
    except (TypeError, ValueError):  # not a number, or not JSON
        raise BadRequest("The settings hold a value that cannot be sent.") from None


def translate(exc: Exception, envelope: Mapping[str, Json], endpoint: Endpoint) -> TurntreeError:
    """Our error for whatever the SDK or its transport raised; settings under our names."""
    import openai

    error = openai_calls.error_of(
        exc,
        openai,
        provider=NAME,
        model=str(envelope.get("model", "")),
        endpoint=endpoint,
        knobs=responses.settings(envelope),
    )
    codes = {of(getattr(exc, "body", None), name) for name in ("code", "type")}
    if isinstance(error, BadReply) and isinstance(exc, openai_calls.InBand) and codes - {None}:
        return _refused(error, codes)
    return error


def _refused(error: BadReply, codes: set[Json]) -> TurntreeError:
    """What was found wrong with the request only after the answer had begun."""
    if codes & _POLICY:
        hint = "Reword what you sent, then retry."
    elif any("image" in str(code) for code in codes):
        hint = "Replace or remove the picture, then retry."
    else:
        return error
    return BadRequest(error.message, hint=hint, provider=error.provider, model=error.model)
