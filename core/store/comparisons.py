"""Comparisons, their lanes, and where the words of a merged node came from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.errors import NotFound
from core.store.database import Database
from core.types import Comparison, Lane, Origin, new_id, now, well_formed

_OF = "SELECT id, session_id, name, at_id, blind, seed, created_at FROM comparisons"
_LANES = "SELECT id, comparison_id, branch_id, place, sample, after, dropped_at, kept_at FROM lanes"


class Comparisons:
    """What stands side by side."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def create(
        self, session_id: str, name: str, *, at_id: str | None = None, seed: int = 0
    ) -> Comparison:
        """A comparison without lanes."""
        made = Comparison(
            id=new_id(),
            session_id=session_id,
            name=well_formed(name),
            at_id=at_id,
            seed=seed,
            created_at=now(),
        )
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO comparisons (id, session_id, name, at_id, seed, created_at)"
                " VALUES (?,?,?,?,?,?)",
                [made.id, session_id, made.name, at_id, seed, made.created_at],
            )
        return made

    def get(self, comparison_id: str) -> Comparison:
        """The comparison. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_OF} WHERE id = ?", [comparison_id]):
                return _comparison(row)
        raise NotFound("There is no such comparison.", hint="Choose another one.")

    def of(self, session_id: str, limit: int = 50) -> list[Comparison]:
        """The session's comparisons, the latest first."""
        with self._db.read() as db:
            rows = db.query(
                f"{_OF} WHERE session_id = ? ORDER BY id DESC LIMIT ?", [session_id, limit]
            )
            return [_comparison(row) for row in rows]

    def rename(self, comparison_id: str, name: str) -> None:
        """Give it another name."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE comparisons SET name = ? WHERE id = ?", [well_formed(name), comparison_id]
            )

    def set_blind(self, comparison_id: str, blind: bool) -> None:
        """Hide names from now on, and shuffle the order anew; or show them."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE comparisons SET blind = ?,"
                " seed = CASE WHEN ? THEN abs(random() % 2147483647) ELSE seed END WHERE id = ?",
                [int(blind), int(blind), comparison_id],
            )

    def add_lane(
        self, comparison_id: str, branch_id: str, *, sample: int = 0, after: str | None = None
    ) -> Lane:
        """One more lane, at the right."""
        with self._db.write() as db:
            place = db.conn.execute(
                "SELECT coalesce(max(place) + 1, 0) FROM lanes WHERE comparison_id = ?",
                [comparison_id],
            ).fetchone()[0]
            lane = Lane(
                id=new_id(),
                comparison_id=comparison_id,
                branch_id=branch_id,
                place=place,
                sample=sample,
                after=after,
            )
            db.conn.execute(
                "INSERT INTO lanes (id, comparison_id, branch_id, place, sample, after)"
                " VALUES (?,?,?,?,?,?)",
                [lane.id, comparison_id, branch_id, place, sample, after],
            )
        return lane

    def lanes(self, comparison_id: str, *, dropped: bool = False) -> list[Lane]:
        """The lanes from left to right; with ``dropped`` those that were dropped as well. Lanes
        whose branch is in the bin are left out."""
        where = "" if dropped else " AND dropped_at IS NULL"
        with self._db.read() as db:
            rows = db.query(
                f"{_LANES} WHERE comparison_id = ?{where} AND branch_id IN"
                " (SELECT id FROM branches WHERE binned_at IS NULL) ORDER BY place",
                [comparison_id],
            )
            return [Lane(**row) for row in rows]

    def lane(self, lane_id: str) -> Lane:
        """The lane. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_LANES} WHERE id = ?", [lane_id]):
                return Lane(**row)
        raise NotFound("There is no such lane.", hint="Reload the page.")

    def with_branch(self, branch_id: str) -> list[Comparison]:
        """The comparisons in which a branch is a lane, the latest first."""
        with self._db.read() as db:
            rows = db.query(
                f"{_OF} WHERE id IN (SELECT comparison_id FROM lanes WHERE branch_id = ?)"
                " ORDER BY id DESC",
                [branch_id],
            )
            return [_comparison(row) for row in rows]

    def drop(self, lane_id: str, at: str | None) -> None:
        """Take the lane out of the comparison; None puts it back. Its branch stays."""
        with self._db.write() as db:
            db.conn.execute("UPDATE lanes SET dropped_at = ? WHERE id = ?", [at, lane_id])

    def keep(self, lane_id: str) -> None:
        """Note that this lane was kept, and no other of its comparison."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE lanes SET kept_at = CASE WHEN id = :lane THEN :at END WHERE comparison_id ="
                " (SELECT comparison_id FROM lanes WHERE id = :lane)",
                {"lane": lane_id, "at": now()},
            )

    def unkeep(self, comparison_id: str) -> None:
        """Note that no lane of the comparison is kept any more."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE lanes SET kept_at = NULL WHERE comparison_id = ?", [comparison_id]
            )

    # --- where words came from ---

    def note_origins(self, node_id: str, origins: Sequence[Origin]) -> None:
        """Record the nodes that a node was made of."""
        with self._db.write() as db:
            db.conn.executemany(
                "INSERT OR IGNORE INTO origins VALUES (?,?,?,?)",
                [[node_id, one.origin_id, one.kind, one.branch_id] for one in origins],
            )

    def origins(self, node_ids: Iterable[str]) -> dict[str, list[Origin]]:
        """Node id to where its words came from; only nodes that have origins."""
        found: dict[str, list[Origin]] = {}
        with self._db.read() as db:
            for row in db.query(
                "SELECT node_id, origin_id, kind, branch_id FROM origins"
                " WHERE node_id IN (SELECT value FROM json_each(?))",
                [json.dumps(list(node_ids))],
            ):
                found.setdefault(row["node_id"], []).append(Origin(**row))
        return found


def _comparison(row: Mapping[str, Any]) -> Comparison:
    return Comparison(**{**row, "blind": bool(row["blind"])})
