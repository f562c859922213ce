"""What a conversation must look like on the wire of each protocol, written down by hand.

Nothing here is taken from what is tested: a test says what was said, in no provider's words, and
has the exact messages that the provider is to be sent.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.types import ToolCall
from tests.contract.four import SYSTEM

_SIGNED_BY_NOBODY = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""What the documentation has one send for a call that was not made by this model."""


@dataclass(frozen=True)
class Said:
    """One message. ``results`` are calls with what came of them, in the order it was recorded;
    ``own`` is an answer of this very provider and model, whole and in its place."""

    role: str
    text: str = ""
    calls: Sequence[ToolCall] = ()
    results: Sequence[tuple[ToolCall, str]] = ()
    own: bool = False


def user(text: str) -> Said:
    """What a person said."""
    return Said("user", text)


def answer(text: str, *, own: bool = True) -> Said:
    """What a model answered."""
    return Said("assistant", text, own=own)


def wire(name: str, said: Sequence[Said]) -> list[Any]:
    """The messages of a request to one provider, cache breakpoints left out."""
    return _FORMS[name](said)


def _openai(said: Sequence[Said]) -> list[Any]:
    made: list[Any] = []
    for one in said:
        if one.results:
            made += [
                {"type": "function_call_output", "call_id": call.id, "output": text}
                for call, text in one.results
            ]
        elif one.own:
            part = {"type": "output_text", "text": one.text, "annotations": []}
            item = {"id": "msg_0", "type": "message", "status": "completed", "role": "assistant"}
            made.append({**item, "phase": "final_answer", "content": [part]})
        elif one.text:
            made.append({"role": one.role, "content": one.text})
        made += [
            {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
            for call in one.calls
        ]
    return made


def _anthropic(said: Sequence[Said]) -> list[Any]:
    made: list[Any] = []
    for one in said:
        blocks: list[Any] = [{"type": "text", "text": one.text}] if one.text else []
        blocks += [
            {
                "type": "tool_use",
                "id": call.id,
                "name": call.name,
                "input": json.loads(call.arguments),
            }
            for call in one.calls
        ]
        blocks += [
            {"type": "tool_result", "tool_use_id": call.id, "content": text}
            for call, text in one.results
        ]
        made.append({"role": "user" if one.results else one.role, "content": blocks})
    return made


def _gemini(said: Sequence[Said]) -> list[Any]:
    made: list[Any] = []
    order: list[str] = []
    for one in said:
        parts: list[Any] = [{"text": one.text}] if one.text else []
        for place, call in enumerate(one.calls):
            part = {"functionCall": {"name": call.name, "args": json.loads(call.arguments)}}
            parts.append(part if place else {**part, "thoughtSignature": _SIGNED_BY_NOBODY})
        # Without ids a result is known by its place only.
        results = sorted(one.results, key=lambda result: order.index(result[0].id))
        parts += [
            {"functionResponse": {"name": call.name, "response": {"output": text}}}
            for call, text in results
        ]
        order += [call.id for call in one.calls]
        role = "model" if one.role == "assistant" else "user"
        if made and made[-1]["role"] == role:  # neighbours of one role are one turn
            made[-1]["parts"] += [{"text": f"\n\n{part['text']}"} for part in parts]
        else:
            made.append({"role": role, "parts": parts})
    return made


def _compatible(said: Sequence[Said]) -> list[Any]:
    made: list[Any] = [{"role": "system", "content": SYSTEM}]
    for one in said:
        if one.results:
            made += [
                {"role": "tool", "tool_call_id": call.id, "content": text}
                for call, text in one.results
            ]
            continue
        if one.role == "user" and made[-1]["role"] == "user":
            made[-1]["content"] += f"\n\n{one.text}"
            continue
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in one.calls
        ]
        message = {"role": one.role, "content": one.text}
        made.append({**message, "tool_calls": calls} if calls else message)
    return made


_FORMS: Mapping[str, Callable[[Sequence[Said]], list[Any]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "compatible": _compatible,
}
