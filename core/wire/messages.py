"""Anthropic's Messages protocol as pure values: a call becomes what is sent. No SDK, no network.

Cache breakpoints are named in the envelope and put on while sending, so that the messages of a
conversation stay what they are from turn to turn.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from core.errors import Unsupported
from core.types import Call, Json, Parts, Request, Text, Tool, well_formed
from core.wire.messages_turns import Block, written

OURS = frozenset(
    {"model", "messages", "stream", "system", "tools", "tool_choice", "cache_breakpoints"}
)
"""What of the envelope is ours to say; a setting of that name is not sent."""
LONGEST_ANSWER = 32_000
"""Tokens, where the person says nothing: no current model allows less. The protocol asks for it."""
LEAST_THINKING, USUAL_THINKING = 1024, 16_000
EPHEMERAL: Mapping[str, Json] = {"type": "ephemeral"}

_CACHEABLE = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_COMBINED = frozenset({"oneOf", "anyOf", "allOf"})


# --- the envelope --------------------------------------------------------------------------


def build(call: Call) -> Request:
    """The call in this form. Raises :class:`Unsupported` for files and tools it cannot hold."""
    orders = [call.system, *(_words(m.parts) for m in call.messages if m.role == "system")]
    system = "\n\n".join(order for order in map(well_formed, orders) if order.strip())
    wire, ends = written(call)
    tools = [_tool(tool) for tool in call.tools]
    choice = _choice(call.tool_choice) if tools else None
    if not tools and (names := _called(wire)):
        # A history with calls in it is only taken together with tools.
        tools = [_stub(name) for name in names]
        choice = {"type": "none"}
    said = {"system": system or None, "tools": tools or None, "tool_choice": choice}
    envelope = {
        "model": call.model,
        **_settings(call.sampling),
        **{name: value for name, value in said.items() if value},
        "stream": True,
        "cache_breakpoints": _breakpoints(call, tools, system, wire, ends),
    }
    return Request(envelope=envelope, messages=tuple(wire))


def _settings(sampling: Mapping[str, Json]) -> dict[str, Json]:
    """Knobs under the names of the wire, in one order, so that equal calls are equal bytes."""
    knobs = {
        name: value
        for name, value in sorted(sampling.items())
        if value is not None and name not in OURS
    }
    thinking, budget = knobs.pop("thinking", None), knobs.pop("budget_tokens", None)
    effort = knobs.pop("effort", None)
    budget = budget if thinking == "enabled" else None
    knobs.setdefault("max_tokens", LONGEST_ANSWER + (budget or 0))
    if thinking:
        knobs["thinking"] = _thinking(thinking, budget, knobs["max_tokens"])
    if effort:
        knobs["output_config"] = {**(knobs.get("output_config") or {}), "effort": effort}
    stops = knobs.pop("stop_sequences", None) or []
    stops = [stops] if isinstance(stops, str) else stops
    if stops := [text for text in stops if text.strip()]:
        knobs["stop_sequences"] = stops
    return knobs


def _thinking(choice: Json, budget: int | None, most: int) -> Json:
    """The setting in full; newer models show nothing of their thinking unless asked to."""
    if not isinstance(choice, str) or choice not in ("adaptive", "enabled"):
        return {"type": choice} if isinstance(choice, str) else choice
    if choice == "adaptive":
        return {"type": "adaptive", "display": "summarized"}
    if most <= LEAST_THINKING:
        raise Unsupported(
            f"Thinking needs at least {LEAST_THINKING} tokens of the answer's {most}.",
            hint="Raise the longest answer, or turn thinking off.",
        )
    budget = budget or usual_budget(most)
    return {"type": "enabled", "budget_tokens": budget, "display": "summarized"}


def usual_budget(most: int) -> int:
    """Tokens of an answer of at most ``most`` that go to thinking where nobody chose."""
    return max(LEAST_THINKING, min(USUAL_THINKING, most // 2))


def _tool(tool: Tool) -> dict[str, Json]:
    if not _NAME.fullmatch(tool.name):
        raise Unsupported(
            f"Claude takes no tool called {tool.name!r}.",
            hint="Use at most 128 letters, digits, _ and - in its name.",
        )
    if combined := sorted(_COMBINED & set(tool.parameters)):
        raise Unsupported(
            f"The parameters of {tool.name!r} begin with {combined[0]!r}, which Claude refuses.",
            hint="Describe them as one object with properties; inside those it is allowed.",
        )
    schema = {"type": "object", **tool.parameters}
    about = {"description": tool.description} if tool.description.strip() else {}
    return {"name": tool.name, **about, "input_schema": schema}


def _stub(name: str) -> dict[str, Json]:
    about = "Was used earlier in this conversation and is gone."
    return {"name": name, "description": about, "input_schema": {"type": "object"}}


def _choice(choice: str | None) -> dict[str, Json] | None:
    if choice is None:
        return None
    kinds = {"auto": "auto", "required": "any", "none": "none"}
    return {"type": kinds[choice]} if choice in kinds else {"type": "tool", "name": choice}


def _called(wire: Iterable[Mapping[str, Json]]) -> list[str]:
    """The names of the tools that were called, each once, in order."""
    blocks = (block for message in wire for block in message["content"])
    return list(dict.fromkeys(block["name"] for block in blocks if block["type"] == "tool_use"))


# --- cache breakpoints ---------------------------------------------------------------------


def _breakpoints(
    call: Call, tools: list[Block], system: str, wire: list[Block], ends: Sequence[int]
) -> list[Json]:
    """Where a prefix is kept: tools, system, the last message that forks share, the end."""
    shared = call.shared_until or 0
    places = {ends[shared - 1] - 1 if 0 < shared <= len(ends) else -1, len(wire) - 1}
    fit = sorted(n for n in places if n >= 0 and _marked(wire[n]) is not wire[n])
    return [*(["tools"] if tools else []), *(["system"] if system else []), *fit]


def body(request: Request) -> dict[str, Json]:
    """All of the request as it goes out, the breakpoints put on; shares what it can."""
    sent: dict[str, Json] = {**request.envelope, "messages": list(request.messages)}
    for place in sent.pop("cache_breakpoints", ()):
        if place == "system":
            text = {"type": "text", "text": sent["system"], "cache_control": EPHEMERAL}
            sent["system"] = [text]
        elif place == "tools":
            *others, last = sent["tools"]
            sent["tools"] = [*others, {**last, "cache_control": EPHEMERAL}]
        elif place < len(request.messages):
            sent["messages"][place] = _marked(request.messages[place])
    return sent


def _marked(message: Block) -> Block:
    """The message with a breakpoint on its last block that can bear one."""
    blocks = message["content"]
    for place in range(len(blocks) - 1, -1, -1):
        if blocks[place]["type"] in _CACHEABLE:
            block = {**blocks[place], "cache_control": EPHEMERAL}
            return {**message, "content": [*blocks[:place], block, *blocks[place + 1 :]]}
    return message


def _words(parts: Parts) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))
