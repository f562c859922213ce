"""What an adapter brings to the contract suite: one ``cases_<name>.py`` with a ``CASE``.

A :class:`Scene` says, in no provider's words, what the provider does. A case stages it: on a
wire-level fake, or by a script. The suite then drives the adapter and judges what comes out.
"""

import importlib
import pkgutil
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from core.types import (
    Adapter,
    Call,
    Delta,
    End,
    Endpoint,
    Event,
    FinishReason,
    Message,
    Stop,
    Text,
    ToolCall,
    Usage,
)

Trouble = Literal[
    "bad_key",
    "no_credit",
    "no_permission",
    "unknown_model",
    "rate_limited",
    "quota",
    "overloaded",
    "server_error",
    "gateway_timeout",
    "context_too_long",
    "context_too_long_in_words",
    "too_many_bytes",
    "bad_parameter",
    "unprocessable",
    "not_found",
    "redirect",
    "page_instead_of_api",
]


@dataclass(frozen=True)
class Scene:
    """What the provider does with one request. ``finish`` None: it just stops sending."""

    text: Sequence[str] = ("Hello", " world")
    thinking: Sequence[str] = ()
    refusal: str = ""
    calls: Sequence[ToolCall] = ()
    finish: FinishReason | None = "stop"
    usage: Usage | None = None
    progress: int = 0
    slice: int = 0
    pause: float = 0
    wait: float = 0
    stall: bool = False
    noise: bool = False
    breaks: bool = False
    trouble: Trouble | None = None
    trouble_after_text: bool = False


@dataclass
class Stage:
    """A scene that is on. ``seen`` fills with the requests that reached the provider."""

    call: Call
    endpoint: Endpoint | None = None
    seen: list[Any] = field(default_factory=list)
    hung_up: threading.Event | None = None


class Case(Protocol):
    """One adapter in the suite. ``can`` names what it can be asked to show::

    stream     it can be driven             http       over HTTP, to an endpoint
    thinking   tools    refusal    progress    usage    slow    cut_off
    """

    name: str
    model: str
    can: frozenset[str]

    def stage(self, scene: Scene) -> AbstractContextManager[Stage]:
        """Put a scene on."""
        ...

    def exceptions(self) -> Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
        """Every exception class of SDK and transport, with samples and what each becomes."""
        ...

    def translate(self, exc: Exception) -> Exception:
        """What the adapter makes of an exception."""
        ...


def cases() -> dict[str, Case]:
    """Every case by name, found by scanning this folder."""
    package = __package__ or "tests.contract"
    folder = importlib.import_module(package).__path__
    found = (
        importlib.import_module(f"{package}.{module.name}").CASE
        for module in pkgutil.iter_modules(folder)
        if module.name.startswith("cases_")
    )
    return {case.name: case for case in found}


def ask(text: str, model: str, **more: Any) -> Call:
    """A call with one user message."""
    return Call(model=model, messages=(Message(role="user", parts=(Text(text=text),)),), **more)


def events(adapter: Adapter, stage: Stage, stop: Stop | None = None) -> list[Event]:
    """Drive an adapter to the end."""
    request = adapter.build(stage.call)
    return list(adapter.stream(request, stage.endpoint, stop or Stop()))


def words(found: Sequence[Event], kind: str = "text") -> str:
    """What was said, or thought."""
    return "".join(e.text for e in found if isinstance(e, Delta) and e.kind == kind)


def ending(found: Sequence[Event]) -> End:
    """The terminal event; there must be exactly one, at the end."""
    ends = [event for event in found if isinstance(event, End)]
    assert len(ends) == 1
    assert found[-1] is ends[0]
    return ends[0]
