"""A look at a file before it is taken away: drawn as it will be read, or its first part as text.

A page or a picture is shown in a frame of its own, in which no script runs (export_preview.js).
"""

import base64
import csv
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.errors import TurntreeError
from core.exporting import File
from core.wire.readable import size_words
from pages.components import words

_HERE = Path(__file__)
_element = st.components.v2.component(
    "turntree_export_preview",
    js=_HERE.with_suffix(".js").read_text("utf-8"),
    css=_HERE.with_name("thread.css").read_text("utf-8")
    + _HERE.with_suffix(".css").read_text("utf-8"),
)
_MOST = 20_000  # characters of text
_MOST_DRAWN = 3_000_000  # bytes of a page or a picture
_MOST_HELD = 4_000_000  # bytes
_MOST_ROWS = 200
_TEXTS = ("json", "yaml", "python", "xml", "javascript", "toml")
_LANGUAGES = {"py": "python", "jsonl": "json", "yml": "yaml", "md": "markdown", "txt": None}
_KINDS = {
    "text/markdown": "markdown",
    "text/html": "page",
    "text/csv": "table",
    "application/zip": "archive",
}


def kind(media_type: str) -> str:
    """How a file is shown: markdown, page, table, archive, picture, text, or other."""
    if known := _KINDS.get(media_type):
        return known
    if media_type.startswith("image/"):
        return "picture"
    textual = media_type.startswith("text/") or any(one in media_type for one in _TEXTS)
    # The name of an office file speaks of XML too.
    return "text" if textual and "officedocument" not in media_type else "other"


def handed(content: bytes) -> bytes | Callable[[], bytes]:
    """A file for a download button: a large one only once it is pressed. Fetching it so takes
    the keyboard's focus from the button, which a small one need not."""
    return content if len(content) <= _MOST_HELD else lambda: content


def draw(
    file: File, readable: Callable[[], File | None], *, key: str, rendered: bool = True
) -> None:
    """Show ``file``. ``readable`` gives the same as a page, for what cannot be shown itself;
    with ``rendered`` false, Markdown and pages are shown as the text that they are."""
    of = kind(file.media_type)
    if of == "other":
        _as_page(file, readable, key)
    elif of == "archive":
        _archive(file)
    elif of == "picture":
        _drawn(file, key, "picture")
    elif of == "table":
        _table(file)
    elif of in ("markdown", "page") and rendered:
        _drawn(file, key, of)
    else:
        _text(file)


def rendered(media_type: str, key: str) -> bool:
    """The choice between the look of a file and its text, for one that has both."""
    if kind(media_type) not in ("markdown", "page"):
        return False
    chosen = st.segmented_control(
        "Preview", ["Rendered", "Text"], default="Rendered", required=True, key=key
    )
    return chosen != "Text"


def _as_page(file: File, readable: Callable[[], File | None], key: str) -> None:
    try:
        page = readable()
    except TurntreeError:  # what can be written as the one need not be written as the other
        page = None
    if page is None:
        st.caption("This kind of file cannot be shown here. Download it to look at it.")
        return
    ending = file.name.rpartition(".")[2].upper()
    st.caption(f"Its words and tables; the {ending} file has a layout of its own.")
    _drawn(page, key, kind(page.media_type))


def _drawn(file: File, key: str, of: str) -> None:
    if len(file.content) > _MOST_DRAWN:
        st.caption("Too large to be drawn here. Download it to see all of it.")
        if of != "picture":
            _text(file)
        return
    body = (
        f"data:{file.media_type};base64,{base64.b64encode(file.content).decode()}"
        if of == "picture"
        else file.content.decode(errors="replace")
    )
    if of == "markdown" and len(body) > _MOST:
        body = body[:_MOST]
        _told_part(len(file.content))
    _element(key=f"turntree.{key}", data={"kind": of, "body": body, "label": "Preview"})


def _text(file: File) -> None:
    text = file.content.decode(errors="replace")
    if len(text) > _MOST:
        text = text[:_MOST]
        _told_part(len(file.content))
    ending = file.name.rpartition(".")[2]
    language = _LANGUAGES.get(ending, ending)
    st.code(text, language=language, wrap_lines=True, height=_height(text))


def _height(text: str) -> int:
    """Pixels: as tall as a short text, and no taller than leaves room for the button."""
    lines = sum(1 + len(line) // 90 for line in text.splitlines()) or 1
    return min(360, 40 + 24 * lines)


def _told_part(size: int) -> None:
    st.caption(f"The beginning of {size_words(size)}. The file has all of it.")


def _table(file: File) -> None:
    text = file.content.decode("utf-8-sig", errors="replace")
    rows = list(csv.reader(io.StringIO(text)))
    head, body = (rows[0], rows[1:]) if rows else ([], [])
    if len(body) > _MOST_ROWS:
        st.caption(f"The first {_MOST_ROWS} of {len(body):,} rows. The file has all of them.")
    names = [f"{name} ({n})" if head.count(name) > 1 else name for n, name in enumerate(head, 1)]
    listed = [dict(zip(names, row, strict=False)) for row in body[:_MOST_ROWS]]
    st.dataframe(listed, hide_index=True, height="content" if len(listed) < 8 else 320)


def _archive(file: File) -> None:
    with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
        members = archive.infolist()
    st.caption(f"In it: {words.counted(len(members), 'file')}.")
    lines = [f"{size_words(one.file_size):>10}  {one.filename}" for one in members[:_MOST_ROWS]]
    if len(members) > _MOST_ROWS:
        lines.append(f"… and {len(members) - _MOST_ROWS:,} more")
    text = "\n".join(lines)
    st.code(text, language=None, height=_height(text))
