"""Whether the rows of a session fit together, before one of them is written.

A file may come from anybody. So every value is of its kind, every id that a row names is in the
same session, and what was hashed has its hash: a session that breaks a rule is refused, whole.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import get_args

from core.errors import BadFile
from core.interchange.rows import TABLES, Row
from core.types import PARTS, AttachmentRef, OverrideKind, Record, Text


def checked(records: Iterable[Record]) -> tuple[Record, ...]:
    """The rows of one session, each as it must be and all of them fitting together.

    Raises ``BadFile`` that names the row; nothing else, whatever there is in it.
    """
    found = tuple(records)
    ids: dict[str, set[str]] = {name: set() for name in TABLES}
    at = 0
    try:
        for at, record in enumerate(found, 1):  # noqa: B007 - the error names it
            _fits(record)
            _placed(record, ids)
        for at, record in enumerate(found, 1):  # noqa: B007
            _bound(record, ids)
        at = 0
        _together(found, ids)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        where = f" (row {at:,}, {found[at - 1].table!r:.40})" if at else ""
        raise BadFile(
            f"A row is not as it must be{where}: {_said(error)}.",
            hint="Nothing of this session was taken. Export it again where it is from.",
        ) from error
    return found


def _fits(record: Record) -> None:
    columns = TABLES[record.table]
    if unknown := record.row.keys() - columns.keys():
        raise ValueError(f"it has columns that are not known: {', '.join(sorted(unknown))[:80]}")
    for name, column in columns.items():
        value = record.row.get(name)
        if value is None:
            if not column.optional:
                raise ValueError(f"it has no {name}")
        elif not column.fits(value):
            raise ValueError(f"{name} cannot be {json.dumps(value)[:60]}")


def _placed(record: Record, ids: dict[str, set[str]]) -> None:
    """Note a row's id. A message comes after the one it hangs on: so there is no circle."""
    row = record.row
    key = row.get("id") or row.get("hash") or row.get("sha256" if _is_file(record) else "")
    if key is not None:
        if key in ids[record.table]:
            raise ValueError(f"its id comes twice: {key}")
        ids[record.table].add(key)
    if record.table == "nodes":
        _node(row, ids["nodes"])
    elif record.table in ("configs", "envelopes", "wire"):
        before = bytes.fromhex(row.get("parent_hash") or "")
        if blake2b(before + row["body"].encode(), digest_size=16).hexdigest() != row["hash"]:
            raise ValueError("its hash is not that of its words")


def _is_file(record: Record) -> bool:
    return record.table == "attachments"


def _node(row: Row, before: set[str]) -> None:
    if row.get("parent_id") is not None and (
        row["parent_id"] not in before or row["parent_id"] == row["id"]
    ):
        raise ValueError("the message it hangs on does not come before it")
    if row.get("parts_json") is not None:
        parts = PARTS.validate_json(row["parts_json"])
        words = "".join(part.text for part in parts if isinstance(part, Text))
        if words != row["text"]:
            raise ValueError("its text is not that of its parts")


def _bound(record: Record, ids: Mapping[str, set[str]]) -> None:
    """Every id that a row names is one of this session's own."""
    row = record.row
    for name, column in TABLES[record.table].items():
        value = row.get(name)
        if column.of and column.bound and value is not None and value not in ids[column.of]:
            raise ValueError(f"{name} names what is not in the session")
    if more := _MORE.get(record.table):
        more(row, ids)


def _override(row: Row, ids: Mapping[str, set[str]]) -> None:
    wanted = "recaps" if row["kind"] == "recap" else "nodes"
    _all_in([row["node_or_recap_id"]], ids[wanted])


def _bin(row: Row, ids: Mapping[str, set[str]]) -> None:
    for change in json.loads(row["branches_json"]):
        _all_in([change["branch"]], ids["branches"])
        ends = [change["from"], *([] if change["binned"] else [change["to"]])]
        _all_in([end for end in ends if end is not None], ids["nodes"])


def _job(row: Row, ids: Mapping[str, set[str]]) -> None:
    spec = json.loads(row.get("spec_json") or "{}")
    _all_in([spec[name] for name in ("branch", "onto") if spec.get(name)], ids["branches"])
    _all_in([spec["comparison"]] if spec.get("comparison") else [], ids["comparisons"])


def _step(row: Row, ids: Mapping[str, set[str]]) -> None:
    _all_in(json.loads(row["rounds_json"]), ids["nodes"])
    _files_in(row.get("files_json"), ids)


def _run(row: Row, ids: Mapping[str, set[str]]) -> None:
    kinds = {kind for kind, _ in json.loads(row.get("overrides_json") or "[]")}
    _all_in(kinds, set(get_args(OverrideKind)))
    _all_in([row["config_hash"]], ids["configs"])
    _all_in([row["envelope_hash"]] if row.get("envelope_hash") else [], ids["envelopes"])
    _all_in([row["wire_tail"]] if row.get("wire_tail") else [], ids["wire"])


def _verdict(row: Row, ids: Mapping[str, set[str]]) -> None:
    _all_in(json.loads(row["tips_json"]), ids["branches"])


def _all_in(wanted: Iterable[str], known: set[str]) -> None:
    if not all(one in known for one in wanted):
        raise ValueError("it names what is not in the session")


def _files_in(parts: str | None, ids: Mapping[str, set[str]]) -> None:
    if parts is not None and '"attachment"' in parts:
        found = (part for part in PARTS.validate_json(parts) if isinstance(part, AttachmentRef))
        _all_in([part.sha256 for part in found], ids["attachments"])


_MORE: Mapping[str, Callable[[Row, Mapping[str, set[str]]], None]] = {
    "overrides": _override,
    "bins": _bin,
    "jobs": _job,
    "job_steps": _step,
    "runs": _run,
    "verdicts": _verdict,
    "nodes": lambda row, ids: _files_in(row.get("parts_json"), ids),
    "queue": lambda row, ids: _files_in(row.get("files_json"), ids),
    "wire": lambda row, ids: _all_in(
        [row["parent_hash"]] if row.get("parent_hash") else [], ids["wire"]
    ),
}


def _together(records: Iterable[Record], ids: Mapping[str, set[str]]) -> None:
    if len(ids["sessions"]) != 1:
        raise ValueError("there is not one session, but " + str(len(ids["sessions"])))
    live = [
        record.row["name"]
        for record in records
        if record.table == "branches" and record.row.get("binned_at") is None
    ]
    if not live:
        raise ValueError("the session has no branch")
    if len(set(live)) != len(live):
        raise ValueError("two branches have the same name")


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no {str(error)[:60]}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:160].rstrip(" .:")
