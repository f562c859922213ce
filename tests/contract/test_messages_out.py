"""A branch as a request and as a program: the real SDKs send it, strict servers take it, and the
formats that wrote it read it back as it was."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai

from core import Config, Session, Store
from core.branching import new_node
from core.errors import Unsupported, UserError
from core.exporting import branch, write
from core.formats import reader, recognised, writers
from core.interchange.source import BytesSource
from core.providers import adapter, register, unregister
from core.types import (
    BranchTaken,
    Carried,
    Part,
    Parts,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    text_of,
)
from core.wire.served import Served
from tests.contract import cases_anthropic, cases_gemini, cases_openai, media
from tests.contract.case import Scene
from tests.contract.shelf import path_of
from tests.fakes import anthropic as claude
from tests.fakes import chat_completions as chat
from tests.fakes import gemini
from tests.fakes import openai as responses
from tests.fakes.chat_completions import Play
from tests.fakes.server import serving

USED = Usage(input_tokens=9, output_tokens=3)
KEY = "sk-fake-0123456789abcdefWXYZ"
NASTY = 'It\'s """{braces}""" \'\'\' \\n %s $x ${y} 世界 😀\u2028end'
MODELS = {"openai": "gpt-6-sol", "anthropic": "claude-opus-5-5", "gemini": "gemini-3.5-flash"}
FORMATS = {
    "openai_messages": "openai",
    "openai_responses": "openai",
    "anthropic_messages": "anthropic",
    "gemini_messages": "gemini",
    "finetuning": "openai",
}
READ_BY = {"openai_responses": "openai_messages"}
SAID: list[tuple[Role, tuple[Part | str, ...]]] = [
    ("user", ("What is the weather in Zürich? ☂", "PNG")),
    (
        "assistant",
        (
            Thinking(text="hidden"),
            "I look.",
            ToolCall(id="call_1", name="weather", arguments='{"city": "Zürich"}'),
        ),
    ),
    ("tool", (ToolResult(call_id="call_1", name="weather", text="rain"),)),
    ("assistant", ("It rains.",)),
    ("user", (NASTY,)),
    ("assistant", ("```py\nprint(1)\n```\n  indented",)),
    ("user", ("And tomorrow?",)),
]


def spoken(store: Store, provider: str, said: Any = SAID, **config: Any) -> BranchTaken:
    """A branch on which this was said, asked of a provider."""
    model = config.pop("model", MODELS.get(provider, "m"))
    made = Config(provider=provider, model=model, system="Be brief.", **config)
    session = store.sessions.create(config=made, title=f'A "talk" \\ {NASTY}')
    png = store.attachments.add("cat.png", "image/png", media.PNG)
    tip = None
    with store.write():
        for role, pieces in said:
            parts: Parts = tuple(
                png if piece == "PNG" else Text(text=piece) if isinstance(piece, str) else piece
                for piece in pieces
            )
            node = store.nodes.add(new_node(session.id, tip, role, parts))
            tip = node.id
            store.branches.move(str(session.current_branch_id), tip, why="send")
    return taken(store, session)


def taken(store: Store, session: Session) -> BranchTaken:
    return branch(store, session.id, str(session.current_branch_id))


def exported(found: BranchTaken, name: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(write(found, name).content)
    return made


def words(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def chatting(text: str) -> chat.ChatCompletions:
    """A Chat Completions server; OpenAI's newer name for the longest answer is known to it."""
    server = chat.ChatCompletions(key=KEY, extras=frozenset({"max_completion_tokens"}))
    steps = (chat.chunk({"content": text}), chat.chunk({}, "stop"), chat.DONE)
    server.play = chat.Play(steps=steps)
    return server


# --- JSON through the SDKs -----------------------------------------------------------------------


def test_chat_messages_go_through_the_sdk(store: Store) -> None:
    body = exported(spoken(store, "openai", sampling={"max_tokens": 500}), "openai_messages")
    server = chatting("Sun.")
    with (
        serving(server.app) as address,
        openai.OpenAI(api_key=KEY, base_url=f"{address}/v1") as client,
    ):
        stream = client.chat.completions.create(**body, stream=True)
        told = "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert told == "Sun."
    assert server.seen[0].refused is None
    assert server.seen[0].body["messages"] == body["messages"]
    assert body["max_completion_tokens"] == 500


def test_responses_items_go_through_the_sdk(store: Store) -> None:
    body = exported(spoken(store, "openai", sampling={"max_tokens": 500}), "openai_responses")
    with (
        answering("openai", ["Sun."]) as (server, address),
        openai.OpenAI(api_key=KEY, base_url=address) as client,
    ):
        kinds = [event.type for event in client.responses.create(**body, stream=True)]
    assert "response.completed" in kinds
    assert server.seen[0].refused is None
    assert server.seen[0].body["input"] == body["input"]
    assert body["instructions"] == "Be brief."


