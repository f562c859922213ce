"""Whole conversations with Claude: blocks given back, code that runs, counts and lists."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from core.errors import AuthFailed, BadRequest, TurntreeError
from core.providers.anthropic import ADAPTER
from core.types import (
    AttachmentRef,
    Call,
    Delta,
    Endpoint,
    Event,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.contract.case import ending, words
from tests.contract.cases_anthropic import KEY
from tests.contract.claude import WEATHER, ask, fake_server, run, say
from tests.fakes import anthropic as fake
from tests.fakes.server import serving

PNG = b"\x89PNG\r\n\x1a\n0000"
PLAYS: Sequence[Sequence[Any]] = (
    (
        fake.Thought(["Two", " cities."]),
        *fake.text("Looking.", index=1),
        *fake.tool_use("toolu_a", "weather", '{"city": "Bern"}', index=2),
        *fake.tool_use("toolu_b", "weather", '{"city": ', '"Zürich"}', index=3),
        *fake.end("tool_use"),
    ),
    (
        fake.Thought([], redacted=True),
        fake.Thought(["Rain and sun."], index=1),
        *fake.text("It depends.", index=2),
        *fake.end(),
    ),
    (fake.Thought(["Thanks?"]), *fake.text("You are welcome.", index=1), *fake.end()),
)
RESULTS = (
    ToolResult(call_id="toolu_a", name="weather", text="rain"),
    ToolResult(call_id="toolu_b", name="weather", text="sun"),
)


def kept(found: list[Event]) -> Message:
    """An answer as the tree keeps it: portable parts, and the provider's own blocks."""
    parts: list[Part] = [call for call in found if isinstance(call, ToolCall)]
    spoken = [Thinking(text=words(found, "thinking")), Text(text=words(found))]
    return Message(role="assistant", parts=(*spoken, *parts), raw=ending(found).raw)


def talk(endpoint: Endpoint, **more: Any) -> list[Message]:
    """Three turns with thoughts and parallel calls, each sent with all that came before."""
    told: list[Message] = [say("user", "Weather in Bern and Zürich?")]
    told.append(kept(run(_call(told, **more), endpoint)))
    told.append(say("tool", *RESULTS))
    told.append(kept(run(_call(told, **more), endpoint)))
    told.append(say("user", "Thanks."))
    told.append(kept(run(_call(told, **more), endpoint)))
    return told


def _call(told: Sequence[Message], **more: Any) -> Call:
    return ask(*told, tools=(WEATHER,), system="Be brief.", **more)


def playing() -> fake.Anthropic:
    server = fake.Anthropic(key=KEY)
    server.plays = [fake.Play(steps=(fake.start(), *steps)) for steps in PLAYS]
    return server


def test_three_turns_with_thoughts_and_parallel_calls_are_given_back_as_they_came() -> None:
    server = playing()
    with serving(server.app) as address:
        told = talk(Endpoint(base_url=address, api_key=KEY), sampling={"thinking": "adaptive"})
        assert [seen.refused for seen in server.seen] == [None] * 3
        last = server.seen[-1].body["messages"]
        assert [m["role"] for m in last] == ["user", "assistant", "user", "assistant", "user"]
        assert last[1]["content"] == told[1].raw
        assert [block["type"] for block in last[3]["content"]] == [
            "redacted_thinking",
            "thinking",
            "text",
        ]
        for seen, longer in zip(server.seen, server.seen[1:], strict=False):
            short = [fake.plain(message) for message in seen.body["messages"]]
            assert [fake.plain(m) for m in longer.body["messages"]][: len(short)] == short
        assert server.warm == [0, 3, 9]


