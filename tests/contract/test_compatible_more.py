"""Tools, files and lists of models with servers that speak Chat Completions."""

from dataclasses import replace
from typing import Any

import pytest

from core.errors import (
    AuthFailed,
    BadReply,
    Overloaded,
    Unreachable,
    Unsupported,
)
from core.providers.compatible import ADAPTER, Compatible
from core.providers.local import Local
from core.types import Call, Endpoint, Message, ModelInfo, Stop, ToolCall, ToolResult
from tests.contract.case import ask, ending
from tests.contract.chat import END, fake_server, run
from tests.contract.media import CAT, FILES, NOTES, PAPER, SOUND
from tests.contract.respond import CALL, CLOCK, RESULT, WEATHER
from tests.contract.test_building import say
from tests.contract.test_compatible import wire
from tests.fakes import chat_completions as fake

# --- tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [None, "auto", "required", "none"])
def test_tools_are_told_in_the_nested_form(choice: str | None) -> None:
    call = ask("Hi", "m", tools=(WEATHER, CLOCK), tool_choice=choice)
    with fake_server(*END) as (server, endpoint):
        run(call, endpoint)
    assert server.seen[0].refused is None
    body = server.seen[0].body
    assert body.get("tool_choice") == choice
    assert body["tools"][1] == {
        "type": "function",
        "function": {
            "name": "clock",
            "description": "The time.",
            "parameters": {"type": "object", "properties": {}},
        },
    }


def test_one_tool_can_be_asked_for_by_name() -> None:
    built = ADAPTER.build(ask("Hi", "m", tools=(CLOCK,), tool_choice="clock"))
    fake.check({**built.envelope, "messages": list(built.messages)})
    assert built.envelope["tool_choice"] == {"type": "function", "function": {"name": "clock"}}
    without = ADAPTER.build(ask("Hi", "m", tool_choice="auto", sampling={"tools": [1]}))
    assert not {"tools", "tool_choice"} & set(without.envelope)


def test_what_a_gateway_adds_to_a_call_is_given_back() -> None:
    more = {"extra_content": {"google": {"thought_signature": "sig"}}}
    function = {"name": "clock", "arguments": "{}"}
    chunk = fake.chunk({"tool_calls": [{"index": 0, "id": "c", "function": function, **more}]})
    with fake_server(chunk, *END) as (server, endpoint):
        asked = say("user", "time?")
        found = run(Call(model="m", messages=(asked,), tools=(CLOCK,)), endpoint)
        calls = tuple(event for event in found if isinstance(event, ToolCall))
        answer = Message(role="assistant", parts=calls, raw=ending(found).raw)
        result = say("tool", ToolResult(call_id="c", name="clock", text="noon"))
        run(Call(model="m", messages=(asked, answer, result), tools=(CLOCK,)), endpoint)
    assert [seen.refused for seen in server.seen] == [None, None]
    assert (
        server.seen[1].body["messages"][1]["tool_calls"][0]["extra_content"]
        == more["extra_content"]
    )


def test_calls_of_other_providers_are_made_to_fit() -> None:
    long = "toolu_" + "x" * 80
    call = ToolCall(id=long, name="server.tool", arguments="{}")
    result = ToolResult(call_id=long, name="server.tool", text="ok")
    sent = wire(say("user", "q"), say("assistant", call), say("tool", result))
    assert sent[1]["tool_calls"][0]["function"]["name"] == "server_tool"
    assert len(sent[2]["tool_call_id"]) <= 40
    assert sent[2]["content"] == "ok"


# --- files ---------------------------------------------------------------------------------


