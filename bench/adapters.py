"""What each adapter costs on top of its bare SDK, and whether runs get in each other's way.

The same loopback server, the same request, both ways in turn. Ours builds the request from
the conversation each time, as a turn does, and reads the whole answer; the SDK is used as its
documentation shows it, with a kept client and messages that are ready to send.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.server import CHUNKS, SHORT
from bench.table import Line, milliseconds, ratio, show, undisturbed
from bench.turn import TARGET, Timing, interleaved, serving
from bench.words import prose
from core import Config, Runner, Store, endpoints, keys
from core.providers import adapters
from core.types import Call, Delta, Endpoint, Message, Stop, Text

_KEY = "bench-key-0123456789"
_LENGTH = 400  # characters of every message
_VERSIONED = ("openai", "compatible")  # their address ends in /v1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``history`` is the messages of a request; ``model`` tells the server how to answer."""

    history: int
    model: str
    runs: int

    @property
    def chunks(self) -> int:
        return SHORT if self.model == "short" else CHUNKS


CASES = (
    *(Case(history=history, model="burst", runs=9) for history in (2, 200, 1000)),
    *(Case(history=history, model="short", runs=3) for history in (2, 200, 1000)),
)


def run() -> None:
    """Every adapter against its SDK, then four runs against the slowest of them."""
    with serving() as url, undisturbed():
        for name, sdk in _SDKS.items():
            address = f"{url}/v1" if name in _VERSIONED else url
            endpoint = Endpoint(base_url=address, api_key=_KEY)
            lines = [line for case in CASES for line in _lines(name, sdk(address), endpoint, case)]
            title = f"Adapter {name}: messages of {_LENGTH} characters"
            show(title, "bare SDK", "Turntree", lines)
            print(f"  building the request alone, 1,000 messages: {_building(name)}")
        show("Runs at once", "slowest alone", "all four", [_at_once(url)])


def _lines(name: str, bare: Callable[..., Iterable[str]], to: Endpoint, case: Case) -> list[Line]:
    call = _call(case)
    asked = [(message.role, prose(n, _LENGTH)) for n, message in enumerate(call.messages)]
    theirs, ours = interleaved(
        lambda _: _timed(bare(case.model, asked), case),
        lambda _: _timed(_ours(name, call, to), case),
        case.runs,
    )
    pace = "at once" if case.model == "burst" else "20 ms before each"
    return [
        Line(
            what=f"{case.history:,} messages, {pace}: {what}",
            base=milliseconds([timing[index] for timing in theirs]),
            measured=milliseconds([timing[index] for timing in ours]),
            ratio=ratio([timing[index] for timing in ours], [timing[index] for timing in theirs]),
            target=TARGET,
        )
        for index, what in enumerate(("first word", "whole turn"))
    ]


def _timed(words: Iterable[str], case: Case) -> Timing:
    """Seconds to the first word and to the end; ``words`` must be lazy."""
    first, count = 0.0, 0
    began = time.perf_counter()
    for _ in words:
        first = first or time.perf_counter()
        count += 1
    ended = time.perf_counter()
    assert count == case.chunks, f"{count} words came"
    return first - began, ended - began


def _call(case: Case) -> Call:
    """A conversation that ends with a question."""
    roles = ("assistant", "user") if case.history % 2 == 0 else ("user", "assistant")
    messages = [
        Message(role=roles[n % 2], parts=(Text(text=prose(n, _LENGTH)),))  # type: ignore[arg-type]
        for n in range(case.history)
    ]
    # The very first must be the person's.
    messages[0] = Message(role="user", parts=messages[0].parts)
    return Call(model=case.model, messages=tuple(messages), sampling={"max_tokens": 1000})


def _ours(name: str, call: Call, endpoint: Endpoint) -> Iterator[str]:
    found = adapters()[name]
    for event in found.stream(found.build(call), endpoint, Stop()):
        if isinstance(event, Delta) and event.text:
            yield event.text


def _building(name: str) -> str:
    """The time of one request of 1,000 messages, nothing sent."""
    call = _call(Case(history=1000, model="burst", runs=1))
    seconds = []
    for _ in range(20):
        began = time.perf_counter()
        adapters()[name].build(call)
        seconds.append(time.perf_counter() - began)
    return milliseconds(seconds)


