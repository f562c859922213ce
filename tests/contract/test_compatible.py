"""What the Chat Completions adapter sends, and what a strict server makes of it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from core.errors import (
    AuthFailed,
    BadRequest,
    Unreachable,
    Unsupported,
)
from core.providers.compatible import ADAPTER, Compatible
from core.types import (
    Call,
    Endpoint,
    Message,
    Part,
    Request,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolResult,
)
from tests.contract.case import ask, words
from tests.contract.cases_compatible import KEY
from tests.contract.chat import END, fake_server, run
from tests.fakes import chat_completions as fake
from tests.fakes.server import serving


def say(role: Role, *parts: Part | str) -> Message:
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role=role, parts=made)


def wire(*messages: Message, **more: Any) -> Sequence[Any]:
    built = ADAPTER.build(Call(model="m", messages=messages, **more))
    if built.messages:
        fake.check({**built.envelope, "messages": json.loads(json.dumps(built.messages))})
    return built.messages


CALL = ToolCall(id="call_1", name="weather", arguments='{"city": "Bern"}')
RESULT = ToolResult(call_id="call_1", name="weather", text="rain")


# --- what is sent -------------------------------------------------------------------------


def test_the_settings_go_out_under_their_own_names_and_no_others() -> None:
    sampling = {
        "temperature": 0.1,
        "top_p": 0.9,
        "max_tokens": 5,
        "seed": 1,
        "stop": "END",
        "frequency_penalty": 0.1,
        "presence_penalty": 0,
        "top_k": 40,
        "repeat_penalty": 1.1,
        "messages": "mine",
        "stream": False,
    }
    extras = frozenset({"top_k", "repeat_penalty"})
    with fake_server(*END, extras=extras) as (server, endpoint):
        run(ask("Hi", "m", system="Be brief.", sampling=sampling), endpoint)
    body = server.seen[0].body
    assert server.seen[0].refused is None
    assert body["stop"] == ["END"]
    assert (body["top_k"], body["repeat_penalty"], body["presence_penalty"]) == (40, 1.1, 0)
    assert body["stream"] is True
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]


def test_what_was_built_is_exactly_what_is_sent() -> None:
    call = Call(
        model="m",
        messages=(say("user", "Hi"), say("assistant", CALL), say("tool", RESULT)),
        sampling={"top_p": 1},
    )
    request = ADAPTER.build(call)
    with fake_server(*END) as (server, endpoint):
        list(ADAPTER.stream(request, endpoint, Stop()))
    assert server.seen[0].body == {**request.envelope, "messages": list(request.messages)}


def test_only_the_headers_of_the_call_are_sent() -> None:
    with fake_server(*END) as (server, endpoint):
        own = Endpoint(
            base_url=endpoint.base_url, api_key=KEY, headers={"X-Title": "Mine", "api-key": "k"}
        )
        run(ask("Hi", "m"), own)
    names = {name for name, _ in server.seen[0].headers}
    assert names == {
        "host",
        "authorization",
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "user-agent",
        "x-title",
        "api-key",
    }


def test_a_server_without_a_key_gets_a_placeholder() -> None:
    server = fake.ChatCompletions(key="not-needed")
    server.play = fake.Play(steps=END)
    with serving(server.app) as address:
        run(ask("Hi", "m"), Endpoint(base_url=f"{address}/v1", api_key=""))
    assert server.seen[0].refused is None


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ADAPTER.hidden()
    with fake_server(fake.chunk({"content": "yes"}), *END) as (_, endpoint):
        monkeypatch.setenv("TURNTREE_COMPATIBLE_URL", endpoint.base_url)
        monkeypatch.setenv("TURNTREE_COMPATIBLE_KEY", KEY)
        assert not ADAPTER.hidden()
        assert words(run(ask("Hi", "m"), None)) == "yes"


@pytest.mark.parametrize("url", ["", "localhost:11434", "ftp://x/v1", "http://", "http://h:x/v1"])
def test_an_address_that_cannot_work_is_told_at_once(url: str) -> None:
    endpoint = Endpoint(base_url=url, api_key="") if url else None
    with pytest.raises(Unsupported) as caught:
        run(ask("Hi", "m"), endpoint)
    assert "http://127.0.0.1" in caught.value.hint


def test_a_key_with_a_line_break_inside_is_refused_without_showing_it() -> None:
    endpoint = Endpoint(base_url="http://127.0.0.1:1/v1", api_key="sk-abc\nX-Evil: 1")
    with pytest.raises(AuthFailed) as caught:
        run(ask("Hi", "m"), endpoint)
    assert "abc" not in str(caught.value)


def test_a_setting_that_is_not_a_number_is_told() -> None:
    with fake_server(*END) as (server, endpoint), pytest.raises(BadRequest):
        run(ask("Hi", "m", sampling={"temperature": float("nan")}), endpoint)
    assert server.seen == []


def test_another_adapter_can_give_its_own_name() -> None:
    mine = Compatible("mine", "My server")
    request = mine.build(ask("Hi", "m"))
    gone = Endpoint(base_url="http://127.0.0.1:1/v1", api_key="")
    with pytest.raises(Unreachable) as caught:
        list(mine.stream(request, gone, Stop()))
    assert (mine.label, caught.value.provider) == ("My server", "mine")


# --- the order of messages ----------------------------------------------------------------


def test_all_orders_go_into_one_system_message_at_the_top() -> None:
    sent = wire(say("user", "a"), say("system", "two"), say("user", "b"), system="one")
    assert sent == (
        {"role": "system", "content": "one\n\ntwo"},
        {"role": "user", "content": "a\n\nb"},
    )


def test_a_call_stands_right_before_its_result() -> None:
    sent = wire(say("user", "q"), say("assistant", "Look.", CALL), say("tool", RESULT))
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == CALL.arguments
    assert sent[2] == {"role": "tool", "tool_call_id": "call_1", "content": "rain"}


def test_a_call_without_its_result_gets_a_stand_in() -> None:
    sent = wire(say("user", "q"), say("assistant", CALL), say("user", "never mind"))
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert "not run" in sent[2]["content"]


def test_a_call_at_the_very_end_gets_its_stand_in_too() -> None:
    sent = wire(say("user", "q"), say("assistant", CALL))
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]


def test_a_result_without_its_call_becomes_words() -> None:
    sent = wire(say("tool", RESULT), say("user", "and now?"))
    assert sent == ({"role": "user", "content": "Result of weather:\nrain\n\nand now?"},)


def test_a_result_that_is_empty_says_so() -> None:
    silent = ToolResult(call_id="call_1", name="weather", text="")
    assert wire(say("user", "q"), say("assistant", CALL), say("tool", silent))[2]["content"]


@pytest.mark.parametrize("arguments", ["", "{broken", "[1]", '"text"'])
def test_arguments_a_server_could_not_parse_are_wrapped(arguments: str) -> None:
    call = ToolCall(id="call_1", name="weather", arguments=arguments)
    sent = wire(say("user", "q"), say("assistant", call), say("tool", RESULT))
    made = json.loads(sent[1]["tool_calls"][0]["function"]["arguments"])
    assert made == ({"input": arguments} if arguments else {})


def test_calls_without_ids_get_some_and_keep_their_results() -> None:
    nameless = [ToolCall(id="", name=name, arguments="{}") for name in ("a", "b")]
    results = [ToolResult(call_id="", name=name, text=f"from {name}") for name in ("b", "a")]
    sent = wire(say("user", "q"), say("assistant", *nameless), say("tool", *results))
    ids = {call["function"]["name"]: call["id"] for call in sent[1]["tool_calls"]}
    assert {m["tool_call_id"]: m["content"] for m in sent[2:]} == {
        ids["a"]: "from a",
        ids["b"]: "from b",
    }


# --- the fake itself ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"model": ""},
        {"model": None},
        {"temperature": 3},
        {"temperature": "1"},
        {"max_tokens": 0},
        {"seed": 1.5},
        {"stop": "END"},
        {"stop": [""]},
        {"stream": False},
        {"top_k": 4},
        {"messages": []},
        {"messages": [{"role": "user", "content": " "}]},
        {"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]},
        {"messages": [{"role": "tool", "tool_call_id": "x", "content": "a"}]},
        {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]},
        {"messages": [{"role": "poet", "content": "a"}]},
    ],
    ids=json.dumps,
)
def test_the_fake_refuses_what_a_server_might(change: dict[str, Any]) -> None:
    good: Request = ADAPTER.build(ask("Hi", "m"))
    body = {**good.envelope, "messages": list(good.messages)}
    fake.check(body)
    with pytest.raises(fake.Refused):
        fake.check({**body, **change})
