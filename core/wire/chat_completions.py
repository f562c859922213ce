"""Chat Completions as pure values: a call becomes messages, chunks become events.

The protocol that most servers speak, each in its own dialect: everything but the words may be
missing, doubled or of another type, and nothing here minds. No SDK, no network.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, assert_never

from core.beginnings import Beginnings
from core.errors import BadReply, Unsupported
from core.types import (
    AttachmentRef,
    Call,
    Delta,
    End,
    Event,
    FinishReason,
    Json,
    Message,
    Parts,
    Progress,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    new_id,
    well_formed,
)

OURS = frozenset({"model", "messages", "stream", "stream_options"})
"""What of the envelope is ours to say; a setting of that name is not sent."""

_written: Beginnings[tuple[Sequence[dict[str, Json]], Mapping[str, str]]] = Beginnings()
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
    model = {"model": call.model}
    return {**model, **knobs, "stream": True, "stream_options": {"include_usage": True}}


def messages(call: Call) -> list[dict[str, Json]]:
    """System first, then turns; tool results right behind their calls; nothing empty.

    Servers refuse a call without its result and a result without its call. A Stop or a cut
    history leaves both behind, so the first gets a stand-in and the second becomes words.
    """
    inner = [_pieces(message.parts)[0] for message in call.messages if message.role == "system"]
    orders = [order for order in (well_formed(call.system), *inner) if order.strip()]
    system = "\n\n".join(orders)
    first = ({"role": "system", "content": system},) if system else ()
    earlier, last = call.messages[:-1], call.messages[-1:]
    known, written = _written.longest(earlier, (first, {}), key=system)
    wire, owed = list(written[0]), dict(written[1])
    _write(earlier[known:], wire, owed)
    _written.keep(earlier, (tuple(wire), dict(owed)), key=system)
    _write(last, wire, owed)
    _settle(wire, owed)
    return wire


def _write(messages: Sequence[Message], wire: list[dict[str, Json]], owed: dict[str, str]) -> None:
    """Add messages to the wire; ``owed`` are the calls, by id, that have no result yet."""
    for message in messages:
        if message.role == "system":
            continue
        text, calls, results = _pieces(message.parts)
        for result in results:
            key = result.call_id or next((k for k, n in owed.items() if n == result.name), "")
            if owed.pop(key, None) is None:
                text = f"Result of {result.name}:\n{well_formed(result.text)}\n\n{text}".rstrip()
            else:
                wire.append(_tool_message(key, well_formed(result.text)))
        if not text.strip() and not calls:
            continue
        _settle(wire, owed)
        if calls:
            named = {call.id or f"call_{len(wire)}_{n}": call for n, call in enumerate(calls)}
            wire.append(_calling(text, named))
            owed.update((key, call.name) for key, call in named.items())
        else:
            _say(wire, "assistant" if message.role == "assistant" else "user", text)


def _pieces(parts: Parts) -> tuple[str, list[ToolCall], list[ToolResult]]:
    """The words, calls and results of a message; thinking is for its own model only."""
    words, calls, results = "", [], []
    for part in parts:
        match part:
            case Text():
                words += part.text
            case Thinking():
                pass
            case ToolCall():
                calls.append(part)
            case ToolResult():
                results.append(part)
            case AttachmentRef():
                raise Unsupported(
                    f"This provider cannot be sent files yet: {part.name}.",
                    hint="Remove the file, or paste its text into the message.",
                )
            case _:
                assert_never(part)
    return well_formed(words), calls, results


def _say(wire: list[dict[str, Json]], role: str, text: str) -> None:
    """Add words; two turns of one role become one, as many chat templates insist."""
    if wire and wire[-1]["role"] == role and "tool_calls" not in wire[-1]:
        wire[-1] = {"role": role, "content": f"{wire[-1]['content']}\n\n{text}"}
    else:
        wire.append({"role": role, "content": text})


def _calling(text: str, calls: Mapping[str, ToolCall]) -> dict[str, Json]:
    functions = [
        {
            "id": key,
            "type": "function",
            "function": {"name": call.name, "arguments": _json_object(well_formed(call.arguments))},
        }
        for key, call in calls.items()
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": functions}


def _tool_message(call_id: str, text: str) -> dict[str, Json]:
    return {"role": "tool", "tool_call_id": call_id, "content": text or "(no output)"}


def _settle(wire: list[dict[str, Json]], owed: dict[str, str]) -> None:
    """Answer the calls that never got a result."""
    wire.extend(_tool_message(key, "(no result: the call was not run)") for key in owed)
    owed.clear()


def _json_object(arguments: str) -> str:
    """The arguments untouched when they are an object; servers parse them, so else wrapped."""
    return (
        arguments
        if _is_object(arguments)
        else json.dumps({"input": arguments} if arguments else {})
    )


def _is_object(text: str) -> bool:
    with suppress(ValueError):
        return isinstance(json.loads(text), dict)
    return False


# --- the answer ----------------------------------------------------------------------------

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
    calls: list[dict[str, str]] = field(default_factory=list)
    places: dict[int, dict[str, str]] = field(default_factory=dict)
    usage: Any = None
    model: str | None = None

    def take(self, chunk: Mapping[str, Json]) -> Iterator[Event]:
        """The events of one chunk. Only the first choice counts; anything may be missing.

        Raises :class:`InBand` when the chunk is a complaint.
        """
        if chunk.get("error") or chunk.get("object") == "error":
            raise InBand(chunk.get("error") or chunk)
        self.usage = _of(chunk, "usage") or self.usage
        self.model = _of(chunk, "model") or self.model
        if progress := _of(chunk, "prompt_progress"):
            done, total = _of(progress, "processed") or 0, _of(progress, "total") or 0
            yield Progress(
                stage="reading the prompt", share=min(1.0, done / total) if total else None
            )
        for choice in (_of(chunk, "choices") or [])[:1]:
            delta = _of(choice, "delta") or _of(choice, "message")
            thinking = _of(delta, "reasoning_content") or _of(delta, "reasoning")
            if isinstance(thinking, str) and thinking:
                yield Delta(text=thinking, kind="thinking")
            yield from self._words(delta)
            for piece in _of(delta, "tool_calls") or []:
                self._add(piece)
            self.finish = _of(choice, "finish_reason") or self.finish

    def _words(self, delta: Any) -> Iterator[Event]:
        refusal = _flat(_of(delta, "refusal"))
        self.refused = self.refused or bool(refusal)
        if words := _flat(_of(delta, "content")) + refusal:
            self.text += words
            yield Delta(text=words)

    def _add(self, piece: Any) -> None:
        """One fragment of a tool call, put where its index, or else its id, says."""
        index, key, function = _of(piece, "index"), _of(piece, "id"), _of(piece, "function")
        known = self.places.get(index) if index is not None else None
        if known is None or (key and known["id"] not in ("", key)):
            known = next((call for call in self.calls if key and call["id"] == key), None)
        if known is None and index is None and not key and self.calls:
            known = self.calls[-1]
        if known is None:
            known = {"id": "", "name": "", "arguments": ""}
            self.calls.append(known)
        if index is not None:
            self.places[index] = known
        known["id"] = key or known["id"]
        name, arguments = _of(function, "name") or "", _of(function, "arguments")
        known["name"] += name if name != known["name"] else ""
        if arguments is not None:
            known["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def end(self) -> Iterator[Event]:
        """The whole tool calls, then the terminal event."""
        calls = [
            ToolCall(id=call["id"] or f"call_{new_id()}", name=call["name"], arguments=text)
            for call in self.calls
            for text in [call["arguments"] or "{}"]
            if call["name"] and (self.finish not in ("", "length") or _is_object(text))
        ]
        yield from calls
        raw: dict[str, Json] = {"content": well_formed(self.text) or None}
        if calls:
            raw["tool_calls"] = _calling("", {call.id: call for call in calls})["tool_calls"]
        yield End(
            finish_reason=self._reason(bool(calls)),
            usage=_usage(self.usage),
            resolved_model=self.model,
            raw=raw,
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


class InBand(Exception):
    """The provider complains in the middle of its answer; ``body`` says of what."""

    def __init__(self, body: Json) -> None:
        super().__init__("complaint in the stream")
        self.body = body


def _of(thing: Json, name: str) -> Json:
    """A field, None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else None


def _flat(content: Any) -> str:
    """Content as text: a string, or a list of parts on some servers."""
    if isinstance(content, list):
        return "".join(_flat(_of(part, "text")) for part in content)
    return content if isinstance(content, str) else ""


def _usage(given: Any) -> Usage:
    """The common record: input includes cached tokens here, output includes reasoning."""
    prompt = _of(given, "prompt_tokens_details")
    completion = _of(given, "completion_tokens_details")
    return Usage(
        input_tokens=_count(_of(given, "prompt_tokens")),
        output_tokens=_count(_of(given, "completion_tokens")),
        cached_tokens=_count(_of(prompt, "cached_tokens")),
        cache_write_tokens=_count(_of(prompt, "cache_write_tokens")),
        reasoning_tokens=_count(_of(completion, "reasoning_tokens")),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
