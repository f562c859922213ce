"""Lanes side by side: read, go on in all or some, stop, retry, keep, drop, on any screen."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from core import Config, Store, Text
from core.branching import new_node
from core.lanes import lane_branch
from core.types import Comparison
from tests.browser.desk import ECHO, Desk, conversation, lineage
from tests.browser.server import Server

TALK = ("first question", "first answer", "second question", "second answer")
ASKED = "what shall it be?"
PATIENCE = 30_000  # ms; several lanes and a slow machine
KIND = replace(ECHO, system="Be kind.")
THINK = replace(ECHO, model="echo-think")


def lanes_of(
    store: Store, names: Sequence[str], configs: Sequence[Config], answers: Sequence[str]
) -> Comparison:
    """A talk of two turns, then a message that each lane has answered; "" is not asked yet."""
    session = conversation(store, *TALK, title="Talk")
    source = store.branches.get(str(session.current_branch_id))
    with store.write():
        asked = new_node(session.id, source.tip_id, "user", (Text(text=ASKED),))
        store.nodes.add(asked)
        made = store.comparisons.create(session.id, "Which one?", at_id=asked.id, seed=1)
        for name, config, answer in zip(names, configs, answers, strict=True):
            branch = lane_branch(store, source, asked, name, config)
            store.comparisons.add_lane(made.id, branch.id)
            if answer:
                node = new_node(
                    session.id, asked.id, "assistant", (Text(text=answer),), author="model"
                )
                store.nodes.add(node)
                store.branches.move(branch.id, node.id, why="answer")
    return made


class Board:
    """The compare page, as a person meets it."""

    def __init__(self, page: Page, server: Server, comparison: Comparison) -> None:
        self.page, self.server, self.comparison = page, server, comparison
        self.lanes = page.get_by_role("region", name="Lanes side by side")
        self.field = page.get_by_role("textbox", name="Follow up")

    def open(self) -> "Board":
        one = self.comparison
        address = f"compare?session={one.session_id}&comparison={one.id}"
        self.page.goto(self.server.url + address)
        expect(self.lanes).to_be_visible(timeout=PATIENCE)
        return self

    def head(self, name: str) -> Locator:
        return self.page.get_by_role("group", name=f"Lane {name}", exact=True)

    def cell(self, name: str, turn: int) -> Locator:
        return self.page.get_by_role("group", name=f"Lane {name}, turn {turn}", exact=True)

    def body(self, name: str, turn: int) -> Locator:
        """The words of the answer of a lane in a turn."""
        return self.cell(name, turn).locator("article.assistant .body")

    def says(self, name: str, turn: int, words: str | re.Pattern[str]) -> None:
        expect(self.body(name, turn)).to_have_text(words, timeout=PATIENCE)

    def tick(self, name: str) -> Locator:
        return self.page.get_by_role("checkbox", name=f"Follow up in {name}")

    def send(self, words: str) -> None:
        self.field.fill(words)
        self.field.press("Enter")
        expect(self.field).to_have_value("", timeout=PATIENCE)

    def choose(self, name: str, item: str) -> None:
        self.page.get_by_role("button", name=f"Menu of {name}").click()
        self.page.get_by_role("menuitem", name=item, exact=True).click()


Open = Callable[..., Board]


@pytest.fixture
def board(context: BrowserContext, server: Server) -> Open:
    """Open lanes of these names."""

    def make(
        *names: str,
        configs: Sequence[Config] | None = None,
        answers: Sequence[str] | None = None,
        page: Page | None = None,
    ) -> Board:
        made = lanes_of(
            server.store,
            names,
            configs or [ECHO] * len(names),
            answers or [f"answer of {name}" for name in names],
        )
        return Board(page or context.new_page(), server, made).open()

    return make


def left(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["x"]


def top(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["y"]


def test_lanes_are_read_side_by_side(board: Open) -> None:
    long = "\n\n".join(f"paragraph {n}" for n in range(8))
    names = ("one", "two", "three", "four", "five", "six")
    there = board(*names, configs=[ECHO, KIND, *[THINK] * 4], answers=[long, *["short answer"] * 5])
    there.says("two", 3, "short answer")
    # what is common stands there once, the beginning of it folded
    expect(there.lanes.get_by_text(ASKED)).to_have_count(1)
    expect(there.lanes.get_by_text("second answer")).to_be_hidden()
    there.lanes.get_by_text("Common beginning · 2 turns, 4 messages").click()
    expect(there.lanes.get_by_text("second answer")).to_be_visible()
    there.lanes.get_by_text("Common beginning").click()
    # turns in a row, settings that differ, facts
    assert top(there.cell("one", 3)) == pytest.approx(top(there.cell("two", 3)), abs=1)
    facts = there.page.get_by_role("group", name="Facts of two")
    expect(facts).to_contain_text("SystemBe kind.")
    expect(facts).to_contain_text("Length2 words")
    expect(there.head("three")).to_contain_text("Echo, thinking first")
    # six do not fit: the lanes scroll sideways, the heads go along and stay on top
    expect(there.head("six")).not_to_be_in_viewport()
    before = top(there.head("one"))
    there.lanes.evaluate("e => e.scrollTo(e.scrollWidth, 300)")
    expect(there.head("six")).to_be_in_viewport()
    assert left(there.head("six")) == pytest.approx(left(there.cell("six", 3)), abs=1)
    assert top(there.head("six")) == pytest.approx(before, abs=1)
    assert there.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_a_follow_up_goes_to_all_lanes_or_to_the_ticked_ones(board: Open) -> None:
    there = board("one", "two", "three")
    there.send("and now all of you")
    for name in ("one", "two", "three"):
        there.says(name, 4, "and now all of you")
    expect(there.lanes.locator(".question", has_text="and now all of you")).to_have_count(1)
    there.tick("two").uncheck()
    expect(there.page.get_by_role("button", name="Send to 2 lanes")).to_be_visible()
    there.send("only some of you")
    there.says("one", 5, "only some of you")
    there.says("three", 5, "only some of you")
    expect(there.lanes.get_by_text("in 2 of 3 lanes")).to_be_visible()
    expect(there.cell("two", 5)).to_have_count(0)
    store, session = (
        there.server.store,
        there.server.store.sessions.get(there.comparison.session_id),
    )
    said = {
        name: [text for _, text in lineage(store, session, name)][5:] for name in ("one", "two")
    }
    assert said == {
        "one": ["answer of one", *["and now all of you"] * 2, *["only some of you"] * 2],
        "two": ["answer of two", *["and now all of you"] * 2],
    }
    # the next one to all stands in one row again, and the tick outlives a reload
    there.page.reload()
    expect(there.tick("two")).not_to_be_checked(timeout=PATIENCE)
    there.tick("two").check()
    there.send("together again")
    there.says("two", 5, "together again")
    there.says("one", 6, "together again")
    assert top(there.cell("two", 5)) == pytest.approx(top(there.cell("one", 6)), abs=1)


def test_lanes_stream_side_by_side_outlive_a_reload_and_are_stopped_one_by_one(
    board: Open,
) -> None:
    there = board("one", "two")
    there.send("/stall 3\nthese are the first words")
    for name in ("one", "two"):
        expect(there.cell(name, 4).get_by_role("article")).to_contain_text(
            "these are the", timeout=PATIENCE
        )
    there.page.reload()
    for name in ("one", "two"):
        expect(there.cell(name, 4).get_by_role("article")).to_contain_text(
            "these are the", timeout=PATIENCE
        )
    # what is said to a lane that is being answered waits there
    there.tick("two").uncheck()
    there.send("when you are done")
    waiting = there.page.get_by_role("group", name="Queued in one")
    expect(waiting).to_contain_text("when you are done", timeout=PATIENCE)
    expect(there.page.get_by_role("group", name="Queued in two")).to_have_count(0)
    there.page.get_by_role("button", name="Stop one").click()
    there.says("one", 4, "these are the")
    expect(there.cell("one", 4)).to_contain_text("stopped by you", timeout=PATIENCE)
    expect(there.page.get_by_role("button", name="Stop two")).to_be_visible()
    expect(there.page.get_by_role("button", name="Continue the answer of one")).to_be_visible()
    expect(waiting).to_contain_text("Held")
    waiting.get_by_role("button", name="Take back").click()
    expect(there.field).to_have_value("when you are done", timeout=PATIENCE)
    there.page.get_by_role("button", name="Stop two").click()
    there.says("two", 4, "these are the")
    # words that were not sent are there again
    there.page.reload()
    expect(there.field).to_have_value("when you are done", timeout=PATIENCE)
    there.send("when you are done")
    there.says("one", 5, "when you are done")


def test_files_go_to_all_lanes_and_outlive_a_reload(board: Open) -> None:
    there = board("one", "two")
    with there.page.expect_file_chooser() as chosen:
        there.page.get_by_role("button", name="Attach files").click()
    chosen.value.set_files(
        [
            {"name": name, "mimeType": "text/plain", "buffer": name.encode()}
            for name in ("plan.txt", "other.txt")
        ]
    )
    files = there.page.get_by_role("group", name="Files for the next follow-up")
    expect(files.get_by_role("button", name="Preview")).to_have_count(2, timeout=PATIENCE)
    there.page.reload()
    files.get_by_role("button", name="Remove other.txt").click(timeout=PATIENCE)
    expect(files.get_by_role("button", name="Preview")).to_have_count(1, timeout=PATIENCE)
    there.send("look at this")
    there.says("one", 4, "look at this")
    there.says("two", 4, "look at this")
    expect(files).to_be_hidden(timeout=PATIENCE)
    question = there.lanes.locator(".question", has_text="look at this")
    expect(question.get_by_role("button", name="Preview plan.txt")).to_be_visible()


def test_a_lane_that_failed_is_retried_and_one_that_was_not_asked_is_asked(board: Open) -> None:
    there = board("one", "two", answers=["answer of one", ""])
    there.page.get_by_role("button", name="Ask two").click()
    there.says("two", 3, ASKED)
    there.tick("one").uncheck()
    there.send("/fail BadRequest 1\nsecond try")
    card = there.page.get_by_role("alert").filter(has_text="BadRequest")
    expect(card).to_be_visible(timeout=PATIENCE)
    there.page.get_by_role("button", name="Retry in two").click()
    there.says("two", 4, "second try")
    expect(card).to_have_count(0)


def test_a_lane_is_renamed_kept_dropped_brought_back_and_opened(board: Open) -> None:
    there = board("one", "two", "three")
    there.choose("one", "Rename")
    field = there.page.get_by_role("textbox", name="New name of one")
    field.fill("better")
    field.press("Enter")
    expect(there.head("better")).to_be_visible(timeout=PATIENCE)
    there.choose("two", "Drop")
    expect(there.head("two")).to_have_count(0, timeout=PATIENCE)
    there.page.get_by_role("button", name="Bring back two").click()
    expect(there.head("two")).to_be_visible(timeout=PATIENCE)
    assert left(there.head("better")) < left(there.head("two")) < left(there.head("three"))
    there.choose("three", "Keep as main")
    expect(there.head("three")).to_contain_text("kept", timeout=PATIENCE)
    there.choose("two", "Open in the playground")
    desk = Desk(there.page, there.server)
    expect(desk.feed).to_be_visible(timeout=PATIENCE)
    expect(desk.words(desk.answer(3))).to_have_text("answer of two")
    # and back again: the branch knows the comparison that it is a lane of
    there.page.get_by_role("main").get_by_role("link", name="Compare").click()
    expect(there.head("three")).to_contain_text("kept", timeout=PATIENCE)
    assert there.comparison.id in there.page.url


def test_a_blind_look_shows_neither_names_nor_models_nor_numbers(board: Open) -> None:
    there = board("one", "two", configs=[ECHO, THINK])
    there.says("two", 3, "answer of two")
    there.page.get_by_text("Blind", exact=True).click()
    expect(there.head("A")).to_be_visible(timeout=PATIENCE)
    expect(there.head("B")).to_be_visible()
    there.send("say more")
    there.says("A", 4, "say more")
    there.says("B", 4, "say more")
    shown = there.lanes.inner_html() + (there.lanes.text_content() or "")
    for secret in (
        "Echo",
        "echo-think",
        "scripted",
        "Thinking",
        "tokens",
        "First word",
        "Lane one",
    ):
        assert secret not in shown, secret
    there.page.get_by_text("Blind", exact=True).click()
    expect(there.head("two")).to_contain_text("Echo, thinking first", timeout=PATIENCE)


def test_one_lane_more_is_a_branch_that_is_there_or_another_model(board: Open) -> None:
    there = board("one", "two")
    there.page.get_by_role("button", name="Add lane").click()
    there.page.get_by_role("button", name="Add this branch").click()
    expect(there.head("main")).to_be_visible(timeout=PATIENCE)
    expect(there.page.get_by_role("button", name="Add this branch")).to_be_hidden()
    there.page.get_by_role("button", name="Add lane").click()
    there.page.get_by_role("button", name="Another model").click()
    dialog = there.page.get_by_role("dialog").filter(has_text="Add a lane")
    expect(dialog).to_be_visible(timeout=PATIENCE)
    expect(there.page.get_by_role("button", name="Another model")).to_be_hidden()


def test_branches_are_chosen_from_the_playground(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store, *TALK)
    first = store.nodes.lineage(store.branches.get(str(session.current_branch_id)).tip_id)[1]
    store.branches.create(session.id, "other way", first.id, forked_from=first.id)
    desk.open(session)
    desk.page.get_by_role("main").get_by_role("link", name="Compare").click()
    menu = desk.page.get_by_role("combobox", name="Branches to compare")
    expect(menu).to_be_visible(timeout=PATIENCE)
    menu.click()
    desk.page.get_by_role("option", name="other way").click()
    desk.page.keyboard.press("Escape")
    desk.page.get_by_role("button", name="Put side by side").click()
    lanes = desk.page.get_by_role("region", name="Lanes side by side")
    expect(lanes).to_contain_text("second answer", timeout=PATIENCE)
    expect(lanes.get_by_role("checkbox")).to_have_count(2)


def test_on_a_phone_one_lane_is_read_at_a_time(
    board: Open, new_context: Callable[..., BrowserContext]
) -> None:
    phone = new_context(
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        device_scale_factor=2,
    )
    wide = "| " + " | ".join(f"column {n}" for n in range(20)) + " |\n|" + "---|" * 20
    there = board("one", "two", "three", answers=[wide, "w" * 300, "third"], page=phone.new_page())
    expect(there.head("one")).to_be_visible(timeout=PATIENCE)
    expect(there.head("two")).to_be_hidden()
    there.page.get_by_role("tab", name="two").click()
    expect(there.head("two")).to_be_visible()
    expect(there.cell("one", 3)).to_be_hidden()
    there.page.get_by_role("tab", name="three").click()
    there.says("three", 3, "third")
    there.field.fill("from the phone")
    there.page.get_by_role("button", name="Send to 3 lanes").click()
    there.says("three", 4, "from the phone")
    there.page.get_by_role("tab", name="one").click()
    there.says("one", 4, "from the phone")
    assert there.page.evaluate("document.scrollingElement.scrollWidth") <= 390
    over: list[str] = there.lanes.evaluate(
        """box => [...box.querySelectorAll('button, input, .turn, .fact')]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth)
        .map((e) => e.outerHTML.slice(0, 200))"""
    )
    assert over == []
