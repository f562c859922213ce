"""The four protocols side by side: a strict fake of each, and a runner that reaches them all.

What is played goes the whole way: store, runner, what is asked, adapter, SDK, loopback.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.providers import adapters, anthropic, compatible, gemini, openai
from core.types import Adapter, Config, Endpoint, Json
from tests.contract import cases_anthropic, cases_compatible, cases_gemini, cases_openai
from tests.contract.case import Scene
from tests.fakes import anthropic as fake_anthropic
from tests.fakes import chat_completions as fake_chat
from tests.fakes import gemini as fake_gemini
from tests.fakes import openai as fake_openai
from tests.fakes.chat_completions import Play, Seen
from tests.fakes.server import serving

NAMES = ("openai", "anthropic", "gemini", "compatible")


@dataclass
class Place:
    """One provider: its fake, how a scene is put on there, and a config that asks it."""

    name: str
    server: Any
    config: Config
    endpoint: Endpoint
    put: Callable[[Scene], None]
    messages: str = field(kw_only=True)
    """The field of a request that holds the conversation."""

    @property
    def adapter(self) -> Adapter:
        return adapters()[self.name]

    @property
    def seen(self) -> list[Seen]:
        found: list[Seen] = self.server.seen
        return found

    def play(self, play: Play) -> None:
        """Answer with this, whatever is asked."""
        self.server.play = play


def _openai(key: str) -> tuple[Any, Callable[[Scene], None]]:
    server = fake_openai.Responses(key=key)

    def put(scene: Scene) -> None:
        server.play = lambda body: Play(steps=cases_openai.steps(scene, body))

    return server, put


def _anthropic(key: str) -> tuple[Any, Callable[[Scene], None]]:
    server = fake_anthropic.Anthropic(key=key)

    def put(scene: Scene) -> None:
        server.play = Play(steps=cases_anthropic.steps(scene))

    return server, put


def _gemini(key: str) -> tuple[Any, Callable[[Scene], None]]:
    server = fake_gemini.Gemini(key=key)

    def put(scene: Scene) -> None:
        def play(model: str, body: Any) -> Play:
            sign = lambda part: fake_gemini.signed(model, body, part)  # noqa: E731
            return Play(steps=cases_gemini.steps(scene, sign))

        server.play = play

    return server, put


def _compatible(key: str) -> tuple[Any, Callable[[Scene], None]]:
    server = fake_chat.ChatCompletions(key=key)

    def put(scene: Scene) -> None:
        server.play = Play(steps=cases_compatible.steps(scene))

    return server, put


_FAKES: Mapping[str, Callable[[str], tuple[Any, Callable[[Scene], None]]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "compatible": _compatible,
}
_VERSIONED = ("openai", "compatible")
_MESSAGES = {"openai": "input", "gemini": "contents"}
_MODELS: Mapping[str, tuple[str, Mapping[str, Json]]] = {
    "openai": ("gpt-6-sol", {"reasoning_effort": "low", "reasoning_summary": "auto"}),
    "anthropic": ("claude-opus-5-5", {"thinking": "adaptive", "max_tokens": 2000}),
    "gemini": ("gemini-3.8-flash", {"include_thoughts": "yes"}),
    "compatible": ("fake-model", {"temperature": 0.5}),
}
SYSTEM = "Be brief."


@contextmanager
def places(key: str, names: Sequence[str] = NAMES) -> Iterator[dict[str, Place]]:
    """All four, or some, up and answering to one key."""
    for adapter in (openai, anthropic, gemini, compatible):
        adapter._client.cache_clear()
    found: dict[str, Place] = {}
    with ExitStack() as stack:
        for name in names:
            server, put = _FAKES[name](key)
            address = stack.enter_context(serving(server.app))
            url = f"{address}/v1" if name in _VERSIONED else address
            model, sampling = _MODELS[name]
            found[name] = Place(
                name,
                server,
                Config(provider=name, model=model, system=SYSTEM, sampling=sampling),
                Endpoint(base_url=url, api_key=key),
                put,
                messages=_MESSAGES.get(name, "messages"),
            )
        yield found
