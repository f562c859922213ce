"""Claude: the account export, what browser tools capture of the web app, and older files.

A conversation is ``chat_messages`` (or ``messages``) of senders human and assistant; a list of
them, one alone, or ``{"conversations": […]}``. Words are in the text blocks of ``content``. The
top-level ``text`` is taken only where there are no blocks: in account exports it is thinking and
answer glued together, and holds a stand-in for what a device could not show. Thinking, tools and
artifacts stay in the answer, in their order; a person's message that holds tool results alone
belongs to the answer that follows. Files with ``parent_message_uuid`` are trees whose messages
come in any order; without it the list is the conversation. Pasted text is in
``extracted_content``; of other files only the names are there.
"""

from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from mimetypes import guess_type
from typing import Any

from core.errors import BadFile
from core.interchange import exports, fields, outline, streams, times
from core.interchange.growing import Grain, grow, left_out
from core.types import (
    AttachmentRef,
    Carried,
    CarriedNode,
    Damaged,
    Json,
    MarkKind,
    Part,
    Parts,
    Role,
    Source,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    well_formed,
)

_PROVIDER = "anthropic"
_ROLES: Mapping[str, Role] = {"human": "user", "user": "user", "system": "system"}
_ROOTS = frozenset(
    {"", "00000000-0000-4000-8000-000000000000", "00000000-0000-0000-0000-000000000000"}
)
_STAND_IN = "This block is not supported on your current device yet."
_SPEAKS = {("messages", "sender"), ("messages", "uuid")}
_NOT_THERE = "their bytes are not in the file"
_SPOKEN = frozenset({"text", "voice_note", "image", "document", "file"})
_WORDLESS = ("token_budget",)


