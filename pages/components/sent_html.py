"""A call and its answer as HTML: every word escaped, long ones folded. Knows no Streamlit."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import assert_never

from core.exchange import Exchange
from core.store.ledger import share
from core.types import (
    AttachmentRef,
    Json,
    Parts,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from core.wire.readable import Piece, PieceKind, Readable, Said, size_words
from pages.components import words

_FOLDS = 1500  # characters; a longer message is folded
_NEVER_OPEN = 20_000
_PEEK = 90
_LABELS: dict[PieceKind, str] = {
    "thinking": "Thinking",
    "call": "Calls",
    "result": "Result of",
    "file": "File",
    "other": "Item",
}
_ROLES = {
    "function_call": "assistant",
    "model": "assistant",
    "reasoning": "assistant",
    "function_call_output": "tool",
}


def request(shown: Readable, last: int) -> str:
    """The last messages of a request, with what stands before them."""
    left_out = max(0, len(shown.messages) - last)
    said = shown.messages[left_out:]
    pieces = [_settings(shown.settings)]
    if shown.tools:
        pieces.append(_tools(shown.tools))
    if shown.system:
        system = Said(
            role="system",
            pieces=(Piece(kind="text", text=shown.system),),
            size=len(shown.system.encode(errors="replace")),
        )
        pieces.append(_said(system, open_=len(shown.system) <= _FOLDS))
    if left_out:
        pieces.append(f'<p class="gap">{words.counted(left_out, "earlier message")}</p>')
    for place, message in enumerate(said, 1):
        length = sum(len(piece.text) for piece in message.pieces)
        most = _NEVER_OPEN if place == len(said) else _FOLDS
        pieces.append(_said(message, open_=length <= most, number=left_out + place))
    return f'<div class="sent">{"".join(pieces)}</div>'


def reply(parts: Parts, began: Parts = ()) -> str:
    """An answer; of what it continues only that it does."""
    pieces = [_piece(piece) for piece in map(_of_part, parts)]
    note = ""
    if began:
        length = words.counted(sum(len(p.text) for p in began if isinstance(p, Text)), "character")
        note = f'<p class="gap">Begins with the {length} of the answer that this call continued</p>'
    nothing = '<p class="gap">Nothing has arrived.</p>'
    return f'<div class="sent">{note}{"".join(pieces) or nothing}</div>'


def pieces(parts: Parts) -> str:
    """The parts of a message, each as it is."""
    return "".join(_piece(_of_part(part)) for part in parts)


def numbers(of: Exchange) -> str:
    """Tokens, cost and times of a call, each with its name."""
    run, usage = of.run, of.run.usage
    failure = run.failure
    running = run.state != "ended"
    cost = "not yet known" if running else words.money(run.cost_nanodollars)
    rows = [
        ("Model", run.config.model),
        ("Answered by", run.resolved_model or words.UNKNOWN),
        ("Provider", of.provider),
        ("Input tokens", words.number(usage.input_tokens)),
        ("Input from a cache", _cached(usage.cached_tokens, usage.input_tokens)),
        ("Input written to a cache", words.number(usage.cache_write_tokens)),
        ("Output tokens", words.number(usage.output_tokens)),
        ("Output spent on thinking", words.number(usage.reasoning_tokens)),
        ("Cost", cost if running or not run.cost_nanodollars else f"\u2248 {cost}"),
        ("First word after", words.duration(run.first_token_ms)),
        ("Took", "still running" if running else words.duration(run.duration_ms)),
        ("Began", words.moment(run.started_at)),
        ("Ended as", words.outcome(run.finish_reason if run.state == "ended" else run.state)),
    ]
    if failure:
        rows += [("Error", failure.kind), ("HTTP status", words.number(failure.status))]
        rows += [("Request id", failure.request_id or words.UNKNOWN)]
    rows.append(("Run", run.id))
    return f'<dl class="sent-numbers">{"".join(_row(*row) for row in rows)}</dl>'


def changes(title: str, changed: Iterable[tuple[str, str, str]]) -> str:
    """Settings that differ: name, before, after."""
    rows = "".join(
        f"<li><b>{escape(name)}</b> {_short(old)} \u2192 {_short(new)}</li>"
        for name, old, new in changed
    )
    return f'<div class="sent-changes"><span>{escape(title)}</span><ul>{rows}</ul></div>'


def _cached(cached: int | None, tokens: int | None) -> str:
    if cached is None:
        return words.UNKNOWN
    part = share(cached, tokens)
    return words.number(cached) + ("" if part is None else f" ({words.percent(part)})")


def _row(name: str, value: str) -> str:
    quiet = ' class="quiet"' if value == words.UNKNOWN else ""
    return f"<div><dt>{escape(name)}</dt><dd{quiet}>{_text(value)}</dd></div>"


def _short(value: str) -> str:
    value = " ".join(value.split())
    short = value if len(value) <= _PEEK else f"{value[:_PEEK]}\u2026"
    return f"<code>{_text(short)}</code>" if value else "<i>unset</i>"


def _settings(settings: Mapping[str, Json]) -> str:
    chips = "".join(
        f"<li><b>{escape(str(name))}</b> {_text(_compact(value))}</li>"
        for name, value in settings.items()
    )
    return f'<ul class="sent-settings">{chips}</ul>' if chips else ""


def _compact(value: Json) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_compact(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_compact, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tools(tools: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f"<li><b>{_text(name)}</b> {_text(' '.join(about.split()))}</li>" for name, about in tools
    )
    head = words.counted(len(tools), "tool")
    return (
        f'<details class="said"><summary><b>{head}</b></summary>'
        f'<ul class="tools">{listed}</ul></details>'
    )


def _said(message: Said, *, open_: bool, number: int | None = None) -> str:
    role = _ROLES.get(message.role, message.role)
    texts = " ".join(piece.text for piece in message.pieces)[: _PEEK * 4]
    peek = " ".join(texts.split())[:_PEEK]
    place = f'<span class="place">{number}</span>' if number else ""
    cached = '<span class="chip" title="A cache breakpoint">cached up to here</span>'
    body = "".join(map(_piece, message.pieces)) or '<p class="gap">Empty</p>'
    return (
        f'<details class="said {escape(role)}"{" open" if open_ else ""}><summary>{place}'
        f'<b>{escape(role)}</b><span class="peek">{_text(peek)}</span>'
        f"{cached if message.cached else ''}"
        f'<span class="size">\u2248 {size_words(message.size)}</span></summary>{body}</details>'
    )


def _piece(piece: Piece) -> str:
    if piece.kind == "text":
        return f"<pre>{_text(piece.text)}</pre>"
    name = f" <code>{_text(piece.name)}</code>" if piece.name else ""
    label = f"{_LABELS[piece.kind]}{name}"
    if piece.kind == "file" and "\n" not in piece.text:
        return f'<p class="piece">{label} {_text(piece.text)}</p>'
    fold = "" if len(piece.text) > _FOLDS or piece.kind == "thinking" else " open"
    return (
        f'<details class="piece"{fold}><summary>{label}</summary>'
        f"<pre>{_text(piece.text)}</pre></details>"
    )


def _of_part(
    part: Text | Thinking | ToolCall | ToolResult | AttachmentRef,
) -> Piece:
    match part:
        case Text():
            return Piece(kind="text", text=part.text)
        case Thinking():
            return Piece(kind="thinking", text=part.text)
        case ToolCall():
            return Piece(kind="call", text=part.arguments, name=part.name)
        case ToolResult():
            return Piece(kind="result", text=part.text, name=part.name)
        case AttachmentRef():
            return Piece(kind="file", text=part.media_type, name=part.name)
        case _:
            assert_never(part)


def _text(text: str) -> str:
    """Text as it is; NUL has no glyph and is shown by its symbol."""
    return escape(text.replace("\0", "\u2400"))
