"""HTML: one file that needs nothing else, to read, to print and to send on."""

import base64
from collections.abc import Iterator, Mapping

from core.formats._page import code, facts, page, prose, text
from core.formats._transcript import OPTIONS, Entry, Said, transcript
from core.types import AnswerTaken, AttachmentRef, BranchTaken, Include, Scope

_DRAWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MOST_BYTES = 8 * 1024 * 1024
"""Of one picture that is put into the file; a larger one is named only."""


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
            return page(taken.title, prose(taken.text))
        told = transcript(taken, include)
        body = [f"<h1>{text(told.title)}</h1>", facts(told.lines)]
        body += (_entry(entry, taken.files) for entry in told.entries)
        return page(told.title, "\n".join(body))


FORMAT = Html()


def _entry(entry: Entry, files: Mapping[str, bytes]) -> str:
    inside = "\n".join(_pieces(entry, files))
    said = f'<p class="facts">{text(entry.facts)}</p>' if entry.facts else ""
    return (
        f'<article class="{text(entry.role)}">\n<h2>{text(entry.heading)}</h2>\n'
        f"{said}\n{inside}\n</article>"
    )


def _pieces(entry: Entry, files: Mapping[str, bytes]) -> Iterator[str]:
    for said in entry.said:
        if said.file is not None:
            yield _file(said.file, files)
        elif said.kind in ("text", "recap"):
            yield prose(said.text)
        else:
            yield _folded(said)


def _folded(said: Said) -> str:
    words = code(said.text) if said.code else prose(said.text)
    return f"<details><summary>{text(said.label)}</summary>\n{words}</details>"


def _file(file: AttachmentRef, files: Mapping[str, bytes]) -> str:
    """A picture, where its bytes are here; else the name."""
    named = f'<p class="label">Attached: {text(file.name)}</p>'
    content = files.get(file.sha256, b"") if file.media_type in _DRAWN else b""
    if not content or len(content) > _MOST_BYTES:
        return named
    data = base64.b64encode(content).decode()
    return (
        f'{named}\n<p><img alt="{text(file.name)}" src="data:{file.media_type};base64,{data}"></p>'
    )
