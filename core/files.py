"""Files that people attach: what is taken, what they are by their content, small pictures.

What a file is, its bytes say; its name and what the browser calls it are not believed. Text is
kept as UTF-8, whatever it came in; SVG and HTML are text like any other.
"""

import io
import re
import unicodedata
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from core.errors import BadFile, UserError
from core.store import Store
from core.types import AttachmentRef, Parts, Text
from core.wire.files import IMAGES, PDF

MEGABYTE = 2**20
MOST_FILES = 10
MOST_BYTES = 10 * MEGABYTE
MOST_BYTES_OF_TEXT = 2 * MEGABYTE
MOST_BYTES_OF_A_MESSAGE = 20 * MEGABYTE
MOST_PIXELS = 64_000_000
LIMITS = (
    f"Up to {MOST_FILES} files, {MOST_BYTES // MEGABYTE} MB each and"
    f" {MOST_BYTES_OF_A_MESSAGE // MEGABYTE} MB together: PNG, JPEG, GIF, WebP, PDF,"
    f" text up to {MOST_BYTES_OF_TEXT // MEGABYTE} MB."
)
PLAIN = "text/plain"
SMALL = (320, 240)
"""Pixels that a small picture fits in."""

_TAKEN = "Attach images (PNG, JPEG, GIF, WebP), PDF or text."
_NAME_LENGTH = 120
_TURNS_WRITING = set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_ENCRYPTED = re.compile(rb"/Encrypt\s*(?:\d+\s+\d+\s+R|<<)")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROLS = 0.01  # of the characters; more of them, and it is no text
_MOST_HIGH = 0.3  # of the bytes; more of them, and it is no Western European text
_BEFORE_PDF = b"\xef\xbb\xbf\0\t\n\f\r "
_KNOWN = (
    (b"PK\x03\x04", "an Office document or an archive", "Save it as PDF or as text"),
    (b"\xd0\xcf\x11\xe0", "an Office document", "Save it as PDF or as text"),
    (b"BM", "a bitmap", "Save it as PNG"),
    (b"II*\0", "a TIFF picture", "Save it as PNG"),
    (b"MM\0*", "a TIFF picture", "Save it as PNG"),
    (b"\0\0\0", "a film or a picture of a kind that is not taken", "Save a picture as JPEG"),
    (b"RIFF", "a sound or a film", ""),
    (b"ID3", "a sound", ""),
    (b"OggS", "a sound or a film", ""),
    (b"\x1f\x8b", "an archive", "Unpack it first"),
    (b"Rar!", "an archive", "Unpack it first"),
    (b"7z\xbc\xaf", "an archive", "Unpack it first"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A file as it came: nothing of it is believed yet. ``content`` is None if it got lost."""

    name: str
    content: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that is taken: a clean name, one of our kinds, and bytes that can be read."""

    name: str
    media_type: str
    content: bytes


def attach(store: Store, branch_id: str, uploads: Iterable[Upload]) -> list[BadFile]:
    """Store files and hold them for the branch's next message; returns why some are not taken.

    One bad file keeps none of the others from being held.
    """
    held = store.attachments.pending(branch_id)
    sizes = store.attachments.sizes(file.sha256 for file in held)
    good, bad = sort_out(uploads, count=len(held), size=sum(sizes.values()))
    with store.write():
        found = [store.attachments.add(file.name, file.media_type, file.content) for file in good]
        store.attachments.hold(branch_id, found)
    return bad


def sort_out(
    uploads: Iterable[Upload], *, count: int = 0, size: int = 0
) -> tuple[list[File], list[BadFile]]:
    """What of this is taken beside ``count`` files of ``size`` bytes, and why the rest is not."""
    good: list[File] = []
    bad: list[BadFile] = []
    for upload in uploads:
        try:
            file = read(upload)
            if count + len(good) >= MOST_FILES:
                raise _refused(file.name, f"is one too many: a message takes {MOST_FILES} files")
            size += len(file.content)
            if size > MOST_BYTES_OF_A_MESSAGE:
                size -= len(file.content)
                most = MOST_BYTES_OF_A_MESSAGE // MEGABYTE
                raise _refused(file.name, f"is too much: the files are over {most} MB together")
            good.append(file)
        except BadFile as error:
            bad.append(error)
    return good, bad


def read(upload: Upload) -> File:
    """The file, its kind found out from its bytes. Raises :class:`BadFile`."""
    name, content = clean_name(upload.name), upload.content
    if content is None:
        raise _refused(name, "did not arrive", "Attach it again.")
    if not content:
        raise _refused(name, "is empty", "Attach another file.")
    if len(content) > MOST_BYTES:
        raise _too_large(name, MOST_BYTES)
    if (media_type := _image_type(content)) is not None:
        small_picture(content, name)  # reads all of it: a damaged one is found now
    elif content[:1024].lstrip(_BEFORE_PDF).startswith(b"%PDF-"):
        media_type = PDF
        _check_pdf(content, name)
    else:
        media_type, content = PLAIN, _as_text(content, name).encode()
    return File(name=name, media_type=media_type, content=content)


def small_picture(content: bytes, name: str = "The picture") -> bytes:
    """A WebP of at most :data:`SMALL` pixels, the right way up. Raises :class:`BadFile`."""
    from PIL import Image, ImageOps

    with _damage_as_bad_file(name):
        picture = Image.open(io.BytesIO(content), formats=_FORMATS)
        width, height = picture.size
        if width * height > MOST_PIXELS:
            most = MOST_PIXELS // 1_000_000
            raise _refused(name, f"has more than {most} million pixels", "Make it smaller.")
        turned = 5 <= picture.getexif().get(0x0112, 1) <= 8
        picture.thumbnail(SMALL[::-1] if turned else SMALL)
        upright = ImageOps.exif_transpose(picture)
        small = io.BytesIO()
        mode = "RGBA" if upright.has_transparency_data else "RGB"
        upright.convert(mode).save(small, "WEBP", quality=80)
    return small.getvalue()


# --- messages -------------------------------------------------------------------------------


def message(text: str, files: Sequence[AttachmentRef] = ()) -> Parts:
    """What a person sends: files, then words. Raises ``UserError`` for neither."""
    if not text.strip() and not files:
        raise UserError("There is nothing to send.", hint="Write something first.")
    return (*files, *_words(text))


def reworded(parts: Parts, text: str) -> Parts:
    """A message with other words and the same files. Raises ``UserError`` if nothing is left."""
    files = [part for part in parts if isinstance(part, AttachmentRef)]
    rest = [p for p in parts if p.type not in ("text", "thinking", "attachment")]
    if not text.strip() and not files:
        raise UserError(
            "There is nothing to send: a message cannot be empty.",
            hint="Bin it instead, or write something.",
        )
    return (*files, *_words(text), *rest)


def heading(parts: Parts) -> str:
    """What to call a message by: its words, or the names of its files."""
    words = "".join(part.text for part in parts if isinstance(part, Text))
    if words.strip():
        return words
    return ", ".join(part.name for part in parts if isinstance(part, AttachmentRef))


def _words(text: str) -> Parts:
    return (Text(text=text),) if text.strip() else ()


# --- names and kinds ------------------------------------------------------------------------


def clean_name(name: str) -> str:
    """The name alone, on one line, as it reads, and not too long."""
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(
        one
        for one in " ".join(last.split())
        if one not in _TURNS_WRITING and unicodedata.category(one) not in ("Cc", "Cs", "Co")
    )
    kept = " ".join(kept.split()) or "unnamed"
    if len(kept) <= _NAME_LENGTH:
        return kept
    stem, dot, ending = kept.rpartition(".")
    ending = dot + ending if stem and len(ending) <= 10 else ""
    return kept[: _NAME_LENGTH - len(ending) - 1] + "…" + ending


def _image_type(content: bytes) -> str | None:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return IMAGES[0]
    if content.startswith(b"\xff\xd8\xff"):
        return IMAGES[1]
    if content.startswith((b"GIF87a", b"GIF89a")):
        return IMAGES[2]
    return IMAGES[3] if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


@contextmanager
def _damage_as_bad_file(name: str) -> Generator[None]:
    """Whatever a broken picture makes the reader raise, as one error of ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except BadFile:
        raise
    except Exception as error:
        raise _refused(
            name, "is damaged: the picture cannot be read", "Open it elsewhere and save it anew."
        ) from error


def _check_pdf(content: bytes, name: str) -> None:
    if _ENCRYPTED.search(content):
        raise _refused(name, "is an encrypted PDF", "Save a copy without a password, then attach.")
    if b"%%EOF" not in content[-4096:] and b"startxref" not in content:
        raise _refused(name, "is damaged: its end is missing", "Fetch it again, then attach it.")


def _as_text(content: bytes, name: str) -> str:
    for start, kind, remedy in _KNOWN:
        if content.startswith(start) and b"\0" in content[:512]:  # words may begin so too
            raise _refused(name, f"is {kind}", f"{remedy}, then attach that." if remedy else _TAKEN)
    if len(content) > MOST_BYTES_OF_TEXT:
        raise _too_large(name, MOST_BYTES_OF_TEXT)
    text = decoded(content)
    if text is None:
        raise _refused(name, "is neither an image, a PDF nor text that can be read", _TAKEN)
    if not text:
        raise _refused(name, "is empty", "Attach another file.")
    return text


def decoded(content: bytes) -> str | None:
    """Bytes as text: UTF-8, UTF-16 with or without a mark, or Western European; else None.

    Few stray NULs and control characters are replaced; many mean that this is no text. Other
    old encodings are not guessed: wrong letters would go unseen.
    """
    text = _unicode(content)
    if text is None:
        high = sum(byte >= 0x80 for byte in content)
        if high > _MOST_HIGH * len(content):
            return None
        text = content.decode("cp1252", "replace")
    strays = len(_CONTROLS.findall(text))
    if strays > max(1, _MOST_CONTROLS * len(text)):
        return None
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text) if strays else text


def _unicode(content: bytes) -> str | None:
    encoding = "utf-8-sig"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif len(content) % 2 == 0 and b"\0" in content[:1024]:
        # Western text in UTF-16 has a NUL in every other place.
        even, odd = content[:1024:2].count(0), content[1:1024:2].count(0)
        if max(even, odd) > 0.4 * min(len(content), 1024) / 2 and min(even, odd) == 0:
            encoding = "utf-16-be" if even else "utf-16-le"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


def _refused(name: str, why: str, hint: str = "Send the rest in another message.") -> BadFile:
    return BadFile(f"“{name}” {why}.", hint=hint)


def _too_large(name: str, most: int) -> BadFile:
    kind = "text" if most == MOST_BYTES_OF_TEXT else "files"
    return _refused(
        name,
        f"is too large: {kind} may have {most // MEGABYTE} MB",
        "Attach a smaller one, or only the part that matters.",
    )
