"""DOCX: a document with real headings, lists, tables and links, to go on writing in."""

import io
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from docx import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.oxml.numbering import CT_Num
from docx.oxml.table import CT_Tbl
from docx.shared import Pt, RGBColor
from docx.table import Table
from docx.text.paragraph import Paragraph

from core.interchange.blocks import Block, Span, Spans, blocks
from core.interchange.transcript import OPTIONS, Entry, lay, transcript
from core.types import AnswerTaken, BranchTaken, Include, Scope, well_formed

_STEP = Pt(18)
_MOST_LINK = 2000  # Word refuses longer addresses
_DEEPEST = 3  # list styles that a document begins with
_ALIGN = {
    "left": WD_ALIGN_PARAGRAPH.LEFT,
    "center": WD_ALIGN_PARAGRAPH.CENTER,
    "right": WD_ALIGN_PARAGRAPH.RIGHT,
}
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_NO_COLUMN = 63  # Word has no more columns


class Docx:
    """For word processors."""

    name = "docx"
    label = "Word (DOCX)"
    scopes: frozenset[Scope] = frozenset({"answer", "branch"})
    ending = "docx"
    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    options = OPTIONS

    def write(self, taken: AnswerTaken | BranchTaken, include: Include) -> bytes:
        """The words of an answer and nothing else, or the transcript of a branch."""
        if isinstance(taken, AnswerTaken):
            paper = _Paper(taken.title, taken.node.created_at)
            paper.prose(taken.text)
            return paper.saved()
        told = transcript(taken, include)
        paper = _Paper(told.title, taken.session.updated_at)
        paper.heading((Span(text=told.title),), 0)
        for label, words in told.lines:
            paper.fact(label, words)
        for entry in told.entries:
            _entry(paper, entry)
        return paper.saved()


FORMAT = Docx()


def _entry(paper: "_Paper", entry: Entry) -> None:
    paper.heading((Span(text=entry.heading),), 1)
    lay(paper, entry)


