"""HTML: one file that needs nothing else, to read, to print and to send on."""

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path

from core.interchange.page import code, facts, page, rendered, shown
from core.interchange.transcript import OPTIONS, Entry, Said, transcript
from core.types import AnswerTaken, AttachmentRef, BranchTaken, Include, Scope

_DRAWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MOST_BYTES = 8 * 1024 * 1024
"""Of one picture that is put into the file; a larger one is named only."""
_STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")


class Html:
    """Self-contained: pictures are in it, nothing is fetched, nothing runs."""

    name = "html"
    label = "HTML"
    scopes: frozenset[Scope] = frozenset({"answer", "branch"})
    ending = "html"
    media_type = "text/html"
    options = OPTIONS

    def write(self, taken: AnswerTaken | BranchTaken, include: Include) -> bytes:
        """The words of an answer and nothing else, or the transcript of a branch."""
        if isinstance(taken, AnswerTaken):
            return page(taken.title, f"<main>{rendered(taken.text)}</main>", lang="").encode()
        told = transcript(taken, include)
        body = [f'<h1 dir="auto">{shown(told.title)}</h1>', facts(told.lines)]
        body += (_entry(entry, taken.files) for entry in told.entries)
        return page(told.title, "\n".join(["<main>", *body, "</main>"]), _STYLE).encode()


FORMAT = Html()


def _entry(entry: Entry, files: Mapping[str, bytes]) -> str:
    inside = "\n".join(_pieces(entry, files))
    said = f'<p class="muted small">{shown(entry.facts)}</p>' if entry.facts else ""
    return (
        f'<article class="{shown(entry.role)}">\n<h2>{shown(entry.heading)}</h2>\n'
        f"{said}\n{inside}\n</article>"
    )


def _pieces(entry: Entry, files: Mapping[str, bytes]) -> Iterator[str]:
    for said in entry.said:
        if said.file is not None:
            yield _file(said.file, files)
        elif said.kind in ("text", "recap"):
            yield rendered(said.text)
        else:
            yield _folded(said)


def _folded(said: Said) -> str:
    words = f'<div class="md">{code(said.text)}</div>' if said.code else rendered(said.text)
    return f"<details><summary>{shown(said.label)}</summary>\n{words}</details>"


def _file(file: AttachmentRef, files: Mapping[str, bytes]) -> str:
    """A picture, where its bytes are here; else the name."""
    named = f'<p class="muted small">Attached: {shown(file.name)}</p>'
    content = files.get(file.sha256, b"") if file.media_type in _DRAWN else b""
    if not content or len(content) > _MOST_BYTES:
        return named
    data = base64.b64encode(content).decode()
    return (
        f'{named}\n<p><img alt="{shown(file.name)}" src="data:{file.media_type};base64,{data}"></p>'
    )
