"""The ledger: one row a model call, with what was sent kept exactly and once.

Each wire message is stored under a hash of itself and of the message before it, as git does
with commits: a run keeps the hash of its last message, and with it the whole list.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import takewhile
from typing import Any, NamedTuple

from ulid import ULID

from core.beginnings import Beginnings
from core.errors import NotFound
from core.store.database import Database
from core.store.nodes import config_json, storable
from core.types import (
    CONFIG,
    CONVERSATION,
    PARTS,
    Config,
    Failure,
    FinishReason,
    Json,
    Override,
    Parts,
    Purpose,
    Request,
    Run,
    Usage,
    now,
    well_formed,
)

_SELECT = (
    "SELECT runs.*, configs.body AS config_json FROM runs"
    " JOIN configs ON configs.hash = runs.config_hash"
)

Link = tuple[bytes, bytes | None, str]  # hash, the hash before it, body
_UNKNOWN = Usage()
_ANSWERING = ", ".join(f"'{purpose}'" for purpose in sorted(CONVERSATION))
_LATEST = 300  # runs that are looked at for what a model did of late, whatever the ledger holds
_TIME_OF_ID = 10  # characters


class Counted(NamedTuple):
    """An answer's words and the tokens that the model counted for them."""

    run_id: str
    text: str
    tokens: int


