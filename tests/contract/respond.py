"""Driving the Responses adapter against its fake server."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.providers.openai import ADAPTER
from core.types import (
    Call,
    Endpoint,
    Event,
    Message,
    Stop,
    Tool,
    ToolCall,
    ToolResult,
)
from tests.contract.case import Scene
from tests.contract.cases_compatible import KEY
from tests.contract.cases_openai import MODEL, steps
from tests.fakes import openai as fake
from tests.fakes.server import serving

CALL = ToolCall(id="call_1", name="weather", arguments='{"city": "Bern"}')
RESULT = ToolResult(call_id="call_1", name="weather", text="rain")
WEATHER = Tool(
    name="weather",
    description="The weather in a city.",
    parameters={"properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CLOCK = Tool(name="clock", description="The time.", parameters={})


@contextmanager
def fake_server(*scenes: Scene) -> Iterator[tuple[fake.Responses, Endpoint]]:
    """A fake that plays one scene after the other, the last one for ever."""
    server, left = fake.Responses(key=KEY), list(scenes or [Scene()])

    def play(body: fake.Body) -> fake.Play:
        return fake.Play(steps=steps(left.pop(0) if len(left) > 1 else left[0], body))

    server.play = play
    with serving(server.app) as address:
        yield server, Endpoint(base_url=f"{address}/v1", api_key=KEY)


def run(call: Call, endpoint: Endpoint | None) -> list[Event]:
    return list(ADAPTER.stream(ADAPTER.build(call), endpoint, Stop()))


def wire(*messages: Message, **more: Any) -> Sequence[Any]:
    """The items, once the fake has found nothing wrong with the request."""
    built = ADAPTER.build(Call(model=MODEL, messages=messages, **more))
    if built.messages:
        fake.check({**built.envelope, "input": json.loads(json.dumps(built.messages))})
    return built.messages
