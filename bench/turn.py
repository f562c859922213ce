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
from pathlib import Path

import openai

from bench.server import CHUNKS
from bench.table import Line, milliseconds, ratio, show, undisturbed
from bench.words import prose
from core import Branch, Config, Runner, Store, Text
from core.branching import new_node

HISTORY = 20  # messages in a request: the system prompt, nine turns, and the question
LENGTH = 400  # characters of each
RUNS = {"burst": 40, "paced": 5}
TARGET = 1.10
_KEY = "bench"

Timing = tuple[float, float]  # seconds to the first word, and to the end of the turn


def run() -> None:
    """Burst and paced, first word and whole turn."""
    lines = []
    with _server() as url, tempfile.TemporaryDirectory() as folder:
        os.environ.update(TURNTREE_COMPATIBLE_URL=url, TURNTREE_COMPATIBLE_KEY=_KEY)
        with Store.open(Path(folder) / "sessions.db") as store, undisturbed():
            runner = Runner(store)
            client = openai.OpenAI(base_url=url, api_key=_KEY, max_retries=0)
            lines += _lines("burst", f"{CHUNKS} chunks at once", runner, client)
            lines += _lines("paced", f"{CHUNKS} chunks, 20 ms before each", runner, client)
            runner.close()
    title = f"Turn: {HISTORY} messages of {LENGTH} characters, loopback server, {CHUNKS} chunks"
    show(title, "openai SDK", "Turntree", lines)


def _lines(model: str, what: str, runner: Runner, client: openai.OpenAI) -> list[Line]:
    bare, ours = _interleaved(
        lambda n: _bare(client, model, n), lambda n: _ours(runner, model, n), RUNS[model]
    )
    return [
        Line(
            what=f"{what}: {name}",
            base=milliseconds([timing[index] for timing in bare]),
            measured=milliseconds([timing[index] for timing in ours]),
            ratio=ratio([timing[index] for timing in ours], [timing[index] for timing in bare]),
            target=TARGET,
        )
        for index, name in enumerate(("first word", "whole turn"))
    ]


def _interleaved(
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


def _bare(client: openai.OpenAI, model: str, n: int) -> Timing:
    """The SDK as its documentation shows it, with a kept client."""
    messages = [{"role": "system", "content": prose(0, LENGTH)}]
    for index in range(1, HISTORY):
        role = "user" if index % 2 else "assistant"
        messages.append({"role": role, "content": _said(index, n)})
    words: list[str] = []
    first = 0.0
    began = time.perf_counter()
    stream = client.chat.completions.create(
        model=model,
        messages=messages,  # type: ignore[arg-type]
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


def _ours(runner: Runner, model: str, n: int) -> Timing:
    """The same request as the tenth turn of a session, followed as a page would."""
    branch = _nine_turns(runner.store, model, n)
    first, words = 0.0, 0
    began = time.perf_counter()
    sent = runner.send(branch.id, _said(HISTORY - 1, n))
    for _ in runner.follow(sent.id):
        first = first or time.perf_counter()
        words += 1
    ended = time.perf_counter()
    assert words == CHUNKS
    return first - began, ended - began


def _nine_turns(store: Store, model: str, n: int) -> Branch:
    config = Config(provider="compatible", model=model, system=prose(0, LENGTH))
    session = store.sessions.create(config=config)
    branch = store.branches.get(str(session.current_branch_id))
    with store.write():
        tip = None
        for index in range(1, HISTORY - 1):
            role, words = ("user" if index % 2 else "assistant"), Text(text=_said(index, n))
            tip = store.nodes.add(new_node(session.id, tip, role, (words,))).id
        store.branches.move(branch.id, tip, why="send")
    store.nodes.lineage(tip)  # as the page has that shows it
    return branch


def _said(index: int, n: int) -> str:
    """The last answer and the question are new each time; what came before was sent before."""
    fresh = index >= HISTORY - 2
    return prose(index + (1000 * (n + 1) if fresh else 0), LENGTH)


@contextmanager
def _server() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.server"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.terminate()
        process.wait()
