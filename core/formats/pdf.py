"""PDF: pages to read and print, in letters that can be searched and copied.

The fonts beside this file have Latin, Greek, Cyrillic, Hebrew, Arabic and most signs. For what they
lack a box is drawn; the character is still in the text, and a last line says so.
"""

import io
import logging
import tempfile
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.enums import WrapMode, XPos, YPos

from core.interchange.blocks import Align, Block, Span, Spans, blocks, plain
from core.interchange.transcript import OPTIONS, Entry, lay, transcript, words_of
from core.types import AnswerTaken, BranchTaken, Include, Scope, well_formed

_FONTS = Path(__file__).parent / "fonts"
_SIZE, _LINE = 10.5, 5.4  # points; millimetres
_STEP = 6.5
_HEADINGS = {1: 18.0, 2: 14.5, 3: 12.5}
_DEEPEST = 8
_LEAST_COLUMN = 16.0
_MOST_OF_CELL = 900  # characters; a row has to fit on one page
_INK, _SOFT, _LINK = (29, 32, 37), (98, 106, 118), (47, 95, 208)
_ALIGN: dict[Align, str] = {"left": "LEFT", "center": "CENTER", "right": "RIGHT"}
_MISSING = (
    "Note: the font of this file has no shape for some characters ({which}); each is drawn as a"
    " box. They are in the text, and in the same export as HTML or DOCX."
)


class Pdf:
    """For printing and for reading as it is."""

    name = "pdf"
    label = "PDF"
    scopes: frozenset[Scope] = frozenset({"answer", "branch"})
    ending = "pdf"
    media_type = "application/pdf"
    options = OPTIONS

    def write(self, taken: AnswerTaken | BranchTaken, include: Include) -> bytes:
        """The words of an answer and nothing else, or the transcript of a branch."""
        # What the library says of its fonts is of no use to anybody here.
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            if isinstance(taken, AnswerTaken):
                paper = _Paper(taken.title, taken.node.created_at, taken.text, Path(folder))
                paper.prose(taken.text)
            else:
                paper = _branch(taken, include, Path(folder))
            return paper.saved()


FORMAT = Pdf()
logging.getLogger("fontTools").setLevel(logging.ERROR)
logging.getLogger("fpdf").setLevel(logging.ERROR)


def _branch(taken: BranchTaken, include: Include, folder: Path) -> "_Paper":
    told = transcript(taken, include)
    known = "\n".join([told.title, *map(" ".join, told.lines), words_of(told.entries)])
    paper = _Paper(told.title, taken.session.updated_at, known, folder, numbered=True)
    paper.heading((Span(text=told.title),), 1)
    for label, words in told.lines:
        paper.small(f"{label}: {words}")
    for entry in told.entries:
        _entry(paper, entry)
    return paper


def _entry(paper: "_Paper", entry: Entry) -> None:
    paper.heading((Span(text=entry.heading),), 2, marked=True)
    lay(paper, entry)


