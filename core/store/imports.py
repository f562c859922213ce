"""What came from elsewhere: by which ids it was known there, and the reports of imports."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from core.store.database import Database
from core.types import Branch, Json, new_id, now, well_formed


class Imports:
    """Conversations and messages by the ids they came with; reports, the latest first."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def session_of(self, format: str, key: str) -> str | None:
        """The session that a conversation became, binned or not; None if it never came."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT session_id FROM imported WHERE format = ? AND conversation_key = ?",
                [format, well_formed(key)],
            ).fetchone()
        return str(row[0]) if row else None

    def note_session(self, format: str, key: str, session_id: str) -> None:
        """A conversation became this session."""
        with self._db.write() as db:
            db.conn.execute(
                "INSERT OR REPLACE INTO imported (format, conversation_key, session_id)"
                " VALUES (?,?,?)",
                [format, well_formed(key), session_id],
            )

    def nodes_of(self, session_id: str) -> dict[str, str]:
        """The session's messages that came from elsewhere: key there to node here."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT node_key, node_id FROM nodes JOIN imported_nodes"
                " ON imported_nodes.node_id = nodes.id WHERE nodes.session_id = ?",
                [session_id],
            ).fetchall()
        return dict(rows)

    def note_nodes(self, rows: Iterable[tuple[str, str, str, str]]) -> None:
        """Messages by ``(node id, key there, provider, model)``."""
        with self._db.write() as db:
            db.conn.executemany("INSERT INTO imported_nodes VALUES (?,?,?,?)", rows)

    def models(self, node_ids: Iterable[str]) -> dict[str, str]:
        """Who wrote these answers elsewhere, by node; those of whom nobody knows are absent."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT node_id, model FROM imported_nodes WHERE model != ''"
                " AND node_id IN (SELECT value FROM json_each(?))",
                [json.dumps(list(node_ids))],
            ).fetchall()
        return dict(rows)

    def add_branches(self, branches: Iterable[Branch]) -> None:
        """Write branches on their tips; they have moved nowhere yet."""
        with self._db.write() as db:
            db.conn.executemany(
                "INSERT INTO branches (id, session_id, name, tip_id, forked_from_node_id, note,"
                " created_at) VALUES (?,?,?,?,?,?,?)",
                [
                    [
                        one.id,
                        one.session_id,
                        well_formed(one.name),
                        one.tip_id,
                        one.forked_from_node_id,
                        well_formed(one.note),
                        one.created_at,
                    ]
                    for one in branches
                ],
            )

    def tally(self, session_id: str) -> tuple[int, int]:
        """What is really there of a session: its messages, and the bytes of their words."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT count(*), coalesce(sum(length(CAST(text AS BLOB))), 0)"
                " FROM nodes WHERE session_id = ?",
                [session_id],
            ).fetchone()
        return int(row[0]), int(row[1])

    def date(self, session_id: str, created_at: str, updated_at: str, *, anew: bool) -> None:
        """Give a session the dates it had elsewhere; nothing in a new one is unread. One that was
        here goes back behind nothing that a person did in it since."""
        change = "created_at = :created, updated_at = :updated, seen_at = :updated"
        if not anew:
            change = "updated_at = max(updated_at, :updated)"
        with self._db.write() as db:
            db.conn.execute(
                f"UPDATE sessions SET {change} WHERE id = :id",
                {"created": created_at, "updated": updated_at, "id": session_id},
            )

    # --- reports ---

    def keep_report(self, format: str, file_name: str, report: Json) -> str:
        """Keep what became of an import; returns its id."""
        import_id = new_id()
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO imports (id, format, file_name, report_json, at) VALUES (?,?,?,?,?)",
                [import_id, format, well_formed(file_name), json.dumps(report), now()],
            )
        return import_id

    def reports(self, limit: int = 50) -> list[Mapping[str, Any]]:
        """The latest imports first: ``id, format, file_name, report, at``."""
        with self._db.read() as db:
            rows = db.query("SELECT * FROM imports ORDER BY id DESC LIMIT ?", [limit])
            return [row | {"report": json.loads(row.pop("report_json"))} for row in rows]
