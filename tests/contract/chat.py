"""Driving the Chat Completions adapter against its fake server, step by step."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.providers.compatible import ADAPTER
from core.types import (
    Call,
    Endpoint,
    Event,
    Stop,
)
from tests.contract.case import ask
from tests.contract.cases_compatible import KEY
from tests.fakes import chat_completions as fake
from tests.fakes.server import serving

END = (fake.chunk({}, "stop"), fake.DONE)


@contextmanager
def fake_server(*steps: fake.Step, **more: Any) -> Iterator[tuple[fake.ChatCompletions, Endpoint]]:
    server = fake.ChatCompletions(key=KEY, extras=more.pop("extras", frozenset()))
    server.play = fake.Play(steps=steps, **more)
    with serving(server.app) as address:
        yield server, Endpoint(base_url=f"{address}/v1", api_key=KEY)


def run(call: Call, endpoint: Endpoint | None) -> list[Event]:
    return list(ADAPTER.stream(ADAPTER.build(call), endpoint, Stop()))


def answer(*steps: fake.Step, **more: Any) -> list[Event]:
    with fake_server(*steps, **more) as (_, endpoint):
        return run(ask("Hi", "m"), endpoint)
