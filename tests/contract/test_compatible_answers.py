"""The dialects of Chat Completions: what single servers answer, and how they break."""

import json
import socket
import struct
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
)
from core.providers import compatible
from core.types import (
    Endpoint,
    ToolCall,
    Usage,
)
from tests.contract.case import Scene, ask, ending, words
from tests.contract.cases_compatible import CASE, KEY
from tests.contract.chat import END, answer, fake_server, run
from tests.fakes import chat_completions as fake
from tests.fakes.server import bare, serving


def tool_call(**function: Any) -> bytes:
    return fake.chunk({"tool_calls": [function]})


# --- what comes back ----------------------------------------------------------------------


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
    assert ending(found).raw[0]["tool_calls"][0]["id"] == call.id


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
    assert end.raw == [{"role": "assistant", "content": "Hi!"}]
    assert end.resolved_model == "fake-model-2026-01-01"


def test_half_characters_pass_and_are_mended_in_what_is_kept() -> None:
    found = answer(fake.chunk({"content": "\ud83d"}), fake.chunk({"content": "\ude00"}), *END)
    assert words(found) == "\ud83d\ude00"
    assert ending(found).raw == [{"role": "assistant", "content": "😀"}]


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


# --- broken servers -----------------------------------------------------------------------


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
    with serving(server.app) as address:
        endpoint = Endpoint(base_url=f"{address}/v1", api_key=key, headers={"x-gate": header})
        with pytest.raises(NoPermission, match=r"not, \[key\]!"):
            run(ask("Hi", "m"), endpoint)


def test_one_client_is_kept_for_a_server_and_key() -> None:
    compatible._client.cache_clear()
    with fake_server(*END) as (_, endpoint):
        for _ in range(3):
            run(ask("Hi", "m"), endpoint)
    assert compatible._client.cache_info().currsize == 1
