"""What was said of answers: verdicts, checks, and the rubric of a session."""

import json
from collections.abc import Mapping
from typing import Any

from core.store.database import Database
from core.types import Check, CheckKind, Json, Verdict, new_id, now, well_formed

_COLUMNS = (
    "id, session_id, comparison_id, by, tips_json, winner, tie, blind, ratings_json, note,"
    " body_json, created_at"
)


class Verdicts:
    """Verdicts of people and judges, checks, rubrics."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, verdict: Verdict) -> None:
        """Write a verdict."""
        with self._db.write() as db:
            db.conn.execute(
                f"INSERT INTO verdicts ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                [
                    verdict.id,
                    verdict.session_id,
                    verdict.comparison_id,
                    verdict.by,
                    json.dumps(dict(verdict.tips)),
                    verdict.winner,
                    int(verdict.tie),
                    int(verdict.blind),
                    json.dumps(dict(verdict.ratings)),
                    well_formed(verdict.note),
                    None if verdict.body is None else json.dumps(verdict.body, ensure_ascii=True),
                    verdict.created_at,
                ],
            )

    def of(
        self,
        session_id: str | None = None,
        *,
        comparison_id: str | None = None,
        limit: int = 9999,
    ) -> list[Verdict]:
        """Verdicts of a session, of a comparison, or all; the latest first."""
        where = " AND ".join(
            f"{name} = :{name}"
            for name, value in (("session_id", session_id), ("comparison_id", comparison_id))
            if value
        )
        with self._db.read() as db:
            rows = db.query(
                f"SELECT {_COLUMNS} FROM verdicts {'WHERE ' + where if where else ''}"
                " ORDER BY id DESC LIMIT :limit",
                {"session_id": session_id, "comparison_id": comparison_id, "limit": limit},
            )
            return [_verdict(row) for row in rows]

    def remove(self, verdict_id: str) -> None:
        """Take a verdict back."""
        with self._db.write() as db:
            db.conn.execute("DELETE FROM verdicts WHERE id = ?", [verdict_id])

    # --- checks ---

    def add_check(self, session_id: str, kind: CheckKind, body: Json) -> Check:
        """A check that holds for every answer of the session."""
        check = Check(id=new_id(), session_id=session_id, kind=kind, body=body, created_at=now())
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO checks VALUES (?,?,?,?,?)",
                [check.id, session_id, kind, json.dumps(body), check.created_at],
            )
        return check

    def checks(self, session_id: str) -> list[Check]:
        """The session's checks, oldest first."""
        with self._db.read() as db:
            return [
                Check(body=json.loads(row.pop("body_json")), **row)
                for row in db.query(
                    "SELECT id, session_id, kind, body_json, created_at FROM checks"
                    " WHERE session_id = ? ORDER BY id",
                    [session_id],
                )
            ]

    def drop_check(self, check_id: str) -> None:
        """Check no more."""
        with self._db.write() as db:
            db.conn.execute("DELETE FROM checks WHERE id = ?", [check_id])

    # --- rubrics ---

    def rubric(self, session_id: str) -> Json:
        """What the session's judges score by; None where nobody wrote one."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT body_json FROM rubrics WHERE session_id = ?", [session_id]
            ).fetchone()
        return json.loads(row[0]) if row else None

    def choose_rubric(self, session_id: str, body: Json) -> None:
        """Score by this from now on."""
        with self._db.write() as db:
            db.conn.execute(
                "INSERT OR REPLACE INTO rubrics VALUES (?,?)", [session_id, json.dumps(body)]
            )


def _verdict(row: Mapping[str, Any]) -> Verdict:
    known = dict(row)
    body = known.pop("body_json")
    return Verdict(
        tips=json.loads(known.pop("tips_json")),
        ratings=json.loads(known.pop("ratings_json")),
        tie=bool(known.pop("tie")),
        blind=bool(known.pop("blind")),
        body=json.loads(body) if body else None,
        **known,
    )
