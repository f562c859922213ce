"""Reading JSON of which nothing is certain: fields may be missing or of another type."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from core.types import Json


def of(thing: Json, name: str) -> Json:
    """A field, None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else None


def several(thing: Json) -> list[Json]:
    """A list as it is; nothing where there is none."""
    return thing if isinstance(thing, list) else []


def count(value: Any) -> int | None:
    """A number of tokens, None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def words(value: Any) -> str:
    """Text as it is; empty for anything else."""
    return value if isinstance(value, str) else ""


def is_object(text: str) -> bool:
    """Whether the text is a JSON object."""
    with suppress(ValueError):
        return isinstance(json.loads(text), dict)
    return False


def object_text(arguments: str) -> str:
    """Arguments untouched when they are an object; servers parse them, so else wrapped."""
    if is_object(arguments):
        return arguments
    return json.dumps({"input": arguments} if arguments else {})
