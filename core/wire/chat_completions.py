"""Chat Completions as pure values: a call becomes messages, chunks become events.

The protocol that most servers speak, each in its own dialect: everything but the words may be
missing, doubled or of another type, and nothing here minds. No SDK, no network.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from core.beginnings import Beginnings
from core.errors import BadReply
from core.types import (
    AttachmentRef,
    Call,
    Delta,
    End,
    Event,
    FinishReason,
    Json,
    Message,
    Progress,
    Text,
    ToolCall,
    Usage,
    new_id,
    text_of,
    well_formed,
)
from core.wire.files import Form, data_url, mentioned, name_of, woven
from core.wire.loose import count, is_object, object_text, of, several
from core.wire.openai_calls import InBand
from core.wire.owed import Owed
from core.wire.tools import checked_name, object_schema, past_name

Takes: TypeAlias = frozenset[str]
Content: TypeAlias = str | list[dict[str, Json]]
OURS = frozenset({"model", "messages", "stream", "stream_options", "tools", "tool_choice"})
"""What of the envelope is ours to say; a setting of that name is not sent."""

_written: Beginnings[tuple[Sequence[dict[str, Json]], Owed]] = Beginnings()
"""Messages in Chat form, by system text, with the calls that have no result yet."""


# --- the call in Chat form -----------------------------------------------------------------


def envelope(call: Call) -> dict[str, Json]:
    """All but the messages; knobs in one order, so that equal calls are equal bytes."""
    knobs = {
        name: value
        for name, value in sorted(call.sampling.items())
        if value is not None and name not in OURS
    }
    stops = knobs.pop("stop", None) or []
    if stops := [text for text in ([stops] if isinstance(stops, str) else stops) if text]:
        knobs["stop"] = stops
    stream = {"stream": True, "stream_options": {"include_usage": True}}
    return {"model": call.model, **knobs, **_tools(call), **stream}


def _tools(call: Call) -> dict[str, Json]:
    """The tools on offer; without any, a choice among them would be refused."""
    if not call.tools:
        return {}
    offered = [
        {
            "type": "function",
            "function": {
                "name": checked_name(tool),
                "description": tool.description,
                "parameters": object_schema(tool.parameters),
            },
        }
        for tool in call.tools
    ]
    choice: Json = call.tool_choice
    if choice not in (None, "auto", "required", "none"):
        choice = {"type": "function", "function": {"name": choice}}
    return {"tools": offered, **({"tool_choice": choice} if choice else {})}


def messages(call: Call, takes: Takes = frozenset({"image"})) -> list[dict[str, Json]]:
    """System first, then turns; tool results right behind their calls; nothing empty.

    Servers refuse a call without its result and a result without its call. A Stop or a cut
    history leaves both behind, so the first gets a stand-in and the second becomes words.
    ``takes`` are the kinds of files, besides text, that the server is trusted with.
    """
    inner = [text_of(message.parts) for message in call.messages if message.role == "system"]
    orders = [well_formed(order) for order in (call.system, *inner) if order.strip()]
    system = "\n\n".join(orders)
    first = ({"role": "system", "content": system},) if system else ()
    earlier, last = call.messages[:-1], call.messages[-1:]
    key = (system, takes)
    known, written = _written.longest(earlier, (first, Owed()), key=key)
    wire, owed = list(written[0]), written[1].copy()
    _write(earlier[known:], call, takes, wire, owed)
    _written.keep(earlier, (tuple(wire), owed.copy()), key=key)
    _write(last, call, takes, wire, owed)
    wire.extend(_tool_messages(owed.settle()))
    return wire


def _write(
    messages: Sequence[Message],
    call: Call,
    takes: Takes,
    wire: list[dict[str, Json]],
    owed: Owed,
) -> None:
    """Add messages to the wire; ``owed`` are the calls that have no result yet."""
    for message in messages:
        if message.role == "system":
            continue
        answers, orphans = owed.answers(message)
        wire.extend(_tool_messages(answers))
        content = _content(message, orphans, call, takes)
        replayed = _replayed(message)
        calls = replayed or _calls(message, len(wire), owed)
        if not content and not calls:
            continue
        wire.extend(_tool_messages(owed.settle()))
        if not calls:
            _say(wire, "assistant" if message.role == "assistant" else "user", content)
            continue
        wire.append({"role": "assistant", "content": content or None, "tool_calls": calls})
        given = [part.id for part in message.parts if isinstance(part, ToolCall)]
        for place, made in enumerate(calls):
            came_as = made["id"] if replayed else given[place]
            owed.add(came_as, made["id"], made["function"]["name"])


def _content(message: Message, orphans: str, call: Call, takes: Takes) -> Content:
    """What is said and shown in a message; thinking is for its own model only."""
    spoken = [part for part in message.parts if isinstance(part, Text | AttachmentRef)]
    if orphans:
        spoken = [Text(text=orphans if spoken else orphans.rstrip()), *spoken]
    forms: dict[str, Form] = {"image": _image, "pdf": _pdf}
    if message.role == "assistant":  # only words are taken of it
        forms = dict.fromkeys(forms, mentioned)
        takes = frozenset(forms)
    found = woven(
        spoken,
        call.attachments,
        image=forms["image"] if "image" in takes else None,
        pdf=forms["pdf"] if "pdf" in takes else None,
    )
    if all(isinstance(piece, str) for piece in found):
        return "".join(piece for piece in found if isinstance(piece, str))
    return [_text(piece) if isinstance(piece, str) else piece for piece in found]


def _text(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def _image(file: AttachmentRef, content: bytes) -> dict[str, Json]:
    return {"type": "image_url", "image_url": {"url": data_url(file, content)}}


def _pdf(file: AttachmentRef, content: bytes) -> dict[str, Json]:
    inner = {"filename": name_of(file), "file_data": data_url(file, content)}
    return {"type": "file", "file": inner}


def _say(wire: list[dict[str, Json]], role: str, content: Content) -> None:
    """Add words; two turns of one role become one, as many chat templates insist."""
    if not wire or wire[-1]["role"] != role or "tool_calls" in wire[-1]:
        wire.append({"role": role, "content": content})
        return
    before: Content = wire[-1]["content"]
    if isinstance(before, str) and isinstance(content, str):
        wire[-1] = {"role": role, "content": f"{before}\n\n{content}"}
    else:
        both = [[_text(side)] if isinstance(side, str) else side for side in (before, content)]
        wire[-1] = {"role": role, "content": [*both[0], *both[1]]}


def _replayed(message: Message) -> list[dict[str, Json]]:
    """The calls of a message as the provider gave them, if that is known."""
    for item in message.raw if isinstance(message.raw, list) else []:
        if made := [dict(call) for call in several(of(item, "tool_calls"))]:
            return made
    return []


def _calls(message: Message, place: int, owed: Owed) -> list[dict[str, Json]]:
    """The calls of a message as any provider may have made them."""
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    return [
        {
            "id": owed.id_for(call.id, f"call_{place}_{number}"),
            "type": "function",
            "function": {
                "name": past_name(call.name),
                "arguments": object_text(well_formed(call.arguments)),
            },
        }
        for number, call in enumerate(calls)
    ]


def _tool_messages(results: Iterable[tuple[str, str]]) -> list[dict[str, Json]]:
    """Results by the ids of their calls, each a message."""
    return [{"role": "tool", "tool_call_id": key, "content": text} for key, text in results]


# --- the answer ----------------------------------------------------------------------------

_OF_A_CALL = frozenset({"id", "type", "index", "function"})
_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "tool_use": "tool_call",
    "abort": "cut_off",
    "cancelled": "cut_off",
}


@dataclass(slots=True)
class Answer:
    """What has come of an answer so far."""

    finish: str = ""
    text: str = ""
    refused: bool = False
    calls: list[dict[str, Any]] = field(default_factory=list)
    places: dict[int, dict[str, Any]] = field(default_factory=dict)
    usage: Any = None
    model: str | None = None

    def take(self, chunk: Mapping[str, Json]) -> Iterator[Event]:
        """The events of one chunk. Only the first choice counts; anything may be missing.

        Raises :class:`InBand` when the chunk is a complaint.
        """
        if chunk.get("error") or chunk.get("object") == "error":
            raise InBand(chunk.get("error") or chunk)
        self.usage = of(chunk, "usage") or self.usage
        self.model = of(chunk, "model") or self.model
        if progress := of(chunk, "prompt_progress"):
            done, total = of(progress, "processed") or 0, of(progress, "total") or 0
            yield Progress(
                stage="reading the prompt", share=min(1.0, done / total) if total else None
            )
        for choice in (of(chunk, "choices") or [])[:1]:
            delta = of(choice, "delta") or of(choice, "message")
            thinking = of(delta, "reasoning_content") or of(delta, "reasoning")
            if isinstance(thinking, str) and thinking:
                yield Delta(text=thinking, kind="thinking")
            yield from self._words(delta)
            for piece in of(delta, "tool_calls") or []:
                self._add(piece)
            self.finish = of(choice, "finish_reason") or self.finish

    def _words(self, delta: Any) -> Iterator[Event]:
        refusal = _flat(of(delta, "refusal"))
        self.refused = self.refused or bool(refusal)
        if words := _flat(of(delta, "content")) + refusal:
            self.text += words
            yield Delta(text=words)

    def _add(self, piece: Any) -> None:
        """One fragment of a tool call, put where its index, or else its id, says."""
        index, key, function = of(piece, "index"), of(piece, "id"), of(piece, "function")
        known = self.places.get(index) if index is not None else None
        if known is None or (key and known["id"] not in ("", key)):
            known = next((call for call in self.calls if key and call["id"] == key), None)
        if known is None and index is None and not key and self.calls:
            known = self.calls[-1]
        if known is None:
            known = {"id": "", "name": "", "arguments": "", "more": {}}
            self.calls.append(known)
        if index is not None:
            self.places[index] = known
        known["id"] = key or known["id"]
        name, arguments = of(function, "name") or "", of(function, "arguments")
        known["name"] += name if name != known["name"] else ""
        if arguments is not None:
            known["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)
        # What a gateway adds to a call, such as a signature, it wants to see again.
        given = piece if isinstance(piece, Mapping) else {}
        known["more"] |= {name: given[name] for name in given if name not in _OF_A_CALL}

    def end(self) -> Iterator[Event]:
        """The whole tool calls, then the terminal event."""
        calls: list[ToolCall] = []
        made: list[Json] = []
        for found in self.calls:
            text = found["arguments"] or "{}"
            if found["name"] and (self.finish not in ("", "length") or is_object(text)):
                call = ToolCall(
                    id=found["id"] or f"call_{new_id()}", name=found["name"], arguments=text
                )
                calls.append(call)
                made += [{**item, **found["more"]} for item in _calls(_message(call), 0, Owed())]
        yield from calls
        raw = {"role": "assistant", "content": well_formed(self.text) or None}
        yield End(
            finish_reason=self._reason(bool(calls)),
            usage=_usage(self.usage),
            resolved_model=self.model,
            raw=[{**raw, "tool_calls": made} if made else raw],
        )

    def _reason(self, calls: bool) -> FinishReason:
        if not self.finish:
            return "cut_off"
        if self.finish == "error":
            raise BadReply("The provider ended the answer with an error it did not name.")
        reason = _REASONS.get(self.finish, "stop")
        if reason == "stop" and (self.refused or calls):
            return "refusal" if self.refused else "tool_call"
        return reason


def _message(call: ToolCall) -> Message:
    return Message(role="assistant", parts=(call,))


def _flat(content: Any) -> str:
    """Content as text: a string, or a list of parts on some servers."""
    if isinstance(content, list):
        return "".join(_flat(of(part, "text")) for part in content)
    return content if isinstance(content, str) else ""


def _usage(given: Any) -> Usage:
    """The common record: input includes cached tokens here, output includes reasoning."""
    prompt = of(given, "prompt_tokens_details")
    completion = of(given, "completion_tokens_details")
    return Usage(
        input_tokens=count(of(given, "prompt_tokens")),
        output_tokens=count(of(given, "completion_tokens")),
        cached_tokens=count(of(prompt, "cached_tokens")),
        cache_write_tokens=count(of(prompt, "cache_write_tokens")),
        reasoning_tokens=count(of(completion, "reasoning_tokens")),
    )
