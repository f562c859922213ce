"""Which keys the beginning of a JSON file has, and where: what formats are told apart by.

Words in texts never count: what is escaped in a string cannot end it.
"""

import re
from functools import lru_cache

from core.interchange import streams
from core.types import Source

_TOKEN = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"(\s*:)?|\\?\Z)|[\[\]{}]', re.DOTALL)
_DEEPEST = 12


def paths(source: Source) -> frozenset[str]:
    """The keys in the first 64 KiB of JSON or of JSON lines with those above them:
    ``chat.history.currentId``. Lists make no step; nothing where it is no JSON."""
    head = streams.decoded_head(source)
    return _paths(head) if head.lstrip()[:1] in ("[", "{") else frozenset()


@lru_cache(maxsize=4)
def _paths(text: str) -> frozenset[str]:
    found: set[str] = set()
    above: list[str] = []
    deeper = 0
    key = ""
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            if len(above) < _DEEPEST:
                above.append(key)
            else:
                deeper += 1
            key = ""
        elif token[0] in ("}", "]"):
            if deeper:
                deeper -= 1
            elif above:
                above.pop()
            key = ""
        else:
            key = token[1] if token[2] else ""
            if key and not deeper:
                found.add(".".join([*filter(None, above), key]))
    return frozenset(found)
