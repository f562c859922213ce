"""The ledger read across runs: every call in a line, and what calls come to in sum.

Unknown is not zero: a cost, a token count or a cached share that no provider told is left out
of the sums, and counted beside them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from core.store.database import Database

Grouping = Literal["session", "branch", "model", "day"]
Line = dict[str, Any]
"""One call: the columns of ``runs``, and ``title``, ``branch``, ``outcome``, ``error``,
``status``, ``request_id``. Durations are milliseconds, times UTC ISO 8601."""

_OUTCOME = "CASE WHEN runs.state = 'ended' THEN runs.finish_reason ELSE runs.state END"
_FROM = (
    " FROM runs JOIN sessions ON sessions.id = runs.session_id"
    " LEFT JOIN branches ON branches.id = runs.branch_id"
)
_LINES = (
    "SELECT runs.id, runs.session_id, sessions.title, runs.branch_id, branches.name AS branch,"
    " runs.node_id, runs.context_tip_id, runs.purpose, runs.provider, runs.model,"
    f" runs.resolved_model, {_OUTCOME} AS outcome, runs.error_kind,"
    " json_extract(runs.error_json, '$.message') AS error,"
    " json_extract(runs.error_json, '$.status') AS status,"
    " json_extract(runs.error_json, '$.request_id') AS request_id,"
    " runs.started_at, runs.first_token_ms, runs.duration_ms, runs.input_tokens,"
    " runs.cached_tokens, runs.cache_write_tokens, runs.output_tokens, runs.reasoning_tokens,"
    " runs.cost_nanodollars" + _FROM
)
_SUMS = (
    " count(*) AS runs,"
    " coalesce(sum(runs.state != 'ended'), 0) AS running,"
    " coalesce(sum(runs.finish_reason = 'error'), 0) AS failed,"
    " sum(runs.input_tokens) AS input_tokens, sum(runs.output_tokens) AS output_tokens,"
    " sum(runs.cached_tokens) AS cached_tokens,"
    " sum(CASE WHEN runs.cached_tokens IS NOT NULL THEN runs.input_tokens END) AS cached_of,"
    " coalesce(sum(runs.state = 'ended' AND runs.input_tokens IS NULL), 0) AS unknown_tokens,"
    " sum(runs.cost_nanodollars) AS cost_nanodollars,"
    " coalesce(sum(runs.state = 'ended' AND runs.cost_nanodollars IS NULL), 0) AS unknown_cost"
)
# A person's day, not that of Greenwich.
_DAY = "date(runs.started_at, 'localtime')"
_GROUPS: dict[Grouping, tuple[str, str, str]] = {
    # key, label, order
    "session": ("runs.session_id", "sessions.title", "max(runs.id) DESC"),
    "branch": ("runs.branch_id", "sessions.title || ' / ' || coalesce(branches.name, '')",
               "max(runs.id) DESC"),
    "model": ("runs.provider || ':' || runs.model", "runs.model", "count(*) DESC, key"),
    "day": (_DAY, _DAY, "key"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which runs; what is None is not asked for.

    ``outcome`` is a finish reason, or the state of a run that has not ended. ``since`` and
    ``until`` are days of this machine's calendar, both included. ``text`` is looked for in what
    the error says.
    """

    session: str | None = None
    branch: str | None = None
    provider: str | None = None
    model: str | None = None
    purpose: str | None = None
    outcome: str | None = None
    error: str | None = None
    since: date | None = None
    until: date | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """What some runs come to. ``cached_of`` are the input tokens of those that told what was
    cached; ``unknown_cost`` and ``unknown_tokens`` count the ended runs that told nothing."""

    key: str = ""
    label: str = ""
    runs: int = 0
    running: int = 0
    failed: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cached_of: int | None = None
    unknown_tokens: int = 0
    cost_nanodollars: int | None = None
    unknown_cost: int = 0

    @property
    def cached_share(self) -> float | None:
        """The part of the input that was read from a cache, 0 to 1; None when nobody told."""
        return share(self.cached_tokens, self.cached_of)


def share(cached: int | None, tokens: int | None) -> float | None:
    """The cached part of some input tokens, 0 to 1; None when either is unknown."""
    return None if cached is None or not tokens else min(cached / tokens, 1.0)


