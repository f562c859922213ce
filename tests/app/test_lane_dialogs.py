"""The dialogs that start lanes and jobs, and the panel of jobs, without a browser."""

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from core import Session, Store, show
from core.branching import new_node
from core.errors import NotFound
from core.forecast import Forecast
from core.jobs import ENDED_BY_RESTART
from core.lanes import Wish, fan_out, follow_up
from core.replay import matrix, replay
from core.types import CONFIG, Job, ToolCall, ToolResult
from pages import backend
from pages.components import acts, lane_wishes
from pages.components.acts_replay import draft_of
from pages.components.lane_wishes import Choice, figures, told, total, with_model
from tests.app.conftest import ECHO, Open, conversation, memory, said, sound
from tests.unit.house import until

TALK = ("Draft a plan.", "plan one", "Avoid jargon.", "plan two")


@pytest.fixture(autouse=True)
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNTREE_ECHO", "1")


def button(test: AppTest, label: str) -> Any:
    return next(one for one in test.button if one.label.startswith(label))


def field(test: AppTest, label: str) -> Any:
    every = (
        *test.text_area,
        *test.number_input,
        *test.selectbox,
        *test.radio,
        *test.checkbox,
        *test.multiselect,
    )
    exact = next((one for one in every if one.label == label), None)
    return exact or next(one for one in every if one.label.startswith(label))


def opened(app: Open, session: Session, kind: str, **more: str) -> AppTest:
    """The playground with a dialog over it, as an act opens it."""
    view = show(backend.store(), session.id)
    result = acts.perform(backend.runner(), view, {"action": kind, **more})
    assert result.dialog is not None
    test = app(session=session.id)
    memory(test)["kept.dialog"] = result.dialog
    return sound(test.run())


def finished(store: Store, session: Session) -> Job:
    until(lambda: bool(store.jobs.of(session.id)))
    until(lambda: store.jobs.of(session.id)[0].state in ("done", "paused"))
    until(lambda: not store.runs.not_ended(session.id))
    return store.jobs.of(session.id)[0]


def texts(store: Store, branch_id: str | None) -> list[str]:
    assert branch_id is not None
    return [node.text for node in store.nodes.lineage(store.branches.get(branch_id).tip_id)]


# --- several models ------------------------------------------------------------------------------


def test_one_prompt_goes_to_every_lane_and_the_lanes_are_remembered(
    app: Open, store: Store
) -> None:
    session = conversation(store, *TALK)
    test = opened(app, session, "fan")
    assert "After turn 2 of main" in said(test)
    assert field(test, "Model 1").value == "echo:echo-1"
    field(test, "Prompt").set_value("And dates.")
    sound(field(test, "Samples of model 1").set_value(2).run())
    assert any("3 lanes · ≈" in one.value and "free" in one.value for one in test.markdown)
    sound(button(test, "Send to 3 lanes").click().run())
    (comparison,) = store.comparisons.of(session.id)
    lanes = store.comparisons.lanes(comparison.id)
    until(lambda: not store.runs.not_ended(session.id))
    until(lambda: all(len(texts(store, lane.branch_id)) == 6 for lane in lanes))
    assert [texts(store, lane.branch_id) for lane in lanes] == [
        [*TALK, "And dates.", "And dates."]
    ] * 3
    assert store.drafts.get(draft_of(session.id, show(store, session.id).tip_id)) is None
    again = opened(app, session, "fan")
    assert field(again, "Samples of model 1").value == 2


