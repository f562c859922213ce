"""The Responses protocol as pure values: a call becomes items, events become ours.

Nothing is kept at the provider: every request carries the whole conversation, and of a model's
own reasoning the encrypted items it gave. No SDK, no network.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from core.beginnings import Beginnings
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
    well_formed,
)
from core.wire.files import Form, data_url, mentioned, name_of, woven
from core.wire.loose import count, is_object, object_text, of, several, words
from core.wire.openai_calls import InBand
from core.wire.owed import Owed
from core.wire.tools import checked_name, object_schema, past_id, past_name

OURS = frozenset(
    {
        "model", "input", "instructions", "stream", "store", "include", "tools", "tool_choice",
        "prompt_cache_key", "previous_response_id", "conversation", "background",
    }
)  # fmt: skip
"""What of the envelope is ours to say; a setting of that name is not sent."""

PLACES = {
    "max_tokens": ("max_output_tokens",),
    "reasoning_effort": ("reasoning", "effort"),
    "reasoning_summary": ("reasoning", "summary"),
    "verbosity": ("text", "verbosity"),
}
"""Where a setting of ours stands in the request, if not under its own name."""

_PLAIN = re.compile(r"(ft:)?(gpt-3|gpt-4|chatgpt-)|.*-chat-latest$")
_written: Beginnings[tuple[Sequence[dict[str, Json]], Owed]] = Beginnings()
"""Items by messages, with the calls that have no result yet."""


def thinks(model: str) -> bool:
    """Whether a model reasons before it answers. One of an unknown name is taken to."""
    return not _PLAIN.match(model)


# --- the call in items ---------------------------------------------------------------------


def envelope(call: Call) -> dict[str, Json]:
    """All but the items; settings in one order, so that equal calls are equal bytes."""
    made: dict[str, Json] = {"model": call.model}
    if call.system.strip():
        made["instructions"] = well_formed(call.system)
    for name, value in sorted(call.sampling.items()):
        if value is not None and name not in OURS:
            _set(made, PLACES.get(name, (name,)), value)
    made |= _tools(call)
    if call.cache_key:
        made["prompt_cache_key"] = _short(call.cache_key)
    if thinks(call.model):  # others refuse to be asked
        made["include"] = ["reasoning.encrypted_content"]
    return {**made, "store": False, "stream": True}


def settings(made: Mapping[str, Json]) -> dict[str, str]:
    """What was set in an envelope: its places on the wire, with the settings' own names."""
    own = {name: name for name in made if name not in OURS}
    for name, (outer, *inner) in PLACES.items():
        if of(made.get(outer), inner[0]) if inner else outer in made:
            own.pop(outer, None)
            own |= {".".join((outer, *inner)): name, name: name}
    return own


def _set(made: dict[str, Json], place: tuple[str, ...], value: Json) -> None:
    name, *inner = place
    before = made.get(name)
    if inner:
        value = {**(before if isinstance(before, dict) else {}), inner[0]: value}
    elif isinstance(before, dict) and isinstance(value, Mapping):
        value = {**before, **value}
    made[name] = value


def _short(key: str) -> str:
    return key if len(key) <= 64 else sha256(key.encode("utf-8", "replace")).hexdigest()


def _tools(call: Call) -> dict[str, Json]:
    """The tools on offer; without any, a choice among them would be refused."""
    if not call.tools:
        return {}
    offered = [
        {
            "type": "function",
            "name": checked_name(tool),
            "description": tool.description,
            "parameters": object_schema(tool.parameters),
            "strict": False,  # strict ones need every property required, and no other
        }
        for tool in call.tools
    ]
    choice: Json = call.tool_choice
    if choice not in (None, "auto", "required", "none"):
        choice = {"type": "function", "name": choice}
    return {"tools": offered, **({"tool_choice": choice} if choice else {})}


def items(call: Call) -> list[dict[str, Json]]:
    """The conversation: messages, reasoning, calls and their results, each an item.

    A call without its result and a result without its call are refused: the first gets a
    stand-in, the second becomes words.
    """
    earlier, last = call.messages[:-1], call.messages[-1:]
    known, written = _written.longest(earlier, ((), Owed()))
    wire, owed = list(written[0]), written[1].copy()
    _write(earlier[known:], call, wire, owed)
    _written.keep(earlier, (tuple(wire), owed.copy()))
    _write(last, call, wire, owed)
    wire.extend(_outputs(owed.settle()))
    return wire


