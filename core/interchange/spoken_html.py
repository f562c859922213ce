"""The words of HTML that somebody else wrote, as text: paragraphs, lists and code stay apart.

Read with a few patterns of our own: the library's parser takes the square of the time for tags
that nobody closed, and gives up on some declarations.
"""

import re
from collections.abc import Iterator
from html import unescape

_BLOCKS = frozenset(
    {"p", "div", "ul", "ol", "table", "pre", "blockquote", "section", "article"}
    | {f"h{level}" for level in range(1, 7)}
)
_SILENT = frozenset({"script", "style", "head", "template", "noscript"})
_TAG = re.compile(r"""<(/?)([a-zA-Z][\w:-]*+)((?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+)>|<[!?][^<>]*+>""")
_MANY = re.compile(r"\n{3,}")
_BLANKS = re.compile(r"\s+")


def words_in(html: str) -> str:
    """The text. Never raises: what is no HTML is words."""
    reading = _Reading()
    html = "".join(_without_comments(html))
    done = 0
    for tag in _TAG.finditer(html):
        reading.said(html[done : tag.start()])
        done = tag.end()
        if tag[2] is not None:
            name, ends = tag[2].lower(), bool(tag[1])
            if not ends:
                reading.begins(name)
            if ends or tag[3].endswith("/"):
                reading.ends(name)
    reading.said(html[done:])
    lines = "".join(reading.made).split("\n")
    return _MANY.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")


def _without_comments(html: str) -> Iterator[str]:
    done = 0
    while (begun := html.find("<!--", done)) >= 0:
        yield html[done:begun]
        ended = html.find("-->", begun + 2)
        if ended < 0:
            return
        done = ended + 3
    yield html[done:]


class _Reading:
    """The text so far; ``begins`` and ``ends`` take a tag's name, ``said`` what is between."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self._silent = 0
        self._code = 0
        self._cells = 0

    def begins(self, tag: str) -> None:
        """A tag was opened."""
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

    def ends(self, tag: str) -> None:
        """A tag was closed."""
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "pre" and self._code:
            self._code -= 1
            self.made.append("\n```\n\n")
        elif tag in _BLOCKS:
            self.made.append("\n\n")

    def said(self, html: str) -> None:
        """Words, escaped as HTML has it."""
        if self._silent or not html:
            return
        data = unescape(html)
        if self._code:
            self.made.append(data)
            return
        words = _BLANKS.sub(" ", data)
        fresh = not self.made or self.made[-1].endswith("\n")
        self.made.append(words.lstrip() if fresh else words)
