"""Driving the Anthropic adapter against its fake server, step by step."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.providers.anthropic import ADAPTER
from core.types import Call, Endpoint, Event, Message, Part, Role, Stop, Text, Tool
from core.wire import messages as wire_form
from tests.contract.cases_anthropic import KEY
from tests.fakes import anthropic as fake
from tests.fakes.server import serving

MODEL = "claude-sonnet-5-5"
PLACE = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool(name="weather", description="The weather in a city.", parameters=PLACE)


@contextmanager
def fake_server(*steps: Any, **more: Any) -> Iterator[tuple[fake.Anthropic, Endpoint]]:
    server = fake.Anthropic(key=KEY)
    server.play = fake.Play(steps=steps or (fake.start(), *fake.text("Hi"), *fake.end()), **more)
    with serving(server.app) as address:
        yield server, Endpoint(base_url=address, api_key=KEY)


def run(call: Call, endpoint: Endpoint | None) -> list[Event]:
    return list(ADAPTER.stream(ADAPTER.build(call), endpoint, Stop()))


def ask(*messages: Message, **more: Any) -> Call:
    """A call on the usual model; asks "Hi" if nothing else."""
    return Call(**{"model": MODEL, "messages": messages or (say("user", "Hi"),), **more})


def answer(*steps: Any, **more: Any) -> list[Event]:
    with fake_server(fake.start(), *steps, **more) as (_, endpoint):
        return run(ask(), endpoint)


def say(role: Role, *parts: Part | str, raw: Any = None) -> Message:
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role=role, parts=made, raw=raw)


def checked(*messages: Message, **more: Any) -> dict[str, Any]:
    """What goes out for some messages, judged by the fake's rules."""
    body: dict[str, Any] = json.loads(
        json.dumps(wire_form.body(ADAPTER.build(ask(*messages, **more))))
    )
    fake.check(body)
    return body


def sent(*messages: Message, **more: Any) -> dict[str, Any]:
    """What goes out for some messages."""
    return wire_form.body(ADAPTER.build(ask(*messages, **more)))
