"""The library's page, its dialog, and what it offers beside the settings."""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import Config, Session, Store
from core.library import Body, Variable
from core.library_templates import entries
from tests.app.conftest import ECHO, Open, conversation, memory, said, sound

SCRIPT = Body(
    turns=("About {{topic}}, {{tone}}", "More of {{topic}} in {{words}} words"),
    variables=(
        Variable(name="topic", ask="What is it about?"),
        Variable(name="tone", kind="choice", choices=("warm", "dry")),
        Variable(name="words", kind="number", default="50"),
    ),
)
DIALOG = "kept.library.use"


def press(test: AppTest, label: str, **more: Any) -> AppTest:
    found = [b for b in test.button if b.label == label]
    assert found, f"no {label!r} among {[b.label for b in test.button]}"
    return sound(found[more.get("at", 0)].click().run())


def field(test: AppTest, kind: str, label: str) -> Any:
    return next(one for one in getattr(test, kind) if one.label == label)


def page(app: Open, **at: str) -> AppTest:
    test = app()
    for name, value in at.items():
        test.query_params[name] = value
    return sound(test.switch_page("library.py").run())


def using(app: Open, item: str, session: Session | None = None) -> AppTest:
    """The playground with the dialog open on an item."""
    test = app(**({"session": session.id} if session else {}))
    memory(test)[DIALOG] = item
    return sound(test.run())


def texts(store: Store, session_id: str) -> list[str]:
    (branch,) = store.branches.of(session_id)
    return [waiting["text"] for waiting in store.branches.queued(branch.id)]


# --- the page ---------------------------------------------------------------------------------


def test_the_templates_are_there_before_anything_else(app: Open) -> None:
    test = page(app)
    told = said(test)
    assert all(entry.name in told.replace("\\", "") for entry in entries())
    assert "Nothing yet" in told


def test_the_way_there_is_in_the_sidebar(app: Open) -> None:
    assert "Library" in [link.label for link in app().get("page_link")]


def test_search_kind_and_tags_narrow_the_list(app: Open, store: Store) -> None:
    store.library.create("prompt", "Haiku of $5", Body(turns=("Write of {{sea}}",)), tags=["poem"])
    store.library.create("system", "Poet", Body(turns=("You rhyme",)))
    test = page(app)
    test.text_input(key="library.search").set_value("SEA").run()
    assert "Haiku of $5" in said(sound(test)).replace("\\", "")
    assert "Poet" not in said(test)
    test.text_input(key="library.search").set_value("nobody has this").run()
    assert "Nothing of yours has these words." in said(sound(test))


def test_a_new_prompt_is_written_saved_and_never_lost(app: Open, store: Store) -> None:
    test = press(page(app), "Prompt")
    (entry,) = store.library.entries()
    field(test, "text_area", "The words").set_value("Say {{what}} twice").run()
    sound(test)
    # Another tab, or this one loaded anew, shows the same unsaved words.
    again = page(app, item=entry.id)
    assert field(again, "text_area", "The words").value == "Say {{what}} twice"
    field(again, "text_input", "Name").set_value("Twice").run()
    field(again, "selectbox", "{{what}} is").set_value("long").run()
    field(again, "text_input", "Note for this version").set_value("first").run()
    press(again, "Save version 1")
    saved = store.library.get(entry.id)
    assert (saved.name, saved.number, saved.note, saved.draft) == ("Twice", 1, "first", None)
    assert saved.body.variables == (Variable(name="what", kind="long"),)


def test_what_cannot_be_saved_says_why_and_keeps_the_words(app: Open, store: Store) -> None:
    made = store.library.create("conversation", "C", Body(turns=("a", "b")))
    test = page(app, item=made.id)
    field(test, "text_area", "Turn 2").set_value(" ").run()
    press(sound(test), "Save version 2")
    assert any("Turn 2 is empty" in error.value for error in test.error)
    assert store.library.get(made.id).draft == Body(turns=("a", " "))


def test_turns_are_added_moved_and_removed(app: Open, store: Store) -> None:
    made = store.library.create("conversation", "C", Body(turns=("a", "b")))
    test = press(page(app, item=made.id), "Add a turn")
    field(test, "text_area", "Turn 3").set_value("c").run()
    press(sound(test), "Earlier :small[turn 3]")
    press(test, "Remove :small[turn 1]")
    assert store.library.get(made.id).shown.turns == ("c", "b")
    press(test, "Back to version 1")
    assert store.library.get(made.id).body.turns == ("a", "b")
    assert store.library.versions(made.id)[1].body.turns == ("c", "b"), "the edits are kept"