class _Paper:
    """The pages while they are written."""

    def __init__(
        self, title: str, at: str, words: str, folder: Path, *, numbered: bool = False
    ) -> None:
        self._pdf = _Pages(numbered)
        self._pdf.set_title(_drawn(title))
        self._pdf.set_creator("Turntree")
        self._pdf.set_creation_date(_moment(at))
        self._pdf.set_margins(22, 20, 22)
        self._pdf.set_auto_page_break(auto=True, margin=20)
        for style, name in (
            ("", "DejaVuSans"),
            ("B", "DejaVuSans-Bold"),
            ("I", "DejaVuSans-Oblique"),
        ):
            self._pdf.add_font("Text", style, _FONTS / f"{name}.ttf")
        self._pdf.add_font("Text", "BI", _FONTS / "DejaVuSans-Bold.ttf")
        self._pdf.add_font("Code", "", _FONTS / "DejaVuSansMono.ttf")
        self._missing = _missing(_drawn(title + words))
        if self._missing:
            path = folder / "boxes.ttf"
            path.write_bytes(_boxes(self._missing))
            self._pdf.add_font("Boxes", "", path)
        if not words.isascii():  # it takes its time
            instead = ["Text", "Boxes"] if self._missing else ["Text"]
            self._pdf.set_fallback_fonts(instead, exact_match=False)
        self._left = self._pdf.l_margin
        self._listing = False
        self._pdf.set_draw_color(200, 205, 212)
        self._look()
        self._pdf.add_page()

    def saved(self) -> bytes:
        """The file."""
        if self._missing:
            shown = " ".join(f"U+{ord(one):04X}" for one in self._missing[:6])
            more = len(self._missing) - 6
            which = f"{shown} and {more} more" if more > 0 else shown
            self._pdf.ln(_LINE)
            self.small(_MISSING.format(which=which))
        return bytes(self._pdf.output())

    def prose(self, markdown: str, *, deeper: int = 0, quoted: bool = False) -> None:
        """Markdown as paragraphs; headings so many levels deeper."""
        for block in blocks(_drawn(markdown)):
            self._block(block, deeper, quoted)

    def heading(self, spans: Spans, level: int, *, marked: bool = False) -> None:
        """A heading; ``marked`` puts it into the reader's table of contents."""
        size = _HEADINGS.get(level, 11.0)
        if self._pdf.will_page_break(size * 1.4):
            self._pdf.add_page()
        self._pdf.ln(size * 0.22)
        if marked:
            self._pdf.start_section(_drawn(plain(spans))[:200], level=0)
        self._write(spans, size=size, bold=True)
        self._pdf.ln(size * 0.15)

    def small(self, words: str) -> None:
        """A paragraph in small letters."""
        self._look(size=8.5, colour=_SOFT)
        self._lines(_drawn(words), 4.4)
        self._pdf.ln(1.2)

    def code(self, words: str, depth: int = 0) -> None:
        """Words as they are, on a tint; a line that is too long goes on below."""
        self._look("Code", size=8.8)
        self._pdf.set_fill_color(244, 245, 247)
        with _indented(self, depth):
            for line in (_drawn(words).expandtabs(4) or " ").split("\n"):
                self._lines(line or " ", 4.6, fill=True, wrap=WrapMode.CHAR)
        self._pdf.ln(2.6)

    def _block(self, block: Block, deeper: int, quoted: bool) -> None:
        if block.kind == "heading":
            self.heading(block.spans, block.level + deeper)
        elif block.kind == "code":
            self.code(block.text, block.depth + block.quoted)
        elif block.kind == "rule":
            self._pdf.ln(2)
            self._pdf.line(self._left, self._pdf.y, self._pdf.w - self._pdf.r_margin, self._pdf.y)
            self._pdf.ln(4)
        elif block.kind == "table":
            self._table(block)
        else:
            self._paragraph(block, quoted)

    def _paragraph(self, block: Block, quoted: bool) -> None:
        depth = block.depth + block.quoted
        if self._listing and not depth:
            self._pdf.ln(1.4)
        self._listing = depth > 0
        colour = _SOFT if quoted or block.quoted else _INK
        if block.marker:
            with _indented(self, depth - 1):
                self._look(colour=colour)
                self._pdf.write(_LINE, f"{block.marker} ")
                # A long number pushes the words on; they never stand over it.
                reached = self._pdf.x
            with _indented(self, depth):
                self._pdf.x = max(reached, self._pdf.l_margin)
                self._write(block.spans, colour=colour)
        else:
            with _indented(self, depth):
                self._write(block.spans, colour=colour)
        self._pdf.ln(1.0 if block.depth else 2.4)

    def _write(
        self,
        spans: Sequence[Span],
        *,
        size: float = _SIZE,
        bold: bool = False,
        colour: tuple[int, int, int] = _INK,
    ) -> None:
        """Spans one after the other in one paragraph."""
        height = size * _LINE / _SIZE
        for span in spans:
            style = ("B" if span.bold or bold else "") + ("I" if span.italic else "")
            if span.code:
                self._look("Code", size=size * 0.92, colour=colour)
            else:
                self._look("Text", style, size, _LINK if span.link else colour)
            self._pdf.strikethrough = span.struck
            self._pdf.write(height, span.text, link=span.link)
        self._pdf.strikethrough = False
        self._pdf.ln(height)

    def _table(self, block: Block) -> None:
        room = self._pdf.epw / max(len(row) for row in block.rows)
        longest = max((len(plain(cell)) for row in block.rows for cell in row), default=0)
        if room < _LEAST_COLUMN or longest > min(_MOST_OF_CELL, 16 * room):
            self._listed(block)
            return
        self._look(size=9.2)
        aligns = tuple(_ALIGN[one] for one in block.aligns)
        with self._pdf.table(
            text_align=aligns, line_height=4.8, padding=1.2, first_row_as_headings=False
        ) as table:
            for place, row in enumerate(block.rows):
                self._look(style="B" if place == 0 else "", size=9.2)
                cells = table.row()
                for cell in row:
                    cells.cell(plain(cell))
        self._pdf.ln(3)

    def _listed(self, block: Block) -> None:
        """A table that no page holds: every row as its names and values."""
        head, *rows = block.rows
        for row in rows or [head]:
            for name, cell in zip(head, row, strict=True):
                label = (Span(text=f"{plain(name)}: ", bold=True),) if rows else ()
                self._write((*label, *cell), size=9.2)
            self._pdf.ln(2)

    def _lines(
        self, words: str, height: float, *, fill: bool = False, wrap: WrapMode = WrapMode.WORD
    ) -> None:
        self._pdf.multi_cell(
            0, height, words, align="LEFT", fill=fill, wrapmode=wrap,
            new_x=XPos.LMARGIN, new_y=YPos.NEXT,
        )  # fmt: skip

    def _look(
        self,
        family: str = "Text",
        style: str = "",
        size: float = _SIZE,
        colour: tuple[int, int, int] = _INK,
    ) -> None:
        self._pdf.set_font(family, style if family == "Text" else "", size)
        self._pdf.set_text_color(*colour)


