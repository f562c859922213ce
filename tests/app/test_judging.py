"""The tabs Judge and Standings: a verdict by hand, a judge, checks, and what they come to."""

import json
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import Session, Store, fork
from core.columns import columns
from core.judge import running
from core.judging import DEFAULT, rubric_of
from core.lanes import side_by_side
from core.standings import Standing
from core.types import Comparison, Verdict
from pages import backend
from pages.components import judging_hand, judging_look, standings
from tests.app.conftest import ECHO, Open, memory, said, sound
from tests.unit.house import ask, grow, until

TEXTS = ("The plan. Owner: Ada. Cost: 12,400.", "A plan <b>without</b> an owner.", "Third.")


def put_up(store: Store, *texts: str, **told: Any) -> tuple[Session, Comparison]:
    """Lanes of three models with these answers, side by side."""
    session = store.sessions.create(config=ECHO)
    if told:
        store.sessions.change(session.id, **told)
    main = str(session.current_branch_id)
    root = grow(store, main, "Write a plan.")[0]
    branches = []
    for number, text in enumerate(texts or TEXTS):
        branch = fork(store, root.id, from_branch=main)
        store.branches.rename(branch.id, f"lane {number + 1}")
        model = ("echo-slow", "echo-think", "echo-1")[number % 3]
        store.branches.choose_config(branch.id, replace(ECHO, model=model))
        if text:  # the scripted provider says what it is sent
            config = replace(ECHO, model=model)
            ask(backend.runner(), branch.id, text, config=config)
        branches.append(branch.id)
    return store.sessions.get(session.id), side_by_side(store, session.id, branches)


def judged(*scores: tuple[float, ...]) -> str:
    """A definition of done that has the scripted judge give these scores."""
    told = {
        "answers": [
            {"answer": n, "reason": f"reason {n}", "scores": list(one)}
            for n, one in enumerate(scores, 1)
        ]
    }
    return "It fits a page.\n/aside " + json.dumps({"reply": json.dumps(told)})


def show(app: Open, comparison: Comparison, part: str = "", tab: str = "Judge") -> AppTest:
    test = app("compare.py", session=comparison.session_id)
    place = {"session": comparison.session_id, "comparison": comparison.id, "tab": tab}
    for name, value in (place | ({"judging": part} if part else {})).items():
        test.query_params[name] = value
    return sound(test.run())


def widget(test: AppTest, key: str) -> Any:
    return test.get_by_key(key)


def html(test: AppTest) -> str:
    return "\n".join(str(one.proto.body) for one in test.get("html"))


def press(test: AppTest, key: str) -> AppTest:
    return sound(widget(test, key).click().run())


def by(store: Store, who: str) -> list[Verdict]:
    return [one for one in store.verdicts.of() if one.by == who]


# --- by hand ---


def test_a_verdict_by_hand_is_drafted_saved_listed_removed_and_taken_back(
    app: Open, store: Store
) -> None:
    _, comparison = put_up(store)
    lanes = [lane.branch_id for lane in store.comparisons.lanes(comparison.id)]
    test = press(show(app, comparison), "vote_best_1")
    sound(widget(test, "vote_stars_1").set_value(4).run())
    sound(widget(test, "vote_stars_0").set_value(1).run())
    sound(widget(test, "vote_note").set_value("It is *shorter*").run())
    test = show(app, comparison)  # a reload finds it
    assert widget(test, "vote_note").value == "It is *shorter*"
    press(test, "vote_save")
    (verdict,) = store.verdicts.of(comparison_id=comparison.id)
    assert (verdict.winner, verdict.tie, verdict.by, verdict.blind) == (
        lanes[1], False, "person", False
    )  # fmt: skip
    assert dict(verdict.ratings) == {lanes[0]: 2.0, lanes[1]: 5.0}
    assert verdict.note == "It is *shorter*"
    assert set(verdict.tips) == set(lanes)
    assert "**lane 2** is best · stars: lane 1 2 of 5, lane 2 5 of 5" in said(test)
    assert judging_hand.read(store, comparison) == judging_hand.Draft()
    grow(store, lanes[1], "go on", "a newer answer")
    assert "lane 2 has moved on since" in said(sound(test.run()))
    press(test, f"verdict_remove.{verdict.id}")
    assert store.verdicts.of() == []
    press(test, "undo_verdict")
    assert store.verdicts.of() == [verdict]


