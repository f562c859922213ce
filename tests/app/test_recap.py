"""The dialog of a recap without a browser: options, draft, check, versions."""

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from core import Session, Store
from core.recap import PROMPT, activate, add, choices_of
from core.types import text_of
from tests.app.conftest import Open, conversation, memory, said, sound
from tests.unit.house import until

TALK = (
    "Plan an offsite in Porto for 18 people. It must be vegetarian.",
    "Which dates?",
    "14 May 2026. Marta Oliveira books it.",
    "Noted.",
    "Write the agenda.",
    "Here it is.",
    "And day two?",
    "Here as well.",
)


@pytest.fixture
def session(store: Store) -> Session:
    return conversation(store, *TALK)


def button(test: AppTest, label: str) -> AppTest:
    """Press the first button of that label."""
    next(one for one in test.button if one.label == label).click()
    return sound(test.run())


def labels(test: AppTest) -> list[str]:
    return [one.label for one in test.button]


def nodes(store: Store, session: Session) -> list[str]:
    branch = store.branches.get(str(session.current_branch_id))
    return [node.id for node in store.nodes.lineage(branch.tip_id)]


def ended(store: Store, session: Session, purpose: str) -> None:
    runs = store.runs
    until(lambda: [run.state for run in runs.side(session.id, purpose)] == ["ended"])  # type: ignore[arg-type]


def written(app: Open, store: Store, session: Session, prompt: str) -> AppTest:
    """The dialog with a draft that the scripted model wrote."""
    test = button(app(session=session.id), "Recap")
    area = next(one for one in test.text_area if one.label == "What the model is asked for")
    assert area.value == PROMPT
    area.set_value(prompt)
    button(test, "Write recap")
    ended(store, session, "recap")
    return sound(test.run())


def field(test: AppTest) -> str:
    return str(next(one for one in test.text_area if one.label == "Recap").value)


def test_options_come_first(app: Open, session: Session) -> None:
    test = button(app(session=session.id), "Recap")
    (keep,) = [one for one in test.number_input if one.label == "Last turns that stay verbatim"]
    assert (keep.value, keep.max) == (2, 3)
    assert "Covers turns 1–2 (4 messages), up to: Noted" in said(test)
    keep.set_value(1)
    assert "Covers turns 1–3 (6 messages)" in said(sound(test.run()))


def test_a_draft_is_checked_completed_and_activated(
    app: Open, store: Store, session: Session
) -> None:
    test = written(app, store, session, "Offsite in Porto, 14 May 2026, vegetarian.")
    assert field(test) == "Offsite in Porto, 14 May 2026, vegetarian."
    assert "2 not found in the recap" in said(test)
    button(test, "Add")
    button(test, "Add")
    assert "Nothing seems to be missing" in said(test)
    assert "- Plan an offsite in Porto for 18 people." in field(test)
    button(test, "Activate")
    choices = choices_of(store, str(session.current_branch_id))
    assert choices.recap is not None
    assert choices.recap.covers_to == nodes(store, session)[3]
    assert choices.recap.text.endswith("- Marta Oliveira books it.")
    assert choices.recap.run_id is not None
    assert "Write recap" not in labels(test)


def test_a_model_adds_its_findings(app: Open, store: Store, session: Session) -> None:
    found = json.dumps([{"kind": "quote", "text": "Which dates"}]).replace("W", "\\u0057")
    recap = f"Porto\n/aside {json.dumps({'reply': found})}"
    test = written(app, store, session, "Porto")
    next(one for one in test.text_area if one.label == "Recap").set_value(recap)
    button(test, "Ask a model too")
    ended(store, session, "fidelity")
    sound(test.run())
    assert "Which dates" in said(test)
    assert "found by a model" in said(test)
    (run,) = store.runs.side(session.id, "fidelity")
    sent = [message["text"] for message in store.runs.sent(run.id).messages]
    assert sent[:4] == list(TALK[:4])
    assert sent[4].endswith(f"The recap:\n\n{recap}")


