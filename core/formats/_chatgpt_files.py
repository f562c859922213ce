"""The files in a ChatGPT archive: ``file-<id>-<name>``, ``file_<id>.dat`` with a list of names."""

import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from core.errors import BadFile
from core.interchange import exports
from core.types import AttachmentRef, Source

_ID = re.compile(r"file[-_][0-9A-Za-z]+")
_NAMES = "conversation_asset_file_names.json"
_MOST = 64 * 2**20  # bytes of a file that is read at all
_PIECE = 2**20
_NOT_THERE = "their bytes are not in the file"
_UNKNOWN = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Found:
    """A file as a message names it; name and type may be empty."""

    id: str
    name: str
    media_type: str

    @property
    def called(self) -> str:
        """What a note calls it."""
        return self.name or "a picture"


@dataclass(frozen=True, slots=True)
class Held:
    """A file whose bytes are there."""

    ref: AttachmentRef
    member: Source


def file_id(pointer: str) -> str:
    """The id in a pointer (``file-service://file-…``, ``sediment://file_…``) or a name."""
    last = pointer.rsplit("/", 1)[-1]
    found = _ID.match(last)
    return found[0] if found else last


class Files:
    """The files of an archive by their ids; each is hashed once, when a message first names it."""

    def __init__(self, members: Mapping[str, Source]) -> None:
        self._by_id: dict[str, Source] = {}
        self._names: dict[str, str] = {}
        self._hashed: dict[str, str] = {}
        for path, member in members.items():
            last = path.rpartition("/")[2]
            if last.lower().endswith(".json"):
                continue
            self._by_id.setdefault(file_id(last), member)
            self._by_id.setdefault(last.rpartition(".")[0] or last, member)
            self._names.setdefault(file_id(last), _without_id(last))
        for _, names in exports.listed(members, _NAMES):
            self._names |= {
                file_id(stored.rpartition("/")[2]): name
                for stored, name in names.items()
                if isinstance(name, str) and name
            }

    def find(self, wanted: Found) -> Held | str:
        """The file that a message names, or why it does not come along."""
        key = wanted.id if wanted.id in self._by_id else f"file-{wanted.id}"
        member = self._by_id.get(key)
        if member is None:
            return _NOT_THERE
        if member.size > _MOST:
            return f"they are larger than {_MOST // 2**20} MB"
        try:
            digest = self._hashed.get(key) or _hash(member)
        except BadFile:
            return "they are damaged in the archive"
        self._hashed[key] = digest
        name = wanted.name or self._names.get(key) or wanted.called
        kind = wanted.media_type or mimetypes.guess_type(name)[0] or _UNKNOWN
        return Held(AttachmentRef(sha256=digest, media_type=kind, name=name), member)

    def contents(self, held: Mapping[str, Source]) -> Mapping[str, Callable[[], bytes]]:
        """How to read the bytes of files, by their hashes."""
        return {digest: partial(_content, member) for digest, member in held.items()}


def _without_id(name: str) -> str:
    """``file-abc-plan.pdf`` is ``plan.pdf``; a name that is an id alone says nothing."""
    found = _ID.match(name)
    rest = name[found.end() :].lstrip("-_") if found else name
    return "" if rest.startswith(".") else rest


def _hash(member: Source) -> str:
    digest = sha256()
    with member.open() as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _content(member: Source) -> bytes:
    with member.open() as stream:
        return stream.read()
