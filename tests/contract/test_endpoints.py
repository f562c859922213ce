"""A server that a person named, in each of the protocols: its own key, address and headers."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core import Config, Runner, Store, endpoints, keys, models
from core.errors import AuthFailed, MissingKey, Unreachable
from core.providers import adapter, adapters, protocols
from core.providers import anthropic as anthropic_module
from core.types import Run, Thinking
from tests.contract import cases_anthropic, cases_compatible, cases_gemini, cases_openai
from tests.contract.case import Scene, Usage
from tests.contract.case import ask as call
from tests.fakes import anthropic, chat_completions, gemini, openai
from tests.fakes.chat_completions import Play, Seen
from tests.fakes.server import serving

KEY = "sk-own-0123456789-of-this-server"
COMPANY = "sk-the-company-s-very-own-key-9876543210"
TEAM = "team-secret-4711-abcdef"
SCENE = Scene(text=("Hello", " there"), usage=Usage(input_tokens=9, output_tokens=2))
PROTOCOLS = ("openai", "compatible", "anthropic", "gemini")
COMPANY_S = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "TURNTREE_COMPATIBLE_KEY",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "ANTHROPIC_AUTH_TOKEN",
)


@dataclass(frozen=True)
class Fake:
    """A fake server: what it saw, where it answers, the model it has."""

    seen: list[Seen]
    url: str
    model: str

    def headers(self) -> list[dict[str, str]]:
        return [dict(seen.headers) for seen in self.seen]


@contextmanager
def fake(protocol: str, key: str = KEY) -> Iterator[Fake]:
    """A strict fake of the protocol that wants ``key``."""
    server, suffix, model = _SERVERS[protocol](key)
    with serving(server.app) as address:
        yield Fake(server.seen, address + suffix, model)
    assert [seen.refused for seen in server.seen if seen.refused] == []


def _openai(key: str) -> tuple[Any, str, str]:
    server = openai.Responses(key=key)
    server.play = lambda body: Play(steps=cases_openai.steps(SCENE, body))
    return server, "/v1", "gpt-6-sol"


def _compatible(key: str) -> tuple[Any, str, str]:
    server = chat_completions.ChatCompletions(key=key)
    server.play = Play(steps=cases_compatible.steps(SCENE))
    server.models = {"data": [{"id": "llama-9", "max_model_len": 4096}]}
    return server, "/v1", "llama-9"


def _anthropic(key: str) -> tuple[Any, str, str]:
    server = anthropic.Anthropic(key=key, models=[{"id": "claude-opus-5-5", "type": "model"}])
    server.play = Play(steps=cases_anthropic.steps(SCENE))
    return server, "", "claude-opus-5-5"


def _gemini(key: str) -> tuple[Any, str, str]:
    listed = {
        "name": "models/gemini-3.8-flash",
        "supportedGenerationMethods": ["generateContent"],
        "inputTokenLimit": 5000,
    }
    server = gemini.Gemini(key=key, models=[listed])
    server.play = Play(steps=cases_gemini.steps(SCENE))
    return server, "", "gemini-3.8-flash"


_SERVERS: dict[str, Callable[[str], tuple[Any, str, str]]] = {
    "openai": _openai,
    "compatible": _compatible,
    "anthropic": _anthropic,
    "gemini": _gemini,
}


@pytest.fixture(autouse=True)
def companies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A developer's machine: every company's key is in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in COMPANY_S:
        monkeypatch.setenv(name, COMPANY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/trap")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/trap")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9/trap")


TEAM_NAME = "TURNTREE_GW__X_TEAM"


@pytest.fixture(autouse=True)
def nothing_stays(store: Store) -> Iterator[None]:
    yield
    for endpoint in store.providers.endpoints():
        endpoints.remove(store, endpoint.name)


def ask(runner: Runner, provider: str, model: str) -> Run:
    config = Config(provider=provider, model=model)
    session = runner.store.sessions.create(config=config)
    assert session.current_branch_id
    sent = runner.send(session.current_branch_id, "Hi")
    return runner.wait(sent.id, 20)


def test_there_is_a_fake_for_every_protocol() -> None:
    assert set(protocols()) == set(PROTOCOLS) == set(_SERVERS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_named_server_lists_chats_and_gets_its_own_secrets_only(
    runner: Runner, path: Path, protocol: str
) -> None:
    store = runner.store
    with fake(protocol) as server:
        kept = endpoints.add(store, label="My own", protocol=protocol, base_url=server.url)
        keys.type_in(kept.name, KEY)
        assert endpoints.add_header(store, kept.name, "X-Team") == "X-Team"
        keys.type_in(keys.header_slot(kept.name, "X-Team"), TEAM)

        listed = models.refresh(store, kept.name)
        assert server.model in [info.id for info in listed.models]
        run = ask(runner, kept.name, server.model)
        assert run.failure is None
        assert run.finish_reason == "stop"
        assert store.nodes.get(run.node_id or "").text == "Hello there"
        assert run.cost_nanodollars == 0  # it runs on this machine

    assert len(server.seen) >= 2
    for headers in server.headers():
        assert headers["x-team"] == TEAM
        assert COMPANY not in repr(headers)
        assert not {"openai-organization", "openai-project"} & set(headers)
    files = [path, *path.parent.glob(f"{path.name}-*")]
    written = b"".join(file.read_bytes() for file in files)
    assert b"X-Team" in written
    for secret in (KEY, TEAM, COMPANY):
        assert secret.encode() not in written


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_without_a_key_is_asked_without_anybody_s(runner: Runner, protocol: str) -> None:
    placeholder = "none"
    with fake(protocol, placeholder) as server:
        kept = endpoints.add(runner.store, label="Open", protocol=protocol, base_url=server.url)
        models.refresh(runner.store, kept.name)
        run = ask(runner, kept.name, server.model)
        assert run.failure is None
        # Not by the back door either, where nobody looked for a key.
        found = adapters()[kept.name]
        assert found.list_models(None)
    assert COMPANY not in repr(server.headers())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_goes_wrong_is_told_under_the_server_s_name(runner: Runner, protocol: str) -> None:
    store = runner.store
    with ExitStack() as stack:
        server, suffix, _ = _SERVERS[protocol](KEY)
        address = stack.enter_context(serving(server.app))
        kept = endpoints.add(store, label="Gate way", protocol=protocol, base_url=address + suffix)
        keys.type_in(kept.name, "sk-wrong-0123456789-abcdef")
        with pytest.raises(AuthFailed) as caught:
            models.refresh(store, kept.name)
        assert caught.value.message.startswith("Gate way: ")
        assert caught.value.provider == "gate-way"
        assert "sk-wrong" not in f"{caught.value.message}{caught.value.hint}{caught.value}"
        run = ask(runner, kept.name, "m")
        assert run.failure is not None
        assert run.failure.kind == "AuthFailed"
        assert run.failure.message.startswith("Gate way: ")
    keys.type_in(kept.name, KEY)
    with pytest.raises(Unreachable) as gone:
        models.refresh(store, kept.name)
    assert gone.value.message.startswith("Gate way: ")


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "compatible"])
def test_the_company_s_own_address_is_not_asked_without_a_key(store: Store, protocol: str) -> None:
    home = protocols()[protocol].default_url
    kept = endpoints.add(store, label="Second account", protocol=protocol, base_url=home)
    with pytest.raises(MissingKey) as caught:
        models.refresh(store, kept.name)
    assert caught.value.message.startswith("Second account: ")


def test_the_code_of_a_call_names_the_server_s_own_key(store: Store) -> None:
    for protocol in PROTOCOLS:
        kept = endpoints.add(
            store, label=f"at {protocol}", protocol=protocol, base_url="https://gw.example/v1"
        )
        found = adapter(kept.name)
        request = found.build(call("Hi", "some-model"))
        for code in (found.script(request, ""), found.curl(request, "")):
            assert f"TURNTREE_AT_{protocol.upper()}_KEY" in code
            assert "gw.example" in code
            for name in COMPANY_S[:5]:
                assert name not in code
        if protocol == "openai":
            assert "openai.Omit()" in found.script(request, "")


def test_signed_thoughts_of_the_company_do_not_go_to_a_gateway(runner: Runner) -> None:
    """The gateway has the very same model: still it is another provider."""
    scene = Scene(thinking=("hm",), text=("Hello",), usage=SCENE.usage)
    store = runner.store
    anthropic_module._client.cache_clear()
    seen = []
    with ExitStack() as stack:
        names = []
        for label in ("First", "Second"):
            server = anthropic.Anthropic(key=KEY)
            server.play = Play(steps=cases_anthropic.steps(scene))
            seen.append(server.seen)
            url = stack.enter_context(serving(server.app))
            kept = endpoints.add(store, label=label, protocol="anthropic", base_url=url)
            keys.type_in(kept.name, KEY)
            names.append(kept.name)
        run = ask(runner, names[0], "claude-opus-5-5")
        assert any(isinstance(p, Thinking) for p in store.nodes.get(run.node_id or "").parts)
        for name in names:
            config = Config(provider=name, model="claude-opus-5-5")
            again = runner.wait(runner.send(run.branch_id, "More", config=config).id, 20)
            assert again.failure is None
    assert b"signature" in seen[0][-1].raw
    assert b"signature" not in seen[1][-1].raw


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_code_of_a_call_brings_the_server_s_headers(
    runner: Runner, protocol: str, tmp_path: Path
) -> None:
    with fake(protocol) as server:
        kept = endpoints.add(runner.store, label="Gw", protocol=protocol, base_url=server.url)
        keys.type_in(kept.name, KEY)
        endpoints.add_header(runner.store, kept.name, "X-Team")
        found = adapter(kept.name)
        request = found.build(call("client.\n)\nhttp_options={", server.model))
        environment = {"PATH": os.environ["PATH"], found.key_names[0]: KEY, TEAM_NAME: TEAM}
        commands = [[sys.executable, "-c", found.script(request, "")]]
        if shutil.which("curl"):
            commands.append(["sh", "-c", found.curl(request, "")])
        for command in commands:
            told = subprocess.run(
                command, env=environment, cwd=tmp_path, timeout=60, check=True, capture_output=True
            )
            assert b"there" in told.stdout
            assert TEAM not in command[-1]
    assert [headers["x-team"] for headers in server.headers()] == [TEAM] * len(commands)


def test_signed_thoughts_do_not_follow_a_server_to_another_address(runner: Runner) -> None:
    store = runner.store
    anthropic_module._client.cache_clear()
    first, second = anthropic.Anthropic(key=KEY), anthropic.Anthropic(key=KEY)
    for server in (first, second):
        scene = Scene(thinking=("hm",), text=("Hello",), usage=SCENE.usage)
        server.play = Play(steps=cases_anthropic.steps(scene))
    with serving(first.app) as here, serving(second.app) as there:
        kept = endpoints.add(store, label="Moves", protocol="anthropic", base_url=here)
        keys.type_in(kept.name, KEY)
        run = ask(runner, kept.name, "claude-opus-5-5")
        endpoints.move(store, kept.name, there)
        assert runner.wait(runner.send(run.branch_id, "More").id, 20).failure is None
    assert len(second.seen) == 1
    assert b"signature" not in second.seen[0].raw
