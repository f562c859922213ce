"""How a conversation goes out to Claude: tools, the order of turns, files."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from core.errors import Unsupported
from core.providers.anthropic import ADAPTER
from core.types import AttachmentRef, Message, Tool, ToolCall, ToolResult
from tests.contract.claude import WEATHER, ask, checked, say

CALL = ToolCall(id="call_1", name="weather", arguments='{"city": "Bern"}')
OTHER = ToolCall(id="call_2", name="weather", arguments='{"city": "Zürich"}')
RESULT = ToolResult(call_id="call_1", name="weather", text="rain")


def turns(*messages: Message, **more: Any) -> list[tuple[str, list[Any]]]:
    """Roles and blocks that go out, without breakpoints."""
    checked(*messages, **more)
    built = ADAPTER.build(ask(*messages, **more)).messages
    return [(message["role"], message["content"]) for message in built]


def texts(*messages: Message, **more: Any) -> list[tuple[str, list[str]]]:
    """Roles, and of each block its text or its type."""
    return [
        (role, [block.get("text", block["type"]) for block in blocks])
        for role, blocks in turns(*messages, **more)
    ]


# --- tools ---------------------------------------------------------------------------------


def test_tools_go_out_in_claude_s_dialect() -> None:
    (tool,) = checked(tools=(WEATHER,))["tools"]
    assert tool["input_schema"] == WEATHER.parameters
    assert (tool["name"], tool["description"]) == ("weather", WEATHER.description)
    bare = Tool(name="now", description=" ", parameters={})
    assert ADAPTER.build(ask(tools=(bare,))).envelope["tools"] == [
        {"name": "now", "input_schema": {"type": "object"}}
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        ("weather", {"type": "tool", "name": "weather"}),
    ],
)
def test_the_choice_of_a_tool_is_told(choice: str, sent: Any) -> None:
    body = checked(tools=(WEATHER,), tool_choice=choice, model="claude-opus-4-8")
    assert body["tool_choice"] == sent
    assert "tool_choice" not in checked(tool_choice=choice)


@pytest.mark.parametrize(
    "tool",
    [
        Tool(name="a.b", description="", parameters={}),
        Tool(name="ab", description="", parameters={"anyOf": [{"type": "object"}]}),
    ],
)
def test_a_tool_that_claude_does_not_take_is_told_by_name(tool: Tool) -> None:
    with pytest.raises(Unsupported, match=tool.name.replace(".", r"\.")) as caught:
        checked(tools=(tool,))
    assert caught.value.hint


def test_a_history_with_calls_is_taken_without_tools() -> None:
    body = checked(say("user", "q"), say("assistant", CALL), say("tool", RESULT))
    assert [tool["name"] for tool in body["tools"]] == ["weather"]
    assert body["tool_choice"] == {"type": "none"}


# --- the order of messages -----------------------------------------------------------------


def test_all_orders_go_to_the_top() -> None:
    body = checked(say("user", "a"), say("system", "two"), say("user", "b"), system="one")
    assert body["system"][0]["text"] == "one\n\ntwo"
    assert [message["content"][0]["text"] for message in body["messages"]] == ["a", "b"]


def test_parallel_results_go_into_one_turn_however_they_come() -> None:
    asked = (say("user", "q"), say("assistant", "Look.", CALL, OTHER))
    second = ToolResult(call_id="call_2", name="weather", text="sun", is_error=True)
    together = turns(*asked, say("tool", RESULT, second), say("user", "and?"), tools=(WEATHER,))
    apart = turns(
        *asked, say("tool", RESULT), say("tool", second), say("user", "and?"), tools=(WEATHER,)
    )
    assert together == apart
    assert together[2] == (
        "user",
        [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "rain"},
            {"type": "tool_result", "tool_use_id": "call_2", "content": "sun", "is_error": True},
        ],
    )
    assert together[1][1][2]["input"] == {"city": "Zürich"}


def test_words_with_a_result_come_behind_it() -> None:
    assert texts(say("user", "q"), say("assistant", CALL), say("user", "and", RESULT)) == [
        ("user", ["q"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("user", ["and"]),
    ]


@pytest.mark.parametrize("after", [(), (say("user", "never mind"),), (say("assistant", "Well."),)])
def test_a_call_without_its_result_gets_a_stand_in(after: Sequence[Message]) -> None:
    asked = (say("user", "q"), say("assistant", CALL, OTHER), say("tool", RESULT))
    made = turns(*asked, *after, say("user", "so?"))
    assert made[2][1][0]["content"] == "rain"
    assert "not run" in made[2][1][1]["content"]


def test_a_result_without_its_call_becomes_words() -> None:
    assert texts(say("user", "q"), say("tool", RESULT)) == [
        ("user", ["q"]),
        ("user", ["Result of weather:\nrain"]),
    ]


def test_a_result_that_is_empty_says_so() -> None:
    silent = ToolResult(call_id="call_1", name="weather", text=" ")
    made = turns(say("user", "q"), say("assistant", CALL), say("tool", silent))
    assert made[2][1][0]["content"] == "(no output)"


def test_ids_are_made_where_they_are_missing_doubled_or_not_taken() -> None:
    odd = ToolCall(id="call|fc:1", name="ns.weather", arguments="{}")
    nameless = [ToolCall(id="", name=name, arguments="{}") for name in ("a", "b")]
    answers = [ToolResult(call_id="", name=name, text=f"from {name}") for name in ("b", "a")]
    made = turns(
        say("user", "q"),
        say("assistant", *nameless),
        say("tool", *answers),
        say("assistant", odd, CALL),
        say("tool", RESULT, ToolResult(call_id=odd.id, name=odd.name, text="odd")),
        say("assistant", CALL),
        say("tool", RESULT),
    )
    names = {b["id"]: b["name"] for _, blocks in made for b in blocks if b["type"] == "tool_use"}
    told = {b["tool_use_id"]: b["content"] for _, blocks in made for b in blocks if "content" in b}
    assert len(names) == 5
    assert sorted((names[key], said) for key, said in told.items()) == [
        ("a", "from a"),
        ("b", "from b"),
        ("ns_weather", "odd"),
        ("weather", "rain"),
        ("weather", "rain"),
    ]


@pytest.mark.parametrize(
    "arguments",
    ["", "{broken", "[1]", '"text"', '{"a": NaN}', '{"a": "\\ud800"}'],
)
def test_arguments_are_always_an_object(arguments: str) -> None:
    call = ToolCall(id="call_1", name="weather", arguments=arguments)
    made = turns(say("user", "q"), say("assistant", call), say("tool", RESULT))
    json.dumps(made, ensure_ascii=False, allow_nan=False).encode()
    if not arguments.startswith('{"'):
        assert made[1][1][0]["input"] == ({"input": arguments} if arguments else {})


def test_a_conversation_that_begins_with_an_answer_gets_a_first_word() -> None:
    made = texts(say("assistant", "Welcome."), say("user", "Hi"))
    assert [role for role, _ in made] == ["user", "assistant", "user"]


def test_an_answer_to_go_on_from_ends_without_a_blank() -> None:
    made = texts(say("user", "q"), say("assistant", "So \n"), model="claude-haiku-4-5")
    assert made[1] == ("assistant", ["So"])


def test_what_was_sent_once_is_sent_the_same_ever_after() -> None:
    conversation = (
        say("assistant", "Welcome."),
        say("user", "q", "and"),
        say("user", "again"),
        say("assistant", "Look.", CALL, OTHER),
        say("tool", RESULT, ToolResult(call_id="call_2", name="weather", text="sun")),
        say("assistant", "Rain. "),
        say("assistant", "And sun."),
        say("user", "thanks"),
    )
    whole = ADAPTER.build(ask(*conversation)).messages
    for size in (1, 2, 3, 5, 6, 7):
        part = ADAPTER.build(ask(*conversation[:size])).messages
        assert whole[: len(part)] == part


# --- files ---------------------------------------------------------------------------------

PNG = b"\x89PNG\r\n\x1a\n0000"
FILES = {"p": PNG, "d": b"%PDF-1.7 x", "t": "\ufeffGrüße".encode(), "e": b"", "b": b"\xff\xfe\x00"}


def file(sha: str, kind: str, name: str = "a file") -> AttachmentRef:
    return AttachmentRef(sha256=sha, media_type=kind, name=name)


def sent_file(ref: AttachmentRef) -> Any:
    ((_, blocks),) = turns(say("user", "See", ref, "and say."), attachments=FILES)
    assert [block["type"] for block in blocks][::2] == ["text", "text"]
    return blocks[1]


@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_images_go_out_under_their_true_kind(kind: str) -> None:
    source = sent_file(file("p", kind))["source"]
    assert source["media_type"] == "image/png"
    assert base64.b64decode(source["data"]) == PNG


def test_a_pdf_is_a_document() -> None:
    made = sent_file(file("d", "application/pdf", "paper.pdf"))
    assert (made["type"], made["title"]) == ("document", "paper.pdf")


@pytest.mark.parametrize("kind", ["text/plain; charset=utf-8", "text/csv", "application/json"])
def test_text_is_a_document_too(kind: str) -> None:
    made = sent_file(file("t", kind, "notes.txt"))
    assert made["source"] == {"type": "text", "media_type": "text/plain", "data": "Grüße"}
    assert sent_file(file("e", kind))["source"]["data"]


@pytest.mark.parametrize(
    ("sha", "kind"),
    [
        ("p", "image/svg+xml"),
        ("p", "audio/mpeg"),
        ("b", "text/plain"),
        ("gone", "image/png"),
        ("p", ""),
    ],
)
def test_other_files_are_refused_by_name_before_anything_is_sent(sha: str, kind: str) -> None:
    with pytest.raises(Unsupported, match=r"my\.file") as caught:
        turns(say("user", "See", file(sha, kind, "my.file")), attachments=FILES)
    assert caught.value.hint
