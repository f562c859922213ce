"""Steering in a real browser: goal, plan, budgets, drift, requirements, chips, consolidate."""

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from core import Session, Store
from tests.browser.desk import Desk, conversation, lineage

TALK = ("Draft a plan. Keep it short.", "plan one", "Avoid jargon.", "plan two")
VERDICT = {
    "score": 4,
    "kept": [1],
    "dropped": [{"requirement": 2, "why": "a page long"}],
    "suggestion": "Coming back to our goal of a calm plan: shorten it.",
}


def aside(**script: object) -> str:
    """A last line that scripts what is asked about the words above it."""
    return "\n\n/aside " + json.dumps(script)


def begun(desk: Desk, *texts: str, **columns: object) -> Session:
    store = desk.server.store
    session = conversation(store, *(texts or TALK))
    if columns:
        store.sessions.change(session.id, **columns)
    desk.open(session)
    return session


def button(desk: Desk, name: str | re.Pattern[str]) -> Locator:
    return desk.page.get_by_role("button", name=name, exact=True)


def chip(desk: Desk, name: str) -> Locator:
    row = desk.page.get_by_role("toolbar", name="Refine")
    return row.get_by_role("button", name=name, exact=True)


def unfold(desk: Desk) -> None:
    desk.page.get_by_text("Steering", exact=False).first.click()
    expect(button(desk, "Check the last answer")).to_be_visible()


def set_goal(desk: Desk, **fields: str) -> None:
    button(desk, "Goal").click()
    for label, value in fields.items():
        name = label.replace("_", " ")
        role = "textbox" if name in ("Objective", "Done when") else "spinbutton"
        desk.page.get_by_role(role, name=name).fill(value)
    desk.page.get_by_role("button", name="Save", exact=True).click()


def wire(store: Store, session: Session) -> list[str]:
    """The words of the person in the newest call."""
    run = store.runs.side(session.id, "reply", limit=1)[0]
    return [m["text"] for m in store.runs.sent(run.id).messages if m["role"] == "user"]


# --- the goal ---


def test_the_goal_is_set_and_the_reminder_is_seen_on_the_message_it_went_with(desk: Desk) -> None:
    session = begun(desk)
    set_goal(desk, Objective="A calm plan", Reminder_every="3", Turns_planned="5")
    expect(desk.facts()).to_contain_text("turn 2 of 5")
    desk.page.keyboard.press("Escape")
    desk.send("And dates.")
    expect(desk.answer(3)).to_be_visible()
    reminder = desk.you(3).get_by_text("sent with a reminder of the objective")
    expect(reminder).to_be_visible()
    expect(desk.you(2).get_by_text("sent with a reminder of the objective")).to_have_count(0)
    expect(desk.you(3).get_by_text("Keep to our objective: A calm plan.")).to_be_hidden()
    reminder.click()
    expect(desk.you(3).get_by_text("Keep to our objective: A calm plan.")).to_be_visible()
    assert wire(desk.server.store, session)[-1] == (
        "And dates.\n\n(Keep to our objective: A calm plan.)"
    )
    desk.page.reload()
    expect(desk.you(3).get_by_text("sent with a reminder of the objective")).to_be_visible()


def test_a_plan_can_be_taken_away_again(desk: Desk) -> None:
    session = begun(desk, turn_budget=2)
    expect(button(desk, "Finish")).to_be_visible()
    set_goal(desk, Turns_planned="")
    expect(button(desk, "Finish")).to_have_count(0)
    assert desk.server.store.sessions.get(session.id).turn_budget is None


# --- the plan of turns ---


def test_finish_writes_and_sends_nothing_until_send(desk: Desk) -> None:
    session = begun(desk, turn_budget=2, done_when="It fits a page")
    button(desk, "Finish").click()
    expect(desk.box).to_have_value(re.compile("final version now.*It fits a page", re.DOTALL))
    assert len(lineage(desk.server.store, session)) == 4
    desk.box.press("Enter")
    expect(desk.words(desk.you(3))).to_contain_text("It fits a page")
    expect(desk.answer(3)).to_be_visible()


def test_finish_can_be_sent_with_one_click(desk: Desk) -> None:
    begun(desk, turn_budget=2)
    button(desk, "Send it now").click()
    expect(desk.words(desk.you(3))).to_contain_text("give me the final version")
    expect(desk.answer(3)).to_be_visible()


