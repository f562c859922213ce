"""What is asked and answered: calls, requests, events, and the protocol of an adapter."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from core.types.kept import FinishReason, Json, Parts, Role, ToolCall, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a context, before an adapter turns it into a provider's form."""

    role: Role
    parts: Parts
    node_id: str | None = None
    raw: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that the model may call; ``parameters`` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What the model is asked: portable, the same for every provider.

    ``attachments`` holds the bytes of every attachment in the messages, by sha256.
    ``tool_choice`` is auto, required, none or a tool's name. ``cache_key`` is shared by all
    branches of a tree; ``shared_until`` counts the messages that other branches share.
    """

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    sampling: Mapping[str, Json] = field(default_factory=dict)
    tools: tuple[Tool, ...] = ()
    tool_choice: str | None = None
    attachments: Mapping[str, bytes] = field(default_factory=dict)
    cache_key: str | None = None
    shared_until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A call in one provider's form, JSON values only: exactly what goes over the wire.

    ``messages`` are kept apart from the ``envelope`` (all the rest) because each message is
    stored once while every run keeps its own envelope. Holds no key and no header.
    """

    envelope: Mapping[str, Json]
    messages: tuple[Json, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a provider answers and with which key; never stored, logged or shown."""

    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """More words of the answer, or of the thinking before it."""

    text: str
    kind: Literal["text", "thinking"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the provider is doing before the first word; ``share`` is 0 to 1, if known."""

    stage: str
    share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The terminal event. A stream that ends without one was cut off."""

    finish_reason: FinishReason
    usage: Usage = Usage()
    resolved_model: str | None = None
    raw: Json = None


Event = Delta | ToolCall | Progress | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A sampling setting that a model takes. Unset by default, and then never sent."""

    name: str
    label: str
    kind: Literal["number", "integer", "text", "list", "choice"]
    low: float | None = None
    high: float | None = None
    step: float | None = None
    choices: tuple[str, ...] = ()
    help: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What an adapter declares of a model; pages draw their controls from it.

    ``window`` and ``output_limit`` are tokens. ``prefill`` says that a trailing assistant
    message is continued by the provider itself.
    """

    id: str
    label: str
    window: int | None = None
    output_limit: int | None = None
    knobs: tuple[Knob, ...] = ()
    thinking: bool = False
    images: bool = False
    tools: bool = False
    prefill: bool = False
    free: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caching:
    """How a provider keeps the beginning of what it was sent, so that it is cheaper next time.

    ``seconds`` from the last use; ``least`` is tokens, a shorter beginning is not kept.
    ``answers`` says that an answer is kept with what it answers, ``writes`` that keeping has a
    price of its own. ``bound_to`` names the settings that a kept beginning belongs to.
    """

    seconds: float
    least: int = 0
    answers: bool = False
    writes: bool = False
    bound_to: frozenset[str] = frozenset()


class Stop:
    """A person's wish to end a run: heard at once, from any thread.

    Adapters register the closing of their HTTP stream with :meth:`on_set`; whatever a
    closed stream raises afterwards is the runner's to ignore.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def set(self) -> None:
        """Stop, and run every registered callback once."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def is_set(self) -> bool:
        """Whether the person has stopped the run."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep at most ``seconds``; true as soon as the run is stopped."""
        return self._event.wait(seconds)

    def on_set(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` when stopped; at once if that has already happened."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()


class Adapter(Protocol):
    """One provider's protocol. A new file in ``core/providers`` with ``ADAPTER`` is found.

    Errors raised by :meth:`stream` and :meth:`build` are Turntree's own (``core.errors``).
    """

    name: str
    label: str
    key_names: tuple[str, ...]
    """Environment names of the key, the first that is set wins; none for keyless providers."""
    default_url: str
    """Where the provider answers; empty when the person must say."""
    counts: bool
    """Whether :meth:`count_tokens` may have an answer."""

    def hidden(self) -> bool:
        """Whether pages leave this provider out of their lists."""
        ...

    def models(self) -> tuple[ModelInfo, ...]:
        """The models known without asking anyone; free text is accepted besides."""
        ...

    def build(self, call: Call) -> Request:
        """The call in this provider's form. Pure: same call, same bytes."""
        ...

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Send the request and yield events; the last one is an :class:`End`."""
        ...

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The models that the provider names at run time. A real call."""
        ...

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """The exact input tokens of a request, where the provider counts them; else None."""
        ...

    def caching(self, model: str) -> Caching | None:
        """How the provider keeps what it was sent; None when nobody knows."""
        ...

    def body(self, request: Request) -> Json:
        """The JSON that goes over the wire for a request; what :meth:`stream` sends is this."""
        ...

    def script(self, request: Request, base_url: str) -> str:
        """A runnable Python script of this very call; the key comes from the environment."""
        ...

    def curl(self, request: Request, base_url: str) -> str:
        """The same call as a curl command line."""
        ...
