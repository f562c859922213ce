"""ShareGPT: training conversations, ``{"conversations": [{"from": "human", "value": "…"}]}``.

JSON or JSON lines, thousands in a file. ``from`` is human, gpt, system, function_call,
observation and what else people wrote; a function call's value is JSON of name and arguments.
Variants have ``role`` and ``content`` in its place, ``messages`` beside a list of ``images`` that
``<image>`` in the texts stands for, or a ``chosen`` and a ``rejected`` last answer. There are no
dates and mostly no ids: without one a conversation is known by its content.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from core.interchange import fields, outline, streams
from core.interchange.attached import Attached
from core.interchange.growing import Grain, grow, left_out
from core.types import (
    Carried,
    Damaged,
    Json,
    LeftOut,
    Part,
    Parts,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

Turn = Mapping[str, Json]
_LISTS = ("conversations", "conversation", "items", "messages")
_MEDIA = ("image", "video", "audio")
_SPEAKERS: Mapping[str, Role] = {
    "human": "user",
    "user": "user",
    "prompter": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "bing": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "claude": "assistant",
    "model": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "observation": "tool",
    "tool": "tool",
    "tool_response": "tool",
    "function_response": "tool",
    "system": "system",
}
_CALLS = ("function_call", "tool_call")


class ShareGPT:
    """Training conversations; several thousand in a file are usual."""

    name = "sharegpt"
    label = "ShareGPT"

    def recognise(self, source: Source) -> float:
        """Sure of turns with ``from`` and ``value``, or of messages with a list of pictures."""
        keys = outline.paths(source)
        if keys & {"mapping", "conversations.mapping", "conversations.chat_messages"}:
            return 0.0
        if any({f"{turns}.from", f"{turns}.value"} <= keys for turns in _LISTS):
            return 0.97
        media = keys & {f"{kind}s" for kind in _MEDIA}
        if {"messages.role", "messages.content"} <= keys and media:
            return 0.96
        return 0.9 if {"conversations.role", "conversations.content"} <= keys else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversations, in their order."""
        yield from streams.each(streams.values(source), _conversation)


def _conversation(value: Json) -> Carried:
    turns = _turns(value)
    if not turns:
        raise ValueError("there are no turns in it")
    held = fields.mapping(value)
    reading = _Reading(held)
    system = fields.words(held, "system", "system_prompt")
    if _speaker(turns[0]) == "system" and system in ("", _said(turns[0])):
        system = _said(turns[0])
        turns = turns[1:]
    grains = [reading.grain(turn) for turn in turns]
    chosen = reading.last
    grains += reading.choices(held)
    chosen = reading.chosen or chosen
    grown = grow(grains, chosen or None)
    repairs = (
        (f"speakers of unknown kind: {', '.join(sorted(reading.unknown)[:5])}",)
        if reading.unknown
        else ()
    )
    asked = (node.text for node in grown.nodes if node.role == "user" and node.text.strip())
    return Carried(
        key=fields.name_of(held.get("id"))
        or streams.fingerprint(system, [grain.key for grain in grains]),
        title=" ".join(next(asked, "")[:140].split())[:70],
        nodes=grown.nodes,
        branches=grown.branches,
        system=system,
        model=fields.words(held, "model"),
        files=reading.attached.files,
        left_out=grown.left_out
        + reading.attached.left_out()
        + _tools(held.get("tools"))
        + _strangers(value),
        repairs=(*repairs, *grown.repairs),
    )


def _turns(value: Json) -> list[Turn]:
    if isinstance(value, list):
        return [turn for turn in value if isinstance(turn, Mapping)]
    return next((found for name in _LISTS if (found := fields.objects(value, name))), [])


def _strangers(value: Json) -> tuple[LeftOut, ...]:
    """Entries among the turns that are none."""
    listed = value if isinstance(value, list) else []
    if isinstance(value, Mapping):
        listed = next((fields.several(value, name) for name in _LISTS if value.get(name)), [])
    count = sum(not isinstance(one, Mapping) for one in listed)
    return left_out({("entries that are no turns", "nobody says anything in them"): count})


def _speaker(turn: Turn) -> str:
    return fields.words(turn, "from", "role", "speaker").strip().lower()


def _said(turn: Turn) -> str:
    """The words of a turn, of a list of parts those that are text."""
    words = fields.words(turn, "value", "content", "text")
    if words:
        return words
    parts = fields.objects(turn, "content") or fields.objects(turn, "value")
    return "".join(fields.words(part, "text", "value") for part in parts if _is_text(part))


def _is_text(part: Turn) -> bool:
    return bool(part.get("type", "text") == "text")


def _tools(tools: Json) -> tuple[LeftOut, ...]:
    if isinstance(tools, str):
        try:
            tools = json.loads(tools) if tools.strip() else []
        except (ValueError, RecursionError):
            tools = [tools]
    count = len(tools) if isinstance(tools, list) else int(bool(tools))
    return left_out({("definitions of tools", "a conversation here has no list of tools"): count})


