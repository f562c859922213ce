"""A page of HTML that stands alone, and Markdown put on it with nothing in it that can act.

No script, no font, no picture from elsewhere: a policy in the page's own head forbids them all, so
that even a fault here could not make a reader's browser ask for anything or run anything.
"""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from core.interchange.blocks import safe_link
from core.types.kept import well_formed

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
    " form-action 'none'"
)
_LONGEST = 400_000  # characters that are read as Markdown
_DEEPEST = 60  # lists and quotes within each other
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,", re.IGNORECASE)
_BAD = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")

STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")
"""What every page looks like; a page's own style goes after it."""


def page(title: str, body: str, style: str = "", *, lang: str = "en") -> str:
    """A whole page that needs nothing else. ``body`` is HTML already, ``style`` goes after the
    house's own :data:`STYLE`; ``title`` is plain text. ``lang`` is empty where no word is the
    house's. The result is fit for UTF-8."""
    language = f' lang="{shown(lang)}"' if lang else ""
    return well_formed(
        "<!doctype html>\n"
        f'<html{language}>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="Turntree">\n'
        f"<title>{shown(' '.join(title.split()))}</title>\n"
        f"<style>\n{STYLE}{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def shown(text: str) -> str:
    """Plain text for any place on a page, an attribute's value too. Characters that no page may
    hold are shown as U+FFFD."""
    return escape(_BAD.sub("\ufffd", text))


def code(text: str) -> str:
    """Any text as a block of code."""
    return f'<pre tabindex="0"><code>{shown(text)}</code></pre>'


def facts(lines: Sequence[tuple[str, str]]) -> str:
    """Names and values as a list; values keep their lines."""
    rows = (
        f'<dt>{shown(name)}</dt><dd class="plain" dir="auto">{shown(value)}</dd>'
        for name, value in lines
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def rendered(text: str) -> str:
    """A model's Markdown as HTML: tables and code as such, HTML as the text it is, pictures from
    elsewhere as links, links to nothing but the web and mail.

    What is too long or nested too deeply to be read as Markdown stands there as plain text.
    """
    plain = f'<div class="md"><div class="plain" dir="auto">{shown(text)}</div></div>'
    if len(text) > _LONGEST:
        return plain
    reader = _reader()
    try:
        tokens = reader.parse(_BAD.sub("\ufffd", text))
        # Deeper than this the reader leaves out what it finds.
        if any(token.level >= _DEEPEST for token in tokens):
            return plain
        html = reader.renderer.render(tokens, reader.options, {})
    except RecursionError:
        return plain
    return f'<div class="md" dir="auto">{html}</div>'


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt(
        "commonmark", {"html": False, "linkify": False, "breaks": True, "maxNesting": _DEEPEST + 2}
    ).enable(["table", "strikethrough"])
    for name, rule in (
        ("link_open", _link),
        ("image", _picture),
        ("fence", _code),
        ("code_block", _code),
        ("table_open", _table),
        ("table_close", _table),
    ):
        reader.add_render_rule(name, rule)
    return reader


def _link(
    self: Any, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    address = str(tokens[place].attrGet("href") or "")
    if not safe_link(address):
        return "<a>"
    return f'<a href="{shown(address)}" rel="noopener noreferrer nofollow">'


def _picture(
    self: Any, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[place]
    address = str(token.attrGet("src") or "")
    words = self.renderInlineAsText(token.children, options, env)
    if _PICTURE.match(address):
        return f'<img src="{shown(address)}" alt="{shown(words)}">'
    inside = sum((one.type[:5] == "link_") * one.nesting for one in tokens[:place]) > 0
    if inside or not safe_link(address):
        return f"[{shown(words or address)}]"
    return (
        f'<a class="picture" href="{shown(address)}" rel="noopener noreferrer nofollow">'
        f"{shown(words or address)}</a>"
    )


def _code(
    self: Any, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[place]
    language = token.info.split()[0] if token.info.split() else ""
    # Drawn by the style: it is no word of the text.
    label = f' data-lang="{shown(language)}"' if language else ""
    return (
        f'<div class="code"{label}><pre dir="ltr" tabindex="0"><code>{shown(token.content)}'
        "</code></pre></div>\n"
    )


def _table(
    self: Any, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType
) -> str:
    if tokens[place].type == "table_open":
        return '<div class="scroll" role="region" aria-label="Table" tabindex="0">\n<table>\n'
    return "</table>\n</div>\n"
