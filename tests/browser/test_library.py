"""The library in a real browser: write, fill in, play a script, compare, carry away, apply."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from core import Config
from core.library import Body, Variable
from tests.browser.desk import ECHO, Desk, conversation, lineage
from tests.browser.server import Server

SLOW = "/delay 300\none two three four five six"


@pytest.fixture
def talk(desk: Desk) -> Desk:
    """An empty session of the test's own."""
    return desk.open(conversation(desk.server.store, config=ECHO))


def library(desk: Desk, item: str = "") -> None:
    """Go to the library, or to one item of it."""
    desk.page.goto(f"{desk.server.url}library" + (f"?item={item}" if item else ""))
    expect(
        desk.page.get_by_role("button", name="Library")
        .or_(desk.page.get_by_role("heading", name="Library"))
        .first
    ).to_be_visible()


def dialog(desk: Desk, name: str) -> Locator:
    """The dialog, with an item chosen."""
    desk.page.get_by_role("main").get_by_role("button", name="Library", exact=True).click()
    shown = desk.page.get_by_role("dialog")
    shown.get_by_role("button", name=re.compile(f"^{re.escape(name)}")).click()
    expect(shown.get_by_role("button", name="All of the library")).to_be_visible()
    return shown


def texts(desk: Desk, session_id: str) -> list[str]:
    (branch,) = desk.server.store.branches.of(session_id)
    return [waiting["text"] for waiting in desk.server.store.branches.queued(branch.id)]


# --- writing and filling in ---------------------------------------------------------------------


def test_a_prompt_is_written_survives_a_reload_and_goes_into_the_composer(talk: Desk) -> None:
    session = talk.place()["session"]
    page = talk.page
    library(talk)
    page.get_by_role("button", name="New", exact=True).last.click()
    page.get_by_role("button", name="Prompt", exact=True).click()
    words = page.get_by_role("textbox", name="The words")
    words.fill("Say {{what}}, {{count}} times")
    words.blur()
    expect(page.get_by_role("combobox", name="{{what}} is")).to_be_visible()
    page.reload()
    expect(page.get_by_role("textbox", name="The words")).to_have_value(
        "Say {{what}}, {{count}} times"
    )
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("Say it again")
    name.press("Enter")
    page.get_by_role("combobox", name="{{count}} is").click()
    page.get_by_role("option", name="a number").click()
    page.get_by_role("textbox", name="Note for this version").fill("first")
    page.get_by_role("button", name="Save version 1").click()
    expect(page.get_by_text("Saved as version 1.")).to_be_visible()
    page.goto(f"{talk.server.url}?session={session}")
    shown = dialog(talk, "Say it again")
    shown.get_by_role("button", name="Insert into the composer").click()
    expect(shown.get_by_role("alert")).to_contain_text("What, Count")
    shown.get_by_role("textbox", name="What").fill("hello <b>you</b>")
    shown.get_by_role("spinbutton", name="Count").fill("3")
    shown.get_by_role("button", name="Insert into the composer").click()
    expect(talk.box).to_have_value("Say hello <b>you</b>, 3 times")
    expect(page.get_by_role("dialog")).to_have_count(0)
    talk.box.press("Enter")
    expect(talk.words(talk.you(1))).to_have_text("Say hello <b>you</b>, 3 times")


# --- a script -----------------------------------------------------------------------------------


@pytest.fixture
def script(talk: Desk) -> str:
    """A conversation of three turns in the library; its name."""
    name = f"Script {talk.place()['session'][-6:]}"
    turns = (f"{SLOW} {{{{topic}}}}", "/count\nsecond {{topic}}", "/count\nthird")
    variables = (Variable(name="topic", ask="What is it about?"),)
    talk.server.store.library.create("conversation", name, Body(turns=turns, variables=variables))
    return name


def test_a_script_is_paused_reworded_resumed_and_stopped(talk: Desk, script: str) -> None:
    session, page = talk.place()["session"], talk.page
    shown = dialog(talk, script)
    shown.get_by_role("textbox", name="What is it about?").fill("tea")
    shown.get_by_role("button", name="Run").click()
    queue = page.get_by_role("group", name="Queue", exact=True)
    expect(queue).to_contain_text("2 waiting")
    expect(talk.queued().first).to_contain_text("second tea")
    queue.get_by_role("button", name="Pause").click()
    expect(queue).to_contain_text("2 held")
    expect(talk.words(talk.answer(1))).to_contain_text("six tea")
    assert [text.split("\n")[-1] for text in texts(talk, session)] == ["second tea", "third"]

    talk.queued().nth(1).get_by_role("button", name="Reword this message").click()
    area = page.get_by_role("textbox", name="Reword this message")
    expect(area).to_be_focused()
    area.fill("/count\nlast")
    area.press("Control+Enter")
    expect(talk.queued().nth(1)).to_contain_text("last")
    talk.queued().nth(1).get_by_role("button", name="Send this one earlier").click()
    expect(talk.queued().first).to_contain_text("last")
    talk.queued().first.get_by_role("button", name="Send this one later").click()
    expect(talk.queued().first).to_contain_text("second tea")

    queue.get_by_role("button", name="Take all back").click()
    taken = page.get_by_role("group", name="Taken back")
    expect(taken).to_contain_text("2 messages taken back")
    expect(talk.queued()).to_have_count(0)
    page.reload()
    taken.get_by_role("button", name="Put back").click()
    queue.get_by_role("button", name="Resume").click()
    expect(talk.words(talk.answer(3))).to_contain_text("context 5 messages")
    expect(talk.words(talk.answer(2))).to_contain_text("context 3 messages")
    expect(queue).to_have_count(0)
    found = lineage(talk.server.store, talk.server.store.sessions.get(session))
    assert [text for _, text in found][4] == "/count\nlast"
    assert [role for role, _ in found] == ["user", "assistant"] * 3


