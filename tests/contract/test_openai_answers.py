"""What the Responses adapter makes of answers: odd, broken and refused ones."""

from collections.abc import Sequence
from typing import Any

import pytest

from core.errors import BadReply, BadRequest, ContextTooLong, Overloaded, RateLimited
from core.providers import openai as adapter_module
from core.providers.openai import ADAPTER
from core.types import Call, Endpoint, Event, Progress, Stop, ToolCall
from tests.contract.case import ask, ending, words
from tests.contract.cases_compatible import KEY
from tests.contract.cases_openai import MODEL
from tests.fakes import openai as fake
from tests.fakes.server import serving

HELLO = fake.message(0, ["Hel", "lo"])
END = fake.completed()


def answer(*steps: fake.Step | Sequence[fake.Step], call: Call | None = None) -> list[Event]:
    flat = [step for group in steps for step in (group if isinstance(group, list) else [group])]
    return played(fake.Play(steps=flat), call)


def played(play: fake.Play, call: Call | None = None) -> list[Event]:
    server = fake.Responses(key=KEY)
    server.play = play
    with serving(server.app) as address:
        endpoint = Endpoint(base_url=f"{address}/v1", api_key=KEY)
        return list(ADAPTER.stream(ADAPTER.build(call or ask("Hi", MODEL)), endpoint, Stop()))


def test_thinking_is_announced_and_its_parts_are_paragraphs() -> None:
    item = {"type": "reasoning", "id": "rs_0", "summary": [], "encrypted_content": "x"}
    at = {"output_index": 0, "item_id": "rs_0"}
    found = answer(
        fake.event("response.output_item.added", output_index=0, item=item),
        *[
            step
            for text in ("One.", "Two.")
            for step in (
                fake.event("response.reasoning_summary_part.added", **at, part={}),
                fake.event("response.reasoning_summary_text.delta", **at, delta=text),
            )
        ],
        fake.event("response.output_item.done", output_index=0, item=item),
        fake.message(1, ["Hi"]),
        END,
    )
    assert found[0] == Progress(stage="thinking")
    assert words(found, "thinking") == "One.\n\nTwo."


def test_reasoning_in_plain_text_is_thinking_too() -> None:
    said = fake.event("response.reasoning_text.delta", output_index=0, delta="hm")
    assert words(answer(said, HELLO, END), "thinking") == "hm"


def test_two_messages_are_two_paragraphs_and_both_are_kept() -> None:
    found = answer(fake.message(0, ["First."]), fake.message(1, ["Then."]), END)
    assert words(found) == "First.\n\nThen."
    assert [item["id"] for item in ending(found).raw] == ["msg_0", "msg_1"]


def test_words_that_were_not_streamed_come_with_their_item() -> None:
    item = fake.event("response.output_item.done", output_index=0, item=fake.said(0, "All."))
    found = answer(item, END)
    assert (words(found), ending(found).raw) == ("All.", [fake.said(0, "All.")])


def test_items_told_only_at_the_end_are_not_lost() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'}
    found = answer(fake.completed(output=[fake.said(0, "All."), call]))
    assert words(found) == "All."
    assert [e for e in found if isinstance(e, ToolCall)] == [
        ToolCall(id="c", name="f", arguments='{"a": 1}')
    ]
    assert ending(found).finish_reason == "tool_call"
    assert ending(found).raw == [fake.said(0, "All."), call]


def test_a_call_without_an_id_gets_one_that_is_kept() -> None:
    call = {"type": "function_call", "name": "f", "arguments": ""}
    found = answer(fake.event("response.output_item.done", output_index=0, item=call), END)
    (made,) = [event for event in found if isinstance(event, ToolCall)]
    assert made.id
    assert made.arguments == "{}"
    assert ending(found).raw[0]["call_id"] == made.id


def test_half_a_tool_call_is_not_handed_on_nor_kept() -> None:
    half = {"type": "function_call", "status": "incomplete", "call_id": "c", "name": "f"}
    done = fake.event(
        "response.output_item.done", output_index=1, item={**half, "arguments": '{"a'}
    )
    found = answer(HELLO, done, fake.incomplete("max_output_tokens"))
    assert not any(isinstance(event, ToolCall) for event in found)
    assert ending(found).finish_reason == "length"
    assert [item["type"] for item in ending(found).raw] == ["message"]


def test_of_an_answer_that_was_cut_off_only_words_are_kept() -> None:
    found = answer(*fake.message(0, ["Half", " an"])[:4])
    assert (words(found), ending(found).finish_reason) == ("Half an", "cut_off")
    assert ending(found).raw is None


def test_items_that_do_not_hold_what_was_said_are_not_kept() -> None:
    delta = fake.event("response.output_text.delta", output_index=5, delta="more")
    assert ending(answer(HELLO, delta, END)).raw is None


