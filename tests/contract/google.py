"""Driving the Gemini adapter against its fake server, by hand or as a conversation."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from core.providers.gemini import ADAPTER
from core.types import (
    AttachmentRef,
    Call,
    Endpoint,
    Event,
    Message,
    Part,
    Role,
    Stop,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from tests.contract.case import ask, ending, words
from tests.contract.cases_gemini import KEY, MODEL
from tests.fakes import gemini as fake
from tests.fakes.chat_completions import Play, Step
from tests.fakes.server import serving

END = fake.chunk({"text": ""}, finish="STOP")
WEATHER = Tool(
    name="weather",
    description="The weather of a place.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)
CALL = ToolCall(id="call_1", name="weather", arguments='{"city": "Bern"}')
RESULT = ToolResult(call_id="call_1", name="weather", text="rain")
PNG = AttachmentRef(sha256="1" * 64, media_type="image/png", name="cat.png")


def say(role: Role, *parts: Part | str, raw: Any = None) -> Message:
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role=role, parts=made, raw=raw)


def wire(*messages: Message, model: str = MODEL, **more: Any) -> Sequence[Any]:
    """The contents of a call, judged by the fake."""
    built = ADAPTER.build(Call(model=model, messages=messages, **more))
    fake.check(model, body_of(built))
    return built.messages


def body_of(request: Any) -> dict[str, Any]:
    rest = {name: value for name, value in request.envelope.items() if name != "model"}
    return json.loads(json.dumps({**rest, "contents": list(request.messages)}))


@contextmanager
def fake_server(*steps: Step, **more: Any) -> Iterator[tuple[fake.Gemini, Endpoint]]:
    server = fake.Gemini(key=KEY)
    server.play = Play(steps=steps, **more)
    with serving(server.app) as address:
        yield server, Endpoint(base_url=address, api_key=KEY)


def run(call: Call, endpoint: Endpoint | None) -> list[Event]:
    return list(ADAPTER.stream(ADAPTER.build(call), endpoint, Stop()))


def answer(*steps: Step) -> list[Event]:
    with fake_server(*steps) as (_, endpoint):
        return run(ask("Hi", MODEL), endpoint)


def conversing(model: str, body: Any) -> Play:
    """A model that thinks, calls two tools at once, and then tells; everything signed."""

    def sign(part: Any) -> Any:
        return fake.signed(model, body, part)

    turn = sum(1 for c in body["contents"] if "text" in c["parts"][-1] and c["role"] == "user")
    thought = fake.chunk({"text": f"thought {turn}", "thought": True})
    if "text" in body["contents"][-1]["parts"][-1]:
        calls = [
            sign({"functionCall": {"name": "weather", "args": {"city": "Zürich"}, "id": "w"}}),
            {"functionCall": {"name": "weather", "args": {"city": "Bern"}}},
        ]
        return Play(steps=[thought, fake.chunk({"text": "I "}), fake.chunk({"text": "look."}),
                           fake.chunk(calls[0]), fake.chunk(calls[1], finish="STOP")])  # fmt: skip
    told = [{"text": f"Answer {turn}"}, {"text": " it is."}]
    return Play(
        steps=[thought, *map(fake.chunk, told), fake.chunk(sign({"text": ""}), finish="STOP")]
    )


def converse(endpoint: Endpoint, model: str, turns: int, change: Any = None) -> list[Message]:
    history: list[Message] = []
    for turn in range(turns):
        history.append(say("user", f"Question {turn}"))
        for _ in range(2):
            call = Call(model=model, messages=tuple(history), tools=(WEATHER,))
            found = run(call, endpoint)
            calls = [event for event in found if isinstance(event, ToolCall)]
            parts = [Thinking(text=words(found, "thinking")), Text(text=words(found)), *calls]
            raw = json.loads(json.dumps(ending(found).raw))
            history.append(Message(role="assistant", parts=tuple(parts), raw=raw))
            # Parallel tools come back in any order.
            history += [
                say("tool", ToolResult(call_id=made.id, name=made.name, text=made.arguments))
                for made in reversed(calls)
            ]
    return history
