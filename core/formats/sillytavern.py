"""SillyTavern: a chat a file, a header and then a message a line.

Other tries at an answer are its ``swipes``; what follows hangs on the one that was shown, and
that is the one whose text is ``mes``, whatever ``swipe_id`` says. A branch or a checkpoint is a
file of its own that repeats the chat up to the fork and names it as ``main_chat``: in an archive,
or dropped together, such files become one conversation again. Nothing has an id, so a message is
known by all that was said up to it; order is the order of lines, dates may run backwards.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import unquote

from core.errors import BadFile
from core.formats._sillytavern_files import ChatFile, Line, character, groups, is_message
from core.interchange import fields, outline, streams
from core.interchange.attached import Attached, joined
from core.interchange.growing import Grain, Grown, grow, left_out
from core.interchange.times import iso
from core.types import (
    AttachmentRef,
    Carried,
    CarriedBranch,
    Damaged,
    Json,
    LeftOut,
    Source,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_OF_HEADER = {"chat_metadata", "user_name", "character_name"}
_NOTE = "the note that was sent along is no message"
_FOREIGN = {
    "mapping",
    "chat_messages",
    "history.messages",
    "chat.history",
    "conversationId",
    "conversations",
    "messages",
    "message_tree_id",
    "chunkedPrompt",
}


class SillyTavern:
    """Chats with their swipes, and with their branches where the files come together."""

    name = "sillytavern"
    label = "SillyTavern"

    def recognise(self, source: Source) -> float:
        """Sure of a header or of messages with ``mes``; of an archive, if it holds such files
        and no conversations of another kind."""
        if not _members(source):
            return _sure(source)
        found = False
        for member in _members(source).values():
            try:
                if not member.size:
                    continue
                if _sure(member):
                    found = True
                elif outline.paths(member) & _FOREIGN:
                    return 0.0
            except BadFile:
                continue
        return 0.9 if found else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The chats in the order of their files; those that belong together as one."""
        files: list[ChatFile] = []
        for path, member in (_members(source) or {source.name: source}).items():
            try:
                if not _members(source) or (member.size and _sure(member)):
                    files.append(ChatFile.of(path, member))
            except BadFile as error:
                if not _members(source):
                    raise
                yield Damaged(place=member.name, why=error.message)
        beside = _by_name(_members(source))
        for group in groups(files):
            try:
                yield _Chat(group, beside).carried()
            except BadFile as error:
                if len(files) == 1:
                    raise
                yield Damaged(place=group[0].source.name, why=error.message)


def _members(source: Source) -> Mapping[str, Source]:
    try:
        return source.members
    except BadFile:
        return {}


def _by_name(members: Mapping[str, Source]) -> Mapping[str, Mapping[str, Source]]:
    """The files of an archive by their names without folders, then by their paths."""
    found: dict[str, dict[str, Source]] = {}
    for path, member in members.items():
        found.setdefault(path.rsplit("/", 1)[-1], {})[path] = member
    return found


def _sure(source: Source) -> float:
    keys = outline.paths(source)
    if {"mes", "is_user"} <= keys or {"mes", "swipes"} <= keys:
        return 0.97
    if {"user_name", "character_name"} <= keys or "chat_metadata" in keys:
        return 0.9
    return 0.8 if {"mes", "name"} <= keys else 0.0


# --- a chat ---