def test_an_error_is_shown_with_a_retry(app: Open, store: Store, session: Session) -> None:
    test = written(app, store, session, "/fail RateLimited 9\nx")
    assert "RateLimited" in "".join(one.value for one in test.warning)
    assert "Back to the options" in labels(test)
    button(test, "Retry")
    assert len(store.runs.side(session.id, "recap")) == 2


def test_a_draft_that_was_never_placed_is_offered(
    app: Open, store: Store, session: Session
) -> None:
    written(app, store, session, "Left alone")
    test = button(app(session=session.id), "Recap")  # a new tab
    assert "Unplaced recap drafts" in said(test)
    (draft,) = [one for one in test.button if one.key and one.key.startswith("draft.")]
    draft.click()
    assert field(sound(test.run())) == "Left alone"


def test_edits_outlive_closing_the_dialog(app: Open, store: Store, session: Session) -> None:
    test = written(app, store, session, "As written")
    next(one for one in test.text_area if one.label == "Recap").set_value("As edited")
    button(test, "Options")
    (draft,) = [one for one in test.button if one.key and one.key.startswith("draft.")]
    draft.click()
    assert field(sound(test.run())) == "As edited"


def test_one_can_be_written_without_a_model(app: Open, store: Store, session: Session) -> None:
    test = button(app(session=session.id), "Recap")
    button(test, "Write it by hand")
    button(test, "Activate")
    assert any("empty" in one.value for one in test.error)
    next(one for one in test.text_area if one.label == "Recap").set_value("My own words")
    button(test, "Activate")
    recap = choices_of(store, str(session.current_branch_id)).recap
    assert recap is not None
    assert (recap.text, recap.run_id) == ("My own words", None)
    assert store.runs.side(session.id, "recap") == []


@pytest.fixture
def placed(store: Store, session: Session) -> Callable[..., str]:
    def place(text: str, **more: str) -> str:
        recap = add(store, session.id, nodes(store, session)[3], text, **more)
        activate(store, str(session.current_branch_id), recap.id)
        return recap.id

    return place


def open_versions(app: Open, session: Session) -> AppTest:
    test = button(app(session=session.id), "Recap")
    known = [one for one in test.button if one.key and one.key.startswith("known.")]
    known[0].click()
    return sound(test.run())


def test_versions_stand_side_by_side_and_are_switched(
    app: Open, store: Store, session: Session, placed: Callable[..., str]
) -> None:
    one = placed("First words")
    two = placed("Second words", edited_from=one)
    test = open_versions(app, session)
    assert "First words" in said(test)
    assert "Second words" in said(test)
    assert "edited by hand" in said(test)
    button(test, "Use this")
    recap = choices_of(store, str(session.current_branch_id)).recap
    assert recap is not None
    assert recap.id == one
    test = open_versions(app, session)
    button(test, "Switch off")
    assert choices_of(store, str(session.current_branch_id)).recap is None
    assert len(store.recaps.covering([nodes(store, session)[3]])) == 2
    assert two


def test_an_edit_is_a_new_version(
    app: Open, store: Store, session: Session, placed: Callable[..., str]
) -> None:
    one = placed("First words")
    test = open_versions(app, session)
    button(test, "Edit")
    assert field(test) == "First words"
    next(area for area in test.text_area if area.label == "Recap").set_value("Better words")
    button(test, "Activate")
    recap = choices_of(store, str(session.current_branch_id)).recap
    assert recap is not None
    assert (recap.text, recap.edited_from) == ("Better words", one)
    assert store.recaps.get(one).text == "First words"


def test_it_is_carried_into_another_branch(
    app: Open, store: Store, session: Session, placed: Callable[..., str]
) -> None:
    placed("Porto it is.")
    other = store.branches.create(session.id, "other way", nodes(store, session)[1])
    test = open_versions(app, session)
    button(test, "Go there with it")
    assert store.sessions.get(session.id).current_branch_id == other.id
    assert test.query_params["branch"] in (other.id, [other.id])
    inserted = memory(test)["insert"]
    assert inserted.text == "To recap what we decided on branch main:\n\nPorto it is.\n\n"
    assert text_of(store.nodes.get(nodes(store, session)[-1]).parts) == TALK[-1]
