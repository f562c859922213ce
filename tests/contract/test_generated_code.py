"""Code of a call runs elsewhere and gets the same answer."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.providers import compatible, echo, local, openai
from core.types import Adapter, Call, Request
from tests.contract.case import Scene
from tests.contract.cases_compatible import CASE as CHAT
from tests.contract.cases_compatible import KEY
from tests.contract.cases_openai import CASE as RESPONSES
from tests.contract.media import CAT, FILES, NOTES
from tests.contract.respond import CALL, RESULT, WEATHER
from tests.contract.test_building import say

SAID = "Grüße, 世界 😀\nand 'more' \"words\""
NASTY = 'It\'s $HOME `id` $(id) \\ "x"\nEND_OF_BODY\n\'\'\'\n"""\n{braces} %s \u2028 \x00'
ADAPTERS: dict[str, tuple[Adapter, Any]] = {
    "openai": (openai.ADAPTER, RESPONSES),
    "compatible": (compatible.ADAPTER, CHAT),
}


@dataclass
class Place:
    """Where a fake answers, and what reached it."""

    adapter: Adapter
    request: Request
    url: str
    seen: list[Any]


@pytest.fixture(params=list(ADAPTERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def place(name: str, scene: Scene) -> Iterator[Place]:
    adapter, case = ADAPTERS[name]
    call = Call(
        model=case.model,
        messages=(
            say("user", NASTY, CAT, NOTES),
            say("assistant", "Look.", CALL),
            say("tool", RESULT),
            say("user", "And?"),
        ),
        system=NASTY,
        tools=(WEATHER,),
        sampling={"max_tokens": 32},
        attachments=FILES,
    )
    with case.stage(scene) as stage:
        assert stage.endpoint
        yield Place(adapter, adapter.build(call), stage.endpoint.base_url, stage.seen)


def run(command: list[str], folder: Path, key_name: str, **more: Any) -> str:
    environment = {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "utf-8", key_name: KEY}
    done = subprocess.run(
        command, capture_output=True, cwd=folder, env=environment, timeout=60, check=False, **more
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_the_script_says_what_the_app_says(name: str, tmp_path: Path) -> None:
    with place(name, Scene(text=[SAID])) as at:
        source = at.adapter.script(at.request, at.url)
        ast.parse(source)
        assert KEY not in source
        file = tmp_path / "call.py"
        file.write_text(source, encoding="utf-8")
        told = run([sys.executable, str(file)], tmp_path, at.adapter.key_names[0])
        sent = at.seen[0].body
    assert told == f"{SAID}\n"
    messages = sent.pop("input", None) or sent.pop("messages")
    assert messages == list(at.request.messages)
    assert sent == dict(at.request.envelope)


def test_the_script_shows_the_calls_of_tools(name: str, tmp_path: Path) -> None:
    with place(name, Scene(text=[], calls=[CALL], finish="tool_call")) as at:
        source = at.adapter.script(at.request, at.url)
        told = run([sys.executable, "-c", source], tmp_path, at.adapter.key_names[0])
    assert "weather" in told
    assert '{"city": "Bern"}' in told


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_command_line_gets_the_same_answer(name: str, tmp_path: Path) -> None:
    with place(name, Scene(text=["same", " answer"])) as at:
        source = at.adapter.curl(at.request, at.url)
        assert KEY not in source
        file = tmp_path / "call.sh"
        file.write_text(source, encoding="utf-8")
        told = run(["sh", str(file)], tmp_path, at.adapter.key_names[0])
        sent = at.seen[0].body
    assert " answer" in told
    messages = sent.pop("input", None) or sent.pop("messages")
    assert messages == list(at.request.messages)
    assert sent == dict(at.request.envelope)


def test_the_script_sends_no_account_of_others(name: str, tmp_path: Path) -> None:
    with place(name, Scene()) as at:
        source = at.adapter.script(at.request, at.url)
        environment = {
            **os.environ,
            "OPENAI_API_KEY": "trap-key",
            at.adapter.key_names[0]: KEY,
            "OPENAI_ORG_ID": "trap-org",
            "OPENAI_PROJECT_ID": "trap-project",
            "OPENAI_BASE_URL": "http://127.0.0.1:9/trap",
        }
        subprocess.run(
            [sys.executable, "-c", source], env=environment, cwd=tmp_path, timeout=60, check=True
        )
    assert "trap" not in repr([(seen.headers, seen.raw) for seen in at.seen])


def test_a_setting_the_sdk_has_no_name_for_goes_in_as_extra() -> None:
    call = Call(model="m", messages=(say("user", "Hi"),), sampling={"top_k": 4})
    source = compatible.ADAPTER.script(compatible.ADAPTER.build(call), "http://x/v1")
    assert "extra_body={'top_k': 4}" in source
    assert "top_k" not in local.ADAPTER.script(local.ADAPTER.build(call), "").split("extra_body")[0]


def test_addresses_are_quoted() -> None:
    request = openai.ADAPTER.build(Call(model="gpt-6-sol", messages=(say("user", "Hi"),)))
    assert "--url 'http://[::1]:1/v1; rm -rf /responses'" in openai.ADAPTER.curl(
        request, "http://[::1]:1/v1; rm -rf "
    )
    assert "https://api.openai.com/v1/responses" in openai.ADAPTER.curl(request, "")
    ast.parse(openai.ADAPTER.script(request, 'http://x/"); import os; ("'))


def test_the_scripted_provider_plays_again(tmp_path: Path) -> None:
    call = Call(model="echo-1", messages=(say("user", '/think hm\nIt\'s {me} "again"'),))
    request = echo.ADAPTER.build(call)
    source = echo.ADAPTER.script(request, "")
    ast.parse(source)
    root = Path(__file__).parents[2]
    assert run([sys.executable, "-c", source], root, "NO_KEY") == 'It\'s {me} "again"\n'
    assert echo.ADAPTER.curl(request, "").startswith("#")
    assert echo.ADAPTER.count_tokens(request, None) == 5
    assert echo.ADAPTER.list_models(None) == echo.ADAPTER.models()
