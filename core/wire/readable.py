"""What goes over the wire, laid out for a person: system text, messages, tools, settings.

Reads the shapes that the protocols share rather than their names, so that a protocol which is
new here is laid out too; what is not understood is shown as it is. Nothing is ever sent from
this: it is a way of looking.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.types import Json

PieceKind = Literal["text", "thinking", "call", "result", "file", "other"]

_MESSAGES = ("messages", "input", "contents")
_SYSTEM = ("system", "instructions", "systemInstruction")
_INSIDE = ("content", "parts", "text", "summary")
_CALLS = ("tool_calls", "functionCall", "function")
_ENCODED = frozenset(
    {"data", "file_data", "image_url", "url", "encrypted_content", "signature", "thoughtSignature"}
)
_LONG = 200  # characters; shorter codes can be read past


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part of a message. ``name`` is that of a tool or file."""

    kind: PieceKind
    text: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message. ``size`` is its JSON in bytes; ``cached`` tells of a cache breakpoint."""

    role: str
    pieces: tuple[Piece, ...]
    size: int
    cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Readable:
    """A request laid out. ``tools`` are names with descriptions, ``settings`` all the rest."""

    system: str
    messages: tuple[Said, ...]
    tools: tuple[tuple[str, str], ...]
    settings: Mapping[str, Json]


def readable(body: Mapping[str, Json]) -> Readable:
    """A request's JSON, laid out."""
    rest = dict(body)
    rest.pop("model", None)
    system = next((rest.pop(name) for name in _SYSTEM if name in rest), "")
    messages: Sequence[Json] = next(
        (rest.pop(name) for name in _MESSAGES if _is_list(rest.get(name))), ()
    )
    tools = tuple(_tools(rest.pop("tools", None)))
    return Readable(
        system="\n\n".join(piece.text for piece in _pieces(system)),
        messages=tuple(map(said, messages)),
        tools=tools,
        settings=rest,
    )


def said(message: Json) -> Said:
    """A message of a request, or an item of a reply."""
    body = json.dumps(message, ensure_ascii=False)
    of = message if isinstance(message, Mapping) else {}
    return Said(
        role=str(of.get("role") or of.get("type") or "message"),
        pieces=tuple(_pieces(message)),
        size=len(body.encode(errors="replace")),
        cached='"cache_control": {' in body and _has_breakpoint(message),
    )


