"""What is asked beside the conversation: consolidate, rewrite, decisions; the clean branch."""

import pytest

from core import Runner, Session, show
from core.consolidate import (
    DECISIONS,
    PROMPT,
    ask,
    consolidate,
    linked,
    listed,
    open_clean,
    rewrite,
)
from core.errors import UserError
from core.types import text_of
from pages.components.acts import perform
from pages.components.refine import chips
from tests.unit.house import grow, path_of

TALK = ("Draft a plan.", "PLAN ONE", "Add a budget.", "PLAN TWO")


def sent(runner: Runner, run_id: str) -> list[tuple[str, str]]:
    return [(m["role"], m["text"]) for m in runner.store.runs.sent(run_id).messages]


def test_consolidate_asks_after_the_conversation_as_it_stands_and_makes_no_node(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *TALK)
    run = runner.wait(consolidate(runner, show(runner.store, session.id)).id, 10)
    assert sent(runner, run.id) == [
        ("user", TALK[0]),
        ("assistant", TALK[1]),
        ("user", TALK[2]),
        ("assistant", TALK[3]),
        ("user", PROMPT),
    ]
    assert (run.purpose, run.node_id) == ("consolidate", None)
    assert path_of(runner.store, main) == [*TALK]
    assert PROMPT.startswith("Please consolidate everything I've told you so far")


