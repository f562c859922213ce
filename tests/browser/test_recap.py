"""A recap as a person meets it: one click, a stream, an edit, a line that says where it cuts."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from core import Session, Store
from core.recap import activate, add, choices_of
from tests.browser.desk import ECHO, Desk, conversation, lineage

TALK = (
    "Plan an offsite in Porto for 18 people.",
    "Which dates?",
    "On 14 May 2026.",
    "Noted.",
    "Write the agenda.",
    "Here it is.",
    "And day two?",
    "Here as well.",
)


@pytest.fixture
def session(desk: Desk) -> Session:
    return conversation(desk.server.store, *TALK, title="Offsite")


def dialog(desk: Desk) -> Locator:
    return desk.page.get_by_role("dialog")


def line(desk: Desk) -> Locator:
    """The divider that says where a recap cuts."""
    return desk.page.get_by_role("group", name="Recap", exact=True)


def field(desk: Desk) -> Locator:
    return dialog(desk).get_by_role("textbox", name="Recap", exact=True)


def press(desk: Desk, name: str, *, within: Locator | None = None) -> None:
    (within or dialog(desk)).get_by_role("button", name=name, exact=True).first.click()


def ask_for(desk: Desk, prompt: str) -> None:
    """Open the dialog, and have the scripted model write what ``prompt`` says."""
    desk.page.locator(".st-key-recap_button").get_by_role("button", name="Recap").click()
    dialog(desk).get_by_text("Prompt", exact=True).click()
    asked = dialog(desk).get_by_role("textbox", name="What the model is asked for")
    asked.fill(prompt)
    asked.blur()
    press(desk, "Write recap")


def activated(desk: Desk, prompt: str = "Offsite in Porto, 18 people, 14 May 2026.") -> None:
    ask_for(desk, prompt)
    expect(field(desk)).to_have_value(prompt)
    press(desk, "Activate")
    expect(dialog(desk)).to_have_count(0)


def nodes(store: Store, session: Session) -> list[str]:
    branch = store.branches.get(str(session.current_branch_id))
    return [node.id for node in store.nodes.lineage(branch.tip_id)]


def write(desk: Desk, words: str) -> None:
    """Write into the draft as late as a person would: the end of the run draws the dialog anew
    for a moment."""
    expect(field(desk)).to_be_visible()
    desk.page.wait_for_timeout(700)
    field(desk).fill(words)


def test_from_one_click_to_what_is_sent(desk: Desk, session: Session) -> None:
    desk.open(session)
    ask_for(desk, "/delay 40\nOffsite in Porto, on 14 May, with many words that come one by one")
    stop = dialog(desk).get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_visible()
    expect(dialog(desk)).to_contain_text("Offsite in Porto")
    expect(field(desk)).to_have_value(re.compile("one by one$"))
    expect(stop).to_have_count(0)
    write(desk, "Offsite in Porto, on 14 May.")
    field(desk).blur()
    expect(dialog(desk)).to_contain_text("1 not found in the recap")
    press(desk, "Add")
    expect(field(desk)).to_have_value(re.compile("Facts and figures:\n- Plan an offsite .* 18"))
    expect(dialog(desk)).to_contain_text("Nothing seems to be missing")
    press(desk, "Activate")
    expect(dialog(desk)).to_have_count(0)
    expect(line(desk)).to_contain_text("A recap stands in for the 4 messages above")
    expect(desk.words(desk.you(1))).to_have_text(TALK[0])  # whole, and where it was
    expect(desk.you(1)).to_have_class(re.compile("covered"))
    expect(desk.you(3)).not_to_have_class(re.compile("covered"))
    expect(desk.row("Noted.")).to_have_attribute("aria-label", re.compile("a recap stands in"))
    desk.send("/context")
    expect(desk.answer(5)).to_contain_text("To recap what we've decided so far:")
    expect(desk.answer(5)).to_contain_text("Write the agenda.")
    expect(desk.answer(5)).not_to_contain_text("Which dates?")
    press(desk, "switch off", within=line(desk))
    expect(line(desk)).to_contain_text("is switched off")
    desk.send("/count")
    expect(desk.words(desk.answer(6))).to_have_text("context 11 messages")
    press(desk, "switch on", within=line(desk))
    expect(line(desk)).to_contain_text("stands in for the 4 messages")
    desk.send("/count")
    expect(desk.words(desk.answer(7))).to_have_text("context 9 messages")


def test_up_to_a_message_from_its_menu(desk: Desk, session: Session) -> None:
    desk.open(session)
    desk.act(desk.answer(1), "More")
    desk.page.get_by_role("menuitem", name="Recap up to here").click()
    expect(dialog(desk)).to_contain_text("Covers turn 1 (2 messages), up to: Which dates?")
    press(desk, "Write it by hand")
    write(desk, "Porto, 18 people.")
    press(desk, "Activate")
    expect(line(desk)).to_contain_text("stands in for the 2 messages above")
    recap = choices_of(desk.server.store, str(session.current_branch_id)).recap
    assert recap is not None
    assert recap.covers_to == nodes(desk.server.store, session)[1]


def test_a_reload_in_the_middle_of_a_draft_loses_nothing(desk: Desk, session: Session) -> None:
    desk.open(session)
    words = "Porto and eighteen people and a date in May and some more words to come"
    ask_for(desk, f"/delay 1500\n{words}")  # a reload may take seconds on a busy machine
    expect(dialog(desk).get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect(dialog(desk)).to_contain_text("Porto and")
    desk.page.reload()
    notice = desk.page.get_by_role("status", name="Notices")
    expect(notice).to_contain_text("A recap is being written.")
    expect(notice).to_contain_text("A recap draft waits to be placed.", timeout=40_000)
    press(desk, "Open", within=notice)
    expect(field(desk)).to_have_value(words)
    press(desk, "Activate")
    expect(line(desk)).to_be_visible()
    expect(notice).not_to_contain_text("draft")


def test_what_was_typed_into_a_draft_outlives_a_reload(desk: Desk, session: Session) -> None:
    desk.open(session)
    ask_for(desk, "As written")
    expect(field(desk)).to_have_value("As written")
    write(desk, "As typed before the reload")
    field(desk).blur()
    store, key = desk.server.store, "recap.words."
    run = store.runs.side(session.id, "recap")[0]
    for _ in range(100):  # the words go to the server, nothing on the page tells
        if store.drafts.get(key + run.id) is not None:
            break
        desk.page.wait_for_timeout(100)
    desk.page.reload()
    notice = desk.page.get_by_role("status", name="Notices")
    press(desk, "Open", within=notice)
    expect(field(desk)).to_have_value("As typed before the reload")


def test_what_was_typed_outlives_another_tabs_news(
    desk: Desk, new_tab: Callable[[], Desk], session: Session
) -> None:
    other = new_tab().open(session)
    desk.open(session)
    ask_for(desk, "As written")
    expect(field(desk)).to_have_value("As written")
    write(desk, "As typed, not yet left")
    other.act(other.answer(1), "Mark final")
    expect(other.answer(1)).to_have_class(re.compile("final"))
    expect(field(desk)).to_have_value("As typed, not yet left")
    field(desk).blur()  # what lies behind has waited for this
    field(desk).focus()  # as the open dialog may do by itself
    expect(desk.answer(1)).to_have_class(re.compile("final"))
    expect(field(desk)).to_have_value("As typed, not yet left")
    press(desk, "Activate")
    expect(dialog(desk)).to_have_count(0)
    recap = choices_of(desk.server.store, str(session.current_branch_id)).recap
    assert recap is not None
    assert recap.text == "As typed, not yet left"


def test_a_field_that_somebody_went_to_stays_in_hand(
    desk: Desk, new_tab: Callable[[], Desk], session: Session
) -> None:
    other = new_tab().open(session)
    desk.open(session)
    ask_for(desk, "As written")
    expect(field(desk)).to_be_visible()
    desk.page.wait_for_timeout(700)
    field(desk).click()
    other.act(other.answer(1), "Mark final")
    expect(other.answer(1)).to_have_class(re.compile("final"))
    desk.page.wait_for_timeout(1500)  # a look would have taken the focus away
    desk.page.keyboard.press("End")
    desk.page.keyboard.type(", and more")
    expect(field(desk)).to_have_value("As written, and more")
    dialog(desk).get_by_role("heading", name="Recap").click()
    expect(desk.answer(1)).to_have_class(re.compile("final"))
    expect(field(desk)).to_have_value("As written, and more")


def test_an_edit_is_a_version_and_versions_are_switched(desk: Desk, session: Session) -> None:
    desk.open(session)
    activated(desk)
    press(desk, "edit", within=line(desk))
    write(desk, "Second words")
    press(desk, "Activate")
    expect(line(desk)).to_contain_text("version 2")
    press(desk, "view 2 versions", within=line(desk))
    expect(dialog(desk)).to_contain_text("Second words")
    expect(dialog(desk)).to_contain_text("Offsite in Porto, 18 people")
    press(desk, "Use this")
    expect(line(desk)).to_contain_text("version 1")
    expect(dialog(desk)).to_have_count(0)


def test_a_fork_inherits_and_parts(desk: Desk, session: Session) -> None:
    desk.open(session)
    activated(desk)
    desk.act(desk.answer(4), "Fork here")
    expect(desk.facts()).not_to_contain_text("branch main")
    expect(line(desk)).to_contain_text("stands in for the 4 messages")
    press(desk, "switch off", within=line(desk))
    expect(line(desk)).to_contain_text("is switched off")
    desk.open(session, branch=str(session.current_branch_id))
    expect(desk.facts()).to_contain_text("branch main")
    expect(line(desk)).to_contain_text("stands in for the 4 messages")


def test_an_error_stays_in_the_dialog_with_a_retry(desk: Desk, session: Session) -> None:
    desk.open(session)
    ask_for(desk, "/fail AuthFailed 1\nPorto at last")
    expect(dialog(desk)).to_contain_text("AuthFailed")
    press(desk, "Retry")
    expect(field(desk)).to_have_value("Porto at last")


def test_it_is_carried_into_another_branch(desk: Desk, session: Session) -> None:
    store = desk.server.store
    other = store.branches.create(session.id, "other way", nodes(store, session)[1])
    recap = add(store, session.id, nodes(store, session)[3], "Porto it is.")
    activate(store, str(session.current_branch_id), recap.id)
    desk.open(session)
    press(desk, "view", within=line(desk))
    press(desk, "Carry into branch …")
    desk.page.get_by_role("button", name="Go there with it").click()
    expect(desk.facts()).to_contain_text("branch other way")
    expect(desk.box).to_have_value(
        re.compile("To recap what we decided on branch main:\n\nPorto it is.")
    )
    assert desk.place()["branch"] == other.id
    assert len(lineage(store, session, "other way")) == 2  # nothing was sent


def test_a_recap_that_writes_itself_is_announced(desk: Desk) -> None:
    config = replace(ECHO, model="echo-slow", policy="auto", keep_turns=1)
    session = conversation(desk.server.store, *TALK[:6], config=config, title="Auto")
    desk.open(session)
    desk.send("next question")
    writing = desk.page.get_by_role("article", name=re.compile("^Recap by .* being written$"))
    expect(writing).to_contain_text("Writing a recap of turns 1–2 first…")
    expect(desk.words(desk.answer(4))).to_have_text("next question", timeout=30_000)
    expect(line(desk)).to_contain_text("written by itself")
    notice = desk.page.get_by_role("status", name="Notices")
    expect(notice).to_contain_text("A recap of turns 1–2 wrote itself")
    press(desk, "Switch off", within=notice)
    expect(line(desk)).to_contain_text("is switched off")
    expect(notice).not_to_contain_text("wrote itself")


def test_stopped_while_it_writes_itself_the_question_is_kept(desk: Desk) -> None:
    config = replace(ECHO, model="echo-slow", policy="auto", keep_turns=1)
    session = conversation(desk.server.store, *TALK[:6], config=config, title="Auto")
    desk.open(session)
    desk.send("next question")
    writing = desk.page.get_by_role("article", name=re.compile("^Recap by .* being written$"))
    expect(writing.locator(".body")).to_contain_text("Write a recap")
    press(desk, "Stop answering", within=writing)
    card = desk.page.get_by_role("alert").filter(has_text="while a recap was written first")
    expect(card).to_contain_text("Your message is kept")
    expect(desk.words(desk.you(4))).to_have_text("next question")
    expect(desk.answer(4)).to_have_count(0)


def test_it_all_fits_on_a_phone(
    new_context: Callable[..., BrowserContext], desk: Desk, session: Session
) -> None:
    store = desk.server.store
    recap = add(store, session.id, nodes(store, session)[3], "Porto it is, and it is long enough.")
    activate(store, str(session.current_branch_id), recap.id)
    screen = {"width": 390, "height": 844}
    phone = Desk(new_context(viewport=screen, has_touch=True).new_page(), desk.server)
    phone.open(session)
    press(phone, "view", within=line(phone))
    expect(dialog(phone)).to_contain_text("Porto it is")
    for name in ("Edit", "Switch off", "Add"):
        box = dialog(phone).get_by_role("button", name=name, exact=True).first.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    press(phone, "Close")
    expect(dialog(phone)).to_have_count(0)
    phone.page.get_by_role("button", name="Tree", exact=True).click()
    press(phone, "Recap")
    expect(dialog(phone)).to_contain_text("Last turns that stay verbatim")
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
