"""An answer belongs to the process, not to the page: nothing that happens to a tab ends it."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from core import Session
from tests.browser.conftest import LOST, Watch
from tests.browser.desk import Desk, conversation, lineage

WORDS = [f"w{number}" for number in range(1, 61)]
WHOLE = " ".join(WORDS)
SLOWLY = f"/delay 40\n{WHOLE}"  # two and a half seconds
STALLED = "/stall 5\none two three four five six seven"


def start(desk: Desk, text: str = SLOWLY, seen: str = "w5 ") -> None:
    """Send, and wait until the answer is on its way."""
    desk.send(text)
    expect(desk.live).to_contain_text(seen)


def whole(desk: Desk, turn: int = 1) -> None:
    """The answer is there, with every word."""
    expect(desk.words(desk.answer(turn))).to_have_text(WHOLE)
    expect(desk.live).to_have_count(0)


@pytest.fixture
def empty(desk: Desk) -> Desk:
    """A tab on a session in which nothing has been said."""
    return desk.open(conversation(desk.server.store))


def session_of(desk: Desk) -> Session:
    return desk.server.store.sessions.get(desk.place()["session"])


def test_an_answer_streams_word_by_word_and_is_then_written_down(empty: Desk) -> None:
    start(empty)
    expect(empty.live).not_to_contain_text("w60")
    whole(empty)
    assert lineage(empty.server.store, session_of(empty)) == [
        ("user", SLOWLY),
        ("assistant", WHOLE),
    ]


def test_an_answer_that_is_over_at_once_is_shown_however_fast_one_sends(desk: Desk) -> None:
    desk.page.goto(desk.server.url + f"?session={conversation(desk.server.store).id}")
    desk.box.fill("quick")
    desk.box.press("Enter")
    expect(desk.words(desk.answer(1))).to_have_text("quick")
    for turn in range(2, 6):
        desk.ask(f"again {turn}", f"again {turn}", turn)


@pytest.mark.parametrize("by", ["mouse", "Esc"])
def test_stop_keeps_what_has_arrived(empty: Desk, by: str) -> None:
    start(empty, STALLED, "five")
    if by == "mouse":
        empty.live.get_by_role("button", name="Stop answering").click()
    else:
        empty.page.keyboard.press("Escape")
    answer = empty.answer(1)
    expect(empty.words(answer)).to_have_text("one two three four five")
    expect(answer).to_contain_text("stopped by you")
    expect(answer.get_by_role("button", name="Continue")).to_be_visible()
    assert lineage(empty.server.store, session_of(empty))[1][1] == "one two three four five"


def test_a_stopped_answer_goes_on_where_it_stopped(empty: Desk) -> None:
    start(empty)
    empty.live.get_by_role("button", name="Stop answering").click()
    answer = empty.answer(1)
    expect(answer).to_contain_text("stopped by you")
    answer.get_by_role("button", name="Continue").click()
    whole(empty)
    expect(empty.answer(1)).not_to_contain_text("stopped by you")


def test_another_widget_does_not_end_an_answer(empty: Desk) -> None:
    start(empty)
    title = empty.page.get_by_role("textbox", name="Title")
    title.fill("Renamed meanwhile")
    title.press("Enter")
    expect(empty.sidebar.get_by_role("button", name="Renamed meanwhile")).to_be_visible()
    whole(empty)
    assert session_of(empty).title == "Renamed meanwhile"


def test_a_page_switch_does_not_end_an_answer(empty: Desk) -> None:
    start(empty)
    session = session_of(empty)
    empty.page.get_by_role("link", name="All sessions and bin").click()
    expect(empty.page.get_by_role("heading", name="Sessions")).to_be_visible()
    empty.page.get_by_role("tabpanel").get_by_role("button", name="Open").first.click()
    expect(empty.feed).to_be_visible()
    assert empty.place()["session"] == session.id
    whole(empty)


def test_a_reload_does_not_end_an_answer(empty: Desk) -> None:
    start(empty)
    empty.page.reload()
    whole(empty)


def test_after_a_reload_a_running_answer_is_shown_from_its_beginning(empty: Desk) -> None:
    start(empty, STALLED, "five")
    empty.page.reload()
    expect(empty.words(empty.live)).to_have_text("one two three four five")
    empty.live.get_by_role("button", name="Stop answering").click()
    expect(empty.words(empty.answer(1))).to_have_text("one two three four five")


def test_a_second_tab_sees_the_whole_stream(empty: Desk, new_tab: Callable[[], Desk]) -> None:
    start(empty)
    second = new_tab().open(session_of(empty))
    whole(second)
    whole(empty)


def test_a_second_tab_sees_a_running_answer_from_its_beginning_and_may_stop_it(
    empty: Desk, new_tab: Callable[[], Desk]
) -> None:
    start(empty, STALLED, "five")
    second = new_tab().open(session_of(empty))
    expect(second.words(second.live)).to_have_text("one two three four five")
    second.live.get_by_role("button", name="Stop answering").click()
    for tab in (second, empty):
        expect(tab.answer(1)).to_contain_text("stopped by you")


def test_a_second_tab_hears_of_an_answer_that_another_one_asked_for(
    empty: Desk, new_tab: Callable[[], Desk]
) -> None:
    empty.ask("first", "first", 1)
    second = new_tab().open(session_of(empty))
    start(empty)
    expect(second.you(2)).to_be_visible()
    expect(second.live).to_contain_text("w5")
    whole(second, 2)


def test_a_closed_tab_does_not_end_an_answer(empty: Desk, new_tab: Callable[[], Desk]) -> None:
    start(empty)
    session = session_of(empty)
    empty.page.close()
    whole(new_tab().open(session))


def test_a_tab_without_network_catches_up(empty: Desk, watch: Watch) -> None:
    watch.allow(r"ERR_INTERNET_DISCONNECTED", r"WebSocket")
    start(empty)
    empty.page.context.set_offline(True)
    expect(empty.page.get_by_role("main")).to_be_visible()
    empty.page.context.set_offline(False)
    whole(empty)


# --- the process itself dies -----------------------------------------------------------------

LONG = " ".join(f"w{number}" for number in range(1, 201))
LONG_SLOWLY = f"/delay 20\n{LONG}"
HALF_A_SECOND = 25  # words


def killed_midway(desk: Desk, watch: Watch) -> int:
    """Kill the server while an answer streams, start it again; the words that were shown."""
    watch.allow(*LOST)
    desk.send(LONG_SLOWLY)
    expect(desk.live).to_contain_text("w60")
    shown = len(desk.words(desk.live).inner_text().split())
    desk.server.kill()
    desk.server.start()
    return shown


def interrupted(desk: Desk) -> Locator:
    answer = desk.answer(1)
    expect(answer).to_contain_text("interrupted", timeout=30_000)
    return answer


def test_after_a_crash_the_same_tab_shows_the_answer_as_interrupted_and_continues_it(
    own_desk: Desk, watch
) -> None:
    desk = own_desk.open(conversation(own_desk.server.store))
    shown = killed_midway(desk, watch)
    answer = interrupted(desk)
    kept = desk.words(answer).inner_text().split()
    assert len(kept) >= shown - HALF_A_SECOND
    assert LONG.startswith(" ".join(kept))
    expect(desk.words(desk.you(1))).to_have_text(LONG_SLOWLY)
    expect(answer.get_by_role("button", name="Retry")).to_be_visible()
    answer.get_by_role("button", name="Continue").click()
    expect(desk.words(desk.answer(1))).to_have_text(LONG, timeout=20_000)
    expect(desk.answer(1)).not_to_contain_text("interrupted")


def test_after_a_crash_the_answer_can_be_asked_for_again(own_desk: Desk, watch: Watch) -> None:
    desk = own_desk.open(conversation(own_desk.server.store))
    killed_midway(desk, watch)
    interrupted(desk).get_by_role("button", name="Retry").click()
    expect(desk.words(desk.answer(1))).to_have_text(LONG, timeout=20_000)
    expect(desk.answer(1).get_by_text("2/2")).to_be_visible()
    desk.answer(1).get_by_role("button", name="Previous version").click()
    expect(desk.answer(1)).to_contain_text("interrupted")


@pytest.mark.parametrize("act", ["send", "edit"])
def test_what_is_written_right_after_a_restart_is_not_lost(
    own_desk: Desk, watch: Watch, act: str
) -> None:
    watch.allow(*LOST)
    desk = own_desk.open(conversation(own_desk.server.store, "before", "the crash"))
    expect(desk.answer(1)).to_be_visible()
    if act == "edit":
        desk.act(desk.you(1), "Edit")
        desk.page.get_by_role("textbox", name="Edit this turn").fill("after the crash")
    else:
        desk.box.fill("after the crash")
    desk.server.kill()
    desk.server.start()
    if act == "edit":
        desk.page.get_by_role("button", name="Send", exact=True).click()
        again = desk.page.get_by_role("textbox", name="Edit this turn")
        answered = desk.words(desk.answer(1)).filter(has_text="after the crash")
        expect(answered.or_(again)).to_be_visible(timeout=20_000)
        if again.is_visible():
            expect(again).to_have_value("after the crash")
            again.press("Control+Enter")
        expect(answered).to_be_visible()
    else:
        expect(desk.box).to_be_enabled(timeout=20_000)
        desk.box.press("Enter")
        answered = desk.words(desk.answer(2)).filter(has_text="after the crash")
        expect(answered.or_(desk.page.get_by_text("did not arrive"))).to_be_visible(timeout=20_000)
        if not answered.is_visible():  # swallowed on its way, and given back
            expect(desk.box).to_have_value("after the crash")
            desk.box.press("Enter")
        expect(answered).to_be_visible()


def test_a_message_sent_while_the_server_is_away_is_not_lost(own_desk: Desk, watch: Watch) -> None:
    watch.allow(*LOST)
    desk = own_desk.open(conversation(own_desk.server.store, "before", "the crash"))
    expect(desk.answer(1)).to_be_visible()
    desk.box.fill("written in the meantime")
    desk.server.kill()
    desk.box.press("Enter")
    desk.server.start()
    expect(desk.box).to_be_enabled(timeout=20_000)
    expect(desk.box).to_have_value("written in the meantime")
    desk.box.press("Enter")
    expect(desk.words(desk.answer(2))).to_have_text("written in the meantime", timeout=20_000)


def test_an_edit_sent_while_the_server_is_away_is_not_lost(own_desk: Desk, watch: Watch) -> None:
    watch.allow(*LOST)
    desk = own_desk.open(conversation(own_desk.server.store, "before", "the crash"))
    expect(desk.answer(1)).to_be_visible()
    desk.act(desk.you(1), "Edit")
    area = desk.page.get_by_role("textbox", name="Edit this turn")
    area.fill("written in the meantime")
    desk.server.kill()
    area.press("Control+Enter")
    desk.server.start()
    expect(area).to_have_value("written in the meantime", timeout=20_000)
    desk.page.reload()
    expect(area).to_have_value("written in the meantime")
    area.press("Control+Enter")
    expect(desk.words(desk.answer(1))).to_have_text("written in the meantime")
    desk.you(1).get_by_role("button", name="Previous version").click()
    desk.act(desk.you(1), "Edit")
    expect(area).to_have_value("before")


def test_asked_to_end_the_app_ends_at_once_and_keeps_the_words(
    own_desk: Desk, watch: Watch
) -> None:
    watch.allow(*LOST)
    desk = own_desk.open(conversation(own_desk.server.store))
    start(desk, STALLED, "five")
    began = time.monotonic()
    desk.server.stop()
    assert time.monotonic() - began < 5
    desk.server.start()
    answer = desk.answer(1)
    expect(answer.get_by_role("button", name="Continue")).to_be_visible(timeout=30_000)
    expect(desk.words(answer)).to_have_text("one two three four five")


# --- several tabs ----------------------------------------------------------------------------


def test_two_tabs_that_send_on_one_branch_keep_both_messages_and_answers(
    empty: Desk, new_tab: Callable[[], Desk]
) -> None:
    empty.ask("start", "start", 1)
    store, session = empty.server.store, session_of(empty)
    second = new_tab().open(session)
    expect(second.answer(1)).to_be_visible()
    empty.box.fill("/delay 100\nfrom the first tab")
    second.box.fill("/delay 100\nfrom the second tab")
    empty.box.press("Enter")
    second.box.press("Enter")
    expect(empty.words(empty.answer(2))).to_contain_text(re.compile("from the (first|second) tab"))
    expect(second.words(second.answer(2))).to_contain_text(re.compile("from the (first|second)"))
    expect(empty.live).to_have_count(0)
    expect(second.live).to_have_count(0)
    texts = {row["snippet"] for row in store.nodes.outline(session.id, 0)}
    assert {"from the first tab", "from the second tab"} <= texts


def test_eight_tabs_open_at_once_all_get_the_stream(
    empty: Desk, new_tab: Callable[[], Desk]
) -> None:
    session = session_of(empty)
    tabs = [empty, *(new_tab().open(session) for _ in range(7))]
    start(empty)
    for tab in tabs:
        whole(tab)
    tabs[7].page.bring_to_front()
    start(tabs[7], f"/delay 1\nagain {WHOLE}", "again")
    for tab in tabs:
        expect(tab.words(tab.answer(2))).to_contain_text("w60")


# --- the queue -------------------------------------------------------------------------------


def test_what_is_sent_meanwhile_waits_visibly_and_goes_out_after_the_answer(empty: Desk) -> None:
    start(empty)
    empty.send("and then this")
    expect(empty.queued()).to_contain_text("Queued: and then this")
    whole(empty)
    expect(empty.words(empty.answer(2))).to_have_text("and then this")
    expect(empty.queued()).to_have_count(0)


def test_what_waits_can_be_taken_back_into_the_composer(empty: Desk) -> None:
    start(empty, STALLED, "five")
    empty.send("not yet")
    empty.queued().get_by_role("button", name="Take back").click()
    expect(empty.queued()).to_have_count(0)
    expect(empty.box).to_have_value("not yet")


def test_after_a_stop_what_waits_is_held_until_the_person_sends_it(empty: Desk) -> None:
    start(empty, STALLED, "five")
    empty.send("held back")
    expect(empty.queued()).to_be_visible()
    empty.live.get_by_role("button", name="Stop answering").click()
    expect(empty.queued()).to_contain_text("Held: held back")
    empty.queued().get_by_role("button", name="Send now").click()
    expect(empty.words(empty.answer(2))).to_have_text("held back")


# --- answers that end otherwise --------------------------------------------------------------

ENDINGS = {
    "hit the length limit": ("/finish length\nas far as it goes", ["Continue"]),
    "blocked by the content filter": ("/finish content_filter\nup to here", ["Retry"]),
    "the model declined": ("/finish refusal\nno", ["Retry"]),
    "stream ended early": ("/cut 2\none two three", ["Continue", "Retry"]),
    "ended with an error": ("/fail Overloaded 9 after 2\none two three", ["Retry"]),
}


@pytest.mark.parametrize("badge", ENDINGS)
def test_every_other_ending_has_its_badge_and_its_next_step(empty: Desk, badge: str) -> None:
    text, acts = ENDINGS[badge]
    empty.send(text)
    expect(empty.answer(1)).to_contain_text(badge)
    for act in acts:
        expect(empty.answer(1).get_by_role("button", name=act)).to_be_visible()


def test_a_failure_before_the_first_word_says_what_happened_and_offers_retry(empty: Desk) -> None:
    empty.send("/fail AuthFailed 1\nwell")
    trouble = empty.page.get_by_role("alert")
    expect(trouble).to_contain_text("The script asked for this AuthFailed.")
    trouble.get_by_role("button", name="Retry").click()
    expect(empty.words(empty.answer(1))).to_have_text("well")
    expect(trouble).to_have_count(0)


def test_a_retry_is_counted_down_and_then_made(empty: Desk) -> None:
    empty.send("/fail RateLimited 1\n/retry-after 2\nthere it is")
    expect(empty.live).to_contain_text("Retrying in")
    expect(empty.words(empty.answer(1))).to_have_text("there it is")


def test_thinking_streams_and_is_folded(empty: Desk) -> None:
    empty.send("/delay 100\n/think First this, then that.\nDone now.")
    expect(empty.live).to_contain_text("Thinking")
    expect(empty.answer(1)).to_contain_text("Thinking · 4 words")
    expect(empty.answer(1).get_by_text("First this, then that.")).to_be_hidden()
    empty.answer(1).get_by_text("Thinking · 4 words").click()
    expect(empty.answer(1).get_by_text("First this, then that.")).to_be_visible()
