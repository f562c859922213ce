"""A comparison as CSV: one row a lane, with its figures, its verdicts, its likeness to the others
and its last answer. Text that a spreadsheet would run is made harmless."""

import csv
import io

from core.interchange.cells import guarded
from core.interchange.compared import Value, figures, verdicts
from core.types import ComparisonTaken, Include, LaneTaken, Scope


class ComparisonCsv:
    """One table for a spreadsheet or a script; UTF-8 with a mark that spreadsheets look for."""

    name = "comparison_csv"
    label = "Table (CSV)"
    scopes: frozenset[Scope] = frozenset({"comparison"})
    ending = "csv"
    media_type = "text/csv"
    options: frozenset[str] = frozenset({"metadata"})

    def write(self, taken: ComparisonTaken, include: Include) -> bytes:
        """The header and one row a lane."""
        columns = _columns(taken, include)
        written = io.StringIO()
        lines = csv.writer(written, lineterminator="\r\n")
        lines.writerow([guarded(name) for name, _ in columns])
        for place in range(len(taken.lanes)):
            lines.writerow([_cell(values[place]) for _, values in columns])
        return written.getvalue().encode("utf-8-sig")


def _columns(taken: ComparisonTaken, include: Include) -> list[tuple[str, list[Value]]]:
    lanes = taken.lanes
    found: list[tuple[str, list[Value]]] = [("Lane", [lane.name for lane in lanes])]
    if include.metadata:
        found += figures(taken)
    for number, said in enumerate(verdicts(taken), 1):
        winner = taken.verdicts[number - 1]
        rated = dict(winner.ratings)
        title = f"Verdict {number}: {said.by}, {said.at}"
        found.append((title, [_outcome(winner.winner, lane, tie=winner.tie) for lane in lanes]))
        if rated:
            found.append((f"Rating {number}", [rated.get(lane.branch.id) for lane in lanes]))
    for other in lanes:
        like = {
            **{one.of: one.likeness for one in taken.differences if one.against == other.name},
            **{one.against: one.likeness for one in taken.differences if one.of == other.name},
        }
        if like:
            found.append((f"Likeness to {other.name}", [like.get(lane.name) for lane in lanes]))
    if lanes:
        against = {one.against: one.diff for one in taken.differences if one.of == lanes[0].name}
        found.append((f"Changes from {lanes[0].name}", [against.get(lane.name) for lane in lanes]))
    answers = [lane.answer for lane in lanes]
    found.append(("Answer", [one.text if one else None for one in answers]))
    return found


def _outcome(winner: str | None, lane: LaneTaken, *, tie: bool) -> str | None:
    if tie:
        return "tied"
    return None if winner is None else "best" if winner == lane.branch.id else ""


def _cell(value: Value) -> str | float | int:
    if value is None:
        return ""
    return guarded(value) if isinstance(value, str) else value


FORMAT = ComparisonCsv()
