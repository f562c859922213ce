"""One prompt to several models in a real browser: chosen, priced, sent, followed, found again."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, expect

from core import Session, Store
from tests.browser.desk import Desk, conversation
from tests.unit.house import until

TALK = ("Draft a plan.", "plan one", "Avoid jargon.", "plan two")
SLOW = 60_000  # ms, on a machine with much else to do


def dialog(desk: Desk) -> Locator:
    return desk.page.get_by_role("dialog", name="Send to several models")


def prompt(desk: Desk) -> Locator:
    return dialog(desk).get_by_role("textbox", name="Prompt")


def send(desk: Desk, lanes: str = "2 lanes") -> None:
    dialog(desk).get_by_role("button", name=f"Send to {lanes}").click()
    desk.page.wait_for_url(re.compile(r"/compare\?.*comparison="), timeout=SLOW)


def answers(store: Store, session: Session) -> list[str]:
    """The last words of every lane of the session's one comparison."""
    (comparison,) = store.comparisons.of(session.id)
    found = []
    for lane in store.comparisons.lanes(comparison.id):
        tip = store.branches.get(lane.branch_id).tip_id
        found.append(store.nodes.get(str(tip)).text)
    return found


def test_two_models_answer_side_by_side_and_a_reload_loses_nothing(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store, *TALK)
    desk.open(session)
    desk.page.get_by_role("button", name="Send to several models").click()
    prompt(desk).fill("/delay 1500\n/count")
    prompt(desk).press("Control+Enter")
    expect(dialog(desk).get_by_text(re.compile("2 lanes · ≈ .* tokens in"))).to_be_visible()
    expect(dialog(desk).get_by_text(re.compile("After turn 2 of main"))).to_be_visible()
    samples = dialog(desk).get_by_role("spinbutton", name="Samples of model 1")
    samples.fill("2")
    samples.press("Enter")
    expect(dialog(desk).get_by_text(re.compile("3 lanes · ≈"))).to_be_visible(timeout=SLOW)
    send(desk, "3 lanes")
    desk.page.reload()
    expect(desk.page.get_by_text("context 5 messages")).to_have_count(3, timeout=SLOW)
    until(lambda: answers(store, session) == ["context 5 messages"] * 3, 60)
    assert len(store.nodes.lineage(store.branches.get(str(session.current_branch_id)).tip_id)) == 4


def test_what_was_written_and_chosen_is_there_again(desk: Desk) -> None:
    session = conversation(desk.server.store, *TALK)
    desk.open(session)
    article = desk.you(2)
    desk.act(article, "More")
    desk.page.get_by_role("menuitem", name="Send to several models from here").click()
    expect(prompt(desk)).to_have_value("Avoid jargon.")
    prompt(desk).fill("Avoid jargon and haste.")
    prompt(desk).press("Control+Enter")
    dialog(desk).get_by_role("button", name="Remove model 2").click()
    expect(dialog(desk).get_by_role("button", name="Send to 1 lane")).to_be_visible()
    desk.page.reload()
    desk.act(desk.you(2), "More")
    desk.page.get_by_role("menuitem", name="Send to several models from here").click()
    expect(prompt(desk)).to_have_value("Avoid jargon and haste.")
    send(desk, "1 lane")
    store = desk.server.store
    until(lambda: answers(store, session) == ["Avoid jargon and haste."], 60)


def test_on_a_phone_the_draft_comes_along(
    new_context: Callable[..., BrowserContext], desk: Desk
) -> None:
    phone = Desk(
        new_context(viewport={"width": 390, "height": 844}, has_touch=True).new_page(), desk.server
    )
    session = conversation(desk.server.store, *TALK)
    phone.open(session)
    phone.box.fill("And dates.")
    phone.page.get_by_role("button", name="Several models", exact=True).click()
    expect(prompt(phone)).to_have_value("And dates.")
    phone.page.keyboard.press("Tab")
    found = dialog(phone).bounding_box()
    assert found is not None
    assert found["x"] >= 0
    assert found["x"] + found["width"] <= 390
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    send(phone)
    store = desk.server.store
    until(lambda: answers(store, session) == ["And dates."] * 2, 60)
    phone.page.reload()  # nothing but the address and the database tells of it now
    phone.page.goto(f"{desk.server.url}?session={session.id}")
    expect(phone.feed).to_be_attached(timeout=SLOW)
    expect(phone.box).to_have_value("", timeout=SLOW)
    phone.box.fill("And dates.")  # said once more, it is a new draft
    phone.page.reload()
    expect(phone.feed).to_be_attached(timeout=SLOW)
    expect(phone.box).to_have_value("And dates.", timeout=SLOW)
