"""The fake of Anthropic's messages: it must refuse what a server might."""

import json
from typing import Any

import pytest

from core.providers.anthropic import ADAPTER
from tests.contract.claude import MODEL, sent
from tests.fakes import anthropic as fake

USE = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
DONE = {"type": "tool_result", "tool_use_id": "t1", "content": "rain"}
CALLED = {"role": "assistant", "content": [USE]}
TEXT = {"type": "text", "text": "a"}
Q = {"role": "user", "content": "q"}
MARK = {"type": "ephemeral"}


@pytest.mark.parametrize(
    "change",
    [
        {"model": ""},
        {"model": "gpt-6"},
        {"max_tokens": None},
        {"max_tokens": 1.5},
        {"max_tokens": 999_999},
        {"temperature": 1},
        {"top_k": 4},
        {"seed": 1},
        {"system": " "},
        {"stop_sequences": ["\n"]},
        {"thinking": {"type": "disabled"}},
        {"thinking": {"type": "enabled", "budget_tokens": 1000}},
        {"thinking": {"type": "enabled", "budget_tokens": 90_000}},
        {"thinking": {"type": "adaptive", "display": "all"}},
        {"output_config": {"effort": "huge"}},
        {"tool_choice": {"type": "auto"}},
        {"tools": [{"name": "a", "parameters": {}}]},
        {"tools": [{"name": "a", "input_schema": {"type": "string"}}]},
        {"tools": [{"name": "a", "input_schema": {"type": "object", "oneOf": []}}]},
        {"tools": [{"name": "a.b", "input_schema": {"type": "object"}}]},
        {"tools": [{"name": "a", "input_schema": {"type": "object"}}], "tool_choice": "auto"},
        {
            "tools": [{"name": "a", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "any"},
        },
        {"messages": []},
        {"messages": [{"role": "system", "content": "a"}]},
        {"messages": [{"role": "assistant", "content": "a"}]},
        {"messages": [{"role": "user", "content": " "}]},
        {"messages": [{"role": "user", "content": []}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "a", "citations": []}]}
            ]
        },
        {"messages": [Q, {"role": "assistant", "content": "prefill"}]},
        {"messages": [{"role": "user", "content": [DONE]}]},
        {"messages": [Q, CALLED]},
        {"messages": [Q, CALLED, Q]},
        {
            "messages": [
                Q,
                CALLED,
                {"role": "user", "content": [DONE]},
            ]
        },
        {"messages": [Q, {"role": "user", "content": [USE]}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {"messages": [Q], "cache_control": {"type": "forever"}},
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": MARK}]}
            ]
            * 5
        },
    ],
    ids=json.dumps,
)
def test_the_fake_refuses_what_a_server_might(change: dict[str, Any]) -> None:
    body = sent()
    fake.check(body)
    with pytest.raises(fake.Refused):
        fake.check({**body, **change})


def test_the_model_of_these_tests_is_one_that_is_offered() -> None:
    assert MODEL in {info.id for info in ADAPTER.models()}