def test_what_is_taken_back_goes_into_the_composer(talk: Desk, script: str) -> None:
    shown = dialog(talk, script)
    shown.get_by_role("textbox", name="What is it about?").fill("tea")
    shown.get_by_role("button", name="Queue, paused").click()
    expect(talk.queued()).to_have_count(3)
    talk.page.get_by_role("button", name="Take all back").click()
    talk.page.get_by_role("button", name="Into the composer").click()
    expect(talk.box).to_have_value(re.compile("six tea\n\n/count\nsecond tea\n\n/count\nthird$"))
    assert texts(talk, talk.place()["session"]) == []


def test_words_being_changed_survive_answers_and_the_sending_of_the_message(talk: Desk) -> None:
    session, page = talk.place()["session"], talk.page
    (branch,) = talk.server.store.branches.of(session)
    for words in ("/delay 500\n" + "word " * 12, "later"):
        talk.server.store.branches.enqueue(branch.id, words, "held")
    page.reload()
    talk.queued().nth(1).get_by_role("button", name="Reword this message").click()
    area = page.get_by_role("textbox", name="Reword this message")
    area.fill("better")
    page.get_by_role("button", name="Resume").click()
    area.focus()
    expect(talk.you(1)).to_be_visible()  # the first one has gone out, the page is drawn anew
    expect(area).to_have_value("better")
    expect(area).to_be_focused()
    # The message itself goes out in its old words: the new ones must not be lost.
    expect(talk.box).to_have_value("better", timeout=20_000)
    expect(talk.words(talk.answer(2))).to_have_text("later")


def test_an_edit_box_of_the_queue_is_open_again_after_a_reload(talk: Desk, script: str) -> None:
    shown = dialog(talk, script)
    shown.get_by_role("textbox", name="What is it about?").fill("tea")
    shown.get_by_role("button", name="Queue, paused").click()
    talk.queued().nth(2).get_by_role("button", name="Reword this message").click()
    area = talk.page.get_by_role("textbox", name="Reword this message")
    area.fill("half a thought")
    talk.page.reload()
    expect(area).to_have_value("half a thought")
    talk.queued().nth(2).get_by_role("button", name="Save").click()
    expect(area).to_have_count(0)
    assert texts(talk, talk.place()["session"])[2] == "half a thought"


def test_a_template_starts_a_session_from_the_first_screen(own_desk: Desk) -> None:
    desk = own_desk.open()
    desk.server.store.sessions.create(config=ECHO)  # its config is the next one's
    desk.page.reload()
    desk.page.get_by_role("button", name="Start from the library").click()
    shown = desk.page.get_by_role("dialog")
    shown.get_by_role("button", name=re.compile("^API caching")).click()
    shown.get_by_role("button", name="Run").click()
    expect(desk.words(desk.answer(3))).to_contain_text("what can go wrong")
    expect(desk.page.get_by_role("textbox", name="Title")).to_have_value(
        "API caching in three turns"
    )


# --- versions -----------------------------------------------------------------------------------


def test_versions_are_compared_and_restored(desk: Desk) -> None:
    store = desk.server.store
    made = store.library.create("prompt", "Compared", Body(turns=("a <i>big</i> dog",)))
    store.library.save(made.id, Body(turns=("a small dog",)), note="smaller")
    library(desk, made.id)
    desk.page.get_by_role("tab", name="Versions (2)").click()
    expect(desk.page.get_by_text("Version 2 · smaller")).to_be_visible()
    expect(desk.page.locator("pre ins")).to_contain_text("small")
    expect(desk.page.locator("pre del").first).to_contain_text("<i>")
    desk.page.get_by_role("button", name="Restore").nth(1).click()
    expect(desk.page.get_by_role("tab", name="Versions (3)")).to_be_visible()
    desk.page.get_by_role("tab", name="Edit").click()
    expect(desk.page.get_by_role("textbox", name="The words")).to_have_value("a <i>big</i> dog")
    assert len(store.library.versions(made.id)) == 3


