"""ChatGPT: ``conversations.json`` of an account export, alone, in shards, or in its archive.

A conversation is a ``mapping`` of node ids to ``{message, parent, children}``. The key is the
identity: the message's own id may differ, and the order of the keys is not that of the tree.
Where no node names another, the messages stand in a line, by their times. An answer that is
addressed to a tool (``recipient``) is a call; the tool's messages are its results. Reasoning,
calls and results go with the answer they led to. Custom instructions, memories, messages that
ChatGPT hides, and those of weight 0 stay behind. Bytes of files are in the archive under their
ids, or nowhere. Citation marks stay in the words as they are. Times are seconds since 1970.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from core.errors import BadFile
from core.formats._chatgpt_files import Files, Found, file_id
from core.formats._chatgpt_words import (
    Calls,
    is_reasoning,
    tool_called,
    unknown_kind,
    why_hidden,
    words_of,
)
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

_PROVIDER = "openai"
_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "tool": "tool"}
_SOUND = frozenset(
    {
        "audio_asset_pointer",
        "video_asset_pointer",
        "video_container_asset_pointer",
        "real_time_user_audio_video_asset_pointer",
    }
)
_COUNTED: Parts = (Text(text="hidden"),)  # that there is something to a message left out
_NODE_KEYS = frozenset({"message", "parent", "children"})
_CONVERSATION_KEYS = frozenset({("current_node",), ("conversation_id",)})
_FIRST_KEYS = frozenset({"conversation_id", "title"})
_BEFORE_MAPPING = _FIRST_KEYS | {"id", "create_time", "update_time", "current_node"}


class ChatGPT:
    """Account exports of ChatGPT."""

    name = "chatgpt"
    label = "ChatGPT"

    def recognise(self, source: Source) -> float:
        """Sure of a ``mapping`` of nodes, in a file or in one of an archive's; less so of fields
        that only its conversations have, where the mapping is further down."""
        if exports.holds(source, _has_mapping):
            return 0.95
        keys = {path[0] for path in outline.keys(source) if len(path) == 1}
        return 0.6 if keys >= _FIRST_KEYS and keys <= _BEFORE_MAPPING else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversations, shard after shard, in their order."""
        files = Files(source.members)
        yield from exports.conversations(
            source, _has_mapping, lambda value: _Reading(value, files).carried()
        )


def _has_mapping(paths: outline.Keys) -> bool:
    if ("mapping",) not in paths:
        return False
    return not paths.isdisjoint(_CONVERSATION_KEYS) or any(
        len(path) == 3 and path[0] == "mapping" and path[2] in _NODE_KEYS for path in paths
    )