def test_the_clean_branch_begins_at_the_root_with_nothing_of_the_source(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    grow(store, main, *TALK)
    before = store.branches.get(main)
    run = runner.wait(open_clean(runner, main, "Draft a plan with a budget.").id, 10)
    assert sent(runner, run.id) == [("user", "Draft a plan with a budget.")]
    made = store.branches.get(run.branch_id)
    assert store.nodes.lineage(made.tip_id)[0].parent_id is None
    assert path_of(store, made) == ["Draft a plan with a budget."] * 2
    assert (made.linked_to, made.name) == (main, "main · consolidated")
    assert store.branches.get(main) == before
    assert path_of(store, main) == [*TALK]
    assert store.sessions.get(session.id).current_branch_id == made.id
    assert linked(store, made) == ([before], [])
    assert linked(store, before) == ([], [made])


def test_a_second_clean_branch_has_a_name_of_its_own(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *TALK)
    names = []
    for _ in range(2):
        run = runner.wait(open_clean(runner, main, "All of it.").id, 10)
        names.append(runner.store.branches.get(run.branch_id).name)
    assert names == ["main · consolidated", "main · consolidated 2"]


@pytest.mark.parametrize("refusal", ["blank", "budget"])
def test_what_cannot_be_sent_leaves_no_empty_branch(
    runner: Runner, session: Session, main: str, refusal: str
) -> None:
    grow(runner.store, main, *TALK)
    if refusal == "budget":
        runner.store.sessions.change(session.id, token_budget=0, over_budget="stop")
    with pytest.raises(UserError):
        open_clean(runner, main, " \n" if refusal == "blank" else "All of it.")
    assert len(runner.store.branches.of(session.id)) == 1


def test_without_a_model_what_was_asked_for_is_listed(
    runner: Runner, session: Session, main: str
) -> None:
    nodes = grow(runner.store, main, *TALK)
    assert listed(nodes) == (
        "Just to recapitulate, the entire task is:\n\n- Draft a plan.\n- Add a budget.\n\n"
        "Now please complete the task correctly taking all the information into account."
    )
    assert listed(nodes[:1]) == "Draft a plan."
    assert listed([]) == ""


def test_rewrite_has_the_conversation_as_context_and_the_draft_at_the_end(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *TALK)
    run = rewrite(runner, show(runner.store, session.id), "  make the second one shorter ")
    runner.wait(run.id, 10)
    said = sent(runner, run.id)
    assert [text for _, text in said[:-1]] == [*TALK]
    assert said[-1][1].endswith("The draft:\nmake the second one shorter")
    assert text_of(runner.store.runs.get(run.id).partial)
    assert path_of(runner.store, main) == [*TALK]


def test_a_draft_with_braces_is_taken_as_it_is(runner: Runner, session: Session, main: str) -> None:
    run = rewrite(runner, show(runner.store, session.id), "use {name} and {0}")
    runner.wait(run.id, 10)
    assert sent(runner, run.id)[-1][1].endswith("use {name} and {0}")


def test_decisions_are_asked_for_with_exactly_the_sentence_of_the_guide(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *TALK)
    run = ask(runner, show(runner.store, session.id), DECISIONS, "decisions")
    runner.wait(run.id, 10)
    assert sent(runner, run.id)[-1] == (
        "user",
        "Before we continue, summarize the key decisions we've made so far in a bullet list.",
    )
    assert path_of(runner.store, main) == [*TALK]


@pytest.mark.parametrize("action", ["consolidate", "restate", "decisions", "requirements", "drift"])
def test_on_an_empty_branch_there_is_nothing_to_ask_about(
    runner: Runner, session: Session, main: str, action: str
) -> None:
    with pytest.raises(UserError) as caught:
        perform(runner, show(runner.store, session.id), {"action": action})
    assert caught.value.hint


# --- the acts ---


def test_restate_puts_all_that_was_asked_into_the_composer_and_sends_nothing(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *TALK)
    result = perform(runner, show(runner.store, session.id), {"action": "restate"})
    assert result.stay
    assert "- Draft a plan.\n- Add a budget." in str(result.insert)
    assert runner.store.runs.not_ended() == []


@pytest.mark.parametrize("action", ["rewrite", "decisions", "consolidate"])
def test_what_is_asked_beside_opens_its_dialog(
    runner: Runner, session: Session, main: str, action: str
) -> None:
    grow(runner.store, main, *TALK)
    act = {"action": action, "text": "shorter"}
    dialog = perform(runner, show(runner.store, session.id), act).dialog
    assert dialog is not None
    assert (dialog.kind, dialog.branch) == (action, main)
    assert runner.wait(str(dialog.run), 10).purpose == action


def test_a_blank_draft_is_not_rewritten(runner: Runner, session: Session, main: str) -> None:
    with pytest.raises(UserError, match="no draft"):
        perform(runner, show(runner.store, session.id), {"action": "rewrite", "text": " "})


def test_finish_inserts_and_sends_only_when_told_to(
    runner: Runner, session: Session, main: str
) -> None:
    runner.store.sessions.change(session.id, done_when="It fits a page", turn_budget=2)
    grow(runner.store, main, *TALK)
    inserted = perform(runner, show(runner.store, session.id), {"action": "finish"})
    assert "It fits a page" in str(inserted.insert)
    assert path_of(runner.store, main) == [*TALK]
    sent = perform(runner, show(runner.store, session.id), {"action": "finish", "send": True})
    for live in runner.live_in(session.id):
        live.done.wait(10)
    assert sent.branch == main
    assert path_of(runner.store, main)[4] == inserted.insert


def test_going_past_is_offered_and_each_choice_does_what_it_says(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    grow(store, main, *TALK)
    store.sessions.change(session.id, turn_budget=2)
    first = store.branches.enqueue(main, "one more", "offer_past")
    result = perform(runner, show(store, session.id), {"action": "finish_instead", "id": first})
    assert str(result.insert).startswith("one more\n\nPlease give me the final version")
    assert store.branches.queued(main) == []
    second = store.branches.enqueue(main, "one more", "offer_past")
    assert perform(runner, show(store, session.id), {"action": "unqueue", "id": second}).insert == (
        "one more"
    )
    assert not store.branches.get(main).past_budget
    third = store.branches.enqueue(main, "one more", "offer_past")
    gone = perform(runner, show(store, session.id), {"action": "go_past", "id": third})
    for live in runner.live_in(session.id):
        live.done.wait(10)
    assert gone.branch == main
    assert store.branches.get(main).past_budget
    assert path_of(store, main)[4:] == ["one more", "one more"]


# --- chips ---


def test_a_chip_is_words_about_one_dimension_or_something_to_ask(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *TALK)
    found = chips(show(runner.store, session.id))
    assert [chip["label"] for chip in found if chip["kind"] == "refine"] == [
        "Tone",
        "Length",
        "Audience",
        "Format",
        "Evidence",
        "Risks",
        "Forward look",
    ]
    assert all("[" in chip["text"] for chip in found if "text" in chip)
    words = {chip["label"]: chip["text"] for chip in found if "text" in chip}
    assert words["Fork"] == (
        "Let's pause here. I want to explore a different direction. Going back to your"
        " [earlier suggestion], what if we [alternative approach]?"
    )
    assert words["Recap"].startswith("To recap what we've decided so far: [summary]. Now let's")
    assert "Back to the goal" not in words


def test_with_an_objective_there_is_a_way_back_to_it(
    runner: Runner, session: Session, main: str
) -> None:
    runner.store.sessions.change(session.id, objective="A calm plan.")
    grow(runner.store, main, *TALK)
    words = {c["label"]: c.get("text", "") for c in chips(show(runner.store, session.id))}
    assert words["Back to the goal"].startswith("Coming back to our goal of a calm plan: [")
