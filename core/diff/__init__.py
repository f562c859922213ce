"""What differs between two texts: prose by words, tables by cells, code by lines. Pure.

Segments in their order cover both texts: without what was added they are the old one, without
what was removed the new one, to the character.
"""

from functools import lru_cache

from core.diff.blocks import blocks, hunks
from core.diff.segments import Block, Diff, Hunk, Op, Row, Segment, of_new, of_old
from core.diff.words import COUNTED, words

__all__ = [
    "Block",
    "Diff",
    "Hunk",
    "Row",
    "Segment",
    "blocks",
    "compare",
    "of_new",
    "of_old",
    "words",
]


@lru_cache(maxsize=16)
def compare(old: str, new: str) -> Diff:
    """Everything that differs between two texts."""
    found = hunks(blocks(old), blocks(new))
    # Joined first: one long search is faster than a hundred thousand short ones.
    said: dict[Op, list[str]] = {"same": [], "added": [], "removed": []}
    for hunk in found:
        for one in hunk.segments:
            said[one.op].append(one.text)
    same, added, removed = (len(COUNTED.findall("\n".join(texts))) for texts in said.values())
    return Diff(found, same, added, removed)
