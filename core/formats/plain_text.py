"""Plain text: an answer letter for letter, or a branch with every message under its turn."""

from collections.abc import Iterator

from core.interchange.transcript import OPTIONS, Entry, transcript
from core.types import AnswerTaken, BranchTaken, Include, Scope


class PlainText:
    """What every program opens. Nothing of the words is changed, no mark of theirs taken off."""

    name = "plain_text"
    label = "Plain text"
    scopes: frozenset[Scope] = frozenset({"answer", "branch"})
    ending = "txt"
    media_type = "text/plain"
    options = OPTIONS

    def write(self, taken: AnswerTaken | BranchTaken, include: Include) -> bytes:
        """The words of an answer and nothing else, or the transcript of a branch."""
        if isinstance(taken, AnswerTaken):
            return taken.text.encode("utf-8", "replace")
        told = transcript(taken, include)
        lines = [told.title, "=" * min(len(told.title), 78), ""]
        lines += [f"{label}: {words}" for label, words in told.lines]
        for entry in told.entries:
            lines += ["", "", entry.heading, "-" * min(len(entry.heading), 78), *_entry(entry)]
        return ("\n".join(lines).rstrip() + "\n").encode("utf-8", "replace")


FORMAT = PlainText()


def _entry(entry: Entry) -> Iterator[str]:
    if entry.facts:
        yield entry.facts
    for said in entry.said:
        yield ""
        if said.kind == "text" or not said.label:
            yield said.text
        elif said.kind == "file":
            yield f"[{said.label}: {said.text}]"
        else:
            yield f"[{said.label}]"
            yield from (f"    {line}".rstrip() for line in said.text.splitlines())
