"""The words of HTML that somebody else wrote, as text: paragraphs, lists and code stay apart."""

import re
from html.parser import HTMLParser

_BLOCKS = frozenset(
    {"p", "div", "ul", "ol", "table", "pre", "blockquote", "section", "article"}
    | {f"h{level}" for level in range(1, 7)}
)
_SILENT = frozenset({"script", "style", "head", "template", "noscript"})
_MANY = re.compile(r"\n{3,}")
_BLANKS = re.compile(r"\s+")


def words_in(html: str) -> str:
    """The text. Never raises: what is no HTML is words."""
    reading = _Reading()
    reading.feed(html)
    reading.close()
    lines = "".join(reading.made).split("\n")
    return _MANY.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")


class _Reading(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.made: list[str] = []
        self._silent = 0
        self._code = 0
        self._cells = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag == "pre":
            self._code += 1
            self.made.append("\n\n```\n")
        elif tag in _BLOCKS:
            self.made.append("\n\n")
        elif tag == "br":
            self.made.append("\n")
        elif tag == "li":
            self.made.append("\n- ")
        elif tag == "tr":
            self._cells = 0
            self.made.append("\n")
        elif tag in ("td", "th"):
            self.made.append(" | " if self._cells else "")
            self._cells += 1

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "pre" and self._code:
            self._code -= 1
            self.made.append("\n```\n\n")
        elif tag in _BLOCKS:
            self.made.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._code:
            self.made.append(data)
            return
        words = _BLANKS.sub(" ", data)
        fresh = not self.made or self.made[-1].endswith("\n")
        self.made.append(words.lstrip() if fresh else words)
