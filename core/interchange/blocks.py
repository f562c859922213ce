"""Markdown as a flat list of blocks: what a printed page, a word processor and a table need of it.

Raw HTML stays text, links go only where a browser may go, pictures are links. Nothing here follows
the depth of the input: the parser bounds it, and the blocks are flat.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

Kind = Literal["paragraph", "heading", "code", "table", "rule"]
Align = Literal["left", "center", "right"]
_DEEPEST = 60  # lists and quotes within each other
_SAFE_LINK = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
_ALIGN = re.compile(r"text-align:(left|center|right)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Words of one look. ``link`` is where they lead, empty for nowhere."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    struck: bool = False
    link: str = ""


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A paragraph, heading, piece of code, table or rule.

    ``depth`` is how many lists it stands in, ``quoted`` how many quotes. The first block of a
    list item has its ``marker``: a bullet or "3."; ``listed`` tells one list from the next.
    ``level`` is a heading's, ``info`` the words after the fence of code. The first of the
    ``rows`` is the head.
    """

    kind: Kind
    spans: Spans = ()
    depth: int = 0
    quoted: int = 0
    marker: str = ""
    listed: int = 0
    level: int = 0
    text: str = ""
    info: str = ""
    rows: tuple[tuple[Spans, ...], ...] = ()
    aligns: tuple[Align, ...] = ()


def plain(spans: Spans) -> str:
    """The words alone."""
    return "".join(span.text for span in spans)


@cache
def parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough; raw HTML is text."""
    wanted = {"html": False, "maxNesting": _DEEPEST + 2}
    return MarkdownIt("commonmark", wanted).enable(["table", "strikethrough"])


def safe_link(address: str) -> bool:
    """Whether a link may be one in a file that is handed on."""
    return bool(_SAFE_LINK.match(address.strip()))


def blocks(markdown: str) -> tuple[Block, ...]:
    """The blocks of a Markdown text in their order.

    What is nested too deeply to be read as Markdown comes line by line, as it stands: the parser
    would leave it out.
    """
    try:
        tokens = parser().parse(markdown)
    except RecursionError:
        return _as_it_stands(markdown)
    if any(token.level >= _DEEPEST for token in tokens):
        return _as_it_stands(markdown)
    return tuple(_Reading(tokens).blocks())


def _as_it_stands(text: str) -> tuple[Block, ...]:
    lines = (line for line in text.splitlines() if line.strip())
    return tuple(Block(kind="paragraph", spans=(Span(text=line),)) for line in lines)


@dataclass(slots=True)
class _List:
    number: int | None
    identity: int


@dataclass(slots=True)
class _Reading:
    """Where the walk over the tokens stands."""

    tokens: Sequence[Token]
    lists: list[_List] = field(default_factory=list)
    quoted: int = 0
    marker: str = ""
    seen: int = 0

    def blocks(self) -> Iterator[Block]:
        place = 0
        while place < len(self.tokens):
            token = self.tokens[place]
            if token.type == "table_open":
                end = next(
                    at
                    for at in range(place, len(self.tokens))
                    if self.tokens[at].type == "table_close"
                )
                yield self._placed(_table(self.tokens[place:end]))
                place = end
            elif found := self._block(token, self.tokens[place - 1] if place else None):
                yield found
            place += 1

    def _block(self, token: Token, before: Token | None) -> Block | None:
        if token.type == "inline" and before is not None:
            spans = _spans(token.children or [])
            if before.type == "heading_open":
                return self._placed(Block(kind="heading", spans=spans, level=int(before.tag[1])))
            return self._placed(Block(kind="paragraph", spans=spans))
        if token.type in ("fence", "code_block"):
            text = token.content.removesuffix("\n")
            return self._placed(Block(kind="code", text=text, info=token.info.strip()))
        if token.type == "hr":
            return self._placed(Block(kind="rule"))
        self._step(token)
        return None

    def _step(self, token: Token) -> None:
        """Into or out of a list, an item or a quote."""
        if token.type in ("bullet_list_open", "ordered_list_open"):
            self.seen += 1
            first = token.attrGet("start")
            ordered = token.type == "ordered_list_open"
            number = int(1 if first is None else first) if ordered else None
            self.lists.append(_List(number, self.seen))
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self.lists.pop()
        elif token.type == "list_item_open":
            here = self.lists[-1]
            self.marker = "•" if here.number is None else f"{here.number}."
            here.number = None if here.number is None else here.number + 1
        elif token.type in ("blockquote_open", "blockquote_close"):
            self.quoted += 1 if token.type == "blockquote_open" else -1

    def _placed(self, block: Block) -> Block:
        marker, self.marker = self.marker, ""
        return replace(
            block,
            depth=len(self.lists),
            quoted=self.quoted,
            marker=marker,
            listed=self.lists[-1].identity if self.lists else 0,
        )


def _table(tokens: Sequence[Token]) -> Block:
    rows: list[list[Spans]] = []
    aligns: list[Align] = []
    for place, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append(_spans(tokens[place + 1].children or []))
            if len(rows) == 1:
                aligns.append(_aligned(token))
    return Block(kind="table", rows=tuple(map(tuple, rows)), aligns=tuple(aligns))


def _aligned(token: Token) -> Align:
    found = _ALIGN.search(str(token.attrGet("style") or ""))
    return found[1] if found else "left"  # type: ignore[return-value]


def _spans(tokens: Sequence[Token]) -> Spans:
    found: list[Span] = []
    bold = italic = struck = 0
    links: list[str] = []
    for token in tokens:
        step = token.nesting
        bold += step if token.tag == "strong" else 0
        italic += step if token.tag == "em" else 0
        struck += step if token.tag == "s" else 0
        if token.type == "link_open":
            links.append(str(token.attrGet("href") or ""))
        elif token.type == "link_close":
            links.pop()
        text, link = _said(token), links[-1] if links else ""
        if token.type == "image":
            link = link or str(token.attrGet("src") or "")
        if text:
            found.append(
                Span(
                    text=text,
                    bold=bold > 0,
                    italic=italic > 0,
                    struck=struck > 0,
                    code=token.type == "code_inline",
                    link=link if safe_link(link) else "",
                )
            )
    return tuple(found)


def _said(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        # A line that was broken stays broken: people paste poems, addresses and logs.
        return "\n"
    if token.type == "image":
        return token.content or str(token.attrGet("src") or "")
    return token.content if token.type in ("text", "code_inline", "text_special") else ""


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")


def closed(markdown: str) -> str:
    """The text with a fence that it left open closed, so that it does not swallow what follows."""
    mark = ""
    for line in markdown.splitlines():
        found = _FENCE.match(line)
        if not found:
            continue
        fence, rest = found[1], found[2]
        if not mark:
            mark = fence if "`" not in rest or fence[0] == "~" else ""
        elif fence[0] == mark[0] and len(fence) >= len(mark) and not rest.strip():
            mark = ""
    if not mark:
        return markdown
    return markdown + ("" if markdown.endswith("\n") else "\n") + mark


def fenced(text: str, info: str = "") -> str:
    """Any text as a fenced block that it cannot leave."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"