def test_a_tie_takes_the_choice_away_and_an_empty_verdict_is_not_saved(
    app: Open, store: Store
) -> None:
    _, comparison = put_up(store)
    test = press(show(app, comparison), "vote_save")
    assert "Nothing was chosen" in said(test)
    press(test, "vote_best_0")
    press(test, "vote_tie")
    press(test, "vote_save")
    (verdict,) = store.verdicts.of()
    assert (verdict.winner, verdict.tie) == (None, True)


def test_while_it_is_blind_no_name_and_no_model_is_shown_and_then_all_are(
    app: Open, store: Store
) -> None:
    _, comparison = put_up(store)
    store.comparisons.set_blind(comparison.id, True)
    test = show(app, comparison)
    judging = said(test) + html(test) + "".join(str(one.label) for one in test.button)
    for hidden in ("lane 1", "lane 2", "lane 3", "echo-slow", "echo-think"):
        assert hidden not in judging
    for shown in ("Answer A", "Answer B", "Answer C"):
        assert shown in judging
    press(test, "vote_best_0")
    press(test, "vote_save")
    (verdict,) = store.verdicts.of()
    assert verdict.blind
    assert verdict.winner is not None
    assert not store.comparisons.get(comparison.id).blind
    name = store.branches.get(verdict.winner).name
    (revealed,) = [str(one.value) for one in test.success]
    assert "You voted blind" in revealed
    assert f"Answer A was **{name} \\(echo · " in revealed
    assert "your choice" in revealed


def test_blind_lanes_stand_in_an_order_of_their_own(store: Store) -> None:
    orders = set()
    for _ in range(6):
        _, made = put_up(store)
        store.comparisons.set_blind(made.id, True)
        comparison = store.comparisons.get(made.id)
        found = columns(store, comparison)
        look = judging_look.look(store, comparison, found)
        again = judging_look.look(store, comparison, found)
        assert look.names == again.names
        orders.add(tuple(one.name for one in look.columns))
    assert len(orders) > 1


def test_with_one_answer_there_is_nothing_to_judge(app: Open, store: Store) -> None:
    _, comparison = put_up(store, "only one", "")
    test = show(app, comparison)
    assert "not two answers" in "".join(str(one.value) for one in test.info)
    assert "left to judge" in said(show(app, comparison, "By a model"))


def test_answers_that_are_compared_are_not_new_any_more(app: Open, store: Store) -> None:
    session, comparison = put_up(store)
    (row,) = store.sessions.recent(5)
    assert row["unread"]
    test = show(app, comparison)
    (row,) = store.sessions.recent(5)
    assert not row["unread"]
    assert "new answer" not in "".join(str(one.label) for one in test.button)
    assert session.id == row["id"]


# --- by a model ---


def finished(store: Store) -> Verdict:
    until(lambda: by(store, "judge") and not running(by(store, "judge")[0]))
    return by(store, "judge")[0]


def test_a_judge_is_asked_and_what_it_says_is_shown(app: Open, store: Store) -> None:
    done = judged((9, 9, 9, 9), (3, 3, 3, 3))  # likes the first place
    _, comparison = put_up(store, *TEXTS[:2], done_when=done)
    test = show(app, comparison, "By a model")
    assert "2 calls, ≈" in said(test)
    press(test, "judge_ask")
    verdict = finished(store)
    sound(test.run())
    assert (verdict.tie, verdict.winner) == (True, None)
    assert "**A tie**" in said(test)
    assert "changed its mind when the order was reversed" in said(test)
    assert "Standing first was worth +6.0 points" in said(test)
    shown = html(test)
    for words in ("lane 1", "3.0 – 9.0", "1 of 2", "reason 1"):
        assert words in shown
    press(test, f"judge_remove.{verdict.id}")
    assert store.verdicts.of() == []
    press(test, "undo_verdict")
    assert store.verdicts.of() == [verdict]


