"""The library as files: a JSON file with everything, or plain text and Markdown with the words.

JSON, in UTF-8::

    {"format": "turntree-library", "version": 1,
     "items": [{"kind": "conversation", "name": "…", "tags": ["…"],
                "versions": [{"note": "…", "created_at": "…", "about": "…",
                              "turns": ["Tell me about {{topic}}", "…"],
                              "variables": [{"name": "topic", "kind": "text", "ask": "…",
                                             "default": "…", "choices": []}]}]}]}

``kind`` is prompt, conversation, system or preset; of these prompt and system have one turn,
a preset has ``"config": {"provider", "model", "system", "sampling", "policy", …}`` instead.
A variable's kind is text, long, choice or number. Versions come the oldest first, and the last
one counts. Fields that are not known are passed over.

A ``.md`` or ``.txt`` file is a prompt with the file's name. One that has the headings
``## Turn 1``, ``## Turn 2``, … (perhaps under a ``# Name``) is a conversation.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.errors import BadFile, UserError
from core.library import (
    BODY,
    MOST_OF_A_NAME,
    Body,
    Item,
    Kind,
    Version,
    check,
    clean_name,
    clean_tags,
    cleaned,
)
from core.types import Json, well_formed

MOST_BYTES = 5_000_000
MOST_ITEMS, MOST_VERSIONS, MOST_DEPTH = 1_000, 200, 20
ENDINGS = ("json", "md", "txt")
_FORMAT, _NUMBER = "turntree-library", 1
_TURN = re.compile(r"^## Turn (\d+)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """An item as JSON has it, its versions not looked into yet."""

    kind: Kind
    name: str
    versions: tuple[dict[str, Any], ...]
    tags: tuple[str, ...] = ()


_WRITTEN: TypeAdapter[_Written] = TypeAdapter(_Written)


def to_json(items: Sequence[Item]) -> bytes:
    """The items with all their versions, indented so that people can read and compare it."""
    written = [
        {
            "kind": item.kind,
            "name": item.name,
            "tags": item.tags,
            "versions": [
                {"note": version.note, "created_at": version.created_at}
                | {name: value for name, value in asdict(version.body).items() if value}
                for version in item.versions
            ],
        }
        for item in items
    ]
    whole = {"format": _FORMAT, "version": _NUMBER, "items": written}
    return json.dumps(whole, ensure_ascii=False, indent=1).encode() + b"\n"


def to_markdown(item: Item) -> str:
    """The newest words; types, tags and older versions are only in JSON."""
    turns = item.body.turns
    if item.kind != "conversation":
        return turns[0] if turns else ""
    told = [f"## Turn {number}\n\n{turn.strip()}\n" for number, turn in enumerate(turns, 1)]
    return "\n".join([f"# {item.name}\n", *told])


def file_name(name: str, ending: str) -> str:
    """A file name that every system takes."""
    words = "-".join(re.findall(r"[^\W_]+", name.lower()))
    short = words.encode()[:120].decode(errors="ignore").strip("-")  # bytes: a disk counts those
    return f"{short or 'library'}.{ending}"


def read(name: str, content: bytes) -> tuple[Item, ...]:
    """What a file holds: every item of it or, with a ``BadFile`` that says why, none."""
    if len(content) > MOST_BYTES:
        raise BadFile(
            f"{name} has {len(content) / 1e6:.1f} MB.",
            hint=f"A library file may have {MOST_BYTES // 1_000_000} MB. Export it in parts.",
        )
    text = _decoded(name, content)
    if not text.strip():
        raise BadFile(f"{name} is empty.", hint="Choose another file.")
    path = PurePath(name)
    if path.suffix.lower() == ".json":
        return _items(name, _parsed(name, text))
    if path.suffix.lower() not in (".md", ".txt"):
        raise BadFile(f"{name} is neither .json nor .md nor .txt.", hint="Choose such a file.")
    try:
        return (_plain_item(path.stem, text),)
    except UserError as error:
        raise BadFile(f"{name}: {error.message}", hint=error.hint) from None


def _decoded(name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise BadFile(
            f"{name} is not text in UTF-8.", hint="Save it as UTF-8, then import it again."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


# --- Markdown and plain text -------------------------------------------------------------------


def _plain_item(stem: str, text: str) -> Item:
    name = " ".join(stem.split())[:MOST_OF_A_NAME] or "Prompt"
    turns: tuple[str, ...] = (text.strip("\n"),)
    kind: Kind = "prompt"
    marks = list(_TURN.finditer(text))
    counted = [int(mark[1]) for mark in marks] == list(range(1, len(marks) + 1))
    before = text[: marks[0].start()].strip() if marks else ""
    if marks and counted and re.fullmatch(r"(# [^\n]*)?", before):
        kind = "conversation"
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        turns = tuple(text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True))
        name = before.removeprefix("#").strip()[:MOST_OF_A_NAME] or name
    body = cleaned(kind, Body(turns=turns))
    check(kind, body)
    return Item(kind=kind, name=clean_name(name), versions=(Version(body=body),))


# --- JSON --------------------------------------------------------------------------------------


def _parsed(name: str, text: str) -> Json:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        return _mended(json.loads(text, parse_constant=refuse))
    except RecursionError:
        raise BadFile(f"{name} is nested too deeply.", hint="Choose another file.") from None
    except ValueError as error:
        raise BadFile(
            f"{name} is not JSON: {error}.", hint="Export it again, or mend it by hand."
        ) from None


def _mended(value: Json, depth: int = 0) -> Json:
    """The same without half characters. Raises ``RecursionError`` beyond ``MOST_DEPTH``."""
    if depth > MOST_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_mended(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {well_formed(k): _mended(one, depth + 1) for k, one in value.items()}
    return value


def _items(name: str, whole: Json) -> tuple[Item, ...]:
    if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
        raise BadFile(
            f"{name} is not a library of Turntree.",
            hint=f'Such a file says "format": "{_FORMAT}".',
        )
    if whole.get("version") != _NUMBER:
        raise BadFile(
            f"{name} has version {str(whole.get('version'))[:20]}; this Turntree reads {_NUMBER}.",
            hint="Update Turntree, or export it from an older one.",
        )
    items = whole.get("items")
    if not isinstance(items, list) or len(items) > MOST_ITEMS:
        raise BadFile(
            f"{name} has no list of up to {MOST_ITEMS:,} items.", hint="Export it in parts."
        )
    return tuple(_item(f"{name}, item {number}", item) for number, item in enumerate(items, 1))


def _item(where: str, given: Json) -> Item:
    try:
        written = _WRITTEN.validate_python(given)
        where += f" ({written.name[:40]!r})"
        versions = _versions(written)
        return Item(
            kind=written.kind,
            name=clean_name(written.name),
            tags=clean_tags(written.tags),
            versions=versions,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = " → ".join(str(step) for step in first["loc"])
        raise BadFile(
            f"{where}{f', {place}' if place else ''}: {first['msg']}.",
            hint="Nothing of the file was imported. Mend it by hand, or export it again.",
        ) from None
    except UserError as error:
        raise BadFile(
            f"{where}: {error.message}", hint="Nothing of the file was imported. Mend it by hand."
        ) from None


def _versions(written: _Written) -> tuple[Version, ...]:
    if not 1 <= len(written.versions) <= MOST_VERSIONS:
        raise UserError(f"It has {len(written.versions):,} versions; 1 to {MOST_VERSIONS} fit.")
    return tuple(_version(written.kind, version) for version in written.versions)


def _version(kind: Kind, given: dict[str, Any]) -> Version:
    body = cleaned(kind, BODY.validate_python(given))
    check(kind, body)
    note, at = given.get("note"), given.get("created_at")
    return Version(body=body, note=note[:200] if isinstance(note, str) else "", created_at=_at(at))


def _at(given: Json) -> str:
    """A time as it is kept; none for what is not one."""
    try:
        moment = datetime.fromisoformat(given).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
