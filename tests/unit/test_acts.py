"""What every button does, from the act that the element sends to where the tab goes next."""

from collections.abc import Callable
from typing import Any

import pytest

from core import Run, Runner, Session, View, show
from core.errors import NameTaken, NotFound, TurntreeError, UserError
from core.providers.echo import ADAPTER
from core.roster import News
from core.types import AttachmentRef, Text, Thinking
from pages.components.acts import Result, perform
from tests.unit.house import ask, begun, grow, live, parts, path_of, until

Act = Callable[..., Result]


@pytest.fixture
def act(runner: Runner, session: Session) -> Act:
    """Press a button on what the session shows."""

    def press(action: str, branch_shown: str | None = None, /, **more: Any) -> Result:
        view: View = show(runner.store, session.id, branch_id=branch_shown)
        return perform(runner, view, {"action": action, **more})

    return press


def current(runner: Runner, session: Session) -> str:
    found = runner.store.sessions.get(session.id).current_branch_id
    assert found is not None
    return found


def test_a_button_that_nobody_knows_is_said_so(act: Act) -> None:
    for action in ("", "drop tables", "__init__"):
        with pytest.raises(UserError, match="does not know"):
            act(action)


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("fork", {"node": "nobody"}),
        ("edit", {"node": "nobody", "text": "x"}),
        ("edit", {"node": "nobody", "text": "x", "send": True}),
        ("regenerate", {"node": "nobody"}),
        ("final", {"node": "nobody", "on": True}),
        ("bin", {"node": "nobody"}),
        ("bin_branch", {"branch": "nobody"}),
        ("restore", {"bin": "nobody"}),
        ("branch", {"branch": "nobody"}),
        ("rename", {"branch": "nobody", "name": "x"}),
        ("undo", {"branch": "nobody"}),
        ("retry", {"run": "nobody"}),
        ("continue", {"node": "nobody"}),
        ("unqueue", {"id": "nobody"}),
        ("send_queued", {"id": "nobody"}),
        ("fork_offered", {"id": "nobody"}),
    ],
)
def test_what_is_gone_is_said_to_be_gone_and_changes_nothing(
    act: Act, runner: Runner, session: Session, main: str, action: str, more: dict[str, Any]
) -> None:
    grow(runner.store, main, "q", "a")
    with pytest.raises(NotFound) as caught:
        act(action, **more)
    assert caught.value.hint
    assert live(runner.store, session.id) == {"main": ["q", "a"]}
    assert current(runner, session) == main


# --- the tree ---


