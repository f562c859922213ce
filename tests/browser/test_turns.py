"""What a person does to a turn: fork, edit, ask again, compare, copy, mark, bin."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.browser.desk import Desk, conversation, lineage

TALK = ("first question", "first answer", "second question", "second answer")


@pytest.fixture
def talk(desk: Desk) -> Desk:
    """A tab on a conversation of two turns."""
    desk.open(conversation(desk.server.store, *TALK))
    expect(desk.answer(2)).to_be_visible()
    return desk


def branches(desk: Desk) -> dict[str, list[str]]:
    """The words of every branch of the session, by name."""
    store, session = desk.server.store, desk.place()["session"]
    return {
        branch.name: [node.text for node in store.nodes.lineage(branch.tip_id)]
        for branch in store.branches.of(session)
    }


def shown(desk: Desk, *texts: str) -> None:
    """Exactly these messages are shown."""
    expect(desk.words(desk.feed.get_by_role("article"))).to_have_text(list(texts))


# --- fork ------------------------------------------------------------------------------------


def test_fork_here_and_go_on_keeps_both_ways(talk: Desk) -> None:
    talk.act(talk.answer(1), "Fork here")
    shown(talk, *TALK[:2])
    talk.ask("another way", "another way", 2)
    shown(talk, *TALK[:2], "another way", "another way")
    assert sorted(branches(talk).values()) == sorted(
        [[*TALK], [*TALK[:2], "another way", "another way"]]
    )


def test_a_fork_is_named_where_it_leaves_and_one_click_goes_there(talk: Desk) -> None:
    talk.act(talk.answer(1), "Fork here")
    shown(talk, *TALK[:2])
    talk.ask("another way", "another way", 2)
    name = next(name for name in branches(talk) if name != "main")
    talk.branch("main").click()
    shown(talk, *TALK)
    talk.answer(1).get_by_role("button", name=f"Branch {name}").click()
    expect(talk.you(2)).to_contain_text("another way")
    expect(talk.facts()).to_contain_text(f"branch {name}")


@pytest.mark.parametrize("key", ["f", "button"])
def test_a_turn_is_forked_by_keyboard(talk: Desk, key: str) -> None:
    talk.answer(1).focus()
    if key == "f":
        talk.page.keyboard.press("f")
    else:
        talk.page.keyboard.press("Tab")
        expect(talk.answer(1).get_by_role("button", name="Fork here")).to_be_focused()
        talk.page.keyboard.press("Enter")
    shown(talk, *TALK[:2])


# --- edit ------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_an_edited_question_is_sent_as_a_new_version(talk: Desk, by: str) -> None:
    if by == "mouse":
        talk.act(talk.you(2), "Edit")
    else:
        talk.you(2).focus()
        talk.page.keyboard.press("e")
    area = talk.page.get_by_role("textbox", name="Edit this turn")
    expect(area).to_have_value("second question")
    area.fill("better question")
    if by == "mouse":
        talk.page.get_by_role("button", name="Send", exact=True).click()
    else:
        area.press("Control+Enter")
    shown(talk, *TALK[:2], "better question", "better question")
    expect(talk.you(2).get_by_text("2/2")).to_be_visible()
    assert [*TALK] in branches(talk).values()


def test_an_edited_answer_is_kept_beside_the_old_one_and_asks_no_model(talk: Desk) -> None:
    talk.act(talk.answer(2), "Edit")
    talk.page.get_by_role("textbox", name="Edit this answer").fill("my own words")
    talk.page.get_by_role("button", name="Save as new version").click()
    shown(talk, *TALK[:3], "my own words")
    expect(talk.answer(2)).to_contain_text("hand-edited")
    expect(talk.answer(2).get_by_text("2/2")).to_be_visible()
    assert list(branches(talk)) == ["main"]


def test_an_edit_can_be_left_and_its_words_are_there_again(talk: Desk) -> None:
    talk.act(talk.you(2), "Edit")
    area = talk.page.get_by_role("textbox", name="Edit this turn")
    area.fill("half a thought")
    talk.page.reload()
    expect(area).to_have_value("half a thought")
    area.press("Escape")
    expect(talk.words(talk.you(2))).to_have_text("second question")
    talk.act(talk.you(2), "Edit")
    expect(area).to_have_value("half a thought")


# --- ask again -------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_an_answer_is_asked_for_again(talk: Desk, by: str) -> None:
    if by == "mouse":
        talk.act(talk.answer(2), "Regenerate")
    else:
        talk.answer(2).focus()
        talk.page.keyboard.press("r")
    shown(talk, *TALK[:3], "second question")
    expect(talk.answer(2).get_by_text("2/2")).to_be_visible()


def test_an_answer_above_others_is_asked_for_again_without_losing_what_follows(talk: Desk) -> None:
    talk.act(talk.answer(1), "Regenerate")
    shown(talk, "first question", "first question")
    assert [*TALK] in branches(talk).values()
    assert len(branches(talk)) == 2


def test_another_model_is_asked_from_the_menu(talk: Desk) -> None:
    talk.act(talk.answer(2), "Regenerate with another model")
    menu = talk.page.get_by_role("menu", name="Regenerate with")
    menu.get_by_role("menuitem", name="Regenerate with Echo, slowly").click()
    expect(talk.page.get_by_role("article", name="Turn 2, answer by Echo, slowly")).to_be_visible()
    shown(talk, *TALK[:3], "second question")
    session = talk.server.store.sessions.get(talk.place()["session"])
    assert session.config.model == "echo-1"


def test_the_menu_of_models_is_walked_by_keyboard(talk: Desk) -> None:
    talk.answer(2).hover()
    talk.answer(2).get_by_role("button", name="Regenerate with another model").focus()
    talk.page.keyboard.press("Enter")
    expect(talk.page.get_by_role("menuitem").first).to_be_focused()
    talk.page.keyboard.press("End")
    expect(talk.page.get_by_role("menuitem").last).to_be_focused()
    talk.page.keyboard.press("Escape")
    expect(talk.page.get_by_role("menu")).to_have_count(0)


# --- versions --------------------------------------------------------------------------------


def three_versions(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, "say it", "one"))
    for text in ("two", "three"):
        desk.act(desk.answer(1), "Edit")
        desk.page.get_by_role("textbox", name="Edit this answer").fill(text)
        desk.page.get_by_role("button", name="Save as new version").click()
        expect(desk.words(desk.answer(1))).to_have_text(text)
    expect(desk.answer(1).get_by_text("3/3")).to_be_visible()


def test_versions_are_walked_by_mouse(desk: Desk) -> None:
    three_versions(desk)
    desk.answer(1).get_by_role("button", name="Previous version").click()
    expect(desk.answer(1).get_by_text("2/3")).to_be_visible()
    shown(desk, "say it", "two")
    desk.answer(1).get_by_role("button", name="Previous version").click()
    shown(desk, "say it", "one")
    expect(desk.answer(1).get_by_role("button", name="Previous version")).to_be_disabled()
    desk.answer(1).get_by_role("button", name="Next version").click()
    shown(desk, "say it", "two")


def test_versions_are_walked_by_keyboard_and_the_focus_stays(desk: Desk) -> None:
    three_versions(desk)
    desk.answer(1).focus()
    desk.page.keyboard.press("ArrowLeft")
    shown(desk, "say it", "two")
    expect(desk.answer(1)).to_be_focused()
    desk.page.keyboard.press("ArrowLeft")
    shown(desk, "say it", "one")
    expect(desk.answer(1)).to_be_focused()
    desk.page.keyboard.press("ArrowRight")
    shown(desk, "say it", "two")


def test_versions_of_a_question_bring_their_own_answers(talk: Desk) -> None:
    talk.act(talk.you(1), "Edit")
    talk.page.get_by_role("textbox", name="Edit this turn").fill("other start")
    talk.page.get_by_role("button", name="Send", exact=True).click()
    shown(talk, "other start", "other start")
    talk.you(1).get_by_role("button", name="Previous version").click()
    shown(talk, *TALK)


def test_looking_at_a_version_moves_only_this_tab(desk: Desk, new_tab: Callable[[], Desk]) -> None:
    three_versions(desk)
    second = new_tab().open(desk.server.store.sessions.get(desk.place()["session"]))
    desk.answer(1).get_by_role("button", name="Previous version").click()
    shown(desk, "say it", "two")
    shown(second, "say it", "three")
    assert next(iter(branches(desk).values())) == ["say it", "three"]


# --- look, copy, mark ------------------------------------------------------------------------


def test_news_of_another_tab_wait_while_the_page_is_at_work(
    talk: Desk, new_tab: Callable[[], Desk]
) -> None:
    other = new_tab().open(talk.server.store.sessions.get(talk.place()["session"]))
    app = talk.page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")
    works = "(app, state) => app.setAttribute('data-test-script-state', state)"
    app.evaluate(works, "running")  # on a click, which an early look would end
    other.act(other.answer(1), "Mark final")
    expect(other.answer(1)).to_have_class(re.compile("final"))
    talk.page.wait_for_timeout(600)
    assert "final" not in (talk.answer(1).get_attribute("class") or "")
    app.evaluate(works, "notRunning")
    expect(talk.answer(1)).to_have_class(re.compile("final"))


def test_changes_since_the_previous_answer_are_marked_word_by_word(desk: Desk) -> None:
    desk.open(
        conversation(desk.server.store, "a", "the cat sat down", "b", "the dog sat down quietly")
    )
    expect(
        desk.answer(1).get_by_role("button", name="Changes since the previous answer")
    ).to_have_count(0)
    desk.act(desk.answer(2), "Changes since the previous answer")
    changes = desk.answer(2).get_by_role("group", name="Changes since the previous answer")
    expect(changes.locator("del")).to_have_text(["cat"])
    expect(changes.locator("ins")).to_have_text(["dog", re.compile("quietly")])
    expect(changes).to_contain_text("2 words added, 1 word removed")
    desk.act(desk.answer(2), "Changes since the previous answer")
    expect(desk.words(desk.answer(2))).to_have_text("the dog sat down quietly")


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_copy_takes_the_exact_text(context: BrowserContext, desk: Desk, by: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = '**bold** and\n\n- `code`  \n- $5 -> "x"'
    desk.open(conversation(desk.server.store, "q", text))
    if by == "mouse":
        desk.act(desk.answer(1), "Copy")
    else:
        desk.answer(1).focus()
        desk.page.keyboard.press("c")
    expect(desk.page.get_by_text("Copied")).to_be_attached()
    assert desk.page.evaluate("navigator.clipboard.readText()") == text


def test_a_block_of_code_copies_alone(context: BrowserContext, desk: Desk) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    desk.open(conversation(desk.server.store, "q", "Run:\n\n```python\nprint(1)\n```\nDone."))
    desk.answer(1).get_by_role("button", name="Copy code").click()
    assert desk.page.evaluate("navigator.clipboard.readText()").strip() == "print(1)"


def test_the_raw_view_shows_what_was_written(desk: Desk) -> None:
    text = "# Head\n\n**bold** `code`"
    desk.open(conversation(desk.server.store, "q", text))
    expect(desk.answer(1).get_by_role("heading", name="Head")).to_be_visible()
    desk.act(desk.answer(1), "Raw view")
    assert desk.words(desk.answer(1)).inner_text() == text
    desk.act(desk.answer(1), "Raw view")
    expect(desk.answer(1).get_by_role("heading", name="Head")).to_be_visible()


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_an_answer_is_marked_final_and_unmarked(talk: Desk, by: str) -> None:
    def press(article: Locator) -> None:
        if by == "mouse":
            talk.act(article, "Mark final")
        else:
            article.focus()
            talk.page.keyboard.press("x")

    store, session = talk.server.store, talk.place()["session"]
    press(talk.answer(1))
    expect(talk.answer(1).get_by_text("final", exact=True)).to_be_visible()
    expect(talk.row("first answer, final")).to_be_visible()
    assert len(store.nodes.finals(session)) == 1
    press(talk.answer(1))
    expect(talk.answer(1).get_by_text("final", exact=True)).to_have_count(0)
    expect(talk.row("first answer, final")).to_have_count(0)
    assert store.nodes.finals(session) == []


# --- bin -------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_turn_goes_to_the_bin_and_undo_brings_all_of_it_back(talk: Desk, by: str) -> None:
    if by == "mouse":
        talk.act(talk.you(2), "Move to bin")
    else:
        talk.you(2).focus()
        talk.page.keyboard.press("Delete")
    shown(talk, *TALK[:2])
    talk.page.get_by_role("button", name="Undo last move").click()
    shown(talk, *TALK)


def test_a_turn_is_restored_from_the_bin_of_the_session(talk: Desk) -> None:
    talk.act(talk.you(2), "Move to bin")
    shown(talk, *TALK[:2])
    talk.page.get_by_text("Bin (1)").click()
    talk.page.get_by_role("button", name="Restore").click()
    shown(talk, *TALK)


def test_binning_what_is_being_answered_ends_the_answer(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, "before", "it"))
    desk.send("/stall 2\none two three")
    expect(desk.live).to_contain_text("two")
    desk.act(desk.you(2), "Move to bin")
    shown(desk, "before", "it")
    session = desk.server.store.sessions.get(desk.place()["session"])
    assert lineage(desk.server.store, session) == [("user", "before"), ("assistant", "it")]
    assert not desk.server.store.runs.not_ended(session.id)


# --- walking ---------------------------------------------------------------------------------


def test_turns_are_walked_with_alt_and_arrows(talk: Desk) -> None:
    talk.answer(2).focus()
    talk.page.keyboard.press("Alt+ArrowUp")
    expect(talk.you(2)).to_be_focused()
    talk.page.keyboard.press("Alt+ArrowUp")
    expect(talk.answer(1)).to_be_focused()
    talk.page.keyboard.press("Alt+ArrowDown")
    expect(talk.you(2)).to_be_focused()


def test_selected_words_are_quoted_into_the_composer(talk: Desk) -> None:
    talk.words(talk.answer(2)).locator("p").click(click_count=3)
    talk.page.get_by_role("toolbar", name="Selected text").get_by_role(
        "button", name="Quote"
    ).click()
    expect(talk.box).to_have_value("> second answer\n\n")
