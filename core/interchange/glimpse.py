"""What a JSON file begins with, read from its first 64 KiB alone: for recognising formats.

The beginning of a value is a value too: whatever is open where the bytes end is closed there.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache

from core.interchange import streams
from core.types import Json, Source

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_DEEPEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """The first value, as far as it is there. ``whole`` says that it ended, ``in_one_line``
    that no line ended before it did, and ``after`` is the next character that is not blank."""

    value: Json
    whole: bool
    in_one_line: bool
    after: str


def glimpse(source: Source) -> Glimpse:
    """The first value of a source that begins as JSON does; an empty one of any other."""
    if not streams.is_json(source):
        return Glimpse(value=None, whole=False, in_one_line=False, after="")
    return _glimpse(streams.decoded_head(source).lstrip())


@lru_cache(maxsize=16)
def _glimpse(text: str) -> Glimpse:
    value, end = _beginning(text)
    seen = text if end is None else text[:end]
    after = "" if end is None else text[end:].lstrip()[:1]
    return Glimpse(value=value, whole=end is not None, in_one_line="\n" not in seen, after=after)


def _beginning(text: str) -> tuple[Json, int | None]:
    """The first value and where it ended, None if it goes on."""
    top: list[Json] = []
    stack: list[Json] = [top]
    keys: list[str | None] = [None]
    for token in _TOKEN.finditer(text):
        word, inner = token[0], stack[-1]
        if word in (",", ":"):
            continue
        if word in ("}", "]"):
            stack.pop()
            keys.pop()
        elif isinstance(inner, dict) and keys[-1] is None and word not in ("{", "["):
            keys[-1] = str(_read(word))
            continue
        else:
            made: Json = {} if word == "{" else [] if word == "[" else _read(word)
            if isinstance(inner, dict):
                inner[keys[-1]] = made
                keys[-1] = None
            else:
                inner.append(made)
            if word in ("{", "["):
                stack.append(made)
                keys.append(None)
        if len(stack) <= 1:
            return (top[0] if top else None), token.end()
        if len(stack) > _DEEPEST:
            break
    return (top[0] if top else None), None


def _read(word: str) -> Json:
    try:
        return json.loads(word, strict=False)
    except ValueError:
        return word.strip('"')