class _indented:  # noqa: N801 - read as a word: with _indented(paper, 2)
    """The left edge further in for a while."""

    def __init__(self, paper: _Paper, depth: int) -> None:
        self._paper, self._depth = paper, min(max(depth, 0), _DEEPEST)

    def __enter__(self) -> None:
        pdf = self._paper._pdf
        pdf.set_left_margin(self._paper._left + self._depth * _STEP)

    def __exit__(self, *_: object) -> None:
        self._paper._pdf.set_left_margin(self._paper._left)


class _Pages(FPDF):
    """Pages with their number at the foot, where that is wanted."""

    def __init__(self, numbered: bool) -> None:
        super().__init__(format="A4")
        self._numbered = numbered

    def footer(self) -> None:
        if self._numbered:
            self.set_y(-14)
            self.set_font("Text", "", 8)
            self.set_text_color(*_SOFT)
            self.cell(0, 6, f"{self.page_no()}", align="C")


# --- characters ---------------------------------------------------------------------------------


@cache
def _known() -> frozenset[int]:
    """The characters that the upright font has: it stands in for the others."""
    with TTFont(_FONTS / "DejaVuSans.ttf", lazy=True) as font:
        return frozenset(font.getBestCmap())


def _missing(words: str) -> list[str]:
    """The characters without a shape, in the order of their code."""
    return [one for one in sorted(set(words)) if ord(one) not in _known() and one not in "\n\t"]


def _drawn(words: str) -> str:
    """Words without what has no shape of its own: marks of direction and of joining go, control
    characters become a visible mark."""
    return "".join(map(_shown, well_formed(words).replace("\r\n", "\n").replace("\r", "\n")))


@cache
def _shown(character: str) -> str:
    if character in "\n\t" or (character.isascii() and character.isprintable()):
        return character
    kind = unicodedata.category(character)
    if kind == "Cf" or 0xFE00 <= ord(character) <= 0xFE0F:
        return ""
    return "\ufffd" if kind in ("Cc", "Cs", "Cn") else character


def _boxes(characters: Iterable[str]) -> bytes:
    """A font in which each of these characters is a box."""
    shapes = {f"u{ord(one):X}": ord(one) for one in characters}
    order = [".notdef", "space", *shapes]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(order)
    builder.setupCharacterMap({0x20: "space"} | {code: name for name, code in shapes.items()})
    pen = TTGlyphPen(None)
    empty = pen.glyph()
    wide, narrow = _box(1000), _box(620)
    drawn: dict[str, Any] = {".notdef": narrow, "space": empty}
    widths = {".notdef": 620, "space": 300}
    for name, code in shapes.items():
        full = unicodedata.east_asian_width(chr(code)) in "WF"
        drawn[name], widths[name] = (wide, 1000) if full else (narrow, 620)
    builder.setupGlyf(drawn)
    builder.setupHorizontalMetrics({name: (widths[name], 60) for name in order})
    builder.setupHorizontalHeader(ascent=900, descent=-200)
    builder.setupNameTable({"familyName": "Boxes", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=900, sTypoDescender=-200, usWinAscent=900, usWinDescent=200)
    builder.setupPost()
    written = io.BytesIO()
    builder.save(written)
    return written.getvalue()


def _box(width: int) -> Any:
    """An outline with a hollow inside."""
    pen = TTGlyphPen(None)
    for inset, turn in ((0, 1), (60, -1)):
        left, right, low, high = 60 + inset, width - 60 - inset, inset - 60, 760 - inset
        corners = [(left, low), (left, high), (right, high), (right, low)][::turn]
        pen.moveTo(corners[0])
        for corner in corners[1:]:
            pen.lineTo(corner)
        pen.closePath()
    return pen.glyph()


def _moment(at: str) -> datetime:
    try:
        return datetime.fromisoformat(at.replace("Z", "+00:00"))
    except ValueError:
        return datetime(2000, 1, 1, tzinfo=UTC)
