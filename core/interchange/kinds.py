"""Kinds of values that a column of our own files may hold."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, get_args

from pydantic import TypeAdapter

from core.types import PARTS, AttachmentRef, Failure

ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
HASH = re.compile(r"[0-9a-f]{32}")
SHA256 = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MOST = 2**53


@dataclass(frozen=True, slots=True)
class Column:
    """What a column may hold: ``fits`` raises or says False for what it may not. ``of`` names
    the table whose ids it holds; with ``bound`` those of this very session alone."""

    fits: Callable[[Any], object]
    optional: bool = False
    of: str = ""
    bound: bool = True


def text(value: Any) -> bool:
    """Any words that UTF-8 can hold."""
    return isinstance(value, str) and bool(value.encode() or True)


def like(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    """Text of a pattern."""
    return lambda value: isinstance(value, str) and bool(pattern.fullmatch(value))


def time(value: Any) -> object:
    """UTC ISO 8601 with milliseconds."""
    return like(_TIME)(value) and datetime.fromisoformat(value)


def whole(value: Any) -> bool:
    """A number from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST


def flag(value: Any) -> bool:
    """0 or 1."""
    return whole(value) and value in (0, 1)


def share(value: Any) -> bool:
    """A number from 0 to 1."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 <= value <= 1


def one_of(literal: Any) -> Callable[[Any], bool]:
    """One of a literal type."""
    return lambda value: isinstance(value, str) and value in get_args(literal)


def among(*values: str) -> Callable[[Any], bool]:
    """One of these."""
    return lambda value: isinstance(value, str) and value in values


def parsed(adapter: TypeAdapter[Any]) -> Callable[[Any], bool]:
    """JSON that a codec of ours reads."""
    return lambda value: text(value) and adapter.validate_json(value) is not None


def shaped(fits: Callable[[Any], bool] = lambda _: True) -> Callable[[Any], bool]:
    """JSON of a shape. Read as the store reads it: half characters in it are no fault."""
    return lambda value: text(value) and fits(json.loads(value))


def objects(value: Any) -> bool:
    """An object."""
    return isinstance(value, dict)


def names(value: Any) -> bool:
    """A list of texts."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def by_name(*types: type) -> Callable[[Any], bool]:
    """An object whose values are of these types."""
    return lambda value: objects(value) and all(isinstance(one, types) for one in value.values())


def pairs(value: Any) -> bool:
    """A list of pairs of texts."""
    return isinstance(value, list) and all(names(one) and len(one) == 2 for one in value)


def changes(value: Any) -> bool:
    """What a pruning did to branches."""
    return isinstance(value, list) and all(map(by_name(str, bool, type(None)), value))


def failure(value: Any) -> bool:
    """Why a run failed."""
    known = {one.name: one for one in fields(Failure)}
    plain = by_name(str, int, bool, type(None))(value) and value.keys() <= known.keys()
    return plain and isinstance(value.get("kind"), str) and isinstance(value.get("message"), str)


def files(value: Any) -> bool:
    """Files as a column holds them."""
    return text(value) and all(
        isinstance(part, AttachmentRef) for part in PARTS.validate_json(value)
    )


def optional(fits: Callable[[Any], object]) -> Column:
    """What may be missing too."""
    return Column(fits, optional=True)


def id_of(table: str, *, optional: bool = False, bound: bool = True) -> Column:
    """The id of a row of a table, or of any where none is named."""
    return Column(like(ID), optional, table, bound)
