"""What was sent, the code of a call, and the page of runs, as a person uses them."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from core import Config, Run, Session, Store, Text
from core.branching import new_node
from core.exchange import exchange, written
from core.providers import adapters
from core.types import Call, Message, Usage, new_id, now
from tests.browser.desk import Desk, conversation
from tests.browser.server import ROOT
from tests.contract.media import attach

WORDS = 'It costs $5 *not* <img src=x onerror="alert(1)"> & more'
CAT, BYTES = attach(bytes(range(256)) * 100, "image/png", "cat.png")


def dialog(desk: Desk) -> Locator:
    return desk.page.get_by_role("dialog", name="What was sent")


def tab(desk: Desk, name: str) -> None:
    dialog(desk).get_by_role("tab", name=name).click()


def clipboard(desk: Desk) -> str:
    return str(desk.page.evaluate("navigator.clipboard.readText()"))


def copied(desk: Desk, context: BrowserContext, what: str) -> str:
    """What a Copy button puts on the clipboard."""
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog(desk).get_by_role("button", name=f"Copy {what}").click()
    expect(dialog(desk).get_by_role("button", name=f"Copy {what}")).to_have_text("Copied")
    return clipboard(desk)


def run_of(store: Store, session: Session) -> Run:
    """The last run of a session's first branch."""
    tip = store.branches.of(session.id)[0].tip_id
    assert tip
    return store.runs.of_nodes([tip])[tip]


def add_run(store: Store, session: Session, *, turns: int = 1, **call: Any) -> Run:
    """Turns with a run for the last one, as if Claude had answered; that run."""
    branch = session.current_branch_id
    assert branch
    tip, messages = store.branches.get(branch).tip_id, []
    with store.write():
        for number in range(turns):
            for role, text in (("user", f"question {number}"), ("assistant", f"answer {number}")):
                node = store.nodes.add(
                    new_node(session.id, tip, role, (Text(text=text),), author="model")
                )
                tip = node.id
                messages.append(Message(role=role, parts=node.parts))
        store.branches.move(branch, tip, why="send")
        config = Config(provider="anthropic", model="claude-opus-5-5")
        run = Run(
            id=new_id(),
            session_id=session.id,
            branch_id=branch,
            context_tip_id=store.nodes.get(tip).parent_id,
            purpose="reply",
            config=config,
            state="running",
            owner="elsewhere",
            started_at=now(),
        )
        made = {"messages": tuple(messages[:-1]), **call}
        request = adapters()["anthropic"].build(Call(model=config.model, **made))
        store.runs.start(run, request=request)
        usage = Usage(input_tokens=2000, output_tokens=50, cached_tokens=1240)
        store.runs.end(
            run.id,
            finish_reason="stop",
            node_id=tip,
            usage=usage,
            cost_nanodollars=4_200_000,
            duration_ms=1500,
        )
    return store.runs.get(run.id)


# --- the dialog ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_an_answer_shows_what_was_sent_word_for_word(
    desk: Desk, context: BrowserContext, by: str
) -> None:
    session = conversation(desk.server.store)
    desk.open(session)
    desk.send(WORDS)
    answer = desk.answer(1)
    expect(answer).to_be_visible()
    if by == "mouse":
        desk.act(answer, "What was sent")
    else:
        answer.focus()
        desk.page.keyboard.press("s")
    expect(dialog(desk).locator("details.user pre")).to_have_text(WORDS)
    expect(dialog(desk).locator("img")).to_have_count(0)
    run = run_of(desk.server.store, session)
    exact = written(exchange(desk.server.store, run.id), "request")
    assert copied(desk, context, "the request") == exact
    assert json.loads(exact)["messages"][-1]["text"] == WORDS


def test_reply_numbers_and_raw_are_there(desk: Desk, context: BrowserContext) -> None:
    desk.open(conversation(desk.server.store))
    desk.send("/think deeply\nhello you")
    desk.act(desk.answer(1), "What was sent")
    tab(desk, "Reply")
    expect(dialog(desk).locator(".sent > pre")).to_have_text("hello you")
    dialog(desk).get_by_role("radio", name="Raw").click()
    expect(dialog(desk).get_by_test_id("stCode")).to_contain_text('"text": "hello you"')
    assert json.loads(copied(desk, context, "the reply")) == [
        {"role": "assistant", "text": "hello you"}
    ]
    tab(desk, "Numbers")
    expect(dialog(desk).locator(".sent-numbers")).to_contain_text("Output tokens")
    expect(dialog(desk).locator(".sent-numbers")).to_contain_text("answered")


