"""Merging back as a person meets it: ticks, a draft, an answer with origins; a quote; a phone."""

import json
import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from core import Session, Store, fork
from core.lanes import side_by_side
from core.recap import choices_of
from core.types import Comparison
from tests.browser.desk import Desk, conversation, lineage
from tests.browser.server import Server
from tests.unit.house import grow, until

A = "Porto is the place. The budget is 10,000 euros. Bring a raincoat."
B = "Porto is the place. The budget is 12,000 euros. There is a fado night."
SLOW = 30_000


def lanes(store: Store, *more: str) -> tuple[Session, Comparison]:
    """Two branches that part after the first answer, if there is one."""
    session = conversation(store, "Plan an offsite.", *more, title="Offsite")
    main = str(session.current_branch_id)
    tip = str(store.branches.get(main).tip_id)
    other = fork(store, tip, from_branch=main, name="other")
    asked = ["Write it."] if more else []
    grow(store, main, *asked, A)
    grow(store, other.id, *asked, B)
    store.sessions.change(session.id, current_branch_id=main)
    return session, side_by_side(store, session.id, [main, other.id])


def open_compare(desk: Desk, comparison: Comparison) -> None:
    place = {"session": comparison.session_id, "comparison": comparison.id}
    desk.page.goto(f"{desk.server.url}compare?{urlencode(place)}")


def open_merge(desk: Desk, comparison: Comparison, way: str) -> None:
    place = {"session": comparison.session_id, "comparison": comparison.id, "tab": "Merge"}
    desk.page.goto(f"{desk.server.url}compare?{urlencode(place)}")
    press_way(desk, way)


def press_way(desk: Desk, way: str) -> None:
    tab = desk.page.get_by_role("radio", name=way, exact=True)
    expect(tab).to_be_visible(timeout=SLOW)
    tab.click()
    expect(tab).to_be_checked(timeout=SLOW)


def button(desk: Desk, name: str) -> Locator:
    return desk.page.get_by_role("button", name=name, exact=True)


def area(desk: Desk, name: str) -> Locator:
    return desk.page.get_by_role("textbox", name=name, exact=True)


def test_from_ticks_to_an_answer_with_two_origins_through_reloads(desk: Desk) -> None:
    session, comparison = lanes(desk.server.store)
    open_merge(desk, comparison, "Fuse")
    desk.page.get_by_text("There is a fado night.").click()
    expect(desk.page.get_by_text("1 of 4 wordings ticked")).to_be_visible(timeout=SLOW)
    reply = " ".join(f"word{number}" for number in range(60))
    script = json.dumps({"reply": f"Porto with fado. {reply}", "delay": 60})
    area(desk, "What else matters (optional)").fill(f"short\n/aside {script}")
    area(desk, "What else matters (optional)").blur()
    button(desk, "Fuse").last.click()
    expect(desk.page.get_by_text(re.compile("Porto with fado"))).to_be_visible(timeout=SLOW)
    desk.page.reload()  # in the middle of the stream
    draft = area(desk, "The fused answer")
    expect(draft).to_have_value(re.compile("word59$"), timeout=SLOW)
    desk.page.wait_for_timeout(700)  # as late as a person would
    draft.fill("Porto, with a fado night.")
    draft.blur()
    expect(button(desk, "Place as a new answer")).to_be_enabled()
    desk.page.wait_for_timeout(500)
    desk.page.reload()
    expect(draft).to_have_value("Porto, with a fado night.", timeout=SLOW)
    button(desk, "Place as a new answer").click()
    answer = desk.answer(1)
    expect(desk.words(answer)).to_have_text("Porto, with a fado night.", timeout=SLOW)
    expect(answer).to_contain_text("hand-edited")
    expect(answer).to_contain_text("Echo")  # who fused, and at what cost
    expect(answer).to_contain_text("free")
    first = answer.get_by_role("button", name="Fused from main", exact=True)
    expect(first).to_be_visible()
    expect(answer.get_by_role("button", name="Fused from other", exact=True)).to_be_visible()
    store = desk.server.store
    assert lineage(store, session, "fused · main + other")[-1][1] == "Porto, with a fado night."
    first.click()
    expect(desk.words(desk.answer(1))).to_have_text(A, timeout=SLOW)
    open_compare(desk, comparison)  # the new answer is a lane beside those it is made of
    lane = desk.page.get_by_role("group", name="Lane fused · main + other", exact=True)
    expect(lane).to_be_visible(timeout=SLOW)