class Ledger:
    """Runs as lines and sums. Reads only."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def lines(self, wanted: Filter, *, limit: int, offset: int = 0) -> list[Line]:
        """Runs, the newest first."""
        where, values = _where(wanted)
        sql = f"{_LINES}{where} ORDER BY runs.id DESC LIMIT :limit OFFSET :offset"
        with self._db.read() as db:
            return list(db.query(sql, {**values, "limit": limit, "offset": offset}))

    def every(self, wanted: Filter, *, chunk: int = 1000) -> Iterator[Line]:
        """All runs that the filter matches, the newest first, read a chunk at a time."""
        where, values = _where(wanted, "(:before IS NULL OR runs.id < :before)")
        sql = f"{_LINES}{where} ORDER BY runs.id DESC LIMIT :limit"
        before = None
        while True:
            with self._db.read() as db:
                found = list(db.query(sql, {**values, "before": before, "limit": chunk}))
            yield from found
            if len(found) < chunk:
                return
            before = found[-1]["id"]

    def total(self, wanted: Filter) -> Sums:
        """What all of them come to."""
        where, values = _where(wanted)
        with self._db.read() as db:
            (row,) = db.query(f"SELECT '' AS key, '' AS label,{_SUMS}{_FROM}{where}", values)
        return Sums(**row)

    def sums(self, by: Grouping, wanted: Filter, *, limit: int = 1000) -> list[Sums]:
        """The sums of each group: days in order, models by use, the rest latest first."""
        key, label, order = _GROUPS[by]
        where, values = _where(wanted)
        sql = (
            f"SELECT {key} AS key, {label} AS label,{_SUMS}{_FROM}{where}"
            f" GROUP BY {key} ORDER BY {order} LIMIT :limit"
        )
        with self._db.read() as db:
            return [Sums(**row) for row in db.query(sql, {**values, "limit": limit})]

    def kinds(self, wanted: Filter) -> dict[str, list[str]]:
        """What there is to choose from: ``model`` (as ``provider:model``), ``purpose``,
        ``outcome`` and ``error``, each sorted."""
        where, values = _where(wanted)
        sql = (
            "SELECT DISTINCT runs.provider || ':' || runs.model AS model, runs.purpose,"
            f" {_OUTCOME} AS outcome, runs.error_kind AS error{_FROM}{where}"
        )
        with self._db.read() as db:
            rows = list(db.query(sql, values))
        names = ("model", "purpose", "outcome", "error")
        return {name: sorted({row[name] for row in rows} - {None}) for name in names}

    def before(self, run_id: str) -> str | None:
        """The id of the call before a run on its branch, if there was one."""
        sql = (
            "SELECT max(earlier.id) FROM runs JOIN runs AS earlier"
            " ON earlier.session_id = runs.session_id AND earlier.branch_id = runs.branch_id"
            " AND earlier.id < runs.id WHERE runs.id = ?"
        )
        with self._db.read() as db:
            row = db.conn.execute(sql, [run_id]).fetchone()
        return row[0] if row else None


_EXACT = {
    "session": "runs.session_id",
    "branch": "runs.branch_id",
    "provider": "runs.provider",
    "model": "runs.model",
    "purpose": "runs.purpose",
    "outcome": _OUTCOME,
    "error": "runs.error_kind",
}


def _where(wanted: Filter, *more: str) -> tuple[str, dict[str, Any]]:
    """The condition and what is bound to it."""
    asked = {field.name: getattr(wanted, field.name) for field in fields(wanted)}
    values = {name: value for name, value in asked.items() if value is not None}
    terms = [f"{column} = :{name}" for name, column in _EXACT.items() if name in values]
    if wanted.since:
        terms.append("runs.started_at >= :since")
        values["since"] = _midnight(wanted.since)
    if wanted.until:
        terms.append("runs.started_at < :until")
        values["until"] = _midnight(wanted.until + timedelta(days=1))
    if wanted.text:
        terms.append(
            "(runs.error_kind LIKE :text ESCAPE '\\'"
            " OR json_extract(runs.error_json, '$.message') LIKE :text ESCAPE '\\')"
        )
        values["text"] = f"%{_literal(wanted.text)}%"
    terms += more
    return (f" WHERE {' AND '.join(terms)}" if terms else ""), values


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _midnight(day: date) -> str:
    """When a day begins here, as the ledger writes times."""
    begins = datetime(day.year, day.month, day.day).astimezone(UTC)
    return begins.isoformat(timespec="milliseconds").replace("+00:00", "Z")
