"""Steering: reminders, planned turns and budgets; every word of a reminder is where it belongs."""

from dataclasses import replace

import pytest

from core import Run, Runner, Session, Store
from core.errors import UserError
from core.steering import (
    check,
    finish_words,
    goes_past,
    over,
    reminder,
    spending,
    time_to_finish,
    warning,
)
from core.types import Branch
from tests.unit.house import ask

REMINDER = "\n\n(Keep to our objective: A calm plan. It is done when: it fits a page.)"


def steered(store: Store, session: Session, **columns: object) -> Session:
    store.sessions.change(
        session.id, objective="A calm plan", done_when="it fits a page", **columns
    )
    return store.sessions.get(session.id)


def sent(store: Store, run: Run) -> list[str]:
    """The words of the person as they went out with a run."""
    return [m["text"] for m in store.runs.sent(run.id).messages if m["role"] == "user"]


# --- the reminder ---


@pytest.mark.parametrize(
    ("every", "reminded"),
    [(0, []), (1, [1, 2, 3, 4, 5, 6, 7]), (2, [2, 4, 6]), (3, [3, 6]), (9, [])],
)
def test_the_reminder_goes_out_on_exactly_every_k_th_turn(
    runner: Runner, session: Session, main: str, every: int, reminded: list[int]
) -> None:
    steered(runner.store, session, remind_every=every)
    runs = [ask(runner, main, f"turn {number}") for number in range(1, 8)]
    expected = [f"turn {n}{REMINDER if n in reminded else ''}" for n in range(1, 8)]
    for number, run in enumerate(runs, 1):
        assert sent(runner.store, run) == expected[:number]


def test_the_words_of_the_person_stay_as_they_were_typed(
    runner: Runner, session: Session, main: str
) -> None:
    steered(runner.store, session, remind_every=1)
    run = ask(runner, main, "mine")
    node = runner.store.nodes.get(str(run.context_tip_id))
    assert (node.text, node.sent_suffix) == ("mine", REMINDER)


def test_without_an_objective_nobody_is_reminded(session: Session) -> None:
    assert reminder(replace(session, remind_every=1, objective=" \n"), 1) == ""


def test_another_objective_later_changes_nothing_that_was_sent(
    runner: Runner, session: Session, main: str
) -> None:
    steered(runner.store, session, remind_every=1)
    first = ask(runner, main, "one")
    runner.store.sessions.change(session.id, objective="Another", remind_every=0)
    second = ask(runner, main, "two")
    assert sent(runner.store, second) == [*sent(runner.store, first), "two"]


def test_retry_regenerate_and_edit_keep_the_reminder_to_the_byte(
    runner: Runner, session: Session, main: str
) -> None:
    steered(runner.store, session, remind_every=1)
    first = ask(runner, main, "one")
    runner.store.sessions.change(session.id, objective="Another", remind_every=5)
    asked = str(first.context_tip_id)
    again = runner.wait(runner.retry(first.id).id, 10)
    anew = runner.wait(runner.regenerate(main, asked).id, 10)
    for run in (again, anew):
        assert sent(runner.store, run) == sent(runner.store, first) == [f"one{REMINDER}"]
    edited = runner.wait(runner.edit_and_send(main, asked, "one, reworded").id, 10)
    assert sent(runner.store, edited) == [f"one, reworded{REMINDER}"]


def test_a_message_that_waited_is_reminded_by_its_own_turn(
    runner: Runner, session: Session, main: str
) -> None:
    steered(runner.store, session, remind_every=2)
    ask(runner, main, "one")
    waiting = runner.store.branches.enqueue(main, "two", "held")
    run = runner.send_queued(waiting)
    assert isinstance(run, Run)
    runner.wait(run.id, 10)
    assert sent(runner.store, run)[-1] == f"two{REMINDER}"


# --- the planned turns ---


@pytest.mark.parametrize(
    ("budget", "turn", "due"),
    [(None, 9, False), (4, 0, False), (4, 2, False), (4, 3, True), (4, 4, True), (4, 7, True),
     (1, 0, False), (1, 1, True)],
)  # fmt: skip
def test_finishing_is_proposed_for_the_last_planned_turn_and_after_it(
    session: Session, budget: int | None, turn: int, due: bool
) -> None:
    assert time_to_finish(replace(session, turn_budget=budget), turn) is due