def test_versions_are_compared_and_restored(app: Open, store: Store) -> None:
    made = store.library.create("prompt", "P", Body(turns=("a <b>big</b> dog",)))
    store.library.save(made.id, Body(turns=("a small dog",)), note="smaller")
    test = page(app, item=made.id)
    shown = "".join(html.proto.body for html in test.get("html"))
    assert "<ins>" in shown and "<del>" in shown
    assert "<b>big" not in shown, "the words are escaped"
    press(test, "Restore", at=1)
    assert store.library.get(made.id).number == 3
    assert store.library.get(made.id).body.turns == ("a <b>big</b> dog",)


def test_a_template_is_read_only_and_copied_to_be_changed(app: Open, store: Store) -> None:
    test = page(app, item=entries()[0].id)
    assert not [area for area in test.text_area if area.label.startswith("Turn")]
    press(test, "Make a copy of your own")
    (mine,) = store.library.entries()
    assert (mine.body, mine.number) == (entries()[0].body, 1)


def test_the_bin_gives_it_back(app: Open, store: Store) -> None:
    made = store.library.create("prompt", "P", Body(turns=("a",)))
    test = press(page(app, item=made.id), "Bin")
    assert store.library.entries() == []
    press(test, "Restore")
    assert [entry.name for entry in store.library.entries()] == ["P"]


def test_what_is_gone_is_said_and_the_list_is_shown(app: Open) -> None:
    test = page(app, item="nobody")
    assert any("not in the library" in error.value for error in test.error)
    assert "Library" in said(test)


def test_import_says_what_came_and_what_did_not(app: Open, store: Store) -> None:
    store.library.create("prompt", "Mine", Body(turns=("x",)))
    whole = {
        "format": "turntree-library",
        "version": 1,
        "items": [
            {"kind": "prompt", "name": "mine", "versions": [{"turns": ["other"]}]},
            {"kind": "prompt", "name": "Mine", "versions": [{"turns": ["x"]}]},
        ],
    }
    test = page(app)
    (uploader,) = test.get("file_uploader")
    uploader.upload("lib.json", json.dumps(whole).encode(), "application/json")
    sound(test.run())
    assert {entry.name for entry in store.library.entries()} == {"Mine", "mine (2)"}
    (uploader,) = test.get("file_uploader")
    uploader.upload("bad.json", b"[[[", "application/json")
    sound(test.run())
    assert any("bad.json is not JSON" in error.value for error in test.error)
    assert len(store.library.entries()) == 2


# --- using ------------------------------------------------------------------------------------


def test_choosing_in_the_dialog(app: Open, store: Store) -> None:
    made = store.library.create("prompt", "Mine", Body(turns=("just this",)))
    test = press(app(session=conversation(store).id), "Library")
    assert any("Mine" in b.label for b in test.button)
    sound(test.button(key=f"library.use.{made.id}").click().run())
    press(test, "Insert into the composer")
    assert memory(test)["insert"].text == "just this"
    assert memory(test)[DIALOG] is None


def test_each_variable_has_a_field_of_its_type_and_what_is_missing_is_named(
    app: Open, store: Store
) -> None:
    made = store.library.create("conversation", "Script", SCRIPT)
    session = conversation(store)
    test = press(using(app, made.id, session), "Queue, paused")
    (error,) = [e.value for e in test.error]
    assert "What is it about?, Tone" in error
    assert texts(store, session.id) == []
    field(test, "text_input", "What is it about?").set_value("tea").run()
    field(test, "selectbox", "Tone").set_value("dry").run()
    assert field(test, "number_input", "Words").value == 50
    press(sound(test), "Queue, paused")
    assert texts(store, session.id) == ["About tea, dry", "More of tea in 50 words"]
    assert memory(test)[DIALOG] is None


def test_without_a_session_a_script_begins_one(app: Open, store: Store) -> None:
    made = store.library.create("conversation", "Script", Body(turns=("a", "b")))
    test = using(app, made.id)
    memory(test)["new_config"] = ECHO
    press(sound(test.run()), "Queue, paused")
    (row,) = store.sessions.recent()
    assert row["title"] == "Script"
    assert store.sessions.get(row["id"]).config == ECHO
    assert texts(store, row["id"]) == ["a", "b"]