# --- files --------------------------------------------------------------------------------------


def test_everything_goes_out_and_comes_in_again(own_desk: Desk, tmp_path: Path) -> None:
    desk, store = own_desk.open(), own_desk.server.store
    made = store.library.create("prompt", "Kept", Body(turns=("one {{x}}",)), tags=["t"])
    store.library.save(made.id, Body(turns=("two {{x}}",)))
    store.library.create("preset", "P", Body(config=ECHO))
    library(desk)
    with desk.page.expect_download() as download:
        desk.page.get_by_role("button", name="Export all").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert [item["name"] for item in json.loads(file.read_text())["items"]] == ["P", "Kept"]
    for entry in store.library.entries():
        store.library.delete_for_good(entry.id)
    desk.page.get_by_role("button", name="Import").click()
    chooser = desk.page.locator("input[type=file]").first
    chooser.set_input_files(file)
    expect(desk.page.get_by_text("2 items imported", exact=False)).to_be_visible()
    (kept,) = store.library.entries("prompt")
    assert (kept.number, kept.tags, kept.body.turns) == (2, ("t",), ("two {{x}}",))
    bad = tmp_path / "bad.json"
    bad.write_text('{"format": "turntree-library", "version": 1, "items": [{}]}')
    desk.page.reload()
    desk.page.get_by_role("button", name="Import").click()
    desk.page.locator("input[type=file]").first.set_input_files(bad)
    expect(desk.page.get_by_role("alert")).to_contain_text("bad.json, item 1")
    assert len(store.library.entries()) == 2


# --- presets ------------------------------------------------------------------------------------


def test_a_preset_is_kept_applied_and_taken_back(talk: Desk) -> None:
    store, page, session = talk.server.store, talk.page, talk.place()["session"]
    preset = f"Base {session[-6:]}"
    page.get_by_role("button", name="Presets").click()
    page.get_by_role("textbox", name="Name").fill(preset)
    page.get_by_role("button", name="Keep these settings").click()
    expect(page.get_by_text(f"'{preset}' is in the library.")).to_be_visible()
    slow = Config(provider="echo", model="echo-slow", system="Mine")
    store.sessions.choose(session, slow)
    page.reload()
    page.get_by_role("button", name="Presets").click()
    page.get_by_role("button", name=re.compile(f"^{preset}")).click()
    expect(page.get_by_role("combobox", name="Model")).to_have_value("Echo")
    chosen = store.sessions.get(session).config
    assert (chosen.model, chosen.system) == ("echo-1", "Mine")
    page.get_by_role("button", name="Back to what was set before").click()
    expect(page.get_by_role("combobox", name="Model")).to_have_value("Echo, slowly")
    assert store.sessions.get(session).config == slow


def test_a_system_prompt_asks_first_and_is_used(talk: Desk) -> None:
    page, session = talk.page, talk.place()["session"]
    page.get_by_role("button", name="System prompts").click()
    page.get_by_role("button", name=re.compile("^Plain-spoken reviewer")).click()
    shown = page.get_by_role("dialog")
    shown.get_by_role("textbox", name="What does it review?").fill("release notes")
    shown.get_by_role("button", name="Use as system prompt").click()
    expect(page.get_by_role("textbox", name="System prompt")).to_have_value(
        re.compile("^You review release notes")
    )
    config = talk.server.store.sessions.get(session).config
    assert config.system.startswith("You review release notes for its author.")


# --- a phone --------------------------------------------------------------------------------------


def test_it_fits_a_phone(
    new_context: Callable[..., BrowserContext], server: Server, talk: Desk, script: str
) -> None:
    context = new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone = Desk(context.new_page(), server)
    made = server.store.library.create("prompt", "w" * 100, Body(turns=("{{x}} " + "w" * 300,)))
    server.store.library.save(made.id, Body(turns=("v" * 300,)))

    def fits() -> None:
        wide = phone.page.evaluate("document.scrollingElement.scrollWidth")
        assert wide <= 390, wide

    library(phone)
    fits()
    library(phone, made.id)
    expect(phone.page.get_by_role("textbox", name="The words")).to_be_visible()
    fits()
    phone.page.get_by_role("tab", name="Versions (2)").click()
    expect(phone.page.locator("pre ins")).to_be_visible()
    fits()
    phone.open(server.store.sessions.get(talk.place()["session"]))
    shown = dialog(phone, script)
    shown.get_by_role("textbox", name="What is it about?").fill("tea")
    shown.get_by_role("button", name="Queue, paused").tap()
    expect(phone.queued()).to_have_count(3)
    fits()
    for button in phone.queued().get_by_role("button").all():
        box = button.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
