"""A person's own choices for the whole app, by name."""

import json

from core.store.database import Database
from core.types import Json


class Preferences:
    """JSON values by name."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, name: str, otherwise: Json = None) -> Json:
        """The value; ``otherwise`` where none was chosen."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT body_json FROM preferences WHERE name = ?", [name]
            ).fetchone()
        return otherwise if row is None else json.loads(row[0])

    def set(self, name: str, value: Json) -> None:
        """Keep a value in place of the one before."""
        with self._db.write() as db:
            db.conn.execute(
                "INSERT OR REPLACE INTO preferences (name, body_json) VALUES (?,?)",
                [name, json.dumps(value)],
            )
