"""The dialects of Chat Completions: what single servers do, and what they refuse."""

import json
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from core.errors import (
    AuthFailed,
    BadReply,
    BadRequest,
    ContextTooLong,
    NoPermission,
    Overloaded,
    RateLimited,
    Unreachable,
    Unsupported,
)
from core.providers import compatible
from core.providers.compatible import ADAPTER, Compatible
from core.types import (
    AttachmentRef,
    Call,
    Endpoint,
    Event,
    Message,
    Part,
    Request,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from tests.contract.case import Scene, ask, ending, words
from tests.contract.cases_compatible import CASE, KEY
from tests.fakes import chat_completions as fake
from tests.fakes.server import bare, serving


@contextmanager
def fake_server(*steps: fake.Step, **more: Any) -> Iterator[tuple[fake.ChatCompletions, Endpoint]]:
    server = fake.ChatCompletions(key=KEY, extras=more.pop("extras", frozenset()))
    server.play = fake.Play(steps=steps, **more)
    with serving(server.app) as address:
        yield server, Endpoint(base_url=f"{address}/v1", api_key=KEY)


def run(call: Call, endpoint: Endpoint | None) -> list[Event]:
    return list(ADAPTER.stream(ADAPTER.build(call), endpoint, Stop()))


def answer(*steps: fake.Step, **more: Any) -> list[Event]:
    with fake_server(*steps, **more) as (_, endpoint):
        return run(ask("Hi", "m"), endpoint)


def say(role: Role, *parts: Part | str) -> Message:
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role=role, parts=made)


def wire(*messages: Message, **more: Any) -> Sequence[Any]:
    built = ADAPTER.build(Call(model="m", messages=messages, **more))
    if built.messages:
        fake.check({**built.envelope, "messages": json.loads(json.dumps(built.messages))})
    return built.messages


def tool_call(**function: Any) -> bytes:
    return fake.chunk({"tool_calls": [function]})


CALL = ToolCall(id="call_1", name="weather", arguments='{"city": "Bern"}')
RESULT = ToolResult(call_id="call_1", name="weather", text="rain")
END = (fake.chunk({}, "stop"), fake.DONE)


# --- what is sent ----------------------------------------------------------------------------


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


def test_files_are_refused_with_a_way_out() -> None:
    file = AttachmentRef(sha256="0" * 64, media_type="image/png", name="cat.png")
    with pytest.raises(Unsupported, match=r"cat\.png") as caught:
        wire(say("user", "See", file))
    assert caught.value.hint


def test_another_adapter_can_give_its_own_name() -> None:
    mine = Compatible("mine", "My server")
    request = mine.build(ask("Hi", "m"))
    gone = Endpoint(base_url="http://127.0.0.1:1/v1", api_key="")
    with pytest.raises(Unreachable) as caught:
        list(mine.stream(request, gone, Stop()))
    assert (mine.label, caught.value.provider) == ("My server", "mine")


# --- the order of messages -------------------------------------------------------------------


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


# --- what comes back -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_is_found_under_either_name(name: str) -> None:
    found = answer(fake.chunk({name: "hm", "content": None}), fake.chunk({"content": "a"}), *END)
    assert (words(found, "thinking"), words(found)) == ("hm", "a")


def test_content_in_parts_is_text_too() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "novelty"}, {"type": "text", "text": "b"}]
    assert words(answer(fake.chunk({"content": parts}), *END)) == "ab"


