"""What was asked for along the way: the ledger of requirements."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from core.errors import NotFound, UserError
from core.store.database import Database
from core.types import Requirement, new_id, now, well_formed

_COLUMNS = "id, session_id, node_id, text, honoured, note, run_id, created_at, dropped_at"


class Requirements:
    """Requirements by the message they came from. One that is dropped can be taken back."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, found: Iterable[Requirement]) -> None:
        """Write down requirements."""
        rows = [
            [
                one.id,
                one.session_id,
                one.node_id,
                well_formed(one.text),
                one.honoured,
                one.answer_id or "",
                one.run_id,
                one.created_at,
                one.dropped_at,
            ]
            for one in found
        ]
        if not rows:
            return
        with self._db.write() as db:
            db.conn.executemany(
                f"INSERT INTO requirements ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", rows
            )

    def get(self, requirement_id: str) -> Requirement:
        """The requirement, dropped or not. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(
                f"SELECT {_COLUMNS} FROM requirements WHERE id = ?", [requirement_id]
            ):
                return _requirement(row)
        raise NotFound("There is no such requirement.", hint="Reload the page.")

    def of(self, node_ids: Iterable[str]) -> list[Requirement]:
        """Those that came from these messages, dropped ones too, oldest first."""
        with self._db.read() as db:
            rows = db.query(
                f"SELECT {_COLUMNS} FROM requirements"
                " WHERE node_id IN (SELECT value FROM json_each(?)) ORDER BY id",
                [json.dumps(list(node_ids))],
            )
            return [_requirement(row) for row in rows]

    def reword(self, requirement_id: str, text: str) -> Requirement:
        """Put it in other words: a new one takes its place, and the old one is dropped.

        Raises ``UserError`` for no words.
        """
        if not text.strip():
            raise UserError("A requirement needs words.", hint="Drop it instead.")
        with self._db.write():
            old = self.get(requirement_id)
            made = replace(
                old,
                id=new_id(),
                text=text.strip(),
                honoured=None,
                answer_id=None,
                created_at=now(),
                dropped_at=None,
            )
            self.drop(old.id)
            self.add([made])
        return made

    def judge(self, requirement_id: str, honoured: bool | None, answer_id: str | None) -> None:
        """Note whether the person finds it kept in an answer."""
        self._change(requirement_id, honoured=honoured, note=answer_id or "")

    def drop(self, requirement_id: str, *, dropped: bool = True) -> None:
        """Take it off the ledger, or back onto it."""
        self._change(requirement_id, dropped_at=now() if dropped else None)

    def _change(self, requirement_id: str, **columns: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        with self._db.write() as db:
            changed = db.conn.execute(
                f"UPDATE requirements SET {names} WHERE id = ?", [*columns.values(), requirement_id]
            ).rowcount
        if not changed:
            raise NotFound("There is no such requirement.", hint="Reload the page.")


def _requirement(row: Mapping[str, Any]) -> Requirement:
    columns = dict(row)
    answer_id, honoured = columns.pop("note"), columns.pop("honoured")
    return Requirement(
        **columns,
        honoured=None if honoured is None else bool(honoured),
        answer_id=answer_id or None,
    )
