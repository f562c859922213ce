"""What is sent, seen and chosen: policies, the preview, pin and mute, and what is too long."""

import re

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from core import Session, Store
from core.types import OwnPrice
from tests.browser.desk import Desk, conversation, lineage
from tests.browser.server import Server
from tests.browser.test_meter import meter

TALK = ("first question", "first answer", "second question", "second answer")
LONG = "word " * 1100


@pytest.fixture
def server(own_server: Server) -> Server:
    """An app of its own: sizes are estimates, and those learn from every answer of a model."""
    return own_server


@pytest.fixture
def context(server: Server, context: BrowserContext) -> BrowserContext:
    """Tabs that are closed before their app is."""
    return context


def section(page: Page) -> Locator:
    """The context section of the inspector, opened."""
    fold = page.locator(".stExpander", has_text="Context:").filter(visible=True)
    box = fold.locator("[class*='st-key-context']")
    if not box.count():
        fold.locator("summary").click()
    expect(box).to_be_visible()
    return box


def preview(desk: Desk) -> Locator:
    dialog = desk.page.get_by_role("dialog", name="What will be sent")
    expect(dialog.locator(".preview")).to_be_visible()
    return dialog


def lines(dialog: Locator) -> Locator:
    return dialog.locator("details.said")


def branch(store: Store, session: Session) -> tuple[str | None, int | None]:
    found = store.branches.get(str(session.current_branch_id))
    return found.policy, found.keep_turns


def mark(desk: Desk, article: Locator, item: str) -> None:
    article.hover()
    article.get_by_role("button", name="More", exact=True).click()
    desk.page.get_by_role("menuitem", name=item).click()


def test_a_policy_is_chosen_for_the_branch_and_the_wire_follows(desk: Desk) -> None:
    session = conversation(desk.server.store, *TALK)
    desk.open(session)
    box = section(desk.page)
    expect(box).to_contain_text(re.compile(r"Everything\s*≈ \d+ tokens\. Every message"))
    expect(box).to_contain_text("A single message that lists all you asked for")
    box.get_by_text("One list", exact=True).click()
    expect(desk.facts()).to_contain_text("context: one list")
    expect(box.get_by_role("radio", name=re.compile("One list"))).to_be_checked()
    desk.send("and the third")  # the scripted provider says again what it was sent
    for item in ("first question", "second question", "and the third"):
        expect(
            desk.words(desk.answer(3)).get_by_role("listitem").filter(has_text=item)
        ).to_be_visible()
    assert branch(desk.server.store, session)[0] == "concat"
    desk.page.reload()
    expect(desk.facts()).to_contain_text("context: one list")


def test_so_many_last_turns(desk: Desk) -> None:
    session = conversation(desk.server.store, *TALK)
    desk.open(session)
    box = section(desk.page)
    box.get_by_text("Last turns", exact=True).click()
    number = box.get_by_role("spinbutton", name="Last turns sent verbatim")
    number.fill("1")
    number.press("Enter")
    expect(desk.facts()).to_contain_text("context: last turns (1)")
    desk.ask("/count", "context 3 messages", turn=3)
    assert branch(desk.server.store, session) == ("last", 1)


def test_a_policy_for_the_next_send_alone(desk: Desk) -> None:
    session = conversation(desk.server.store, *TALK)
    desk.open(session)
    box = section(desk.page)
    box.get_by_text("Only for the next send").click()
    box.get_by_text("Your turns only", exact=True).click()
    chip = desk.page.locator(".st-key-once")
    expect(chip).to_contain_text("Only the next send: your turns only")
    expect(desk.facts()).to_contain_text("context: your turns only")
    desk.ask("/count", "context 3 messages", turn=3)
    expect(chip).to_be_hidden()
    desk.ask("/count", "context 7 messages", turn=4)
    assert branch(desk.server.store, session) == (None, None)


def test_the_way_back_from_the_next_send(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, *TALK))
    box = section(desk.page)
    box.get_by_text("Only for the next send").click()
    box.get_by_text("One list", exact=True).click()
    chip = desk.page.locator(".st-key-once")
    chip.get_by_role("button", name="Cancel").click()
    expect(chip).to_be_hidden()
    desk.ask("/count", "context 5 messages", turn=3)


def test_what_will_be_sent_is_seen_message_by_message(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store, *TALK, objective="Win the day")
    desk.open(session)
    meter(desk.page).get_by_role("button", name="What will be sent").click()
    dialog = preview(desk)
    expect(dialog).to_contain_text("Everything · 5 messages")
    expect(lines(dialog)).to_have_count(6)
    expect(lines(dialog).first).to_contain_text("Objective of this conversation: Win the day")
    last = lines(dialog).last
    expect(last).to_contain_text("[your next message]")
    expect(last).to_contain_text("(Keep to our objective: Win the day")
    expect(last).to_contain_text("+ your words")
    dialog.get_by_text("Raw JSON").click()
    expect(dialog.locator("code")).to_contain_text('"text": "second question"')
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_pinned_and_muted_are_marked_and_change_what_is_sent(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, *TALK))
    mark(desk, desk.answer(1), "Never send (mute)")
    expect(desk.answer(1)).to_contain_text("muted")
    mark(desk, desk.you(1), "Always send (pin)")
    expect(desk.you(1)).to_contain_text("pinned")
    meter(desk.page).get_by_role("button", name="What will be sent").click()
    dialog = preview(desk)
    out = lines(dialog).filter(has_text="muted on this branch")
    expect(out).to_have_count(1)
    expect(out).to_contain_text("first answer")
    expect(lines(dialog).filter(has_text="pinned")).to_contain_text("first question")
    dialog.get_by_role("button", name="Close").click()
    desk.ask("/count", "context 4 messages", turn=3)
    mark(desk, desk.answer(1), "Always send (pin)")
    expect(desk.answer(1)).to_contain_text("pinned")
    expect(desk.answer(1)).not_to_contain_text("muted")
    mark(desk, desk.answer(1), "Always send (pin)")
    expect(desk.answer(1)).not_to_contain_text("pinned")
    desk.ask("/count", "context 7 messages", turn=4)