def test_what_a_judge_wrote_and_nobody_can_read_is_shown_as_such(app: Open, store: Store) -> None:
    aside = "Page.\n/aside " + json.dumps({"reply": "The <i>first</i> one."})
    _, comparison = put_up(store, *TEXTS[:2], done_when=aside)
    test = press(show(app, comparison, "By a model"), "judge_ask")
    verdict = finished(store)
    sound(test.run())
    assert "**No verdict**" in said(test)
    assert "2 votes could not be read and did not count" in said(test)
    assert "The &lt;i&gt;first&lt;/i&gt; one." in html(test)
    assert widget(test, f"judge_again.{verdict.id}").label == "Ask again for 2 votes"
    press(test, f"judge_again.{verdict.id}")
    until(lambda: sum(map(len, (v["runs"] for v in finished(store).body["votes"]))) == 8)


def test_its_own_lane_is_left_out_until_the_person_says_otherwise(app: Open, store: Store) -> None:
    _, comparison = put_up(store)
    test = show(app, comparison, "By a model")  # the judge is echo-1, as lane 3 is
    assert "lane 3 is left out: the judge" in "".join(str(one.value) for one in test.warning)
    sound(widget(test, "judge_own").set_value(True).run())
    assert "is judged all the same" in "".join(str(one.value) for one in test.warning)
    sound(widget(test, "judge_model").set_value("echo\necho-slow").run())
    warned = "".join(str(one.value) for one in test.warning)
    assert "lane 1" in warned
    store.comparisons.set_blind(comparison.id, True)
    blind = show(app, comparison, "By a model")
    assert "1 answer is " in "".join(str(one.value) for one in blind.warning)
    assert "lane 1" not in said(blind)


def test_votes_pairs_and_rubric_are_kept(app: Open, store: Store) -> None:
    session, comparison = put_up(store)
    test = show(app, comparison, "By a model")
    sound(widget(test, "judge_model").set_value("echo\necho-1").run())
    sound(widget(test, "judge_own").set_value(True).run())
    sound(widget(test, "judge_rounds").set_value(3).run())
    assert "6 calls" in said(test)
    sound(widget(test, "judge_pairs").set_value(True).run())
    assert "18 calls" in said(test)
    state_open = "open.rubric"
    memory(test)[state_open] = True
    sound(test.run())
    sound(widget(test, "rubric_text_0").set_value("It rhymes").run())
    sound(widget(test, "rubric_weight_0").set_value(5.0).run())
    kept = rubric_of(store.verdicts.rubric(session.id))
    assert (kept[0].text, kept[0].weight, kept[1:]) == ("It rhymes", 5.0, DEFAULT[1:])
    press(test, "rubric_add")
    press(test, "rubric_remove_1")
    assert len(rubric_of(store.verdicts.rubric(session.id))) == len(DEFAULT)
    press(test, "rubric_reset")
    assert rubric_of(store.verdicts.rubric(session.id)) == DEFAULT
    again = show(app, comparison, "By a model")
    assert widget(again, "judge_rounds").value == 3
    assert widget(again, "judge_pairs").value


def test_in_a_blind_look_no_verdict_of_a_judge_tells_which_answer_is_its_own(
    app: Open, store: Store
) -> None:
    _, comparison = put_up(store, done_when=judged((9, 9, 9, 9), (3, 3, 3, 3)))
    store.comparisons.set_blind(comparison.id, True)
    test = press(show(app, comparison, "By a model"), "judge_ask")  # lane 3 is left out
    finished(store)
    sound(test.run())
    assert "**The judge has voted**" in said(test)
    assert "Its scores wait for your vote" in said(test)
    for word in ("Answer A", "Answer B", "Answer C", "reason 1"):
        assert word not in said(test) + html(test)
    store.comparisons.set_blind(comparison.id, False)
    assert "reason 1" in html(show(app, comparison, "By a model"))


