"""Raw items go back only to what they were made under: provider, model, system, beginning."""

from dataclasses import replace

import pytest

from core.binding import build, seal
from core.providers import adapter
from core.types import Call, Message, Text, ToolCall

ITEMS = [{"role": "assistant", "text": "raw words"}]


def said(role: str, text: str, **more: object) -> Message:
    return Message(role=role, parts=(Text(text=text),), **more)  # type: ignore[arg-type]


@pytest.fixture
def asked() -> Call:
    return Call(model="echo-1", system="be kind", messages=(said("user", "one"),))


def next_call(asked: Call) -> Call:
    """The turn after an answer that was sealed under ``asked``."""
    echo = adapter("echo")
    sealed = seal(echo, asked, build(echo, asked), ITEMS)
    return replace(
        asked,
        messages=(*asked.messages, said("assistant", "words", raw=sealed), said("user", "two")),
    )


def seen(call: Call, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The raw items that the adapter is given."""
    echo = adapter("echo")
    given: list[Call] = []
    real = echo.build
    monkeypatch.setattr(echo, "build", lambda call: given.append(call) or real(call))
    build(echo, call)
    return [message.raw for message in given[-1].messages]


def test_an_unchanged_beginning_gets_its_items_back(
    asked: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seen(next_call(asked), monkeypatch) == [None, ITEMS, None]


@pytest.mark.parametrize(
    "changed",
    [
        lambda call: replace(call, system="be brief"),
        lambda call: replace(call, model="echo-think"),
        lambda call: replace(call, messages=(said("user", "edited"), *call.messages[1:])),
        lambda call: replace(call, messages=(said("user", "more"), *call.messages)),
    ],
    ids=["system", "model", "edited", "longer"],
)
def test_a_changed_beginning_gets_the_portable_words(
    asked: Call, monkeypatch: pytest.MonkeyPatch, changed: object
) -> None:
    assert not any(seen(changed(next_call(asked)), monkeypatch))  # type: ignore[operator]


def test_what_follows_a_broken_answer_is_not_raw_either(
    asked: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = next_call(asked)
    echo = adapter("echo")
    sealed = seal(echo, second, build(echo, second), ITEMS)
    third = replace(
        second,
        messages=(*second.messages, said("assistant", "words", raw=sealed), said("user", "three")),
    )
    assert seen(third, monkeypatch) == [None, ITEMS, None, ITEMS, None]
    edited = replace(third, messages=(said("user", "edited"), *third.messages[1:]))
    assert not any(seen(edited, monkeypatch))


def test_what_was_made_after_a_break_is_whole_again(
    asked: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = replace(next_call(asked), system="be brief")
    echo = adapter("echo")
    sealed = seal(echo, second, build(echo, second), ITEMS)
    third = replace(
        second,
        messages=(*second.messages, said("assistant", "words", raw=sealed), said("user", "three")),
    )
    assert seen(third, monkeypatch) == [None, None, None, ITEMS, None]
    sealed = seal(echo, third, build(echo, third), ITEMS)
    fourth = replace(
        third,
        messages=(*third.messages, said("assistant", "words", raw=sealed), said("user", "four")),
    )
    assert seen(fourth, monkeypatch) == [None, None, None, ITEMS, None, ITEMS, None]
    back = replace(fourth, system="be kind")
    assert seen(back, monkeypatch) == [None, ITEMS, None, None, None, None, None]


def test_tools_that_only_the_provider_is_told_of_are_bound_too(asked: Call) -> None:
    claude = adapter("anthropic")
    told = replace(asked, model="claude-opus-5-5")
    items = [{"type": "text", "text": "raw", "citations": []}]
    answer = said("assistant", "raw", raw=seal(claude, told, build(claude, told), items))
    called = Message(role="assistant", parts=(ToolCall(id="c", name="f", arguments="{}"),))
    rest = (*told.messages, answer, said("user", "again"))
    assert build(claude, replace(told, messages=rest)).messages[1]["content"] == items
    stubbed = replace(told, messages=(*rest, called, said("user", "go on")))
    assert build(claude, stubbed).messages[1]["content"] != items
