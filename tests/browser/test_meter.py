"""The meter before sending, and a refused setting that one click turns off."""

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from core import Config
from tests.browser.desk import ECHO, Desk, conversation
from tests.browser.server import Server


@pytest.fixture
def server(own_server: Server) -> Server:
    """An app of its own: estimates learn from every answer of a model, also of other tests."""
    return own_server


@pytest.fixture
def context(server: Server, context: BrowserContext) -> BrowserContext:
    """Tabs that are closed before their app is."""
    return context


def meter(page: Page) -> Locator:
    return page.get_by_role("region", name="Next send").filter(visible=True)


def test_the_meter_counts_what_is_written_as_it_is_written(desk: Desk) -> None:
    session = conversation(desk.server.store, "one two three", "four five six")
    desk.open(session)
    box = meter(desk.page)
    expect(box).to_contain_text("≈ 14 of 8,192")
    expect(desk.facts()).to_contain_text("≈ 14 of 8.2k tokens")
    desk.box.press_sequentially("seven eight nine")
    expect(box).to_contain_text("≈ 21 of 8,192")
    expect(box).to_contain_text("your draft 7")
    desk.box.fill("")
    expect(box).to_contain_text("≈ 14 of 8,192")


def test_after_an_answer_the_count_is_the_provider_s_and_the_beginning_is_warm(desk: Desk) -> None:
    session = conversation(desk.server.store)
    desk.open(session)
    expect(meter(desk.page)).to_contain_text("Warm nothing")
    desk.ask("/usage 900 100\nan answer", "an answer", turn=1)
    box = meter(desk.page)
    expect(box).to_contain_text("1,000 of 8,192")
    expect(box).to_contain_text(re.compile(r"Warm 90%, \d min left"))
    expect(box).to_contain_text("Price free")


def test_an_exact_count_is_asked_for_with_a_click(desk: Desk) -> None:
    session = conversation(desk.server.store, "one two three", "four five six")
    desk.open(session)
    box = meter(desk.page)
    box.get_by_role("button", name="Count exactly").click()
    expect(box).to_contain_text("Next send 7 of 8,192")
    expect(box).not_to_contain_text("≈")
    expect(box.get_by_role("button", name="Count exactly")).to_be_hidden()
    desk.box.fill("more words")
    expect(box).to_contain_text("≈ 13 of 8,192")


@pytest.mark.parametrize(
    ("words", "level", "warning"),
    [(100, "fine", ""), (7000, "near", "Nearly full"), (9000, "full", "More than the window")],
)
def test_the_meter_warns_before_the_window_is_full(
    desk: Desk, words: int, level: str, warning: str
) -> None:
    desk.open(conversation(desk.server.store, "word " * words, "yes"))
    box = meter(desk.page)
    expect(box).to_have_attribute("data-level", level)
    expect(box.get_by_role("meter")).to_have_attribute("aria-valuemax", "8192")
    status = box.get_by_role("status")
    if warning:
        expect(status).to_contain_text(warning)
    else:
        expect(status).to_be_hidden()


def test_every_number_says_what_it_is_to_the_keyboard_too(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, "one", "two"))
    box = meter(desk.page)
    tip = box.get_by_role("tooltip")
    expect(tip).to_be_hidden()
    for name, said in (("Next send", "Estimated"), ("Warm", "keeps"), ("Price", "estimate")):
        box.locator(".row", has_text=name).focus()
        expect(tip).to_contain_text(said)
    desk.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_what_nobody_knows_is_said_to_be_unknown(desk: Desk) -> None:
    config = Config(provider="compatible", model="somebody's")
    desk.open(conversation(desk.server.store, "one", "two", config=config))
    box = meter(desk.page)
    expect(box).to_contain_text("window unknown")
    expect(box).to_contain_text("Warm unknown")
    expect(box).to_contain_text("Price unknown")
    expect(box.get_by_role("meter")).to_be_hidden()


def test_on_a_phone_the_meter_is_in_the_drawer(desk: Desk) -> None:
    desk.page.set_viewport_size({"width": 390, "height": 844})
    desk.open(conversation(desk.server.store, "one two three", "four five six"))
    expect(desk.facts()).to_contain_text("≈ 14 of 8.2k tokens")
    desk.page.get_by_role("button", name="Tree").first.click()
    drawer = desk.page.get_by_role("dialog")
    expect(drawer.get_by_role("region", name="Next send")).to_contain_text("≈ 14 of 8,192")
    drawer.get_by_role("button", name="Count exactly").click()
    expect(drawer.get_by_role("region", name="Next send")).to_contain_text("Next send 7 of 8,192")


def test_a_refused_setting_is_turned_off_with_one_click(desk: Desk) -> None:
    config = Config(provider="echo", model="echo-1", sampling={"max_tokens": 50})
    session = conversation(desk.server.store, config=config)
    desk.open(session)
    desk.send("/refuse max_tokens\na happy ending")
    card = desk.page.get_by_role("alert").filter(has_text="Unsupported parameter")
    expect(card).to_be_visible()
    card.get_by_role("button", name="Turn off longest answer (words) and retry").click()
    expect(desk.words(desk.answer(1))).to_have_text("a happy ending")
    expect(card).to_be_hidden()
    assert desk.server.store.sessions.get(session.id).config == ECHO
