"""The ledger as a table for other programs: comma-separated values that no spreadsheet runs."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from core.store.ledger import Line, share

COLUMNS = (
    "started_at",
    "session",
    "branch",
    "purpose",
    "provider",
    "model",
    "resolved_model",
    "outcome",
    "input_tokens",
    "cached_tokens",
    "cached_share",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
    "first_token_ms",
    "duration_ms",
    "error_kind",
    "error",
    "status",
    "request_id",
    "run_id",
    "session_id",
    "branch_id",
    "node_id",
)
_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_BYTE_ORDER_MARK = "\ufeff"  # without it spreadsheets take UTF-8 for something older


def csv_lines(lines: Iterable[Line]) -> Iterator[str]:
    """The file, a line at a time. Unknown is empty, never zero; money is dollars."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")

    def written(cells: Iterable[Any]) -> str:
        text.seek(0)
        text.truncate()
        writer.writerow(cells)
        return text.getvalue()

    yield _BYTE_ORDER_MARK + written(COLUMNS)
    for line in lines:
        row = _row(line)
        yield written([harmless(row[name]) for name in COLUMNS])


def harmless(cell: Any) -> Any:
    """The cell such that no spreadsheet takes it for a formula: a quote goes before it."""
    if isinstance(cell, str) and cell.lstrip(" ").startswith(_STARTS_A_FORMULA):
        return f"'{cell}"
    return cell


def _row(line: Line) -> dict[str, Any]:
    cost, part = line["cost_nanodollars"], share(line["cached_tokens"], line["input_tokens"])
    return {
        **line,
        "run_id": line["id"],
        "session": line["title"],
        "cached_share": None if part is None else f"{part:.4f}",
        "cost_usd": None if cost is None else f"{cost / 1e9:.9f}",
    }
