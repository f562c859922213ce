"""Responses: what was given is given back, and only where it belongs."""

import json
from dataclasses import replace
from typing import Any

import pytest

from core.errors import BadRequest
from core.providers.openai import ADAPTER
from core.types import (
    Call,
    Event,
    Message,
    Text,
    Thinking,
    ToolCall,
)
from tests.contract.case import Scene, ask, ending, words
from tests.contract.cases_openai import MODEL
from tests.contract.respond import CALL, CLOCK, RESULT, WEATHER, fake_server, run, wire
from tests.contract.test_building import say
from tests.fakes import openai as fake


def answered(found: list[Event]) -> Message:
    """An answer as a later request carries it."""
    parts = [
        *([Thinking(text=said)] if (said := words(found, "thinking")) else []),
        *([Text(text=said)] if (said := words(found)) else []),
        *[event for event in found if isinstance(event, ToolCall)],
    ]
    return Message(role="assistant", parts=tuple(parts), raw=ending(found).raw)


def test_reasoning_and_parallel_calls_are_given_back_as_they_came() -> None:
    calls = (CALL, ToolCall(id="call_2", name="clock", arguments="{}"))
    scenes = [
        Scene(thinking=["Look", " first."], text=["Moment."], calls=calls, finish="tool_call"),
        Scene(thinking=["Now", " I know."], text=["It rains."]),
        Scene(text=["Bye."]),
    ]
    history = [say("user", "Weather and time?")]
    with fake_server(*scenes) as (server, endpoint):
        for turn in range(3):
            call = Call(model=MODEL, messages=tuple(history), system="S", tools=(WEATHER, CLOCK))
            found = run(call, endpoint)
            history.append(answered(found))
            if turn == 0:
                results = [replace(RESULT, call_id=c.id, name=c.name) for c in calls]
                history.append(say("tool", *results))
            else:
                history.append(say("user", "Thanks."))
    assert [seen.refused for seen in server.seen] == [None] * 3
    last = server.seen[2].body["input"]
    assert [item.get("type", "message") for item in last] == [
        "message",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "reasoning",
        "message",
        "message",
    ]
    assert last[1]["encrypted_content"].startswith("sealed.1.")
    assert last[2]["phase"] == "final_answer"
    assert last[: len(server.seen[1].body["input"])] == server.seen[1].body["input"]


def test_the_fake_refuses_reasoning_of_another_model_or_conversation() -> None:
    with fake_server(Scene(thinking=["hm"], text=["a"])) as (_, endpoint):
        asked = say("user", "q")
        answer = answered(run(Call(model=MODEL, messages=(asked,)), endpoint))
        then = say("user", "go on")
        run(Call(model=MODEL, messages=(asked, answer, then)), endpoint)
        for call in (
            Call(model="gpt-6-luna", messages=(asked, answer, then)),
            Call(model=MODEL, messages=(say("user", "other"), answer, then)),
            Call(model=MODEL, messages=(asked, answer, then), system="New."),
        ):
            with pytest.raises(BadRequest, match="could not be verified"):
                run(call, endpoint)
            stripped = replace(
                call, messages=tuple(replace(message, raw=None) for message in call.messages)
            )
            assert words(run(stripped, endpoint)) == "a"


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
SAID = fake.said(1, "Hi")


def test_reasoning_that_led_to_nothing_is_left_out() -> None:
    spoken = Message(role="assistant", parts=(Text(text="Hi"),), raw=[REASONING, SAID, REASONING])
    built = ADAPTER.build(Call(model=MODEL, messages=(say("user", "q"), spoken)))
    assert list(built.messages[1:]) == [REASONING, SAID]
    silent = Message(role="assistant", parts=(Thinking(text="hm"),), raw=[REASONING])
    assert len(wire(say("user", "q"), silent)) == 1


@pytest.mark.parametrize(
    "raw",
    [[{**REASONING, "encrypted_content": None}, SAID], {"text": "Hi"}, "Hi", [], ["Hi"]],
)
def test_items_that_cannot_be_given_back_are_told_in_words(raw: Any) -> None:
    spoken = Message(role="assistant", parts=(Text(text="Hi"),), raw=raw)
    assert wire(say("user", "q"), spoken)[1] == {"role": "assistant", "content": "Hi"}


def test_calls_of_its_own_without_results_get_stand_ins() -> None:
    own = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    spoken = Message(role="assistant", parts=(), raw=[own])
    assert wire(say("user", "q"), spoken, say("user", "?"))[2]["call_id"] == "c"


# --- the fake itself -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"model": ""},
        {"store": True},
        {"seed": 1},
        {"stop": ["x"]},
        {"temperature": 1},
        {"max_output_tokens": 15},
        {"reasoning": {"effort": "extreme"}},
        {"text": {}},
        {"include": ["everything"]},
        {"instructions": " "},
        {"prompt_cache_key": "x" * 65},
        {"tool_choice": "auto"},
        {"tools": [{"type": "function", "name": "f"}]},
        {"input": []},
        {"input": [{"role": "poet", "content": "a"}]},
        {"input": [{"role": "user", "content": " "}]},
        {"input": [{"role": "user", "content": "a", "name": "me"}]},
        {"input": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]},
        {"input": [{"role": "assistant", "content": [{"type": "output_text", "text": "a"}]}]},
        {"input": [{"type": "function_call_output", "call_id": "c", "output": "a"}]},
        {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]},
        {"input": [REASONING, {"role": "assistant", "content": "a"}]},
    ],
    ids=json.dumps,
)
def test_the_fake_refuses_what_the_api_does(change: dict[str, Any]) -> None:
    good = ADAPTER.build(ask("Hi", MODEL))
    body = {**good.envelope, "input": list(good.messages)}
    fake.check(body)
    with pytest.raises(fake.Refused):
        fake.check({**body, **change})
