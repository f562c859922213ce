"""The tree, the search and deep links: three ways to the very message one wants."""

from collections.abc import Callable
from itertools import chain

import pytest
from playwright.sync_api import expect

from core import Session, fork
from tests.browser.desk import Desk, conversation, extend

TALK = ("first question", "first answer", "second question", "second answer")


@pytest.fixture
def session(desk: Desk) -> Session:
    """Two branches: main goes on, "shorter" stops after the first turn."""
    store = desk.server.store
    made = conversation(store, *TALK)
    first_answer = store.nodes.lineage(store.branches.of(made.id)[0].tip_id)[1]
    fork(store, first_answer.id, from_branch=store.branches.of(made.id)[0].id, name="shorter")
    store.sessions.change(made.id, current_branch_id=made.current_branch_id)
    return store.sessions.get(made.id)


@pytest.fixture
def talk(desk: Desk, session: Session) -> Desk:
    desk.open(session)
    expect(desk.row("second answer")).to_be_visible()
    expect(desk.answer(2)).to_be_visible()
    return desk


def names(desk: Desk) -> set[str]:
    return {b.name for b in desk.server.store.branches.of(desk.place()["session"])}


def test_a_click_on_a_message_goes_there(talk: Desk) -> None:
    talk.row("first question").click()
    expect(talk.row("first question")).to_have_attribute("aria-selected", "true")
    expect(talk.you(1)).to_be_in_viewport()
    assert "node" in talk.place()


def test_a_click_on_a_branch_goes_there(talk: Desk) -> None:
    talk.branch("shorter").click()
    expect(talk.you(2)).to_have_count(0)
    expect(talk.facts()).to_contain_text("branch shorter")


def test_arrows_walk_the_tree_and_enter_opens(talk: Desk) -> None:
    talk.tree.focus()
    talk.page.keyboard.press("Home")
    expect(talk.tree).to_have_attribute(
        "aria-activedescendant", talk.row("first q").get_attribute("id") or ""
    )
    for _ in range(3):
        talk.page.keyboard.press("ArrowDown")
    talk.page.keyboard.press("ArrowLeft")
    talk.page.keyboard.press("Enter")
    expect(talk.row("second question")).to_have_attribute("aria-selected", "true")
    expect(talk.tree).to_be_focused()


def test_f_on_a_message_of_the_tree_forks_there(talk: Desk) -> None:
    talk.row("first question").click()
    talk.page.keyboard.press("f")
    expect(talk.facts()).to_contain_text("branch turn 1 · take 2")
    expect(talk.answer(1)).to_have_count(0)
    assert len(names(talk)) == 3


@pytest.mark.parametrize("by", ["menu", "F2"])
def test_a_branch_is_renamed(talk: Desk, by: str) -> None:
    if by == "menu":
        talk.row_menu("second answer", "Rename branch")
    else:
        talk.row("second answer").click()
        talk.page.keyboard.press("F2")
    box = talk.page.get_by_role("textbox", name="Branch name")
    box.fill("the long way")
    box.press("Enter")
    expect(talk.branch("the long way")).to_be_visible()
    expect(talk.facts()).to_contain_text("branch the long way")
    assert names(talk) == {"the long way", "shorter"}


def test_a_name_in_use_is_refused_with_words(talk: Desk) -> None:
    talk.row_menu("second answer", "Rename branch")
    box = talk.page.get_by_role("textbox", name="Branch name")
    box.fill("shorter")
    box.press("Enter")
    expect(talk.page.get_by_role("alert")).to_contain_text("already called 'shorter'")
    assert names(talk) == {"main", "shorter"}


def test_a_branch_goes_to_the_bin_and_comes_back(talk: Desk) -> None:
    talk.row_menu("first answer", "Move branch to bin")
    expect(talk.branch("shorter")).to_have_count(0)
    assert names(talk) == {"main"}
    talk.page.get_by_text("Bin (1)").click()
    talk.page.get_by_role("button", name="Restore").click()
    expect(talk.branch("shorter")).to_be_visible()
    assert names(talk) == {"main", "shorter"}


def test_the_last_move_of_a_branch_is_undone_by_mouse_and_by_keyboard(talk: Desk) -> None:
    talk.ask("third", "third", 3)
    undo = talk.page.get_by_role("button", name="Undo last move")
    undo.click()
    expect(talk.answer(3)).to_have_count(0)
    talk.tree.focus()
    talk.page.keyboard.press("Control+z")
    expect(talk.you(3)).to_have_count(0)
    expect(talk.answer(2)).to_be_visible()