class _Chat:
    """One chat and its branches as they are read, line by line."""

    def __init__(
        self, group: Sequence[ChatFile], beside: Mapping[str, Mapping[str, Source]]
    ) -> None:
        self.group = group
        self.beside = beside
        self.attached = Attached()
        self.header: Line = {}
        self.grains: dict[str, Grain] = {}
        self.ends: dict[str, str] = {}
        self.names: set[str] = set()
        self.elsewhere: set[str] = set()
        self.dropped = self.odd = self.notes = self.empty = 0
        self.last = ""

    def carried(self) -> Carried:
        """The conversation. Raises ``BadFile`` for one that is too large or no chat at all."""
        if sum(file.source.size for file in self.group) > streams.MOST_OF_ONE:
            raise BadFile(
                f"{self.group[0].source.name} has a chat of more than"
                f" {streams.MOST_OF_ONE // 2**20} MB.",
                hint="Split it; nothing of it was read.",
            )
        for file in self.group:
            self._read(file)
        if not self.grains and not self.header:
            name = self.group[0].source.name
            raise BadFile(f"{name} holds no chat.", hint="Choose another file.")
        grown = grow(self._labelled(), self.last or None)
        return Carried(
            key=self.group[0].key,
            title=self._title(grown),
            nodes=grown.nodes,
            branches=self._named(grown),
            at=iso(self.header.get("create_date")),
            files=self.attached.files,
            left_out=grown.left_out + self._left_out(),
            repairs=self._repairs() + grown.repairs,
        )

    def _read(self, file: ChatFile) -> None:
        main = file is self.group[0]
        above: str | None = None
        for _, value in streams.json_lines(file.source):
            if not isinstance(value, Mapping):
                self.dropped += 1
            elif is_message(value):
                above, shown = self._message(value, above)
                if shown:
                    self.ends[file.stem] = above
            elif value.keys() & _OF_HEADER:
                self._head(value, main=main)
            else:
                self.dropped += 1
        if main and above is not None:
            self.last = above

    def _head(self, header: Line, *, main: bool) -> None:
        about = fields.mapping(header, "chat_metadata")
        if main:
            self.header = header
            self.notes = bool(fields.words(about, "note_prompt"))
        if name := fields.words(about, "main_chat"):
            self.elsewhere.add(name.removesuffix(".jsonl"))

    def _message(self, message: Line, above: str | None) -> tuple[str, bool]:
        """Add a line: all its swipes under the message above. Returns the key of the one that
        was shown, on which the next line hangs, and whether it is a message that stays."""
        tries, shown, odd = _tries(message)
        self.odd += odd
        key = ""
        kept = False
        for place, (text, info) in enumerate(tries):
            if not text and place != shown:
                self.empty += 1
                continue
            grain = self._grain(message, text, info, above)
            known = self.grains.get(grain.key)
            if known is None or (known.kind == "hidden" and grain.kind != "hidden"):
                self.grains[grain.key] = grain
            if place == shown:
                key, kept = grain.key, grain.kind == "shown"
        extra = fields.mapping(message, "extra")
        links = [*fields.several(extra, "branches"), extra.get("bookmark_link")]
        self.elsewhere.update(one.removesuffix(".jsonl") for one in links if isinstance(one, str))
        return key, kept

    def _grain(self, message: Line, text: str, info: Line, above: str | None) -> Grain:
        by_user = message.get("is_user") is True
        role: Literal["user", "assistant"] = "user" if by_user else "assistant"
        name = fields.words(message, "name")
        extra = fields.mapping(info, "extra")
        tools = _tools(extra)
        hidden = message.get("is_system") is True or message.get("is_hidden") is True
        if not by_user and not hidden:
            self.names.add(name)
        thinking = fields.words(extra, "reasoning")
        absent: list[str] = []
        files = [] if hidden else self._files(extra, absent)
        said = [*([Thinking(text=thinking)] if thinking else []), Text(text=text), *files]
        return Grain(
            key=streams.fingerprint(above, role, name, text)[:32],
            parent=above,
            role=role,
            parts=tuple(tools or said),
            kind="machinery" if tools else "hidden" if hidden else "shown",
            at=iso(info.get("send_date")) or iso(info.get("gen_finished")),
            model="" if by_user else fields.words(extra, "model"),
            provider="" if by_user else fields.words(extra, "api"),
            marks=joined(self.attached.missing(absent), {} if by_user else {"label": name}),
            why="hidden lines" if hidden and not tools else "",
        )

    def _files(self, extra: Line, absent: list[str]) -> list[Any]:
        """The files of a message; names without content are added to ``absent``."""
        found: list[Any] = []
        held: list[Json] = [extra.get("image"), extra.get("video"), extra.get("file")]
        held += fields.several(extra, "image_swipes") + fields.several(extra, "files")
        held += fields.several(extra, "media")
        told: set[str] = set()
        for one in held:
            url = one if isinstance(one, str) else fields.words(one, "url")
            name = fields.words(one, "name", "title")
            if not (url or name) or (url or name) in told:
                continue
            told.add(url or name)
            if ref := self.attached.data_url(url, name) or self._beside(url, name):
                found.append(ref)
            elif words := fields.words(one, "text"):
                found.append(self.attached.text(words, name or "file.txt"))
            else:
                absent.append(name or url.rsplit("/", 1)[-1])
        return found

    def _beside(self, url: str, name: str) -> AttachmentRef | None:
        """The file of an archive that an address on SillyTavern's own server means."""
        path = unquote(url).lstrip("/")
        for inner, member in self.beside.get(path.rsplit("/", 1)[-1], {}).items():
            if inner == path or inner.endswith(f"/{path}"):
                return self.attached.member(member, name or url.rsplit("/", 1)[-1])
        return None

    def _labelled(self) -> Iterator[Grain]:
        """Who speaks is told where several characters do."""
        several = len(self.names) > 1
        for grain in self.grains.values():
            if several or "label" not in grain.marks:
                yield grain
            else:
                note = grain.marks.get("note")
                yield replace(grain, marks={"note": note} if note else {})

    def _title(self, grown: Grown) -> str:
        if named := character(self.header):
            return named
        if len(self.names) == 1 and (name := next(iter(self.names))):
            return name
        if named := ", ".join(sorted(filter(None, self.names))[:4]):
            return named
        return next((node.text[:70] for node in grown.nodes if node.text), "")

    def _named(self, grown: Grown) -> tuple[CarriedBranch, ...]:
        """Branches called as their files are; a checkpoint's may end where another goes on."""
        if len(self.group) == 1:
            return grown.branches
        found = {branch.tip: branch for branch in grown.branches}
        main = grown.branches[0].tip if grown.branches else ""
        kept = {node.key for node in grown.nodes}
        names = {branch.name for branch in grown.branches}
        for file in self.group[1:]:
            tip = self.ends.get(file.stem, "")
            if tip not in kept or tip == main or (tip not in found and not file.main):
                continue
            name, number = file.stem, 1
            while name in names:
                number += 1
                name = f"{file.stem} ({number})"
            names.add(name)
            was = found.get(tip, CarriedBranch(name=name, tip=tip, forked_from=tip))
            found[tip] = replace(was, name=name)
        return tuple(found.values())

    def _left_out(self) -> tuple[LeftOut, ...]:
        absent = self.elsewhere - {file.stem for file in self.group}
        return self.attached.left_out() + left_out(
            {
                ("branches in other files", "their files did not come with this one"): len(absent),
                ("empty swipes", "nothing is in them"): self.empty,
                ("author's note", _NOTE): self.notes,
            }
        )

    def _repairs(self) -> tuple[str, ...]:
        found = []
        if self.dropped:
            lines = "1 line" if self.dropped == 1 else f"{self.dropped:,} lines"
            found.append(f"{lines} could not be read as a message: left out")
        if self.odd:
            times = "once" if self.odd == 1 else f"{self.odd:,} times"
            found.append(f"{times} swipe_id did not name the text that was shown: the text decides")
        return tuple(found)


