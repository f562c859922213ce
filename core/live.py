"""A run while it streams: what has arrived, held in memory, and how it came to an end."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from core.errors import ProviderError, TurntreeError
from core.types import (
    Adapter,
    Delta,
    End,
    Endpoint,
    Failure,
    FinishReason,
    Json,
    Parts,
    Progress,
    Request,
    Run,
    Stop,
    Text,
    Thinking,
    ToolCall,
    Usage,
)

_RETRIES = 2
_LONGEST_WAIT = 30.0  # seconds; a provider that asks for more is reported instead
_log = logging.getLogger("turntree")
Sealing = Callable[[Json], Json]
"""From an answer's raw items to what is kept of them."""
Where = Callable[[], Endpoint | None]
"""Finds the provider's address and key at the moment of the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. Durations are milliseconds."""

    finish_reason: FinishReason
    usage: Usage = Usage()
    resolved_model: str | None = None
    raw: Json = None
    first_token_ms: int | None = None
    duration_ms: int | None = None
    failure: Failure | None = None


class Live:
    """A running answer. One thread writes; any thread may read ``deltas`` and the stage.

    ``deltas`` only ever grows, so a reader needs nothing but its own position.
    """

    def __init__(self, run: Run, sealed: Sealing = lambda items: items) -> None:
        self.run = run
        self._sealed = sealed
        self.stop = Stop()
        self.done = threading.Event()
        self.deltas: list[Delta] = []
        self.calls: list[ToolCall] = []
        self.progress = Progress(stage="waiting for the first word")
        self.retry_at: float | None = None
        self.retry_why = ""
        self.saved = 0
        self._began = time.monotonic()
        self._first: float | None = None
        self._grown = threading.Condition()

    def more_than(self, position: int) -> None:
        """Wait until more than ``position`` deltas are there, or no more will come."""
        with self._grown:
            self._grown.wait_for(lambda: len(self.deltas) > position or self.done.is_set())

    def end(self) -> None:
        """Nothing comes any more, and what came is written down."""
        self.done.set()
        with self._grown:
            self._grown.notify_all()

    def unsaved(self) -> bool:
        """Whether something has arrived since the last save."""
        return len(self.deltas) > self.saved

    def parts(self) -> Parts:
        """What has arrived, as the parts of a message."""
        return (*_parts(self.deltas), *self.calls)

    def stream(self, adapter: Adapter, request: Request, endpoint: Where = lambda: None) -> Outcome:
        """Run the stream to its end, whatever that is; never raises for a provider's fault."""
        try:
            return self._outcome(self._with_retries(adapter, request, endpoint))
        except TurntreeError as error:
            return self._outcome(None, error.failure())
        except Exception as error:  # noqa: BLE001 - an adapter's mistake must not lose the words
            _log.exception("an adapter failed in an unforeseen way")
            return self._outcome(
                None,
                Failure(
                    kind="BadReply",
                    message=f"The answer could not be read ({type(error).__name__}).",
                    hint="Retry; if it happens again, choose another model.",
                    retryable=True,
                ),
            )

    def _with_retries(self, adapter: Adapter, request: Request, endpoint: Where) -> End | None:
        """Before the first word a passing fault is tried again; after it, never."""
        for attempt in range(_RETRIES + 1):
            try:
                return self._once(adapter, request, endpoint)
            except ProviderError as error:
                wait = error.retry_after if error.retry_after is not None else 0.5 * 2**attempt
                if (
                    not error.retryable
                    or self.deltas
                    or self.calls
                    or attempt == _RETRIES
                    or wait > _LONGEST_WAIT
                    or self.stop.is_set()
                ):
                    raise
                self.retry_at, self.retry_why = time.time() + wait, error.message
                self.stop.wait(wait)
                self.retry_at = None
        return None

    def _once(self, adapter: Adapter, request: Request, endpoint: Where) -> End | None:
        if self.stop.is_set():
            return None
        for event in adapter.stream(request, endpoint(), self.stop):
            match event:
                case Delta():
                    self._add(event)
                case ToolCall():
                    self.calls.append(event)
                case Progress():
                    self.progress = event
                case End():
                    return event
        return None

    def _add(self, delta: Delta) -> None:
        self.deltas.append(delta)
        with self._grown:
            self._grown.notify_all()
        if self._first is None:
            self._first = time.monotonic()
            # Let whoever waits for the first word have it now: a thread with more to read
            # would go on for 5 ms.
            time.sleep(0)

    def _outcome(self, end: End | None, failure: Failure | None = None) -> Outcome:
        finish: FinishReason
        if self.stop.is_set() and (end is None or failure is not None):
            # Whatever a closed stream raises is only the echo of the person's Stop.
            finish, failure = "stopped", None
        elif failure is not None:
            finish = "error"
        else:
            finish = end.finish_reason if end else "cut_off"
        if failure is not None and failure.parameter not in self.run.config.sampling:
            # Nobody chose it: there is nothing of that name to turn off.
            failure = replace(failure, parameter=None)
        return Outcome(
            finish_reason=finish,
            usage=end.usage if end else Usage(),
            resolved_model=end.resolved_model if end else None,
            raw=self._sealed(end.raw) if end else None,
            first_token_ms=_ms(self._began, self._first),
            duration_ms=_ms(self._began, time.monotonic()),
            failure=failure,
        )


def _parts(deltas: list[Delta]) -> Parts:
    """Deltas folded into parts: neighbours of one kind become one part."""
    runs: list[tuple[str, list[str]]] = []
    for delta in list(deltas):
        if not runs or runs[-1][0] != delta.kind:
            runs.append((delta.kind, []))
        runs[-1][1].append(delta.text)
    return tuple(
        (Thinking if kind == "thinking" else Text)(text="".join(words)) for kind, words in runs
    )


def joined(unfinished: Parts, rest: Parts) -> Parts:
    """An unfinished answer and its continuation as one: the words meet without a seam."""
    if unfinished and rest and isinstance(unfinished[-1], Text) and isinstance(rest[0], Text):
        seam = Text(text=unfinished[-1].text + rest[0].text)
        return (*unfinished[:-1], seam, *rest[1:])
    return (*unfinished, *rest)


def _ms(began: float, then: float | None) -> int | None:
    return None if then is None else round((then - began) * 1000)
