"""What the Responses adapter sends, and what a strict fake of the API makes of it."""

import json
from dataclasses import replace

import pytest

from core.errors import BadFile, Unsupported
from core.providers.openai import ADAPTER
from core.types import (
    AttachmentRef,
    Call,
    Stop,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.contract.case import ask
from tests.contract.cases_openai import MODEL
from tests.contract.media import CAT, FILES, NOTES, PAPER, SOUND
from tests.contract.respond import CALL, CLOCK, RESULT, WEATHER, fake_server, wire
from tests.contract.test_building import say
from tests.fakes import openai as fake

# --- the envelope --------------------------------------------------------------------------


def test_what_was_built_is_exactly_what_is_sent() -> None:
    request = ADAPTER.build(
        Call(
            model=MODEL,
            messages=(say("user", "Hi"), say("assistant", CALL), say("tool", RESULT)),
            system="Be brief.",
            sampling={"max_tokens": 99},
        )
    )
    with fake_server() as (server, endpoint):
        list(ADAPTER.stream(request, endpoint, Stop()))
    assert server.seen[0].refused is None
    assert server.seen[0].body == {**request.envelope, "input": list(request.messages)}


def test_settings_stand_where_the_api_has_them() -> None:
    sampling = {
        "max_tokens": 64,
        "reasoning_effort": "low",
        "reasoning_summary": "auto",
        "verbosity": "high",
        "store": True,
        "previous_response_id": "resp_1",
        "input": "mine",
    }
    built = ADAPTER.build(ask("Hi", MODEL, system="S", sampling=sampling, cache_key="tree-1"))
    assert built.envelope == {
        "model": MODEL,
        "instructions": "S",
        "max_output_tokens": 64,
        "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "high"},
        "prompt_cache_key": "tree-1",
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "stream": True,
    }


def test_a_setting_given_whole_keeps_what_is_set_beside_it() -> None:
    sampling = {"reasoning": {"mode": "pro"}, "reasoning_effort": "max"}
    built = ADAPTER.build(ask("Hi", MODEL, sampling=sampling))
    assert built.envelope["reasoning"] == {"mode": "pro", "effort": "max"}


@pytest.mark.parametrize("model", ["gpt-4.1", "ft:gpt-4o-mini:me", "gpt-5.3-chat-latest"])
def test_a_model_that_does_not_reason_is_not_asked_for_its_reasoning(model: str) -> None:
    assert "include" not in ADAPTER.build(ask("Hi", model)).envelope


def test_a_cache_key_is_never_too_long() -> None:
    keys = [
        ADAPTER.build(ask("Hi", MODEL, cache_key=key)).envelope["prompt_cache_key"]
        for key in ("x" * 64, "x" * 65, "y" * 65)
    ]
    assert keys[0] == "x" * 64
    assert len({*keys}) == 3
    assert all(len(key) <= 64 for key in keys)


def test_tools_are_told_in_the_api_s_own_form() -> None:
    built = ADAPTER.build(ask("Hi", MODEL, tools=(WEATHER, CLOCK), tool_choice="weather"))
    fake.check({**built.envelope, "input": list(built.messages)})
    assert built.envelope["tool_choice"] == {"type": "function", "name": "weather"}
    assert built.envelope["tools"][0] == {
        "type": "function",
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
        "strict": False,
    }


@pytest.mark.parametrize("choice", [None, "auto", "required", "none"])
def test_the_choice_of_tools_is_the_api_s_word(choice: str | None) -> None:
    built = ADAPTER.build(ask("Hi", MODEL, tools=(CLOCK,), tool_choice=choice))
    fake.check({**built.envelope, "input": list(built.messages)})
    assert built.envelope.get("tool_choice") == choice
    assert "tool_choice" not in ADAPTER.build(ask("Hi", MODEL, tool_choice=choice)).envelope


def test_a_tool_of_a_name_no_server_takes_is_refused_before_sending() -> None:
    with pytest.raises(Unsupported, match=r"what\.time"):
        ADAPTER.build(ask("Hi", MODEL, tools=(replace(CLOCK, name="what.time"),)))


# --- the items -----------------------------------------------------------------------------


def test_turns_of_one_role_stay_apart_and_orders_stay_in_place() -> None:
    sent = wire(say("user", "a"), say("user", "b"), say("system", "now"), say("user", "c"))
    assert [(item["role"], item["content"]) for item in sent] == [
        ("user", "a"),
        ("user", "b"),
        ("developer", "now"),
        ("user", "c"),
    ]


def test_the_order_of_words_and_calls_is_kept() -> None:
    sent = wire(
        say("user", "q"),
        say("assistant", Thinking(text="hm"), "Look.", CALL, "Wait."),
        say("tool", RESULT),
    )
    assert [item.get("content") or item.get("name") or item["output"] for item in sent] == [
        "q",
        "Look.",
        "weather",
        "Wait.",
        "rain",
    ]


def test_a_call_without_its_result_gets_a_stand_in() -> None:
    other = replace(CALL, id="call_2")
    sent = wire(
        say("user", "q"), say("assistant", CALL, other), say("tool", RESULT), say("user", "?")
    )
    assert [item.get("type", "message") for item in sent] == [
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
    ]
    assert sent[4]["call_id"] == "call_2"
    assert "not run" in sent[4]["output"]


def test_a_result_without_its_call_becomes_words() -> None:
    sent = wire(say("tool", RESULT), say("user", "and now?"))
    assert sent[0] == {"role": "user", "content": "Result of weather:\nrain"}


def test_calls_of_other_providers_are_made_to_fit() -> None:
    long = "toolu_" + "x" * 80
    calls = [
        ToolCall(id="", name="a.b", arguments="{broken"),
        ToolCall(id=long, name="c", arguments=""),
    ]
    results = [
        ToolResult(call_id=long, name="c", text=""),
        ToolResult(call_id="", name="a.b", text="B"),
    ]
    sent = wire(say("user", "q"), say("assistant", *calls), say("tool", *results))
    made = {item["name"]: item for item in sent if item.get("type") == "function_call"}
    outputs = {i["call_id"]: i["output"] for i in sent if i.get("type") == "function_call_output"}
    assert json.loads(made["a_b"]["arguments"]) == {"input": "{broken"}
    assert outputs[made["c"]["call_id"]] == "(no output)"
    assert made["c"]["arguments"] == "{}"


def test_every_beginning_of_a_conversation_begins_the_whole() -> None:
    messages = (
        say("user", "see", CAT, "and", NOTES),
        say("assistant", "ok", CALL),
        say("tool", RESULT),
        say("assistant", "It rains."),
        say("user", "a"),
        say("user", "b"),
        say("assistant", "c"),
    )
    whole = wire(*messages, attachments=FILES)
    for size in (1, 3, 4, 5, 6):
        assert list(wire(*messages[:size], attachments=FILES)) == list(whole)[: _items(size)]


def _items(size: int) -> int:
    """Items of so many messages above: the answer with its call makes two."""
    return size + (size > 1)


# --- attachments ---------------------------------------------------------------------------


def test_files_go_in_their_own_forms_and_in_order() -> None:
    (sent,) = wire(say("user", "One", CAT, "two", PAPER, NOTES, "three"), attachments=FILES)
    kinds = [part["type"] for part in sent["content"]]
    assert kinds == ["input_text", "input_image", "input_text", "input_file", "input_text"]
    assert sent["content"][1]["image_url"].startswith("data:image/png;base64,iVBOR")
    assert sent["content"][3]["filename"] == "paper.pdf"
    assert sent["content"][4]["text"] == (
        "----- file: notes.txt -----\nGrüße\nline two\n----- end of notes.txt -----\n\nthree"
    )


def test_a_text_file_alone_is_plain_words() -> None:
    (sent,) = wire(say("user", "Read:", NOTES), attachments=FILES)
    assert sent["content"].startswith("Read:\n\n----- file: notes.txt")


def test_a_picture_in_an_answer_is_only_mentioned() -> None:
    sent = wire(say("user", "draw"), say("assistant", "Here:", CAT), attachments=FILES)
    assert sent[1]["content"] == "Here:\n\n[file: cat.png]"


def test_a_file_of_a_kind_no_model_reads_is_refused_with_a_way_out() -> None:
    with pytest.raises(Unsupported, match=r"song\.wav") as caught:
        wire(say("user", SOUND), attachments=FILES)
    assert "images" in caught.value.hint
    assert "PDF" in caught.value.hint


def test_a_file_whose_content_is_gone_is_told() -> None:
    gone = AttachmentRef(sha256="0" * 64, media_type="image/png", name="gone.png")
    with pytest.raises(BadFile, match=r"gone\.png"):
        wire(say("user", gone), attachments=FILES)