def test_it_stays_closed_once_it_is_closed(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    desk.act(desk.ask("hello", "hello", 1), "What was sent")
    expect(dialog(desk)).to_be_visible()
    desk.page.keyboard.press("Escape")
    expect(dialog(desk)).to_have_count(0)
    desk.ask("again", "again", 2)
    expect(dialog(desk)).to_have_count(0)


def test_a_running_answer_is_looked_into_and_the_dialog_outlives_its_end(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store)
    desk.open(session)
    desk.send("/delay 150\n" + "word " * 30)
    expect(desk.live).to_contain_text("word word")
    desk.live.get_by_role("button", name="What was sent").click()
    tab(desk, "Reply")
    expect(dialog(desk)).to_contain_text("Still being written")
    expect(dialog(desk)).to_contain_text("own items, put together", timeout=20_000)
    expect(dialog(desk).locator(".sent > pre")).to_have_text(("word " * 30).strip())


def test_a_failed_call_is_looked_into_from_its_card(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    desk.send("/status 529\n/fail AuthFailed\nprecious words")
    card = desk.page.get_by_role("alert").filter(has_text="AuthFailed")
    card.get_by_role("button", name="What was sent").click()
    expect(dialog(desk)).to_contain_text("HTTP status: 529")
    expect(dialog(desk).locator("details.user pre")).to_contain_text("precious words")
    tab(desk, "Reply")
    expect(dialog(desk)).to_contain_text("No word of an answer came.")


def test_a_file_is_named_on_the_screen_and_exact_in_what_is_taken_away(
    desk: Desk, context: BrowserContext, tmp_path: Path
) -> None:
    session = conversation(desk.server.store)
    asked = Message(role="user", parts=(Text(text="What is this?"), CAT))
    run = add_run(desk.server.store, session, messages=(asked,), attachments=BYTES)
    desk.open(session)
    desk.act(desk.answer(1), "What was sent")
    expect(dialog(desk)).to_contain_text("File image/png, 26 kB")
    dialog(desk).get_by_role("radio", name="Raw").click()
    code = dialog(desk).get_by_test_id("stCode")
    expect(code).to_contain_text("‹image/png, 26 kB›")
    exact = written(exchange(desk.server.store, run.id), "request")
    assert copied(desk, context, "the request") == exact
    assert len(exact) > 30_000
    with desk.page.expect_download() as download:
        dialog(desk).get_by_role("button", name="Download").click()
    assert download.value.suggested_filename.endswith(".json")
    download.value.save_as(tmp_path / "request.json")
    assert (tmp_path / "request.json").read_text("utf-8") == exact
    dialog(desk).get_by_text("Show encoded files and signatures in full").click()
    expect(code).not_to_contain_text("‹image/png")


def test_a_conversation_of_a_thousand_messages_is_drawn_in_part_and_copied_whole(
    desk: Desk, context: BrowserContext
) -> None:
    session = conversation(desk.server.store)
    add_run(desk.server.store, session, turns=500)
    desk.open(session)
    desk.act(desk.answer(500), "What was sent")
    shown = dialog(desk).locator("details.said")
    expect(shown).to_have_count(20)
    expect(dialog(desk)).to_contain_text("979 earlier messages")
    assert len(json.loads(copied(desk, context, "the request"))["messages"]) == 999
    dialog(desk).get_by_role("button", name="Show all 999 messages").click()
    expect(shown).to_have_count(999)


# --- get code --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["Python", "curl"])
def test_code_is_copied_and_downloaded_as_it_is_shown(
    desk: Desk, context: BrowserContext, tmp_path: Path, form: str
) -> None:
    session = conversation(desk.server.store)
    add_run(desk.server.store, session)
    desk.open(session)
    desk.act(desk.answer(1), "What was sent")
    tab(desk, "Get code")
    dialog(desk).get_by_role("radio", name=form).click()
    telling = "import anthropic" if form == "Python" else "curl -sS"
    expect(dialog(desk).get_by_test_id("stCode")).to_contain_text(telling)
    expect(dialog(desk)).to_contain_text("ANTHROPIC_API_KEY")
    text = copied(desk, context, form)
    assert telling in text
    with desk.page.expect_download() as download:
        dialog(desk).get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "code")
    assert (tmp_path / "code").read_text("utf-8") == text


def test_the_code_of_an_answer_gives_that_answer_elsewhere(
    desk: Desk, context: BrowserContext
) -> None:
    session = conversation(desk.server.store)
    desk.open(session)
    desk.act(desk.ask("the same words", "the same words", 1), "What was sent")
    tab(desk, "Get code")
    code = copied(desk, context, "Python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "the same words\n"


def test_the_routes_give_nothing_to_strangers(desk: Desk) -> None:
    session = conversation(desk.server.store)
    run = add_run(desk.server.store, session)
    desk.open(session)
    answer = desk.page.request.get(f"{desk.server.url}api/sent/{run.id}/request")
    assert answer.status == 403


# --- runs ------------------------------------------------------------------------------------


def test_the_cached_share_stands_at_the_answer_and_at_the_branch(desk: Desk) -> None:
    session = conversation(desk.server.store)
    add_run(desk.server.store, session)
    desk.open(session)
    expect(desk.answer(1)).to_contain_text("2,000 in (62% cached)")
    expect(desk.facts()).to_contain_text("62% of input cached · $0.0042")


def test_the_runs_of_a_session_are_one_click_away(desk: Desk) -> None:
    session = conversation(desk.server.store, title="One of many")
    add_run(desk.server.store, session)
    desk.open(session)
    desk.page.get_by_role("button", name="Session", exact=True).click()
    desk.page.get_by_role("link", name="Runs of this session").click()
    expect(desk.page.get_by_role("heading", name="Runs")).to_be_visible()
    expect(desk.page.locator(".totals")).to_contain_text("$0.0042")
    assert desk.place() == {"session": session.id}
    desk.page.reload()
    expect(desk.page.locator(".totals")).to_contain_text("$0.0042")
    expect(desk.page.get_by_role("combobox", name="Session")).to_have_value("One of many")


def choose_first(desk: Desk) -> None:
    """Tick the first row of the table: drawn on a canvas, so by place."""
    table = desk.page.get_by_test_id("stDataFrame").first
    expect(table).to_be_visible()
    table.click(position={"x": 16, "y": 50})


def test_a_row_opens_what_was_sent_and_leads_to_the_message(desk: Desk) -> None:
    session = conversation(desk.server.store)
    run = add_run(desk.server.store, session, turns=2)
    desk.page.goto(f"{desk.server.url}runs?session={session.id}")
    choose_first(desk)
    expect(dialog(desk).locator("details.user pre").last).to_have_text("question 1")
    dialog(desk).get_by_role("button", name="Close").click()
    expect(dialog(desk)).to_have_count(0)
    desk.page.get_by_role("button", name="What was sent", exact=True).click()
    dialog(desk).get_by_role("button", name="Go to the message").click()
    expect(desk.words(desk.answer(2))).to_have_text("answer 1")
    expect(dialog(desk)).to_have_count(0)
    assert desk.place()["session"] == session.id
    assert desk.place()["node"] == run.node_id


def test_the_table_can_be_taken_away(desk: Desk, tmp_path: Path) -> None:
    session = conversation(desk.server.store, title="=cmd|'/c calc'!A0")
    run = add_run(desk.server.store, session)
    desk.page.goto(f"{desk.server.url}runs?session={session.id}")
    with desk.page.expect_download() as download:
        desk.page.get_by_role("button", name="CSV", exact=True).click()
    download.value.save_as(tmp_path / "runs.csv")
    text = (tmp_path / "runs.csv").read_text("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["run_id"], row["cached_share"]) == (run.id, "0.6200")
    assert row["session"].startswith("'=")


def test_it_all_fits_on_a_phone(new_context: Callable[..., BrowserContext], desk: Desk) -> None:
    session = conversation(desk.server.store)
    add_run(desk.server.store, session)
    screen = {"width": 390, "height": 844}
    phone = Desk(new_context(viewport=screen, has_touch=True).new_page(), desk.server)
    phone.open(session)
    article = phone.answer(1)
    article.get_by_role("button", name="More", exact=True).click()
    phone.page.get_by_role("menuitem", name="What was sent").click()
    for name in ("Request", "Reply", "Numbers", "Get code"):
        tab(phone, name)
        expect(dialog(phone).get_by_role("tab", name=name)).to_have_attribute(
            "aria-selected", "true"
        )
        box = dialog(phone).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    phone.page.goto(f"{desk.server.url}runs?session={session.id}")
    expect(phone.page.locator(".totals")).to_be_visible()
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
