"""Where things came from, for a manifest: what was sent as hashes, and ids of other products."""

import json
from collections.abc import Iterable

from core.store.database import Database


class Traces:
    """Reads only; what is unknown is absent."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def sent(self, run_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Run to the hashes, as hex, of its envelope and of the chain of its messages; the
        second is empty where no message was sent."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT id, lower(hex(envelope_hash)), lower(hex(coalesce(wire_tail, x'')))"
                " FROM runs WHERE id IN (SELECT value FROM json_each(?))",
                [json.dumps(list(run_ids))],
            ).fetchall()
        return {run: (envelope, tail) for run, envelope, tail in rows}

    def imported_session(self, session_id: str) -> tuple[str, str] | None:
        """The format that a session was imported in, and its id there."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT format, conversation_key FROM imported WHERE session_id = ? LIMIT 1",
                [session_id],
            ).fetchone()
        return (row[0], row[1]) if row else None

    def imported_nodes(self, node_ids: Iterable[str]) -> dict[str, tuple[str, str, str]]:
        """Node to its id in the other product, and the provider and model named there."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT node_id, node_key, provider, model FROM imported_nodes"
                " WHERE node_id IN (SELECT value FROM json_each(?))",
                [json.dumps(list(node_ids))],
            ).fetchall()
        return {node: (key, provider, model) for node, key, provider, model in rows}
