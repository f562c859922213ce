"""A page of HTML that stands alone: no script, nothing fetched, and no word of it is markup.

The policy in its head forbids everything but its own stylesheet and pictures that are in the file,
so that even a mistake here could not run or fetch anything.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from core.formats._words import safe_link
from core.types import well_formed

PRINT = """
:root { color-scheme: light dark; --ink: #1d2025; --soft: #626a76; --line: #dfe3e8;
  --tint: #f5f6f8; --accent: #2f5fd0; --page: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --soft: #9aa3b0; --line: #343a43;
  --tint: #22262c; --accent: #8fb0ff; --page: #16181c } }
* { box-sizing: border-box }
html { background: var(--page); color: var(--ink) }
body { font: 16px/1.6 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  max-width: 46rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; overflow-wrap: anywhere }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 1.6em 0 .5em; break-after: avoid }
h1 { font-size: 1.75rem } h2 { font-size: 1.35rem } h3 { font-size: 1.15rem }
h4, h5, h6 { font-size: 1rem }
body > :first-child, article > :first-child { margin-top: 0 }
p, ul, ol, pre, table, blockquote { margin: 0 0 1em }
ul, ol { padding-left: 1.6em } li > p { margin-bottom: .4em }
a { color: var(--accent) } hr { border: 0; border-top: 1px solid var(--line); margin: 2em 0 }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .875em }
code { background: var(--tint); border-radius: 4px; padding: .1em .3em }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: 8px;
  padding: .8em 1em; overflow-x: auto; line-height: 1.45; overflow-wrap: normal }
pre code { background: none; padding: 0; font-size: 1em }
blockquote { border-left: 3px solid var(--line); padding-left: 1em; color: var(--soft) }
.scroll { overflow-x: auto; margin: 0 0 1em } .scroll table { margin: 0 }
table { border-collapse: collapse; font-size: .94em; overflow-wrap: normal }
th, td { border: 1px solid var(--line); padding: .4em .7em; text-align: left;
  vertical-align: top } th { background: var(--tint) }
body.wide { max-width: 72rem } .one { white-space: nowrap }
.right { text-align: right } .center { text-align: center }
img { max-width: 100%; height: auto; border-radius: 8px }
.facts, .label { color: var(--soft); font-size: .85rem }
.label { font-weight: 600; margin-bottom: .35em }
dl.head { display: grid; grid-template-columns: max-content 1fr; gap: .25em 1em;
  margin: 0 0 2em; font-size: .92rem } dl.head dt { color: var(--soft) }
dl.head dd { margin: 0; white-space: pre-wrap }
article { border-top: 1px solid var(--line); padding-top: 1.1em; margin-top: 1.6em }
article > h2 { font-size: .95rem; margin: 0 0 .2em; color: var(--soft) }
article.user { border-left: 3px solid var(--accent); border-top: 0; padding: 0 0 0 1em }
.words { white-space: pre-wrap }
details { border: 1px solid var(--line); border-radius: 8px; padding: .5em .9em;
  margin: 0 0 1em } summary { cursor: pointer; color: var(--soft); font-size: .9rem }
details > :nth-child(2) { margin-top: .6em } details > :last-child { margin-bottom: .3em }
ins { background: #d9f2de; color: #11401f; text-decoration: none }
del { background: #fbdcdc; color: #6b1717 }
@page { margin: 18mm }
@media print { :root { color-scheme: light; --ink: #000; --soft: #555; --line: #bbb;
  --tint: #f4f4f4; --accent: #1a47a8; --page: #fff }
  body { padding: 0; max-width: none; font-size: 10.5pt }
  pre { white-space: pre-wrap; overflow-wrap: anywhere } tr, img { break-inside: avoid } }
"""


def page(title: str, body: str, *, style: str = PRINT, lang: str = "", kind: str = "") -> bytes:
    """A whole document. ``body`` is HTML that was made here, ``kind`` its class (*wide* for wide
    tables); the title is any text."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )
    head = (
        f"<!doctype html>\n<html{f' lang={lang!r}' if lang else ''}>\n<head>\n"
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta http-equiv="x-dns-prefetch-control" content="off">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n"
        f'<body class="{text(kind)}">\n'
    )
    return f"{head}{body}\n</body>\n</html>\n".encode()


def text(words: str) -> str:
    """Any words as they stand in HTML; what no document may hold becomes a visible mark."""
    return escape(_allowed(words), quote=True)


def prose(markdown: str) -> str:
    """Markdown as HTML: nothing in it is markup of its own, pictures are links, no link runs."""
    return str(_rendering().render(_allowed(markdown)))


def code(words: str) -> str:
    """Words as they are, in a block."""
    return f"<pre><code>{text(words)}</code></pre>"


def facts(lines: Sequence[tuple[str, str]]) -> str:
    """Names and values as a list; values keep their lines."""
    rows = (f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in lines)
    return f'<dl class="head">{"".join(rows)}</dl>'


def _allowed(words: str) -> str:
    """Without the control characters that HTML has no place for."""
    return well_formed(words).translate(_CONTROLS)


_CONTROLS = {
    **{n: "\ufffd" for n in range(32) if n not in (9, 10, 13)},
    **dict.fromkeys((127, *range(0x80, 0xA0), 0xFFFE, 0xFFFF), "\ufffd"),
}


@cache
def _rendering() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
    return made.enable(["table", "strikethrough"])


class _Renderer(RendererHTML):
    """HTML as the standard renderer writes it, but for pictures, links, tables and code."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object) -> str:
        token = tokens[idx]
        address = str(token.attrGet("src") or "")
        words = text(token.content or address)
        inside = sum((one.type[:5] == "link_") * one.nesting for one in tokens[:idx]) > 0
        if inside or not safe_link(address):
            return f"[{words}]"
        return f'<a href="{text(address)}" rel="noopener noreferrer">{words}</a>'

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object
    ) -> str:
        address = str(tokens[idx].attrGet("href") or "")
        if not safe_link(address):
            return "<a>"
        return f'<a href="{text(address)}" rel="noopener noreferrer">'

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object) -> str:
        return code(tokens[idx].content) + "\n"

    code_block = fence

    def table_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object
    ) -> str:
        return '<div class="scroll"><table>\n'

    def table_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object
    ) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: object) -> str:
        token = tokens[idx]
        style = str(token.attrGet("style") or "")
        side = next((one for one in ("right", "center") if one in style), "")
        return f'<{token.tag} class="{side}">' if side else f"<{token.tag}>"

    td_open = th_open