class Claude:
    """Account exports and captures of claude.ai."""

    name = "claude"
    label = "Claude"

    def recognise(self, source: Source) -> float:
        """Sure of ``chat_messages``, in a file or in one of an archive's."""
        return 0.95 if exports.holds(source, _has_messages) else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversations, in their order."""
        yield from exports.conversations(
            source, _has_messages, lambda value: _Reading(value).carried()
        )


def _has_messages(paths: outline.Keys) -> bool:
    return ("chat_messages",) in paths or paths >= _SPEAKS


class _Reading:
    """One conversation while it is read, and what is counted on the way."""

    def __init__(self, value: Json) -> None:
        if not isinstance(value, dict):
            raise BadFile("It is no conversation, but a value of another kind.")
        if "chat_messages" not in value and "messages" not in value:
            raise BadFile("It has no list of messages.")
        self._value = value
        self._files: dict[str, Callable[[], bytes]] = {}
        self._lost: Counter[tuple[str, str]] = Counter()

    def carried(self) -> Carried:
        """The conversation."""
        value = self._value
        messages = self._messages()
        keys = [
            fields.words(message, "uuid", "id") or f"#{place}"
            for place, message in enumerate(messages)
        ]
        parents = _parents(messages, keys)
        waiting = {
            parent
            for message, parent in zip(messages, parents, strict=True)
            if parent is not None and _only_results(message)
        }
        grains = [
            self._grain(key, parent, message, waiting)
            for key, parent, message in zip(keys, parents, messages, strict=True)
        ]
        leaf = well_formed(fields.words(value, "current_leaf_message_uuid"))
        grown = grow(grains, leaf or _newest(keys, parents), named="its current leaf")
        system, grown = exports.lift_system(grown)
        model = fields.words(value, "model")
        return Carried(
            key=self._key(messages),
            title=fields.words(value, "name", "title") or _first_words(grown.nodes),
            nodes=grown.nodes,
            branches=grown.branches,
            at=times.iso(value.get("created_at")),
            updated_at=times.iso(value.get("updated_at")),
            system=system,
            model=model,
            provider=_PROVIDER if model else "",
            files=self._files,
            left_out=left_out(self._lost) + grown.left_out,
            repairs=grown.repairs,
        )

    def _messages(self) -> list[Mapping[str, Json]]:
        """In an order that siblings can keep: by time where there are parents, else as listed."""
        listed = fields.several(self._value, "chat_messages") or fields.several(
            self._value, "messages"
        )
        messages: list[Mapping[str, Json]] = [one for one in listed if isinstance(one, dict)]
        if len(messages) < len(listed):
            lost = len(listed) - len(messages)
            self._lost["empty entries", "there is no message in them"] += lost
        if any(_parent(message) for message in messages):
            dated: list[tuple[str, int, Mapping[str, Json]]] = []
            last = ""
            for place, message in enumerate(messages):
                last = times.iso(message.get("created_at")) or last
                dated.append((last, place, message))
            dated.sort(key=lambda one: one[:2])
            messages = [message for *_, message in dated]
        return messages

    def _key(self, messages: Sequence[Mapping[str, Json]]) -> str:
        """Its id, or one made of what stays when a conversation goes on."""
        given = fields.words(self._value, "uuid", "id", "conversation_id")
        if given:
            return given
        began = times.iso(self._value.get("created_at"))
        first = [fields.words(message, "uuid", "text") for message in messages[:1]]
        return streams.fingerprint(began, fields.words(self._value, "name", "title"), first)

    # --- a message ---

    def _grain(
        self, key: str, parent: str | None, message: Mapping[str, Json], waiting: set[str]
    ) -> Grain:
        sender = fields.words(message, "sender", "role")
        role = _ROLES.get(sender, "assistant")
        said = _Said(key, self._files, self._lost)
        parts = said.parts(message)
        marks: dict[MarkKind, str] = {}
        if said.missing:
            whose = "its bytes are" if len(said.missing) == 1 else "their bytes are"
            named = ", ".join(said.missing)
            marks["note"] = f"Attached there: {named} ({whose} not in the file)"
        kind: Any = "shown" if parts or marks else "hidden"
        if kind == "shown" and (_only_results(message) or (role == "assistant" and key in waiting)):
            kind = "machinery"
            parts = _closed(parts)
        model = fields.words(message, "model") or fields.words(self._value, "model")
        return Grain(
            key=key,
            parent=parent,
            role=role,
            parts=parts,
            kind=kind,
            at=times.iso(message.get("created_at")),
            model=model if role == "assistant" else "",
            provider=_PROVIDER if role == "assistant" else "",
            marks=marks,
        )


class _Said:
    """The parts of one message, block by block."""

    def __init__(
        self,
        key: str,
        files: dict[str, Callable[[], bytes]],
        lost: Counter[tuple[str, str]],
    ) -> None:
        self._key, self._files, self._lost = key, files, lost
        self._parts: list[Part] = []
        self._refs: dict[str, AttachmentRef] = {}
        self._open: dict[str, str] = {}  # calls without a result yet: id to tool
        self._by_tool: dict[str, deque[str]] = {}
        self.missing: list[str] = []

    def parts(self, message: Mapping[str, Json]) -> Parts:
        """Files first, then what was thought, called and said, in its order."""
        content = message.get("content")
        if isinstance(content, str) and content:
            self._parts.append(Text(text=content))
        elif isinstance(content, list):
            for block in content:
                if isinstance(block, dict):
                    self._block(block)
                elif isinstance(block, str) and block:
                    self._say(block)
        if not any(not isinstance(part, AttachmentRef) for part in self._parts):
            text = fields.words(message, "text")
            if text.replace(_STAND_IN, "").strip("`\n "):
                self._parts.append(Text(text=text))
        if message.get("attachments") or message.get("files") or message.get("files_v2"):
            self._attachments(message)
        return (*self._refs.values(), *self._parts)

    def _block(self, block: Mapping[str, Json]) -> None:
        kind = block.get("type")
        if kind == "text" or (kind is None and "text" in block):
            self._say(fields.words(block, "text"))
            if cited := len(fields.several(block, "citations")):
                self._lost["sources of answers", "only the words of an answer come along"] += cited
        elif kind == "thinking":
            if thought := fields.words(block, "thinking", "text"):
                self._parts.append(Thinking(text=thought))
        elif kind == "tool_use":
            self._call(block)
        elif kind == "tool_result":
            self._result(block)
        elif kind == "voice_note" and fields.words(block, "text"):
            self._say(fields.words(block, "text"))
        elif kind in ("image", "document", "file"):
            self._file(block)
        elif kind not in _WORDLESS:
            what = f"parts of an unknown kind ({str(kind)[:40]})"
            self._lost[what, "Turntree has no word for them"] += 1

    def _say(self, words: str) -> None:
        """Words right behind words go on with them; behind anything else they begin anew."""
        if not words:
            return
        before = next((part for part in reversed(self._parts) if isinstance(part, Text)), None)
        if before is not None and before is not self._parts[-1]:
            words = _gap(before.text, words) + words
        self._parts.append(Text(text=words))

    def _call(self, block: Mapping[str, Json]) -> None:
        key = fields.words(block, "id") or f"{self._key}:{len(self._parts)}"
        name = fields.words(block, "name")
        self._open[key] = name
        self._by_tool.setdefault(name, deque()).append(key)
        arguments = streams.compact(block.get("input"))
        self._parts.append(ToolCall(id=key, name=name, arguments=arguments))

    def _result(self, block: Mapping[str, Json]) -> None:
        name = fields.words(block, "name")
        given = fields.words(block, "tool_use_id")
        call = given or self._waiting(name)
        self._parts.append(
            ToolResult(
                call_id=call,
                name=name or self._open.get(call, ""),
                text=self._told(block.get("content")),
                is_error=block.get("is_error") is True,
            )
        )
        self._open.pop(call, None)

    def _waiting(self, name: str) -> str:
        """The first call of a tool that has no result yet; nothing where none waits."""
        calls = self._by_tool.get(name, deque())
        while calls and calls[0] not in self._open:
            calls.popleft()
        return calls[0] if calls else ""

    def _told(self, content: Json) -> str:
        """What a tool answered: its texts, and whatever else it gave as JSON."""
        if content is None:
            return ""
        if not isinstance(content, list):
            return streams.compact(content)
        told: list[str] = []
        for one in content:
            if isinstance(one, dict) and one.get("type") in ("image", "document"):
                self._file(one)
            elif isinstance(one, dict) and one.get("type") in ("text", None) and "text" in one:
                told.append(fields.words(one, "text"))
            elif one is not None:
                told.append(streams.compact(one))
        return "\n".join(filter(None, told))

    # --- files ---

    def _file(self, block: Mapping[str, Json]) -> None:
        source = fields.mapping(block, "source")
        name = fields.words(block, "file_name", "name", "title") or "a picture"
        kind = fields.words(source, "media_type")
        content = fields.words(source, "data")
        if content and fields.words(source, "type") in ("base64", ""):
            try:
                self._keep(partial(b64decode, content, validate=True), name, kind)
            except (NotBase64, ValueError):
                self._miss(name, "they are damaged in the file")
        else:
            self._miss(name, _NOT_THERE)

    def _attachments(self, message: Mapping[str, Json]) -> None:
        known: set[str] = set()
        for attached in fields.objects(message, "attachments"):
            name = fields.words(attached, "file_name", "name")
            pasted = fields.words(attached, "extracted_content")
            known.add(name)
            if pasted:
                self._keep(partial(_encoded, pasted), _as_text(name), "text/plain")
            else:
                self._miss(name or "a file", _NOT_THERE)
        for file in (*fields.objects(message, "files"), *fields.objects(message, "files_v2")):
            name = fields.words(file, "file_name", "name") or "a file"
            key = fields.words(file, "file_uuid", "uuid") or name
            if key not in known and name not in known:
                known.add(key)
                self._miss(name, _NOT_THERE)

    def _keep(self, content: Callable[[], bytes], name: str, kind: str) -> None:
        digest = sha256(content()).hexdigest()
        media_type = kind or guess_type(name)[0] or "application/octet-stream"
        self._refs[digest] = AttachmentRef(sha256=digest, media_type=media_type, name=name)
        self._files[digest] = content

    def _miss(self, name: str, why: str) -> None:
        self.missing.append(name)
        self._lost["attachments", why] += 1


def _parents(messages: Sequence[Mapping[str, Json]], keys: Sequence[str]) -> list[str | None]:
    found = [_parent(message) for message in messages]
    if not any(found):
        return [None, *keys[:-1]][: len(keys)]
    known = set(keys)
    return [parent if parent not in _ROOTS or parent in known else None for parent in found]


def _parent(message: Mapping[str, Json]) -> str:
    return fields.words(message, "parent_message_uuid")


def _newest(keys: Sequence[str], parents: Sequence[str | None]) -> str | None:
    """The latest message that nobody answered; the messages stand in the order of their times."""
    inner = set(parents)
    return next((key for key in reversed(keys) if key not in inner), None)


def _only_results(message: Mapping[str, Json]) -> bool:
    """Whether a message hands over what tools answered, and says nothing."""
    if fields.words(message, "sender", "role") not in ("human", "user"):
        return False
    kinds = {str(block.get("type")) for block in fields.objects(message, "content")}
    return "tool_result" in kinds and kinds.isdisjoint(_SPOKEN)


def _closed(parts: Parts) -> Parts:
    """Words that more will follow, in another message: a blank line ends them."""
    if not parts or not any(isinstance(part, Text) for part in parts):
        return parts
    place = max(place for place, part in enumerate(parts) if isinstance(part, Text))
    last = parts[place]
    assert isinstance(last, Text)
    return (*parts[:place], Text(text=last.text + _gap(last.text, "x")), *parts[place + 1 :])


def _gap(before: str, after: str) -> str:
    """What makes two pieces of text two paragraphs."""
    blank = len(before) - len(before.rstrip("\n")) + len(after) - len(after.lstrip("\n"))
    return "\n" * max(0, 2 - blank)


def _as_text(name: str) -> str:
    """A name for the text of a file: what came out of a PDF is no PDF."""
    kind = guess_type(name)[0] or "text/plain"
    plain = kind.startswith("text/") or kind in ("application/json", "application/xml")
    return name if name and plain else f"{name or 'pasted'}.txt"


def _encoded(text: str) -> bytes:
    return well_formed(text).encode()


def _first_words(nodes: tuple[CarriedNode, ...]) -> str:
    first = next((node.text for node in nodes if node.role == "user"), "")
    return " ".join(first[:300].split())[:70]


FORMAT = Claude()
