"""A session as rows that can leave this database, in an order of their own, and come back.

What is of this database alone stays here (see ``core.interchange.rows``): so a session that went
out, came into an empty database and went out again is the same, byte for byte.
"""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from core.errors import BadFile, NotFound
from core.interchange.fitting import checked
from core.interchange.rows import TABLES, Row, at_rest
from core.store.database import Database
from core.tree import free_name
from core.types import Record, new_id, now

_OF_BRANCH = "branch_id IN (SELECT id FROM branches WHERE session_id = :id)"
_OF_NODE = "node_id IN (SELECT id FROM nodes WHERE session_id = :id)"
_OF_COMPARISON = "comparison_id IN (SELECT id FROM comparisons WHERE session_id = :id)"
_LINES = (
    "SELECT job_lines.id FROM job_lines JOIN jobs ON jobs.id = job_id WHERE jobs.session_id = :id"
)
_OF_RUNS = "hash IN (SELECT {}_hash FROM runs WHERE session_id = :id) ORDER BY hash"
_FILES = " UNION ".join(
    f"SELECT json_extract(part.value, '$.sha256') FROM {table}, json_each({column}) AS part"
    f" WHERE {where} AND instr({column}, '\"attachment\"')"
    " AND json_extract(part.value, '$.type') = 'attachment'"
    for table, column, where in (
        ("nodes", "nodes.parts_json", "nodes.session_id = :id"),
        ("queue", "queue.files_json", f"queue.{_OF_BRANCH}"),
        ("job_steps", "job_steps.files_json", f"job_steps.line_id IN ({_LINES})"),
        (
            "drafts",
            "iif(drafts.key LIKE 'lanes.files.%', drafts.text, '[]')",
            "drafts.session_id = :id",
        ),
    )
)
_WHICH: Mapping[str, str] = {
    "sessions": "id = :id",
    "nodes": "session_id = :id ORDER BY seq",
    "branches": "session_id = :id ORDER BY id",
    "branch_moves": f"{_OF_BRANCH} ORDER BY id",
    "recaps": "session_id = :id ORDER BY id",
    "overrides": f"{_OF_BRANCH} ORDER BY branch_id, kind, node_or_recap_id",
    "marks": f"{_OF_NODE} ORDER BY node_id, kind",
    "bins": "session_id = :id ORDER BY id",
    "requirements": "session_id = :id ORDER BY id",
    "configs": _OF_RUNS.format("config"),
    "envelopes": _OF_RUNS.format("envelope"),
    "wire": "hash IN (WITH RECURSIVE up(hash) AS ("
    " SELECT wire_tail FROM runs WHERE session_id = :id AND wire_tail IS NOT NULL"
    " UNION SELECT wire.parent_hash FROM wire JOIN up ON wire.hash = up.hash"
    " WHERE wire.parent_hash IS NOT NULL) SELECT hash FROM up) ORDER BY hash",
    "runs": "session_id = :id ORDER BY id",
    "attachments": f"sha256 IN (SELECT sha256 FROM pending WHERE {_OF_BRANCH} UNION {_FILES})"
    " ORDER BY sha256",
    "pending": f"{_OF_BRANCH} ORDER BY rowid",
    "queue": f"{_OF_BRANCH} ORDER BY id",
    "drafts": "session_id = :id ORDER BY key",
    "comparisons": "session_id = :id ORDER BY id",
    "lanes": f"{_OF_COMPARISON} ORDER BY id",
    "jobs": "session_id = :id ORDER BY id",
    "job_lines": "job_id IN (SELECT id FROM jobs WHERE session_id = :id) ORDER BY id",
    "job_steps": f"line_id IN ({_LINES}) ORDER BY id",
    "verdicts": "session_id = :id ORDER BY id",
    "checks": "session_id = :id ORDER BY id",
    "rubrics": "session_id = :id",
    "origins": f"{_OF_NODE} ORDER BY node_id, origin_id",
    "imported": "session_id = :id ORDER BY format, conversation_key",
    "imported_nodes": f"{_OF_NODE} ORDER BY node_id",
}
_HASHES = frozenset({"hash", "parent_hash", "config_hash", "envelope_hash", "wire_tail"})
_SHARED = frozenset({"configs", "envelopes", "wire", "imported", "drafts"})
"""Values that many sessions have in common: what is here already is as good."""
_OWN_ID = (
    "branches",
    "recaps",
    "bins",
    "requirements",
    "runs",
    "comparisons",
    "jobs",
    "verdicts",
    "checks",
)
_CLASH = "Something in it has the id of something else that is here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What came in: how many messages and branches are new, and whether the session is."""

    session_id: str
    made: bool
    messages: int
    branches: int
    binned: bool


