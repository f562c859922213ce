"""Small real files to attach."""

import base64
from hashlib import sha256

from core.types import AttachmentRef

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
TEXT = "Grüße\nline two\n".encode()


def attach(content: bytes, media_type: str, name: str) -> tuple[AttachmentRef, dict[str, bytes]]:
    """A reference and the bytes it refers to."""
    digest = sha256(content).hexdigest()
    return AttachmentRef(sha256=digest, media_type=media_type, name=name), {digest: content}


CAT, CAT_BYTES = attach(PNG, "image/png", "cat.png")
PAPER, PAPER_BYTES = attach(PDF, "application/pdf", "paper.pdf")
NOTES, NOTES_BYTES = attach(TEXT, "text/plain", "notes.txt")
SOUND, SOUND_BYTES = attach(b"RIFF\0\0\0\0WAVE", "audio/wav", "song.wav")
FILES = {**CAT_BYTES, **PAPER_BYTES, **NOTES_BYTES, **SOUND_BYTES}