def test_half_characters_are_mended_in_what_is_kept() -> None:
    found = answer(fake.message(0, ["a\ud83d"]), END)
    assert ending(found).raw[0]["content"][0]["text"] == "a\ufffd"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("max_output_tokens", "length"),
        ("max_messages", "length"),
        ("content_filter", "content_filter"),
        ("steered", "cut_off"),
        ("novelty", "cut_off"),
    ],
)
def test_every_reason_to_stop_early_is_understood(theirs: str, ours: str) -> None:
    found = answer(HELLO, fake.incomplete(theirs))
    assert (words(found), ending(found).finish_reason) == ("Hello", ours)


def test_a_break_after_the_last_word_costs_nothing() -> None:
    assert ending(answer(HELLO, END, fake.HangUp())).finish_reason == "stop"


def test_the_model_that_answered_is_told_even_if_it_is_cut_off() -> None:
    assert ending(answer(fake.created())).resolved_model == "gpt-6-sol-2026-10-01"


@pytest.mark.parametrize(
    "item", [None, "words", {}, {"type": "novelty"}, {"type": "message", "content": None}]
)
def test_items_of_other_shapes_do_no_harm(item: Any) -> None:
    odd = fake.event("response.output_item.done", output_index=9, item=item)
    assert words(answer(odd, HELLO, END)) == "Hello"


# --- complaints in the stream ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", Overloaded),
        ("rate_limit_exceeded", RateLimited),
        ("context_length_exceeded", ContextTooLong),
        ("vector_store_timeout", BadReply),
        ("invalid_prompt", BadRequest),
        ("bio_policy", BadRequest),
        ("image_too_large", BadRequest),
    ],
)
@pytest.mark.parametrize("form", ["failed", "flat", "nested", "bare"])
def test_complaints_in_the_stream_are_read_in_every_form(
    code: str, kind: type[Exception], form: str
) -> None:
    error = {"code": code, "message": "No.", "param": None}
    complaint = {
        "failed": fake.failed(code, "No."),
        "flat": fake.event("error", **error),
        "nested": fake.event("error", error=error),
        "bare": fake.sse({"error": error}),
    }[form]
    with pytest.raises(kind) as caught:
        answer(HELLO, complaint)
    assert type(caught.value) is kind
    assert caught.value.hint  # type: ignore[attr-defined]


def test_a_prompt_refused_for_its_content_says_to_reword_it() -> None:
    with pytest.raises(BadRequest, match="limited access") as caught:
        answer(fake.failed("invalid_prompt", "Invalid prompt: we've limited access."))
    assert "Reword" in caught.value.hint
    assert (caught.value.provider, caught.value.model) == ("openai", MODEL)


def test_a_failure_that_says_nothing_is_told() -> None:
    with pytest.raises(BadReply, match="without saying why"):
        answer(fake.event("response.failed", response={"status": "failed", "error": None}))


def test_rubbish_in_the_stream_is_told() -> None:
    with pytest.raises(BadReply, match="understood"):
        answer(HELLO, b"data: {oops\n\n", END)


# --- complaints that name a setting -----------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours", "sampling"),
    [
        ("reasoning.effort", "reasoning_effort", {"reasoning_effort": "max"}),
        ("max_output_tokens", "max_tokens", {"max_tokens": 16}),
        ("text.verbosity", "verbosity", {"verbosity": "low"}),
        ("temperature", "temperature", {"temperature": 1}),
    ],
)
@pytest.mark.parametrize("named", ["in a field", "in words"])
def test_the_setting_at_fault_is_told_by_our_own_name(
    theirs: str, ours: str, sampling: dict[str, Any], named: str
) -> None:
    field = theirs if named == "in a field" else None
    play = fake.refusal(400, f"Unsupported value: '{theirs}' is wrong.", param=field)
    model = "gpt-4.1" if ours == "temperature" else MODEL
    with pytest.raises(BadRequest) as caught:
        played(play, ask("Hi", model, sampling=sampling))
    assert caught.value.parameter == ours
    assert ours in caught.value.hint


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "stop"])
def test_a_setting_the_model_has_not_is_refused_by_name(name: str) -> None:
    with pytest.raises(BadRequest) as caught:
        played(fake.Play(), ask("Hi", MODEL, sampling={name: 1}))
    assert caught.value.parameter == name


def test_one_client_is_kept_for_a_server_and_key() -> None:
    adapter_module._client.cache_clear()
    server = fake.Responses(key=KEY)
    server.play = fake.Play(steps=[*HELLO, END])
    with serving(server.app) as address:
        endpoint = Endpoint(base_url=f"{address}/v1", api_key=KEY)
        for _ in range(3):
            list(ADAPTER.stream(ADAPTER.build(ask("Hi", MODEL)), endpoint, Stop()))
    assert adapter_module._client.cache_info().currsize == 1