# --- the bare SDKs ---------------------------------------------------------------------------

Asked = list[tuple[str, str]]


def _openai(url: str) -> Callable[[str, Asked], Iterator[str]]:
    import openai

    client = openai.OpenAI(base_url=url, api_key=_KEY, max_retries=0)

    def ask(model: str, asked: Asked) -> Iterator[str]:
        messages: Any = [{"role": role, "content": text} for role, text in asked]
        for event in client.responses.create(
            model=model, input=messages, store=False, stream=True, max_output_tokens=1000
        ):
            if event.type == "response.output_text.delta":
                yield event.delta

    return ask


def _compatible(url: str) -> Callable[[str, Asked], Iterator[str]]:
    import openai

    client = openai.OpenAI(base_url=url, api_key=_KEY, max_retries=0)

    def ask(model: str, asked: Asked) -> Iterator[str]:
        messages: Any = [{"role": role, "content": text} for role, text in asked]
        options: Any = {"include_usage": True}
        for chunk in client.chat.completions.create(
            model=model, messages=messages, stream=True, stream_options=options, max_tokens=1000
        ):
            if chunk.choices and chunk.choices[0].delta.content:
                yield chunk.choices[0].delta.content

    return ask


def _anthropic(url: str) -> Callable[[str, Asked], Iterator[str]]:
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key=_KEY, max_retries=0)

    def ask(model: str, asked: Asked) -> Iterator[str]:
        messages: Any = [{"role": role, "content": text} for role, text in asked]
        with client.messages.stream(model=model, messages=messages, max_tokens=1000) as stream:
            yield from stream.text_stream

    return ask


def _gemini(url: str) -> Callable[[str, Asked], Iterator[str]]:
    from google import genai

    client = genai.Client(api_key=_KEY, http_options={"base_url": url})

    def ask(model: str, asked: Asked) -> Iterator[str]:
        names = {"user": "user", "assistant": "model"}
        contents: Any = [{"role": names[role], "parts": [{"text": text}]} for role, text in asked]
        config: Any = {"max_output_tokens": 1000}
        for chunk in client.models.generate_content_stream(
            model=model, contents=contents, config=config
        ):
            if chunk.text:
                yield chunk.text

    return ask


_SDKS: dict[str, Callable[[str], Callable[[str, Asked], Iterator[str]]]] = {
    "openai": _openai,
    "compatible": _compatible,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


# --- four at once ----------------------------------------------------------------------------


def _at_once(url: str) -> Line:
    """One run on each protocol: the slowest by itself, and all of them together."""
    with four(url) as (runner, names):
        for name in names:
            _runs(runner, [name])  # one that does not count: SDKs are loaded, clients made
        alone = max(
            ([_runs(runner, [name]) for _ in range(3)] for name in names),
            key=lambda seconds: sorted(seconds)[1],
        )
        together = [_runs(runner, names) for _ in range(3)]
    return Line(
        what="four runs, 20 ms before each of 200 chunks",
        base=milliseconds(alone),
        measured=milliseconds(together),
        ratio=ratio(together, alone),
        target=TARGET,
    )


@contextmanager
def four(url: str) -> Iterator[tuple[Runner, list[str]]]:
    """A runner that reaches the server in all four protocols, as servers of these names."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        runner = Runner(store)
        names = []
        for protocol in _SDKS:
            address = f"{url}/v1" if protocol in _VERSIONED else url
            kept = endpoints.add(
                store, label=f"Bench {protocol}", protocol=protocol, base_url=address
            )
            keys.type_in(kept.name, _KEY)
            names.append(kept.name)
        try:
            yield runner, names
        finally:
            runner.close()
            for name in names:
                endpoints.remove(store, name)


def _runs(runner: Runner, names: list[str]) -> float:
    """Seconds from asking all of them to the last one's end."""
    sessions = [
        runner.store.sessions.create(config=Config(provider=name, model="paced")) for name in names
    ]
    began = time.perf_counter()
    sent = [runner.send(str(session.current_branch_id), "Talk to me.") for session in sessions]
    ended = list(map(partial(runner.wait, timeout=60), [run.id for run in sent]))
    seconds = time.perf_counter() - began
    assert {run.finish_reason for run in ended} == {"stop"}, [run.failure for run in ended]
    return seconds