@pytest.mark.parametrize("tab", ["Judge", "Merge", "Standings", "Jobs", "Differences"])
def test_in_a_blind_look_no_tab_names_a_lane(app: Open, store: Store, tab: str) -> None:
    _, comparison = put_up(store)
    store.comparisons.rename(comparison.id, "lane 1 or lane 2")
    store.comparisons.set_blind(comparison.id, True)
    test = show(app, comparison, tab=tab)
    told = [said(test), html(test)]
    for kind in (test.button, test.text_input, test.text_area, test.checkbox, test.info):
        told += [f"{one.label if hasattr(one, 'label') else ''} {one.value}" for one in kind]
    for box in (*test.selectbox, *test.multiselect):
        if box.label != "Branches to compare":  # of all the session's: they tell of no lane
            told += [*box.options]
    assert not [words for words in told if "lane 1" in words or "lane 3" in words]


# --- checks ---


def test_checks_are_added_shown_and_removed(app: Open, store: Store) -> None:
    session, comparison = put_up(store)
    test = show(app, comparison, "Checks")
    assert "Checks need no model" in "".join(str(one.value) for one in test.info)
    sound(widget(test, "check.contains").set_value("owner").run())
    press(test, "check_add")
    assert widget(test, "check.contains").value == ""
    sound(widget(test, "check.kind").set_value("expression").run())
    sound(widget(test, "check.expression").set_value("nobody").run())
    press(test, "check_add")
    assert [one.kind for one in store.verdicts.checks(session.id)] == ["contains", "expression"]
    table = html(test)
    for words in ("contains “owner”", "✓ passed", "✗ failed", "? not checked", "1 of 2"):
        assert words in table
    sound(widget(test, "check.kind").set_value("regex").run())
    sound(widget(test, "check.regex").set_value("(").run())
    press(test, "check_add")
    assert "cannot be used" in said(test)
    assert widget(test, "check.regex").value == "("
    first = store.verdicts.checks(session.id)[0]
    press(test, f"check_remove.{first.id}")
    assert len(store.verdicts.checks(session.id)) == 1


@pytest.mark.parametrize(
    ("kind", "fields", "body"),
    [
        ("forbidden", {"check.forbidden": "never\nat all"}, {"phrases": ["never", "at all"]}),
        ("length", {"check.most": 9}, {"unit": "words", "least": None, "most": 9}),
        ("number", {"check.value": 12400.0}, {"value": 12400.0, "tolerance": 0.0}),
        ("regex", {"check.regex": "a+"}, {"pattern": "a+"}),
        ("schema", {"check.schema": "{}"}, {"schema": "{}"}),
    ],
)
def test_each_kind_has_its_fields(
    app: Open, store: Store, kind: str, fields: dict[str, Any], body: dict[str, Any]
) -> None:
    session, comparison = put_up(store)
    test = show(app, comparison, "Checks")
    sound(widget(test, "check.kind").set_value(kind).run())
    for key, value in fields.items():
        sound(widget(test, key).set_value(value).run())
    press(test, "check_add")
    (check,) = store.verdicts.checks(session.id)
    assert (check.kind, check.body) == (kind, body)


# --- standings ---


def test_standings_tell_people_from_judges(app: Open, store: Store) -> None:
    done = judged((9, 9, 9, 9), (3, 3, 3, 3))
    _, comparison = put_up(store, *TEXTS[:2], done_when=done)
    assert "No verdicts yet" in said(show(app, comparison, tab="Standings"))
    test = press(show(app, comparison), "vote_best_1")
    press(test, "vote_save")
    press(show(app, comparison, "By a model"), "judge_ask")
    finished(store)
    test = show(app, comparison, tab="Standings")
    assert "From 2 verdicts" in said(test)
    table = html(test)
    for words in ("echo · echo-think", "echo · echo-slow", "Strength", "Best tenth"):
        assert words in table
    sound(widget(test, "standings.by").set_value("People").run())
    assert "From 1 verdict." in said(test)
    store.comparisons.set_blind(comparison.id, True)
    blind = show(app, comparison, tab="Standings")
    assert "No verdicts yet" in said(blind)
    assert "blind" in "".join(str(one.value) for one in blind.info)


def test_a_cost_that_nobody_knows_is_said(store: Store) -> None:
    row = Standing(name="x", judged=2, won=1, unknown=1)
    assert "unknown" in standings._cells(row)[6]
    assert standings._cells(Standing(name="<x>"))[0] == "&lt;x&gt;"
