"""The library in the database: versions that never change, drafts, the bin, imports."""

import sqlite3
from pathlib import Path

import pytest

from core import Config, Store
from core.errors import NameTaken, NotFound, UserError
from core.library import Body, Item, Variable, Version
from core.library_templates import entries, find, listed
from core.types import now
from tests.unit.house import count, execute

TEXT = Body(turns=("Tell me of {{x}}",))
OTHER = Body(turns=("Something else",))


def bodies(store: Store, item_id: str) -> list[str]:
    return [version.body.turns[0] for version in store.library.versions(item_id)]


def test_saving_makes_versions_and_the_same_words_make_none(store: Store) -> None:
    made = store.library.create("prompt", " A  b ", TEXT, tags=["T"], note="first")
    assert (made.name, made.tags, made.number, made.note) == ("A b", ("t",), 1, "first")
    assert made.body.variables == (Variable(name="x"),)
    assert store.library.save(made.id, TEXT).number == 1
    saved = store.library.save(made.id, OTHER, note="better")
    assert (saved.number, saved.note, saved.body.turns) == (2, "better", OTHER.turns)
    assert bodies(store, made.id) == ["Something else", "Tell me of {{x}}"]
    assert [v.number for v in store.library.versions(made.id)] == [2, 1]


def test_a_version_is_never_changed(store: Store) -> None:
    made = store.library.create("prompt", "A", TEXT)
    with pytest.raises(sqlite3.IntegrityError, match="immutable"):
        execute(store, "UPDATE prompt_versions SET note = 'x'")
    assert store.library.get(made.id).note == ""


def test_going_back_is_a_new_version_and_keeps_unsaved_edits(store: Store) -> None:
    made = store.library.create("prompt", "A", TEXT)
    store.library.save(made.id, OTHER)
    store.library.keep_draft(made.id, Body(turns=("half",)))
    first = store.library.versions(made.id)[-1]
    back = store.library.restore_version(made.id, first.id)
    assert (back.number, back.body, back.draft) == (4, made.body, None)
    assert bodies(store, made.id)[:2] == ["Tell me of {{x}}", "half"]
    assert "Unsaved edits" in store.library.versions(made.id)[1].note
    with pytest.raises(NotFound):
        store.library.restore_version(made.id, "nobody")


def test_a_draft_outlives_the_process_and_goes_when_it_is_saved(path: Path) -> None:
    with Store.open(path) as store:
        item_id = store.library.begin("prompt", "New prompt", Body(turns=("",))).id
        store.library.keep_draft(item_id, Body(turns=("half \ud83d",)))
    with Store.open(path) as store:
        entry = store.library.get(item_id)
        assert (entry.number, entry.shown.turns) == (0, ("half \ufffd",))
        assert [e.id for e in store.library.entries()] == [item_id]
        assert store.library.items([item_id])[0].body.turns == ("half \ufffd",)
        saved = store.library.save(item_id, entry.shown)
        assert (saved.number, saved.draft) == (1, None)
        store.library.keep_draft(item_id, OTHER)
        store.library.keep_draft(item_id, saved.body)
        assert store.library.get(item_id).draft is None, "what is saved needs no draft"


def test_what_cannot_be_used_is_not_saved_and_its_draft_stays(store: Store) -> None:
    entry = store.library.begin("conversation", "C", Body(turns=("a", "")))
    with pytest.raises(UserError, match="Turn 2"):
        store.library.save(entry.id, entry.shown)
    assert store.library.get(entry.id).draft == Body(turns=("a", ""))
    assert store.library.versions(entry.id) == []


def test_a_name_is_taken_within_its_kind_only(store: Store) -> None:
    made = store.library.create("prompt", "Name", TEXT)
    with pytest.raises(NameTaken):
        store.library.create("prompt", "NAME", TEXT)
    other = store.library.create("system", "Name", TEXT)
    assert store.library.begin("prompt", "name", TEXT).name == "name (2)"
    with pytest.raises(NameTaken):
        store.library.rename(store.library.create("prompt", "B", TEXT).id, "name")
    store.library.rename(made.id, "NAME")
    assert store.library.get(made.id).name == "NAME"
    assert {e.id for e in store.library.entries("prompt")} & {other.id} == set()


def test_the_bin_gives_back_everything(store: Store) -> None:
    made = store.library.create("prompt", "A", TEXT)
    store.library.keep_draft(made.id, OTHER)
    store.library.bin(made.id)
    assert store.library.entries() == []
    assert [e.id for e in store.library.entries(binned=True)] == [made.id]
    store.library.create("prompt", "a", TEXT)
    assert store.library.restore(made.id) == "A (2)"
    assert store.library.restore(made.id) == "A (2)", "it was out already"
    assert store.library.get(made.id).draft == OTHER
    store.library.delete_for_good(made.id)
    with pytest.raises(NotFound):
        store.library.get(made.id)
    assert count(store, "prompt_versions") == 1
    assert count(store, "prompt_drafts") == 0


def item(name: str, *texts: str, kind: str = "prompt") -> Item:
    versions = tuple(Version(body=Body(turns=(text,)), created_at=now()) for text in texts)
    return Item(kind=kind, name=name, tags=("t",), versions=versions)  # type: ignore[arg-type]


def test_an_import_brings_versions_renames_and_passes_over_what_is_there(store: Store) -> None:
    store.library.create("prompt", "A", Body(turns=("mine",)))
    store.library.create("prompt", "B", Body(turns=("same",)))
    added = store.library.add([item("a", "1", "2"), item("a", "3"), item("b", "old", "same")])
    assert added.renamed == (("a", "a (2)"), ("a", "a (3)"))
    assert added.known == ("b",)
    assert bodies(store, added.ids[0]) == ["2", "1"]
    assert store.library.get(added.ids[0]).tags == ("t",)
    assert store.library.add(store.library.items(added.ids)).known == ("a (2)", "a (3)")


def test_an_import_that_fails_in_the_middle_writes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = store.library._insert

    def fail(item_id: str, kind: str, name: str, tags: tuple[str, ...]) -> None:
        if name == "second":
            raise RuntimeError
        insert(item_id, kind, name, tags)  # type: ignore[arg-type]

    monkeypatch.setattr(store.library, "_insert", fail)
    with pytest.raises(RuntimeError):
        store.library.add([item("first", "1"), item("second", "2")])
    assert count(store, "prompts") == count(store, "prompt_versions") == 0


def test_a_preset_is_a_whole_config(store: Store) -> None:
    config = Config(provider="echo", model="echo-1", system="S", sampling={"t": [1, "a"]})
    made = store.library.create("preset", "P", Body(config=config))
    assert store.library.get(made.id).body.config == config


def test_templates_are_found_beside_ones_own_and_are_never_written(store: Store) -> None:
    made = store.library.create("prompt", "Mine", TEXT)
    found = listed(store, "prompt")
    assert found[0].id == made.id
    assert len(found) > 5
    assert find(store, entries()[0].id) == entries()[0]
    assert find(store, made.id) == made
    assert count(store, "prompts") == 1
    with pytest.raises(NotFound):
        find(store, "template:nobody")
