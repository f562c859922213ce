"""What a turn costs on top of the official SDK: the same server, the same request, both ways.

Ours writes down the question, the request, the answer and the run on the way; the SDK alone
keeps nothing.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import openai

from bench.server import CHUNKS
from bench.table import Line, milliseconds, ratio, show, undisturbed
from bench.words import prose
from core import Branch, Config, Runner, Store, Text
from core.branching import new_node
from core.types import Role

LENGTH = 400  # characters of every message
TARGET = 1.10
_KEY = "bench"

Timing = tuple[float, float]  # seconds to the first word, and to the end of the turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``history`` is messages in a request, the system prompt and the question counted."""

    what: str
    model: str
    history: int = 20
    runs: int


CASES = (
    Case(what="at once, 20 messages", model="burst", runs=40),
    Case(what="at once, 2,000 messages", model="burst", history=2000, runs=7),
    Case(what="20 ms before each, 20 messages", model="paced", runs=9),
)


def run() -> None:
    """Burst and paced, first word and whole turn."""
    lines = []
    with serving() as address, tempfile.TemporaryDirectory() as folder:
        url = f"{address}/v1"
        here = {"TURNTREE_COMPATIBLE_URL": url, "TURNTREE_COMPATIBLE_KEY": _KEY}
        with (
            patch.dict(os.environ, here),
            Store.open(Path(folder) / "sessions.db") as store,
            undisturbed(),
        ):
            runner = Runner(store)
            client = openai.OpenAI(base_url=url, api_key=_KEY, max_retries=0)
            for case in CASES:
                lines += _lines(case, runner, client)
            runner.close()
    title = f"Turn: {CHUNKS} chunks from a loopback server, messages of {LENGTH} characters"
    show(title, "openai SDK", "Turntree", lines)


def _lines(case: Case, runner: Runner, client: openai.OpenAI) -> list[Line]:
    bare, ours = interleaved(
        lambda n: _bare(client, case, n), lambda n: _ours(runner, case, n), case.runs
    )
    return [
        Line(
            what=f"{case.what}: {name}",
            base=milliseconds([timing[index] for timing in bare]),
            measured=milliseconds([timing[index] for timing in ours]),
            ratio=ratio([timing[index] for timing in ours], [timing[index] for timing in bare]),
            target=TARGET,
        )
        for index, name in enumerate(("first word", "whole turn"))
    ]


def interleaved(
    one: Callable[[int], Timing], other: Callable[[int], Timing], runs: int
) -> tuple[list[Timing], list[Timing]]:
    """Both in turn, each going first every other time, after one go that does not count."""
    timings: tuple[list[Timing], list[Timing]] = ([], [])
    for n in range(runs + 1):
        for index, act in sorted(enumerate((one, other)), reverse=bool(n % 2)):
            timing = act(n)
            if n:
                timings[index].append(timing)
    return timings


def _bare(client: openai.OpenAI, case: Case, n: int) -> Timing:
    """The SDK as its documentation shows it, with a kept client."""
    messages: list[Any] = [{"role": "system", "content": prose(0, LENGTH)}]
    for index in range(1, case.history):
        role = "user" if index % 2 else "assistant"
        messages.append({"role": role, "content": _said(case, index, n)})
    words: list[str] = []
    first = 0.0
    began = time.perf_counter()
    stream = client.chat.completions.create(
        model=case.model,
        messages=messages,
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        if chunk.choices and (word := chunk.choices[0].delta.content):
            first = first or time.perf_counter()
            words.append(word)
    ended = time.perf_counter()
    assert len(words) == CHUNKS
    return first - began, ended - began


def _ours(runner: Runner, case: Case, n: int) -> Timing:
    """The same request as the next turn of a session, followed as a page would."""
    branch = _history(runner.store, case, n)
    asked = _said(case, case.history - 1, n)
    first, words = 0.0, 0
    began = time.perf_counter()
    sent = runner.send(branch.id, asked)
    for _ in runner.follow(sent.id):
        first = first or time.perf_counter()
        words += 1
    ended = time.perf_counter()
    assert words == CHUNKS
    return first - began, ended - began


def _history(store: Store, case: Case, n: int) -> Branch:
    """A session that stands just before the question; a long one is simply gone on with."""
    config = Config(provider="compatible", model=case.model, system=prose(0, LENGTH))
    if n and case.history > 100:
        session_id = store.sessions.recent(1)[0]["id"]
        return store.branches.of(session_id)[0]
    session = store.sessions.create(config=config)
    branch = store.branches.get(str(session.current_branch_id))
    with store.write():
        tip = None
        for index in range(1, case.history - 1):
            role: Role = "user" if index % 2 else "assistant"
            words = Text(text=_said(case, index, n))
            tip = store.nodes.add(new_node(session.id, tip, role, (words,))).id
        store.branches.move(branch.id, tip, why="send")
    store.nodes.lineage(tip)  # as the page has that shows it
    return branch


def _said(case: Case, index: int, n: int) -> str:
    """The last answer and the question are new each time; what came before was sent before."""
    fresh = index >= case.history - 2
    return prose(index + (10_000 * (n + 1) if fresh else 0), LENGTH)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server of its own process, without a path."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.server"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()
