"""JSON that is nested more deeply than Python's own decoder goes: long chats, answer in answer.

Slower, and without recursion; for values that the decoder gave up on.
"""

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]

from core.types import Json

DEEPEST = 4_000
"""Levels. A message of a nested chat takes two; a trap has a hundred thousand."""
_BLANK = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r"[-+.0-9A-Za-z]+")
_ENDS = {"{": "}", "[": "]"}


def decode(text: str, at: int) -> tuple[Json, int]:
    """The value that begins at a place, and the place behind it.

    Raises ``JSONDecodeError`` and, for more than :data:`DEEPEST` levels, ``RecursionError``.
    """
    outer: list[Json] = []  # holds the value itself, so that everything hangs on something
    stack: list[tuple[Json, str]] = [(outer, "")]  # what is open, and the key that waits in it
    while True:
        value, at = _one(text, _skip(text, at))
        _hang(*stack[-1], value)
        if isinstance(value, dict | list):
            if len(stack) > DEEPEST:
                raise RecursionError
            stack.append((value, ""))
        at = _between(text, at, stack, begun=isinstance(value, dict | list))
        if len(stack) == 1:
            return outer[0], at


def _between(text: str, at: int, stack: list[tuple[Json, str]], *, begun: bool) -> int:
    """From behind a value (or into one that has ``begun``) to the next: closing what ends."""
    while len(stack) > 1:
        inside, _ = stack[-1]
        at = _skip(text, at)
        char = text[at : at + 1]
        if char == ("}" if isinstance(inside, dict) else "]"):
            stack.pop()
            at, begun = at + 1, False
            continue
        if not begun:
            if char != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
            at = _skip(text, at + 1)
        if isinstance(inside, dict):
            key, at = _key(text, at)
            stack[-1] = (inside, key)
        return at
    return at


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting property name", text, at)
    key, at = scanstring(text, at + 1, False)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return key, at + 1


def _one(text: str, at: int) -> tuple[Json, int]:
    """A plain value, or an empty list or object that has just begun."""
    char = text[at : at + 1]
    if char in _ENDS:
        return ({} if char == "{" else []), at + 1
    if char == '"':
        found: tuple[str, int] = scanstring(text, at + 1, False)
        return found
    plain = _PLAIN.match(text, at)
    if plain is None:
        raise json.JSONDecodeError("Expecting value", text, at)
    try:
        return json.loads(plain[0]), plain.end()
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError("Expecting value", text, at) from error


def _hang(inside: Json, key: str, value: Json) -> None:
    if isinstance(inside, dict):
        inside[key] = value
    else:
        inside.append(value)


def _skip(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr]