def test_going_past_the_plan_is_asked_once(desk: Desk) -> None:
    begun(desk, turn_budget=2)
    desk.send("one more")
    button(desk, "Finish instead").click()
    expect(desk.box).to_have_value(re.compile("^one more\n\nPlease give me the final"))
    desk.send("one more")
    button(desk, "Take back").click()
    expect(desk.box).to_have_value("one more")
    desk.send("one more")
    button(desk, "Go on anyway").click()
    expect(desk.words(desk.answer(3))).to_have_text("one more")
    desk.ask("and another", "and another", 4)


# --- budgets ---


def test_a_budget_warns_and_one_that_stops_gives_the_words_back(desk: Desk) -> None:
    session = begun(desk, token_budget=100)
    desk.ask("/usage 45 40\nfirst", "first", 3)
    status = desk.page.get_by_role("status", name="Notices")
    expect(status).to_contain_text("85% of the budget of 100 tokens is used.")
    desk.ask("/usage 45 40\nsecond", "second", 4)
    expect(status).to_contain_text("The budget of 100 tokens is used up. You can go on.")
    desk.server.store.sessions.change(session.id, over_budget="stop")
    desk.box.fill("third")
    desk.box.press("Enter")
    expect(desk.box).to_have_value("third")
    expect(desk.page.get_by_text("used up its budget of 100 tokens")).to_be_visible()
    expect(status).to_contain_text("Nothing is sent until you raise it under Goal.")


# --- drift ---


def test_a_drift_check_tells_what_was_dropped_and_leads_back_to_the_goal(desk: Desk) -> None:
    judged = "plan two" + aside(reply=json.dumps(VERDICT))
    session = begun(desk, *TALK[:3], judged, objective="A calm plan")
    unfold(desk)
    button(desk, "Check the last answer").click()
    expect(desk.page.get_by_text("4 of 10 · turn 2")).to_be_visible()
    expect(desk.page.get_by_text("(a page long)")).to_be_visible()
    expect(desk.page.get_by_text("3 · 1 kept, 1 not")).to_be_visible()
    button(desk, "Come back to the goal").click()
    expect(desk.box).to_have_value(VERDICT["suggestion"])
    assert len(lineage(desk.server.store, session)) == 4


def test_every_k_th_answer_is_checked_by_itself_and_can_be_seen(desk: Desk) -> None:
    session = begun(desk, *TALK[:2], objective="A calm plan", drift_every=2)
    script = json.dumps({"reply": "later" + aside(reply=json.dumps(VERDICT), delay=20)})
    desk.send(f"/script {script}")
    status = desk.page.get_by_role("status", name="Notices")
    expect(status).to_contain_text("Drift check: 4 of 10")
    expect(desk.page.get_by_text("Steering · 4 of 10")).to_be_visible()
    desk.send("third")
    expect(desk.words(desk.answer(3))).to_contain_text("third")
    expect(status).not_to_contain_text("Drift check")
    assert len(desk.server.store.runs.side(session.id, "drift")) == 1


def test_a_check_that_fails_is_said_and_can_be_retried_and_stopped(desk: Desk) -> None:
    begun(desk, *TALK[:3], "plan" + aside(fail="BadRequest"), objective="A calm plan")
    unfold(desk)
    button(desk, "Check the last answer").click()
    expect(desk.page.get_by_text("The script asked for this BadRequest.")).to_be_visible()
    button(desk, "Retry").click()
    expect(desk.page.get_by_text("The script asked for this BadRequest.")).to_be_visible()


def test_a_check_can_be_stopped(desk: Desk) -> None:
    begun(desk, *TALK[:3], "plan" + aside(reply="x", stall=0), objective="A calm plan")
    unfold(desk)
    button(desk, "Check the last answer").click()
    expect(desk.page.get_by_text("Steering · checking…")).to_be_visible()
    button(desk, "Stop").first.click()
    expect(desk.page.get_by_text("Stopped before the first word.")).to_be_visible()


# --- requirements ---


def test_requirements_are_listed_edited_judged_dropped_and_lead_to_their_turn(desk: Desk) -> None:
    begun(desk)
    unfold(desk)
    line = desk.page.get_by_role("button", name=re.compile("Keep it short.*turn 1"))
    line.click()
    desk.page.get_by_text("not kept", exact=True).click()
    expect(desk.page.get_by_text("3 · 0 kept, 1 not")).to_be_visible()
    line.click()
    wording = desk.page.get_by_role("textbox", name="Requirement", exact=True)
    wording.fill("Keep it under a page.")
    wording.press("Control+Enter")
    changed = desk.page.get_by_role("button", name=re.compile("Keep it under a page.*turn 1"))
    expect(changed).to_be_visible()
    expect(line).to_have_count(0)
    changed.click()
    button(desk, "Drop").click()
    expect(changed).to_have_count(0)
    desk.page.get_by_text("Dropped or reworded (2)").click()
    button(desk, "Take back").first.click()
    expect(line).to_be_visible()
    line.click()
    button(desk, "Go to turn 1").click()
    expect(desk.you(1)).to_be_in_viewport()
    expect(desk.page).to_have_url(re.compile("node="))


