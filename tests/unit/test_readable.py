"""A request laid out for a person: every protocol's shapes, and of files their kind and size."""

import base64
import json
import os
from typing import Any

import pytest

from core.providers import adapters
from core.types import (
    Call,
    Message,
    Part,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from core.wire.readable import (
    Readable,
    elided,
    encoded_size,
    readable,
    said,
    shortened,
    size_words,
)
from tests.contract.media import attach

CAT, BYTES = attach(os.urandom(48_000), "image/png", "cat.png")
MODELS = {
    "openai": "gpt-6-sol",
    "compatible": "m",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-3.8-flash",
    "echo": "echo-1",
}


def say(role: Role, *parts: Part | str) -> Message:
    return Message(role=role, parts=tuple(Text(text=p) if isinstance(p, str) else p for p in parts))


def body(name: str) -> dict[str, Any]:
    """All that a call can have, in a provider's form."""
    found = adapters()[name]
    call = Call(
        model=MODELS[name],
        messages=(
            say("user", "What is this?", CAT),
            say("assistant", "A look.", ToolCall(id="c1", name="weather", arguments='{"x": 1}')),
            say("tool", ToolResult(call_id="c1", name="weather", text="rain")),
            say("user", "And?"),
        ),
        system="Be brief.",
        sampling={"max_tokens": 99},
        tools=(Tool(name="weather", description="The weather.", parameters={"properties": {}}),),
        attachments=BYTES,
        shared_until=1,
    )
    sent: dict[str, Any] = found.body(found.build(call))
    return sent


@pytest.fixture(params=[*MODELS])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def words(shown: Readable, kind: str) -> list[tuple[str, str]]:
    return [(p.name, p.text) for m in shown.messages for p in m.pieces if p.kind == kind]


def test_every_word_is_there(name: str) -> None:
    shown = readable(body(name))
    system = [("", shown.system)] if shown.system else []
    assert [text for _, text in system + words(shown, "text")] == [
        "Be brief.",
        "What is this?",
        "A look.",
        "And?",
    ]


def test_calls_results_and_tools_are_named(name: str) -> None:
    shown = readable(body(name))
    ((called, given),) = words(shown, "call")
    assert (called, json.loads(given)) == ("weather", {"x": 1})
    ((_, result),) = words(shown, "result")
    assert "rain" in result
    assert [tool for tool, _ in shown.tools] == ["weather"]


def test_a_file_is_told_by_kind_and_size(name: str) -> None:
    ((file, text),) = words(readable(body(name)), "file")
    assert text == "image/png, 48 kB" if name != "echo" else file == "cat.png"


def test_settings_are_all_the_rest(name: str) -> None:
    shown = readable(body(name))
    assert "99" in str(shown.settings)
    assert "model" not in shown.settings
    assert not {"messages", "input", "contents", "tools"} & set(shown.settings)


def test_cache_breakpoints_are_seen() -> None:
    marked = [message.cached for message in readable(body("anthropic")).messages]
    assert marked == [True, False, False, True]
    quoted = {"role": "user", "content": 'the words "cache_control": { in a text'}
    assert not said(quoted).cached


def test_files_are_left_out_on_the_screen_and_nothing_else(name: str) -> None:
    sent = body(name)
    before = json.dumps(sent)
    short = elided(sent)
    assert json.dumps(sent) == before
    encoded = base64.b64encode(next(iter(BYTES.values()))).decode()
    if name != "echo":
        assert encoded in before
        assert "\u2039image/png, 48 kB\u203a" in json.dumps(short, ensure_ascii=False)
    assert encoded not in json.dumps(short)
    assert "And?" in json.dumps(short)
    assert elided(short) == short


@pytest.mark.parametrize(
    "value",
    [
        {"text": "x" * 5000},
        {"content": "A" * 5000},
        {"arguments": "A" * 5000},
        {"url": "https://example.org/" + "a" * 5000},
        {"data": "short"},
        {"data": "words and words " * 100},
        {"signature": None, "data": 5},
        "A" * 5000,
        None,
    ],
)
def test_words_and_addresses_are_never_left_out(value: Any) -> None:
    assert elided(value) == value


def test_thinking_and_signatures() -> None:
    thought = said({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]})
    assert [(p.kind, p.text) for p in thought.pieces] == [("thinking", "hm")]
    hidden = {"type": "reasoning", "summary": [], "encrypted_content": "A" * 4000}
    (piece,) = said(hidden).pieces
    assert (piece.kind, piece.text) == ("thinking", "(encrypted, 3.0 kB)")
    shown = said({"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "Yes"}]})
    assert [p.kind for p in shown.pieces] == ["thinking", "text"]
    assert "3.0 kB" in elided({"signature": "A" * 4000})["signature"]


@pytest.mark.parametrize(
    "strange",
    [
        None,
        5,
        "just words",
        [],
        {},
        {"role": None, "content": {"odd": [1, {"deep": None}]}},
        {"type": "web_search_call", "action": {"query": "x"}},
        {"role": "user", "content": [None, 3, {"type": "audio", "input_audio": {"data": "x"}}]},
        {"role": "user", "parts": [{"fileData": {"fileUri": "gs://x"}}]},
    ],
)
def test_what_is_not_understood_is_shown_and_breaks_nothing(strange: Any) -> None:
    assert said(strange).size > 0
    shown = readable({"messages": [strange], "model": "m", "tools": [strange], "system": strange})
    assert len(shown.messages) == 1


def test_an_unknown_item_is_shown_as_it_is() -> None:
    (piece,) = said({"type": "web_search_call", "action": {"query": "x"}}).pieces
    assert piece.kind == "other"
    assert '"query": "x"' in piece.text


def test_a_long_request_is_shortened_from_the_front() -> None:
    long = {"model": "m", "messages": [{"n": n} for n in range(50)]}
    short, left_out = shortened(long, 20)
    assert left_out == 30
    assert short["messages"][1:] == long["messages"][30:]
    assert len(long["messages"]) == 50
    assert shortened(long, 50) == (long, 0)
    assert shortened({"model": "m"}, 5) == ({"model": "m"}, 0)


@pytest.mark.parametrize(
    ("amount", "said_"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (48_000, "48 kB"), (2_100_000, "2.1 MB")],
)
def test_sizes(amount: int, said_: str) -> None:
    assert size_words(amount) == said_


def test_the_size_of_what_is_encoded() -> None:
    for length in (1, 2, 3, 100):
        text = base64.b64encode(b"x" * length).decode()
        assert encoded_size(text, "a/b") == f"a/b, {length} B"
        assert encoded_size(f"data:image/gif;base64,{text}") == f"image/gif, {length} B"
