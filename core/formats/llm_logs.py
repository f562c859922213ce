"""The logs of Simon Willison's ``llm``: its SQLite database, of both generations.

Until 0.31 a call is a row of ``responses``; a loop through tools is several, those after the first
without a prompt. Since 0.32 messages are a tree, each named by the hash of all up to it, and a
thread points at its newest; one that was forked from another is a branch of it here. Threads
share rows where they begin alike: that alone makes no branch. Messages have no time of their own,
so they take that of the earliest turn that has them. Fragments are put back into the words.
"""

from collections.abc import Iterator

from core.interchange.llm_rows import conversations
from core.interchange.llm_threads import threads
from core.interchange.tables import mentions, opened
from core.types import Carried, Damaged, Source

_INDEXED = (
    ("attachments", "id"),
    ("fragments", "id"),
    ("conversations", "id"),
    ("responses", "conversation_id"),
    ("tool_calls", "response_id"),
    ("tool_results", "response_id"),
    ("prompt_attachments", "response_id"),
    ("tool_results_attachments", "tool_result_id"),
    ("prompt_fragments", "response_id"),
    ("system_fragments", "response_id"),
    ("parts", "message_hash"),
    ("messages", "hash"),
    ("threads", "forked_from"),
    ("threads", "id"),
    ("turns", "thread_id"),
)


class LlmLogs:
    """Every conversation of a ``logs.db``."""

    name = "llm_logs"
    label = "llm logs database"

    def recognise(self, source: Source) -> float:
        """Sure of a database with the tables that only ``llm`` has."""
        older = mentions(source, b"conversations", b"responses", b"prompt_json")
        newer = not older and mentions(source, b"tip_message_hash", b"message_hash")
        return 0.95 if older or newer else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The threads, then the conversations that are in no thread."""
        with opened(source) as tables:
            for table, column in _INDEXED:
                tables.index(table, column)
            yield from threads(tables)
            yield from conversations(tables)


FORMAT = LlmLogs()