class _Paper:
    """The document while it is written."""

    def __init__(self, title: str, at: str) -> None:
        self._document: Any = Document()
        properties = self._document.core_properties
        properties.title = _legal(title)[:255]
        properties.author = ""
        properties.comments = ""
        properties.created = properties.modified = _moment(at)
        self._styles()
        # The library looks for a style, a number and the document's end anew each time: what
        # they are is kept here, or a long conversation would take minutes.
        self._ids = {one.name: one.style_id for one in self._document.styles}
        self._end = self._document.element.body.sectPr
        self._width = self._document._block_width
        self._numbers: dict[int, int] = {}
        self._counted: dict[str, int] = {}
        self._links: dict[str, str] = {}

    def _styles(self) -> None:
        styles = self._document.styles
        code = styles.add_style("Code", WD_STYLE_TYPE.PARAGRAPH)
        code.base_style = styles["Normal"]
        code.font.name, code.font.size = "Courier New", Pt(9)
        code.paragraph_format.space_after = Pt(8)
        shade = OxmlElement("w:shd")
        for name, value in (("val", "clear"), ("color", "auto"), ("fill", "F3F4F6")):
            shade.set(qn(f"w:{name}"), value)
        code.element.get_or_add_pPr().insert(0, shade)  # the schema has an order
        small = styles.add_style("Facts", WD_STYLE_TYPE.PARAGRAPH)
        small.base_style = styles["Normal"]
        small.font.size, small.font.color.rgb = Pt(9), RGBColor(0x62, 0x6A, 0x76)
        small.paragraph_format.space_after = Pt(4)

    def saved(self) -> bytes:
        """The file."""
        written = io.BytesIO()
        self._document.save(written)
        return written.getvalue()

    def prose(self, markdown: str, *, deeper: int = 0, quoted: bool = False) -> None:
        """Markdown as paragraphs; headings so many levels deeper."""
        self._numbers = {}
        for block in blocks(_legal(markdown)):
            self._block(block, deeper, quoted)

    def heading(self, spans: Spans, level: int) -> None:
        """A heading; level 0 is the title."""
        self._runs(self._new(f"Heading {min(level, 9)}" if level else "Title"), spans)

    def fact(self, label: str, words: str) -> None:
        """A name and a value in one paragraph."""
        paragraph = self._new("Facts")
        paragraph.add_run(f"{label}: ").bold = True
        paragraph.add_run(_legal(words))

    def small(self, words: str) -> None:
        """A line of its own in small letters."""
        self._new("Facts").add_run(_legal(words))

    def code(self, words: str, depth: int = 0) -> None:
        """Words as they are."""
        paragraph = self._new("Code")
        paragraph.add_run(_legal(words).expandtabs(4))
        if depth:
            paragraph.paragraph_format.left_indent = _STEP * depth

    def _new(self, style: str) -> Any:
        """A paragraph of that style at the end of the document."""
        element = OxmlElement("w:p")
        self._end.addprevious(element)
        if style != "Normal":
            element.style = self._ids[style]
        return Paragraph(element, self._document._body)

    def _block(self, block: Block, deeper: int, quoted: bool) -> None:
        if block.kind == "heading":
            self.heading(block.spans, block.level + deeper)
        elif block.kind == "code":
            self.code(block.text, block.depth + block.quoted)
        elif block.kind == "table":
            self._table(block)
        elif block.kind == "rule":
            self._rule()
        else:
            self._paragraph(block, quoted)

    def _paragraph(self, block: Block, quoted: bool) -> None:
        style = self._style(block, quoted)
        paragraph = self._new(style)
        if block.marker and block.marker != "•":
            self._number(paragraph, style, block)
        beyond = block.depth - (_DEEPEST if block.marker else 0)
        if beyond > 0 or block.quoted:
            indent = max(beyond, 0) + block.quoted + (_DEEPEST if beyond > 0 < block.depth else 0)
            paragraph.paragraph_format.left_indent = _STEP * min(indent, 12)
        self._runs(paragraph, block.spans)

    def _style(self, block: Block, quoted: bool) -> str:
        if block.marker:
            kind = "List Bullet" if block.marker == "•" else "List Number"
            level = min(block.depth, _DEEPEST)
            return kind if level == 1 else f"{kind} {level}"
        if block.quoted or quoted:
            return "Quote"
        return "List Continue" if block.depth == 1 else "Normal"

    def _number(self, paragraph: Any, style: str, block: Block) -> None:
        """Count each list from its own first number, not on from the list before."""
        number = self._numbers.get(block.listed)
        if number is None:
            first = int(block.marker[:-1])
            number = self._numbers[block.listed] = self._numbering(style, first)
        properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
        properties.get_or_add_ilvl().val = 0
        properties.get_or_add_numId().val = number

    def _numbering(self, style: str, first: int) -> int:
        """The id of one more numbering of that style, which begins with ``first``."""
        numbering = self._document.part.numbering_part.numbering_definitions._numbering
        if not self._counted:
            self._counted["last"] = max((one.numId for one in numbering.num_lst), default=0)
        if style not in self._counted:
            own = self._document.styles[style].element.pPr.numPr.numId.val
            self._counted[style] = numbering.num_having_numId(own).abstractNumId.val
        self._counted["last"] += 1
        new: Any = CT_Num.new  # untyped there
        made = new(self._counted["last"], self._counted[style])
        made.add_lvlOverride(ilvl=0).add_startOverride(first)
        numbering.append(made)
        return self._counted["last"]

    def _rule(self) -> None:
        properties = self._new("Normal")._p.get_or_add_pPr()
        border, line = OxmlElement("w:pBdr"), OxmlElement("w:bottom")
        for name, value in (("val", "single"), ("sz", "6"), ("space", "1"), ("color", "BBBBBB")):
            line.set(qn(f"w:{name}"), value)
        border.append(line)
        properties.append(border)

    def _table(self, block: Block) -> None:
        width = max(len(row) for row in block.rows)
        if width > _NO_COLUMN:
            lines = (" | ".join("".join(s.text for s in cell) for cell in r) for r in block.rows)
            self.code("\n".join(lines), 0)
            return
        element = CT_Tbl.new_tbl(len(block.rows), width, self._width)
        element.tblStyle_val = self._ids["Table Grid"]
        self._end.addprevious(element)
        table = Table(element, self._document._body)
        for row, cells in zip(table.rows, block.rows, strict=True):
            for place, (cell, spans) in enumerate(zip(row.cells, cells, strict=False)):
                paragraph = cell.paragraphs[0]
                paragraph.alignment = _ALIGN[block.aligns[place]]
                self._runs(paragraph, spans, bold=cells is block.rows[0])
        self._new("Normal")

    def _runs(self, paragraph: Any, spans: Sequence[Span], *, bold: bool = False) -> None:
        for span in spans:
            if span.link and len(span.link) <= _MOST_LINK:
                self._link(paragraph, span)
                continue
            run = paragraph.add_run(_legal(span.text))
            # What is not set is left to the style: a heading is bold by itself.
            run.bold, run.italic = (span.bold or bold) or None, span.italic or None
            if span.struck:
                run.font.strike = True
            if span.code:
                run.font.name = "Courier New"

    def _link(self, paragraph: Any, span: Span) -> None:
        relation = self._links.get(span.link)
        if relation is None:
            relation = self._links[span.link] = self._document.part.relate_to(
                _legal(span.link), RELATIONSHIP_TYPE.HYPERLINK, is_external=True
            )
        link = OxmlElement("w:hyperlink")
        link.set(qn("r:id"), relation)
        run = paragraph.add_run(_legal(span.text))
        run.bold, run.italic = span.bold or None, span.italic or None
        run.font.underline, run.font.color.rgb = True, RGBColor(0x2F, 0x5F, 0xD0)
        link.append(run._r)
        paragraph._p.append(link)


def _legal(words: str) -> str:
    """Without the characters that XML has no place for; a mark stands where one was."""
    return _ILLEGAL.sub("\ufffd", well_formed(words))


def _moment(at: str) -> datetime:
    """A date as the document's properties take it: between 1900 and 9999."""
    try:
        found = datetime.fromisoformat(at.replace("Z", "+00:00")).replace(tzinfo=None)
    except ValueError:
        return datetime(2000, 1, 1)
    return found.replace(microsecond=0)