def test_what_cannot_be_sent_says_why_and_loses_no_word(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = opened(app, session, "fan")
    sound(button(test, "Send to 2 lanes").click().run())
    assert test.error
    assert store.comparisons.of(session.id) == []
    sound(field(test, "Prompt").set_value("half a thought").run())
    again = opened(app, session, "fan")
    assert field(again, "Prompt").value == "half a thought"


def test_a_message_is_asked_again_from_its_own_place(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    asked = show(store, session.id).lineage[2]
    test = opened(app, session, "fan", node=asked.id)
    assert field(test, "Prompt").value == "Avoid jargon."
    sound(button(test, "Remove model 2").click().run())
    sound(button(test, "Send to 1 lane").click().run())
    until(lambda: not store.runs.not_ended(session.id))
    (comparison,) = store.comparisons.of(session.id)
    (lane,) = store.comparisons.lanes(comparison.id)
    assert texts(store, lane.branch_id) == [*TALK[:2], "Avoid jargon.", "Avoid jargon."]


def test_what_plays_in_a_session_pauses_when_that_goes_into_the_bin(
    app: Open, store: Store
) -> None:
    session = conversation(store, *TALK)
    job = replay(store, str(session.current_branch_id), ECHO)
    store.jobs.set_state(job.id, "running", "")
    test = app(session=session.id)
    button(test, "Move session to the bin").click().run()
    assert store.jobs.get(job.id).state == "paused"


def test_whoever_is_on_the_way_to_a_comparison_gets_there(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    memory(test)["kept.bound"] = {"session": session.id, "tab": "Jobs"}
    with patch("streamlit.switch_page") as switch:
        test.run()
    assert switch.call_args.args == ("compare.py",)
    assert switch.call_args.kwargs == {"query_params": {"session": session.id, "tab": "Jobs"}}


def test_a_matrix_is_one_click_from_the_lanes(app: Open, store: Store) -> None:
    test = opened(app, conversation(store, *TALK), "fan")
    sound(button(test, "Many prompts or many samples: a matrix…").click().run())
    assert field(test, "What every cell is asked").value == ""


def test_a_message_is_put_beside_another_one(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    lineage = show(store, session.id).lineage
    test = opened(app, session, "beside", node=lineage[-1].id)
    other = field(test, "The other message")
    assert [one.partition(" · ")[0] for one in other.options] == [
        lineage[1].text,
        lineage[2].text,
        lineage[0].text,
    ]
    assert button(test, "Put side by side").disabled
    sound(other.set_value(lineage[1].id).run())
    sound(button(test, "Put side by side").click().run())
    (comparison,) = store.comparisons.of(session.id)
    tips = [
        store.branches.get(lane.branch_id).tip_id for lane in store.comparisons.lanes(comparison.id)
    ]
    assert tips == [lineage[-1].id, lineage[1].id]
    assert store.sessions.get(session.id).current_branch_id == session.current_branch_id


def test_words_from_the_composer_come_along_and_push_nothing_out(store: Store) -> None:
    session = conversation(store, *TALK)
    view = show(store, session.id)
    key = draft_of(session.id, view.tip_id)
    store.drafts.keep(session.id, key, "older words")
    for _ in range(2):
        acts.perform(backend.runner(), view, {"action": "fan", "text": "new words"})
    assert store.drafts.get(key) == "older words\n\nnew words"


def test_a_lane_has_settings_of_its_own(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    view = show(store, session.id)
    config = replace(ECHO, system="Be kind.", policy="last", keep_turns=1)
    keep_lanes(store, session, [Choice(id="a", config=config)])
    test = app(session=session.id)
    state_key = "open.more.lanes." + session.id + ".a"
    memory(test)[state_key] = True
    dialog = acts.perform(backend.runner(), view, {"action": "fan"}).dialog
    memory(test)["kept.dialog"] = dialog
    sound(test.run())
    shown = [one.value for one in test.text_area if one.label == "System prompt"]
    assert shown[-1] == "Be kind."  # the first are the session's
    sound(field(test, "Last turns sent verbatim").set_value(0).run())
    kept = store.drafts.get(f"lanes.{session.id}")
    assert kept is not None
    assert '"keep_turns": 0' in kept


def keep_lanes(store: Store, session: Session, lanes: list[Choice]) -> None:
    import json

    body = [
        {
            "id": one.id,
            "samples": one.samples,
            "config": CONFIG.dump_python(one.config, mode="json"),
        }
        for one in lanes
    ]
    store.drafts.keep(session.id, f"lanes.{session.id}", json.dumps(body))


def test_figures_say_what_is_unknown() -> None:
    known = Forecast(calls=2, input=1200, output=80, cost=2_100_000, largest=700)
    assert figures(known) == "2 calls · ≈ 1,200 tokens in, ≈ 80 out · ≈ \\$0.0021"
    unknown = Forecast(calls=1, input=10, output=None, cost=None, largest=10)
    assert figures(unknown) == "≈ 10 tokens in · price unknown"
    assert total([known, unknown], "lane").endswith("≈ \\$0.0021 + 1 of unknown price")
    assert total([unknown], "lane") == "1 lane · ≈ 10 tokens in · price unknown"
    half = Forecast(calls=1, input=10, output=None, cost=1_000_000, largest=10)
    assert figures(half).endswith("≈ \\$0.0010 without the answers")


def test_a_typed_model_is_of_the_provider_it_names() -> None:
    assert told("openai:new-model", "echo") == ("openai", "new-model")
    assert told("org/name:tag", "echo") == ("echo", "org/name:tag")
    chosen = with_model(replace(ECHO, sampling={"max_tokens": 5, "odd": 1}), "echo", "echo-slow")
    assert chosen.sampling == {"max_tokens": 5}
    assert with_model(chosen, "openai", "other").sampling == {}
    assert lane_wishes.unused([Choice(id="a", config=ECHO)]).model != ECHO.model


def test_another_model_joins_a_comparison_and_is_asked_all_of_it(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    runner = backend.runner()
    fan = fan_out(runner, str(session.current_branch_id), None, "one", [Wish(config=ECHO)])
    until(lambda: not store.runs.not_ended(session.id))
    follow_up(runner, fan.comparison.id, "two")
    until(lambda: not store.runs.not_ended(session.id))
    page = app("compare.py", session=session.id, comparison=fan.comparison.id)
    sound(button(page, "Another model").click().run())
    sound(page.run())  # an answer has ended meanwhile: the dialog stays
    assert field(page, "Model").value == "echo:echo-slow"
    assert "2 calls · ≈" in said(page)
    sound(button(page, "Add the lane").click().run())
    assert finished(store, session).kind == "lane"
    lanes = store.comparisons.lanes(fan.comparison.id)
    assert [texts(store, lane.branch_id) for lane in lanes] == [["one", "one", "two", "two"]] * 2
    assert not any(one.label == "Add the lane" for one in sound(page.run()).button)


# --- replay, rebase, cherry-pick -----------------------------------------------------------------


@pytest.mark.parametrize("mode", ["free", "forced"])
def test_a_replay_begins_and_the_tab_stands_on_its_branch(
    app: Open, store: Store, mode: str
) -> None:
    session = conversation(store, *TALK)
    test = opened(app, session, "replay", branch=str(session.current_branch_id))
    field(test, "Mode").set_value(mode)
    sound(test.run())
    assert "2 calls · ≈" in said(test)
    sound(button(test, "Start the replay").click().run())
    job = finished(store, session)
    assert (job.kind, job.mode, job.state) == ("replay", mode, "done")
    (line,) = store.jobs.lines(job.id)
    assert texts(store, line.branch_id) == ["Draft a plan."] * 2 + ["Avoid jargon."] * 2
    assert memory(test)["place"].branch == line.branch_id


def test_a_replay_from_a_turn_keeps_what_is_before_it(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    answer = show(store, session.id).lineage[3]
    test = opened(app, session, "replay", node=answer.id)
    assert field(test, "From turn").value == 2
    sound(button(test, "Start the replay").click().run())
    (line,) = store.jobs.lines(finished(store, session).id)
    assert texts(store, line.branch_id) == [*TALK[:2], "Avoid jargon.", "Avoid jargon."]


def test_tool_results_are_asked_about_only_where_there_are_some(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = opened(app, session, "replay")
    assert "No tool is executed." not in said(test)
    branch = str(session.current_branch_id)
    for role, part in (
        ("user", None),
        ("assistant", ToolCall(id="c", name="look", arguments="{}")),
        ("tool", ToolResult(call_id="c", name="look", text="seen")),
    ):
        parts = store.nodes.lineage(store.branches.get(branch).tip_id)[0].parts
        tip = store.branches.get(branch).tip_id
        node = new_node(session.id, tip, role, (part,) if part else parts)  # type: ignore[arg-type]
        store.branches.move(branch, store.nodes.add(node).id, why="send")
    test = opened(app, session, "replay")
    assert "No tool is executed." in said(test)
    assert field(test, "Recorded tool results").value == "kept"


def test_a_turn_is_changed_and_what_is_below_is_asked_again(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    asked = show(store, session.id).lineage[0]
    test = opened(app, session, "rebase", node=asked.id)
    assert "Turn 1 and the 1 after it are asked again" in said(test)
    sound(field(test, "Turn 1").set_value("").run())
    sound(button(test, "Re-run").click().run())
    assert any("empty" in one.value for one in test.error)
    sound(field(test, "Turn 1").set_value("Draft two plans.").run())
    sound(button(test, "Re-run").click().run())
    (line,) = store.jobs.lines(finished(store, session).id)
    assert texts(store, line.branch_id) == ["Draft two plans."] * 2 + ["Avoid jargon."] * 2


@pytest.mark.parametrize(
    ("answers", "last"), [("Asked anew", "Avoid jargon."), ("Copied as they are", "plan two")]
)
def test_turns_are_carried_onto_another_branch(
    app: Open, store: Store, answers: str, last: str
) -> None:
    session = conversation(store, *TALK)
    other = store.branches.create(session.id, "other", show(store, session.id).lineage[1].id)
    test = opened(app, session, "pick", branch=str(session.current_branch_id))
    assert field(test, "Onto the end of").value == other.id
    sound(field(test, "The answers").set_value(answers).run())
    sound(button(test, "Carry over").click().run())
    assert any("ticked" in one.value for one in test.error)
    sound(field(test, "2. Avoid jargon").check().run())
    sound(button(test, "Carry over").click().run())
    (line,) = store.jobs.lines(finished(store, session).id)
    assert texts(store, line.branch_id) == [*TALK[:2], "Avoid jargon.", last]


@pytest.mark.parametrize("kind", ["replay", "rebase", "pick", "matrix"])
def test_a_session_without_a_message_says_so(app: Open, store: Store, kind: str) -> None:
    test = opened(app, conversation(store), kind)
    assert test.info or test.caption


def test_what_is_of_another_session_opens_nothing(store: Store) -> None:
    here, there = conversation(store, *TALK), conversation(store, *TALK)
    view = show(store, here.id)
    foreign = show(store, there.id)
    for act in (
        {"action": "replay", "branch": foreign.branch.id},
        {"action": "rebase", "node": foreign.tip_id},
    ):
        with pytest.raises(NotFound):
            acts.perform(backend.runner(), view, act)


# --- matrix and jobs -----------------------------------------------------------------------------


def test_a_matrix_shows_its_cells_before_and_their_results_after(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = opened(app, session, "matrix")
    sound(field(test, "What every cell is asked").set_value("Say {{ word }}.").run())
    assert "Still without a value: word" in said(test)
    sound(field(test, "Values of word").set_value("yes\nno\n\nyes").run())
    field(test, "Models").set_value(["echo:echo-1", "echo:echo-slow"])
    sound(test.run())
    assert any("4 calls · ≈" in one.value for one in test.markdown)
    sound(button(test, "Start 4 cells").click().run())
    job = finished(store, session)
    assert (job.kind, job.state) == ("matrix", "done")
    page = app("compare.py", session=session.id, tab="Jobs")
    (table,) = page.dataframe
    assert list(table.value["Answer"]) == ["Say yes.", "Say yes.", "Say no.", "Say no."]
    assert list(table.value["{{word}}"]) == ["yes", "yes", "no", "no"]
    assert "4 of 4 calls" in str([one.proto for one in page.get("progress")])


def test_jobs_are_shown_without_a_comparison_and_can_go_on(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    job = replay(store, str(session.current_branch_id), ECHO)
    store.jobs.set_state(job.id, "paused", ENDED_BY_RESTART)
    steps = store.jobs.steps(job.id)
    store.jobs.finish(steps[0].id, "interrupted")
    page = app("compare.py", session=session.id)
    assert ENDED_BY_RESTART in said(page)
    assert "interrupted" in said(page)
    sound(button(page, "Resume").click().run())
    assert finished(store, session).state == "done"
    page = app("compare.py", session=session.id)
    sound(button(page, "Retry turn 2").click().run())
    assert finished(store, session).state == "done"
    assert [step.tries for step in store.jobs.steps(job.id)] == [1, 2]
    sound(button(page, "Open turn 2").click().run())
    place = memory(page)["place"]
    assert (place.session, place.branch) == (session.id, store.jobs.lines(job.id)[0].branch_id)


def test_the_playground_tells_of_the_job_that_builds_its_branch(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    job = replay(store, str(session.current_branch_id), ECHO, mode="forced")
    player = backend.player()
    player.start(job.id)
    finished(store, session)
    branch = str(store.jobs.lines(job.id)[0].branch_id)
    assert "Replay" not in said(app(session=session.id, branch=branch))  # nothing is left to do
    store.jobs.finish(store.jobs.steps(job.id)[1].id, "failed")
    store.jobs.set_state(job.id, "paused", "1 of the turns did not get an answer.")
    test = app(session=session.id, branch=branch)
    assert "Replay · paused · teacher-forced · 1 of 2 turns · 1 failed" in said(test)
    sound(button(test, "Resume").click().run())
    assert finished(store, session).state == "done"


def test_a_large_matrix_is_one_table(app: Open, store: Store) -> None:
    session = conversation(store)
    values = {"n": [str(number) for number in range(200)]}
    matrix(store, str(session.current_branch_id), None, ["Say {{n}}"], values, [ECHO])
    page = app("compare.py", session=session.id)
    assert len(page.dataframe[0].value) == 200
    assert len(page.button) < 20


def test_nothing_played_yet_says_what_can_be(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    page = app("compare.py", session=session.id)
    assert "Nothing was played by itself" in said(page)
    sound(button(page, "New matrix").click().run())
    assert field(page, "What every cell is asked")