def test_pictures_and_text_go_in_order() -> None:
    (sent,) = wire(say("user", "One", CAT, "two", NOTES), attachments=FILES)
    assert [part["type"] for part in sent["content"]] == ["text", "image_url", "text"]
    assert sent["content"][1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert sent["content"][2]["text"].startswith("two\n\n----- file: notes.txt -----\nGrüße")


def test_text_files_alone_leave_plain_words_that_every_server_takes() -> None:
    (sent,) = wire(say("user", NOTES, "What is it?"), attachments=FILES)
    assert sent["content"].endswith("----- end of notes.txt -----\n\nWhat is it?")


def test_turns_of_one_role_are_joined_with_their_pictures() -> None:
    (sent,) = wire(say("user", "a"), say("user", CAT), say("user", "b"), attachments=FILES)
    assert [part["type"] for part in sent["content"]] == ["text", "image_url", "text"]


@pytest.mark.parametrize("file", [PAPER, SOUND])
def test_what_servers_of_this_kind_do_not_take_is_refused_with_a_way_out(file: Any) -> None:
    with pytest.raises(Unsupported, match=file.name) as caught:
        wire(say("user", "See", file), attachments=FILES)
    assert "images" in caught.value.hint
    assert "choose a model" in caught.value.hint


def test_a_server_that_takes_pdf_can_be_told_apart() -> None:
    mine = Compatible("mine", "Mine", takes=frozenset({"image", "pdf"}))
    call = Call(model="m", messages=(say("user", "See", PAPER),), attachments=FILES)
    built = mine.build(call)
    fake.check({**built.envelope, "messages": list(built.messages)})
    assert built.messages[0]["content"][1]["file"]["filename"] == "paper.pdf"
    with pytest.raises(Unsupported):  # not even after it was built for the other
        ADAPTER.build(replace(call, messages=(*call.messages, say("user", "?"))))


def test_the_embedded_model_reads_text_files_only() -> None:
    call = Call(model="tiny", messages=(say("user", NOTES),), attachments=FILES)
    assert "Grüße" in Local().build(call).messages[0]["content"]
    with pytest.raises(Unsupported, match=r"cat\.png") as caught:
        Local().build(replace(call, messages=(say("user", CAT),)))
    assert "images" not in caught.value.hint


# --- lists of models -----------------------------------------------------------------------

OPENROUTER = {
    "id": "maker/model",
    "name": "Maker: Model",
    "context_length": 131072,
    "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
    "pricing": {"prompt": "0", "completion": "0"},
    "top_provider": {"max_completion_tokens": 8192},
    "supported_parameters": ["temperature", "tools", "reasoning", "seed"],
}


def listed(body: Any, **more: Any) -> tuple[ModelInfo, ...]:
    with fake_server() as (server, endpoint):
        server.models = body
        return ADAPTER.list_models(replace(endpoint, **more))


def test_a_list_that_tells_much_is_read_in_full() -> None:
    (info,) = listed({"data": [OPENROUTER]})
    assert (info.id, info.label, info.window) == ("maker/model", "Maker: Model", 131072)
    assert (info.output_limit, info.images, info.tools) == (8192, True, True)
    assert (info.thinking, info.free) == (True, True)
    assert [knob.name for knob in info.knobs] == ["temperature", "reasoning_effort", "seed"]


def test_a_list_that_tells_nothing_leaves_all_open() -> None:
    (info,) = listed({"object": "list", "data": [{"id": "llama3:8b"}]})
    assert (info.window, info.output_limit) == (None, None)
    assert info.tools
    assert info.images
    assert info.free, "it runs on this very machine"
    assert "temperature" in {knob.name for knob in info.knobs}


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "m", "max_model_len": 4096},
        {"id": "m", "context_window": 4096},
        {"id": "m", "max_context_length": 4096, "capabilities": {"completion_chat": True}},
        {"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 131072}},
        {"id": "m", "context_length": "much", "max_model_len": 4096},
    ],
)
def test_the_window_is_found_under_any_name(entry: Any) -> None:
    assert listed({"data": [entry]})[0].window == 4096


def test_models_that_write_no_text_are_left_out() -> None:
    entries = [
        {"id": "nomic-embed-text"},
        {"id": "whisper-large-v3"},
        {"id": "picture", "architecture": {"output_modalities": ["image"]}},
        {"id": "rank", "type": "rerank"},
        {"id": "mistral-ocr", "capabilities": {"completion_chat": False}},
        {"id": "chat", "type": "chat"},
        {"id": "chat"},
        {"no": "id"},
        "words",
    ]
    assert [info.id for info in listed({"data": entries})] == ["chat"]


def test_a_bare_list_and_another_name_of_it_are_read_too() -> None:
    assert [info.id for info in listed([{"id": "a"}])] == ["a"]
    assert [info.id for info in listed({"models": [{"name": "b"}]})] == ["b"]


@pytest.mark.parametrize("body", [fake.Play(status=203, body="<html>Hi</html>"), 7, "x", None])
def test_a_list_that_is_none_is_told(body: Any) -> None:
    with pytest.raises(BadReply):
        listed(body)


def test_trouble_with_the_list_is_told() -> None:
    with pytest.raises(AuthFailed):
        listed({}, api_key="sk-wrong-0123456789")
    with pytest.raises(Overloaded):
        listed(fake.refusal(503, "busy"))
    with pytest.raises(Unreachable):
        ADAPTER.list_models(Endpoint(base_url="http://127.0.0.1:1/v1", api_key=""))
    with pytest.raises(Unsupported):
        ADAPTER.list_models(None)


def test_nothing_is_counted_that_the_server_cannot_count() -> None:
    request = ADAPTER.build(ask("Hi", "m"))
    assert ADAPTER.count_tokens(request, None) is None


def test_a_kept_conversation_with_files_costs_no_second_reading() -> None:
    first = say("user", "See", CAT)
    call = Call(model="m", messages=(first, say("assistant", "a")), attachments=FILES)
    one = ADAPTER.build(call)
    more = (*call.messages, say("user", "b"), say("assistant", CALL), say("tool", RESULT))
    two = ADAPTER.build(replace(call, messages=more))
    assert two.messages[0] is one.messages[0]
    with fake_server(*END) as (server, endpoint):
        list(ADAPTER.stream(two, endpoint, Stop()))
    assert server.seen[0].refused is None