def test_a_requirement_is_added_by_hand_and_its_field_is_empty_again(desk: Desk) -> None:
    begun(desk)
    unfold(desk)
    field = desk.page.get_by_role("textbox", name="Add a requirement")
    field.fill("Name an owner")
    field.press("Enter")
    added = desk.page.get_by_role("button", name=re.compile("Name an owner.*turn 2"))
    expect(added).to_have_count(1)
    expect(field).to_have_value("")


def test_the_model_finds_more_on_request(desk: Desk) -> None:
    found = {"requirements": [{"turn": 1, "requirement": "Tourists read it"}]}
    begun(desk, "Draft a plan." + aside(reply=json.dumps(found)), "plan one")
    unfold(desk)
    button(desk, "Let the model look for more").click()
    added = desk.page.get_by_role("button", name=re.compile("Tourists read it.*turn 1"))
    expect(added).to_be_visible()


# --- chips ---


def test_chips_write_into_the_composer_and_the_first_slot_waits_to_be_written_over(
    desk: Desk,
) -> None:
    session = begun(desk)
    desk.box.fill("Hm.")
    chip(desk, "Tone").click()
    expect(desk.box).to_have_value("Hm. Change only the tone: make it [warmer and more direct].")
    expect(desk.box).to_be_focused()
    desk.page.keyboard.type("calmer")
    expect(desk.box).to_have_value("Hm. Change only the tone: make it calmer.")
    chip(desk, "Fork").click()
    expect(desk.box).to_have_value(re.compile("make it calmerLet|calmer Let's pause here"))
    assert len(lineage(desk.server.store, session)) == 4


def test_a_second_chip_comes_after_the_slot_of_the_first(desk: Desk) -> None:
    begun(desk)
    chip(desk, "Length").click()
    chip(desk, "Risks").click()
    expect(desk.box).to_have_value(
        re.compile(r"^Change only the length: bring it to \[150 words\] .* Add the risks: name \[")
    )


def test_the_row_of_chips_is_one_stop_for_tab_and_arrows_go_along(desk: Desk) -> None:
    begun(desk)
    chip(desk, "Rewrite").focus()
    desk.page.keyboard.press("ArrowRight")
    expect(chip(desk, "Several models")).to_be_focused()
    desk.page.keyboard.press("End")
    expect(chip(desk, "Consolidate")).to_be_focused()
    desk.page.keyboard.press("ArrowRight")
    expect(chip(desk, "Rewrite")).to_be_focused()
    desk.page.keyboard.press("ArrowRight")
    desk.page.keyboard.press("ArrowRight")
    expect(chip(desk, "Tone")).to_be_focused()
    desk.page.keyboard.press("Enter")
    expect(desk.box).to_have_value(re.compile("^Change only the tone"))


def type_into(desk: Desk, field: Locator, words: str) -> None:
    """Write into what a side run has just brought, as late as a person would: the end of the run
    draws the dialog anew for a moment."""
    expect(field).to_be_visible()
    desk.page.wait_for_timeout(700)
    field.fill(words)


def test_restate_lists_what_was_asked_for(desk: Desk) -> None:
    begun(desk)
    chip(desk, "Restate").click()
    expect(desk.box).to_have_value(re.compile("- Draft a plan. Keep it short.\n- Avoid jargon."))


def test_on_a_phone_the_chips_are_one_row_that_scrolls(new_phone: Desk) -> None:
    begun(new_phone)
    row = new_phone.page.get_by_role("toolbar", name="Refine")
    expect(row).to_be_visible()
    box = row.bounding_box()
    assert box is not None
    assert box["height"] < 44
    assert box["width"] <= 390
    assert row.evaluate("row => row.scrollWidth > row.clientWidth")
    chip(new_phone, "Consolidate").scroll_into_view_if_needed()
    expect(chip(new_phone, "Consolidate")).to_be_in_viewport()


# --- beside the conversation ---


def test_a_draft_is_rewritten_and_used_in_its_place(desk: Desk) -> None:
    session = begun(desk)
    draft = "make the second one shorter" + aside(reply="Shorten plan two to 50 words.", delay=5)
    desk.box.fill(draft)
    chip(desk, "Rewrite").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog.get_by_text("make the second one shorter")).to_be_visible()
    words = dialog.get_by_role("textbox", name="As one instruction")
    expect(words).to_have_value("Shorten plan two to 50 words.")
    type_into(desk, words, "Shorten plan two to 40 words.")
    dialog.get_by_role("button", name="Use it").click()
    expect(dialog).to_have_count(0)
    expect(desk.box).to_have_value("Shorten plan two to 40 words.")
    assert len(lineage(desk.server.store, session)) == 4


