"""Replays, re-runs and a matrix in a real browser: begun from their menus, followed to the end."""

import re

import pytest
from playwright.sync_api import Locator, expect

from core import Session, Store
from core.types import Job
from tests.browser.desk import Desk, conversation
from tests.unit.house import until

TALK = ("/count", "an old answer", "/context", "another old answer")
SLOW = 60_000  # ms, on a machine with much else to do


def dialog(desk: Desk, name: str) -> Locator:
    return desk.page.get_by_role("dialog", name=name)


def the_job(store: Store, session: Session) -> Job:
    return store.jobs.of(session.id)[0]


def done(store: Store, session: Session) -> str:
    """Wait for the end of the latest job; the branch that it has built."""
    until(lambda: bool(store.jobs.of(session.id)), 60)
    until(lambda: the_job(store, session).state == "done", 60)
    (line,) = store.jobs.lines(the_job(store, session).id)
    return str(line.branch_id)


def texts(store: Store, branch_id: str) -> list[str]:
    return [node.text for node in store.nodes.lineage(store.branches.get(branch_id).tip_id)]


@pytest.mark.parametrize(
    ("mode", "told", "other"),
    [
        ("Free", "context 1 messages", "an old answer"),
        ("Teacher-forced", "an old answer", "context 1 messages"),
    ],
)
def test_a_branch_is_replayed_from_its_menu(desk: Desk, mode: str, told: str, other: str) -> None:
    store = desk.server.store
    session = conversation(store, *TALK, "/delay 2500\nlast words", "old words")
    desk.open(session)
    desk.row_menu("old words", "Replay branch…")
    shown = dialog(desk, "Replay a branch")
    shown.get_by_text(mode, exact=True).click()
    expect(shown.get_by_role("radio", name=mode)).to_be_checked()
    expect(shown.get_by_text(re.compile("3 calls · ≈ .* tokens in"))).to_be_visible()
    shown.get_by_role("button", name="Start the replay").click()
    expect(shown).to_have_count(0, timeout=SLOW)
    until(lambda: states(store, session) == ["done", "done", "running"], 60)
    desk.page.reload()  # in the middle of the last turn
    expect(desk.feed).to_be_attached(timeout=SLOW)
    built = texts(store, done(store, session))
    assert built[1] == "context 1 messages"
    assert told in built[3]
    assert other not in built[3]
    expect(desk.facts()).to_contain_text(f"· {mode.lower()}", timeout=SLOW)
    expect(desk.words(desk.answer(2))).to_contain_text(told, timeout=SLOW)
    assert texts(store, str(session.current_branch_id)) == [
        *TALK,
        "/delay 2500\nlast words",
        "old words",
    ]


def test_a_job_is_paused_resumed_and_its_turn_opened(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store, "/delay 700\none two three", "x", "four", "y", "five", "z")
    desk.open(session)
    desk.act(desk.you(1), "More")
    desk.page.get_by_role("menuitem", name="Replay from this turn on…").click()
    shown = dialog(desk, "Replay a branch")
    shown.get_by_role("button", name="Start the replay").click()
    desk.page.get_by_role("button", name="Pause").click(timeout=SLOW)
    until(lambda: the_job(store, session).state == "paused", 60)
    expect(desk.page.get_by_role("button", name="Resume")).to_be_visible(timeout=SLOW)
    desk.page.reload()
    desk.page.get_by_role("link", name="All jobs").click(timeout=SLOW)
    expect(desk.page.get_by_text("Replay · paused")).to_be_visible(timeout=SLOW)
    desk.page.get_by_role("button", name="Resume").click()
    expect(desk.page.get_by_text("3 of 3 turns")).to_be_visible(timeout=SLOW)
    expect(desk.page.get_by_text("Replay · done")).to_be_visible(timeout=SLOW)
    desk.page.get_by_role("button", name="Open turn 3").click()
    expect(desk.words(desk.answer(3))).to_have_text("five", timeout=SLOW)
    assert desk.place()["branch"] == done(store, session)


