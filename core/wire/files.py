"""Attached files on their way to a provider: what they are, and how text goes inline.

A provider says how it takes images and PDF; text is pasted into the words around it, between
lines that say where it begins and ends. What cannot be sent is told before anything is.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from core.errors import BadFile, Unsupported
from core.types import AttachmentRef, Json, Text, well_formed

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF = "application/pdf"
Kind = Literal["image", "pdf", "text"]
Form: TypeAlias = Callable[[AttachmentRef, bytes], "str | dict[str, Json]"]
"""A file in a provider's form: a block of its own, or words to put among the others."""


def kind_of(file: AttachmentRef, content: bytes) -> Kind | None:
    """What the file is, by its media type, or by its content if that says nothing."""
    media = media_type(file)
    if media in IMAGES:
        return "image"
    if media == PDF:
        return "pdf"
    if media.startswith(("image/", "audio/", "video/")) and not media.endswith("+xml"):
        return None
    return "text" if text_in(content) is not None else None


def media_type(file: AttachmentRef) -> str:
    """The bare media type; ``image/jpg`` under its right name."""
    media = file.media_type.partition(";")[0].strip().lower()
    return "image/jpeg" if media == "image/jpg" else media


def text_in(content: bytes) -> str | None:
    """The file as text, None if it is none."""
    try:
        marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
        text = content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def data_url(file: AttachmentRef, content: bytes) -> str:
    """The file itself as an address."""
    return f"data:{media_type(file)};base64,{base64.b64encode(content).decode('ascii')}"


def pasted(file: AttachmentRef, content: bytes) -> str:
    """A text file as words, between lines that name it."""
    name, text = name_of(file), (text_in(content) or "").strip("\n")
    return f"----- file: {name} -----\n{text or '(empty)'}\n----- end of {name} -----"


def mentioned(file: AttachmentRef, _content: bytes) -> str:
    """A file that can only be spoken of, such as a picture in an answer."""
    return f"[file: {name_of(file)}]"


def name_of(file: AttachmentRef) -> str:
    """The name on one line."""
    return well_formed(" ".join(file.name.split())) or "unnamed"


def woven(
    parts: Iterable[Text | AttachmentRef],
    files: Mapping[str, bytes],
    *,
    image: Form | None,
    pdf: Form | None,
) -> list[str | dict[str, Json]]:
    """Words and blocks in order: neighbouring words are one, blank ones are left out.

    ``files`` are the bytes by sha256. Raises :class:`Unsupported` for a file that has no form
    here, :class:`BadFile` for one whose bytes are gone.
    """
    found: list[str | dict[str, Json]] = []
    after_file = False
    for part in parts:
        is_file = isinstance(part, AttachmentRef)
        piece = _formed(part, files, image, pdf) if isinstance(part, AttachmentRef) else part.text
        if not piece:
            continue
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += ("\n\n" if is_file or after_file else "") + piece
        else:
            found.append(piece)
        after_file = is_file
    mended = [well_formed(piece) if isinstance(piece, str) else piece for piece in found]
    return [piece for piece in mended if not isinstance(piece, str) or piece.strip()]


def _formed(
    file: AttachmentRef, files: Mapping[str, bytes], image: Form | None, pdf: Form | None
) -> str | dict[str, Json]:
    content = files.get(file.sha256)
    if content is None:
        raise BadFile(
            f"The content of {name_of(file)!r} is not there any more.",
            hint="Attach the file again, or remove it from the message.",
        )
    kind = kind_of(file, content)
    form = {"image": image, "pdf": pdf, "text": pasted}.get(kind or "")
    if form is not None:
        return form(file, content)
    raise Unsupported(_why_not(file, kind), hint=_way_out(kind, image, pdf))


def _why_not(file: AttachmentRef, kind: Kind | None) -> str:
    what = {"image": "images", "pdf": "PDF files"}.get(kind or "", "files of this kind")
    return f"This model cannot be sent {what}: {name_of(file)}."


def _way_out(kind: Kind | None, image: Form | None, pdf: Form | None) -> str:
    taken = [
        *(["images (PNG, JPEG, GIF, WebP)"] if image else []),
        *(["PDF"] if pdf else []),
        "text files",
    ]
    other = "paste its text into the message, " if kind == "pdf" else ""
    return f"It takes {', '.join(taken)}. Remove the file, {other}or choose a model that takes it."
