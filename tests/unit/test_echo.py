"""The scripted provider: its directives do what its docstring says."""

import json
import time
from typing import Any

import pytest

from core import errors
from core.providers.echo import ADAPTER, Echo
from core.types import (
    AttachmentRef,
    Call,
    Delta,
    Event,
    Message,
    Progress,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from tests.contract.case import ask, ending, words


def run(text: str, model: str = "echo-1", echo: Echo = ADAPTER, **more: Any) -> list[Event]:
    return list(echo.stream(echo.build(ask(text, model, **more)), None, Stop()))


@pytest.mark.parametrize("text", ["Hello there", " two  spaces \n\nand lines\n", "/unknown thing"])
def test_it_says_what_it_was_told(text: str) -> None:
    assert words(run(text)) == text


def test_it_is_hidden_until_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURNTREE_ECHO", raising=False)
    assert ADAPTER.hidden()
    monkeypatch.setenv("TURNTREE_ECHO", "1")
    assert not ADAPTER.hidden()


def test_the_reply_is_what_follows_the_directives() -> None:
    found = run("/think First\n/think then\n/progress 2\n/finish length\nThe\nreply")
    assert words(found) == "The\nreply"
    assert words(found, "thinking") == "First\nthen"
    assert [e.share for e in found if isinstance(e, Progress)] == [0.5, 1.0]
    assert ending(found).finish_reason == "length"


def test_pieces_can_be_any_size() -> None:
    found = run("/chunk 2\nabcde")
    assert [e.text for e in found if isinstance(e, Delta)] == ["ab", "cd", "e"]


def test_the_slow_model_takes_twenty_milliseconds_a_word() -> None:
    began = time.monotonic()
    assert words(run("a b c d e", "echo-slow")) == "a b c d e"
    assert 0.1 <= time.monotonic() - began < 0.5


def test_the_thinking_model_thinks_first() -> None:
    found = run("one two", "echo-think")
    assert words(found, "thinking") == "I was sent 2 words."
    assert ending(found).usage == Usage(input_tokens=2, output_tokens=7, reasoning_tokens=5)


def test_it_tells_what_it_was_sent() -> None:
    messages = (
        Message(role="user", parts=(Text(text="one"),)),
        Message(role="assistant", parts=(Text(text="two"),)),
        Message(role="user", parts=(Text(text="/count"),)),
    )
    call = Call(model="echo-1", messages=messages, system="S")
    found = list(ADAPTER.stream(ADAPTER.build(call), None, Stop()))
    assert words(found) == "context 4 messages"
    told = words(run("/context", system="S"))
    assert json.loads(told) == [
        {"role": "system", "text": "S"},
        {"role": "user", "text": "/context"},
    ]


def test_files_are_named_in_what_it_was_sent() -> None:
    file = AttachmentRef(sha256="0" * 64, media_type="text/plain", name="a.txt")
    call = Call(model="echo-1", messages=(Message(role="user", parts=(file,)),))
    assert ADAPTER.build(call).messages[0]["files"][0]["name"] == "a.txt"


def test_a_failure_happens_so_often_and_then_not() -> None:
    echo = Echo()
    for _ in range(2):
        for _ in range(2):
            with pytest.raises(errors.Overloaded):
                run("/fail Overloaded 2\nfine", echo=echo)
        assert words(run("/fail Overloaded 2\nfine", echo=echo)) == "fine"


def test_a_failure_tells_status_and_waiting_time() -> None:
    with pytest.raises(errors.RateLimited) as caught:
        run("/fail RateLimited\n/retry-after 1.5\n/status 429")
    assert (caught.value.retry_after, caught.value.status) == (1.5, 429)


def test_a_failure_can_come_in_the_middle() -> None:
    stream = ADAPTER.stream(
        ADAPTER.build(ask("/fail Timeout after 2\na b c", "echo-1")), None, Stop()
    )
    assert [next(stream), next(stream)] == [Delta(text="a"), Delta(text=" b")]
    with pytest.raises(errors.Timeout):
        next(stream)


@pytest.mark.parametrize(
    "text",
    ["/script {", '/script {"nope": 1}', "/script []", "/delay x", "/finish soon", "/fail Nope"],
)
def test_a_script_with_a_mistake_is_told(text: str) -> None:
    with pytest.raises(errors.BadRequest):
        run(text)


def test_an_answer_can_be_cut_off_and_then_continued() -> None:
    said = "/cut 2\none two three"
    found = run(said)
    assert (words(found), ending(found).finish_reason) == ("one two", "cut_off")
    begun = Message(role="assistant", parts=(Text(text="one two"),))
    call = ask(said, "echo-1")
    more = Call(model="echo-1", messages=(*call.messages, begun))
    found = list(ADAPTER.stream(ADAPTER.build(more), None, Stop()))
    assert (words(found), ending(found).finish_reason) == (" three", "stop")


def test_a_stream_can_end_without_its_end() -> None:
    assert run("/noend\nhi") == [Delta(text="hi")]


def test_tools_are_called_at_the_end() -> None:
    found = run('/tool clock\n/tool weather {"city": "Bern"}\nLet me look.')
    calls = [event for event in found if isinstance(event, ToolCall)]
    assert [(c.name, c.arguments) for c in calls] == [
        ("clock", "{}"),
        ("weather", '{"city": "Bern"}'),
    ]
    assert ending(found).finish_reason == "tool_call"


def test_usage_counts_words_or_says_what_the_script_says() -> None:
    assert ending(run("one two", system="s")).usage == Usage(
        input_tokens=3, output_tokens=2, reasoning_tokens=0
    )
    assert ending(run("/usage 10 20 5 3\nhi")).usage == Usage(
        input_tokens=10, output_tokens=20, cached_tokens=5, reasoning_tokens=3
    )
    assert ending(run("/usage none\nhi")).usage == Usage()


def test_the_longest_answer_is_counted_in_words() -> None:
    found = run("one two three", sampling={"max_tokens": 2})
    assert (words(found), ending(found).finish_reason) == ("one two", "length")


def test_a_model_it_does_not_have_is_unknown() -> None:
    with pytest.raises(errors.UnknownModel):
        run("hi", "echo-9")
