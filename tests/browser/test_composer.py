"""Writing: keys, drafts, what was written before, and the offer to fork."""

import re
from typing import Any

import pytest
from playwright.sync_api import WebSocketRoute, expect

from core import Session
from tests.browser.desk import Desk, conversation, lineage

TALK = ("first question", "first answer", "second question", "second answer")


@pytest.fixture
def session(desk: Desk) -> Session:
    return conversation(desk.server.store, *TALK)


@pytest.fixture
def talk(desk: Desk, session: Session) -> Desk:
    desk.open(session)
    expect(desk.answer(2)).to_be_visible()
    return desk


@pytest.mark.parametrize("blank", ["", "   ", "\n \n"])
def test_blank_does_nothing(talk: Desk, session: Session, blank: str) -> None:
    talk.box.fill(blank)
    talk.box.press("Enter")
    expect(talk.box).to_have_value("")
    talk.ask("a real one", "a real one", 3)
    assert len(lineage(talk.server.store, session)) == 6


def test_shift_and_enter_break_the_line_and_enter_sends(talk: Desk, session: Session) -> None:
    talk.box.focus()
    talk.page.keyboard.type("one")
    talk.page.keyboard.press("Shift+Enter")
    talk.page.keyboard.type("two")
    expect(talk.box).to_have_value("one\ntwo")
    talk.page.keyboard.press("Enter")
    expect(talk.words(talk.answer(3))).to_be_visible()
    assert lineage(talk.server.store, session)[4] == ("user", "one\ntwo")


def test_up_recalls_what_was_written_and_escape_empties_the_box(talk: Desk) -> None:
    talk.box.focus()
    talk.page.keyboard.press("ArrowUp")
    expect(talk.box).to_have_value("second question")
    talk.page.keyboard.press("ArrowUp")
    expect(talk.box).to_have_value("first question")
    talk.page.keyboard.press("ArrowDown")
    expect(talk.box).to_have_value("second question")
    talk.page.keyboard.press("Escape")
    expect(talk.box).to_have_value("")


def test_a_slash_goes_to_the_composer_from_anywhere(talk: Desk) -> None:
    talk.answer(1).focus()
    talk.page.keyboard.press("/")
    expect(talk.box).to_be_focused()
    expect(talk.box).to_have_value("")


def test_a_draft_survives_a_rerun(talk: Desk) -> None:
    talk.box.fill("not done yet")
    talk.act(talk.answer(1), "Mark final")
    expect(talk.row("first answer, final")).to_be_visible()
    expect(talk.box).to_have_value("not done yet")


def test_a_draft_survives_a_page_switch(talk: Desk) -> None:
    talk.box.fill("not done yet")
    talk.page.get_by_role("link", name="All sessions and bin").click()
    expect(talk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    talk.page.get_by_role("tabpanel").get_by_role("button", name="Open").first.click()
    expect(talk.box).to_have_value("not done yet")


def test_a_draft_survives_a_reload(talk: Desk) -> None:
    talk.box.fill("not done yet")
    talk.page.reload()
    expect(talk.box).to_have_value("not done yet")


def test_each_branch_has_a_draft_of_its_own(talk: Desk) -> None:
    talk.box.fill("for main")
    talk.act(talk.answer(1), "Fork here")
    expect(talk.you(2)).to_have_count(0)
    expect(talk.box).to_have_value("")
    talk.branch("main").click()
    expect(talk.you(2)).to_be_visible()
    expect(talk.box).to_have_value("for main")


def test_a_sent_message_leaves_no_draft(talk: Desk) -> None:
    talk.ask("sent", "sent", 3)
    talk.page.reload()
    expect(talk.answer(3)).to_be_visible()
    expect(talk.box).to_have_value("")


# --- "Fork:" ---------------------------------------------------------------------------------


def test_fork_in_front_offers_a_fork_and_accepted_it_leaves_from_the_previous_turn(
    talk: Desk, session: Session
) -> None:
    talk.send("Fork: another second question")
    talk.page.get_by_role("button", name="Fork from the previous turn").click()
    expect(talk.words(talk.answer(2))).to_have_text("another second question")
    expect(talk.words(talk.answer(1))).to_have_text("first answer")
    store = talk.server.store
    assert [text for _, text in lineage(store, session, "main")] == [*TALK]
    assert len(store.branches.of(session.id)) == 2


def test_the_offer_to_fork_can_be_declined(talk: Desk, session: Session) -> None:
    talk.send("fork: is a piece of cutlery")
    talk.page.get_by_role("button", name="Send as written").click()
    expect(talk.words(talk.answer(3))).to_have_text("fork: is a piece of cutlery")
    expect(talk.page.get_by_role("button", name="Send as written")).to_have_count(0)
    assert len(talk.server.store.branches.of(session.id)) == 1


def test_a_message_with_an_offer_can_be_taken_back(talk: Desk) -> None:
    talk.send("Fork: rather not")
    talk.page.get_by_role("button", name="Take back").click()
    expect(talk.box).to_have_value("Fork: rather not")
    expect(talk.page.get_by_role("button", name="Take back")).to_have_count(0)


# --- on their way ---


def test_words_that_are_swallowed_on_their_way_come_back(desk: Desk, session: Session) -> None:
    swallowed: list[Any] = []

    def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()

        def pass_on(message: str | bytes) -> None:
            words = message if isinstance(message, bytes) else message.encode()
            if b"not to be lost" in words and not swallowed:
                swallowed.append(message)
            else:
                server.send(message)

        socket.on_message(pass_on)

    desk.page.route_web_socket(re.compile("/_stcore/stream"), between)
    desk.open(session)
    desk.send("not to be lost")
    expect(desk.box).to_have_value("not to be lost", timeout=30_000)
    assert swallowed
    expect(desk.page.get_by_text("These words did not arrive")).to_be_visible()
    desk.box.press("Enter")
    expect(desk.page.get_by_role("article").filter(has_text="not to be lost").first).to_be_visible()
    desk.page.wait_for_timeout(7_000)  # longer than the page waits for what it has sent
    expect(desk.box).to_have_value("")