def test_anthropic_messages_go_through_the_sdk(store: Store) -> None:
    body = exported(spoken(store, "anthropic", sampling={"max_tokens": 500}), "anthropic_messages")
    with (
        answering("anthropic", ["Sun."]) as (server, address),
        anthropic.Anthropic(api_key=KEY, base_url=address) as client,
        client.messages.stream(**body) as stream,
    ):
        told = "".join(stream.text_stream)
    assert told == "Sun."
    assert server.seen[0].refused is None
    assert server.seen[0].body["messages"] == body["messages"]


def test_gemini_contents_go_through_the_sdk(store: Store) -> None:
    found = spoken(store, "gemini", sampling={"max_tokens": 500})
    body = exported(found, "gemini_messages")
    config = {**body.pop("generationConfig"), **{k: v for k, v in body.items() if k != "contents"}}
    with answering("gemini", ["Sun."]) as (server, address):
        options: Any = {"base_url": address, "api_version": "v1beta"}
        client = genai.Client(api_key=KEY, http_options=options)
        chunks = client.models.generate_content_stream(
            model=found.config.model, contents=body["contents"], config=config
        )
        told = "".join(chunk.text or "" for chunk in chunks)
    assert told == "Sun."
    assert server.seen[0].refused is None


@pytest.mark.parametrize("name", list(FORMATS))
def test_a_branch_that_ends_with_an_answer_is_written_whole(store: Store, name: str) -> None:
    found = spoken(store, FORMATS[name], SAID[:6])
    assert "indented" in words(exported(found, name))
    assert KEY not in words(exported(found, name))


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("provider", ["echo", "openai", "anthropic", "gemini", "gone"])
def test_a_branch_of_any_provider_can_be_written_for_each(
    store: Store, name: str, provider: str
) -> None:
    found = spoken(store, provider, sampling={"max_tokens": 64, "top_k": 3})
    body = exported(found, name)
    if provider == FORMATS[name] and "model" in body:
        assert body["model"] == MODELS[provider]
    assert not {"stream", "stream_options", "cache_breakpoints"} & set(body)
    assert "cache_control" not in words(body)
    if provider != FORMATS[name]:
        assert "top_k" not in body


def test_what_cannot_be_sent_is_refused_in_words(store: Store) -> None:
    found = spoken(store, "gemini", [("user", (media.SOUND,))])
    store.attachments.add("song.wav", "audio/wav", media.SOUND_BYTES[media.SOUND.sha256])
    for name in ("anthropic_messages", "openai_messages"):
        with pytest.raises((Unsupported, UserError)):
            write(found, name)
    with pytest.raises(UserError, match="no answer to learn from"):
        write(spoken(store, "openai", SAID[:1]), "finetuning")
    with pytest.raises(UserError, match="Nothing was asked"):
        write(spoken(store, "openai", [("assistant", ("Hello.",))]), "openai_python")


# --- and back ------------------------------------------------------------------------------------


def heard(parts: Parts) -> tuple[Any, ...]:
    """What of a message any of these forms can hold. Ids of calls are made anew by some."""
    told: list[Any] = [text_of(parts)] if text_of(parts) else []
    for part in parts:
        if isinstance(part, ToolCall):
            told.append((part.name, json.loads(part.arguments)))
        elif isinstance(part, ToolResult):
            told.append((part.name, part.text, part.is_error))
        elif part.type == "attachment":
            told.append(part.sha256)
    return tuple(told)


@pytest.mark.parametrize("name", list(FORMATS))
def test_what_was_written_reads_back_as_it_was(store: Store, name: str) -> None:
    said = SAID[:6] if name == "finetuning" else SAID
    found = spoken(store, FORMATS[name], said)
    source = BytesSource("exported", write(found, name).content)
    known = recognised(source)
    assert known is not None
    assert known[0].name == READ_BY.get(name, name)
    (back,) = known[0].read(source)
    assert isinstance(back, Carried)
    assert back.system == "Be brief."
    assert [(node.role, heard(node.parts)) for node in path_of(back)] == [
        (node.role, heard(node.parts)) for node in found.nodes
    ]
    assert [content() for content in back.files.values()] == [media.PNG]
    assert back.repairs == ()


