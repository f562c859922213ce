"""The files of SillyTavern chats, and which of them belong together.

A branch or a checkpoint repeats its chat from the beginning: it has the same first message, and
names the file it comes from. Only the first lines of each file are looked at here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from core.interchange import fields, streams
from core.interchange.times import iso
from core.types import Json, Source

Line = Mapping[str, Json]
_PEEK = 4  # messages that tell chats without any date apart


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFile:
    """A chat's file: the chat that it names as its own beginning, and what it is known by."""

    source: Source
    folder: str
    stem: str
    main: str
    key: str

    @classmethod
    def of(cls, path: str, source: Source) -> "ChatFile":
        """The file by its first lines. Raises ``BadFile``."""
        header, first = _beginning(source)
        inner = PurePosixPath(path.rsplit(": ", 1)[-1])
        stem = inner.name.removesuffix(".jsonl")
        main = fields.words(fields.mapping(header, "chat_metadata"), "main_chat")
        return cls(
            source=source,
            folder=str(inner.parent),
            stem=stem,
            main=main.removesuffix(".jsonl"),
            key=_identity(header, first),
        )


def _beginning(source: Source) -> tuple[Line, list[Line]]:
    header: Line = {}
    first: list[Line] = []
    for number, (_, value) in enumerate(streams.json_lines(source)):
        if not isinstance(value, Mapping):
            continue
        if is_message(value):
            first.append(value)
        elif not header:
            header = value
        if len(first) == _PEEK or number >= 2 * _PEEK:
            break
    return header, first


def is_message(value: Any) -> bool:
    """Whether a line holds a message."""
    return isinstance(value, Mapping) and isinstance(value.get("mes"), str)


def _identity(header: Line, first: Sequence[Line]) -> str:
    """What a chat and its branches have in common: who, when, and how it began."""
    one: Line = first[0] if first else {}
    begun = fields.words(header, "create_date")
    info = next(iter(fields.objects(one, "swipe_info")), one)
    sent = info.get("send_date", one.get("send_date"))
    who = character(header) or fields.words(one, "name")
    if iso(begun) or iso(sent):
        return streams.fingerprint(who, begun, sent, _texts(one)[:1])
    integrity = fields.words(fields.mapping(header, "chat_metadata"), "integrity")
    return integrity or streams.fingerprint(who, [_texts(line)[:1] for line in first])


def _texts(message: Line) -> list[str]:
    swipes = [one for one in fields.several(message, "swipes") if isinstance(one, str)]
    return swipes or [fields.words(message, "mes")]


def character(header: Line) -> str:
    """The character's name, where the header tells it."""
    name = fields.words(header, "character_name")
    return "" if name == "unused" else name


def groups(files: Sequence[ChatFile]) -> list[list[ChatFile]]:
    """Files that belong together, the chat that the others come from first."""
    by_place = {(file.folder, file.stem): number for number, file in enumerate(files)}
    by_key: dict[str, int] = {}
    leader = list(range(len(files)))

    def lead(number: int) -> int:
        while leader[number] != number:
            leader[number] = leader[leader[number]]
            number = leader[number]
        return number

    for number, file in enumerate(files):
        leader[lead(number)] = lead(by_key.setdefault(file.key, number))
        above = by_place.get((file.folder, file.main))
        if file.main and above is not None:
            leader[lead(number)] = lead(above)
    found: dict[int, list[ChatFile]] = {}
    for number, file in enumerate(files):
        found.setdefault(lead(number), []).append(file)

    def rank(file: ChatFile) -> tuple[bool, int]:
        return bool(file.main) and (file.folder, file.main) in by_place, -file.source.size

    groups = [sorted(group, key=rank) for group in found.values()]
    return [[group[0], *sorted(group[1:], key=lambda file: file.stem)] for group in groups]
