"""Nodes and what is marked on them. A node is written once and never changed."""

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from core.errors import NotFound
from core.store.database import Database
from core.types import CONFIG, PARTS, Config, Json, MarkKind, Node, Parts, Text, well_formed

_COLUMNS = (
    "id, session_id, parent_id, role, text, parts_json, sent_suffix, author, source_id,"
    " raw_json, created_at"
)
_INSERT = f"INSERT INTO nodes ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
_OWN_TEXT = '"…"'  # never in what json.dumps writes, which is ASCII
_REMEMBERED = 16  # lineages kept in memory, one for each branch somebody works on
_STEPS = 8  # how far up we look for a remembered lineage before asking for all of it


class Nodes:
    """The tree's nodes, found by id, by parent or by lineage."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._lineages: OrderedDict[str, tuple[Node, ...]] = OrderedDict()
        self._lock = Lock()

    def add(self, node: Node) -> Node:
        """Write a node. Its text is made safe to store first; returns what was written."""
        with self._db.write() as db:
            db.conn.execute(_INSERT, _row_of(node))
        return self.get(node.id)

    def add_all(self, nodes: Iterable[Node]) -> None:
        """Write many nodes, parents first; their texts are made safe to store."""
        with self._db.write() as db:
            db.conn.executemany(_INSERT, map(_row_of, nodes))

    def get(self, node_id: str) -> Node:
        """The node. Raises :class:`NotFound`."""
        if found := self.many([node_id]):
            return found[0]
        raise NotFound("There is no such message.")

    def many(self, ids: Iterable[str]) -> list[Node]:
        """The nodes with these ids that exist, in the order asked for."""
        wanted = list(ids)
        with self._db.read() as db:
            found = {
                row["id"]: _node(row)
                for row in db.query(
                    f"SELECT {_COLUMNS} FROM nodes WHERE id IN (SELECT value FROM json_each(?))",
                    [json.dumps(wanted)],
                )
            }
        return [found[node_id] for node_id in wanted if node_id in found]

    def lineage(self, tip_id: str | None) -> tuple[Node, ...]:
        """The nodes from the root to the tip, tip included; empty without a tip.

        A lineage never changes, so the latest ones are remembered, and the lineage of a new
        tip extends its parent's: the cost of a turn does not grow with the conversation.
        """
        tail: list[Node] = []
        node_id = tip_id
        while node_id is not None:
            if (known := self._remembered(node_id)) is not None:
                break
            if len(tail) == _STEPS:
                known = self._whole_lineage(node_id)
                break
            tail.append(self.get(node_id))
            node_id = tail[-1].parent_id
        else:
            known = ()
        lineage = (*known, *reversed(tail))
        if tip_id is not None:
            self._remember(tip_id, lineage)
        return lineage

    def children(self, parent_ids: Sequence[str | None], session_id: str) -> list[Node]:
        """The children of these nodes, oldest first; ``None`` stands for the session's roots."""
        with self._db.read() as db:
            rows = db.query(
                f"SELECT {_COLUMNS} FROM nodes WHERE parent_id IN (SELECT value FROM json_each(?))"
                " ORDER BY seq",
                [json.dumps([parent for parent in parent_ids if parent])],
            )
            found = [_node(row) for row in rows]
            if None in parent_ids:
                found += map(_node, self._roots(db, session_id))
        return found

    def child_ids(
        self, parent_ids: Sequence[str | None], session_id: str
    ) -> dict[str | None, list[tuple[str, str]]]:
        """Parent id to ``(id, role)`` of its children, oldest first, without their words."""
        found: dict[str | None, list[tuple[str, str]]] = {}
        with self._db.read() as db:
            rows = list(
                db.query(
                    "SELECT id, role, parent_id FROM nodes"
                    " WHERE parent_id IN (SELECT value FROM json_each(?)) ORDER BY seq",
                    [json.dumps([parent for parent in parent_ids if parent])],
                )
            )
            if None in parent_ids:
                rows += self._roots(db, session_id)
        for row in rows:
            found.setdefault(row["parent_id"], []).append((row["id"], row["role"]))
        return found

    def last_fork(self, lineage_ids: Sequence[str]) -> str | None:
        """The last of these nodes, above the tip, that has more than one child."""
        with self._db.read() as db:
            forks = {
                row["parent_id"]
                for row in db.query(
                    "SELECT parent_id FROM nodes WHERE parent_id IN"
                    " (SELECT value FROM json_each(?)) GROUP BY parent_id HAVING count(*) > 1",
                    [json.dumps(lineage_ids[:-1])],
                )
            }
        return next((node_id for node_id in reversed(lineage_ids[:-1]) if node_id in forks), None)

    def latest_leaf(self, node_id: str, hidden: Iterable[str] = ()) -> str:
        """Down from a node, always to the newest child that is not hidden, to a leaf."""
        with self._db.read() as db:
            rows = db.query(
                """
                WITH RECURSIVE down(id) AS (
                    SELECT :start
                    UNION ALL
                    SELECT (SELECT nodes.id FROM nodes WHERE nodes.parent_id = down.id
                            AND nodes.id NOT IN (SELECT value FROM json_each(:hidden))
                            ORDER BY nodes.seq DESC LIMIT 1)
                    FROM down WHERE down.id IS NOT NULL)
                SELECT id FROM down WHERE id IS NOT NULL
                """,
                {"start": node_id, "hidden": json.dumps(list(hidden))},
            )
            return str([row["id"] for row in rows][-1])

    def subtree(self, node_id: str) -> set[str]:
        """The ids of a node and everything below it."""
        with self._db.read() as db:
            rows = db.query(
                "WITH RECURSIVE below(id) AS (SELECT ? UNION ALL SELECT nodes.id FROM nodes"
                " JOIN below ON nodes.parent_id = below.id) SELECT id FROM below",
                [node_id],
            )
            return {row["id"] for row in rows}

    def outline(self, session_id: str, after: int = 0) -> list[dict[str, Any]]:
        """What the tree draws, for nodes written after ``after``, parents before children.

        Each row: ``seq, id, parent_id, role, author, snippet`` (80 characters; without words
        the names of files and tools) and ``model``.
        """
        with self._db.read() as db:
            return list(
                db.query(
                    "SELECT nodes.seq, nodes.id, nodes.parent_id, role, author,"
                    " substr(iif(text = '' AND (instr(parts_json, '\"attachment\"')"
                    " OR instr(parts_json, '\"tool_call\"')),"
                    " (SELECT group_concat(json_extract(value, '$.name'), ', ')"
                    " FROM json_each(parts_json)"
                    " WHERE json_extract(value, '$.type') IN ('attachment', 'tool_call')), text),"
                    " 1, 80) AS snippet,"
                    " coalesce((SELECT model FROM runs WHERE runs.node_id = nodes.id LIMIT 1),"
                    " (SELECT nullif(model, '') FROM imported_nodes"
                    " WHERE imported_nodes.node_id = nodes.id)) AS model"
                    " FROM nodes WHERE nodes.session_id = ? AND nodes.seq > ? ORDER BY nodes.seq",
                    [session_id, after],
                )
            )

    def last_seq(self, session_id: str) -> int:
        """The sequence number of the session's newest node, 0 without any."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT max(seq) FROM nodes WHERE session_id = ?", [session_id]
            ).fetchone()
        return row[0] or 0

    # --- marks ---

    def mark(self, node_id: str, kind: MarkKind, value: str | None) -> None:
        """Set a mark, or remove it with ``None``. Raises :class:`NotFound`."""
        with self._db.write() as db:
            self.get(node_id)
            if value is None:
                db.conn.execute("DELETE FROM marks WHERE node_id = ? AND kind = ?", [node_id, kind])
            else:
                db.conn.execute(
                    "INSERT INTO marks VALUES (?,?,?)"
                    " ON CONFLICT (node_id, kind) DO UPDATE SET value = excluded.value",
                    [node_id, kind, well_formed(value)],
                )

    def marks(self, node_ids: Iterable[str]) -> dict[str, dict[str, str]]:
        """Node id to its marks, ``{kind: value}``; nodes without one are absent."""
        found: dict[str, dict[str, str]] = {}
        with self._db.read() as db:
            for row in db.query(
                "SELECT node_id, kind, value FROM marks"
                " WHERE node_id IN (SELECT value FROM json_each(?))",
                [json.dumps(list(node_ids))],
            ):
                found.setdefault(row["node_id"], {})[row["kind"]] = row["value"]
        return found

    def finals(self, session_id: str) -> list[str]:
        """The ids of the session's nodes that are marked final, the latest last."""
        with self._db.read() as db:
            rows = db.query(
                "SELECT node_id FROM marks JOIN nodes ON nodes.id = marks.node_id"
                " WHERE nodes.session_id = ? AND kind = 'final' ORDER BY value",
                [session_id],
            )
            return [row["node_id"] for row in rows]

    def forget(self) -> None:
        """Drop what is remembered; for when nodes were deleted for good."""
        with self._lock:
            self._lineages.clear()

    def _roots(self, db: Any, session_id: str) -> list[dict[str, Any]]:
        return list(
            db.query(
                f"SELECT {_COLUMNS} FROM nodes INDEXED BY nodes_by_parent"
                " WHERE parent_id IS NULL AND session_id = ? ORDER BY seq",
                [session_id],
            )
        )

    def _whole_lineage(self, tip_id: str) -> tuple[Node, ...]:
        with self._db.read() as db:
            rows = list(
                db.query(
                    "WITH RECURSIVE up(id, depth) AS (SELECT ?, 0 UNION ALL"
                    " SELECT nodes.parent_id, depth + 1 FROM nodes JOIN up ON nodes.id = up.id"
                    " WHERE nodes.parent_id IS NOT NULL)"
                    f" SELECT {_COLUMNS} FROM up JOIN nodes USING (id) ORDER BY depth DESC",
                    [tip_id],
                )
            )
        if not rows:
            raise NotFound("There is no such message.")
        return tuple(map(_node, rows))

    def _remembered(self, tip_id: str) -> tuple[Node, ...] | None:
        with self._lock:
            if tip_id in self._lineages:
                self._lineages.move_to_end(tip_id)
                return self._lineages[tip_id]
        return None

    def _remember(self, tip_id: str, lineage: tuple[Node, ...]) -> None:
        with self._lock:
            self._lineages[tip_id] = lineage
            self._lineages.move_to_end(tip_id)
            while len(self._lineages) > _REMEMBERED:
                self._lineages.popitem(last=False)