def test_files_of_text_stay_files_with_anthropic(store: Store) -> None:
    store.attachments.add("notes.txt", "text/plain", media.TEXT)
    found = spoken(store, "anthropic", [("user", ("Read.", media.NOTES))])
    source = BytesSource("exported", write(found, "anthropic_messages").content)
    (back,) = reader("anthropic_messages").read(source)
    assert isinstance(back, Carried)
    assert [content() for content in back.files.values()] == [media.TEXT]


# --- programs ------------------------------------------------------------------------------------


@contextmanager
def answering(protocol: str, texts: list[str]) -> Iterator[tuple[Any, str]]:
    """A strict server that gives one answer after the other, the last one for ever."""
    left = list(texts)

    def following() -> Scene:
        return Scene(text=[left.pop(0) if len(left) > 1 else left[0]])

    if protocol == "openai":
        server: Any = responses.Responses(key=KEY)
        server.play = lambda body: responses.Play(steps=cases_openai.steps(following(), body))
    elif protocol == "anthropic":
        server = claude.Anthropic(key=KEY)
        server.plays = [
            claude.Play(steps=cases_anthropic.steps(Scene(text=[one], usage=USED))) for one in texts
        ]
    elif protocol == "gemini":
        server = gemini.Gemini(key=KEY)
        server.play = lambda model, body: Play(steps=cases_gemini.steps(following()))
    else:
        server = chatting(texts[0])
    with serving(server.app) as address:
        yield server, f"{address}/v1" if protocol in ("openai", "compatible") else address


@contextmanager
def server_of_ours(protocol: str, address: str) -> Iterator[str]:
    """The server under a name of its own, so that programs go there."""
    name = f"ours-{protocol}"
    register(Served(adapter(protocol), name=name, label="Ours", base_url=address))
    try:
        yield name
    finally:
        unregister(name)


def run(source: str, folder: Path, key_name: str, **more: str) -> subprocess.CompletedProcess[str]:
    file = folder / "talk.py"
    file.write_text(source, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        encoding="utf-8",
        env={**kept, "PYTHONUTF8": "1", key_name: KEY, **more},
        cwd=folder,
        timeout=120,
        check=False,
    )


def sent(body: Mapping[str, Any]) -> list[Any]:
    return next(list(body[name]) for name in ("input", "messages", "contents") if name in body)


@pytest.mark.parametrize(
    ("protocol", "format_name"),
    [
        ("openai", "openai_python"),
        ("compatible", "openai_python"),
        ("anthropic", "anthropic_python"),
        ("gemini", "gemini_python"),
    ],
)
def test_the_program_plays_every_turn_with_its_own_history(
    store: Store, tmp_path: Path, protocol: str, format_name: str
) -> None:
    again = ["Rain it is.", "Sure thing.", "Sun."]
    again = again[:1] * 3 if protocol == "compatible" else again
    with answering(protocol, again) as (server, address), server_of_ours(protocol, address) as name:
        found = spoken(store, name, model=MODELS.get(protocol, "m"), sampling={"max_tokens": 500})
        source = write(found, format_name).content.decode()
        ast.parse(source)
        assert KEY not in source
        done = run(source, tmp_path, adapter(name).key_names[0], OPENAI_ORG_ID="trap-org")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n\n") == [
        piece for turn, text in enumerate(again, start=1) for piece in (f"## Turn {turn}", text)
    ] + [""]
    assert done.stderr.count("of the words as before") == 3
    assert [seen.refused for seen in server.seen] == [None] * 3
    histories = [sent(seen.body) for seen in server.seen]
    for before, after, text in zip(histories, histories[1:], again, strict=False):
        assert after[: len(before)] == before
        assert text in words(after[len(before) :])
    assert "And tomorrow?" in words(histories[2][-1])
    assert "Be brief." in words(server.seen[2].body)
    assert "trap" not in repr([seen.headers for seen in server.seen])
    assert "It rains." in source
    assert "I look." in source


def test_the_program_of_another_provider_names_a_model_of_its_own(store: Store) -> None:
    found = spoken(store, "echo", sampling={"max_tokens": 7, "speed": 3})
    for name, key, address in (
        ("openai_python", "OPENAI_API_KEY", "https://api.openai.com/v1"),
        ("anthropic_python", "ANTHROPIC_API_KEY", "https://api.anthropic.com"),
        ("gemini_python", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com"),
    ):
        source = write(found, name).content.decode()
        ast.parse(source)
        assert key in source
        assert repr(address) in source
        assert "speed" not in source
        assert "echo-1" not in source


def test_all_of_this_is_on_offer_for_a_branch() -> None:
    offered = {one.name for one in writers("branch")}
    assert {*FORMATS, "openai_python", "anthropic_python", "gemini_python"} <= offered
