"""What the Anthropic adapter makes of answers: every ending, every kind of block, complaints."""

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
    Overloaded,
    QuotaExhausted,
    UnknownModel,
    Unreachable,
)
from core.types import Delta, Endpoint, ToolCall, Usage
from tests.contract.case import ending, words
from tests.contract.cases_anthropic import KEY
from tests.contract.claude import answer, ask, fake_server, run
from tests.fakes import anthropic as fake
from tests.fakes.server import bare

# --- endings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("refusal", "refusal"),
        ("novelty", "stop"),
        (None, "cut_off"),
    ],
)
def test_every_reason_for_ending_is_understood(theirs: str | None, ours: str) -> None:
    found = answer(*fake.text("So"), *fake.end(theirs))
    assert ending(found).finish_reason == ours
    assert words(found) == "So"
    assert ending(found).resolved_model == fake.MODEL


def test_a_turn_that_rests_can_be_gone_on_from() -> None:
    found = answer(*fake.text("So far"), *fake.end("pause_turn"))
    assert ending(found).raw == [{"type": "text", "text": "So far"}]


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ({"type": "refusal", "category": "bio", "explanation": "Not this."}, "Not this."),
        ({"type": "refusal", "category": "cyber", "explanation": None}, "Refused (cyber)."),
        ({"type": "refusal", "category": None, "explanation": None}, ""),
        (None, ""),
    ],
)
def test_a_refusal_says_why_as_far_as_it_is_told(details: Any, said: str) -> None:
    found = answer(*fake.end("refusal", details))
    assert words(found) == said
    assert ending(found).finish_reason == "refusal"
    assert ending(found).raw is None
    begun = answer(*fake.text("Well,"), *fake.end("refusal", details))
    assert words(begun) == (f"Well,\n\n{said}" if said else "Well,")


def test_a_filter_in_the_middle_keeps_what_came() -> None:
    blocked = fake.complaint("Output blocked by content filtering policy", "api_error")
    found = answer(*fake.text("Half"), fake.sse(blocked))
    assert (words(found), ending(found).finish_reason) == ("Half", "content_filter")


def test_a_stream_that_stays_open_after_the_end_is_not_waited_for() -> None:
    found = answer(*fake.text("all"), *fake.end(), fake.Pause(30))
    assert ending(found).finish_reason == "stop"


def test_a_break_after_the_last_word_costs_nothing() -> None:
    found = answer(*fake.text("all"), fake.end()[0], fake.HangUp())
    assert ending(found).finish_reason == "stop"


# --- blocks --------------------------------------------------------------------------------


def test_what_is_kept_are_the_provider_s_own_blocks() -> None:
    found = answer(
        fake.Thought(["Let me", " see."]),
        fake.Thought([], index=1, redacted=True),
        *fake.text("Look.", index=2),
        *fake.tool_use("toolu_1", "weather", '{"city"', ': "Zürich"}', index=3),
        *fake.end("tool_use"),
    )
    raw = ending(found).raw
    assert [block["type"] for block in raw] == [
        "thinking",
        "redacted_thinking",
        "text",
        "tool_use",
    ]
    assert raw[0]["thinking"] == "Let me see."
    assert raw[0]["signature"].startswith("sig_")
    assert raw[3] == {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "weather",
        "input": {"city": "Zürich"},
    }
    assert [type(event) for event in found[:3]] == [Delta, Delta, Delta]
    assert (words(found, "thinking"), words(found)) == ("Let me see.", "Look.")
    assert found[3] == ToolCall(id="toolu_1", name="weather", arguments='{"city": "Zürich"}')


def test_thinking_that_is_not_shown_is_kept_all_the_same() -> None:
    found = answer(fake.Thought([]), *fake.text("So.", index=1), *fake.end())
    assert words(found, "thinking") == ""
    assert ending(found).raw[0]["signature"]


def test_thinking_without_an_answer_behind_it_is_not_kept() -> None:
    assert ending(answer(fake.Thought(["hm"]), *fake.end("max_tokens"))).raw is None


def test_thinking_that_was_cut_off_is_not_kept() -> None:
    half = [fake.start_block(0, type="thinking", thinking=""), fake.delta(0, "thinking", "hm")]
    found = answer(*half)
    assert words(found, "thinking") == "hm"
    assert (ending(found).finish_reason, ending(found).raw) == ("cut_off", None)


def test_words_that_were_cut_off_are_kept() -> None:
    found = answer(fake.Thought(["hm"]), *fake.text("Half", index=1)[:-1])
    assert [block["type"] for block in ending(found).raw] == ["thinking", "text"]


@pytest.mark.parametrize("finish", [None, "max_tokens"])
def test_half_a_tool_call_is_not_handed_on(finish: str | None) -> None:
    steps = fake.tool_use("t", "weather", '{"cit')
    found = answer(*steps, *(fake.end(finish) if finish else []))
    assert not any(isinstance(event, ToolCall) for event in found)
    assert ending(found).raw is None


def test_a_tool_call_that_is_not_json_is_handed_on_as_it_came() -> None:
    found = answer(*fake.tool_use("t", "weather", "{oops}"), *fake.end("tool_use"))
    (call,) = [event for event in found if isinstance(event, ToolCall)]
    assert call.arguments == "{oops}"
    assert (ending(found).finish_reason, ending(found).raw) == ("tool_call", None)


