"""Anthropic's Messages protocol, the way back: events of the stream become ours, and so do
complaints. Anything may be missing or unknown. No SDK, no network.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from core.types import (
    Delta,
    End,
    Event,
    FinishReason,
    Json,
    ToolCall,
    Usage,
    new_id,
)
from core.wire.complaints import Complaint, read
from core.wire.messages import usual_budget
from core.wire.messages_turns import Block, encodable, replayed

_REASONS: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    # The provider rests in the middle of a long turn: there is more, if asked to go on.
    "pause_turn": "length",
    "tool_use": "tool_call",
    "refusal": "refusal",
    "content_filter": "content_filter",
}
_UNFINISHED = frozenset({"", "max_tokens", "model_context_window_exceeded", "content_filter"})
_FILTERED = re.compile(r"blocked by content filter", re.IGNORECASE)


class InBand(Exception):
    """The provider complains in the middle of its answer; ``body`` says of what."""

    def __init__(self, body: Json) -> None:
        super().__init__("complaint in the stream")
        self.body = body


@dataclass(slots=True)
class Answer:
    """What has come of an answer so far. ``inputs`` is the JSON of tool calls as it arrives."""

    finish: str = ""
    spoke: bool = False
    model: str | None = None
    details: Json = None
    usage: dict[str, Json] = field(default_factory=dict)
    blocks: dict[int, Block] = field(default_factory=dict)
    inputs: dict[int, str] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)
    broken: list[ToolCall] = field(default_factory=list)

    def take(self, event: Mapping[str, Json]) -> Iterator[Event]:
        """Our events for one of theirs. Raises :class:`InBand` when it is a complaint."""
        kind, index = event.get("type"), event.get("index")
        place = index if isinstance(index, int) else len(self.blocks)
        if kind == "error" or event.get("error"):
            if not _FILTERED.search(str(_of(event.get("error"), "message"))):
                raise InBand(event)
            self.finish = "content_filter"
        elif kind == "message_start":
            message = event.get("message")
            self.model = _of(message, "model") or self.model
            self._count(_of(message, "usage"))
        elif kind == "content_block_start":
            block = event.get("content_block")
            self.blocks[place] = dict(block) if isinstance(block, Mapping) else {}
            yield from self._said(_of(block, "text"), "text")
            yield from self._said(_of(block, "thinking"), "thinking")
        elif kind == "content_block_delta":
            yield from self._grow(place, event.get("delta"))
        elif kind == "content_block_stop" and place in self.blocks:
            yield from self._close(place)
        elif kind == "message_delta":
            self.finish = _of(event.get("delta"), "stop_reason") or self.finish
            self.details = _of(event.get("delta"), "stop_details") or self.details
            self._count(event.get("usage"))

    def _said(self, words: Json, kind: str) -> Iterator[Event]:
        if isinstance(words, str) and words:
            self.spoke = self.spoke or kind == "text"
            yield Delta(text=words, kind="thinking" if kind == "thinking" else "text")

    def _grow(self, place: int, delta: Json) -> Iterator[Event]:
        """One more piece of a block."""
        kind = _of(delta, "type")
        if kind == "input_json_delta":
            piece = _of(delta, "partial_json")
            self.inputs[place] = self.inputs.get(place, "") + (
                piece if isinstance(piece, str) else ""
            )
        elif kind == "citations_delta":
            block = self.blocks.setdefault(place, {"type": "text", "text": ""})
            block["citations"] = [*(block.get("citations") or []), _of(delta, "citation")]
        elif kind in ("text_delta", "thinking_delta", "signature_delta"):
            name = kind.removesuffix("_delta")
            block = self.blocks.setdefault(
                place, {"type": "text" if name == "text" else "thinking"}
            )
            piece = _of(delta, name)
            if isinstance(piece, str):
                block[name] = (block.get(name) or "") + piece
                yield from self._said(piece if name != "signature" else "", name)

    def _close(self, place: int) -> Iterator[Event]:
        """A block is complete; a call for a tool is handed on whole, unless its JSON is not."""
        block = self.blocks[place]
        self.whole.add(place)
        text = self.inputs.get(place, "")
        if text:
            with suppress(ValueError):
                block["input"] = json.loads(text)
        if block.get("type") != "tool_use":
            return
        block["id"] = block.get("id") or f"toolu_{new_id()}"
        text = text or json.dumps(block.get("input") or {})
        call = ToolCall(id=block["id"], name=str(block.get("name") or ""), arguments=text)
        if not _is_object(text):
            self.whole.discard(place)
            self.broken.append(call)
        elif call.name:
            yield call

    def end(self) -> Iterator[Event]:
        """What was left to say, then the terminal event."""
        broken = [] if self.finish in _UNFINISHED else self.broken
        yield from broken
        refused = self.finish == "refusal"
        if refused and (why := self._refusal()):
            yield Delta(text=f"\n\n{why}" if self.spoke else why)
        yield End(
            finish_reason=_REASONS.get(self.finish, "stop") if self.finish else "cut_off",
            usage=self._usage(),
            resolved_model=self.model,
            # What was refused would be refused again; what is not JSON cannot be given back.
            raw=None if refused or broken else self._raw(),
        )

    def _refusal(self) -> str:
        """Why the provider would not go on, as far as it says."""
        explanation, category = _of(self.details, "explanation"), _of(self.details, "category")
        return str(explanation or (f"Refused ({category})." if category else ""))

    def _raw(self) -> Json:
        """The provider's own blocks, those that are fit to be given back."""
        blocks = [
            {name: encodable(value) for name, value in block.items() if value is not None}
            for place, block in sorted(self.blocks.items())
            if block.get("type") == "text" or place in self.whole
        ]
        unsigned = [b for b in blocks if b.get("type") == "thinking" and not b.get("signature")]
        return replayed([block for block in blocks if block not in unsigned]) or None

    def _count(self, usage: Json) -> None:
        """Later counts replace earlier ones; what is not told stays."""
        if isinstance(usage, Mapping):
            self.usage |= {name: value for name, value in usage.items() if value is not None}

    def _usage(self) -> Usage:
        """The common record. Here input leaves out what the cache gave and took."""
        fresh = _number(self.usage.get("input_tokens"))
        cached = _number(self.usage.get("cache_read_input_tokens"))
        kept = _number(self.usage.get("cache_creation_input_tokens"))
        details = self.usage.get("output_tokens_details")
        return Usage(
            input_tokens=None if fresh is None else fresh + (cached or 0) + (kept or 0),
            output_tokens=_number(self.usage.get("output_tokens")),
            cached_tokens=cached,
            cache_write_tokens=kept,
            reasoning_tokens=_number(_of(details, "thinking_tokens")),
        )