@pytest.mark.parametrize("change", ["model", "system", "words"])
def test_thoughts_are_refused_by_strangers_and_taken_without_them(change: str) -> None:
    server = playing()
    server.play = fake.Play(steps=(fake.start(), *fake.text("Hm."), *fake.end()))
    with serving(server.app) as address:
        endpoint = Endpoint(base_url=address, api_key=KEY)
        told = [*talk(endpoint), say("user", "Again?")]
        other: dict[str, Any] = {"model": "claude-opus-5-5"} if change == "model" else {}
        if change == "words":
            told[0] = say("user", "Weather elsewhere?")
        call = ask(*told, tools=(WEATHER,), **{"system": "Be long.", **other})
        if change != "system":
            call = _call(told, **other)
        with pytest.raises(BadRequest, match="signature") as caught:
            run(call, endpoint)
        assert caught.value.parameter is None
        portable = [Message(role=m.role, parts=m.parts) for m in told]
        plain = ask(*portable, tools=(WEATHER,), system=call.system, model=call.model)
        assert words(run(plain, endpoint)) == "Hm."
        assert "sig_" not in server.seen[-1].raw.decode()


@pytest.mark.parametrize(
    "raw", [[], {}, "text", [{"type": "thinking", "thinking": "x", "signature": "y"}], [None, 7]]
)
def test_blocks_that_cannot_be_given_back_give_way_to_the_parts(raw: Any) -> None:
    built = ADAPTER.build(ask(say("user", "q"), say("assistant", "a", raw=raw), say("user", "b")))
    assert built.messages[1]["content"] == [{"type": "text", "text": "a"}]


def test_empty_blocks_are_not_given_back() -> None:
    raw = [{"type": "text", "text": ""}, {"type": "text", "text": "a"}]
    built = ADAPTER.build(ask(say("user", "q"), say("assistant", "a", raw=raw), say("user", "b")))
    assert built.messages[1]["content"] == raw[1:]


# --- code ----------------------------------------------------------------------------------

PICTURE = AttachmentRef(sha256="p", media_type="image/png", name="cat's.png")
ANSWER = ("Grüße, ", "世界 ", "$HOME `x` 'q'")


def everything() -> Call:
    """A call with all that a call can have, and with what shells and Python trip over."""
    return ask(
        say("user", "It's \"quoted\" $HOME `id` \\n\n'''\n{x} END_OF_REQUEST 😀", PICTURE),
        say("assistant", ToolCall(id="c", name="weather", arguments='{"city": "Bern"}')),
        say("tool", ToolResult(call_id="c", name="weather", text="rain")),
        system="Be brief: ${ANTHROPIC_API_KEY}",
        tools=(WEATHER,),
        tool_choice="auto",
        sampling={"effort": "low", "thinking": "adaptive", "stop_sequences": ["END"]},
        attachments={"p": PNG},
        shared_until=1,
    )


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", **more}


def test_the_script_is_this_very_call_and_gives_the_same_answer(tmp_path: Any) -> None:
    steps = (fake.start(input_tokens=1, output_tokens=1), *fake.text(*ANSWER))
    with fake_server(*steps, *fake.end(output_tokens=5)) as (server, endpoint):
        request = ADAPTER.build(everything())
        found = run(everything(), endpoint)
        script = ADAPTER.script(request, endpoint.base_url)
        ast.parse(script)
        assert KEY not in script
        ran = subprocess.run(
            [sys.executable, "-c", script],
            env=environment(ANTHROPIC_API_KEY=KEY),
            capture_output=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
        )
        assert ran.returncode == 0, ran.stderr.decode()
    assert [seen.refused for seen in server.seen] == [None, None]
    assert ran.stdout.decode().rstrip("\r\n") == words(found) == "".join(ANSWER)
    assert server.seen[0].body == server.seen[1].body


