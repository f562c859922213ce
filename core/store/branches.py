"""Branches, the only pointers that move; their moves, their bins and waiting words."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from core.errors import NameTaken, NotFound
from core.store.attachments import files_in, files_json
from core.store.database import Database
from core.store.nodes import config_json
from core.types import CONFIG, AttachmentRef, Branch, Config, new_id, now, well_formed

_COLUMNS = (
    "id, session_id, name, tip_id, forked_from_node_id, status, note, created_at, binned_at,"
    " policy, keep_turns, linked_to, past_budget, config_json"
)
_WAITING = "SELECT id, branch_id, text, state, files_json FROM queue"
QueueState = Literal["waiting", "held", "offer", "offer_past", "offer_long", "stopped"]


class Branches:
    """Branches and every movement of their tips."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def create(
        self, session_id: str, name: str, tip_id: str | None, forked_from: str | None = None
    ) -> Branch:
        """A new branch. Raises :class:`NameTaken`."""
        branch = Branch(
            id=new_id(),
            session_id=session_id,
            name=well_formed(name),
            tip_id=tip_id,
            forked_from_node_id=forked_from,
            created_at=now(),
        )
        with self._db.write() as db:
            self._refuse_taken(session_id, branch.name)
            db.conn.execute(
                "INSERT INTO branches (id, session_id, name, tip_id, forked_from_node_id,"
                " created_at) VALUES (?,?,?,?,?,?)",
                [branch.id, session_id, branch.name, tip_id, forked_from, branch.created_at],
            )
        return branch

    def get(self, branch_id: str) -> Branch:
        """The branch, binned or not. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"SELECT {_COLUMNS} FROM branches WHERE id = ?", [branch_id]):
                return _branch(row)
        raise NotFound("There is no such branch.")

    def of(self, session_id: str, *, binned: bool = False) -> list[Branch]:
        """The session's branches, oldest first."""
        with self._db.read() as db:
            rows = db.query(
                f"SELECT {_COLUMNS} FROM branches WHERE session_id = ?"
                f" AND binned_at IS {'NOT ' if binned else ''}NULL ORDER BY id",
                [session_id],
            )
            return [_branch(row) for row in rows]

    def names(self, session_id: str) -> list[str]:
        """What the session's branches are called; a job asks for each of its cells."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT name FROM branches WHERE session_id = ? AND binned_at IS NULL",
                [session_id],
            ).fetchall()
        return [name for (name,) in rows]

    def forked_at(self, node_ids: Iterable[str]) -> dict[str, list[Branch]]:
        """Node id to the live branches that were forked there."""
        found: dict[str, list[Branch]] = {}
        with self._db.read() as db:
            for row in db.query(
                f"SELECT {_COLUMNS} FROM branches WHERE binned_at IS NULL"
                " AND forked_from_node_id IN (SELECT value FROM json_each(?)) ORDER BY id",
                [json.dumps(list(node_ids))],
            ):
                found.setdefault(row["forked_from_node_id"], []).append(_branch(row))
        return found

    def with_tip_in(self, node_ids: Iterable[str]) -> list[Branch]:
        """The live branches whose tip is one of these nodes."""
        with self._db.read() as db:
            rows = db.query(
                f"SELECT {_COLUMNS} FROM branches WHERE binned_at IS NULL"
                " AND tip_id IN (SELECT value FROM json_each(?)) ORDER BY id",
                [json.dumps(list(node_ids))],
            )
            return [_branch(row) for row in rows]

    def move(
        self, branch_id: str, to: str | None, *, why: str, expected: str | Literal[0] | None = 0
    ) -> bool:
        """Move the tip. With ``expected``, only if the tip is still there: else False."""
        with self._db.write() as db:
            from_tip = self.get(branch_id).tip_id
            if expected != 0 and from_tip != expected:
                return False
            db.conn.execute("UPDATE branches SET tip_id = ? WHERE id = ?", [to, branch_id])
            last = self.last_move(branch_id)
            asked = last["to_tip"] if last and last["why"] == "send" else None
            if last and why == "answer" and asked == from_tip == self._parent(db, to):
                # A question and its answer are one move, so that one undo takes back both.
                # Another answer in place of the first is a move of its own.
                db.conn.execute("UPDATE branch_moves SET to_tip = ? WHERE id = ?", [to, last["id"]])
                return True
            db.conn.execute(
                "INSERT INTO branch_moves (branch_id, from_tip, to_tip, why, at)"
                " VALUES (?,?,?,?,?)",
                [branch_id, from_tip, to, why, now()],
            )
            return True

    def begin(self, branch_id: str, tip_id: str) -> None:
        """Put a new branch on its first tip: no move that undo would take back."""
        with self._db.write() as db:
            db.conn.execute("UPDATE branches SET tip_id = ? WHERE id = ?", [tip_id, branch_id])

    def last_move(self, branch_id: str) -> dict[str, Any] | None:
        """The newest movement: ``id, from_tip, to_tip, why, at``."""
        with self._db.read() as db:
            rows = db.query(
                "SELECT id, from_tip, to_tip, why, at FROM branch_moves WHERE branch_id = ?"
                " ORDER BY id DESC LIMIT 1",
                [branch_id],
            )
            return next(iter(rows), None)

    def undo(self, branch_id: str) -> dict[str, Any] | None:
        """Take the last movement back; returns it, or None when there is none to take back."""
        with self._db.write() as db:
            last = self.last_move(branch_id)
            if last is None or self.get(branch_id).tip_id != last["to_tip"]:
                return None
            db.conn.execute(
                "UPDATE branches SET tip_id = ? WHERE id = ?", [last["from_tip"], branch_id]
            )
            db.conn.execute("DELETE FROM branch_moves WHERE id = ?", [last["id"]])
            return last

    def rename(self, branch_id: str, name: str) -> None:
        """Give the branch another name. Raises :class:`NameTaken`."""
        with self._db.write() as db:
            branch = self.get(branch_id)
            if name == branch.name:
                return
            self._refuse_taken(branch.session_id, name)
            db.conn.execute(
                "UPDATE branches SET name = ? WHERE id = ?", [well_formed(name), branch_id]
            )

    def annotate(self, branch_id: str, note: str) -> None:
        """Set the branch's note."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE branches SET note = ? WHERE id = ?", [well_formed(note), branch_id]
            )

    def choose_policy(self, branch_id: str, policy: str | None, keep_turns: int | None) -> None:
        """Set the branch's own context policy; None leaves it to the session's config."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE branches SET policy = ?, keep_turns = ? WHERE id = ?",
                [policy, keep_turns, branch_id],
            )

    def choose_config(self, branch_id: str, config: Config | None) -> None:
        """Give the branch settings of its own; None leaves them to the session's."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE branches SET config_json = ? WHERE id = ?",
                [config_json(config) if config else None, branch_id],
            )

    def link(self, branch_id: str, to_branch: str) -> None:
        """Note that the branch was consolidated from another."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE branches SET linked_to = ? WHERE id = ?", [to_branch, branch_id]
            )

    def go_past_budget(self, branch_id: str) -> None:
        """Note that the person chose to go on after the planned turns."""
        with self._db.write() as db:
            db.conn.execute("UPDATE branches SET past_budget = 1 WHERE id = ?", [branch_id])

    def inherit(self, from_branch: str, to_branch: str) -> None:
        """Let a fork begin with the settings and the overrides of what it left."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE branches SET (policy, keep_turns, config_json) ="
                " (SELECT policy, keep_turns, config_json FROM branches WHERE id = ?)"
                " WHERE id = ?",
                [from_branch, to_branch],
            )
            db.conn.execute(
                "INSERT OR IGNORE INTO overrides SELECT ?, kind, node_or_recap_id"
                " FROM overrides WHERE branch_id = ?",
                [to_branch, from_branch],
            )

    def bin(self, branch_id: str, at: str | None) -> None:
        """Hide the branch, or with ``None`` show it again."""
        with self._db.write() as db:
            db.conn.execute("UPDATE branches SET binned_at = ? WHERE id = ?", [at, branch_id])

    # --- bins: what was pruned together comes back together ---

    def add_bin(
        self, session_id: str, root_id: str | None, touched: list[dict[str, Any]], label: str
    ) -> str:
        """Note a pruning: its subtree's root and what happened to each branch."""
        bin_id = new_id()
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO bins VALUES (?,?,?,?,?,?)",
                [bin_id, session_id, root_id, json.dumps(touched), well_formed(label), now()],
            )
        return bin_id

    def bins(self, session_id: str) -> list[dict[str, Any]]:
        """What was pruned, latest first: ``id, session_id, root_id, branches, label, at``."""
        with self._db.read() as db:
            rows = db.query(
                "SELECT * FROM bins WHERE session_id = ? ORDER BY id DESC", [session_id]
            )
            return [row | {"branches": json.loads(row.pop("branches_json"))} for row in rows]

    def take_bin(self, bin_id: str) -> dict[str, Any]:
        """Remove and return a pruning. Raises :class:`NotFound`."""
        with self._db.write() as db:
            for row in db.query("SELECT * FROM bins WHERE id = ?", [bin_id]):
                db.conn.execute("DELETE FROM bins WHERE id = ?", [bin_id])
                return row | {"branches": json.loads(row["branches_json"])}
        raise NotFound("It is not in the bin any more.", hint="Nothing needs to be restored.")

    def hidden_roots(self, session_id: str) -> set[str]:
        """The nodes whose whole subtree is in the bin."""
        with self._db.read() as db:
            rows = db.query(
                "SELECT root_id FROM bins WHERE session_id = ? AND root_id IS NOT NULL",
                [session_id],
            )
            return {row["root_id"] for row in rows}

    # --- the queue: what a person sent while an answer was on its way ---

    def enqueue(
        self,
        branch_id: str,
        text: str,
        state: QueueState = "waiting",
        *,
        files: tuple[AttachmentRef, ...] = (),
    ) -> str:
        """Keep a message for later; returns its id."""
        queued_id = new_id()
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO queue (id, branch_id, text, state, created_at, files_json, place)"
                " SELECT ?,?,?,?,?,?, coalesce(max(place), 0) + 1 FROM queue WHERE branch_id = ?",
                [
                    queued_id,
                    branch_id,
                    well_formed(text),
                    state,
                    now(),
                    files_json(files),
                    branch_id,
                ],
            )
        return queued_id

    def queued(self, branch_id: str) -> list[dict[str, Any]]:
        """What waits on the branch, next one first: ``id, branch_id, text, state, files``."""
        with self._db.read() as db:
            order = "ORDER BY coalesce(place, 0), id"
            rows = db.query(f"{_WAITING} WHERE branch_id = ? {order}", [branch_id])
            return [row | {"files": files_in(row.pop("files_json"))} for row in rows]

    def waiting(self, queued_id: str) -> Mapping[str, Any]:
        """A waiting message: ``id, branch_id, text, state, files``. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_WAITING} WHERE id = ?", [queued_id]):
                return row | {"files": files_in(row.pop("files_json"))}
        raise NotFound("That message was sent or taken back already.", hint="Reload the page.")

    def take_queued(self, queued_id: str) -> Mapping[str, Any]:
        """Remove and return a waiting message. Raises :class:`NotFound`."""
        with self._db.write() as db:
            taken = self.waiting(queued_id)
            db.conn.execute("DELETE FROM queue WHERE id = ?", [queued_id])
            return taken

    def move_queue(self, from_branch: str, to_branch: str) -> None:
        """Let what waits follow the answer it waits for to another branch."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE queue SET branch_id = ? WHERE branch_id = ? AND state = 'waiting'",
                [to_branch, from_branch],
            )

    def hold_queue(self, branch_id: str) -> None:
        """Stop sending what waits by itself; the person decides."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE queue SET state = 'held' WHERE branch_id = ? AND state = 'waiting'",
                [branch_id],
            )

    def hold_forgotten(self) -> None:
        """Hold what waits for an answer that is not on its way: its process ended in between."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE queue SET state = 'held' WHERE state = 'waiting'"
                " AND branch_id NOT IN (SELECT branch_id FROM runs WHERE runs.state != 'ended')"
            )

    def _parent(self, db: Any, node_id: str | None) -> str | None:
        row = db.conn.execute("SELECT parent_id FROM nodes WHERE id = ?", [node_id]).fetchone()
        return row[0] if row else None

    def _refuse_taken(self, session_id: str, name: str) -> None:
        with self._db.read() as db:
            if db.conn.execute(
                "SELECT 1 FROM branches WHERE session_id = ? AND name = ? AND binned_at IS NULL",
                [session_id, well_formed(name)],
            ).fetchone():
                raise NameTaken(f"A branch of this session is already called {name!r}.")


def _branch(row: Mapping[str, Any]) -> Branch:
    known = {**row, "past_budget": bool(row["past_budget"])}
    own = known.pop("config_json")
    return Branch(**known, config=CONFIG.validate_json(own) if own else None)