def elided(value: Json, key: str = "", kind: str = "") -> Json:
    """The same JSON with encoded files and signatures named by kind and size instead."""
    if isinstance(value, Mapping):
        kind = str(value.get("media_type") or value.get("mimeType") or "")
        return {name: elided(inner, name, kind) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [elided(inner, key, kind) for inner in value]
    if isinstance(value, str) and key in _ENCODED and len(value) > _LONG and " " not in value:
        if key.endswith("url") and not value.startswith("data:"):
            return value
        return f"\u2039{encoded_size(value, kind)}\u203a"
    return value


def encoded_size(text: str, kind: str = "") -> str:
    """What some base64 is, in words: "image/png, 48 kB"."""
    if text.startswith("data:"):
        head, _, text = text.partition(",")
        kind = head[len("data:") :].partition(";")[0] or kind
    amount = len(text.rstrip("=")) * 3 // 4
    return f"{kind or 'encoded'}, {size_words(amount)}"


def size_words(amount: int) -> str:
    """Bytes as a size a person can judge."""
    if amount < 1000:
        return f"{amount} B"
    if amount < 1_000_000:
        return f"{amount / 1000:.1f} kB" if amount < 10_000 else f"{amount / 1000:.0f} kB"
    return f"{amount / 1_000_000:.1f} MB"


# --- the pieces of a message ---------------------------------------------------------------


def _pieces(value: Json) -> Iterator[Piece]:
    """What a message or block holds, in order."""
    if isinstance(value, str):
        if value:
            yield Piece(kind="text", text=value)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _pieces(inner)
    elif isinstance(value, Mapping):
        piece = _thought(value) or _file(value) or _result(value) or _call(value)
        if piece is not None:
            yield piece
        else:
            yield from _message(value)


def _message(value: Mapping[str, Json]) -> Iterator[Piece]:
    """A message around its pieces, or a block of a kind that is not known here."""
    found = False
    names = ("thinking", "reasoning_content", *_INSIDE, "refusal", "files", *_CALLS, "tool_results")
    for name in names:
        inner = value.get(name)
        if not inner:
            continue
        found = True
        if name in ("thinking", "reasoning_content") and isinstance(inner, str):
            yield Piece(kind="thinking", text=inner)
        else:
            yield from _pieces(inner)
    known = {"role", "type", "id", "status", *names}
    if not found and set(value) - known:
        yield Piece(kind="other", text=_json(elided(value)), name=str(value.get("type") or ""))


def _thought(block: Mapping[str, Json]) -> Piece | None:
    kind = block.get("type")
    if kind == "thinking" or (block.get("thought") is True and "text" in block):
        words = block.get("thinking") or block.get("text") or ""
        return Piece(kind="thinking", text=str(words) or "(not shown by the provider)")
    if kind in ("reasoning", "redacted_thinking"):
        words = "\n\n".join(p.text for p in _pieces([block.get("summary"), block.get("content")]))
        hidden = block.get("encrypted_content") or block.get("data")
        note = f"({encoded_size(str(hidden), 'encrypted')})" if hidden else ""
        return Piece(kind="thinking", text="\n".join(filter(None, [words, note])))
    return None


def _file(block: Mapping[str, Json]) -> Piece | None:
    """An attachment, by what it is and how large."""
    source = next(
        (block[n] for n in ("source", "inlineData", "file", "image_url") if block.get(n)), block
    )
    inner = source if isinstance(source, Mapping) else {"url": source}
    data = inner.get("data") or inner.get("file_data") or inner.get("url")
    if block.get("type") in (None, "image", "document", "file", "input_file", "input_image",
                             "image_url") and isinstance(data, str):  # fmt: skip
        kind = str(inner.get("media_type") or inner.get("mimeType") or "")
        names = (inner.get("filename"), block.get("title"), block.get("filename"))
        plain = inner.get("type") == "text" or (data.startswith("http") and "," not in data)
        words = data if plain else encoded_size(data, kind)
        return Piece(kind="file", text=words, name=str(next(filter(None, names), "")))
    if "sha256" in block:
        return Piece(kind="file", text=f"sha256 {block['sha256']}", name=str(block.get("name", "")))
    return None


def _result(block: Mapping[str, Json]) -> Piece | None:
    answer = block.get("functionResponse")
    if isinstance(answer, Mapping):
        words = _json(answer.get("response"))
        return Piece(kind="result", text=words, name=str(answer.get("name", "")))
    call = next((block[n] for n in ("tool_use_id", "tool_call_id", "call_id") if block.get(n)), "")
    inner = next((block[n] for n in ("output", "content", "text") if n in block), None)
    if not call or inner is None or "arguments" in block:
        return None
    words = inner if isinstance(inner, str) else "\n".join(p.text for p in _pieces(inner))
    return Piece(kind="result", text=words, name=str(block.get("name") or call))


def _call(block: Mapping[str, Json]) -> Piece | None:
    inner = block.get("functionCall") or block.get("function") or block
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        return None
    given = next((inner[n] for n in ("arguments", "input", "args") if n in inner), None)
    if given is None:
        return None
    words = given if isinstance(given, str) else _json(given)
    return Piece(kind="call", text=words, name=inner["name"])


def _tools(given: Json) -> Iterator[tuple[str, str]]:
    for tool in given if _is_list(given) else ():
        if not isinstance(tool, Mapping):
            yield str(tool), ""
            continue
        declared = tool.get("functionDeclarations") or [tool.get("function") or tool]
        for one in declared:
            yield str(one.get("name") or one.get("type") or "tool"), str(one.get("description", ""))


def _has_breakpoint(value: Json) -> bool:
    if isinstance(value, Mapping):
        return "cache_control" in value or any(map(_has_breakpoint, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_breakpoint, value))


def _is_list(value: Json) -> bool:
    return isinstance(value, list | tuple)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def shortened(body: Mapping[str, Json], last: int) -> tuple[dict[str, Json], int]:
    """The same JSON with only its last messages, and how many were left out."""
    short = dict(body)
    for name in _MESSAGES:
        messages = short.get(name)
        if isinstance(messages, list | tuple) and len(messages) > last:
            left_out = len(messages) - last
            short[name] = [f"\u2026 {left_out:,} earlier \u2026", *messages[left_out:]]
            return short, left_out
    return short, 0