def test_without_a_draft_there_is_nothing_to_rewrite(desk: Desk) -> None:
    begun(desk)
    chip(desk, "Rewrite").click()
    expect(desk.page.get_by_text("Write a draft first; then it can be rewritten.")).to_be_visible()
    expect(desk.page.get_by_role("dialog")).to_have_count(0)


def test_decisions_are_kept_as_a_note_of_the_branch(desk: Desk) -> None:
    session = begun(desk)
    chip(desk, "Summarise decisions").click()
    dialog = desk.page.get_by_role("dialog")
    # The scripted provider says again what it is asked: exactly the sentence of the guide.
    sentence = "Before we continue, summarize the key decisions we've made so far in a bullet list."
    expect(dialog.get_by_role("textbox", name="Key decisions")).to_have_value(sentence)
    dialog.get_by_role("button", name="Keep as branch note").click()
    expect(desk.page.get_by_text("Kept in the note of this branch.")).to_be_visible()
    expect(dialog).to_have_count(0)
    assert desk.server.store.branches.of(session.id)[0].note == sentence
    assert len(lineage(desk.server.store, session)) == 4


def test_decisions_are_inserted_only_on_request(desk: Desk) -> None:
    begun(desk)
    chip(desk, "Summarise decisions").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox", name="Key decisions")).to_be_visible()
    type_into(desk, dialog.get_by_role("textbox", name="Key decisions"), "- short")
    dialog.get_by_role("button", name="Insert into my message").click()
    expect(desk.box).to_have_value("- short")


def test_a_side_run_streams_and_can_be_stopped_and_closed(desk: Desk) -> None:
    begun(desk)
    desk.box.fill("a draft" + aside(reply="one two three four", stall=2))
    chip(desk, "Rewrite").click()
    dialog = desk.page.get_by_role("dialog")
    expect(dialog.get_by_text("one two", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Stop").click()
    expect(dialog.get_by_text("the end may be missing")).to_be_visible()
    expect(dialog.get_by_role("textbox", name="As one instruction")).to_have_value("one two")
    desk.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(desk.box).to_have_value(re.compile("^a draft"))


# --- consolidate ---


def test_consolidate_opens_a_clean_branch_linked_with_its_source_and_both_are_read(
    desk: Desk,
) -> None:
    asked = "Avoid jargon." + aside(reply="unused")
    session = begun(desk, *TALK[:2], asked, "plan two")
    chip(desk, "Consolidate").click()
    dialog = desk.page.get_by_role("dialog")
    prompt = dialog.get_by_role("textbox", name="The whole request")
    expect(prompt).to_have_value(re.compile("consolidate everything"))
    type_into(desk, prompt, "A short plan without jargon.")
    dialog.get_by_role("button", name="Open a clean branch").click()
    expect(dialog).to_have_count(0)
    expect(desk.words(desk.answer(1))).to_have_text("A short plan without jargon.")
    assert wire(desk.server.store, session) == ["A short plan without jargon."]
    desk.page.get_by_role("button", name="Side by side").click()
    both = desk.page.get_by_role("dialog")
    expect(both.get_by_text("plan two")).to_be_visible()
    expect(both.get_by_text("A short plan without jargon.")).to_be_visible()
    desk.page.keyboard.press("Escape")
    desk.page.get_by_role("button", name="consolidated from main").click()
    expect(desk.words(desk.answer(2))).to_have_text("plan two")
    assert [text for _, text in lineage(desk.server.store, session, "main")] == [
        *TALK[:2],
        asked,
        "plan two",
    ]
    desk.page.get_by_role("button", name="consolidated into main · consolidated").click()
    expect(desk.words(desk.answer(1))).to_have_text("A short plan without jargon.")


def test_without_a_model_what_was_asked_for_is_listed(desk: Desk) -> None:
    begun(desk)
    chip(desk, "Consolidate").click()
    dialog = desk.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Just list what I asked for").click()
    expect(dialog.get_by_role("textbox", name="The whole request")).to_have_value(
        re.compile("- Draft a plan. Keep it short.\n- Avoid jargon.")
    )


@pytest.fixture
def new_phone(new_context: object, server: object) -> Desk:
    context = new_context(viewport={"width": 390, "height": 844})  # type: ignore[operator]
    return Desk(context.new_page(), server)  # type: ignore[arg-type]
