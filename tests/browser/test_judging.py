"""Judging in a browser: blind and by keyboard, by a judge through reload and restart, checks."""

import json
import re
from dataclasses import replace
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from core import fork
from core.columns import columns, shuffled
from core.judge import running
from core.lanes import side_by_side
from core.store import Store
from core.types import Comparison, Verdict
from pages.components import judging_hand
from tests.browser.conftest import LOST, Watch
from tests.browser.desk import ECHO, Desk, conversation
from tests.unit.house import grow, until

PLANS = (
    "The plan.\n\n| owner | cost |\n|---|---|\n| Ada | 12,400 |",
    "A plan without an owner.",
    "Third, <b>bold</b>.",
)
SLOW = 40_000  # ms: the machine may be busy


def put_up(store: Store, *texts: str, **told: object) -> Comparison:
    """Lanes of three models with these answers, side by side."""
    session = conversation(store, "Write a plan.")
    if told:
        store.sessions.change(session.id, **told)
    main = str(session.current_branch_id)
    root = str(store.branches.get(main).tip_id)
    branches = []
    for number, text in enumerate(texts):
        branch = fork(store, root, from_branch=main)
        store.branches.rename(branch.id, f"secret {number + 1}")
        model = ("echo-slow", "echo-think", "echo-1")[number % 3]
        store.branches.choose_config(branch.id, replace(ECHO, model=model))
        grow(store, branch.id, text)
        branches.append(branch.id)
    return side_by_side(store, session.id, branches)


def script(**more: object) -> str:
    """A definition of done that has the scripted judge like whatever comes first."""
    told = {
        "answers": [
            {"answer": n, "reason": f"it is number {n}", "scores": [score] * 4}
            for n, score in ((1, 9), (2, 3))
        ]
    }
    return "One page.\n/aside " + json.dumps({"reply": json.dumps(told, indent=1)} | more)


def open_tab(desk: Desk, comparison: Comparison, tab: str = "Judge", part: str = "") -> Page:
    place = {"session": comparison.session_id, "comparison": comparison.id, "tab": tab}
    address = urlencode(place | ({"judging": part} if part else {}))
    desk.page.goto(f"{desk.server.url}compare?{address}")
    return desk.page


FOCUSED = """() => {
  const at = document.activeElement;
  const name = at.closest('[class*=st-key-vote_]')?.className.match(/st-key-(vote_\\w+)/)?.[1];
  const shown = (one) => {
    const style = getComputedStyle(one);
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  };
  const around = [at, at.parentElement, at.closest('label'), at.closest('[data-baseweb]')];
  const caret = at.matches('input');  // beside a border of another colour
  return { name: name ?? '', seen: caret || around.some((one) => one && shown(one)) };
}"""
"""Which part of a vote has the focus, and whether that is to be seen."""


def judging(page: Page) -> Locator:
    return page.locator(".st-key-judging")


def no_wider_than_the_screen(page: Page) -> None:
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 1, f"{wide} pixels too wide"


def verdicts(store: Store, comparison: Comparison) -> list[Verdict]:
    return store.verdicts.of(comparison_id=comparison.id)


def ready(page: Page, count: int) -> None:
    """The keys are heard, of so many answers."""
    keys = page.locator(f".st-key-turntree-judging_keys [data-keys='{count}']")
    expect(keys).to_be_attached(timeout=SLOW)
    expect(page.get_by_role("button", name="Save verdict")).to_be_enabled()


def test_a_blind_vote_by_keyboard_through_a_reload_and_then_the_names(desk: Desk) -> None:
    store = desk.server.store
    comparison = put_up(store, *PLANS)
    store.comparisons.set_blind(comparison.id, True)
    comparison = store.comparisons.get(comparison.id)
    second = shuffled(comparison, columns(store, comparison))[1]
    page = open_tab(desk, comparison)
    ready(page, 3)
    expect(judging(page)).to_contain_text("Answer C")
    expect(judging(page)).to_contain_text("Asked: Write a plan.")
    expect(page.get_by_text("Third, <b>bold</b>.")).to_be_visible()  # words, no markup
    row = page.get_by_role("region", name=re.compile("^Answer")).get_by_role("row")
    expect(row.filter(has_text="Ada")).to_contain_text("12,400")  # and a table is one
    for hidden in ("secret", "echo-"):
        expect(judging(page)).not_to_contain_text(hidden)
    page.keyboard.press("a")
    expect(page.locator(".st-key-vote_best_0 button[kind='primary']")).to_be_visible(timeout=SLOW)
    page.keyboard.press("2")
    chosen = page.locator(".st-key-vote_best_1 button[kind='primary']")
    expect(chosen).to_be_visible(timeout=SLOW)
    page.locator(".st-key-vote_stars_2 button").nth(3).click()
    until(lambda: 4 in judging_hand.read(store, comparison).ratings.values(), 40)
    page.keyboard.press("n")
    note = page.get_by_role("textbox", name="Note")
    expect(note).to_be_focused()
    page.keyboard.type("Tight and 2 true")  # keys of a note choose nothing
    page.keyboard.press("Tab")
    until(lambda: judging_hand.read(store, comparison).note, 40)
    page.reload()
    ready(page, 3)
    expect(chosen).to_be_visible(timeout=SLOW)
    expect(note).to_have_value("Tight and 2 true", timeout=SLOW)
    expect(judging(page)).not_to_contain_text("secret")
    page.keyboard.press("n")
    expect(note).to_be_focused()
    page.keyboard.press("Enter")
    revealed = page.locator(".st-key-vote_revealed")
    expect(revealed).to_contain_text("You voted blind", timeout=SLOW)
    expect(revealed).to_contain_text(f"Answer B was {second.name} ")
    expect(revealed.get_by_role("listitem").filter(has_text="your choice")).to_contain_text(
        second.name
    )
    (verdict,) = verdicts(store, comparison)
    assert list(verdict.ratings.values()) == [4.0]
    assert (verdict.winner, verdict.blind, verdict.note) == (
        second.branch.id, True, "Tight and 2 true"
    )  # fmt: skip
    expect(judging(page)).to_contain_text("Verdicts so far")
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(judging(page)).to_contain_text("The verdict was removed", timeout=SLOW)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(judging(page)).to_contain_text("Tight and 2 true", timeout=SLOW)
    until(lambda: verdicts(store, comparison) == [verdict])


