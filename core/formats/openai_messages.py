"""OpenAI messages: a conversation as JSON that OpenAI's servers take, and most others.

Written as Chat Completions, ``{"model", "messages": […]}``: system prompt, tools and files are in
it, files as data. Read in that form and in the one of Responses, ``{"model", "input": […]}``; one
conversation, a list of them, a bare list of messages, or a message a line as gptme keeps them.
None of these has ids.
"""

from collections.abc import Iterator

from core.errors import BadFile
from core.interchange import streams
from core.interchange.dialects import conversations, gathered, look
from core.interchange.requested import request
from core.interchange.turns import Turns
from core.types import BranchTaken, Carried, Damaged, Include, Json, Scope, Source


class OpenAIMessages:
    """The messages of one conversation, or of a few."""

    name = "openai_messages"
    label = "OpenAI messages (JSON)"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "json"
    media_type = "application/json"
    options: frozenset[str] = frozenset()

    def recognise(self, source: Source) -> float:
        """Sure of messages with roles and words, and of items."""
        layout, found = look(source)
        return 0.8 if layout not in ("lines", "") and found in ("chat", "responses") else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversation, or each of several."""
        layout, _ = look(source)
        yield from _line_by_line(source) if layout == "message lines" else conversations(source)

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The whole branch as a request. Raises ``UserError`` for files that do not go in."""
        return request(taken, "compatible")


def _line_by_line(source: Source) -> Iterator[Carried | Damaged]:
    """A message a line is one conversation; a line that cannot be read leaves a gap, told."""
    found: list[Json] = []
    broken: list[Damaged] = []
    for _, value in streams.json_lines(source):
        (broken if isinstance(value, Damaged) else found).append(value)
    turns: Turns = gathered(found)
    turns.repairs += [f"left out: {one.place} is {one.why}" for one in broken[:20]]
    if len(broken) > 20:
        turns.repairs.append(f"{len(broken) - 20:,} more lines like that")
    made = turns.carried()
    if made is None:
        raise BadFile(f"{source.name} has no message.", hint="Choose another file.")
    yield made


FORMAT = OpenAIMessages()