def storable(parts: Parts) -> list[Any]:
    """The parts with every text in them made whole: tools and file names have some too."""
    return [
        type(part)(**{name: _whole_if_text(getattr(part, name)) for name in part.__slots__})
        for part in parts
    ]


def config_json(config: Config) -> str:
    """A config as JSON that can be stored, whatever was pasted into the system prompt."""
    found = CONFIG.dump_python(config, mode="json")
    return well_formed(json.dumps(found, ensure_ascii=False, separators=(",", ":")))


def _row_of(node: Node) -> tuple[Any, ...]:
    """The columns of a node."""
    parts = tuple(storable(node.parts))
    plain = len(parts) == 1 and isinstance(parts[0], Text)
    text = "".join(part.text for part in parts if isinstance(part, Text))
    return (
        node.id,
        node.session_id,
        node.parent_id,
        node.role,
        text,
        None if plain else PARTS.dump_json(parts).decode(),
        well_formed(node.sent_suffix) or None,
        node.author,
        node.source_id,
        None if node.raw is None else _packed(node.raw, text),
        node.created_at,
    )


def _whole_if_text(value: Any) -> Any:
    return well_formed(value) if isinstance(value, str) else value


def _packed(raw: Json, text: str) -> str:
    """Raw items as JSON, without a second copy of the message's own text."""
    return json.dumps(raw).replace(json.dumps(text), _OWN_TEXT)


def _unpacked(body: str, text: str) -> Json:
    return json.loads(body.replace(_OWN_TEXT, json.dumps(text)))


def _node(row: Mapping[str, Any]) -> Node:
    plain = row["parts_json"] is None
    return Node(
        id=row["id"],
        session_id=row["session_id"],
        parent_id=row["parent_id"],
        role=row["role"],
        parts=(Text(text=row["text"]),) if plain else PARTS.validate_json(row["parts_json"]),
        author=row["author"],
        source_id=row["source_id"],
        sent_suffix=row["sent_suffix"] or "",
        raw=None if row["raw_json"] is None else _unpacked(row["raw_json"], row["text"]),
        created_at=row["created_at"],
    )
