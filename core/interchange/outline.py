"""Which keys the beginning of a JSON file has, and where: what formats are told apart by.

Words in texts never count: what is escaped in a string cannot end it.
"""

import re
from functools import lru_cache

from core.interchange import streams
from core.types import Source

Keys = frozenset[tuple[str, ...]]
_TOKEN = re.compile(r'"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z)(\s*+:)?|[\[\]{}]', re.DOTALL)
_DEEPEST = 12


def keys(source: Source) -> Keys:
    """The keys in the first 64 KiB of JSON or of JSON lines, each after those above it:
    ``("chat", "history", "currentId")``. Lists make no step; nothing where it is no JSON."""
    head = streams.decoded_head(source)
    return _keys(head) if head.lstrip()[:1] in ("[", "{") else frozenset()


def paths(source: Source) -> frozenset[str]:
    """The same, each as one text: ``chat.history.currentId``."""
    return frozenset(".".join(path) for path in keys(source))


def within(found: Keys, key: str) -> Keys:
    """The keys below one of them: what is in a wrapping object."""
    return frozenset(path[1:] for path in found if path[0] == key and len(path) > 1)


@lru_cache(maxsize=8)
def _keys(text: str) -> Keys:
    found: set[tuple[str, ...]] = set()
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
                found.add((*filter(None, above), key))
    return frozenset(found)