def _tries(message: Line) -> tuple[list[tuple[str, Line]], int, bool]:
    """The texts that a line holds with what is known of each, which of them was shown, and
    whether ``swipe_id`` says something else."""
    said = fields.words(message, "mes")
    held = fields.several(message, "swipes")
    infos = fields.several(message, "swipe_info")
    found: list[tuple[str, Line]] = []
    shown = -1
    wanted = message.get("swipe_id")
    for place, text in enumerate(held):
        if not isinstance(text, str):
            continue
        about = infos[place] if place < len(infos) else None
        info: Line = about if isinstance(about, Mapping) else {}
        if text == said and (shown < 0 or place == wanted):
            shown, info = len(found), _both(message, info)
        found.append((text, info))
    odd = bool(found) and wanted is not None
    if shown < 0:
        shown = len(found)
        found.append((said, message))
        return found, shown, odd
    names_it = isinstance(wanted, int) and 0 <= wanted < len(held) and held[wanted] == said
    return found, shown, odd and not names_it


def _both(message: Line, info: Line) -> Line:
    """What is known of the shown text: its own entry, and the line where that says more."""
    extra = {**fields.mapping(message, "extra"), **fields.mapping(info, "extra")}
    return {**message, **info, "extra": extra}


def _tools(extra: Line) -> list[Any]:
    """The tools that a hidden line tells of."""
    found: list[Any] = []
    for one in fields.objects(extra, "tool_invocations"):
        key, name = fields.words(one, "id"), fields.words(one, "name")
        arguments = streams.compact(one.get("parameters", ""))
        found.append(ToolCall(id=key, name=name, arguments=arguments))
        result = streams.compact(one.get("result", ""))
        found.append(ToolResult(call_id=key, name=name, text=result))
    return found


FORMAT = SillyTavern()
