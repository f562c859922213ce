"""Markdown: an answer exactly as it was written, or a branch as a readable transcript."""

from collections.abc import Iterator

from core.interchange.blocks import closed, fenced
from core.interchange.transcript import OPTIONS, Entry, Said, transcript
from core.types import AnswerTaken, BranchTaken, Include, Scope


class Markdown:
    """Text that stays readable as it is, and that most programs take."""

    name = "markdown"
    label = "Markdown"
    scopes: frozenset[Scope] = frozenset({"answer", "branch"})
    ending = "md"
    media_type = "text/markdown"
    options = OPTIONS

    def write(self, taken: AnswerTaken | BranchTaken, include: Include) -> bytes:
        """The words of an answer and nothing else, or the transcript of a branch."""
        if isinstance(taken, AnswerTaken):
            return taken.text.encode("utf-8", "replace")
        return _written(taken, include).encode("utf-8", "replace")


FORMAT = Markdown()


def _written(taken: BranchTaken, include: Include) -> str:
    """The transcript: title, what the conversation is for, and every message under its turn."""
    told = transcript(taken, include)
    lines = [f"# {_line(told.title)}", ""]
    for label, words in told.lines:
        if label == "Branch":
            lines += [f"Branch: {words}"]
        elif "\n" in words:
            lines += ["", f"**{label}:**", "", _quoted(words)]
        else:
            lines += ["", f"**{label}:** {words}"]
    for entry in told.entries:
        lines += ["", f"## {_line(entry.heading)}", "", *_entry(entry)]
    return "\n".join(lines).rstrip() + "\n"


def _entry(entry: Entry) -> Iterator[str]:
    if entry.facts:
        yield f"*{entry.facts}*"
        yield ""
    files = [said.text for said in entry.said if said.kind == "file"]
    if files:
        names = ", ".join(f"`{name.replace('`', chr(39))}`" for name in files)
        yield f"Attached: {names}\n"
    said = [one for one in entry.said if one.kind != "file"]
    for place, one in enumerate(said):
        if place:
            yield ""
        yield _piece(one)


def _piece(said: Said) -> str:
    if said.kind == "text":
        return closed(said.text)
    if said.kind == "recap":
        return _quoted(said.text)
    if said.code:
        return f"**{said.label}**\n\n{fenced(said.text)}"
    return f"> **{said.label}**\n>\n{_quoted(said.text)}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in closed(text).splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())
