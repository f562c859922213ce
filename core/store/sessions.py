"""Sessions: the saved workspaces."""

from collections.abc import Mapping
from typing import Any

from core.errors import NotFound
from core.store import attachments
from core.store.database import Database
from core.store.nodes import config_json
from core.store.runs import drop_unused
from core.types import CONFIG, Config, Session, new_id, now, well_formed

_COLUMNS = (
    "id, title, objective, done_when, turn_budget, config_json, current_branch_id, created_at,"
    " updated_at, archived_at, binned_at, remind_every, drift_every, money_budget, token_budget,"
    " over_budget, auto_recap"
)
_CHANGEABLE = {
    "title",
    "objective",
    "done_when",
    "turn_budget",
    "current_branch_id",
    "remind_every",
    "drift_every",
    "money_budget",
    "token_budget",
    "over_budget",
    "auto_recap",
}
_UNTITLED = "New session"
_TITLE_LENGTH = 70


class Sessions:
    """Sessions by id and by recency."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def create(
        self,
        *,
        config: Config,
        title: str = _UNTITLED,
        objective: str = "",
        done_when: str = "",
        turn_budget: int | None = None,
    ) -> Session:
        """A new session with one empty branch, ``main``."""
        session_id, branch_id, at = new_id(), new_id(), now()
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO sessions (id, title, objective, done_when, turn_budget, config_json,"
                " current_branch_id, created_at, updated_at, seen_at) VALUES (?,?,?,?,?,?,?,?,?,?)",
                [
                    session_id,
                    well_formed(title),
                    well_formed(objective),
                    well_formed(done_when),
                    turn_budget,
                    config_json(config),
                    branch_id,
                    at,
                    at,
                    at,
                ],
            )
            db.conn.execute(
                "INSERT INTO branches (id, session_id, name, created_at) VALUES (?,?,'main',?)",
                [branch_id, session_id, at],
            )
            return self.get(session_id)

    def get(self, session_id: str) -> Session:
        """The session. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", [session_id]):
                return _session(row)
        raise NotFound("There is no such session.")

    def recent(self, limit: int = 50, *, binned: bool = False) -> list[dict[str, Any]]:
        """Rows for a list, latest first: ``id, title, updated_at, running, unread``."""
        with self._db.read() as db:
            return list(
                db.query(
                    "SELECT id, title, updated_at,"
                    " EXISTS (SELECT 1 FROM runs WHERE runs.session_id = sessions.id"
                    "         AND runs.state != 'ended') AS running,"
                    " coalesce(seen_at < updated_at, 0) AS unread"
                    f" FROM sessions WHERE binned_at IS {'NOT ' if binned else ''}NULL"
                    " ORDER BY updated_at DESC, seq DESC LIMIT ?",
                    [limit],
                )
            )

    def count(self, *, binned: bool = False) -> int:
        """How many sessions there are, in the bin or out of it."""
        with self._db.read() as db:
            row = db.conn.execute(
                f"SELECT count(*) FROM sessions WHERE binned_at IS {'NOT ' if binned else ''}NULL"
            ).fetchone()
        return int(row[0])

    def change(self, session_id: str, **columns: str | float | None) -> None:
        """Set what a person may change about a session; see :class:`core.types.Session`."""
        if unknown := columns.keys() - _CHANGEABLE:
            raise ValueError(f"not columns that may be changed: {sorted(unknown)}")
        names = ", ".join(f"{name} = ?" for name in columns)
        values = [
            well_formed(value) if isinstance(value, str) else value for value in columns.values()
        ]
        with self._db.write() as db:
            db.conn.execute(f"UPDATE sessions SET {names} WHERE id = ?", [*values, session_id])

    def choose(self, session_id: str, config: Config) -> None:
        """Set the config of the session's next run."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE sessions SET config_json = ? WHERE id = ?",
                [config_json(config), session_id],
            )

    def touch(self, session_id: str, first_line: str | None = None) -> None:
        """Move the session to the top; an untitled one takes its title from ``first_line``."""
        with self._db.write() as db:
            db.conn.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", [now(), session_id])
            if first_line and (title := title_from(first_line)):
                db.conn.execute(
                    "UPDATE sessions SET title = ? WHERE id = ? AND title = ?",
                    [well_formed(title), session_id, _UNTITLED],
                )

    def seen(self, session_id: str) -> None:
        """Note that somebody looked: the session is not unread any more."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT coalesce(seen_at < updated_at, 0) FROM sessions WHERE id = ?", [session_id]
            ).fetchone()
        if row and row[0]:
            with self._db.write(durable=False) as db:
                db.conn.execute("UPDATE sessions SET seen_at = ? WHERE id = ?", [now(), session_id])

    def bin(self, session_id: str) -> None:
        """Put the session in the bin, whole."""
        with self._db.write() as db:
            db.conn.execute("UPDATE sessions SET binned_at = ? WHERE id = ?", [now(), session_id])

    def restore(self, session_id: str) -> None:
        """Take the session out of the bin, as it was."""
        with self._db.write() as db:
            db.conn.execute("UPDATE sessions SET binned_at = NULL WHERE id = ?", [session_id])

    def delete_for_good(self, session_id: str) -> None:
        """Delete a binned session and everything in it. The only act that cannot be undone.

        A session that is not in the bin (any more) is left alone.
        """
        with self._db.write() as db:
            if not db.conn.execute(
                "SELECT 1 FROM sessions WHERE id = ? AND binned_at IS NOT NULL", [session_id]
            ).fetchone():
                return
            db.conn.execute("UPDATE branches SET tip_id = NULL WHERE session_id = ?", [session_id])
            # Children first: a cascade from parents would nest as deep as the tree, and SQLite
            # gives up at 1,000.
            nodes = db.conn.execute(
                "SELECT seq FROM nodes WHERE session_id = ? ORDER BY seq DESC", [session_id]
            ).fetchall()
            db.conn.executemany("DELETE FROM nodes WHERE seq = ?", nodes)
            db.conn.execute("DELETE FROM sessions WHERE id = ?", [session_id])
            drop_unused(db)
            attachments.drop_unused(db)


def title_from(text: str) -> str:
    """A title from the first line of a message, cut at a word."""
    line = next((line.strip(" #*>`-") for line in text.splitlines() if line.strip(" #*>`-")), "")
    if len(line) <= _TITLE_LENGTH:
        return line
    return line[:_TITLE_LENGTH].rsplit(" ", 1)[0] + "…"


def _session(row: Mapping[str, Any]) -> Session:
    columns = dict(row)
    return Session(config=CONFIG.validate_json(columns.pop("config_json")), **columns)