@pytest.mark.parametrize(
    "steps",
    [
        [tool_call(index=0, id="x", function={"name": "f", "arguments": {"a": 1}})],
        [tool_call(id="x", function={"name": "f", "arguments": '{"a": 1}'})],
        [
            tool_call(id="x", function={"name": "f", "arguments": '{"a"'}),
            tool_call(function={"arguments": ": 1}"}),
        ],
        [
            tool_call(index=0, id="x", function={"name": "f", "arguments": '{"a"'}),
            tool_call(index=0, id="x", function={"name": "f", "arguments": ": 1}"}),
        ],
        [
            tool_call(id="x", function={"name": "f", "arguments": '{"a"'}),
            tool_call(id="x", function={"name": None, "arguments": ": 1}"}),
        ],
        [tool_call(index=0, function={"name": "f", "arguments": '{"a": 1}'})],
    ],
    ids=["dict", "no index", "no index, pieces", "all repeated", "id only", "no id"],
)
def test_tool_calls_are_put_together_in_every_dialect(steps: list[bytes]) -> None:
    found = answer(*steps, *END)
    (call,) = [event for event in found if isinstance(event, ToolCall)]
    assert (call.name, json.loads(call.arguments)) == ("f", {"a": 1})
    assert call.id
    assert ending(found).finish_reason == "tool_call"
    assert ending(found).raw["tool_calls"][0]["id"] == call.id


def test_parallel_calls_that_share_an_index_stay_apart() -> None:
    steps = [tool_call(index=0, id=i, function={"name": i, "arguments": "{}"}) for i in "ab"]
    found = answer(*steps, *END)
    assert [event.name for event in found if isinstance(event, ToolCall)] == ["a", "b"]


@pytest.mark.parametrize("finish", [None, "length"])
def test_half_a_tool_call_is_not_handed_on(finish: str | None) -> None:
    half = tool_call(index=0, id="x", function={"name": "f", "arguments": '{"a'})
    found = answer(half, *([fake.chunk({}, finish)] if finish else []))
    assert not any(isinstance(event, ToolCall) for event in found)
    assert ending(found).finish_reason == (finish or "cut_off")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("eos", "stop"),
        ("end_turn", "stop"),
        ("function_call", "tool_call"),
        ("max_tokens", "length"),
        ("abort", "cut_off"),
    ],
)
def test_reasons_of_other_dialects_are_understood(theirs: str, ours: str) -> None:
    assert ending(answer(fake.chunk({"content": "a"}, theirs))).finish_reason == ours


def test_an_end_that_is_an_error_is_an_error() -> None:
    with pytest.raises(BadReply):
        answer(fake.chunk({"content": "a"}, "error"), fake.DONE)


def test_usage_in_every_chunk_is_taken_from_the_last() -> None:
    counted = [
        fake.chunk({"content": "a"}, usage={"prompt_tokens": 3, "completion_tokens": n})
        for n in (1, 2)
    ]
    assert ending(answer(*counted, *END)).usage == Usage(input_tokens=3, output_tokens=2)


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": None}, {"prompt_tokens": "3"}, None, 7])
def test_usage_of_another_shape_is_unknown(usage: Any) -> None:
    assert ending(answer(fake.chunk({"content": "a"}, "stop", usage=usage))).usage == Usage()


def test_what_is_kept_is_the_assistant_message() -> None:
    end = ending(answer(fake.chunk({"content": "Hi"}), fake.chunk({"content": "!"}), *END))
    assert end.raw == {"content": "Hi!"}
    assert end.resolved_model == "fake-model-2026-01-01"


def test_half_characters_pass_and_are_mended_in_what_is_kept() -> None:
    found = answer(fake.chunk({"content": "\ud83d"}), fake.chunk({"content": "\ude00"}), *END)
    assert words(found) == "\ud83d\ude00"
    assert ending(found).raw == {"content": "😀"}


def test_line_separators_inside_text_do_not_split_it() -> None:
    assert words(answer(fake.chunk({"content": "a\u2028b\x85c"}), *END)) == "a\u2028b\x85c"


def test_a_stream_by_another_name_is_read_all_the_same() -> None:
    said = fake.chunk({"content": "ü"})
    assert words(answer(said, *END, content_type="text/plain; charset=latin-1")) == "ü"


def test_a_break_after_the_last_word_costs_nothing() -> None:
    found = answer(fake.chunk({"content": "all"}, "stop"), fake.HangUp())
    assert ending(found).finish_reason == "stop"