def _write(
    messages: Sequence[Message], call: Call, wire: list[dict[str, Json]], owed: Owed
) -> None:
    """Add messages to the wire; ``owed`` are the calls that have no result yet."""
    for message in messages:
        answers, orphans = owed.answers(message)
        wire.extend(_outputs(answers))
        replayed = _replayed(message)
        made = replayed or _portable(message, orphans, call, len(wire), owed)
        if made:
            wire.extend(_outputs(owed.settle()))
            wire.extend(made)
        calls = [item for item in made if item.get("type") == "function_call"]
        given = [part.id for part in message.parts if isinstance(part, ToolCall)]
        for place, item in enumerate(calls):
            came_as = item["call_id"] if replayed else given[place]
            owed.add(came_as, item["call_id"], item["name"])


def _replayed(message: Message) -> list[dict[str, Json]]:
    """The provider's own items, without reasoning that led to nothing.

    No items if some of the reasoning came without its encrypted content: it was kept nowhere, and
    what followed from it is not taken without it.
    """
    given = message.raw if isinstance(message.raw, list) else []
    own = [dict(item) for item in given if isinstance(item, Mapping)]
    for item in own:
        if "call_id" in item:
            item["call_id"] = past_id(item["call_id"])
    while own and own[-1].get("type") == "reasoning":
        own.pop()
    thoughts = [item for item in own if item.get("type") == "reasoning"]
    return own if all(item.get("encrypted_content") for item in thoughts) else []


def _portable(
    message: Message, orphans: str, call: Call, place: int, owed: Owed
) -> list[dict[str, Json]]:
    """A message as any model may have written it; thinking is for its own model only."""
    made: list[dict[str, Json]] = []
    more = any(isinstance(part, Text | AttachmentRef) for part in message.parts)
    told = orphans if more else orphans.rstrip()
    spoken: list[Text | AttachmentRef] = [Text(text=told)] if told else []
    for part in message.parts:
        if isinstance(part, Text | AttachmentRef):
            spoken.append(part)
        elif isinstance(part, ToolCall):
            made += _spoken(message.role, spoken, call)
            spoken = []
            made.append(
                {
                    "type": "function_call",
                    "call_id": owed.id_for(part.id, f"call_{place}_{len(made)}"),
                    "name": past_name(part.name),
                    "arguments": object_text(well_formed(part.arguments)),
                }
            )
    return made + _spoken(message.role, spoken, call)


def _spoken(role: str, parts: Sequence[Text | AttachmentRef], call: Call) -> list[dict[str, Json]]:
    """One message item, or none if nothing is in it."""
    answered = role == "assistant"  # only words are taken of it
    image: Form = mentioned if answered else _image
    pdf: Form = mentioned if answered else _pdf
    found = woven(parts, call.attachments, image=image, pdf=pdf)
    if not found:
        return []
    role = {"assistant": "assistant", "system": "developer"}.get(role, "user")
    if all(isinstance(piece, str) for piece in found):
        return [{"role": role, "content": "".join(str(piece) for piece in found)}]
    blocks = [
        {"type": "input_text", "text": piece} if isinstance(piece, str) else piece
        for piece in found
    ]
    return [{"role": role, "content": blocks}]


def _image(file: AttachmentRef, content: bytes) -> dict[str, Json]:
    return {"type": "input_image", "detail": "auto", "image_url": data_url(file, content)}


def _pdf(file: AttachmentRef, content: bytes) -> dict[str, Json]:
    name = name_of(file)
    return {"type": "input_file", "filename": name, "file_data": data_url(file, content)}


def _outputs(results: Iterable[tuple[str, str]]) -> list[dict[str, Json]]:
    """Results by the ids of their calls, each an item."""
    return [
        {"type": "function_call_output", "call_id": key, "output": text} for key, text in results
    ]


# --- the answer ----------------------------------------------------------------------------

_CUT: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "content_filter",
}


