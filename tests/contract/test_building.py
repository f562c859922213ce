"""What every adapter builds: pure, complete, and with nothing empty in it."""

import json
import re
from typing import Any

import pytest

from core.providers import adapters
from core.types import (
    Adapter,
    Call,
    Message,
    Part,
    Request,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.contract.case import Case, ask, cases

pytestmark = pytest.mark.needs("build")


def say(role: Role, *parts: Part | str) -> Message:
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role=role, parts=made)


def text_of(request: Request) -> str:
    """The request as text, key order included."""
    return json.dumps([dict(request.envelope), request.messages])


CONVERSATION = (
    say("user", "What is the weather in Zürich? ☂"),
    say(
        "assistant",
        Thinking(text="hidden thoughts"),
        "Let me look.",
        ToolCall(id="call_1", name="weather", arguments='{"city": "Zürich"}'),
    ),
    say("tool", ToolResult(call_id="call_1", name="weather", text="rain")),
    say("assistant", "It rains."),
    say("user", "And tomorrow?"),
)


def test_every_adapter_has_a_case() -> None:
    assert set(adapters()) == set(cases())


def test_the_same_call_gives_the_same_bytes(case: Case, adapter: Adapter) -> None:
    one = Call(
        model=case.model,
        messages=CONVERSATION,
        system="Be brief.",
        sampling={"temperature": 0.5, "max_tokens": 20},
    )
    other = Call(
        model=case.model,
        messages=CONVERSATION,
        system="Be brief.",
        sampling={"max_tokens": 20, "temperature": 0.5},
    )
    assert text_of(adapter.build(one)) == text_of(adapter.build(other))


def test_a_longer_conversation_begins_with_the_very_same_messages(
    case: Case, adapter: Adapter
) -> None:
    short = adapter.build(Call(model=case.model, messages=CONVERSATION, system="Be brief."))
    more = (*CONVERSATION, say("assistant", "Sun."), say("user", "Thanks."))
    long = adapter.build(Call(model=case.model, messages=more, system="Be brief."))
    assert list(long.messages[: len(short.messages)]) == list(short.messages)


def test_a_request_survives_json(case: Case, adapter: Adapter) -> None:
    request = adapter.build(Call(model=case.model, messages=CONVERSATION))
    assert json.loads(json.dumps(list(request.messages))) == list(request.messages)
    assert json.loads(json.dumps(dict(request.envelope))) == dict(request.envelope)


def test_the_person_s_words_are_sent_as_typed(case: Case, adapter: Adapter) -> None:
    typed = "  $x$ & <b>`code`</b>\n\n😀 "
    assert json.dumps(typed) in text_of(adapter.build(ask(typed, case.model)))


def test_thinking_is_never_sent(case: Case, adapter: Adapter) -> None:
    assert "hidden" not in text_of(adapter.build(Call(model=case.model, messages=CONVERSATION)))


def test_a_setting_that_is_unset_is_not_sent(case: Case, adapter: Adapter) -> None:
    sampling = {"temperature": None, "top_p": None, "max_tokens": 7}
    sent = text_of(adapter.build(ask("Hi", case.model, sampling=sampling)))
    assert "temperature" not in sent
    assert "top" not in sent.lower()
    assert re.search(r'"max\w*": 7\b', sent)


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_empty_messages_are_left_out(case: Case, adapter: Adapter, blank: str) -> None:
    messages = (
        say("user", "One"),
        say("assistant", blank),
        say("assistant", Thinking(text="only this")),
        say("user", blank),
        Message(role="user", parts=()),
        say("assistant", "Two"),
        say("user", "Three"),
    )
    with_blanks = adapter.build(Call(model=case.model, messages=messages, system=blank))
    without = (messages[0], messages[5], messages[6])
    assert with_blanks == adapter.build(Call(model=case.model, messages=without))


def test_half_characters_are_harmless_in_what_is_sent(case: Case, adapter: Adapter) -> None:
    request = adapter.build(ask("\ud83d\ude00 and \ud83d", case.model, system="\ude00"))
    json.dumps(list(request.messages), ensure_ascii=False).encode()


def test_building_touches_nothing_it_was_given(case: Case, adapter: Adapter) -> None:
    sampling: dict[str, Any] = {"stop": ["a"], "temperature": 1}
    adapter.build(ask("Hi", case.model, sampling=sampling))
    assert sampling == {"stop": ["a"], "temperature": 1}
