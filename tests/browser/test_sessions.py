"""The first screen, settings, sessions and their bin, export."""

import json
import re
from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.sync_api import Locator, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from core import Config
from core.examples import examples
from tests.browser.desk import Desk, conversation

TALK = ("first question", "first answer", "second question", "**second** answer: $5 -> ü\n")


# --- the first screen ------------------------------------------------------------------------


def test_on_a_fresh_machine_the_first_prompt_is_answered_by_the_embedded_model(
    own_desk: Desk,
) -> None:
    own_desk.open()
    own_desk.send("Say hello in one short sentence.")
    answer = own_desk.answer(1)
    expect(answer).to_be_visible(timeout=150_000)
    expect(own_desk.words(answer)).to_have_text(re.compile(r"\w{2,}"))
    expect(answer).to_contain_text("SmolLM2")
    store = own_desk.server.store
    session = store.sessions.get(own_desk.place()["session"])
    assert session.config.provider == "local"
    assert session.title == "Say hello in one short sentence."


@pytest.mark.parametrize("name", examples())
def test_an_example_opens_with_one_click_and_has_all_that_one_should_look_at(
    desk: Desk, name: str
) -> None:
    example = examples()[name]
    desk.open()
    card = desk.page.locator(f".st-key-card-{name}")
    expect(card).to_contain_text(example["title"])
    card.get_by_role("button", name="Open").click()
    expect(desk.page.get_by_role("textbox", name="Title")).to_have_value(example["title"])
    expect(desk.facts()).to_contain_text(example["objective"])
    expect(desk.facts()).to_contain_text(example["done_when"])
    for branch in example["branches"]:
        expect(desk.branch(branch["name"])).to_be_visible()
        assert branch["note"]
    desk.page.get_by_text("Branch note").click()
    note = desk.page.get_by_role("textbox", name=re.compile("is about$"))
    notes = [branch["note"] for branch in example["branches"]]
    expect(note).to_have_value(re.compile("|".join(map(re.escape, notes))))


def test_one_can_go_on_in_an_example(desk: Desk) -> None:
    conversation(desk.server.store)  # the newest session decides who answers
    desk.open()
    desk.page.locator(".st-key-start").get_by_role("button", name="Open").first.click()
    expect(desk.feed.get_by_role("article").first).to_be_attached()
    desk.send("and now this")
    desk.page.get_by_role("button", name="Go on anyway").click()  # its planned turns are used
    expect(desk.words(desk.feed.get_by_role("article").last)).to_have_text("and now this")


# --- settings --------------------------------------------------------------------------------


def last_context(desk: Desk, turn: int) -> list[dict[str, str]]:
    desk.send("/context")
    expect(desk.answer(turn)).to_be_visible()
    tip = desk.server.store.branches.of(desk.place()["session"])[0].tip_id
    found: list[dict[str, str]] = json.loads(desk.server.store.nodes.lineage(tip)[-1].text)
    return found


def test_a_system_prompt_holds_from_the_next_run_on_and_earlier_runs_keep_theirs(
    desk: Desk,
) -> None:
    desk.open(conversation(desk.server.store))
    desk.ask("before", "before", 1)
    system = desk.page.get_by_role("textbox", name="System prompt")
    system.fill("Answer in rhyme.")
    system.press("Control+Enter")
    store, session = desk.server.store, desk.place()["session"]
    expect(desk.page.get_by_test_id("stStatusWidget")).to_have_count(0)
    assert last_context(desk, 2)[0] == {"role": "system", "text": "Answer in rhyme."}
    tip = store.branches.of(session)[0].tip_id
    answers = [node.id for node in store.nodes.lineage(tip) if node.role == "assistant"]
    runs = store.runs.of_nodes(answers)
    assert [runs[answer].config.system for answer in answers] == ["", "Answer in rhyme."]


def choose(desk: Desk, label: str, option: str) -> None:
    """Choose in one of the settings' menus."""
    wanted = desk.page.get_by_role("option", name=option, exact=True)
    for _ in range(3):  # a page that is drawn anew in this moment closes an open menu
        desk.page.get_by_role("combobox", name=label).click()
        with suppress(PlaywrightTimeout):
            wanted.click(timeout=5_000)
            return
    wanted.click()


