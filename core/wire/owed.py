"""Calls that wait for their results, while a conversation is written for a server.

Servers refuse a call without its result, a result without its call, and two calls of one id. A
Stop or a cut history leaves the first two behind and simple servers count their ids anew in
every answer: so a call gets a stand-in, a result becomes words, and an id is made anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.types import Message, ToolResult, well_formed
from core.wire.tools import past_id

NOT_RUN = "(no result: the call was not run)"


@dataclass(slots=True)
class Owed:
    """``waiting`` are calls by the id they came with: the id they went out with, the tool's
    name. ``used`` are all ids that went out."""

    waiting: dict[str, tuple[str, str]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def copy(self) -> "Owed":
        """Another one that goes on from here."""
        return Owed(dict(self.waiting), set(self.used))

    def id_for(self, given: str, otherwise: str) -> str:
        """The id that a call of the past goes out with; ``otherwise`` must be used by no other."""
        key = past_id(given)
        if not key or key in self.used:
            key = otherwise
        self.used.add(key)
        return key

    def add(self, given: str, key: str, name: str) -> None:
        """A call has gone out as ``key``."""
        given = past_id(given)
        self.waiting[key if given in self.waiting else given or key] = (key, name)
        self.used.add(key)

    def answers(self, message: Message) -> tuple[list[tuple[str, str]], str]:
        """The results in a message, by the ids of their calls; those without one in words."""
        found: list[tuple[str, str]] = []
        orphans = ""
        for result in [part for part in message.parts if isinstance(part, ToolResult)]:
            named = (key for key, (_, name) in self.waiting.items() if name == result.name)
            call = self.waiting.pop(past_id(result.call_id) or next(named, ""), None)
            if call is None:
                orphans += f"Result of {result.name}:\n{result.text}\n\n"
            else:
                found.append((call[0], well_formed(result.text) or "(no output)"))
        return found, orphans

    def settle(self) -> Sequence[tuple[str, str]]:
        """Stand-ins for the results that never came."""
        missing = [(key, NOT_RUN) for key, _ in self.waiting.values()]
        self.waiting.clear()
        return missing
