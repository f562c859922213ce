"""Gemini contents: a conversation as JSON that Gemini's server takes.

``{"systemInstruction", "contents": [{"role": "user" | "model", "parts"}], "generationConfig"}``,
names in either case. Read as one conversation, a list of them, or a bare list of contents. There
are no ids, and the model stands in the address, not in the file.
"""

from collections.abc import Iterator

from core.interchange.dialects import conversations, look
from core.interchange.requested import request
from core.types import BranchTaken, Carried, Damaged, Include, Scope, Source


class GeminiMessages:
    """The messages of one conversation, or of a few."""

    name = "gemini_messages"
    label = "Gemini messages (JSON)"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "json"
    media_type = "application/json"
    options: frozenset[str] = frozenset()

    def recognise(self, source: Source) -> float:
        """Sure of contents with parts."""
        layout, found = look(source)
        return 0.9 if layout not in ("lines", "") and found == "gemini" else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversation, or each of several."""
        yield from conversations(source)

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The whole branch as a request. Raises ``UserError`` for files that do not go in."""
        return request(taken, "gemini")


FORMAT = GeminiMessages()