def test_the_script_sends_settings_that_the_sdk_does_not_know() -> None:
    request = ADAPTER.build(ask(sampling={"temperature": 1}))
    script = ADAPTER.script(request, "")
    assert "'extra_body': {'temperature': 1}" in script
    assert "https://api.anthropic.com" in script


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")
def test_the_command_line_is_this_very_call() -> None:
    with fake_server(fake.start(), *fake.text(*ANSWER), *fake.end()) as (server, endpoint):
        run(everything(), endpoint)
        command = ADAPTER.curl(ADAPTER.build(everything()), endpoint.base_url + "/v1")
        assert KEY not in command
        ran = subprocess.run(
            ["sh", "-c", command],
            env=environment(ANTHROPIC_API_KEY=KEY),
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr.decode()
    assert [seen.refused for seen in server.seen] == [None, None]
    assert server.seen[0].body == server.seen[1].body
    assert ANSWER[1] in ran.stdout.decode()


# --- counts and lists ----------------------------------------------------------------------


def test_tokens_are_counted_by_the_provider() -> None:
    with fake_server() as (server, endpoint):
        count = ADAPTER.count_tokens(ADAPTER.build(everything()), endpoint)
    assert server.seen[0].refused is None
    assert "max_tokens" not in server.seen[0].body
    assert isinstance(count, int)


def test_a_server_that_cannot_count_is_no_error() -> None:
    from tests.fakes.chat_completions import ChatCompletions

    with serving(ChatCompletions().app) as address:
        endpoint = Endpoint(base_url=address, api_key=KEY)
        assert ADAPTER.count_tokens(ADAPTER.build(ask()), endpoint) is None


def test_what_goes_wrong_with_counts_and_lists_is_told() -> None:
    with fake_server() as (_, endpoint):
        wrong = Endpoint(base_url=endpoint.base_url, api_key="sk-wrong")
        with pytest.raises(AuthFailed):
            ADAPTER.count_tokens(ADAPTER.build(ask()), wrong)
        with pytest.raises(AuthFailed):
            ADAPTER.list_models(wrong)
    with pytest.raises(TurntreeError):
        ADAPTER.list_models(endpoint)


def able(**flags: Any) -> Any:
    return {name: {"supported": flag} for name, flag in flags.items()}


LISTED: Sequence[dict[str, Any]] = (
    {
        "id": "claude-new-7",
        "type": "model",
        "display_name": "Claude New 7",
        "max_input_tokens": 2_000_000,
        "max_tokens": 128_000,
        "lifecycle": "active",
        "capabilities": {
            "effort": {"supported": True, **able(low=True, max=True, xhigh=False, high=True)},
            "thinking": {"supported": True, "types": able(adaptive=True, enabled=False)},
            **able(image_input=True, pdf_input=False),
        },
    },
    {
        "id": "claude-old-1",
        "type": "model",
        "display_name": "Claude Old 1",
        "lifecycle": "deprecated",
        "retires_at": "2026-12-31T00:00:00Z",
        "capabilities": {
            "effort": {"supported": False, **able(low=False)},
            "thinking": {"supported": False, "types": able(adaptive=False, disabled=True)},
            **able(image_input=False),
        },
    },
    {"id": "claude-haiku-4-5", "type": "model"},
    {"id": "claude-unheard-of", "type": "model"},
)


def test_models_are_listed_with_what_they_can() -> None:
    with fake_server() as (server, endpoint):
        server.models = LISTED
        new, old, known, bare = ADAPTER.list_models(endpoint)
    knobs = {knob.name: knob.choices for knob in new.knobs}
    assert (new.label, new.window, new.output_limit) == ("Claude New 7", 2_000_000, 128_000)
    assert knobs["effort"] == ("low", "high", "max")
    assert knobs["thinking"] == ("adaptive",)
    assert "budget_tokens" not in knobs
    assert new.images and new.thinking and new.tools
    assert old.note == "Deprecated: it ends on 2026-12-31."
    assert not old.images and not old.thinking
    assert {knob.name for knob in old.knobs} == {"max_tokens", "stop_sequences"}
    assert known.prefill and known.window == 200_000
    assert (bare.window, bare.label) == (None, "claude-unheard-of")


def test_a_deprecated_model_still_answers() -> None:
    with fake_server() as (_, endpoint):
        found = run(ask(model="claude-mythos-preview"), endpoint)
    assert isinstance(found[0], Delta)