BRANCH = Branch(id="b", session_id="s", name="main", tip_id=None, created_at="")


@pytest.mark.parametrize(
    ("budget", "turn", "past", "asked"),
    [(None, 99, False, False), (4, 4, False, False), (4, 5, False, True), (4, 5, True, False)],
)
def test_going_past_the_plan_is_asked_about_once(
    session: Session, budget: int | None, turn: int, past: bool, asked: bool
) -> None:
    planned = replace(session, turn_budget=budget)
    assert goes_past(planned, replace(BRANCH, past_budget=past), turn, "one more") is asked


def test_asking_for_the_final_version_is_never_going_past(session: Session) -> None:
    planned = replace(session, turn_budget=2, done_when="it fits a page")
    words = finish_words(planned)
    assert "It is done when: it fits a page" in words
    assert not goes_past(planned, BRANCH, 9, f"And shorter.\n\n{words}")
    assert not goes_past(planned, BRANCH, 9, finish_words(replace(planned, done_when="")))


# --- budgets ---


def used(store: Store, runner: Runner, main: str) -> None:
    """One call of 10 and 20 tokens; the scripted provider is free."""
    ask(runner, main, "/usage 10 20\nhello")


@pytest.mark.parametrize(
    ("tokens", "over_budget", "said", "stops"),
    [
        (None, "stop", "", False),
        (38, "stop", "", False),
        (37, "warn", "81% of the budget of 37 tokens is used.", False),
        (30, "warn", "The budget of 30 tokens is used up. You can go on.", False),
        (30, "stop", "Nothing is sent until you raise it under Goal.", True),
        (29, "stop", "The budget of 29 tokens is used up", True),
    ],
)
def test_a_token_budget_warns_from_80_percent_on_and_stops_where_that_is_wanted(
    runner: Runner,
    session: Session,
    main: str,
    tokens: int | None,
    over_budget: str,
    said: str,
    stops: bool,
) -> None:
    used(runner.store, runner, main)
    runner.store.sessions.change(session.id, token_budget=tokens, over_budget=over_budget)
    now = runner.store.sessions.get(session.id)
    assert said in warning(runner.store, now)
    assert bool(said) == bool(warning(runner.store, now))
    if not stops:
        check(runner.store, now)
        return
    nodes = len(runner.store.nodes.lineage(runner.store.branches.get(main).tip_id))
    for refused in (
        lambda: runner.send(main, "more"),
        lambda: runner.regenerate(main, str(runner.store.branches.get(main).tip_id)),
    ):
        with pytest.raises(UserError, match="used up its budget") as caught:
            refused()
        assert "Goal" in caught.value.hint
    assert len(runner.store.nodes.lineage(runner.store.branches.get(main).tip_id)) == nodes


def test_a_money_budget_counts_what_calls_cost_and_says_what_nobody_knows(
    runner: Runner, session: Session, main: str
) -> None:
    used(runner.store, runner, main)
    with runner.store.write() as db:
        db.conn.execute("UPDATE runs SET cost_nanodollars = 450000000")
    ask(runner, main, "/usage none\nhello")
    with runner.store.write() as db:
        db.conn.execute("UPDATE runs SET cost_nanodollars = NULL WHERE input_tokens IS NULL")
    runner.store.sessions.change(session.id, money_budget=500_000_000)
    now = runner.store.sessions.get(session.id)
    assert warning(runner.store, now).startswith("90% of the budget of $0.5 is used.")
    assert "1 more call" in warning(runner.store, now)
    assert not over(runner.store, now)
    (one,) = spending(runner.store, now)
    assert (one.kind, one.spent, one.share) == ("money", 450_000_000, 0.9)


def test_the_fuller_budget_is_the_one_that_is_told(
    runner: Runner, session: Session, main: str
) -> None:
    used(runner.store, runner, main)
    runner.store.sessions.change(session.id, money_budget=10**12, token_budget=31)
    assert "31 tokens" in warning(runner.store, runner.store.sessions.get(session.id))