class _Reading:
    """One conversation while it is read, and what is counted on the way."""

    def __init__(self, value: Json, files: Files) -> None:
        if not isinstance(value, dict):
            raise BadFile("It is no conversation, but a value of another kind.")
        if not isinstance(value.get("mapping"), dict):
            raise BadFile("It has no mapping of messages.")
        self._value = value
        self._mapping: dict[str, Any] = value["mapping"]
        self._files = files
        self._bytes: dict[str, Source] = {}
        self._lost: Counter[tuple[str, str]] = Counter()
        self._repairs: list[str] = []

    def carried(self) -> Carried:
        """The conversation."""
        value = self._value
        parents = self._parents()
        calls = Calls(self._mapping, parents)
        grains = [self._grain(key, parent, calls) for key, parent in parents.items()]
        current = well_formed(fields.name_of(value.get("current_node"))) or None
        system, grown = exports.lift_system(grow(grains, current, named="current_node"))
        model = fields.words(value, "default_model_slug")
        return Carried(
            key=self._key(parents),
            title=fields.words(value, "title") or _first_words(grown.nodes),
            nodes=grown.nodes,
            branches=grown.branches,
            at=times.iso(value.get("create_time")),
            updated_at=times.iso(value.get("update_time")),
            system=system,
            model=model,
            provider=_PROVIDER if model else "",
            files=self._files.contents(self._bytes),
            left_out=left_out(self._lost) + grown.left_out,
            repairs=(*self._repairs, *grown.repairs),
        )

    def _key(self, parents: Mapping[str, str | None]) -> str:
        """Its id, or one made of what stays when a conversation goes on."""
        value = self._value
        given = fields.name_of(value.get("conversation_id")) or fields.name_of(value.get("id"))
        if given:
            return given
        beginnings = sorted(key for key, parent in parents.items() if parent is None)
        return streams.fingerprint(times.iso(value.get("create_time")), beginnings)

    # --- the tree ---

    def _parents(self) -> dict[str, str | None]:
        """Every node's parent, in the order that the nodes are to be taken in."""
        found: dict[str, str | None] = {}
        loose: list[str] = []
        for key, node in self._mapping.items():
            parent = node.get("parent") if isinstance(node, dict) else None
            if not isinstance(parent, str):
                parent = fields.name_of(parent)
            found[key] = parent or None
            if not parent or parent not in self._mapping:
                loose.append(key)
        if len(loose) > 1:
            self._adopt(found, loose)
        if len(found) > 1 and not any(found.values()):
            return self._in_line()
        return found

    def _adopt(self, parents: dict[str, str | None], loose: list[str]) -> None:
        """Hang nodes without a parent on the one that lists them as its child."""
        listing: dict[str, str] = {}
        for key, node in self._mapping.items():
            for child in fields.several(node, "children"):
                if isinstance(child, str) and child != key:
                    listing.setdefault(child, key)
        linked = any(parents.values())
        adopted = [key for key in loose if key in listing]
        parents.update((key, listing[key]) for key in adopted)
        if adopted and linked:
            self._repairs.append(
                f"{len(adopted):,} message{'' if len(adopted) == 1 else 's'} without a parent hung"
                " on the one that lists it as its child"
            )

    def _in_line(self) -> dict[str, str | None]:
        """No node names another: by time, then as they stand; one without a time stays put."""
        dated: list[tuple[str, str]] = []
        last = ""
        for key, node in self._mapping.items():
            last = times.iso(fields.mapping(node, "message").get("create_time")) or last
            dated.append((last, key))
        dated.sort(key=lambda pair: pair[0])
        found: dict[str, str | None] = {}
        above: str | None = None
        for _, key in dated:
            found[key] = above
            above = key
        return found

    # --- a message ---

    def _grain(self, key: str, parent: str | None, calls: Calls) -> Grain:
        node = self._mapping[key]
        message = children = None
        if isinstance(node, dict):
            message, children = node.get("message"), node.get("children")
        order: tuple[str, ...] = ()
        if isinstance(children, list) and len(children) > 1:
            order = tuple(child for child in children if isinstance(child, str))
        if not isinstance(message, dict):
            return Grain(key=key, parent=parent, role="system", kind="hidden", order=order)
        author = message.get("author")
        metadata = message.get("metadata")
        content = message.get("content")
        author = author if isinstance(author, dict) else {}
        metadata = metadata if isinstance(metadata, dict) else {}
        content = content if isinstance(content, dict) else {"parts": [content]}
        role = _ROLES.get(fields.name_of(author.get("role")), "assistant")
        marks: dict[MarkKind, str] = {}
        if why := why_hidden(message, metadata, content):
            parts: Parts = _COUNTED if words_of(content) else ()
            kind: Any = "hidden"
        elif role == "tool":
            files = self._attached(content, metadata, marks)
            name = fields.words(author, "name")
            result = ToolResult(call_id=calls.answered_by(key), name=name, text=words_of(content))
            parts, kind = (result, *files), "machinery"
        else:
            parts, kind = self._spoken(key, role, message, content, metadata, marks)
        return Grain(
            key=key,
            parent=parent,
            role=role,
            parts=parts,
            kind=kind,
            at=times.iso(message.get("create_time")),
            model=fields.words(metadata, "model_slug") if role == "assistant" else "",
            provider=_PROVIDER if role == "assistant" else "",
            marks=marks,
            order=order,
            why=why,
        )

    def _spoken(
        self,
        key: str,
        role: Role,
        message: Mapping[str, Json],
        content: Mapping[str, Json],
        metadata: Mapping[str, Json],
        marks: dict[MarkKind, str],
    ) -> tuple[Parts, str]:
        """The parts of a message that is not a tool's, and what kind of message it is."""
        words = words_of(content)
        if role == "assistant":
            if is_reasoning(message, content):
                return ((Thinking(text=words),), "machinery") if words else ((), "hidden")
            if tool := tool_called(message):
                return (ToolCall(id=key, name=tool, arguments=words),), "machinery"
        parts: tuple[Part, ...] = self._attached(content, metadata, marks)
        if cited := len(fields.several(metadata, "citations")):
            self._lost["sources of answers", "only the words of an answer come along"] += cited
        if words:
            parts = (*parts, Text(text=words))
        if parts or marks:
            return parts, "shown"
        if unknown := unknown_kind(content):
            what = f"messages of an unknown kind ({unknown})"
            self._lost[what, "they hold no words"] += 1
        return (), "hidden"

    # --- files ---

    def _attached(
        self,
        content: Mapping[str, Json],
        metadata: Mapping[str, Json],
        marks: dict[MarkKind, str],
    ) -> tuple[AttachmentRef, ...]:
        """The files of a message; a note of those whose bytes are not there."""
        pieces = content.get("parts")
        simple = not isinstance(pieces, list) or all(type(piece) is str for piece in pieces)
        if simple and not metadata.get("attachments") and "screenshot" not in content:
            return ()
        wanted = {file.id: file for file in self._wanted(content, metadata)}
        refs: dict[str, AttachmentRef] = {}
        missing: list[str] = []
        for file in wanted.values():
            found = self._files.find(file)
            if isinstance(found, str):
                missing.append(file.called)
                self._lost["attachments", found] += 1
            else:
                refs[found.ref.sha256] = found.ref
                self._bytes[found.ref.sha256] = found.member
        if missing:
            whose = "its bytes are" if len(missing) == 1 else "their bytes are"
            marks["note"] = f"Attached there: {', '.join(missing)} ({whose} not in the file)"
        elif not refs and self._silent(content):
            marks["note"] = "Spoken there: a recording without its words"
        return tuple(refs.values())

    def _wanted(self, content: Mapping[str, Json], metadata: Mapping[str, Json]) -> Iterator[Found]:
        """What a message names: uploads first, which have names, then pictures in its parts that
        are none of these."""
        known: set[str] = set()
        for place, upload in enumerate(fields.objects(metadata, "attachments")):
            name = fields.words(upload, "name")
            key = fields.words(upload, "id") or f"{place}: {name}"
            known.add(file_id(key))
            yield Found(file_id(key), name, fields.words(upload, "mime_type", "mimeType"))
        for piece in (*fields.objects(content, "parts"), fields.mapping(content, "screenshot")):
            kind = piece.get("content_type")
            pointer = fields.words(piece, "asset_pointer")
            if kind in _SOUND:
                self._lost["voice and video recordings", "what was said is kept as words"] += 1
            elif pointer and (key := file_id(pointer)) not in known:
                known.add(key)
                yield Found(key, "", "")
            elif not pointer and piece and not isinstance(piece.get("text"), str):
                what = f"parts of an unknown kind ({str(kind)[:40]})"
                self._lost[what, "they hold no words"] += 1

    def _silent(self, content: Mapping[str, Json]) -> bool:
        sound = any(one.get("content_type") in _SOUND for one in fields.objects(content, "parts"))
        return sound and not words_of(content)


def _first_words(nodes: tuple[CarriedNode, ...]) -> str:
    first = next((node.text for node in nodes if node.role == "user"), "")
    return " ".join(first[:300].split())[:70]


FORMAT = ChatGPT()