def test_the_tree_grows_while_one_talks(talk: Desk) -> None:
    talk.ask("a new leaf", "a new leaf", 3)
    expect(
        talk.row("Assistant (echo-1): a new leaf, tip of the current branch main")
    ).to_be_visible()


# --- search ----------------------------------------------------------------------------------


@pytest.fixture
def long(desk: Desk) -> Session:
    """A hundred turns; one of the first has a word of its own."""
    turns = chain.from_iterable((f"question {n}", f"answer {n}") for n in range(1, 101))
    return conversation(desk.server.store, *turns, title="A long talk")


def test_a_search_hit_opens_the_very_message(desk: Desk, long: Session) -> None:
    store = desk.server.store
    extend(store, long, "where is the " + long.id[-8:], "here")
    extend(store, long, *(f"more {n}" for n in range(80)))
    desk.open(conversation(store, "elsewhere", "yes"))
    search = desk.page.get_by_role("textbox", name="Search sessions and messages")
    search.fill(long.id[-8:])
    search.press("Enter")
    desk.sidebar.get_by_role("button", name="where is the").click()
    expect(desk.you(101)).to_be_in_viewport()
    assert desk.place()["session"] == long.id


def test_a_search_finds_messages_of_every_branch_and_titles(desk: Desk) -> None:
    store = desk.server.store
    made = conversation(store, *TALK, title="Zanzibar plans")
    first = store.nodes.lineage(store.branches.of(made.id)[0].tip_id)[1]
    fork(store, first.id, from_branch=store.branches.of(made.id)[0].id)
    desk.open(made)
    desk.ask("a quokka on another branch", "a quokka on another branch", 2)
    desk.branch("main").click()
    expect(desk.answer(2)).to_be_visible()
    search = desk.page.get_by_role("textbox", name="Search sessions and messages")
    search.fill("quokka")
    search.press("Enter")
    desk.sidebar.get_by_role("button", name="quokka").first.click()
    expect(desk.feed.get_by_text("a quokka on another branch").first).to_be_in_viewport()
    search.fill("zanzi")
    search.press("Enter")
    expect(desk.sidebar.get_by_role("button", name="Zanzibar plans").first).to_be_visible()
    search.fill("nosuchwordanywhere")
    search.press("Enter")
    expect(desk.sidebar).to_contain_text("Nothing has the words")


# --- deep links ------------------------------------------------------------------------------


def test_a_link_opens_exactly_what_was_open(talk: Desk, new_tab: Callable[[], Desk]) -> None:
    talk.branch("shorter").click()
    expect(talk.facts()).to_contain_text("branch shorter")
    talk.row("second question").click()
    expect(talk.row("second question")).to_have_attribute("aria-selected", "true")
    second = new_tab()
    second.page.goto(talk.page.url)
    expect(second.you(2)).to_be_in_viewport()
    expect(second.row("second question")).to_have_attribute("aria-selected", "true")


def test_a_reload_returns_to_the_branch_one_was_on(talk: Desk) -> None:
    talk.branch("shorter").click()
    expect(talk.facts()).to_contain_text("branch shorter")
    talk.page.reload()
    expect(talk.facts()).to_contain_text("branch shorter")
    expect(talk.you(2)).to_have_count(0)


def test_a_link_into_a_long_conversation_scrolls_to_its_message(desk: Desk, long: Session) -> None:
    store = desk.server.store
    third = store.nodes.lineage(store.branches.of(long.id)[0].tip_id)[5]
    desk.open(long, node=third.id)
    expect(desk.answer(3)).to_be_in_viewport()
    expect(desk.words(desk.answer(3))).to_have_text("answer 3")


def test_all_of_a_long_conversation_can_be_scrolled_to(desk: Desk, long: Session) -> None:
    desk.open(long)
    expect(desk.answer(100)).to_be_in_viewport()
    for _ in range(40):
        if desk.you(1).count():
            break
        desk.feed.get_by_role("article").first.scroll_into_view_if_needed()
    expect(desk.words(desk.you(1))).to_have_text("question 1")


def test_a_link_to_a_session_that_is_gone_says_so_and_leads_to_the_start(desk: Desk) -> None:
    desk.page.goto(desk.server.url + "?session=01NOSUCHSESSION0000000000")
    expect(desk.page.get_by_role("alert")).to_contain_text("There is no such session.")
    expect(desk.box).to_be_enabled()
