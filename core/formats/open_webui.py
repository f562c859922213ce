"""Open WebUI: chats as its export writes them, all, one, or the bare chat of older versions.

``[{id, title, chat: {history: {currentId, messages: {id: …}}}}]``. The map of messages is the
truth and its keys are the ids; where ``parentId`` and ``childrenIds`` disagree the parent wins
and the lists give the order. An answer of several models is several children of one question.
Reasoning and tools stand folded in an answer's text as ``<details type="reasoning">`` and once
more in ``output``; dates are seconds, of the chat itself milliseconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.formats._open_webui_folds import bare, output_of, unfolded
from core.interchange import fields, outline, streams
from core.interchange.attached import Attached, joined
from core.interchange.growing import RATINGS, TAGS, Grain, grow, left_out, line
from core.interchange.times import iso
from core.types import (
    Carried,
    Damaged,
    Json,
    LeftOut,
    MarkKind,
    Parts,
    Role,
    Source,
    Text,
    ToolResult,
    text_of,
)

Message = Mapping[str, Json]
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


class OpenWebUI:
    """Chats with all their branches and every model's answer."""

    name = "open_webui"
    label = "Open WebUI"

    def recognise(self, source: Source) -> float:
        """Sure of a history that is a map of messages with parents, children or a current one."""
        keys = outline.paths(source)
        if "version" in keys or "mapping" in keys:
            return 0.0
        for chat in ("chat.", ""):
            tree = f"{chat}history.messages."
            if f"{chat}history.currentId" in keys or any(
                key.startswith(tree) and key.endswith((".parentId", ".childrenIds")) for key in keys
            ):
                return 0.97
        if "chat" in keys and keys & {"chat.messages", "chat.models", "chat.params"}:
            return 0.9
        return 0.93 if {"title", "models", "messages.content", "timestamp"} <= keys else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The chats, in their order."""
        yield from streams.each(streams.values(source), _conversation)


def _conversation(value: Json) -> Carried:
    chat = fields.mapping(value, "chat") or value
    if not isinstance(chat, Mapping) or not ("history" in chat or "messages" in chat):
        raise ValueError("there is no chat with messages in it")
    messages, strangers = _messages(chat)
    attached = Attached()
    grains = [_grain(key, message, attached) for key, message in messages.items()]
    parents, put_right = _parents(messages)
    repairs = [f"{strangers} entries among the messages are none"] if strangers else []
    if put_right:
        repairs.append("lost parents were found again in the lists of children")
    if len(messages) > 1 and not any(parents.values()):
        grown = line(grains)
    else:
        current = fields.mapping(chat, "history").get("currentId")
        if not isinstance(current, str) or current not in messages:
            if current:
                repairs.append(
                    "currentId names a message that is not there; the newest path was opened"
                )
            current = _newest(messages, parents)
        grown = grow((_hung(grain, parents, messages) for grain in grains), current)
    return Carried(
        key=fields.name_of(fields.mapping(value).get("id"))
        or fields.name_of(chat.get("id"))
        or streams.fingerprint(fields.words(chat, "title"), next(iter(messages), "")),
        title=fields.words(value, "title") or fields.words(chat, "title"),
        nodes=grown.nodes,
        branches=grown.branches,
        at=iso(fields.mapping(value).get("created_at")) or iso(chat.get("timestamp")),
        updated_at=iso(fields.mapping(value).get("updated_at")),
        system=fields.words(fields.mapping(chat, "params"), "system")
        or fields.words(chat, "system"),
        model=next((one for one in fields.several(chat, "models") if isinstance(one, str)), ""),
        files=attached.files,
        left_out=grown.left_out + attached.left_out() + _left_out(value, chat, messages),
        repairs=(*repairs, *grown.repairs),
    )


# --- the tree ---


def _messages(chat: Message) -> tuple[dict[str, Message], int]:
    """The messages by their ids, and how many entries are none. Raises ``ValueError``."""
    held = fields.mapping(chat, "history").get("messages")
    entries: list[tuple[str, Json]] = []
    if isinstance(held, Mapping):
        entries = list(held.items())
    elif isinstance(held, list):
        entries = _by_id(held)
    if not entries:
        entries = _by_id(fields.several(chat, "messages"))
    found = {key: one for key, one in entries if isinstance(one, Mapping)}
    if entries and not found:
        raise ValueError("none of its messages can be read")
    return found, len(entries) - len(found)


def _by_id(messages: Sequence[Json]) -> list[tuple[str, Json]]:
    found: dict[str, Json] = {}
    for place, message in enumerate(messages):
        key = fields.name_of(message.get("id")) if isinstance(message, Mapping) else ""
        found[key if key and key not in found else f"{key}#{place}"] = message
    return list(found.items())


def _parents(messages: Mapping[str, Message]) -> tuple[dict[str, str | None], bool]:
    """Who hangs on whom, and whether a list of children had to help out. A parent that is named
    but is gone stays named: that is told further on."""
    listed: dict[str, str] = {}
    for key, message in messages.items():
        for child in fields.several(message, "childrenIds"):
            if isinstance(child, str) and child != key:
                listed.setdefault(child, key)
    found: dict[str, str | None] = {}
    helped = False
    for key, message in messages.items():
        named = message.get("parentId")
        parent = named if isinstance(named, str) and named else None
        if (parent is None or parent not in messages) and key in listed:
            parent, helped = listed[key], True
        found[key] = parent
    return found, helped


def _hung(
    grain: Grain, parents: Mapping[str, str | None], messages: Mapping[str, Message]
) -> Grain:
    order = fields.several(messages[grain.key], "childrenIds")
    return replace(
        grain,
        parent=parents[grain.key],
        order=tuple(one for one in order if isinstance(one, str)),
    )


def _newest(messages: Mapping[str, Message], parents: Mapping[str, str | None]) -> str | None:
    """The newest end of the largest tree; of equals the last."""
    roots: dict[str, str] = {}
    for start in messages:
        path: list[str] = []
        key = start
        on_path: set[str] = set()
        while key not in roots and key not in on_path:
            path.append(key)
            on_path.add(key)
            above = parents[key]
            if above is None or above not in messages:
                break
            key = above
        root = roots.get(key, key)
        roots.update(dict.fromkeys(path, root))
    sizes: dict[str, int] = {}
    for root in roots.values():
        sizes[root] = sizes.get(root, 0) + 1
    inner = set(parents.values())
    ends = [key for key in messages if key not in inner]
    best = None
    for key in ends:
        rank = (sizes[roots[key]], iso(messages[key].get("timestamp")) or "")
        if best is None or rank >= best[0]:
            best = rank, key
    return best[1] if best else None


# --- one message ---


def _grain(key: str, message: Message, attached: Attached) -> Grain:
    role = fields.words(message, "role")
    absent: list[str] = []
    parts = (*_parts(message, role, attached), *_files(message, attached, absent))
    return Grain(
        key=key,
        parent=None,
        role=_ROLES.get(role, "assistant"),
        parts=parts,
        kind="machinery" if role == "tool" else "shown",
        at=iso(message.get("timestamp")),
        model=fields.words(message, "model", "modelName") if role == "assistant" else "",
        marks=joined(attached.missing(absent), _trouble(message)),
    )


def _parts(message: Message, role: str, attached: Attached) -> Parts:
    content = message.get("content")
    if role == "tool":
        return (ToolResult(call_id="", name="", text=streams.compact(content or "")),)
    if isinstance(content, list):
        return _listed(content, attached)
    said = content if isinstance(content, str) else ""
    if role != "assistant":
        return (Text(text=said),) if said else ()
    shown = unfolded(said)
    output = output_of(fields.objects(message, "output"))
    if not output:
        return shown
    words = text_of(shown)
    if not words.strip() or bare(words) == bare(text_of(output)):
        return output
    # The text was edited after it was written: what was seen counts.
    machinery = tuple(part for part in output if not isinstance(part, Text))
    return (*machinery, Text(text=words))


def _listed(content: Sequence[Json], attached: Attached) -> Parts:
    found: list[Any] = []
    for part in content:
        if isinstance(part, str):
            found.append(Text(text=part))
        elif words := fields.words(part, "text"):
            found.append(Text(text=words))
        elif url := fields.words(fields.mapping(part, "image_url"), "url"):
            found.append(attached.data_url(url))
    return tuple(part for part in found if part is not None)


def _trouble(message: Message) -> Mapping[MarkKind, str]:
    """What a note says of an answer that failed or was not written to its end."""
    if error := message.get("error"):
        told = error.get("content") if isinstance(error, Mapping) else error
        return {"note": f"Error there: {told}" if isinstance(told, str) else "Error there"}
    return {"note": "Not written to its end there"} if message.get("done") is False else {}


def _files(message: Message, attached: Attached, absent: list[str]) -> Iterator[Any]:
    """The files of a message; names without content are added to ``absent``."""
    for file in fields.objects(message, "files"):
        inner = fields.mapping(file, "file")
        name = fields.words(file, "name", "filename") or fields.words(inner, "filename", "name")
        url = fields.words(file, "url")
        if found := attached.data_url(url, name):
            yield found
        elif words := fields.words(fields.mapping(inner, "data"), "content"):
            yield attached.text(words, name or "document.txt")
        else:
            absent.append(name or fields.words(file, "title", "type") or "a file")


def _left_out(value: Json, chat: Message, messages: Mapping[str, Message]) -> tuple[LeftOut, ...]:
    tags = fields.several(fields.mapping(value, "meta"), "tags") or fields.several(chat, "tags")
    sources = sum(len(fields.several(message, "sources")) for message in messages.values())
    return left_out(
        {
            ("sources of answers", "only the words of an answer come along"): sources,
            RATINGS: fields.filled(messages.values(), "annotation"),
            TAGS: len(tags),
        }
    )


FORMAT = OpenWebUI()
