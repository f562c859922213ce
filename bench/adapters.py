"""What each adapter costs on top of its SDK: the same request to the same server, both ways.

Ours builds the request of a conversation's next turn and streams the answer; the SDK alone is
handed a request that is built already, as its documentation shows, and joins the words.
"""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from bench.server import CHUNKS
from bench.table import Line, milliseconds, ratio, show, undisturbed
from bench.turn import server
from bench.words import prose
from core import Config, Run, Runner, Store
from core.binding import build, seal
from core.providers import adapter
from core.types import Adapter, Call, Delta, Endpoint, Json, Message, Role, Stop, Text

LENGTH = 400  # characters of every message
TARGET = 1.10
KEY = "bench"
HISTORIES = (2, 200, 1000)
BURST = (("burst", {2: 25, 200: 13, 1000: 9}), ("paced-50", {2: 3, 200: 3, 1000: 3}))
"""How the chunks come, and how often that is measured by messages of history."""
ABOUT = {"burst": f"{CHUNKS} chunks at once", "paced-50": "50 chunks, 20 ms before each"}
TOGETHER = 3  # times

Bare = Callable[[Mapping[str, Json]], Iterator[str]]
"""The SDK alone: a body as it goes over the wire, and the words that come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An adapter, its SDK alone, and an answer as it gives it back to its provider."""

    adapter: Adapter
    endpoint: Endpoint
    bare: Bare
    items: Callable[[str], Json]


def run() -> None:
    """Every adapter, burst and paced; requests built; four at once."""
    with server() as url, undisturbed():
        subjects = _subjects(url.removesuffix("/v1"))
        for model, times in BURST:
            lines = [
                _line(subject, model, history, times[history], url)
                for subject in subjects
                for history in HISTORIES
            ]
            show(f"Adapters: {ABOUT[model]}, messages of {LENGTH} characters",
                 "SDK alone", "Turntree", lines)  # fmt: skip
        _show_building(subjects)
        show("Four runs at once, one on each adapter, 50 chunks with 20 ms before each",
             "slowest alone", "all four", [_together(subjects)])  # fmt: skip


# --- a turn ----------------------------------------------------------------------------------


class Conversation:
    """A conversation that grows by an answer and a question with every turn."""

    def __init__(self, subject: Subject, model: str, history: int) -> None:
        self.subject, self.model = subject, model
        self.messages = tuple(self._message(n) for n in range(history - 1))

    def next(self) -> Call:
        """The call of one more turn; all earlier messages are the very same."""
        size = len(self.messages)
        self.messages += (self._message(size), self._message(size + 1))
        return Call(model=self.model, system=prose(0, LENGTH), messages=self.messages)

    def _message(self, n: int) -> Message:
        role: Role = "assistant" if n % 2 else "user"
        text = prose(n + 1, LENGTH)
        raw = self.subject.items(text) if n % 2 else None
        return Message(role=role, parts=(Text(text=text),), raw=raw)


def _line(subject: Subject, model: str, history: int, times: int, url: str) -> Line:
    alone, ours = [], []
    # Two of them, so that nothing that one has worked out is known for the other.
    theirs, mine = (Conversation(subject, model, history) for _ in range(2))
    count = int(model.partition("-")[2] or CHUNKS)
    for n in range(times + 1):
        body = subject.adapter.body(subject.adapter.build(theirs.next()))
        call = mine.next()
        acts = [
            (alone, lambda body=body: _alone(subject, body, count)),
            (ours, lambda call=call: _with_adapter(subject, call, count)),
        ]
        hashes = set()
        for timings, act in acts if n % 2 else reversed(acts):
            took = act()
            hashes.add(_last(url))
            if n:  # the first go does not count
                timings.append(took)
        assert len(hashes) == 1, "the requests are not the same"
    return Line(
        what=f"{subject.adapter.name}, {history:,} messages",
        base=milliseconds(alone),
        measured=milliseconds(ours),
        ratio=ratio(ours, alone),
        target=TARGET,
    )


def _alone(subject: Subject, body: Any, count: int) -> float:
    began = time.perf_counter()
    words = [*subject.bare(body)]
    text = "".join(words)
    ended = time.perf_counter()
    assert (len(words), text[-1]) == (count, " ")
    return ended - began


def _with_adapter(subject: Subject, call: Call, count: int) -> float:
    began = time.perf_counter()
    request = subject.adapter.build(call)
    events = subject.adapter.stream(request, subject.endpoint, Stop())
    words = [event.text for event in events if isinstance(event, Delta)]
    text = "".join(words)
    ended = time.perf_counter()
    assert (len(words), text[-1]) == (count, " ")
    return ended - began


def _last(url: str) -> str:
    with urllib.request.urlopen(f"{url}/last") as answer:
        seen: str = answer.read().decode()
    return seen


# --- building --------------------------------------------------------------------------------


def _show_building(subjects: Sequence[Subject]) -> None:
    print(f"\nBuilding the request of {max(HISTORIES):,} messages, raw items checked and hashed")
    print(f"  {'':<46}{'the first time':>16}{'the next turn':>16}{'its JSON':>12}")
    for subject in subjects:
        first, later, size = [], [], 0
        for _ in range(5):
            conversation = Conversation(subject, "burst", max(HISTORIES))
            request = None
            for timings in (first, later, later, later):
                call = _sealed(subject.adapter, conversation.next())
                began = time.perf_counter()
                request = build(subject.adapter, call)
                timings.append(time.perf_counter() - began)
            size = len(json.dumps(subject.adapter.body(request)))
        print(
            f"  {subject.adapter.name:<46}{milliseconds(first):>16}{milliseconds(later):>16}"
            f"{size / 1000:>9.0f} kB"
        )