def test_the_model_is_chosen_for_the_next_run(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    desk.ask("quickly", "quickly", 1)
    choose(desk, "Model", "Echo, slowly")
    desk.ask("slowly", "slowly", 2)
    article = desk.page.get_by_role("article")
    expect(article.filter(has_text="Echo ·")).to_have_count(1)
    expect(desk.page.get_by_role("article", name="Turn 2, answer by Echo, slowly")).to_be_visible()
    expect(
        desk.page.get_by_role("article", name="Turn 1, answer by Echo", exact=True)
    ).to_be_visible()


def knobs(desk: Desk) -> Locator:
    desk.page.get_by_text("Sampling", exact=True).click()
    return desk.page.get_by_role("spinbutton")


def test_only_the_knobs_that_the_model_has_are_shown(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    knobs(desk)
    expect(desk.page.get_by_role("spinbutton", name="Longest answer (words)")).to_be_visible()
    expect(desk.page.get_by_label("Temperature")).to_have_count(0)
    choose(desk, "Provider", "Embedded model")
    expect(desk.page.get_by_label("Temperature").first).to_be_attached()
    expect(desk.page.get_by_label("Longest answer (words)")).to_have_count(0)


def test_a_knob_is_used_by_the_next_run(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    knobs(desk)
    box = desk.page.get_by_role("spinbutton", name="Longest answer (words)")
    box.fill("2")
    box.press("Enter")
    expect(desk.page.get_by_test_id("stStatusWidget")).to_have_count(0)
    desk.send("one two three")
    expect(desk.words(desk.answer(1))).to_have_text("one two")
    expect(desk.answer(1)).to_contain_text("hit the length limit")


def test_the_provider_is_chosen_through_the_interface_on_the_first_screen(own_desk: Desk) -> None:
    own_desk.open()
    choose(own_desk, "Provider", "Echo (scripted)")
    expect(own_desk.page.get_by_role("combobox", name="Model")).to_have_value("Echo")
    own_desk.ask("by echo", "by echo", 1)


# --- the head --------------------------------------------------------------------------------


def test_objective_and_definition_of_done_are_written_and_sent(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    desk.page.get_by_role("button", name="Goal").click()
    desk.page.get_by_role("textbox", name="Objective").fill("A calm plan")
    desk.page.get_by_role("textbox", name="Done when").fill("It fits one page")
    desk.page.get_by_role("spinbutton", name="Turns planned").fill("3")
    desk.page.get_by_role("button", name="Save").click()
    expect(desk.facts()).to_contain_text("A calm plan")
    expect(desk.facts()).to_contain_text("It fits one page")
    desk.page.keyboard.press("Escape")
    sent = last_context(desk, 1)[0]["text"]
    assert "A calm plan" in sent
    assert "It fits one page" in sent
    expect(desk.facts()).to_contain_text("turn 1 of 3")


def test_a_title_comes_from_the_first_line_and_can_be_changed(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    desk.ask("A title of its own", "A title of its own", 1)
    title = desk.page.get_by_role("textbox", name="Title")
    expect(title).to_have_value("A title of its own")
    title.fill("Renamed by hand")
    title.press("Enter")
    expect(desk.sidebar.get_by_role("button", name="Renamed by hand")).to_be_visible()
    desk.page.reload()
    expect(title).to_have_value("Renamed by hand")


# --- sessions --------------------------------------------------------------------------------


def listed(desk: Desk, title: str, button: str) -> Locator:
    """A button in the row of a session on the page of all sessions."""
    row = desk.page.get_by_test_id("stHorizontalBlock").filter(has_text=title)
    return row.get_by_role("button", name=button, exact=True)


def test_a_session_goes_to_the_bin_comes_back_and_is_deleted_for_good(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store, *TALK, title="A session to throw away")
    desk.open(session)
    desk.page.get_by_role("button", name="Session", exact=True).click()
    desk.page.get_by_role("button", name="Move session to the bin").click()
    expect(desk.page.get_by_role("heading", name="Start broad.")).to_be_visible()
    expect(desk.sidebar.get_by_role("button", name="A session to throw away")).to_have_count(0)
    desk.page.get_by_role("link", name="All sessions and bin").click()
    desk.page.get_by_role("tab", name=re.compile("^Bin")).click()
    listed(desk, "A session to throw away", "Restore").click()
    expect(desk.sidebar.get_by_role("button", name="A session to throw away")).to_be_visible()
    desk.page.get_by_role("tab", name=re.compile("^Sessions")).click()
    listed(desk, "A session to throw away", "Bin").click()
    expect(desk.sidebar.get_by_role("button", name="A session to throw away")).to_have_count(0)
    desk.page.get_by_role("tab", name=re.compile("^Bin")).click()
    listed(desk, "A session to throw away", "Delete for good").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog).to_contain_text("A session to throw away")
    dialog.get_by_role("button", name="Delete for good").click()
    expect(dialog).to_have_count(0)
    expect(listed(desk, "A session to throw away", "Restore")).to_have_count(0)
    assert session.id not in {row["id"] for row in store.sessions.recent(500, binned=True)}


def test_the_list_tells_which_sessions_are_answering(
    desk: Desk, new_tab: Callable[[], Desk]
) -> None:
    store = desk.server.store
    desk.open(conversation(store, title="The busy one"))
    other = new_tab().open(conversation(store, title="The quiet one"))
    desk.send("/stall 2\none two three")
    expect(desk.live).to_contain_text("two")
    expect(other.sidebar.get_by_role("button", name="The busy one · answering")).to_be_visible()
    desk.live.get_by_role("button", name="Stop answering").click()
    quiet = re.compile("^The busy one( · new answer)?$")
    expect(other.sidebar.get_by_role("button", name=quiet)).to_be_visible()


def test_an_answer_that_came_while_one_was_away_is_marked_until_one_looks(desk: Desk) -> None:
    store = desk.server.store
    desk.open(conversation(store, title="Left alone"))
    desk.send("/delay 300\none two three four five six seven eight nine ten eleven twelve")
    expect(desk.live).to_contain_text("one")
    desk.open(conversation(store, title="Looked at meanwhile"))
    news = desk.sidebar.get_by_role("button", name="Left alone · new answer")
    news.click()
    expect(desk.answer(1)).to_be_visible()
    desk.sidebar.get_by_role("button", name="Looked at meanwhile").click()
    expect(desk.page.get_by_role("textbox", name="Title")).to_have_value("Looked at meanwhile")
    expect(desk.sidebar.get_by_role("button", name="Left alone", exact=True)).to_be_visible()


def test_a_new_session_begins_empty_with_the_settings_of_the_last(desk: Desk) -> None:
    config = Config(provider="echo", model="echo-1", system="Only for that one.")
    desk.open(conversation(desk.server.store, *TALK, config=config))
    desk.page.get_by_role("button", name="New", exact=True).click()
    expect(desk.page.get_by_role("heading", name="Start broad.")).to_be_visible()
    expect(desk.page.get_by_role("textbox", name="System prompt")).to_have_value("")
    desk.ask("from the start page", "from the start page", 1)
