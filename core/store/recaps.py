"""Recaps, and what a branch changes about its context: its overrides."""

import json
from collections.abc import Iterable

from core.errors import NotFound
from core.store.database import Database
from core.types import Override, Recap, well_formed

_SELECT = "SELECT id, session_id, covers_to, text, run_id, edited_from, created_at FROM recaps"


class Recaps:
    """Recaps are never changed: an edited one is a new one. A branch activates one at most."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, recap: Recap) -> Recap:
        """Write a recap; it changes nothing until a branch activates it."""
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO recaps (id, session_id, covers_to, text, run_id, edited_from,"
                " created_at) VALUES (?,?,?,?,?,?,?)",
                [
                    recap.id,
                    recap.session_id,
                    recap.covers_to,
                    well_formed(recap.text),
                    recap.run_id,
                    recap.edited_from,
                    recap.created_at,
                ],
            )
        return recap

    def get(self, recap_id: str) -> Recap:
        """The recap. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_SELECT} WHERE id = ?", [recap_id]):
                return Recap(**row)
        raise NotFound("There is no such recap.")

    def of(self, session_id: str) -> list[Recap]:
        """Every recap of the session, oldest first."""
        with self._db.read() as db:
            rows = db.query(f"{_SELECT} WHERE session_id = ? ORDER BY id", [session_id])
            return [Recap(**row) for row in rows]

    def covering(self, node_ids: Iterable[str]) -> list[Recap]:
        """The recaps that cut at one of these nodes, oldest first."""
        with self._db.read() as db:
            rows = db.query(
                f"{_SELECT} WHERE covers_to IN (SELECT value FROM json_each(?)) ORDER BY id",
                [json.dumps(list(node_ids))],
            )
            return [Recap(**row) for row in rows]

    def overrides(self, branch_id: str) -> tuple[Override, ...]:
        """What the branch changes about its context."""
        with self._db.read() as db:
            rows = db.query(
                "SELECT kind, node_or_recap_id FROM overrides WHERE branch_id = ?"
                " ORDER BY kind, node_or_recap_id",
                [branch_id],
            )
            return tuple(
                Override(kind=row["kind"], target_id=row["node_or_recap_id"]) for row in rows
            )

    def override(self, branch_id: str, override: Override, *, on: bool = True) -> None:
        """Set or remove an override. A branch has one active recap at most, and a node is pinned
        or muted, not both."""
        other = {"pin": "mute", "mute": "pin"}.get(override.kind)
        with self._db.write() as db:
            if override.kind == "recap":
                db.conn.execute(
                    "DELETE FROM overrides WHERE branch_id = ? AND kind = 'recap'", [branch_id]
                )
            for kind in (override.kind, other):
                db.conn.execute(
                    "DELETE FROM overrides WHERE branch_id = ? AND kind = ?"
                    " AND node_or_recap_id = ?",
                    [branch_id, kind, override.target_id],
                )
            if on:
                db.conn.execute(
                    "INSERT INTO overrides VALUES (?,?,?)",
                    [branch_id, override.kind, override.target_id],
                )
