"""Full-text search over titles, notes and every message of every branch."""

import re
from typing import Any

from core.store.database import Database

OPEN, CLOSE = "\ue000", "\ue001"
"""What stands around a hit in a snippet: private-use characters, so that no text has them."""


class Search:
    """Finds sessions and messages by their words."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def messages(self, query: str, limit: int = 20) -> list[dict[str, Any]]:
        """Messages with all the words, newest first: ``node_id, session_id, title, role,
        snippet``. The last word may be unfinished. What is in a bin is left out."""
        if not (match := _match(query)):
            return []
        with self._db.read() as db:
            return list(
                db.query(
                    "WITH RECURSIVE binned(id) AS ("
                    " SELECT root_id FROM bins WHERE root_id IS NOT NULL UNION"
                    " SELECT nodes.id FROM nodes JOIN binned ON nodes.parent_id = binned.id)"
                    " SELECT nodes.id AS node_id, nodes.session_id, sessions.title, nodes.role,"
                    f" snippet(nodes_search, 0, '{OPEN}', '{CLOSE}', '…', 12) AS snippet"
                    " FROM nodes_search JOIN nodes ON nodes.seq = nodes_search.rowid"
                    " JOIN sessions ON sessions.id = nodes.session_id"
                    " WHERE nodes_search MATCH ? AND sessions.binned_at IS NULL"
                    " AND nodes.id NOT IN (SELECT id FROM binned)"
                    " ORDER BY nodes_search.rowid DESC LIMIT ?",
                    [match, limit],
                )
            )

    def sessions(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """Sessions whose title, objective, branch names or notes have the words: ``id, title``."""
        if not (match := _match(query)):
            return []
        pattern = "%" + re.sub(r"([%_\\])", r"\\\1", query.strip()) + "%"
        with self._db.read() as db:
            return list(
                db.query(
                    "SELECT id, title FROM sessions WHERE binned_at IS NULL AND (seq IN"
                    " (SELECT rowid FROM sessions_search WHERE sessions_search MATCH :match)"
                    " OR id IN (SELECT session_id FROM branches WHERE binned_at IS NULL AND"
                    " (name LIKE :pattern ESCAPE '\\' OR note LIKE :pattern ESCAPE '\\')))"
                    " ORDER BY updated_at DESC LIMIT :limit",
                    {"match": match, "pattern": pattern, "limit": limit},
                )
            )


def _match(query: str) -> str:
    """An FTS5 expression: every word quoted, so that no syntax of the person's is run."""
    words = re.findall(r"\w+", query)
    if not words:
        return ""
    *whole, last = [f'"{word}"' for word in words]
    return " ".join([*whole, f"{last}*"])
