"""The library: prompts, conversations, system prompts and presets, each with its versions.

A version is never changed: saving, and going back to an older one, write a new one. What is
being written and not saved yet is the item's *draft*; it outlives the tab and the process.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import NameTaken, NotFound
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
from core.store.database import Database
from core.types import new_id, now, well_formed

_ENTRIES = (
    "SELECT p.id, p.kind, p.name, p.tags_json, p.created_at, p.updated_at, p.binned_at,"
    " v.body_json, v.number, v.note, d.body_json AS draft_json FROM prompts p"
    " LEFT JOIN prompt_versions v ON v.prompt_id = p.id AND v.number ="
    " (SELECT max(number) FROM prompt_versions WHERE prompt_id = p.id)"
    " LEFT JOIN prompt_drafts d ON d.prompt_id = p.id"
)
_VERSIONS = "SELECT id, number, body_json, note, created_at FROM prompt_versions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An item as it stands: ``body`` is the newest version's, ``number`` its number.

    Number 0 is an item that was never saved. ``draft`` is what is being written, if anything.
    """

    id: str
    kind: Kind
    name: str
    tags: tuple[str, ...]
    created_at: str
    updated_at: str
    binned_at: str | None
    body: Body
    number: int
    note: str
    draft: Body | None = None

    @property
    def shown(self) -> Body:
        """What an editor shows: the draft, or else the newest version."""
        return self.body if self.draft is None else self.draft


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What an import did: the ids written, new names by the wanted ones, and what was there."""

    ids: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    known: tuple[str, ...] = ()


class Library:
    """Items by id. Live items of one kind have different names, whatever their case."""

    def __init__(self, db: Database) -> None:
        self._db = db

    # --- looking ---

    def get(self, item_id: str) -> Entry:
        """The item, binned or not. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_ENTRIES} WHERE p.id = ?", [item_id]):
                return _entry(row)
        raise NotFound("That is not in the library any more.", hint="Choose something else.")

    def entries(self, *kinds: Kind, binned: bool = False) -> list[Entry]:
        """The items of these kinds, or of all, the latest changed first."""
        with self._db.read() as db:
            rows = db.query(
                f"{_ENTRIES} WHERE p.binned_at IS {'NOT ' if binned else ''}NULL"
                f" {'AND p.kind IN (SELECT value FROM json_each(?))' if kinds else ''}"
                " ORDER BY p.updated_at DESC, p.id DESC",
                [json.dumps(kinds)] if kinds else [],
            )
            return [_entry(row) for row in rows]

    def versions(self, item_id: str) -> list[Version]:
        """Every version, the newest first."""
        with self._db.read() as db:
            rows = db.query(f"{_VERSIONS} WHERE prompt_id = ? ORDER BY number DESC", [item_id])
            return [_version(row) for row in rows]

    def items(self, ids: Iterable[str]) -> list[Item]:
        """Items with all their versions, for a file. One never saved has its draft as the only
        version."""
        found = []
        for item_id in ids:
            entry = self.get(item_id)
            versions = tuple(reversed(self.versions(item_id))) or (Version(body=entry.shown),)
            found.append(Item(kind=entry.kind, name=entry.name, tags=entry.tags, versions=versions))
        return found

    # --- writing ---

    def begin(self, kind: Kind, name: str, body: Body) -> Entry:
        """A new item with a draft and no version yet; a name in use gets a number."""
        item_id = new_id()
        with self._db.write():
            self._insert(item_id, kind, self._free_name(kind, name), ())
            self.keep_draft(item_id, body)
            return self.get(item_id)

    def create(
        self, kind: Kind, name: str, body: Body, *, tags: Iterable[str] = (), note: str = ""
    ) -> Entry:
        """A new item with its first version. Raises ``NameTaken``, or ``UserError`` for a body
        that could not be used."""
        item_id, name, clean = new_id(), clean_name(name), cleaned(kind, body)
        check(kind, clean)
        with self._db.write():
            self._refuse_taken(kind, name)
            self._insert(item_id, kind, name, clean_tags(tags))
            self._add_version(item_id, Version(body=clean, note=note))
            return self.get(item_id)

    def save(self, item_id: str, body: Body, *, note: str = "") -> Entry:
        """Write a new version and drop the draft; nothing new is written if nothing changed.

        Raises ``UserError`` for a body that could not be used.
        """
        with self._db.write() as db:
            entry = self.get(item_id)
            clean = cleaned(entry.kind, body)
            check(entry.kind, clean)
            if entry.number == 0 or clean != entry.body:
                self._add_version(item_id, Version(body=clean, note=note))
            db.conn.execute("DELETE FROM prompt_drafts WHERE prompt_id = ?", [item_id])
            return self.get(item_id)

    def restore_version(self, item_id: str, version_id: str) -> Entry:
        """Go back: a new version that says what an older one said.

        A draft that differs is kept as a version of its own before. Raises :class:`NotFound`.
        """
        with self._db.write() as db:
            entry = self.get(item_id)
            older = next((v for v in self.versions(item_id) if v.id == version_id), None)
            if older is None:
                raise NotFound("There is no such version.", hint="Choose another one.")
            if entry.draft is not None and entry.draft != entry.body:
                kept = cleaned(entry.kind, entry.draft)
                note = f"Unsaved edits, kept before going back to version {older.number}"
                self._add_version(item_id, Version(body=kept, note=note))
            db.conn.execute("DELETE FROM prompt_drafts WHERE prompt_id = ?", [item_id])
            note = f"As in version {older.number}"
            self._add_version(item_id, Version(body=older.body, note=note))
            return self.get(item_id)

    def keep_draft(self, item_id: str, body: Body | None) -> None:
        """Keep what is being written; ``None``, or what is saved already, drops it."""
        with self._db.write() as db:
            entry = self.get(item_id)
            if body is None or (entry.number and cleaned(entry.kind, body) == entry.body):
                db.conn.execute("DELETE FROM prompt_drafts WHERE prompt_id = ?", [item_id])
                return
            db.conn.execute(
                "INSERT OR REPLACE INTO prompt_drafts (prompt_id, body_json, updated_at)"
                " VALUES (?,?,?)",
                [item_id, _body_json(body), now()],
            )

    def rename(self, item_id: str, name: str) -> None:
        """Give it another name. Raises :class:`NameTaken`."""
        plain = clean_name(name)
        with self._db.write() as db:
            entry = self.get(item_id)
            self._refuse_taken(entry.kind, plain, but=item_id)
            db.conn.execute("UPDATE prompts SET name = ? WHERE id = ?", [plain, item_id])

    def tag(self, item_id: str, tags: Iterable[str]) -> None:
        """Set its tags."""
        plain = clean_tags(tags)
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE prompts SET tags_json = ? WHERE id = ?",
                [json.dumps(plain, ensure_ascii=False), item_id],
            )

    def add(self, items: Sequence[Item]) -> Added:
        """Write the items of a file, all or none.

        A name in use gets a number; an item that is there in the same words is passed over.
        """
        ids, renamed, known = [], [], []
        with self._db.write():
            there = {(e.kind, e.name.casefold(), _body_json(e.body)) for e in self.entries()}
            for item in items:
                if (item.kind, item.name.casefold(), _body_json(item.body)) in there:
                    known.append(item.name)
                    continue
                item_id, name = new_id(), self._free_name(item.kind, item.name)
                self._insert(item_id, item.kind, name, item.tags)
                for version in item.versions:
                    self._add_version(item_id, version)
                ids.append(item_id)
                if name != item.name:
                    renamed.append((item.name, name))
        return Added(ids=tuple(ids), renamed=tuple(renamed), known=tuple(known))

    # --- the bin ---

    def bin(self, item_id: str) -> None:
        """Put the item into the bin, with its versions and its draft."""
        self._set_binned(item_id, now())

    def restore(self, item_id: str) -> str:
        """Take it out of the bin; the name it has now, with a number if it was in use."""
        with self._db.write() as db:
            entry = self.get(item_id)
            if entry.binned_at is None:
                return entry.name
            name = self._free_name(entry.kind, entry.name)
            db.conn.execute("UPDATE prompts SET name = ? WHERE id = ?", [name, item_id])
            self._set_binned(item_id, None)
            return name

    def delete_for_good(self, item_id: str) -> None:
        """Delete it with every version. There is no way back."""
        with self._db.write() as db:
            db.conn.execute("DELETE FROM prompts WHERE id = ?", [item_id])

    # --- inside ---

    def _set_binned(self, item_id: str, at: str | None) -> None:
        with self._db.write() as db:
            db.conn.execute("UPDATE prompts SET binned_at = ? WHERE id = ?", [at, item_id])

    def _insert(self, item_id: str, kind: Kind, name: str, tags: tuple[str, ...]) -> None:
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO prompts (id, kind, name, tags_json, created_at, updated_at)"
                " VALUES (?,?,?,?,?,?)",
                [item_id, kind, name, json.dumps(tags, ensure_ascii=False), now(), now()],
            )

    def _add_version(self, item_id: str, version: Version) -> None:
        with self._db.write() as db:
            (last,) = db.conn.execute(
                "SELECT coalesce(max(number), 0) FROM prompt_versions WHERE prompt_id = ?",
                [item_id],
            ).fetchone()
            note = well_formed(" ".join(version.note.split()))[:200]
            db.conn.execute(
                "INSERT INTO prompt_versions (id, prompt_id, number, body_json, note, created_at)"
                " VALUES (?,?,?,?,?,?)",
                [
                    new_id(),
                    item_id,
                    last + 1,
                    _body_json(version.body),
                    note,
                    version.created_at or now(),
                ],
            )
            db.conn.execute("UPDATE prompts SET updated_at = ? WHERE id = ?", [now(), item_id])

    def _taken(self, kind: Kind) -> dict[str, str]:
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT name, id FROM prompts WHERE kind = ? AND binned_at IS NULL", [kind]
            )
            return {name.casefold(): item_id for name, item_id in rows.fetchall()}

    def _refuse_taken(self, kind: Kind, name: str, but: str = "") -> None:
        if self._taken(kind).get(name.casefold(), but) != but:
            raise NameTaken(f"The library already has {name!r}.")

    def _free_name(self, kind: Kind, wanted: str) -> str:
        taken, name, number = self._taken(kind), clean_name(wanted), 1
        while name.casefold() in taken:
            number += 1
            ending = f" ({number})"
            name = clean_name(wanted)[: MOST_OF_A_NAME - len(ending)] + ending
        return name


def _body_json(body: Body) -> str:
    return well_formed(json.dumps(BODY.dump_python(body), ensure_ascii=False, default=list))


def _entry(row: dict[str, Any]) -> Entry:
    body, draft = row.pop("body_json"), row.pop("draft_json")
    row |= {"number": row["number"] or 0, "note": row["note"] or ""}
    return Entry(
        **row | {"tags": tuple(json.loads(row.pop("tags_json")))},
        body=BODY.validate_json(body) if body else Body(),
        draft=BODY.validate_json(draft) if draft else None,
    )


def _version(row: dict[str, Any]) -> Version:
    return Version(body=BODY.validate_json(row.pop("body_json")), **row)