def test_a_quote_from_the_menu_of_a_message_shows_its_origin_once_it_is_sent(desk: Desk) -> None:
    session, _ = lanes(desk.server.store)
    desk.open(session)
    expect(desk.words(desk.answer(1))).to_have_text(A)
    desk.act(desk.answer(1), "More")
    desk.page.get_by_role("menuitem", name="Bring into another branch\u2026").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox", name=re.compile("^Words"))).to_have_value(
        re.compile("^From the branch “main”:\n> Porto is the place"), timeout=SLOW
    )
    dialog.get_by_role("button", name="Put into the composer").click()
    expect(desk.words(desk.answer(1))).to_have_text(B, timeout=SLOW)
    expect(desk.box).to_have_value(re.compile("^From the branch “main”:\n> Porto"), timeout=SLOW)
    desk.box.press("End")
    desk.box.press_sequentially("Why not this?")
    desk.box.press("Enter")
    quote = desk.you(2).get_by_role("button", name="Quotes main", exact=True)
    expect(quote).to_be_visible(timeout=SLOW)
    expect(desk.answer(2)).to_be_visible(timeout=SLOW)
    quote.click()
    expect(desk.words(desk.answer(1))).to_have_text(A, timeout=SLOW)


@pytest.fixture
def phone(new_context: Callable[..., BrowserContext], server: Server) -> Desk:
    context = new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    return Desk(context.new_page(), server)


def test_a_merge_by_meaning_on_a_phone(phone: Desk) -> None:
    store = phone.server.store
    session, comparison = lanes(store, "It is in Porto.")
    open_merge(phone, comparison, "By meaning")
    button(phone, "Without a model").click()
    expect(phone.page.get_by_text("1 conflict")).to_be_visible(timeout=SLOW)
    phone.page.reload()
    phone.page.get_by_text("The budget is 12,000 euros.").click()
    merged = area(phone, "The merged text")
    expect(merged).to_have_value(re.compile("- The budget is 12,000 euros."), timeout=SLOW)
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    button(phone, "Open the merged branch").click()
    line = phone.page.get_by_role("group", name="Recap", exact=True)
    expect(line).to_contain_text("A recap stands in for the 2 messages above", timeout=SLOW)
    made = store.branches.of(session.id)[-1]
    recap = choices_of(store, made.id).recap
    assert recap is not None
    assert "12,000" in recap.text
    phone.send("/context")
    expect(phone.answer(2)).to_contain_text("To recap what we've decided so far", timeout=SLOW)
    origins = phone.you(2).get_by_role("button", name=re.compile("^Merged from"))
    expect(origins).to_have_count(2, timeout=SLOW)


def test_a_winner_its_reasons_and_words_to_bring_in_outlive_a_reload(desk: Desk) -> None:
    store = desk.server.store
    session, comparison = lanes(store)
    open_merge(desk, comparison, "Bring in")
    words = area(desk, "Words (leave only what you need)")
    expect(words).to_have_value(re.compile("^From the branch"), timeout=SLOW)
    words.fill("> Porto is the place.")
    words.blur()
    until(lambda: any("place" in kept for kept in brought(store)), 40)
    desk.page.reload()
    expect(words).to_have_value("> Porto is the place.", timeout=SLOW)
    press_way(desk, "Winner")
    choice = desk.page.get_by_role("combobox", name=re.compile("Winner"))
    choice.click()
    desk.page.get_by_role("option", name="other", exact=True).click()
    button(desk, "Mark as the winner").click()
    reason = area(desk, "Why not main?")
    expect(reason).to_be_visible(timeout=SLOW)
    button(desk, "Take back").click()
    expect(reason).to_be_hidden(timeout=SLOW)
    button(desk, "Mark as the winner").click()
    expect(reason).to_be_visible(timeout=SLOW)
    reason.fill("Too wet.")
    reason.blur()
    until(lambda: "Too wet." in [branch.note for branch in store.branches.of(session.id)], 40)
    desk.page.reload()
    expect(reason).to_have_value("Too wet.", timeout=SLOW)
    button(desk, "Carry the reasons into the next prompt").click()
    expect(desk.words(desk.answer(1))).to_have_text(B, timeout=SLOW)
    expect(desk.box).to_have_value(re.compile("- Too wet."), timeout=SLOW)


def brought(store: Store) -> list[str]:
    with store._db.read() as db:
        rows = db.query("SELECT text FROM drafts WHERE key LIKE 'bring.%'")
        return [str(row["text"]) for row in rows]
