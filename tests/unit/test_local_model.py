"""The real tiny model in its real process, through the adapter."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from core.errors import ContextTooLong, LocalModelError, Unreachable
from core.local import Engine, Weights
from core.providers.local import Local
from core.types import Call, Delta, End, Event, Message, Progress, Role, Stop, Text
from tests.fakes.weights import tiny_weights

__all__ = ["tiny_weights"]
LONG = " ".join(f"On day {day} the fox walked {day * 3} miles." for day in range(20))


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.stop()


@pytest.fixture
def adapter(engine: Engine, tiny_weights: Weights) -> Local:
    return Local(engine)


def say(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),))


def events(
    adapter: Local, *messages: Message, stop: Stop | None = None, longest: int = 16
) -> Iterator[Event]:
    call = Call(model="smollm2-135m", messages=messages, sampling={"max_tokens": longest})
    return adapter.stream(adapter.build(call), None, stop or Stop())


def text_of(found: list[Event]) -> str:
    return "".join(event.text for event in found if isinstance(event, Delta))


def end_of(found: list[Event]) -> End:
    assert isinstance(found[-1], End)
    return found[-1]


def pid(engine: Engine) -> int:
    assert engine._server is not None
    assert engine._server.pid is not None
    return engine._server.pid


def test_the_answer_streams_and_is_the_same_each_time(adapter: Local, engine: Engine) -> None:
    found = [list(events(adapter, say("user", "Name three colors."))) for _ in range(2)]
    first, second = (text_of(one) for one in found)
    assert first == second != ""
    assert sum(isinstance(event, Delta) for event in found[0]) > 3
    assert found[0][0] == Progress(stage="starting the embedded model")
    assert not any("starting" in event.stage for event in found[1] if isinstance(event, Progress))
    end = end_of(found[0])
    assert end.resolved_model == "smollm2-135m"
    assert end.finish_reason in ("stop", "length")
    assert end.usage.input_tokens
    assert end.usage.output_tokens
    status = engine.status()
    assert status is not None
    assert status.words == "ready"


def test_the_second_turn_reads_only_what_is_new(adapter: Local) -> None:
    first = say("user", LONG)
    answer = text_of(list(events(adapter, first)))
    found = list(events(adapter, first, say("assistant", answer), say("user", "Go on.")))
    usage = end_of(found).usage
    assert usage.input_tokens is not None
    assert usage.cached_tokens is not None
    assert 0 < usage.input_tokens - usage.cached_tokens < 40


def test_an_answer_left_open_is_continued_and_only_new_words_come(adapter: Local) -> None:
    asked = say("user", "Count from 1 to 10.")
    found = text_of(list(events(adapter, asked, say("assistant", "1, 2, 3, "), longest=30)))
    assert found.lstrip().startswith("4, 5, 6")


def test_reading_a_long_prompt_is_told_as_it_goes(adapter: Local, engine: Engine) -> None:
    shares: list[float] = []
    words: list[str] = []
    for event in events(adapter, say("user", f"Read this. {LONG}"), longest=2):
        if isinstance(event, Progress) and event.share is not None:
            shares.append(event.share)
            status = engine.status()
            words.append(status.words if status else "")
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert all(told.startswith("reading the prompt") for told in words)


def test_stop_ends_a_long_answer_at_once_and_the_next_one_works(adapter: Local) -> None:
    stop, words = Stop(), 0
    stopped_at = 0.0
    for event in events(adapter, say("user", "Tell a long story."), stop=stop, longest=2000):
        words += isinstance(event, Delta)
        if words == 5 and not stop.is_set():
            stopped_at = time.monotonic()
            stop.set()
        assert not isinstance(event, End)
    assert time.monotonic() - stopped_at < 1
    began = time.monotonic()
    assert text_of(list(events(adapter, say("user", "Hi"), longest=2)))
    assert time.monotonic() - began < 5


def test_stop_is_heard_while_the_prompt_is_read(adapter: Local) -> None:
    stop = Stop()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    found = list(events(adapter, say("user", f"Read that. {LONG * 4}"), stop=stop))
    assert time.monotonic() - began < 2
    assert not text_of(found)
    assert text_of(list(events(adapter, say("user", "Hi"), longest=2)))


def test_a_process_killed_in_mid_answer_is_told_and_started_again(
    adapter: Local, engine: Engine
) -> None:
    answer = events(adapter, say("user", "Tell a long story."), longest=2000)
    assert any(isinstance(event, Delta) for event in answer)
    os.kill(pid(engine), signal.SIGKILL)
    with pytest.raises(Unreachable, match="signal 9") as caught:
        list(answer)
    assert "started again" in caught.value.hint
    assert caught.value.retryable
    assert text_of(list(events(adapter, say("user", "Hi"), longest=2)))


def test_several_answers_at_once_share_the_process(adapter: Local, engine: Engine) -> None:
    found: dict[int, str] = {}

    def ask(number: int) -> None:
        found[number] = text_of(list(events(adapter, say("user", f"Say {number}."), longest=6)))

    runs = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    before = pid(engine)
    for run in runs:
        run.start()
    for run in runs:
        run.join(30)
    assert len(found) == 3
    assert all(found.values())
    assert pid(engine) == before


def test_more_than_the_window_holds_is_said_so(adapter: Local) -> None:
    with pytest.raises(ContextTooLong):
        list(events(adapter, say("user", LONG * 40)))


def test_weights_that_are_no_model_are_refused_with_the_runtime_s_reason(
    adapter: Local, tiny_weights: Weights, tmp_path: Path
) -> None:
    torn = tmp_path / "torn.gguf"
    with tiny_weights.path.open("rb") as whole:
        torn.write_bytes(whole.read(10_000))
    engine = Engine()
    with pytest.raises(LocalModelError, match="torn \\(own weights\\) cannot be loaded: "):
        engine.ensure(Weights(id="torn", label="torn (own weights)", path=torn), Stop())
    engine.stop()


PARENT = """
import time
from core.local import ENGINE, find
from core.types import Stop
ENGINE.ensure(find("smollm2-135m"), Stop())
print(ENGINE._server.pid, flush=True)
time.sleep(60)
"""


def test_the_real_process_goes_when_its_parent_is_killed(tiny_weights: Weights) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child)
        parent.kill()
    deadline = time.monotonic() + 5
    while psutil.pid_exists(child):
        assert time.monotonic() < deadline, "the child outlived its parent"
        time.sleep(0.02)
