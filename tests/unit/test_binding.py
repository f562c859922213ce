"""Raw items go back only to what they were made under: provider, model, system, beginning."""

from dataclasses import replace

import pytest

from core.binding import build, seal
from core.providers import adapter
from core.types import Call, Message, Text

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
