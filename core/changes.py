"""What differs between two texts, in words: pure."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_TOKENS = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_WORDS = 1500  # compared word by word; what is longer is told line by line


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A stretch of text that stayed, came or went."""

    kind: Literal["same", "added", "removed"]
    text: str


def changes(old: str, new: str) -> tuple[Change, ...]:
    """From ``old`` to ``new``: lines first, and words inside the lines that changed.

    Joined without what was added they are ``old``, without what was removed ``new``. The time
    grows with the square of a changed stretch, so that a long one is told in whole lines.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    found: list[Change] = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[i:j]), "".join(after[k:m])
        if tag == "equal":
            found.append(Change(kind="same", text=gone))
        else:
            found += _words(gone, come)
    return _joined(found)


def _words(old: str, new: str) -> list[Change]:
    before, after = _TOKENS.findall(old), _TOKENS.findall(new)
    if not before or not after or max(len(before), len(after)) > _MOST_WORDS:
        return [Change(kind="removed", text=old), Change(kind="added", text=new)]
    found: list[Change] = []
    for tag, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[i:j]), "".join(after[k:m])
        if tag == "equal":
            found.append(Change(kind="same", text=gone))
        else:
            found += [Change(kind="removed", text=gone), Change(kind="added", text=come)]
    return found


def _joined(found: list[Change]) -> tuple[Change, ...]:
    """Neighbours of one kind as one; empty ones left out."""
    joined: list[Change] = []
    for change in found:
        if joined and joined[-1].kind == change.kind:
            joined[-1] = Change(kind=change.kind, text=joined[-1].text + change.text)
        elif change.text:
            joined.append(change)
    return tuple(joined)
