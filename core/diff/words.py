"""What differs between two stretches of prose, word by word. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from core.diff.alike import Match, matches
from core.diff.segments import Op, Segment

Piece = tuple[Op, str]
# Written without spaces: each character counts as a word.
_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_MARKS = "".join(
    mark for mark in map(chr, range(0x300, 0x10000)) if unicodedata.category(mark)[0] == "M"
)
_REST = f"(?:[{_MARKS}\U0001f3fb-\U0001f3ff]|\u200d\\S)*"  # what belongs to the character before
_LETTERS = rf"(?:[^\W{_HAN}]{_REST})+"
_WORD = rf"[{_HAN}]{_REST}|\d+(?:[.,:]\d+)+|{_LETTERS}(?:['’]{_LETTERS})*"
_TOKEN = re.compile(rf"\s*(?:{_WORD}|\S{_REST})")
COUNTED = re.compile(_WORD)


class _Text:
    """A text in words. ``words`` are bare, ``spaces`` the lengths of what stands before each;
    ``starts`` tells where each begins with its space, and where the last one ends."""

    __slots__ = ("spaces", "starts", "text", "words")

    def __init__(self, text: str) -> None:
        tokens: list[str] = _TOKEN.findall(text)
        end = len(text.rstrip())
        if end < len(text):
            tokens.append(text[end:])
        self.text = text
        self.words = [token.lstrip() for token in tokens]
        lengths = zip(tokens, self.words, strict=True)
        self.spaces = [len(token) - len(word) for token, word in lengths]
        self.starts = [0, *accumulate(map(len, tokens))]

    def part(self, begin: int, end: int) -> str:
        """Some words with the space before each."""
        return self.text[self.starts[begin] : self.starts[end]]


def words(old: str, new: str) -> tuple[Segment, ...]:
    """What differs, word by word."""
    if old == new:
        return (Segment("same", old),) if old else ()
    before, after = _Text(old), _Text(new)
    found = _readable(matches(before.words, after.words), before, after)
    return tuple(_merged(_told(before, after, found)))


def merged(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Neighbours as one, what went before what came, nothing empty."""
    return _merged((one.op, one.text) for one in segments)


def _readable(found: Sequence[Match], before: _Text, after: _Text) -> list[Match]:
    """Without single words that stayed between longer changes: only by chance are they the same."""
    kept: list[Match] = []
    old = new = 0  # where the match before ends
    ends = [*((i, j) for i, j, _ in found), (len(before.words), len(after.words))][1:]
    for (i, j, length), (next_old, next_new) in zip(found, ends, strict=False):
        ahead = max(i - old, j - new)
        behind = max(next_old - i - length, next_new - j - length)
        least = min(ahead, behind)
        if least and length <= least:
            said = sum(word[:1].isalnum() for word in before.words[i : i + length])
            if 2 * said <= least:
                continue
        kept.append((i, j, length))
        old, new = i + length, j + length
    return kept


def _told(before: _Text, after: _Text, found: Iterable[Match]) -> Iterator[Piece]:
    old = new = 0
    for i, j, length in (*found, (len(before.words), len(after.words), 0)):
        yield from _replaced(before, old, i, after, new, j)
        old, new = i + length, j + length
        stayed = before.part(i, old)
        if stayed == after.part(j, new):
            yield "same", stayed
            continue
        for n in range(length):  # the space between them differs
            space = before.part(i + n, i + n + 1)[: before.spaces[i + n]]
            other = after.part(j + n, j + n + 1)[: after.spaces[j + n]]
            if space == other:
                yield "same", space
            else:
                yield "removed", space
                yield "added", other
            yield "same", before.words[i + n]


def _replaced(before: _Text, old: int, i: int, after: _Text, new: int, j: int) -> Iterator[Piece]:
    """One stretch in place of another; the space before both is neither's."""
    gone, come = before.part(old, i), after.part(new, j)
    if gone and come:
        space = before.spaces[old]
        if space == after.spaces[new] and gone[:space] == come[:space]:
            yield "same", gone[:space]
            gone, come = gone[space:], come[space:]
    yield "removed", gone
    yield "added", come


def _merged(pieces: Iterable[Piece]) -> Iterator[Segment]:
    gone: list[str] = []
    come: list[str] = []
    stayed: list[str] = []
    for op, text in pieces:
        if not text:
            continue
        if op != "same":
            if stayed:
                yield Segment("same", "".join(stayed))
                stayed = []
            (gone if op == "removed" else come).append(text)
            continue
        if gone:
            yield Segment("removed", "".join(gone))
            gone = []
        if come:
            yield Segment("added", "".join(come))
            come = []
        stayed.append(text)
    for last, texts in (_REMOVED, gone), (_ADDED, come), (_SAME, stayed):
        if texts:
            yield Segment(last, "".join(texts))


_REMOVED: Op = "removed"
_ADDED: Op = "added"
_SAME: Op = "same"