@dataclass(slots=True)
class Answer:
    """What has come of an answer so far; ``ended`` once the provider has said its last."""

    ended: str = ""
    why: str = ""
    text: str = ""
    said: dict[Any, str] = field(default_factory=dict)
    items: dict[Any, dict[str, Json]] = field(default_factory=dict)
    refused: bool = False
    called: bool = False
    summarised: bool = False
    usage: Json = None
    model: str | None = None

    def take(self, event: Mapping[str, Json]) -> Iterator[Event]:
        """What one event comes to; kinds that are not known come to nothing.

        Raises :class:`InBand` when the event is a complaint.
        """
        place = event.get("output_index")
        match event.get("type"):
            case "response.output_text.delta":
                yield from self._say(place, words(event.get("delta")))
            case "response.refusal.delta":
                self.refused = True
                yield from self._say(place, words(event.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._think(words(event.get("delta")))
            case "response.reasoning_summary_part.added" if self.summarised:
                yield from self._think("\n\n")
            case "response.output_item.added" if of(event.get("item"), "type") == "reasoning":
                yield Progress(stage="thinking")
            case "response.output_item.done":
                yield from self._done(place, event.get("item"))
            case "response.completed" | "response.incomplete" | "response.failed" as kind:
                yield from self._end(kind, event.get("response"))
            case "error":
                raise InBand(event.get("error") or event)
            case None if event.get("error"):
                raise InBand(event["error"])
            case _:
                self.model = words(of(event.get("response"), "model")) or self.model

    def _think(self, text: str) -> Iterator[Event]:
        if text:
            self.summarised = True
            yield Delta(text=text, kind="thinking")

    def _say(self, place: Any, text: str) -> Iterator[Event]:
        """More words; a second message of the same answer is a paragraph of its own."""
        if not text:
            return
        if place not in self.said and self.text:
            yield Delta(text="\n\n")
        self.said[place] = self.said.get(place, "") + text
        self.text += text
        yield Delta(text=text)

    def _done(self, place: Any, item: Json) -> Iterator[Event]:
        """A whole item: kept as it is. Words that were not streamed come now."""
        if not isinstance(item, Mapping):
            return
        kind = item.get("type")
        if kind == "message":
            said = _words_in(item)
            self.refused = self.refused or any(
                of(part, "type") == "refusal" for part in several(item.get("content"))
            )
            if place not in self.said:
                yield from self._say(place, said)
        if kind == "function_call":
            arguments = words(item.get("arguments")) or "{}"
            if item.get("status") not in (None, "completed") and not is_object(arguments):
                return
            self.called = True
            item = {**item, "call_id": words(item.get("call_id")) or f"call_{new_id()}"}
            name = words(item.get("name"))
            yield ToolCall(id=item["call_id"], name=name, arguments=arguments)
        self.items[place if place is not None else len(self.items)] = dict(item)

    def _end(self, kind: str, response: Json) -> Iterator[Event]:
        if kind == "response.failed":
            raise InBand(of(response, "error") or "The provider failed without saying why.")
        for place, item in enumerate(several(of(response, "output"))):
            if place not in self.items and isinstance(item, Mapping):
                yield from self._done(place, item)
        self.ended = kind.removeprefix("response.")
        self.why = words(of(of(response, "incomplete_details"), "reason"))
        self.usage = of(response, "usage")
        self.model = words(of(response, "model")) or self.model

    def end(self) -> Iterator[Event]:
        """The terminal event. Without a last word of the provider, the answer was cut off."""
        yield End(
            finish_reason=self._reason(),
            usage=_usage(self.usage),
            resolved_model=self.model,
            raw=self._raw(),
        )

    def _reason(self) -> FinishReason:
        if self.ended == "incomplete":
            return _CUT.get(self.why, "cut_off")
        if not self.ended:
            return "cut_off"
        if self.refused:
            return "refusal"
        return "tool_call" if self.called else "stop"

    def _raw(self) -> list[dict[str, Json]] | None:
        """The items in order; None unless they hold every word that was said."""
        own = [self.items[place] for place in sorted(self.items, key=_order)]
        kept = "".join(map(_words_in, own))
        if not self.ended or not own or well_formed(kept) != well_formed(self.text):
            return None
        text = json.dumps(own, ensure_ascii=False)
        mended = well_formed(text)
        return own if mended is text else list(json.loads(mended))


def _order(place: Any) -> int:
    return place if isinstance(place, int) else 1_000_000


def _words_in(item: Mapping[str, Json]) -> str:
    """What a message item says, refusals included; nothing for another item."""
    parts = several(item.get("content")) if item.get("type") == "message" else []
    return "".join(words(of(part, "text")) or words(of(part, "refusal")) for part in parts)


def _usage(given: Json) -> Usage:
    """The common record: input includes cached tokens here, output includes reasoning."""
    inputs, outputs = of(given, "input_tokens_details"), of(given, "output_tokens_details")
    return Usage(
        input_tokens=count(of(given, "input_tokens")),
        output_tokens=count(of(given, "output_tokens")),
        cached_tokens=count(of(inputs, "cached_tokens")),
        cache_write_tokens=count(of(inputs, "cache_write_tokens")),
        reasoning_tokens=count(of(outputs, "reasoning_tokens")),
    )