def test_everything_of_a_vote_is_in_reach_of_tab(desk: Desk) -> None:
    comparison = put_up(desk.server.store, *PLANS[:2])
    page = open_tab(desk, comparison)
    ready(page, 2)
    page.get_by_role("region", name="secret 1").focus()
    reached = []
    for _ in range(24):
        told = page.evaluate(FOCUSED)
        reached.append((told["name"], told["seen"]))
        page.keyboard.press("Tab")
    names = [name for name, seen in reached if seen]
    for wanted in (
        "vote_best_0",
        "vote_stars_0",
        "vote_best_1",
        "vote_tie",
        "vote_note",
        "vote_save",
    ):
        assert wanted in names, names


def test_a_judge_through_a_reload(desk: Desk) -> None:
    store = desk.server.store
    comparison = put_up(store, *PLANS[:2], done_when=script(delay=60))
    page = open_tab(desk, comparison, part="By a model")
    ask = page.get_by_role("button", name="Ask the judge")
    expect(ask).to_be_enabled(timeout=SLOW)
    expect(judging(page)).to_contain_text(re.compile(r"2 calls, ≈ [\d,]+ tokens to read, free"))
    ask.click()
    expect(judging(page)).to_contain_text("The judge is at work", timeout=SLOW)
    page.reload()
    expect(judging(page)).to_contain_text("A tie", timeout=2 * SLOW)
    expect(judging(page)).to_contain_text("changed its mind when the order was reversed")
    scores = page.get_by_role("region", name="Scores of the judge")
    expect(scores.get_by_role("row").filter(has_text="secret 1")).to_contain_text("3.0 – 9.0")
    page.locator("summary", has_text="Votes and reasons").click()
    expect(judging(page)).to_contain_text("it is number 2", timeout=SLOW)
    (verdict,) = verdicts(store, comparison)
    assert verdict.tie
    page = open_tab(desk, comparison, tab="Standings")
    expect(page.get_by_text("From 1 verdict.")).to_be_visible(timeout=SLOW)
    expect(page.get_by_role("region", name="Standings")).to_contain_text("Strength")


def test_a_judge_through_the_end_of_the_process(own_desk: Desk, watch: Watch) -> None:
    watch.allow(*LOST)
    store = own_desk.server.store
    comparison = put_up(store, *PLANS[:2], done_when=script(stall=3))
    page = open_tab(own_desk, comparison, part="By a model")
    ask = page.get_by_role("button", name="Ask the judge")
    expect(ask).to_be_enabled(timeout=SLOW)
    ask.click()
    expect(judging(page)).to_contain_text("0 of 2 votes", timeout=SLOW)
    own_desk.server.kill()
    own_desk.server.start()
    page.reload()
    again = page.get_by_role("button", name="Ask again for 2 votes")
    expect(again).to_be_visible(timeout=2 * SLOW)
    page.locator("summary", has_text="Votes and reasons").click()
    expect(judging(page)).to_contain_text("was interrupted", timeout=SLOW)
    again.click()
    stop = page.get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_visible(timeout=SLOW)
    stop.click()
    expect(again).to_be_visible(timeout=SLOW)
    until(lambda: not running(verdicts(store, comparison)[0]))


def test_checks_and_every_part_at_the_width_of_a_phone(desk: Desk) -> None:
    comparison = put_up(desk.server.store, *PLANS)
    desk.page.set_viewport_size({"width": 390, "height": 844})
    page = open_tab(desk, comparison, part="Checks")
    words = page.get_by_role("textbox", name="Words that must be there")
    expect(words).to_be_visible(timeout=SLOW)
    words.fill("owner")
    words.press("Enter")
    page.get_by_role("button", name="Add check").click()
    table = page.get_by_role("region", name="Results of the checks")
    row = table.get_by_role("row").filter(has_text="contains “owner”")
    expect(row).to_contain_text("✓ passed", timeout=SLOW)
    expect(row).to_contain_text("✗ failed")
    no_wider_than_the_screen(page)
    for part, seen in (("By hand", "Save verdict"), ("By a model", "Ask the judge")):
        open_tab(desk, comparison, part=part)
        expect(page.get_by_role("button", name=seen)).to_be_visible(timeout=SLOW)
        no_wider_than_the_screen(page)
    open_tab(desk, comparison, tab="Standings")
    expect(page.get_by_text("No verdicts yet")).to_be_visible(timeout=SLOW)
    no_wider_than_the_screen(page)
