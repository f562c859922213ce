"""A conversation in a line, as it is gathered message by message, and what it comes to.

Messages for a provider's server have no ids. So a conversation's key is a hash of its beginning,
up to the first answer, and a message's key one of all up to it: the same conversation, carried
on and saved again, is known, and only what is new of it is added.
"""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Literal
from urllib.parse import unquote_to_bytes

from core.interchange.growing import Grain, left_out, line
from core.interchange.streams import fingerprint
from core.types import (
    AttachmentRef,
    Carried,
    Json,
    MarkKind,
    Part,
    Parts,
    Role,
    Text,
    text_of,
    well_formed,
)

_ENDINGS: Mapping[str, str] = {
    "image/png": "image.png",
    "image/jpeg": "image.jpg",
    "image/gif": "image.gif",
    "image/webp": "image.webp",
    "application/pdf": "document.pdf",
    "text/plain": "text.txt",
}
_NO_BYTES = "their bytes are not in the file"
_DATA_URL = re.compile(r"data:([\w.+/-]*)((?:;[^;,]*)*),", re.IGNORECASE)
_TITLE = 70


@dataclass(slots=True)
class Turns:
    """What is there so far. ``notes`` wait for the message that is being read."""

    system: list[str] = field(default_factory=list)
    grains: list[Grain] = field(default_factory=list)
    files: dict[str, Callable[[], bytes]] = field(default_factory=dict)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    def add(
        self,
        role: Role,
        parts: Iterable[Part],
        *,
        kind: Literal["shown", "machinery", "hidden"] = "shown",
        at: str | None = None,
        model: str = "",
        provider: str = "",
        why: str = "",
    ) -> None:
        """One more message; one with nothing in it is left out and counted. The first words of
        the system are the conversation's own."""
        made = tuple(parts)
        notes, self.notes = self.notes, []
        if role == "system" and not self.grains and kind == "shown":
            self.system.append(text_of(made))
            return
        if not made and not notes:
            self.leave("empty messages", "there is nothing in them")
            return
        marks: dict[MarkKind, str] = {"note": "\n".join(notes)} if notes else {}
        self.grains.append(
            Grain(
                key=str(len(self.grains)),
                parent=None,
                role=role,
                parts=made,
                kind=kind,
                at=at,
                model=model,
                provider=provider,
                marks=marks,
                why=why,
            )
        )

    def leave(self, what: str, why: str, times: int = 1) -> None:
        """Count what does not come along."""
        self.left[well_formed(what), well_formed(why)] += times

    def file(self, name: str, media_type: str, content: bytes) -> AttachmentRef:
        """A file whose bytes are here."""
        digest = sha256(content).hexdigest()
        self.files[digest] = partial(_same, content)
        name = name or _ENDINGS.get(media_type, "file")
        return AttachmentRef(sha256=digest, media_type=media_type, name=name)

    def encoded(self, name: str, media_type: str, data: Json) -> list[Part]:
        """A file in base64; one that cannot be decoded is spoken of."""
        try:
            content = base64.b64decode(data if isinstance(data, str) else "", validate=False)
        except (binascii.Error, ValueError):
            content = b""
        return [self.file(name, media_type, content)] if content else self.absent(name)

    def linked(self, name: str, address: Json) -> list[Part]:
        """A file by its address: one that holds the bytes gives them, any other is named."""
        text = address if isinstance(address, str) else ""
        found = _DATA_URL.match(text)
        if found is None:
            return self.absent(name or text[:200])
        media_type = found[1].lower() or "text/plain"
        if "base64" in found[2].lower():
            return self.encoded(name, media_type, text[found.end() :])
        content = unquote_to_bytes(text[found.end() :])
        return [self.file(name, media_type, content)] if content else self.absent(name)

    def absent(self, name: str) -> list[Part]:
        """A file that is only named: a note on the message, and a line of the preview."""
        name = well_formed(name) or "a file"
        self.notes.append(f"Attached there: {name} (its bytes are not in the file)")
        self.leave("attachments", _NO_BYTES)
        return []

    def unknown(self, kind: Json) -> list[Part]:
        """Content of a kind that has no place here."""
        shown = kind if isinstance(kind, str) and kind else "unnamed"
        self.leave(f"content of the kind {shown[:60]}", "it has no words")
        return []

    def carried(
        self,
        *,
        title: str = "",
        at: str | None = None,
        model: str = "",
        provider: str = "",
        sampling: Mapping[str, Json] | None = None,
        one_of_many: bool = False,
    ) -> Carried | None:
        """The conversation; None if there is nothing in it. ``one_of_many`` are known by all
        their words: data sets hold many that begin alike."""
        if not self.grains and not any(self.system):
            return None
        system = well_formed("\n\n".join(words for words in self.system if words))
        key, grains = _keyed(system, self.grains, one_of_many=one_of_many)
        grown = line(grains)
        return Carried(
            key=key,
            title=well_formed(title) or title_of(self.grains),
            nodes=grown.nodes,
            branches=grown.branches,
            at=at,
            system=system,
            model=model,
            provider=provider,
            sampling=sampling or {},
            files=self.files,
            left_out=(*grown.left_out, *left_out(self.left)),
            repairs=(*self.repairs, *grown.repairs),
        )


def title_of(grains: Iterable[Grain]) -> str:
    """The first line that a person wrote, shortened."""
    for grain in grains:
        words = text_of(grain.parts).strip() if grain.role == "user" else ""
        if words:
            first = " ".join(words[:400].splitlines()[0].split())
            first = well_formed(first)
            return first if len(first) <= _TITLE else f"{first[: _TITLE - 1].rstrip()}…"
    return ""


def apart(before: list[Part], after: Sequence[Part]) -> list[Part]:
    """Parts that came as messages of their own, in one: a blank line between two that speak.
    ``before`` itself grows: a turn may have any number of them."""
    if any(isinstance(part, Text) and part.text for part in after):
        spoken = next((part for part in reversed(before) if isinstance(part, Text)), None)
        if spoken is not None and not spoken.text.endswith("\n\n"):
            before.append(Text(text="\n" if spoken.text.endswith("\n") else "\n\n"))
    before += after
    return before


def _keyed(system: str, grains: Sequence[Grain], *, one_of_many: bool) -> tuple[str, list[Grain]]:
    if one_of_many:
        return fingerprint(system, [(grain.role, grain.parts) for grain in grains]), list(grains)
    path = fingerprint(system)
    found: list[Grain] = []
    key = ""
    for grain in grains:
        path = fingerprint(path, grain.role, _content(grain.parts))
        found.append(replace(grain, key=path))
        key = key or (path if grain.role == "assistant" and grain.kind == "shown" else "")
    return key or path, found


def _content(parts: Parts) -> str:
    return repr(parts)


def _same(content: bytes) -> bytes:
    return content
