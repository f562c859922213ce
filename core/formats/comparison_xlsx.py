"""A comparison as a workbook: lanes, turns, verdicts, differences, each on its sheet. Every text is
kept as text: none is a formula."""

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from core.interchange.cells import clean
from core.interchange.compared import Value, asked_alike, figures, table, verdicts
from core.types import ComparisonTaken, Include, Node, Scope

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

_FORMATS = {"(USD)": "$#,##0.0000", "share": "0%", "tokens": "#,##0", "(ms)": "#,##0"}
_WIDE, _NARROW = 60, 26  # characters


class ComparisonXlsx:
    """Four sheets that a spreadsheet opens as they are meant."""

    name = "comparison_xlsx"
    label = "Workbook (XLSX)"
    scopes: frozenset[Scope] = frozenset({"comparison"})
    ending = "xlsx"
    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    options: frozenset[str] = frozenset({"metadata"})

    def write(self, taken: ComparisonTaken, include: Include) -> bytes:
        """The workbook."""
        from openpyxl import Workbook

        book = Workbook()
        lanes = book.worksheets[0]
        lanes.title = "Lanes"
        _lanes(lanes, taken, include)
        _turns(book.create_sheet("Turns"), taken)
        _verdicts(book.create_sheet("Verdicts"), taken)
        _differences(book.create_sheet("Differences"), taken)
        written = io.BytesIO()
        book.save(written)
        return written.getvalue()


def _lanes(sheet: "Worksheet", taken: ComparisonTaken, include: Include) -> None:
    """One column a lane, one row a figure."""
    _head(sheet, ["Figure", *(lane.name for lane in taken.lanes)], [30, *[_NARROW] * 20])
    for name, values in figures(taken) if include.metadata else []:
        _put(sheet, [name, *values], number_format=_format(name))


def _turns(sheet: "Worksheet", taken: ComparisonTaken) -> None:
    """One column a lane, one row a turn in line with the others."""
    names = [lane.name for lane in taken.lanes]
    _head(sheet, ["Turn", "Asked of all", *names], [8, 44, *[_WIDE] * 20])
    if taken.shared:
        words = "\n\n".join(f"{node.role}: {node.text}" for node in taken.shared)
        _put(sheet, ["shared", words])
    for row in table(taken):
        alike = asked_alike(row)
        number = next((turn.number for turn in row if turn), None)
        cells = [
            _said([*([turn.asked] if alike is None else []), *turn.nodes]) if turn else None
            for turn in row
        ]
        _put(sheet, [number, alike.text if alike else None, *cells])


def _said(nodes: Iterable[Node | None]) -> str:
    told = [node for node in nodes if node is not None]
    if len(told) == 1:
        return told[0].text
    return "\n\n".join(f"{node.role}: {node.text}" for node in told)


def _verdicts(sheet: "Worksheet", taken: ComparisonTaken) -> None:
    names = [lane.name for lane in taken.lanes]
    heads = ["When (UTC)", "By", "Blind", "Verdict", *(f"Rating: {name}" for name in names)]
    widths = [18, 30, 8, 34, *[16] * len(names), _WIDE, _WIDE]
    _head(sheet, [*heads, "Note", "Reasons"], widths)
    for verdict, said in zip(taken.verdicts, verdicts(taken), strict=True):
        ratings = [verdict.ratings.get(lane.branch.id) for lane in taken.lanes]
        reasons = "\n".join(f"{name}: {reason}" for name, reason in said.reasons)
        blind = "yes" if said.blind else "no"
        told = [said.at.removesuffix(" UTC"), said.by, blind, said.headline]
        _put(sheet, [*told, *ratings, said.note or None, reasons or None])


def _differences(sheet: "Worksheet", taken: ComparisonTaken) -> None:
    _head(sheet, ["From", "To", "Likeness", "Changes"], [24, 24, 12, 100])
    for one in taken.differences:
        _put(sheet, [one.of, one.against, one.likeness, one.diff or None])
        sheet.cell(sheet.max_row, 3).number_format = "0%"


# --- cells --------------------------------------------------------------------------------------


def _head(sheet: "Worksheet", names: Sequence[str], widths: Sequence[int]) -> None:
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    _put(sheet, names)
    for place, width in zip(range(1, len(names) + 1), widths, strict=False):
        sheet.cell(1, place).font = Font(bold=True)
        sheet.column_dimensions[get_column_letter(place)].width = width
    sheet.freeze_panes = "B2"


def _put(sheet: "Worksheet", values: Sequence[Value], *, number_format: str = "") -> None:
    """One more row."""
    from openpyxl.styles import Alignment

    # The first row of an empty sheet, else the one after the last.
    row = 1 if sheet.cell(1, 1).value is None else sheet.max_row + 1
    for place, value in enumerate(values, 1):
        cell: Any = sheet.cell(row, place)
        cell.alignment = Alignment(vertical="top", wrap_text=True)
        if isinstance(value, str):
            # Told to be text: a text that begins like a formula stays what was written.
            cell.value = clean(value)
            cell.data_type = "s"
            cell.quotePrefix = True
        elif value is not None:
            cell.value = value
            cell.number_format = number_format or "General"


def _format(name: str) -> str:
    return next((told for ending, told in _FORMATS.items() if name.endswith(ending)), "")


FORMAT = ComparisonXlsx()