class _Reading:
    """One conversation as it is read. A message is known by all that was said up to it."""

    def __init__(self, held: Turn) -> None:
        self.attached = Attached()
        self.unknown: set[str] = set()
        self.last = self.chosen = ""
        self._role: Role = "assistant"
        self._call = ToolCall(id="", name="", arguments="")
        self._calls = 0
        self._media = {kind: _listed(held, kind) for kind in _MEDIA}

    def grain(self, turn: Turn) -> Grain:
        """The next message."""
        speaker = _speaker(turn)
        role = self._role_of(speaker)
        parts = self._parts(turn, speaker, role)
        machinery = role == "tool" or speaker in _CALLS or _calls_only(parts)
        found = self._hung(turn, role, parts, "machinery" if machinery else "shown")
        self.last = found.key
        if not machinery:
            self._role = role
        return found

    def choices(self, held: Turn) -> list[Grain]:
        """Two last answers to choose between: siblings, the chosen one first and open."""
        found = []
        for name in ("chosen", "rejected"):
            turn = held.get(name)
            if isinstance(turn, Mapping) and _said(turn):
                found.append(self._hung(turn, "assistant", (Text(text=_said(turn)),), "shown"))
                self.chosen = self.chosen or (found[-1].key if name == "chosen" else "")
        return found

    def _hung(
        self, turn: Turn, role: Role, parts: Parts, kind: Literal["shown", "machinery"]
    ) -> Grain:
        absent = self._pictures(turn, role)
        known = tuple(one for one in absent if not isinstance(one, str))
        names = [one for one in absent if isinstance(one, str)]
        key = streams.fingerprint(self.last, role, parts, known, names)[:32]
        return Grain(
            key=key,
            parent=self.last or None,
            role=role,
            parts=(*parts, *known),
            kind=kind,
            marks=self.attached.missing(names),
        )

    def _role_of(self, speaker: str) -> Role:
        if found := _SPEAKERS.get(speaker):
            return found
        self.unknown.add(speaker[:40] or "nobody")
        return "user" if self._role == "assistant" else "assistant"

    def _parts(self, turn: Turn, speaker: str, role: Role) -> Parts:
        said = _said(turn)
        if role == "tool":
            key = fields.words(turn, "tool_call_id") or self._call.id
            name = fields.words(turn, "name") or self._call.name
            return (ToolResult(call_id=key, name=name, text=said),)
        if speaker in _CALLS:
            return tuple(self._called(one) for one in _packed(said))
        calls = [self._called(one) for one in fields.objects(turn, "tool_calls")]
        return (*((Text(text=said),) if said or not calls else ()), *calls)

    def _called(self, call: Json) -> ToolCall:
        inner = fields.mapping(call, "function") or fields.mapping(call)
        name = fields.words(inner, "name")
        arguments = inner.get("arguments", inner.get("parameters", call if not name else ""))
        self._calls += 1
        self._call = ToolCall(
            id=fields.words(call, "id") or f"call-{self._calls}",
            name=name,
            arguments=streams.compact(arguments),
        )
        return self._call

    def _pictures(self, turn: Turn, role: Role) -> list[Part | str]:
        """Files that a turn's text stands for, or its name where the bytes are not here. The
        first question has those that no text stands for."""
        said = _said(turn)
        wanted: list[Json] = []
        for kind in _MEDIA:
            queue = self._media[kind]
            times = said.count(f"<{kind}>")
            wanted += queue[:times]
            del queue[:times]
        parts = fields.objects(turn, "content") + fields.objects(turn, "value")
        wanted += [part for part in parts if not _is_text(part) and _address(part)]
        return [self._picture(one) for one in wanted]

    def _picture(self, one: Json) -> Part | str:
        url = _address(one)
        name = fields.words(one, "path", "name")
        raw = fields.words(one, "bytes")
        found = self.attached.data_url(f"data:;base64,{raw}" if raw else url, name)
        return found or (name or url)[-120:] or "a picture"


def _calls_only(parts: Sequence[Any]) -> bool:
    return bool(parts) and all(isinstance(part, ToolCall) for part in parts)


def _packed(said: str) -> list[Json]:
    """The calls in a function call's value: one, a list of them, or a text that is none."""
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return [said]
    return found if isinstance(found, list) and found else [found if found else said]


def _listed(held: Turn, kind: str) -> list[Json]:
    """The files of a kind: a list, or one by itself."""
    found = held.get(f"{kind}s", held.get(kind))
    if isinstance(found, list):
        return [one for one in found if one]
    return [found] if isinstance(found, str | Mapping) and found else []


def _address(one: Json) -> str:
    if isinstance(one, str):
        return one
    for kind in ("image_url", "video_url", "audio_url"):
        if found := fields.words(fields.mapping(one, kind), "url"):
            return found
    return fields.words(one, "url", "image_url", "image", "path", "value")


FORMAT = ShareGPT()