def test_rubbish_in_the_stream_is_told() -> None:
    with pytest.raises(BadReply, match="understood"):
        answer(fake.chunk({"content": "a"}), b"data: {oops\n\n", *END)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "busy", "code": 502}, Overloaded),
        ({"message": "slow down", "code": 429}, RateLimited),
        ({"message": "too long", "code": 400, "type": "exceed_context_size_error"}, ContextTooLong),
        ("something broke", BadReply),
    ],
)
def test_complaints_in_the_stream_are_read(error: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        answer(fake.chunk({"content": "a"}), fake.sse({"error": error}))
    assert "broke off" in str(caught.value) or "answered" in str(caught.value)


def test_a_complaint_that_is_a_chunk_is_read() -> None:
    with pytest.raises(BadRequest, match="no good"):
        answer(fake.sse({"object": "error", "message": "no good", "code": 400}))


# --- broken servers --------------------------------------------------------------------------


def reset(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hang_up(connection: socket.socket) -> None:
    connection.recv(65536)


def babble(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")


@pytest.mark.parametrize("act", [reset, hang_up, babble])
def test_a_server_that_does_not_answer_is_unreachable(act: Any) -> None:
    with bare(act) as address, pytest.raises(Unreachable):
        run(ask("Hi", "m"), Endpoint(base_url=f"{address}/v1", api_key=KEY))


def test_a_complaint_names_status_request_and_parameter() -> None:
    headers = {"x-request-id": "req_123"}
    with (
        fake_server(**_play(fake.refusal(400, "No.", param="top_p", headers=headers))) as (
            _,
            endpoint,
        ),
        pytest.raises(BadRequest) as caught,
    ):
        run(ask("Hi", "m"), endpoint)
    assert (caught.value.status, caught.value.request_id) == (400, "req_123")
    assert caught.value.parameter == "top_p"
    assert "top_p" in caught.value.hint


def _play(play: fake.Play) -> dict[str, Any]:
    return {"status": play.status, "body": play.body, "headers": play.headers}


def test_the_culprit_is_found_in_the_words_if_it_has_no_field() -> None:
    with (
        CASE.stage(Scene(trouble="unprocessable")) as stage,
        pytest.raises(BadRequest) as caught,
    ):
        run(stage.call, stage.endpoint)
    assert caught.value.parameter == "temperature"


def test_a_wrong_key_shown_in_part_by_the_server_stays_hidden() -> None:
    wrong = "sk-wrong-9876543210zyxwvuts"
    with fake_server(*END) as (_, endpoint), pytest.raises(AuthFailed) as caught:
        run(ask("Hi", "m"), Endpoint(base_url=endpoint.base_url, api_key=wrong))
    assert "[key]" in str(caught.value)
    assert not any(piece in str(caught.value) for piece in (wrong[:8], wrong[-4:]))


@pytest.mark.parametrize("secret", ["plain-words-as-a-key", "header-words-as-a-key"])
def test_a_key_that_looks_like_words_is_hidden_too(secret: str) -> None:
    key, header = "plain-words-as-a-key", "header-words-as-a-key"
    server = fake.ChatCompletions(key=key)
    server.play = fake.refusal(403, f"You may not, {secret}!")
    with serving(server.app) as address, pytest.raises(NoPermission, match=r"not, \[key\]!"):
        endpoint = Endpoint(base_url=f"{address}/v1", api_key=key, headers={"x-gate": header})
        run(ask("Hi", "m"), endpoint)


def test_one_client_is_kept_for_a_server_and_key() -> None:
    compatible._client.cache_clear()
    with fake_server(*END) as (_, endpoint):
        for _ in range(3):
            run(ask("Hi", "m"), endpoint)
    assert compatible._client.cache_info().currsize == 1


# --- the fake itself -------------------------------------------------------------------------


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
