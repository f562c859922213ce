"""The chunks of a Gemini answer become events, as pure values."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from core.errors import BadReply
from core.types import Delta, End, Event, FinishReason, Json, ToolCall, Usage, new_id, well_formed

_REASONS: dict[str, FinishReason] = {
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "OTHER": "cut_off",
    "NO_IMAGE": "cut_off",
    "IMAGE_OTHER": "cut_off",
    "FINISH_REASON_UNSPECIFIED": "cut_off",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "ESCALATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "MODEL_ARMOR": "content_filter",
}
_BROKEN = {
    "MALFORMED_FUNCTION_CALL": "The model wrote a tool call that cannot be read.",
    "UNEXPECTED_TOOL_CALL": "The model called a tool that it was not given.",
    "TOO_MANY_TOOL_CALLS": "The model called too many tools in one answer.",
    "MALFORMED_RESPONSE": "The model's answer cannot be read.",
    "MISSING_THOUGHT_SIGNATURE": "The provider misses the signature of an earlier tool call.",
}


@dataclass(slots=True)
class Answer:
    """What has come of an answer so far."""

    finish: str = ""
    blocked: str = ""
    called: bool = False
    parts: list[dict[str, Json]] = field(default_factory=list)
    usage: Mapping[str, Json] = field(default_factory=dict)
    model: str | None = None

    def take(self, chunk: Mapping[str, Json]) -> Iterator[Event]:
        """The events of one chunk. Only the first candidate counts; anything may be missing.

        Raises :class:`InBand` when the chunk is a complaint.
        """
        if chunk.get("error"):
            raise InBand(chunk["error"])
        self.usage = _object(chunk, "usageMetadata") or self.usage
        self.model = chunk.get("modelVersion") or self.model
        self.blocked = _object(chunk, "promptFeedback").get("blockReason") or self.blocked
        for candidate in (chunk.get("candidates") or [])[:1]:
            for part in _object(candidate, "content").get("parts") or []:
                if isinstance(part, dict):
                    self._keep(part)
                    yield from self._told(part)
            self.finish = candidate.get("finishReason") or self.finish

    def _told(self, part: Mapping[str, Json]) -> Iterator[Event]:
        text, function = part.get("text"), _object(part, "functionCall")
        if function.get("name"):
            self.called = True
            arguments = well_formed(json.dumps(function.get("args") or {}, ensure_ascii=False))
            key = function.get("id") or f"call_{new_id()}"
            yield ToolCall(id=key, name=function["name"], arguments=arguments)
        elif isinstance(text, str) and text:
            yield Delta(text=text, kind="thinking" if part.get("thought") else "text")

    def _keep(self, part: dict[str, Json]) -> None:
        """Keep the part to be given back. Words are joined, but never what is signed."""
        plain = set(part) <= {"text", "thought"} and isinstance(part.get("text"), str)
        last = self.parts[-1] if self.parts else {}
        joins = set(last) <= {"text", "thought"} and last.get("thought") == part.get("thought")
        if plain and not part["text"]:
            return
        if plain and last and joins:
            self.parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            self.parts.append(part)

    def end(self) -> Iterator[Event]:
        """The terminal event. Raises :class:`BadReply` where the model lost its thread."""
        if self.finish in _BROKEN:
            raise BadReply(_BROKEN[self.finish])
        raw = json.loads(well_formed(json.dumps(self.parts, ensure_ascii=False)))
        yield End(
            finish_reason=self._reason(),
            usage=_usage(self.usage),
            resolved_model=self.model,
            raw=raw or None,
        )

    def _reason(self) -> FinishReason:
        if self.blocked:
            return "content_filter"
        if not self.finish:
            return "cut_off"
        reason = _REASONS.get(self.finish, "stop")
        return "tool_call" if reason == "stop" and self.called else reason


class InBand(Exception):
    """The provider complains in the middle of its answer; ``body`` says of what."""

    def __init__(self, body: Json) -> None:
        super().__init__("complaint in the stream")
        self.body = body


def _object(thing: Json, name: str) -> Mapping[str, Json]:
    """A field that is an object; an empty one where there is none."""
    found = thing.get(name) if isinstance(thing, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _usage(given: Mapping[str, Json]) -> Usage:
    """The common record: the prompt includes what was cached, thoughts are counted apart."""
    return Usage(
        input_tokens=_sum(given.get("promptTokenCount"), given.get("toolUsePromptTokenCount")),
        output_tokens=_sum(given.get("candidatesTokenCount"), given.get("thoughtsTokenCount")),
        cached_tokens=_sum(given.get("cachedContentTokenCount")),
        reasoning_tokens=_sum(given.get("thoughtsTokenCount")),
    )


def _sum(*counts: Json) -> int | None:
    known = [n for n in counts if isinstance(n, int) and not isinstance(n, bool)]
    return sum(known) if known else None
