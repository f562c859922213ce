"""The queue as a whole: held, let go on, put in another order, reworded, taken out and put back.

Single messages come and go in :class:`core.store.branches.Branches`. A message that was taken
out with all others is *stopped*: its words stay until a person puts them back or throws them
away.
"""

from typing import Any

from core.errors import NotFound, UserError
from core.store.database import Database
from core.types import well_formed

_IN_QUEUE = ("waiting", "held")
_GONE = "That message was sent or taken back already."


class Queue:
    """What waits on a branch, in the order it will be sent."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def ids(self, branch_id: str, *states: str) -> list[str]:
        """The messages in these states, the next one first."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT id FROM queue WHERE branch_id = ?"
                f" AND state IN ({', '.join('?' * len(states))}) ORDER BY coalesce(place, 0), id",
                [branch_id, *states],
            )
            return [row[0] for row in rows.fetchall()]

    def set_all(self, branch_id: str, state: str, *before: str) -> int:
        """Bring all that are in a state of ``before`` into another; how many they were."""
        with self._db.write() as db:
            return int(
                db.conn.execute(
                    "UPDATE queue SET state = ? WHERE branch_id = ?"
                    f" AND state IN ({', '.join('?' * len(before))})",
                    [state, branch_id, *before],
                ).rowcount
            )

    def reword(self, queued_id: str, text: str) -> None:
        """Put other words in the same place. Raises ``NotFound``, ``UserError`` for no words."""
        with self._db.write() as db:
            row = self._row(db, queued_id)
            if not text.strip() and not row[2]:
                raise UserError("A message cannot be empty.", hint="Take it back instead.")
            db.conn.execute(
                "UPDATE queue SET text = ? WHERE id = ?", [well_formed(text), queued_id]
            )

    def shift(self, queued_id: str, by: int) -> None:
        """Let it come ``by`` places later, or earlier for less than 0. Raises ``NotFound``."""
        with self._db.write() as db:
            branch_id = self._row(db, queued_id)[0]
            order = self.ids(branch_id, *_IN_QUEUE)
            here = order.index(queued_id)
            order.insert(max(0, min(len(order) - 1, here + by)), order.pop(here))
            # Places begin where the branch's own end, so that what is queued later comes later.
            db.conn.executemany(
                "UPDATE queue SET place = ? WHERE id = ?",
                [[place, one] for place, one in enumerate(order, 1)],
            )

    def discard(self, branch_id: str) -> None:
        """Throw away what was stopped."""
        with self._db.write() as db:
            db.conn.execute(
                "DELETE FROM queue WHERE branch_id = ? AND state = 'stopped'", [branch_id]
            )

    def _row(self, db: Any, queued_id: str) -> Any:
        row = db.conn.execute(
            f"SELECT branch_id, text, files_json FROM queue WHERE id = ? AND state IN {_IN_QUEUE}",
            [queued_id],
        ).fetchone()
        if row is None:
            raise NotFound(_GONE, hint="Reload the page.")
        return row
