"""Merging back without a browser: fuse, merge by meaning, bring in, the winner."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from core import Runner, Session, Store, fork, show
from core.lanes import side_by_side
from core.recap import choices_of
from core.types import Comparison
from pages import backend
from pages.components.entry import entry_page
from tests.app.conftest import Open, conversation, said, sound
from tests.unit.house import grow, path_of, until

A = "Porto is the place. The budget is 10,000 euros. Bring a raincoat."
B = "Porto is the place. The budget is 12,000 euros. There is a fado night."


@pytest.fixture
def session(store: Store) -> Session:
    """Two branches that answer one message."""
    made = conversation(store, "Plan an offsite.", A)
    main = str(made.current_branch_id)
    asked = store.nodes.lineage(store.branches.get(main).tip_id)[0]
    other = fork(store, asked.id, from_branch=main, name="other")
    grow(store, other.id, B)
    return store.sessions.get(made.id)


@pytest.fixture
def comparison(store: Store, session: Session) -> Comparison:
    ids = [branch.id for branch in store.branches.of(session.id)]
    return side_by_side(store, session.id, ids)


def merging(app: Open, comparison: Comparison, way: str = "") -> AppTest:
    """The tab, at one way of merging."""
    if way:
        store = backend.store()
        kept = json.dumps({"way": way})
        store.drafts.keep(comparison.session_id, f"merge_way.{comparison.id}", kept)
    test = app("compare.py")
    place = {"session": comparison.session_id, "comparison": comparison.id, "tab": "Merge"}
    for name, value in place.items():
        test.query_params[name] = value
    return sound(test.run())


def press(test: AppTest, label: str) -> AppTest:
    next(one for one in test.button if one.label == label).click()
    return sound(test.run())


def field(test: AppTest, label: str) -> str:
    return str(next(one for one in test.text_area if one.label == label).value)


def ended(store: Store, session: Session, purpose: str, count: int = 1) -> None:
    until(
        lambda: (
            [run.state for run in store.runs.side(session.id, purpose)]  # type: ignore[arg-type]
            == ["ended"] * count
        )
    )


def runner() -> Runner:
    return backend.runner()


# --- fuse ---


def fused(app: Open, store: Store, session: Session, comparison: Comparison) -> AppTest:
    test = merging(app, comparison)
    wish = next(one for one in test.text_area if one.label.startswith("What else"))
    wish.set_value('short\n/aside {"reply": "One text."}')
    sound(test.run())
    next(one for one in test.checkbox if "fado" in one.label).check()
    sound(test.run())
    assert "1 of 4 wordings ticked" in said(test)
    press(test, "Fuse")
    ended(store, session, "fuse")
    return sound(test.run())


def test_from_ticks_to_an_answer_with_two_origins(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    test = fused(app, store, session, comparison)
    (run,) = store.runs.side(session.id, "fuse")
    (message,) = store.runs.sent(run.id).messages
    assert "(from B) There is a fado night." in message["text"].split("Stays out:")[0]
    assert field(test, "The fused answer") == "One text."
    area = next(one for one in test.text_area if one.label == "The fused answer")
    area.set_value("One text of mine.")
    sound(test.run())
    again = merging(app, comparison)  # another tab, or a reload
    assert field(again, "The fused answer") == "One text of mine."
    press(again, "Place as a new answer")
    made = store.branches.of(session.id)[-1]
    assert made.name == "fused · main + other"
    assert path_of(store, made) == ["Plan an offsite.", "One text of mine."]
    entries, _ = entry_page(store, show(store, session.id, branch_id=made.id))
    assert [(one["kind"], one["name"]) for one in entries[-1]["origins"]] == [
        ("fuse", "main"),
        ("fuse", "other"),
    ]
    assert entries[0]["origins"] == []
    assert entries[-1]["run"]["id"] == run.id
    assert entries[-1]["run"]["model"] == run.config.model
    lanes = [lane.branch_id for lane in store.comparisons.lanes(comparison.id)]
    assert lanes[-1] == made.id
    fresh = merging(app, comparison)
    assert "0 of 4 wordings ticked" in said(fresh)


def test_a_fused_answer_is_no_lane_where_that_is_not_wished_for(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    test = fused(app, store, session, comparison)
    next(one for one in test.checkbox if one.label == "Add it to this comparison").uncheck()
    sound(test.run())
    press(merging(app, comparison), "Place as a new answer")
    assert len(store.branches.of(session.id)) == 3
    assert len(store.comparisons.lanes(comparison.id)) == 2


def test_whole_answers_are_ticked_and_unticked(app: Open, comparison: Comparison) -> None:
    test = merging(app, comparison)
    press(test, "All of main")
    assert "2 of 4 wordings ticked" in said(test)
    press(test, "Tick all")
    assert "4 of 4 wordings ticked" in said(test)
    press(test, "Untick all")
    press(test, "Fuse")
    assert "Nothing is ticked" in said(test)


def test_the_draft_can_be_left_for_the_differences_and_the_ticks_stay(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    test = fused(app, store, session, comparison)
    press(test, "Back to the differences")
    assert "1 of 4 wordings ticked" in said(test)


def test_a_blind_comparison_shows_letters(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    store.comparisons.set_blind(comparison.id, True)
    for way in ("Fuse", "By meaning", "Bring in", "Winner"):
        test = merging(app, comparison, way)
        boxes = [one for one in test.selectbox if one.label != "Comparison"]
        boxes += [one for one in test.multiselect if one.label == "Answers"]
        shown = [
            *(option for one in boxes for option in one.options),
            *(one.label for one in (*test.checkbox, *test.button, *test.text_input)),
            *(one.value for one in test.text_area),
        ]
        assert not [words for words in shown if "other" in words.split()], way


# --- merge by meaning ---


def test_conflicts_are_decided_and_the_text_becomes_the_first_message(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    test = merging(app, comparison, "By meaning")
    press(test, "Without a model")
    assert "1 conflict" in said(test)
    assert not [one for one in test.text_area if one.label == "The merged text"]
    (choice,) = [one for one in test.radio if one.key and "choice" in one.key]
    choice.set_value("own")
    sound(test.run())
    (own,) = [one for one in test.text_input if one.label == "Your words"]
    own.set_value("The budget is 11,000 euros.")
    sound(test.run())
    assert "The budget is 11,000 euros." in field(test, "The merged text")
    assert "- There is a fado night." in field(test, "The merged text")
    press(test, "Open the merged branch")
    made = store.branches.of(session.id)[-1]
    assert (made.name, made.tip_id) == ("merged · main + other", None)


def test_what_cannot_be_read_is_asked_once_more_then_compared_without_a_model(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    test = merging(app, comparison, "By meaning")
    press(test, "Merge by meaning")  # the scripted model repeats what it was sent: no list
    until(lambda: _again(test, store, session))
    ended(store, session, "merge", 2)
    sound(test.run())
    assert any("could not be read, twice" in one.value for one in test.warning)
    assert "1 conflict" in said(test)
    press(test, "Start over")
    assert "Without a model" in [one.label for one in test.button]


def _again(test: AppTest, store: Store, session: Session) -> bool:
    sound(test.run())
    return len(store.runs.side(session.id, "merge")) == 2


def test_a_recap_carries_the_text_where_the_branches_share_an_answer(
    app: Open, store: Store
) -> None:
    made = conversation(store, "Plan.", "It is in Porto.", "When?", "In May.")
    main = str(made.current_branch_id)
    shared = store.nodes.lineage(store.branches.get(main).tip_id)[1]
    other = fork(store, shared.id, from_branch=main, name="other")
    grow(store, other.id, "Who?", "All of us.")
    test = merging(app, side_by_side(store, made.id, [main, other.id]), "By meaning")
    press(test, "Without a model")
    press(test, "Open the merged branch")
    branch = store.branches.of(made.id)[-1]
    assert branch.tip_id == shared.id
    recap = choices_of(store, branch.id).recap
    assert recap is not None
    assert "- All of us." in recap.text


# --- bring in, winner ---


def test_a_quote_waits_in_the_composer_and_its_origin_is_shown_once_sent(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    test = merging(app, comparison, "Bring in")
    words = field(test, "Words (leave only what you need)")
    assert words.startswith("From the branch “main”:\n> Porto is the place.")
    area = next(one for one in test.text_area if one.label.startswith("Words"))
    area.set_value(f"{words}And mine.\n\n")
    sound(test.run())
    test = merging(app, comparison, "Bring in")  # a reload
    words = field(test, "Words (leave only what you need)")
    assert words.endswith("And mine.\n\n")
    press(test, "Put into the composer")
    fresh = merging(app, comparison, "Bring in")
    assert "And mine." not in field(fresh, "Words (leave only what you need)")
    other = next(one for one in store.branches.of(session.id) if one.name == "other")
    run = runner().send(other.id, f"{words}What of this?")
    runner().wait(run.id, 10)
    entries, _ = entry_page(store, show(store, session.id, branch_id=other.id))
    assert [(one["kind"], one["name"]) for one in entries[2]["origins"]] == [("quote", "main")]


def test_the_reasons_of_the_others_go_into_the_winner_s_composer(
    app: Open, store: Store, session: Session, comparison: Comparison
) -> None:
    test = merging(app, comparison, "Winner")
    choice = next(one for one in test.selectbox if one.label == "Winner")
    choice.set_value(store.branches.of(session.id)[0].id)
    sound(test.run())
    press(test, "Mark as the winner")
    assert "won" in said(test)
    press(test, "Take back")
    assert "won" not in said(test)
    press(test, "Mark as the winner")
    (reason,) = [one for one in test.text_input if one.label == "Why not other?"]
    reason.set_value("Too dear.")
    sound(test.run())
    assert store.branches.of(session.id)[1].note == "Too dear."
    press(test, "Carry the reasons into the next prompt")
    assert store.sessions.get(session.id).current_branch_id == store.branches.of(session.id)[0].id
