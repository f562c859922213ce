"""Differences as a person meets them: inline, side by side, copied; drafts; in a model's words."""

import json
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from core import Session, Text
from core.branching import edit
from core.lanes import side_by_side
from core.types import Comparison
from tests.browser.desk import Desk, conversation
from tests.unit.house import grow

SLOW = 60_000
ONE = (
    "# Plan\n\nIt costs 12,000 euros.\n\n| Step | Days |\n|---|---|\n| Press | 3 |\n\nMarta leads."
)
TWO = ONE.replace("12,000", "15,500").replace("| 3 |", "| 4 |").replace("leads", "leads it")
REPLY = "Text A is cheaper, Text B is longer."


@pytest.fixture
def session(desk: Desk) -> Session:
    aside = "/aside " + json.dumps({"reply": REPLY})
    return conversation(
        desk.server.store, "q", "A first try.", "Once more", ONE, title="Offsite", objective=aside
    )


@pytest.fixture
def comparison(desk: Desk, session: Session) -> Comparison:
    store, main = desk.server.store, str(session.current_branch_id)
    asked = store.nodes.lineage(store.branches.get(main).tip_id)[2]
    other = store.branches.create(session.id, "bolder", asked.id, forked_from=asked.id)
    grow(store, other.id, TWO)
    return side_by_side(store, session.id, [main, other.id])


def open_tab(page: Page, desk: Desk, comparison: Comparison) -> Locator:
    """The tab of differences; what is drawn inline there."""
    place = {"session": comparison.session_id, "comparison": comparison.id, "tab": "Differences"}
    page.goto(f"{desk.server.url}compare?{urlencode(place)}")
    inline = page.get_by_role("group", name="What differs", exact=True)
    expect(inline).to_be_visible(timeout=SLOW)
    return inline


def test_two_drafts_are_read_copied_and_compared_in_words(
    desk: Desk, comparison: Comparison
) -> None:
    page = desk.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    inline = open_tab(page, desk, comparison)
    expect(inline.get_by_role("deletion")).to_have_text(["12,000", "3"])
    expect(inline.get_by_role("insertion")).to_have_text(["15,500", "4", " it"])
    expect(inline.get_by_role("cell", name="Press")).to_be_visible()
    expect(page.get_by_role("region", name="Only bolder says")).to_contain_text("15,500 euros")

    page.get_by_role("radio", name="Side by side").last.click()
    beside = page.get_by_role("group", name="What differs, side by side")
    expect(beside).to_be_visible(timeout=SLOW)
    expect(beside.locator(".side.old del").first).to_have_text("12,000")
    expect(beside.locator(".side.new ins").first).to_have_text("15,500")

    page.get_by_role("button", name="Copy bolder").click()
    expect(page.get_by_text("Copied").first).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()") == TWO

    page.get_by_role("button", name="Compare in words").click()
    words = page.locator(".st-key-in_words .reading")
    expect(words).to_have_text(REPLY, timeout=SLOW)
    expect(page.get_by_text("Text A is main · Text B is bolder")).to_be_visible()
    page.reload()
    expect(words).to_have_text(REPLY, timeout=SLOW)


def test_the_drafts_of_a_branch_open_from_the_tree(desk: Desk, session: Session) -> None:
    store, main = desk.server.store, str(session.current_branch_id)
    tip = str(store.branches.get(main).tip_id)
    edit(store, main, tip, (Text(text=ONE.replace("Marta", "Ana")),))
    desk.open(session)
    desk.row_menu("edited by hand", "Draft history")
    dialog = desk.page.get_by_role("dialog")
    drafts = dialog.get_by_role("radiogroup", name="Drafts, the latest first")
    expect(drafts.get_by_role("radio")).to_have_count(3, timeout=SLOW)
    expect(dialog).to_contain_text("you, by hand")
    differs = dialog.get_by_role("group", name="What differs", exact=True)
    expect(differs.get_by_role("deletion")).to_have_text("Marta")
    expect(differs.get_by_role("insertion")).to_have_text("Ana")
    dialog.get_by_text("Draft 2 · turn 2").click()
    expect(differs.get_by_role("deletion").first).to_contain_text("first try", timeout=SLOW)


def test_it_is_read_on_a_phone(
    new_context: Callable[..., BrowserContext], desk: Desk, comparison: Comparison
) -> None:
    screen = {"width": 390, "height": 844}
    page = new_context(viewport=screen, has_touch=True).new_page()
    open_tab(page, desk, comparison)
    page.get_by_role("radio", name="Side by side").last.click()
    beside = page.get_by_role("group", name="What differs, side by side")
    expect(beside).to_be_visible(timeout=SLOW)
    old = beside.locator(".side.old:not(.both)").first.bounding_box()
    new = beside.locator(".side.new:not(.both)").first.bounding_box()
    assert old
    assert new
    assert new["y"] >= old["y"] + old["height"]  # one below the other
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
