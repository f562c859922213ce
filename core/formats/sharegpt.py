"""ShareGPT: lists of training conversations, ``{"conversations": [{"from", "value"}]}``.

The shape is that of the ShareGPT dataset and of what training tools made of it: JSON or JSON
lines, ``from`` being human, gpt, system, function_call, observation and others; also with
``messages`` in place of ``conversations``. It has no dates, and mostly no ids.
"""

from collections.abc import Iterator, Mapping

from core.interchange import fields, streams
from core.interchange.growing import Grain, line
from core.types import (
    Carried,
    Damaged,
    Json,
    Parts,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
    text_of,
)

_ROLES: Mapping[str, Role] = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "bing": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "observation": "tool",
    "tool": "tool",
    "system": "system",
}


class ShareGPT:
    """Training conversations; several thousand in a file are usual."""

    name = "sharegpt"
    label = "ShareGPT"

    def recognise(self, source: Source) -> float:
        """Sure of turns with ``from`` and ``value``."""
        head = streams.decoded_head(source)
        if not streams.is_json(source) or '"value"' not in head or '"from"' not in head:
            return 0.0
        return 0.9 if '"conversations"' in head else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversations, in their order."""
        yield from streams.each(self._values(source), _conversation)

    def _values(self, source: Source) -> Iterator[tuple[str, Json | Damaged]]:
        if streams.decoded_head(source).lstrip().startswith("["):
            yield from streams.items(source)
        else:
            yield from streams.json_lines(source)


def _conversation(value: Json) -> Carried | None:
    turns = fields.objects(value, "conversations")
    if not turns:
        return None
    system = fields.words(value, "system")
    grains = [_grain(turn, place) for place, turn in enumerate(turns)]
    if grains[0].role == "system":
        system = system or fields.words(turns[0], "value")
        grains = grains[1:]
    grown = line(grains)
    return Carried(
        key=fields.name_of(value.get("id"))
        or streams.fingerprint(system, [grain.parts for grain in grains]),
        title=next((text_of(grain.parts) for grain in grains if grain.role == "user"), "")[:70],
        nodes=grown.nodes,
        branches=grown.branches,
        system=system,
        left_out=grown.left_out,
        repairs=grown.repairs,
    )


def _grain(turn: Mapping[str, Json], place: int) -> Grain:
    speaker = fields.words(turn, "from")
    return Grain(
        key=str(place), parent=None, role=_ROLES.get(speaker, "user"), parts=_parts(speaker, turn)
    )


def _parts(speaker: str, turn: Mapping[str, Json]) -> Parts:
    said = fields.words(turn, "value")
    if speaker == "function_call":
        return (ToolCall(id="", name="", arguments=said),)
    if speaker in ("observation", "tool"):
        return (ToolResult(call_id="", name="", text=said),)
    return (Text(text=said),)


FORMAT = ShareGPT()
