"""A Gemini request as code: run as it is, it asks the same and gets the same answer."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.providers.gemini import ADAPTER
from core.types import AttachmentRef, Call, Message, Request, Text
from tests.contract.cases_gemini import KEY, MODEL
from tests.contract.google import (
    CALL,
    END,
    PNG,
    RESULT,
    WEATHER,
    body_of,
    converse,
    conversing,
    fake_server,
    say,
)
from tests.fakes import gemini as fake

NASTY = '\'; rm -rf / #\n""" $GEMINI_API_KEY `id` \\ {key} END_OF_BODY\nREQUEST\n😀 \u2028'


def nasty_request(**more: Any) -> Request:
    file = AttachmentRef(sha256="5" * 64, media_type="text/plain", name="it's.txt")
    call = Call(
        model=MODEL,
        system=NASTY,
        messages=(
            say("user", NASTY, PNG, file),
            say("assistant", CALL),
            say("tool", RESULT),
            Message(role="user", parts=(Text(text="And?"),)),
        ),
        sampling={
            "temperature": 0.5,
            "max_tokens": 9,
            "stop": ["it's"],
            "thinking_level": "low",
            "response_json_schema": {"type": "object", "additionalProperties": False},
        },
        tools=(WEATHER,),
        tool_choice="required",
        attachments={PNG.sha256: b"\x00\xff\xfe" * 30, "5" * 64: NASTY.encode()},
    )
    return ADAPTER.build(call)


def environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**kept, "GEMINI_API_KEY": KEY, "PYTHONUTF8": "1"}


def ran(*command: str, **more: Any) -> str:
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=60, **more
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_script_asks_the_same_and_tells_the_same(tmp_path: Path) -> None:
    request = nasty_request()
    steps = [fake.chunk({"text": "Grüße"}), fake.chunk({"text": " 世界"}), END]
    with fake_server(*steps) as (server, endpoint):
        script = ADAPTER.script(request, endpoint.base_url)
        ast.parse(script)
        assert KEY not in script
        place = tmp_path / "call.py"
        place.write_text(script, encoding="utf-8")
        assert ran(sys.executable, str(place)) == "Grüße 世界\n"
    assert [seen.refused for seen in server.seen] == [None]
    assert server.seen[0].body == body_of(request)


def test_the_script_replays_signed_answers(tmp_path: Path) -> None:
    with fake_server() as (server, endpoint):
        server.play = conversing
        history = converse(endpoint, MODEL, 2)
        request = ADAPTER.build(Call(model=MODEL, messages=(*history, say("user", "More?"))))
        place = tmp_path / "call.py"
        place.write_text(ADAPTER.script(request, endpoint.base_url), encoding="utf-8")
        out = ran(sys.executable, str(place))
    assert server.seen[-1].refused is None
    assert out == ("I look.weather {'city': 'Zürich'}\nweather {'city': 'Bern'}\n\n")


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_command_line_asks_the_same() -> None:
    request = nasty_request()
    with fake_server(fake.chunk({"text": "Grüße"}), END) as (server, endpoint):
        command = ADAPTER.curl(request, endpoint.base_url)
        assert KEY not in command
        out = ran("sh", "-c", command)
    assert "Grüße" in out
    assert [seen.refused for seen in server.seen] == [None]
    assert server.seen[0].body == body_of(request)
    assert server.paths == [f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"]


def test_without_an_address_the_code_goes_to_google() -> None:
    request = nasty_request()
    for made in (ADAPTER.script(request, ""), ADAPTER.curl(request, "")):
        assert "https://generativelanguage.googleapis.com" in made
        assert "v1beta" in made