class Runs:
    """Runs from their start to their end."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._hashed: Beginnings[bytes | None] = Beginnings()

    def start(
        self,
        run: Run,
        *,
        request: Request,
        overrides: Sequence[Override] = (),
        objective: str = "",
    ) -> None:
        """Write the run and what is about to be sent."""
        config = config_json(run.config)
        envelope = json.dumps(request.envelope, ensure_ascii=False, sort_keys=True)
        with self._db.write() as db:
            tail = self._chain(db, request.messages)
            config_hash = _keep(db, "configs", config)
            envelope_hash = _keep(db, "envelopes", well_formed(envelope))
            db.conn.execute(
                "INSERT INTO runs (id, session_id, branch_id, context_tip_id, purpose, provider,"
                " model, config_hash, overrides_json, objective, state, started_at, owner,"
                " heartbeat_at, envelope_hash, wire_tail, reads_id, sample)"
                " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                [
                    run.id,
                    run.session_id,
                    run.branch_id,
                    run.context_tip_id,
                    run.purpose,
                    run.config.provider,
                    run.config.model,
                    config_hash,
                    json.dumps([[o.kind, o.target_id] for o in overrides]) if overrides else None,
                    well_formed(objective),
                    run.state,
                    run.started_at,
                    run.owner,
                    run.started_at,
                    envelope_hash,
                    tail,
                    run.reads_id,
                    run.sample,
                ],
            )

    def replay(self, run_id: str) -> Run | None:
        """Let a run that has begun take the answer of an older one: of the same request, model
        and sample, whole. The older run; None if there is none."""
        with self._db.write() as db:
            found = db.conn.execute(
                "SELECT old.id FROM runs AS new JOIN runs AS old"
                " ON old.wire_tail = new.wire_tail AND old.envelope_hash = new.envelope_hash"
                " AND old.provider = new.provider AND old.model = new.model"
                " AND old.sample = new.sample AND old.id != new.id"
                " JOIN nodes ON nodes.id = old.node_id"
                " WHERE new.id = ? AND old.finish_reason = 'stop' AND old.replayed_from IS NULL"
                " AND old.purpose = 'reply' ORDER BY old.id DESC LIMIT 1",
                [run_id],
            ).fetchone()
            if found is None:
                return None
            db.conn.execute("UPDATE runs SET replayed_from = ? WHERE id = ?", [found[0], run_id])
            return self.get(found[0])

    def save_partial(self, run_id: str, parts: Parts, owner: str) -> bool:
        """Keep what has arrived so far; False when the run is not this owner's any more."""
        with self._db.write(durable=False) as db:
            cursor = db.conn.execute(
                "UPDATE runs SET partial = ?, heartbeat_at = ?"
                " WHERE id = ? AND state = 'running' AND owner = ?",
                [PARTS.dump_json(tuple(storable(parts))).decode(), now(), run_id, owner],
            )
        return cursor.rowcount == 1

    def end(
        self,
        run_id: str,
        *,
        finish_reason: FinishReason,
        node_id: str | None,
        usage: Usage = _UNKNOWN,
        resolved_model: str | None = None,
        cost_nanodollars: int | None = None,
        first_token_ms: int | None = None,
        duration_ms: int | None = None,
        failure: Failure | None = None,
        words: Parts = (),
    ) -> bool:
        """End a run that has not ended. False, and nothing is written, if it already has.

        ``words`` is what came back and became no node.
        """
        with self._db.write() as db:
            cursor = db.conn.execute(
                "UPDATE runs SET state = 'ended', finish_reason = ?, node_id = ?, partial = ?,"
                " input_tokens = ?, output_tokens = ?, cached_tokens = ?, cache_write_tokens = ?,"
                " reasoning_tokens = ?, resolved_model = ?, cost_nanodollars = ?,"
                " first_token_ms = ?, duration_ms = ?, error_kind = ?, error_json = ?,"
                " heartbeat_at = NULL WHERE id = ? AND state != 'ended'",
                [
                    finish_reason,
                    node_id,
                    PARTS.dump_json(tuple(storable(words))).decode() if words else None,
                    usage.input_tokens,
                    usage.output_tokens,
                    usage.cached_tokens,
                    usage.cache_write_tokens,
                    usage.reasoning_tokens,
                    resolved_model,
                    cost_nanodollars,
                    first_token_ms,
                    duration_ms,
                    failure.kind if failure else None,
                    json.dumps(_failure_dict(failure)) if failure else None,
                    run_id,
                ],
            )
        return cursor.rowcount == 1

    def became(self, run_id: str, node_id: str) -> None:
        """Note that what a side run wrote was placed as this node; the first place counts."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE runs SET node_id = ? WHERE id = ? AND node_id IS NULL", [node_id, run_id]
            )

    def get(self, run_id: str) -> Run:
        """The run. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_SELECT} WHERE runs.id = ?", [run_id]):
                return _run(row)
        raise NotFound("There is no such run.")

    def not_ended(self, session_id: str | None = None) -> list[Run]:
        """The runs that have not ended, of one session or of all."""
        # The bare condition comes first so that the partial index serves it.
        where = "runs.state != 'ended'" + (" AND runs.session_id = :session" if session_id else "")
        with self._db.read() as db:
            return [
                _run(row) for row in db.query(f"{_SELECT} WHERE {where}", {"session": session_id})
            ]

    def of_nodes(self, node_ids: Iterable[str]) -> dict[str, Run]:
        """Node id to the run that wrote it."""
        with self._db.read() as db:
            rows = db.query(
                f"{_SELECT} WHERE runs.node_id IN (SELECT value FROM json_each(?))",
                [json.dumps(list(node_ids))],
            )
            return {row["node_id"]: _run(row) for row in rows}

    def last_from(self, context_tip_id: str, branch_id: str | None = None) -> Run | None:
        """The latest run that answers this tip, on one branch or on any; side runs left out."""
        where = f"runs.context_tip_id = ? AND runs.purpose IN ({_ANSWERING})" + (
            " AND runs.branch_id = ?" if branch_id else ""
        )
        values = [context_tip_id, branch_id] if branch_id else [context_tip_id]
        with self._db.read() as db:
            rows = db.query(f"{_SELECT} WHERE {where} ORDER BY runs.id DESC LIMIT 1", values)
            return next(map(_run, rows), None)

    def counted(self, provider: str, model: str, limit: int = 20) -> list[Counted]:
        """The latest whole answers of a model with the tokens that it counted for their words."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT latest.id, nodes.text,"
                " latest.output_tokens - coalesce(latest.reasoning_tokens, 0) FROM"
                f" (SELECT * FROM runs ORDER BY id DESC LIMIT {_LATEST}) AS latest"
                " JOIN nodes ON nodes.id = latest.node_id"
                " WHERE latest.provider = ? AND latest.model = ? AND latest.purpose = 'reply'"
                " AND latest.output_tokens > 0 AND latest.finish_reason IN ('stop', 'length')"
                # Of others it is not known what of the count was for the words.
                " AND (nodes.parts_json IS NULL OR latest.reasoning_tokens IS NOT NULL"
                " AND instr(nodes.parts_json, '\"tool_call\"') = 0) LIMIT ?",
                [provider, model, limit],
            )
            return [Counted(*row) for row in rows]

    def sent_since(
        self, moment: float, session_id: str, provider: str, model: str, limit: int = 20
    ) -> list[Run]:
        """The session's latest runs of a model that the provider has taken since a moment, in
        seconds of the clock; the latest first."""
        # Ids begin with the time: nothing older is looked at, however long the ledger is.
        first = str(ULID.from_timestamp(max(0.0, moment)))[:_TIME_OF_ID]
        with self._db.read() as db:
            rows = db.query(
                "SELECT latest.*, configs.body AS config_json FROM"
                f" (SELECT * FROM runs WHERE id >= ? ORDER BY id DESC LIMIT {_LATEST}) AS latest"
                " JOIN configs ON configs.hash = latest.config_hash"
                " WHERE latest.session_id = ? AND latest.provider = ? AND latest.model = ?"
                " AND latest.state = 'ended' AND latest.first_token_ms IS NOT NULL"
                " AND latest.purpose IN ('reply', 'continue')"
                " ORDER BY latest.id DESC LIMIT ?",
                [first, session_id, provider, model, limit],
            )
            return [_run(row) for row in rows]

    def side(self, session_id: str, purpose: Purpose, limit: int = 20) -> list[Run]:
        """The session's latest runs of one purpose, the latest first."""
        with self._db.read() as db:
            rows = db.query(
                f"{_SELECT} WHERE runs.session_id = ? AND runs.purpose = ?"
                " ORDER BY runs.id DESC LIMIT ?",
                [session_id, purpose, limit],
            )
            return [_run(row) for row in rows]

    def sent(self, run_id: str) -> Request:
        """Exactly what went over the wire for a run. Raises :class:`NotFound`."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT wire_tail, envelopes.body FROM runs"
                " JOIN envelopes ON envelopes.hash = runs.envelope_hash WHERE runs.id = ?",
                [run_id],
            ).fetchone()
            if row is None:
                raise NotFound("There is no such run.")
            bodies = db.conn.execute(
                "WITH RECURSIVE up(hash, depth) AS (SELECT ?, 0 UNION ALL"
                " SELECT wire.parent_hash, depth + 1 FROM wire JOIN up ON wire.hash = up.hash"
                " WHERE wire.parent_hash IS NOT NULL)"
                " SELECT body FROM up JOIN wire USING (hash) ORDER BY depth DESC",
                [row[0]],
            ).fetchall()
        return Request(
            envelope=json.loads(row[1]), messages=tuple(json.loads(body) for (body,) in bodies)
        )

    def _chain(self, db: Any, messages: Sequence[Json]) -> bytes | None:
        """Store the messages that are new; returns the hash of the last one.

        Looks for the longest known prefix from the end, where it usually is: a turn adds two
        messages, whatever the length of the conversation.
        """
        earlier, last = messages[:-1], messages[-1:]
        known, hashed = self._hashed.longest(earlier, None)
        if not _stored(db, hashed):  # its transaction failed, or its session is gone
            known, hashed = 0, None
        links = [*_links(earlier[known:], hashed)]
        if links:
            hashed = links[-1][0]
        self._hashed.keep(earlier, hashed)
        links += _links(last, hashed)
        new = [*takewhile(lambda link: not _stored(db, link[0]), reversed(links))]
        db.conn.executemany("INSERT INTO wire VALUES (?,?,?)", reversed(new))
        return links[-1][0] if links else None


def _links(messages: Sequence[Json], parent: bytes | None) -> Iterator[Link]:
    """The rows of messages that follow ``parent``."""
    for message in messages:
        body = well_formed(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
        digest = blake2b((parent or b"") + body.encode(), digest_size=16).digest()
        yield digest, parent, body
        parent = digest


def _stored(db: Any, digest: bytes | None) -> bool:
    row = db.conn.execute("SELECT 1 FROM wire WHERE hash = ?", [digest]).fetchone()
    return row is not None


def drop_unused(db: Any) -> None:
    """Delete what no run refers to any more: its runs were deleted for good."""
    db.conn.execute(
        "DELETE FROM wire WHERE hash NOT IN (WITH RECURSIVE used(hash) AS ("
        " SELECT wire_tail FROM runs WHERE wire_tail IS NOT NULL"
        " UNION SELECT wire.parent_hash FROM wire JOIN used ON wire.hash = used.hash"
        " WHERE wire.parent_hash IS NOT NULL) SELECT hash FROM used)"
    )
    for table, column in (("configs", "config_hash"), ("envelopes", "envelope_hash")):
        db.conn.execute(
            f"DELETE FROM {table} WHERE hash NOT IN"
            f" (SELECT {column} FROM runs WHERE {column} IS NOT NULL)"
        )


def _keep(db: Any, table: str, body: str) -> bytes:
    digest = blake2b(body.encode(), digest_size=16).digest()
    db.conn.execute(f"INSERT OR IGNORE INTO {table} VALUES (?,?)", [digest, body])
    return digest


def _failure_dict(failure: Failure) -> dict[str, Json]:
    return {name: getattr(failure, name) for name in Failure.__slots__}


def _run(row: Mapping[str, Any]) -> Run:
    config: Config = CONFIG.validate_json(row["config_json"])
    usage = Usage(**{name: row[name] for name in Usage.__slots__})
    return Run(
        config=config,
        usage=usage,
        overrides=_overrides(row["overrides_json"]),
        partial=PARTS.validate_json(row["partial"]) if row["partial"] else (),
        failure=Failure(**json.loads(row["error_json"])) if row["error_json"] else None,
        wire_tail=row["wire_tail"].hex() if row["wire_tail"] else None,
        **{
            name: row[name]
            for name in (
                "id",
                "session_id",
                "branch_id",
                "context_tip_id",
                "node_id",
                "purpose",
                "state",
                "finish_reason",
                "resolved_model",
                "cost_nanodollars",
                "first_token_ms",
                "duration_ms",
                "owner",
                "objective",
                "started_at",
                "heartbeat_at",
                "reads_id",
                "sample",
                "replayed_from",
            )
        },
    )


def _overrides(body: str | None) -> tuple[Override, ...]:
    return tuple(Override(kind=k, target_id=t) for k, t in json.loads(body)) if body else ()