def test_pin_and_mute_have_keys(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, *TALK))
    desk.answer(2).focus()
    desk.page.keyboard.press("m")
    expect(desk.answer(2)).to_contain_text("muted")
    desk.page.keyboard.press("p")
    expect(desk.answer(2)).to_contain_text("pinned")
    expect(desk.answer(2)).not_to_contain_text("muted")


def test_what_is_too_long_is_kept_and_three_ways_on_are_offered(desk: Desk) -> None:
    store = desk.server.store
    store.providers.set_own("echo", "echo-slow", OwnPrice(window=200_000))
    session = conversation(store, *[LONG] * 8)
    desk.open(session)
    expect(meter(desk.page)).to_contain_text("A recap would save")
    expect(meter(desk.page).get_by_role("button", name="Recap…")).to_be_visible()
    desk.send("/count")
    offer = desk.page.locator("[class*='st-key-offer.'], [class*='st-key-offer-']").first
    expect(offer).to_contain_text("More than the model's window holds")
    expect(offer).to_contain_text("/count")
    expect(offer.get_by_role("button", name="Recap first")).to_be_visible()
    desk.quiet()
    offer.get_by_role("button", name="A larger window").click()
    choice = desk.page.get_by_role("button", name=re.compile(r"Echo, slowly · 200k"))
    expect(choice).to_be_visible()
    desk.page.keyboard.press("Escape")
    offer.get_by_role("button", name="Send only the last turns").click()
    expect(desk.words(desk.answer(5))).to_have_text("context 7 messages")
    assert branch(store, session) == ("last", 3)


def test_a_larger_window_is_one_click_away(desk: Desk) -> None:
    store = desk.server.store
    store.providers.set_own("echo", "echo-think", OwnPrice(window=200_000))
    session = conversation(store, *[LONG] * 8)
    desk.open(session)
    desk.send("/count")
    expect(desk.page.get_by_role("button", name="A larger window")).to_be_visible()
    desk.quiet()
    desk.page.get_by_role("button", name="A larger window").click()
    desk.page.get_by_role("button", name=re.compile("Echo, thinking first")).click()
    expect(desk.words(desk.answer(5))).to_contain_text("context 9 messages")
    expect(desk.answer(5)).to_have_accessible_name(re.compile("Echo, thinking first"))
    assert store.sessions.get(session.id).config.model == "echo-think"


def test_it_can_be_taken_back(desk: Desk) -> None:
    session = conversation(desk.server.store, *[LONG] * 8)
    desk.open(session)
    desk.send("and now?")
    desk.page.get_by_role("button", name="Take back").click()
    expect(desk.box).to_have_value("and now?")
    assert len(lineage(desk.server.store, session)) == 8


def test_the_provider_s_refusal_offers_the_same(desk: Desk) -> None:
    store = desk.server.store
    store.providers.set_own("echo", "echo-slow", OwnPrice(window=200_000))
    session = conversation(store, *["some words"] * 12)
    desk.open(session)
    desk.send("/fail ContextTooLong 1\n/count")
    card = desk.page.get_by_role("alert").filter(has=desk.page.get_by_role("button"))
    for name in ("Retry", "Recap first", "Send only the last turns", "A larger window"):
        expect(card.get_by_role("button", name=name, exact=True)).to_be_visible()
    card.get_by_role("button", name="A larger window").click()
    expect(desk.page.get_by_role("menuitem", name="Retry with Echo, slowly")).to_be_visible()
    desk.page.keyboard.press("Escape")
    card.get_by_role("button", name="Send only the last turns").click()
    expect(desk.facts()).to_contain_text("context: last turns (4)")
    assert branch(store, session) == ("last", 4)


def test_on_a_phone_context_and_preview_are_in_reach(desk: Desk) -> None:
    desk.page.set_viewport_size({"width": 390, "height": 844})
    desk.open(conversation(desk.server.store, *TALK))
    desk.page.get_by_role("button", name="Tree").first.click()
    drawer = desk.page.get_by_role("dialog")
    box = drawer.locator("[class*='st-key-context']")
    drawer.locator("summary", has_text="Context:").click()
    box.get_by_text("Your turns only", exact=True).click()
    expect(box.get_by_role("radio", name=re.compile("Your turns"))).to_be_checked()
    expect(drawer.locator("summary", has_text="Context: Your turns only")).to_be_visible()
    box.get_by_role("button", name="What will be sent").click()
    dialog = preview(desk)
    expect(lines(dialog)).to_have_count(5)
    width = dialog.evaluate("e => e.scrollWidth - e.clientWidth")
    assert width <= 1
    dialog.get_by_role("button", name="Close").click()
    expect(desk.facts()).to_contain_text("context: your turns only")