def test_what_a_crash_interrupted_is_shown_so_and_resumed(own_desk: Desk) -> None:
    desk, store = own_desk, own_desk.server.store
    words = "/delay 1500\none two three four five six seven eight"
    session = conversation(store, "quick", "x", words, "y", "last", "z")
    desk.open(session)
    desk.row_menu("z", "Replay branch…")
    shown = dialog(desk, "Replay a branch")
    shown.get_by_role("button", name="Start the replay").click()
    expect(desk.page.get_by_role("button", name="Pause")).to_be_visible(timeout=SLOW)
    until(lambda: states(store, session)[:2] == ["done", "running"], 60)
    desk.page.goto("about:blank")  # a tab that stays is another test's
    desk.server.kill()
    desk.server.start()
    desk.page.goto(f"{desk.server.url}compare?session={session.id}&tab=Jobs")
    expect(desk.page.get_by_text("1 of 3 turns · 1 interrupted")).to_be_visible(timeout=SLOW)
    expect(desk.page.get_by_text("Turntree ended while this ran.")).to_be_visible()
    desk.page.get_by_role("button", name="Resume").click()
    expect(desk.page.get_by_text("Replay · done")).to_be_visible(timeout=SLOW)
    built = texts(store, done(store, session))
    assert built == ["quick", "quick", words, words.partition("\n")[2], "last", "last"]
    assert [step.tries for step in store.jobs.steps(the_job(store, session).id)] == [1, 2, 1]


def states(store: Store, session: Session) -> list[str]:
    jobs = store.jobs.of(session.id)
    return [step.state for step in store.jobs.steps(jobs[0].id)] if jobs else []


def test_a_turn_is_changed_and_all_below_is_asked_again(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store, *TALK)
    desk.open(session)
    desk.act(desk.you(1), "More")
    desk.page.get_by_role("menuitem", name="Change and re-run below…").click()
    shown = dialog(desk, "Change and re-run below")
    field = shown.get_by_role("textbox", name="Turn 1")
    expect(field).to_have_value("/count")
    field.fill("Other words.")
    field.press("Control+Enter")
    expect(shown.get_by_text(re.compile("2 calls · ≈"))).to_be_visible()
    shown.get_by_role("button", name="Re-run").click()
    expect(shown).to_have_count(0, timeout=SLOW)
    built = texts(store, done(store, session))
    assert built[:3] == ["Other words.", "Other words.", "/context"]
    expect(desk.words(desk.you(1))).to_have_text("Other words.", timeout=SLOW)
    expect(desk.words(desk.answer(2))).to_contain_text("Other words.", timeout=SLOW)


def test_a_small_matrix_fills_its_table_and_a_cell_opens(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store, *TALK)
    desk.page.goto(f"{desk.server.url}compare?session={session.id}")
    desk.page.get_by_role("button", name="New matrix").click(timeout=SLOW)
    shown = dialog(desk, "Matrix")
    for name, words in (
        ("What every cell is asked", "Tell {{reader}} of {{topic}}."),
        ("Values of reader, one a line", "a child\na baker"),
        ("Values of topic, one a line", "bread\ncakes"),
    ):
        field = shown.get_by_role("textbox", name=name)
        field.fill(words)
        field.press("Control+Enter")
    expect(shown.get_by_text(re.compile("4 calls · ≈"))).to_be_visible(timeout=SLOW)
    shown.get_by_role("button", name="Start 4 cells").click()
    expect(shown).to_have_count(0, timeout=SLOW)
    expect(desk.page.get_by_text("Matrix · done")).to_be_visible(timeout=SLOW)
    expect(desk.page.get_by_text("4 of 4 calls")).to_be_visible()
    said = [cell.answer for cell in store.jobs.cells(the_job(store, session).id)]
    assert said == [
        f"Tell {reader} of {topic}."
        for reader in ("a child", "a baker")
        for topic in ("bread", "cakes")
    ]
    table = desk.page.get_by_test_id("stDataFrame").first
    expect(table).to_be_visible()
    table.click(position={"x": 16, "y": 50})  # drawn on a canvas: by place
    desk.page.get_by_role("button", name="Open the branch").click(timeout=SLOW)
    expect(desk.words(desk.answer(1))).to_have_text("Tell a child of bread.", timeout=SLOW)
