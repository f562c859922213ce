"""What a person is writing in a dialog and has not placed yet."""

from core.store.database import Database
from core.types import now, well_formed


class Drafts:
    """Words by the key of the field they are written in."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def keep(self, session_id: str, key: str, text: str) -> None:
        """Keep the words as they are now."""
        with self._db.write() as db:
            db.conn.execute(
                "INSERT OR REPLACE INTO drafts (key, session_id, text, updated_at)"
                " VALUES (?,?,?,?)",
                [key, session_id, well_formed(text), now()],
            )

    def get(self, key: str) -> str | None:
        """The words; None where nothing was written."""
        with self._db.read() as db:
            row = db.conn.execute("SELECT text FROM drafts WHERE key = ?", [key]).fetchone()
        return None if row is None else str(row[0])

    def drop(self, key: str) -> None:
        """Forget the words: they were placed."""
        with self._db.write() as db:
            db.conn.execute("DELETE FROM drafts WHERE key = ?", [key])
