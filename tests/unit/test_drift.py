"""The drift check: what the judge sees, what is made of what it writes, when it is asked."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from core import Node, Run, Runner, Session, Store, fork
from core.drift import (
    Watch,
    check,
    coming_back,
    judge_call,
    read,
    standings,
    verdict_of,
)
from core.drift import checks as checks_of
from core.errors import UserError
from core.requirements import gather
from core.types import Requirement, text_of
from tests.conftest import ECHO
from tests.unit.house import ask, grow, until


def requirement(number: int, text: str) -> Requirement:
    return Requirement(
        id=f"r{number}", session_id="s", node_id=f"n{number}", text=text, created_at=""
    )


ASKED = [
    requirement(1, "It must name an owner."),
    requirement(2, "Keep it under 150 words."),
    requirement(3, "Please avoid jargon."),
]


def aside(told: object) -> str:
    """An answer that has the scripted judge say this."""
    words = told if isinstance(told, str) else json.dumps(told)
    return "the answer\n\n/aside " + json.dumps({"reply": words})


# --- what the judge sees ---


def test_the_judge_sees_goal_requirements_and_answer_and_nothing_else(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    store.sessions.change(session.id, objective="A calm plan", done_when="It fits a page")
    store.sessions.choose(session.id, replace(ECHO, system="You are SYSTEM."))
    grow(store, main, "You must name an owner.", "FIRST DRAFT", "small talk", "the last answer")
    run = check(runner, main, store.nodes.lineage(store.branches.get(main).tip_id))
    runner.wait(run.id, 10)
    (message,) = store.runs.sent(run.id).messages
    assert message["role"] == "user"
    for seen in ("A calm plan", "It fits a page", "1. You must name an owner.", "the last answer"):
        assert seen in message["text"]
    for unseen in ("FIRST DRAFT", "small talk", "SYSTEM"):
        assert unseen not in message["text"]
    assert (run.purpose, run.context_tip_id) == ("drift", store.branches.get(main).tip_id)


def test_with_nothing_to_judge_by_nothing_is_asked(session: Session) -> None:
    with pytest.raises(UserError, match="nothing to check") as caught:
        judge_call(session, [], "answer", ECHO)
    assert "objective" in caught.value.hint


def test_without_an_answer_there_is_nothing_to_check(runner: Runner, main: str) -> None:
    asked = grow(runner.store, main, "You must name an owner.")
    with pytest.raises(UserError, match="no answer"):
        check(runner, main, asked)


# --- what is made of what it writes ---

GOOD = {
    "score": 4,
    "kept": [1],
    "dropped": [{"requirement": 2, "why": "240 words"}],
    "suggestion": "Coming back to our goal of brevity: cut it.",
}


@pytest.mark.parametrize(
    "written",
    [
        json.dumps(GOOD),
        json.dumps(GOOD, indent=2),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"```\n{json.dumps(GOOD)}\n```\nI hope this helps.",
        f"Here {{is}} my verdict [1]:\n{json.dumps(GOOD)}\nBest regards",
        json.dumps(GOOD).replace("]", ",]").replace('cut it."}', 'cut it.",}'),
        json.dumps(GOOD | {"score": "4/10"}),
        json.dumps(GOOD | {"score": "4 out of 10", "kept": ["1"]}),
        json.dumps(GOOD | {"score": 4.0, "kept": ["R1"]}),
        json.dumps(GOOD | {"kept": ["It must name an owner"]}),
        json.dumps(GOOD | {"kept": [{"requirement": 1}]}),
        json.dumps(GOOD | {"kept": [1, 1, 99, 0, None, True, {}]}),
        json.dumps(GOOD | {"dropped": [{"requirement": "#2.", "why": "240 words"}]}),
        json.dumps(
            GOOD | {"dropped": [{"requirement": "keep it under 150 words!", "why": "240 words"}]}
        ),
        json.dumps(GOOD | {"kept": [1, 2]}),  # of both, dropped is believed
    ],
)
def test_a_verdict_is_read_however_it_is_wrapped(written: str) -> None:
    verdict = read(written, ASKED)
    assert verdict is not None
    assert verdict.score == 4
    assert verdict.kept == ("r1",)
    assert [(one.id, one.text, one.why) for one in verdict.dropped] == [
        ("r2", "Keep it under 150 words.", "240 words")
    ]
    assert verdict.suggestion.startswith("Coming back")


@pytest.mark.parametrize(
    ("written", "score", "dropped"),
    [
        ('{"score": 11}', 10, []),
        ('{"score": -3}', 0, []),
        ('{"score": true}', None, []),
        ('{"score": "high"}', None, []),
        ('{"score": null, "dropped": null}', None, []),
        ('{"score": 3, "dropped": ["the tone", 7, "", {"why": "x"}]}', 3, ["the tone"]),
        ('{"score": 3, "dropped": [{"text": "a date"}]}', 3, ["a date"]),
        ('{"score": 3, "dropped": "all"}', 3, []),
        ('{"score": 6, "dropped": [{"requirement": 3, "why": "it says syn', 6, [ASKED[2].text]),
        ('{"score": 6, "dropped": [{"requirement": 3,', 6, [ASKED[2].text]),
    ],
)
def test_what_is_half_right_is_taken_for_what_it_is(
    written: str, score: float | None, dropped: list[str]
) -> None:
    verdict = read(written, ASKED)
    assert verdict is not None
    assert (verdict.score, [one.text for one in verdict.dropped]) == (score, dropped)


@pytest.mark.parametrize(
    "written", ["", "I cannot judge this.", "[1, 2]", "{}", "{" * 5000, "null"]
)
def test_what_is_no_verdict_is_none(written: str) -> None:
    assert read(written, ASKED) is None


def test_the_words_that_lead_back_begin_as_the_guide_has_them(session: Session) -> None:
    aimed = replace(session, objective="A calm plan.")
    own = read(json.dumps(GOOD), ASKED)
    assert own is not None
    assert coming_back(aimed, own) == GOOD["suggestion"]
    bare = replace(own, suggestion="Shorten it.")
    said = coming_back(aimed, bare)
    assert said.startswith("Coming back to our goal of a calm plan: please bring these back in:")
    assert "- Keep it under 150 words." in said
    assert said.endswith("Shorten it.")
    assert "goal of what I asked for" in coming_back(session, replace(bare, suggestion=""))


# --- on the ledger ---


def standing(store: Store, session: Session, lineage: list[Node]) -> list[tuple[object, str]]:
    ledger = gather(store, lineage)
    found = standings(store, lineage, ledger, checks_of(store, session.id, lineage))
    return [(found[one.id].honoured, found[one.id].why) for one in ledger]


def test_a_verdict_tells_how_the_requirements_stand(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    asked = "It must name an owner. Keep it under 150 words. Please avoid jargon."
    lineage = grow(store, main, asked, aside(GOOD))
    assert standing(store, session, lineage) == [(None, "")] * 3
    run = runner.wait(check(runner, main, lineage).id, 10)
    assert standing(store, session, lineage) == [(True, ""), (False, "240 words"), (None, "")]
    assert checks_of(store, session.id, lineage) == [run]
    assert checks_of(store, session.id, lineage[:1]) == []


def test_a_check_speaks_of_its_own_branch_only(runner: Runner, session: Session, main: str) -> None:
    store = runner.store
    lineage = grow(store, main, "It must name an owner. Keep it under 150 words.", aside(GOOD))
    other = fork(store, lineage[0].id, from_branch=main)
    elsewhere = [lineage[0], *grow(store, other.id, "another answer")]
    runner.wait(check(runner, main, lineage).id, 10)
    assert standing(store, session, lineage) == [(True, ""), (False, "240 words")]
    assert standing(store, session, elsewhere) == [(None, ""), (None, "")]


def test_a_person_s_word_holds_until_a_later_answer_is_checked(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    lineage = grow(store, main, "It must name an owner. Keep it under 150 words.", aside(GOOD))
    runner.wait(check(runner, main, lineage).id, 10)
    short = gather(store, lineage)[1]
    store.requirements.judge(short.id, True, lineage[1].id)
    assert standing(store, session, lineage) == [(True, ""), (True, "")]
    lineage += grow(store, main, "go on", aside(GOOD))
    assert standing(store, session, lineage)[1] == (True, "")
    runner.wait(check(runner, main, lineage).id, 10)
    assert standing(store, session, lineage)[1] == (False, "240 words")


def test_a_requirement_in_other_words_has_not_been_looked_at(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    lineage = grow(store, main, "It must name an owner. Keep it under 150 words.", aside(GOOD))
    runner.wait(check(runner, main, lineage).id, 10)
    store.requirements.reword(gather(store, lineage)[0].id, "It must name two owners.")
    assert standing(store, session, lineage) == [(False, "240 words"), (None, "")]


def test_numbers_mean_what_they_meant_when_the_judge_was_asked(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    lineage = grow(store, main, "It must name an owner. Keep it under 150 words.", aside(GOOD))
    run = runner.wait(check(runner, main, lineage).id, 10)
    store.requirements.drop(gather(store, lineage)[0].id)
    verdict = verdict_of(store, run)
    assert verdict is not None
    assert [one.text for one in verdict.dropped] == ["Keep it under 150 words."]


# --- by itself ---


@pytest.fixture
def watched(runner: Runner) -> Iterator[Runner]:
    watch = Watch(runner)
    yield runner
    watch.close()


def checks(store: Store, session: Session) -> list[Run]:
    return store.runs.side(session.id, "drift")


def test_every_k_th_turn_is_checked_by_itself_and_no_other(
    watched: Runner, session: Session, main: str
) -> None:
    store = watched.store
    store.sessions.change(session.id, objective="A calm plan", drift_every=2)
    for number in range(1, 6):
        ask(watched, main, f"turn {number}")
        until(lambda done=number // 2: len(checks(store, session)) == done)
    until(lambda: all(run.state == "ended" for run in checks(store, session)))
    judged = [store.nodes.get(str(run.context_tip_id)).text for run in checks(store, session)]
    assert sorted(judged) == ["turn 2", "turn 4"]


def test_a_check_that_was_made_by_itself_is_noted_down_by_itself(
    watched: Runner, session: Session, main: str
) -> None:
    store = watched.store
    store.sessions.change(session.id, drift_every=1)
    script = {"reply": aside(GOOD), "delay": 0}
    ask(watched, main, f"/script {json.dumps(script)}")
    # A script is no requirement: with nothing to judge by, nobody is asked.
    assert checks(store, session) == []
    store.sessions.change(session.id, objective="A calm plan")
    grow(store, main, "It must name an owner. Keep it under 150 words.")
    asked = str(store.branches.get(main).tip_id)
    watched.wait(watched.regenerate(main, asked).id, 10)
    until(lambda: [run.state for run in checks(store, session)] == ["ended"])
    assert text_of(checks(store, session)[0].partial)


@pytest.mark.parametrize("every", [0, 3])
def test_no_other_turn_is_checked(watched: Runner, session: Session, main: str, every: int) -> None:
    watched.store.sessions.change(session.id, objective="A calm plan", drift_every=every)
    ask(watched, main, "one")
    ask(watched, main, "two")
    watched.close()
    assert checks(watched.store, session) == []


def test_an_answer_that_failed_is_not_judged_and_a_used_up_budget_stops_the_judge(
    watched: Runner, session: Session, main: str
) -> None:
    store = watched.store
    store.sessions.change(session.id, objective="A calm plan", drift_every=1)
    ask(watched, main, "/fail BadRequest\nno")
    store.sessions.change(session.id, token_budget=1, over_budget="stop")
    watched.store.sessions.change(session.id, over_budget="warn")
    ask(watched, main, "/delay 1\n/usage 5 5\nyes")
    until(lambda: len(checks(store, session)) == 1)


def test_the_judge_does_not_hold_up_the_next_answer(
    watched: Runner, session: Session, main: str
) -> None:
    store = watched.store
    store.sessions.change(session.id, objective="A calm plan", drift_every=1)
    slow = json.dumps({"reply": "x\n\n/aside " + json.dumps({"reply": "late", "stall": 0})})
    ask(watched, main, f"/script {slow}")
    until(lambda: len(checks(store, session)) == 1)
    assert ask(watched, main, "next").finish_reason == "stop"
    assert checks(store, session)[-1].state == "running"
    for run in checks(store, session):
        watched.stop(run.id)
