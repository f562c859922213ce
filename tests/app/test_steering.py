"""Steering on the page: the goal, the plan of turns, budgets, the panel and its dialogs."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import Session, Store, show
from core.requirements import gather
from core.types import Node
from pages import backend
from pages.components import composer, state, steering_panel
from pages.components.composer import companion_data
from pages.components.notices import notices
from tests.app.conftest import Open, conversation, memory, said, sound
from tests.unit.house import until

TALK = ("Draft a plan. Keep it short.", "plan one", "Avoid jargon.", "plan two")
VERDICT = {
    "score": 4,
    "kept": [1],
    "dropped": [{"requirement": 2, "why": "a page long"}],
    "suggestion": "Coming back to our goal of a calm plan: shorten it.",
}


def judged(told: object = VERDICT) -> str:
    """An answer that has the scripted judge say this of it."""
    return "plan two\n\n/aside " + json.dumps({"reply": json.dumps(told)})


def button(test: AppTest, label: str) -> Any:
    return next(one for one in test.button if one.label == label)


def field(test: AppTest, label: str) -> Any:
    every = (*test.text_area, *test.number_input, *test.selectbox, *test.text_input)
    return next(one for one in every if one.label == label)


def changed(store: Store, session: Session, **columns: object) -> Session:
    store.sessions.change(session.id, **columns)
    return store.sessions.get(session.id)


@pytest.fixture
def steering(monkeypatch: pytest.MonkeyPatch) -> None:
    """The panel unfolded, which a person does with a click."""
    unfolded: Callable[[str], bool] = state.unfolded
    monkeypatch.setattr(state, "unfolded", lambda name: name == "steering.page" or unfolded(name))


def at_rest(session: Session) -> None:
    """Wait until nothing of the session streams."""
    until(lambda: not backend.runner().live_in(session.id))
    until(lambda: not backend.store().runs.not_ended(session.id))


# --- the goal ---


def test_every_part_of_the_goal_is_stored_and_can_be_taken_away(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    assert field(test, "Reminder every").value == 3
    assert field(test, "Drift check every").value is None
    field(test, "Objective").set_value("A calm plan")
    for label, value in (
        ("Turns planned", 4),
        ("Reminder every", 2),
        ("Drift check every", 5),
        ("Money budget ($)", 0.25),
        ("Token budget", 9000),
        ("At a budget", "stop"),
    ):
        field(test, label).set_value(value)
    sound(button(test, "Save").click().run())
    now = store.sessions.get(session.id)
    assert (now.objective, now.turn_budget) == ("A calm plan", 4)
    assert (now.remind_every, now.drift_every) == (2, 5)
    assert (now.money_budget, now.token_budget, now.over_budget) == (250_000_000, 9000, "stop")
    for label in ("Turns planned", "Reminder every", "Drift check every", "Token budget"):
        field(test, label).set_value(None)
    field(test, "Money budget ($)").set_value(None)
    sound(button(test, "Save").click().run())
    now = store.sessions.get(session.id)
    assert (now.turn_budget, now.remind_every, now.drift_every) == (None, 0, 0)
    assert (now.money_budget, now.token_budget) == (None, None)


# --- the plan of turns ---


def told(store: Store, session: Session) -> list[dict[str, Any]]:
    return notices(backend.runner(), show(store, session.id))


@pytest.mark.parametrize(
    ("budget", "said_of"),
    [(None, []), (4, []), (3, ["The next turn is the last."]), (2, ["All 2 turns are used."])],
)
def test_at_the_end_of_the_plan_finishing_is_proposed(
    store: Store, budget: int | None, said_of: list[str]
) -> None:
    session = changed(store, conversation(store, *TALK), turn_budget=budget)
    found = told(store, session)
    assert [one["text"] for one in found] == said_of
    for one in found:
        assert [act["act"] for act in one["acts"]] == [
            {"action": "finish"},
            {"action": "finish", "send": True},
        ]


def test_going_past_the_plan_asks_once_and_keeps_every_word(app: Open, store: Store) -> None:
    session = changed(store, conversation(store, *TALK), turn_budget=2)
    branch = str(session.current_branch_id)
    test = app(session=session.id)
    sound(test.chat_input(key=composer.KEY).set_value("one more thing").run())
    assert "2 turns were planned; this would be turn 3" in said(test)
    assert "one more thing" in said(test)
    assert [one["state"] for one in store.branches.queued(branch)] == ["offer_past"]
    sound(button(test, "Take back").click().run())
    assert state_insert(test) == "one more thing"
    sound(test.chat_input(key=composer.KEY).set_value("one more thing").run())
    sound(button(test, "Go on anyway").click().run())
    at_rest(session)
    assert store.branches.get(branch).past_budget
    sound(test.chat_input(key=composer.KEY).set_value("and another").run())
    at_rest(session)
    texts = [node.text for node in store.nodes.lineage(store.branches.get(branch).tip_id)]
    assert texts[4:] == ["one more thing"] * 2 + ["and another"] * 2


def state_insert(test: AppTest) -> str:
    return str(memory(test)["insert"].text)


def test_finish_instead_brings_words_and_the_final_request_to_the_composer(
    app: Open, store: Store
) -> None:
    session = changed(store, conversation(store, *TALK), turn_budget=2, done_when="It fits")
    test = app(session=session.id)
    sound(test.chat_input(key=composer.KEY).set_value("one more thing").run())
    sound(button(test, "Finish instead").click().run())
    words = state_insert(test)
    assert words.startswith("one more thing\n\nPlease give me the final version now.")
    assert "It fits" in words
    sound(test.chat_input(key=composer.KEY).set_value(words).run())  # and nobody asks again
    at_rest(session)
    tip = store.branches.get(str(session.current_branch_id)).tip_id
    assert store.nodes.lineage(tip)[4].text == words


# --- budgets ---


def test_a_used_up_budget_refuses_and_the_words_come_back(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    sound(test.chat_input(key=composer.KEY).set_value("/usage 50 50\nhello").run())
    at_rest(session)
    session = changed(store, session, token_budget=100, over_budget="stop")
    tip = store.branches.get(str(session.current_branch_id)).tip_id
    sound(test.chat_input(key=composer.KEY).set_value("refused words").run())
    assert state_insert(test) == "refused words"
    assert any(
        "used up its budget of 100 tokens" in one.value for one in (*test.toast, *test.error)
    )
    assert store.branches.get(str(session.current_branch_id)).tip_id == tip
    assert told(store, session)[0]["level"] == "warn"


# --- the panel ---


def test_folded_the_panel_costs_nothing_and_finds_nothing(
    app: Open, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering_panel.requirements, "gather", lambda *_: pytest.fail("looked"))
    app(session=conversation(store, *TALK).id)


@pytest.mark.usefixtures("steering")
def test_the_panel_lists_what_was_asked_for_with_its_turn(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    ledger = gather(store, show(store, session.id).lineage)
    assert [one.text for one in ledger] == ["Draft a plan.", "Keep it short.", "Avoid jargon."]
    assert "**What you asked for** :gray[3]" in said(test)
    assert "Judges the last answer afresh" in said(test)


@pytest.mark.usefixtures("steering")
def test_a_requirement_is_added_by_hand(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    field(test, "Add a requirement").set_value("Name an owner")
    sound(button(test, "Add").click().run())
    lineage: tuple[Node, ...] = show(store, session.id).lineage
    assert gather(store, lineage)[-1].text == "Name an owner"
    assert gather(store, lineage)[-1].node_id == lineage[2].id


@pytest.mark.usefixtures("steering")
def test_a_drift_check_tells_score_and_what_was_dropped_and_leads_back(
    app: Open, store: Store
) -> None:
    session = conversation(store, *TALK[:3], judged())
    changed(store, session, objective="A calm plan")
    test = app(session=session.id)
    sound(button(test, "Check the last answer").click().run())
    at_rest(session)
    sound(test.run())
    shown = said(test)
    assert "**4 of 10** · turn 2" in shown
    assert "- Keep it short. :gray[(a page long)]" in shown.replace("\\", "")
    assert "**What you asked for** :gray[3 · 1 kept, 1 not]" in shown
    sound(button(test, "Write it into my message").click().run())
    assert state_insert(test) == VERDICT["suggestion"]
    (notice,) = told(store, session)
    assert (notice["text"], notice["level"]) == ("Drift check: 4 of 10, 1 dropped.", "warn")


@pytest.mark.usefixtures("steering")
@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ('plan\n\n/aside {"reply": "no idea"}', "did not answer in a form that can be read"),
        ('plan\n\n/aside {"fail": "BadRequest"}', "The script asked for this BadRequest"),
        (judged({"score": 10, "kept": [1, 2, 3]}), "Nothing was dropped."),
        (judged({"score": "none"}), "No score"),
    ],
)
def test_whatever_the_judge_says_the_page_holds(
    app: Open, store: Store, answer: str, shown: str
) -> None:
    session = changed(store, conversation(store, *TALK[:3], answer), objective="A calm plan")
    test = app(session=session.id)
    sound(button(test, "Check the last answer").click().run())
    at_rest(session)
    sound(test.run())
    every = said(test) + "".join(one.value for one in test.warning)
    assert shown in every.replace("\\", "")


@pytest.mark.usefixtures("steering")
def test_nothing_to_judge_by_is_said_so(app: Open, store: Store) -> None:
    session = conversation(store, "hello", "hello")
    test = app(session=session.id)
    sound(button(test, "Check the last answer").click().run())
    assert any("nothing to check" in one.value for one in (*test.toast, *test.error))


@pytest.mark.usefixtures("steering")
def test_consolidate_is_edited_and_opens_a_linked_clean_branch(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    sound(button(test, "Consolidate into one prompt").click().run())
    at_rest(session)
    sound(test.run())
    sound(button(test, "Just list what I asked for").click().run())
    assert (
        "- Draft a plan. Keep it short.\n- Avoid jargon." in field(test, "The whole request").value
    )
    field(test, "The whole request").set_value("A short plan without jargon.")
    sound(button(test, "Open a clean branch").click().run())
    at_rest(session)
    clean = next(b for b in store.branches.of(session.id) if b.linked_to)
    texts = [node.text for node in store.nodes.lineage(clean.tip_id)]
    assert texts == ["A short plan without jargon."] * 2
    assert clean.linked_to == session.current_branch_id
    test = app(session=session.id)
    assert button(test, "consolidated from main")
    sound(button(test, "Side by side").click().run())
    bodies = [html.proto.body for html in test.get("html")]
    assert any("plan two" in body for body in bodies)
    assert any("A short plan without jargon." in body for body in bodies)
    test = app(session=session.id, branch=str(session.current_branch_id))
    assert button(test, "consolidated into main · consolidated")


# --- what the companion is given ---


def test_chips_come_with_the_first_turn(store: Store) -> None:
    runner = backend.runner()
    empty, begun = conversation(store), conversation(store, *TALK)
    assert companion_data(runner, show(store, empty.id))["chips"] == []
    assert companion_data(runner, None)["chips"] == []
    labels = [chip["label"] for chip in companion_data(runner, show(store, begun.id))["chips"]]
    assert labels[:2] == ["Tone", "Length"]
    assert labels[-1] == "Consolidate"
