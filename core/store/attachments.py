"""Attached files: stored once under the hash of their bytes, and what waits beside a composer."""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from core.errors import NotFound
from core.store.database import Database
from core.types import PARTS, AttachmentRef, well_formed


class Attachments(Mapping[str, bytes]):
    """The bytes of every file by sha256, read when they are asked for.

    As a mapping it serves :attr:`core.types.Call.attachments`: what an adapter has written
    before it does not read again.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    def __getitem__(self, digest: str) -> bytes:
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT bytes FROM attachments WHERE sha256 = ?", [digest]
            ).fetchone()
        if row is None:
            raise KeyError(digest)
        return bytes(row[0])

    def __iter__(self) -> Iterator[str]:
        with self._db.read() as db:
            rows = db.conn.execute("SELECT sha256 FROM attachments ORDER BY rowid").fetchall()
        return (row[0] for row in rows)

    def __len__(self) -> int:
        with self._db.read() as db:
            row = db.conn.execute("SELECT count(*) FROM attachments").fetchone()
        return int(row[0])

    def add(self, name: str, media_type: str, content: bytes) -> AttachmentRef:
        """Store a file, unless the same bytes are there; returns what messages refer to it by."""
        found = AttachmentRef(
            sha256=sha256(content).hexdigest(), media_type=media_type, name=well_formed(name)
        )
        with self._db.write() as db:
            db.conn.execute(
                "INSERT OR IGNORE INTO attachments VALUES (?,?,?,?)",
                [found.sha256, found.media_type, found.name, content],
            )
        return found

    def about(self, digest: str) -> AttachmentRef:
        """The file's kind, and the name it first came under. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(
                "SELECT sha256, media_type, name FROM attachments WHERE sha256 = ?", [digest]
            ):
                return AttachmentRef(**row)
        raise NotFound("There is no such file.", hint="Attach it again.")

    def sizes(self, digests: Iterable[str]) -> dict[str, int]:
        """Bytes of each of these files that is there."""
        wanted = list(digests)
        if not wanted:
            return {}
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT sha256, length(bytes) FROM attachments"
                " WHERE sha256 IN (SELECT value FROM json_each(?))",
                [json.dumps(wanted)],
            ).fetchall()
        return {row[0]: row[1] for row in rows}

    # --- pending: what goes with the next message of a branch ---

    def hold(self, branch_id: str, files: Iterable[AttachmentRef]) -> None:
        """Keep files for the branch's next message; the same one twice is held once."""
        with self._db.write() as db:
            db.conn.executemany(
                "INSERT OR IGNORE INTO pending (branch_id, sha256, media_type, name)"
                " VALUES (?,?,?,?)",
                [(branch_id, file.sha256, file.media_type, file.name) for file in files],
            )

    def pending(self, branch_id: str) -> tuple[AttachmentRef, ...]:
        """What goes with the branch's next message, in the order it came."""
        with self._db.read() as db:
            rows = db.query(
                "SELECT sha256, media_type, name FROM pending WHERE branch_id = ? ORDER BY rowid",
                [branch_id],
            )
            return tuple(AttachmentRef(**row) for row in rows)

    def let_go(self, branch_id: str, digests: Iterable[str]) -> None:
        """These were sent, or are not to be: they wait no longer."""
        with self._db.write() as db:
            db.conn.executemany(
                "DELETE FROM pending WHERE branch_id = ? AND sha256 = ?",
                [(branch_id, digest) for digest in digests],
            )


def files_json(files: tuple[AttachmentRef, ...]) -> str | None:
    """Files as a column holds them."""
    return PARTS.dump_json(files).decode() if files else None


def files_in(column: str | None) -> tuple[AttachmentRef, ...]:
    """What :func:`files_json` wrote."""
    parts = PARTS.validate_json(column) if column else ()
    return tuple(part for part in parts if isinstance(part, AttachmentRef))


def drop_unused(db: Any) -> None:
    """Delete the bytes of files that no message, no queue and no composer refers to any more."""
    if not db.conn.execute("SELECT 1 FROM attachments LIMIT 1").fetchone():
        return
    referred = " UNION ".join(
        f"SELECT json_extract(part.value, '$.sha256') FROM {table}, json_each({column}) AS part"
        f" WHERE instr({column}, '\"attachment\"')"
        " AND json_extract(part.value, '$.type') = 'attachment'"
        for table, column in (
            ("nodes", "nodes.parts_json"),
            ("queue", "queue.files_json"),
            ("job_steps", "job_steps.files_json"),
            ("drafts", "iif(drafts.key LIKE 'lanes.files.%', drafts.text, '[]')"),
        )
    )
    db.conn.execute(
        f"DELETE FROM attachments WHERE sha256 NOT IN (SELECT sha256 FROM pending UNION {referred})"
    )