def _of(thing: Json, name: str) -> Json:
    """A field, None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else None


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_object(text: str) -> bool:
    with suppress(ValueError):
        return isinstance(json.loads(text), dict)
    return False


# --- complaints ----------------------------------------------------------------------------

_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_NO_MONEY = re.compile(r"credit balance|spend limit|usage limits", re.IGNORECASE)


def complaint(
    body: Json, *, status: int | None, headers: Mapping[str, str], knobs: Mapping[str, str]
) -> Complaint:
    """What the provider said, read out of an error body or an event of the stream."""
    inner = _of(body, "error") or body
    kind, text = _of(inner, "type"), str(_of(inner, "message") or "")
    if status is None or status < 300:
        # In the stream the status is that of the beginning: all was well then.
        status = _STATUS.get(str(kind))
    # Of a message it is never a knob that is wrong, though its words may name one.
    knobs = {} if text.startswith("messages") else knobs
    ids = {"x-request-id": headers.get("request-id") or _of(body, "request_id") or ""}
    made = read(inner, status=status, headers={**headers, **ids}, knobs=knobs)
    code = str(_of(_of(inner, "details"), "error_code") or "")
    if _NO_MONEY.search(text) or code.endswith("spend_limit_reached"):
        return replace(made, codes=made.codes | {"billing_error"})
    if kind == "not_found_error" and text.startswith("model"):
        return replace(made, parameter="model")
    return made


def blamable(envelope: Mapping[str, Json], ours: Collection[str]) -> dict[str, str]:
    """The settings of a request: their names on the wire, with those the person knows."""
    named = {name: name for name in envelope if name not in ours}
    if _of(envelope.get("output_config"), "effort"):
        named["effort"] = "effort"
    budget = _of(envelope.get("thinking"), "budget_tokens")
    if budget is not None:
        # A budget that nobody chose came with the thinking, and goes with it.
        usual = usual_budget(_number(envelope.get("max_tokens")) or 0)
        named["budget_tokens"] = "thinking" if budget == usual else "budget_tokens"
    return named
