"""Reading what a model wrote where JSON was asked for: pure, and tolerant of all it adds."""

import json
import re
from collections.abc import Callable, Iterator

from core.types import Json

_FENCE = re.compile(r"```[\w-]*\s*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_LOOSE_COMMA = re.compile(r",(\s*[}\]])")
_MOST_OPENINGS = 200  # places where a value may begin; words full of braces end the search
_PAIRS = {"{": "}", "[": "]"}


def json_in(text: str, wanted: Callable[[Json], bool]) -> Json | None:
    """The first JSON value in some words that ``wanted`` takes; None when there is none.

    Fences, words around it, commas before a closing bracket and an end that is missing do no
    harm.
    """
    for candidate in (*_FENCE.findall(text), text):
        for value in _values(candidate):
            if wanted(value):
                return value
    return None


def _values(text: str) -> Iterator[Json]:
    openings = [place for place, sign in enumerate(text) if sign in _PAIRS][:_MOST_OPENINGS]
    # Only what begins latest can be within what begins earlier: outer values come first.
    for place in openings:
        rest = _LOOSE_COMMA.sub(r"\1", text[place:])
        for attempt in (rest, _closed(rest)):
            try:
                yield json.JSONDecoder(strict=False).raw_decode(attempt)[0]
            except (ValueError, RecursionError):
                continue
            break


def _closed(text: str) -> str:
    """The same with what it leaves open closed: an answer that hit its limit ends anywhere."""
    open_brackets: list[str] = []
    in_string = escaped = False
    for sign in text:
        if escaped:
            escaped = False
        elif in_string:
            escaped = sign == "\\"
            in_string = sign != '"'
        elif sign == '"':
            in_string = True
        elif sign in _PAIRS:
            open_brackets.append(_PAIRS[sign])
        elif open_brackets and sign == open_brackets[-1]:
            open_brackets.pop()
    end = '"' if in_string else ""
    return _LOOSE_COMMA.sub(
        r"\1", text.rstrip().rstrip(",") + end + "".join(reversed(open_brackets))
    )


def text_in(value: Json) -> str:
    """Text as it is, stripped; empty for anything else."""
    return value.strip() if isinstance(value, str) else ""
