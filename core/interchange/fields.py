"""Reading JSON that may be anything: a field of the wanted type, or its empty value.

Objects are dicts and lists are lists, as ``json`` makes them: asking for anything more general
costs as much as the rest of an import.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from core.types import Json


def mapping(value: Json, *path: str) -> Mapping[str, Json]:
    """The object at a path of keys; empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def several(value: Json, key: str) -> list[Json]:
    """The list under a key; empty where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return list(found) if isinstance(found, list) else []


def objects(value: Json, key: str) -> list[Mapping[str, Json]]:
    """The objects in the list under a key; whatever else is in it is passed over."""
    return [one for one in several(value, key) if isinstance(one, dict)]


def words(value: Json, *keys: str) -> str:
    """The first text under one of these keys that is not empty; else nothing."""
    for key in keys:
        found = value.get(key) if isinstance(value, dict) else None
        if isinstance(found, str) and found:
            return found
    return ""


def name_of(value: Any) -> str:
    """An id or a name as text: numbers are taken, everything else is nothing."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def filled(objects: Iterable[Json], *names: str) -> int:
    """In how many of some objects there is something under one of these names."""
    return sum(any(mapping(one).get(name) for name in names) for one in objects)
