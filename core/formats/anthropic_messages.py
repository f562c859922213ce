"""Anthropic messages: a conversation as JSON that Anthropic's server takes.

``{"model", "system", "messages": [{"role", "content"}], "max_tokens"}``, content being text or
blocks. Read as one conversation, a list of them, or a bare list of messages; there are no ids.
Plain words with two roles could be OpenAI's as well: a sign of the one it is decides.
"""

from collections.abc import Iterator

from core.interchange.dialects import conversations, look
from core.interchange.requested import request
from core.types import BranchTaken, Carried, Damaged, Include, Scope, Source


class AnthropicMessages:
    """The messages of one conversation, or of a few."""

    name = "anthropic_messages"
    label = "Anthropic messages (JSON)"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "json"
    media_type = "application/json"
    options: frozenset[str] = frozenset()

    def recognise(self, source: Source) -> float:
        """Sure of blocks that only Claude has, and of a request to a Claude."""
        layout, found = look(source)
        return 0.9 if layout not in ("lines", "") and found == "anthropic" else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversation, or each of several."""
        yield from conversations(source)

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The whole branch as a request. Raises ``UserError`` for files that do not go in."""
        return request(taken, "anthropic")


FORMAT = AnthropicMessages()