class Portable:
    """Sessions on their way out and in, whole."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def records(self, session_id: str) -> Iterator[Record]:
        """Every row of a session, all as they stand at one moment. Raises :class:`NotFound`."""
        with self._db.read() as db:
            inside = db.conn.in_transaction
            if not inside:
                db.conn.execute("BEGIN")
            try:
                found = False
                for table in TABLES:
                    for record in _rows(db, table, session_id):
                        found = True
                        yield record
                    if not found:
                        raise NotFound("There is no such session.")
            finally:
                if not inside:
                    db.conn.execute("ROLLBACK")

    def known(self, session_id: str) -> set[str] | None:
        """The ids of the messages that are here of a session; None where it is not here."""
        with self._db.read() as db:
            if not db.conn.execute("SELECT 1 FROM sessions WHERE id = ?", [session_id]).fetchone():
                return None
            rows = db.conn.execute("SELECT id FROM nodes WHERE session_id = ?", [session_id])
            return {row[0] for row in rows.fetchall()}

    def write(self, records: Sequence[Record], files: Mapping[str, Callable[[], bytes]]) -> Added:
        """Write the rows of one session in one transaction, under the ids that they have.

        Of a session that is here only what is new is added: messages and branches, and what
        hangs on them. What a person did here since stays. Raises ``BadFile`` for rows that are
        not as they must be, or that belong to something else here: nothing is written then.
        """
        tables = _sorted(checked(records))
        session_id = str(tables["sessions"][0]["id"])
        with self._db.write(durable=False) as db:
            known = self.known(session_id)
            try:
                _write_files(db, tables.pop("attachments", []), files)
                if known is None:
                    for table in TABLES:
                        _insert(db, table, tables[table])
                    added = (len(tables["nodes"]), len(tables["branches"]))
                else:
                    added = _add(db, session_id, tables, known)
            except sqlite3.IntegrityError as error:
                raise BadFile(_CLASH, hint="Nothing of this session was taken.") from error
            (binned,) = db.conn.execute(
                "SELECT binned_at IS NOT NULL FROM sessions WHERE id = ?", [session_id]
            ).fetchone()
        return Added(
            session_id=session_id,
            made=known is None,
            messages=added[0],
            branches=added[1],
            binned=bool(binned),
        )


def _rows(db: Any, table: str, session_id: str) -> Iterator[Record]:
    columns = list(TABLES[table])
    cursor = db.conn.execute(
        f"SELECT {', '.join(columns)} FROM {table} WHERE {_WHICH[table]}", {"id": session_id}
    )
    for values in cursor:
        told = (value.hex() if isinstance(value, bytes) else value for value in values)
        pairs = zip(columns, told, strict=True)
        row = {name: value for name, value in pairs if value is not None}
        yield Record(table=table, row=at_rest(table, row))


def _sorted(records: Sequence[Record]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for record in records:
        found[record.table].append(record.row)
    return found


def _insert(db: Any, table: str, rows: Sequence[Row], *, unless_there: bool = False) -> None:
    if not rows:
        return
    columns, fixed = list(TABLES[table]), {"owner": ""} if table == "runs" else {}
    names = ", ".join([*columns, *fixed])
    marks = ", ".join("?" * (len(columns) + len(fixed)))
    ignoring = " OR IGNORE" if unless_there or table in _SHARED else ""
    db.conn.executemany(
        f"INSERT{ignoring} INTO {table} ({names}) VALUES ({marks})",
        ([*(_value(name, row.get(name)) for name in columns), *fixed.values()] for row in rows),
    )


def _value(name: str, value: Any) -> Any:
    return bytes.fromhex(value) if name in _HASHES and value is not None else value


def _write_files(db: Any, rows: Sequence[Row], files: Mapping[str, Callable[[], bytes]]) -> None:
    for row in rows:
        digest = str(row["sha256"])
        if db.conn.execute("SELECT 1 FROM attachments WHERE sha256 = ?", [digest]).fetchone():
            continue
        if digest not in files:
            raise BadFile(
                f"The bytes of an attached file are missing: {row['name']!s:.80}.",
                hint="Import the archive that it came in, whole.",
            )
        content = files[digest]()
        if sha256(content).hexdigest() != digest:
            raise BadFile(
                f"An attached file has other bytes than it had: {row['name']!s:.80}.",
                hint="Nothing of this session was taken. Export it again where it is from.",
            )
        db.conn.execute(
            "INSERT INTO attachments (sha256, media_type, name, bytes) VALUES (?,?,?,?)",
            [digest, row["media_type"], row["name"], content],
        )


# --- a session that is here ---------------------------------------------------------------------


def _add(
    db: Any, session_id: str, tables: Mapping[str, list[Row]], known: Collection[str]
) -> tuple[int, int]:
    """Add what is new; how many messages and branches that is."""
    fresh = _fresh_nodes(db, tables["nodes"], known)
    _refuse_strangers(db, session_id, tables)
    ids = {str(row["id"]) for row in fresh}
    _insert(db, "nodes", fresh)
    branches, moved = _branches(db, session_id, tables["branches"], ids)
    made = {str(row["id"]) for row in branches}
    _insert(db, "branches", branches)
    for table in ("branch_moves", "overrides", "pending", "queue"):
        if table == "overrides":  # what they name
            _insert(db, "recaps", tables["recaps"], unless_there=True)
        _insert(db, table, [row for row in tables[table] if row["branch_id"] in made])
    for table in ("marks", "requirements", "origins", "imported_nodes"):
        _insert(db, table, [row for row in tables[table] if row["node_id"] in ids])
    _insert(db, "bins", [row for row in tables["bins"] if row.get("root_id") in ids])
    _insert_more(db, tables, ids, made)
    return len(fresh), len(made) + moved


def _insert_more(
    db: Any, tables: Mapping[str, list[Row]], nodes: Collection[str], branches: Collection[str]
) -> None:
    """What was asked, compared and played; a verdict that was taken back stays so."""
    for table in ("configs", "envelopes", "wire", "runs", "comparisons"):
        _insert(db, table, tables[table], unless_there=True)
    for table in ("lanes", "jobs", "job_lines", "job_steps"):
        _insert(db, table, tables[table], unless_there=True)
    told = [
        row
        for row in tables["verdicts"]
        if not set(json.loads(row["tips_json"]).values()).isdisjoint(nodes)
    ]
    _insert(db, "verdicts", told, unless_there=True)


def _fresh_nodes(db: Any, rows: Sequence[Row], known: Collection[str]) -> list[Row]:
    """The messages that are not here. Raises ``BadFile`` if one that is here has other words."""
    columns = [name for name in TABLES["nodes"] if name != "source_id"]
    asked = f"SELECT {', '.join(columns)} FROM nodes WHERE id = ?"
    fresh = []
    for row in rows:
        if row["id"] not in known:
            fresh.append(row)
        elif db.conn.execute(asked, [row["id"]]).fetchone() != tuple(map(row.get, columns)):
            raise BadFile(
                "A message that is here has other words in the file.",
                hint="Messages never change: the file was edited. Nothing of it was taken.",
            )
    return fresh


def _refuse_strangers(db: Any, session_id: str, tables: Mapping[str, list[Row]]) -> None:
    """No row may have the id of one that is another session's."""
    for table in _OWN_ID:
        wanted = json.dumps([row["id"] for row in tables[table]])
        _refuse(
            db,
            f"SELECT 1 FROM {table} WHERE session_id != ?"
            " AND id IN (SELECT value FROM json_each(?)) LIMIT 1",
            [session_id, wanted],
        )
    _refuse(
        db,
        "SELECT 1 FROM job_lines JOIN jobs ON jobs.id = job_id WHERE jobs.session_id != ?"
        " AND job_lines.id IN (SELECT value FROM json_each(?)) LIMIT 1",
        [session_id, json.dumps([row["id"] for row in tables["job_lines"]])],
    )


