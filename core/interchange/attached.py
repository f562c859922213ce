"""The files of one conversation: those whose bytes came along, and those that are only named."""

import base64
import binascii
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from urllib.parse import unquote_to_bytes

from core.types import AttachmentRef, LeftOut, MarkKind, Source

_MOST_NAMED = 5  # files that a note names; the rest is counted
_PIECE = 2**20
_MOST = 64 * 2**20  # bytes of a file that is read at all


class Attached:
    """Collects them while a conversation is read; ``files`` are for ``Carried.files``."""

    def __init__(self) -> None:
        self.files: dict[str, Callable[[], bytes]] = {}
        self.absent = 0

    def content(self, content: bytes, name: str, media_type: str = "") -> AttachmentRef:
        """A file whose bytes are here."""
        key = sha256(content).hexdigest()
        self.files.setdefault(key, lambda: content)
        media_type = media_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return AttachmentRef(sha256=key, media_type=media_type, name=name)

    def data_url(self, url: str, name: str = "") -> AttachmentRef | None:
        """The file in a ``data:`` URL; None for any other address and for what is damaged."""
        head, comma, body = url.partition(",")
        if not head.startswith("data:") or not comma:
            return None
        media_type, *options = head.removeprefix("data:").split(";")
        try:
            if "base64" in (option.strip() for option in options):
                content = base64.b64decode(body)
            else:
                content = unquote_to_bytes(body)
        except (binascii.Error, ValueError):
            return None
        if not content:
            return None
        media_type = media_type.strip().lower()
        ending = mimetypes.guess_extension(media_type) or ""
        return self.content(content, name or f"attachment{ending}", media_type)

    def member(self, source: Source, name: str = "") -> AttachmentRef | None:
        """A file beside the conversation, in the same archive; its bytes are read when they are
        asked for. None for one that is larger than any attachment. Raises ``BadFile``."""
        if source.size > _MOST:
            return None
        found = sha256()
        with source.open() as stream:
            while piece := stream.read(_PIECE):
                found.update(piece)
        self.files.setdefault(found.hexdigest(), lambda: _bytes(source))
        name = name or source.name.rsplit("/", 1)[-1]
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return AttachmentRef(sha256=found.hexdigest(), media_type=kind, name=name)

    def text(self, text: str, name: str) -> AttachmentRef:
        """A file of which the words are here, as they were taken out of it."""
        kind = mimetypes.guess_type(name)[0] or "text/plain"
        if not kind.startswith("text/") and kind != "application/json":
            name = f"{name}.txt"
        return self.content(text.encode("utf-8", "replace"), name, "text/plain")

    def missing(self, names: Sequence[str]) -> Mapping[MarkKind, str]:
        """The mark of a message with files that are only named; none for no names."""
        if not names:
            return {}
        self.absent += len(names)
        told = [name[:80] or "a file" for name in names[:_MOST_NAMED]]
        if len(names) > _MOST_NAMED:
            told.append(f"{len(names) - _MOST_NAMED} more")
        whose = "its bytes are" if len(names) == 1 else "their bytes are"
        return {"note": f"Attached there: {', '.join(told)} ({whose} not in the file)"}

    def left_out(self) -> tuple[LeftOut, ...]:
        """What a preview says of the missing ones."""
        if not self.absent:
            return ()
        why = "only their names are in the file, not their bytes"
        return (LeftOut(what="attachments", count=self.absent, why=why),)


def _bytes(source: Source) -> bytes:
    with source.open() as stream:
        return stream.read()


def joined(*marks: Mapping[MarkKind, str]) -> Mapping[MarkKind, str]:
    """The marks of one message; its notes stand one below the other."""
    found: dict[MarkKind, str] = {}
    for one in marks:
        for kind, value in one.items():
            both = kind == "note" and kind in found
            found[kind] = f"{found[kind]}\n{value}" if both else value
    return found