def test_a_tool_call_without_input_has_an_empty_one() -> None:
    found = answer(*fake.tool_use("t", "now"), *fake.end("tool_use"))
    assert found[0] == ToolCall(id="t", name="now", arguments="{}")


def test_words_given_at_the_start_of_a_block_count() -> None:
    found = answer(fake.start_block(0, type="text", text="Hi"), fake.stop_block(), *fake.end())
    assert words(found) == "Hi"


def test_blocks_of_other_kinds_are_kept_and_not_read() -> None:
    novel = fake.start_block(0, type="novelty", text=None, more=[1])
    found = answer(novel, fake.stop_block(), *fake.text("a", index=1), *fake.end())
    assert ending(found).raw[0] == {"type": "novelty", "more": [1]}


def test_half_characters_in_a_call_are_mended_in_what_is_kept() -> None:
    found = answer(*fake.tool_use("t", "a", '{"x": "\\ud83d"}'), *fake.end("tool_use"))
    json.dumps(ending(found).raw, ensure_ascii=False).encode()


# --- usage ---------------------------------------------------------------------------------


def test_input_includes_what_the_cache_gave_and_took() -> None:
    with fake_server(
        fake.start(input_tokens=10, cache_read_input_tokens=70, cache_creation_input_tokens=20),
        *fake.text("a"),
        *fake.end(output_tokens=9, output_tokens_details={"thinking_tokens": 4}),
    ) as (_, endpoint):
        found = run(ask(), endpoint)
    assert ending(found).usage == Usage(
        input_tokens=100,
        output_tokens=9,
        cached_tokens=70,
        cache_write_tokens=20,
        reasoning_tokens=4,
    )


def test_a_later_count_of_the_input_wins() -> None:
    with fake_server(
        fake.start(input_tokens=10, output_tokens=1), *fake.end(input_tokens=12, output_tokens=5)
    ) as (_, endpoint):
        usage = ending(run(ask(), endpoint)).usage
    assert usage == Usage(input_tokens=12, output_tokens=5)


@pytest.mark.parametrize("usage", [{}, {"input_tokens": "3"}, {"output_tokens_details": 7}])
def test_usage_of_another_shape_is_unknown(usage: Any) -> None:
    with fake_server(fake.start(**usage), *fake.end()) as (_, endpoint):
        assert ending(run(ask(), endpoint)).usage == Usage()


# --- complaints ----------------------------------------------------------------------------


def complained(status: int, message: str, **more: Any) -> Exception:
    play = fake.refusal(status, message, **more)
    with (
        fake_server(status=status, body=play.body, headers=play.headers) as (_, endpoint),
        pytest.raises(Exception) as caught,
    ):
        sampling = {"effort": "low", "thinking": "enabled", "budget_tokens": 2048}
        run(ask(sampling=sampling), endpoint)
    return caught.value


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("output_config.effort: Input should be 'low'", "effort"),
        ("thinking.enabled.budget_tokens: Input should be at least 1024", "budget_tokens"),
        ("thinking.type: adaptive is not supported by this model", "thinking"),
        ("max_tokens: 200000 > 64000, which is the maximum allowed", "max_tokens"),
        ("messages.1.content.0: Invalid `signature` in `thinking` block", None),
        ("tools.0.custom.input_schema: JSON schema is invalid", None),
    ],
)
def test_the_setting_at_fault_is_named_as_the_person_knows_it(
    message: str, name: str | None
) -> None:
    error = complained(400, message)
    assert isinstance(error, BadRequest)
    assert error.parameter == name
    assert (error.status, error.request_id) == (400, "req_fake_1")


@pytest.mark.parametrize(
    ("status", "kind", "message", "ours"),
    [
        (400, "invalid_request_error", "Your credit balance is too low", QuotaExhausted),
        (404, "not_found_error", "model: claude-none", UnknownModel),
        (401, "authentication_error", "invalid x-api-key", AuthFailed),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ContextTooLong),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ],
)
def test_complaints_are_told_apart(
    status: int, kind: str, message: str, ours: type[Exception]
) -> None:
    assert type(complained(status, message, kind=kind)) is ours


def test_a_wrong_address_is_met_with_the_right_one() -> None:
    error = complained(404, "Not Found", kind="not_found_error")
    assert "api.anthropic.com" in getattr(error, "hint", "")


@pytest.mark.parametrize(
    ("kind", "ours"), [("overloaded_error", Overloaded), ("novel_error", BadReply)]
)
def test_complaints_in_the_stream_are_read(kind: str, ours: type[Exception]) -> None:
    with pytest.raises(ours) as caught:
        answer(*fake.text("a"), fake.sse(fake.complaint("Too busy", kind)))
    assert "Too busy" in str(caught.value)


def test_rubbish_in_the_stream_is_told() -> None:
    with pytest.raises(BadReply, match="understood"):
        answer(*fake.text("a"), b"event: message_delta\ndata: {oops\n\n")


def test_an_answer_that_does_not_stream_is_told() -> None:
    with (
        fake_server(body={"type": "message", "content": []}) as (_, endpoint),
        pytest.raises(BadReply, match="streaming"),
    ):
        run(ask(), endpoint)


def reset(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hang_up(connection: socket.socket) -> None:
    connection.recv(65536)


@pytest.mark.parametrize("act", [reset, hang_up])
def test_a_server_that_does_not_answer_is_unreachable(act: Any) -> None:
    with bare(act) as address, pytest.raises(Unreachable):
        run(ask(), Endpoint(base_url=address, api_key=KEY))