def _refuse(db: Any, asked: str, values: Sequence[str]) -> None:
    if db.conn.execute(asked, values).fetchone():
        raise BadFile(_CLASH, hint="Nothing of this session was taken.")


def _branches(
    db: Any, session_id: str, rows: Sequence[Row], fresh: Collection[str]
) -> tuple[list[Row], int]:
    """The branches to write, and how many go on.

    A branch that is here moves along where its path goes on; where it went another way here,
    the other end gets a branch of its own.
    """
    here = dict(
        db.conn.execute("SELECT id, tip_id FROM branches WHERE session_id = ?", [session_id])
    )
    taken = [
        name
        for (name,) in db.conn.execute(
            "SELECT name FROM branches WHERE session_id = ? AND binned_at IS NULL", [session_id]
        )
    ]
    added: list[Row] = []
    moved = 0
    for row in rows:
        if row["id"] in here:
            tip = row.get("tip_id")
            if tip not in fresh:
                continue
            if _leads_to(db, here[row["id"]], str(tip)):
                _move(db, str(row["id"]), here[row["id"]], str(tip))
                moved += 1
                continue
            row = {**row, "id": new_id()}
        if row.get("binned_at") is None:
            row = {**row, "name": free_name(str(row["name"]), taken)}
            taken.append(str(row["name"]))
        added.append(row)
    return added, moved


def _leads_to(db: Any, tip: str | None, other: str) -> bool:
    """Whether the path to ``other`` goes through ``tip``."""
    if tip is None:
        return True
    return bool(
        db.conn.execute(
            "WITH RECURSIVE up(id) AS (SELECT ? UNION ALL SELECT nodes.parent_id FROM nodes"
            " JOIN up ON nodes.id = up.id WHERE nodes.parent_id IS NOT NULL)"
            " SELECT 1 FROM up WHERE id = ? LIMIT 1",
            [other, tip],
        ).fetchone()
    )


def _move(db: Any, branch_id: str, tip: str | None, to: str) -> None:
    db.conn.execute("UPDATE branches SET tip_id = ? WHERE id = ?", [to, branch_id])
    db.conn.execute(
        "INSERT INTO branch_moves (branch_id, from_tip, to_tip, why, at) VALUES (?,?,?,'import',?)",
        [branch_id, tip, to, now()],
    )