def test_fork_goes_to_the_new_branch_and_says_its_name(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    _, answer, _ = grow(runner.store, main, "q", "a", "q2")
    result = act("fork", node=answer.id)
    assert result.branch == current(runner, session) != main
    assert "turn 1 · take 2" in result.said
    assert path_of(runner.store, result.branch or "") == ["q", "a"]


def test_an_edit_is_written_beside_and_keeps_files_and_tools(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    file = AttachmentRef(sha256="0", media_type="text/plain", name="a.txt")
    (question,) = grow(runner.store, main, "q")
    node = runner.store.nodes.add(
        type(question)(
            id="X",
            session_id=session.id,
            parent_id=question.id,
            role="assistant",
            parts=(Thinking(text="hm"), Text(text="a"), file),
            author="model",
            created_at="",
        )
    )
    runner.store.branches.move(main, node.id, why="answer")
    result = act("edit", node=node.id, text="better")
    tip = runner.store.branches.get(result.branch or "").tip_id
    assert runner.store.nodes.get(tip or "").parts == (file, Text(text="better"))
    with pytest.raises(UserError, match="empty"):
        act("edit", node=node.id, text=" \n")


def test_an_edited_question_is_sent(act: Act, runner: Runner, session: Session, main: str) -> None:
    first = ask(runner, main, "q")
    result = act("edit", node=first.context_tip_id, text="better", send=True)
    until(lambda: not runner.live_in(session.id))
    assert path_of(runner.store, result.branch or "") == ["better", "better"]
    assert path_of(runner.store, main) == ["q", "q"]


@pytest.mark.parametrize("node", ["q", "a", "q2"])
def test_what_was_binned_comes_back_by_undo_and_by_restore(
    act: Act, runner: Runner, session: Session, main: str, node: str
) -> None:
    ids = {found.text: found.id for found in grow(runner.store, main, "q", "a", "q2")}
    before = live(runner.store, session.id)
    result = act("bin", node=ids[node])
    assert "Undo" in result.said
    assert live(runner.store, session.id) != before
    assert act("undo").said == "Restored from the bin."
    assert live(runner.store, session.id) == before
    act("bin", node=ids[node])
    (pruned,) = runner.store.branches.bins(session.id)
    assert "'main'" in act("restore", bin=pruned["id"]).said
    assert live(runner.store, session.id) == before


def test_binning_a_question_stops_its_answer_and_keeps_both_in_the_bin(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "first")
    run = runner.send(main, "/stall 2\none two three")
    assert isinstance(run, Run)
    begun(runner, run, 2)
    act("bin", node=run.context_tip_id)
    assert runner.live_in(session.id) == []
    assert live(runner.store, session.id) == {"main": ["first", "first"]}
    act("undo")
    assert path_of(runner.store, main)[-1] == "one two"


def test_binning_a_branch_stops_its_answer_and_leads_elsewhere(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    first = ask(runner, main, "first")
    side = act("fork", node=first.node_id).branch or ""
    run = runner.send(side, "/stall 2\none two three")
    assert isinstance(run, Run)
    begun(runner, run, 2)
    result = act("bin_branch", branch=side)
    assert runner.live_in(session.id) == []
    assert result.branch == current(runner, session) == main
    (pruned,) = runner.store.branches.bins(session.id)
    act("restore", bin=pruned["id"])
    assert path_of(runner.store, side)[-1] == "one two"
    other = act("bin_branch", main, branch=side)
    assert other.branch == main
    with pytest.raises(UserError, match="only branch"):
        act("bin_branch", branch=main)


def test_undo_tells_what_it_took_back(act: Act, runner: Runner, main: str) -> None:
    first = ask(runner, main, "q")
    act("regenerate", node=first.node_id)
    until(lambda: not runner.store.runs.not_ended())
    assert act("undo").said == "Back at the answer before."
    assert runner.store.branches.get(main).tip_id == first.node_id
    act("edit", node=first.node_id, text="by hand")
    assert act("undo").said == "Back at the version before the edit."
    assert act("undo").said == "Took back the last turn. It is still in the tree."
    nothing = act("undo")
    assert nothing.stay
    assert "nothing to undo" in nothing.said


def test_a_branch_is_renamed_to_one_clean_line(act: Act, runner: Runner, main: str) -> None:
    act("rename", branch=main, name="  the \n bold   one " + "x" * 200)
    assert runner.store.branches.get(main).name == ("the bold one " + "x" * 200)[:80]
    with pytest.raises(UserError, match="needs a name"):
        act("rename", branch=main, name=" \n ")
    (node,) = grow(runner.store, main, "q")
    other = act("fork", node=node.id).branch
    runner.store.branches.rename(main, "taken")
    with pytest.raises(NameTaken):
        act("rename", branch=other, name="taken")


def test_looking_elsewhere_moves_only_this_tab(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    (node,) = grow(runner.store, main, "q")
    heard: list[News] = []
    runner.listen(heard.append)
    assert act("view", node=node.id) == Result(node=node.id)
    assert act("compose", text="words") == Result(insert="words", stay=True)
    assert act("refresh") == Result(stay=True)
    assert heard == []


def test_going_to_a_branch_is_where_the_next_tab_begins(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    (node,) = grow(runner.store, main, "q")
    act("fork", node=node.id)
    assert act("branch", branch=main) == Result(branch=main)
    assert current(runner, session) == main


def test_every_change_is_news_for_the_other_tabs(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    (node,) = grow(runner.store, main, "q")
    heard: list[News] = []
    runner.listen(heard.append)
    act("rename", branch=main, name="other")
    act("final", node=node.id, on=True)
    assert [(news.kind, news.session_id) for news in heard] == [("changed", session.id)] * 2


def test_an_answer_is_marked_final_and_not(act: Act, runner: Runner, main: str) -> None:
    run = ask(runner, main, "q")
    act("final", node=run.node_id, on=True)
    assert runner.store.nodes.finals(run.session_id) == [run.node_id]
    act("final", node=run.node_id, on=False)
    assert runner.store.nodes.finals(run.session_id) == []


# --- runs ---


def test_another_answer_can_be_had_from_another_model(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    config = session.config
    runner.store.sessions.choose(
        session.id, type(config)(provider="echo", model="echo-1", sampling={"max_tokens": 1})
    )
    first = ask(runner, main, "one two")
    for chosen, words in (
        ({}, "one"),
        ({"model": "echo-1"}, "one"),
        ({"model": "echo-slow"}, "one two"),
    ):
        result = act("regenerate", node=first.node_id, **chosen)
        run = runner.wait(result.run or "", 10)
        assert runner.store.nodes.get(run.node_id or "").text == words
        assert run.config.model == chosen.get("model", "echo-1")
        assert result.branch == run.branch_id


def test_stop_retry_and_continue_lead_to_their_run(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    run = runner.send(main, "/stall 2\none two three")
    assert isinstance(run, Run)
    begun(runner, run, 2)
    assert act("stop", run=run.id).stay
    stopped = runner.wait(run.id, 10)
    assert stopped.finish_reason == "stopped"
    on = act("continue", node=stopped.node_id)
    assert runner.store.runs.get(on.run or "").purpose == "continue"
    act("stop", run=on.run)
    runner.wait(on.run or "", 10)
    ADAPTER._failed.clear()
    failed = ask(runner, main, "/fail AuthFailed 1\nwhy")
    again = act("retry", run=failed.id)
    assert runner.wait(again.run or "", 10).finish_reason == "stop"


# --- waiting words ---


def test_waiting_words_can_be_taken_back_into_the_composer(
    act: Act, runner: Runner, main: str
) -> None:
    waiting = runner.store.branches.enqueue(main, "second thoughts", "held")
    result = act("unqueue", id=waiting)
    assert (result.insert, result.stay) == ("second thoughts", True)
    assert runner.store.branches.queued(main) == []


def test_held_words_are_sent_when_the_person_says_so(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    held = runner.store.branches.enqueue(main, "now", "held")
    assert act("send_queued", id=held).branch == main
    until(lambda: not runner.live_in(session.id))
    assert path_of(runner.store, main) == ["now", "now"]


def test_held_words_stay_while_another_answer_streams(act: Act, runner: Runner, main: str) -> None:
    run = runner.send(main, "/stall 1\none two")
    assert isinstance(run, Run)
    held = runner.store.branches.enqueue(main, "now", "held")
    assert act("send_queued", id=held).stay
    assert runner.store.branches.waiting(held)
    runner.stop(run.id)
    runner.wait(run.id, 10)


@pytest.mark.parametrize(
    ("typed", "sent"),
    [("Fork: go left", "go left"), ("fork:go left", "go left"), ("FORK:", "FORK:")],
)
def test_an_offered_fork_asks_beside_the_last_question(
    act: Act, runner: Runner, session: Session, main: str, typed: str, sent: str
) -> None:
    ask(runner, main, "first")
    ask(runner, main, "go right")
    offer = runner.store.branches.enqueue(main, typed, "offer")
    result = act("fork_offered", id=offer)
    until(lambda: not runner.live_in(session.id))
    assert path_of(runner.store, result.branch or "") == ["first", "first", sent, sent]
    assert path_of(runner.store, main)[-1] == "go right"
    assert runner.store.branches.queued(main) == []


def test_what_was_sent_is_shown_and_nothing_moves(
    act: Act, runner: Runner, session: Session, main: str
) -> None:
    news: list[News] = []
    run = ask(runner, main, "hello")
    runner.listen(news.append)
    assert act("sent", run=run.id) == Result(sent=run.id, stay=True)
    assert news == []
    stranger = runner.store.sessions.create(config=session.config)
    assert stranger.current_branch_id
    other = ask(runner, stranger.current_branch_id, "elsewhere")
    for gone in (other.id, "no such run"):
        with pytest.raises(NotFound):
            act("sent", run=gone)


def test_whatever_goes_wrong_has_a_next_step(act: Act, runner: Runner, main: str) -> None:
    (node,) = grow(runner.store, main, "q")
    act("bin", node=node.id)
    for action in ("bin", "fork"):
        with pytest.raises(TurntreeError) as caught:
            act(action, node=node.id)
        assert caught.value.hint
    assert parts("x")