def test_a_conversation_can_go_into_a_new_session_from_an_old_one(app: Open, store: Store) -> None:
    made = store.library.create("conversation", "Script", Body(turns=("a",)))
    session = conversation(store, "q", "r")
    test = using(app, made.id, session)
    field(test, "radio", "Where").set_value("A new session").run()
    press(sound(test), "Queue, paused")
    assert len(store.sessions.recent()) == 2
    assert texts(store, session.id) == []


def test_an_item_that_is_gone_is_said(app: Open, store: Store) -> None:
    test = using(app, "nobody", conversation(store))
    assert any("not in the library" in error.value for error in test.error)


# --- beside the settings ------------------------------------------------------------------------


def unfold(test: AppTest, scope: str, which: str) -> AppTest:
    test.session_state[f"{scope}.0.{which}.popover"] = True
    return sound(test.run())


@pytest.fixture
def other() -> Config:
    return Config(provider="echo", model="echo-slow", sampling={"temperature": 0.5})


def test_a_preset_is_applied_and_taken_back(app: Open, store: Store, other: Config) -> None:
    made = store.library.create("preset", "Slow", Body(config=other))
    session = conversation(store, config=Config(provider="echo", model="echo-1", system="Mine"))
    test = unfold(app(session=session.id), session.id, "presets")
    sound(test.button(key=f"{session.id}.0.take.{made.id}").click().run())
    chosen = store.sessions.get(session.id).config
    assert (chosen.model, chosen.system) == ("echo-slow", "Mine"), "a prompt of one's own stays"
    press(test, "Back to what was set before")
    assert store.sessions.get(session.id).config.model == "echo-1"


def test_a_preset_and_a_system_prompt_are_kept_from_the_settings(app: Open, store: Store) -> None:
    session = conversation(store, config=Config(provider="echo", model="echo-1", system="Be brief"))
    test = unfold(app(session=session.id), session.id, "presets")
    test.text_input(key=f"{session.id}.0.preset.name").set_value("Base")
    press(test, "Keep these settings")
    (preset,) = store.library.entries("preset")
    assert preset.body.config == session.config
    test = unfold(app(session=session.id), session.id, "systems")
    test.text_input(key=f"{session.id}.0.system.name").set_value("Brief")
    press(test, "Keep this system prompt")
    (system,) = store.library.entries("system")
    assert system.body.turns == ("Be brief",)


def test_keeping_under_a_name_in_use_makes_a_version(
    app: Open, store: Store, other: Config
) -> None:
    store.library.create("preset", "Base", Body(config=other))
    session = conversation(store)
    test = unfold(app(session=session.id), session.id, "presets")
    test.text_input(key=f"{session.id}.0.preset.name").set_value("base")
    press(test, "Keep these settings")
    (preset,) = store.library.entries("preset")
    assert (preset.number, preset.body.config) == (2, session.config)


def test_a_system_prompt_is_used_and_one_that_asks_opens_the_dialog(
    app: Open, store: Store
) -> None:
    plain = store.library.create("system", "Plain", Body(turns=("You say \\{{this}}",)))
    asks = store.library.create("system", "Asks", Body(turns=("You are {{who}}",)))
    session = conversation(store)
    test = unfold(app(session=session.id), session.id, "systems")
    sound(test.button(key=f"{session.id}.0.take.{plain.id}").click().run())
    assert store.sessions.get(session.id).config.system == "You say {{this}}"
    sound(test.button(key=f"{session.id}.0.take.{asks.id}").click().run())
    field(test, "text_input", "Who").set_value("a cook").run()
    press(sound(test), "Use as system prompt")
    assert store.sessions.get(session.id).config.system == "You are a cook"


def test_a_preset_is_edited_with_the_settings_themselves(app: Open, store: Store) -> None:
    made = store.library.create("preset", "Base", Body(config=ECHO))
    test = page(app, item=made.id)
    field(test, "text_area", "System prompt").set_value("New").run()
    press(sound(test), "Save version 2")
    config = store.library.get(made.id).body.config
    assert config is not None
    assert (config.model, config.system) == ("echo-1", "New")
