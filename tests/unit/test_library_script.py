"""A script played through the queue: paused, reworded, reordered, stopped, put back."""

from collections.abc import Callable
from typing import Any

import pytest

from core import Runner, Session, script, show
from core.errors import NotFound, UserError
from core.runner import Runner as Running
from pages.components.act import Result
from pages.components.acts import perform
from tests.unit.house import ask, begun, grow, path_of, until

SLOW = "/delay 25\nlong long long long long long long long long"


def texts(runner: Runner, branch_id: str, *states: str) -> list[str]:
    waiting = runner.store.branches.queued(branch_id)
    return [w["text"] for w in waiting if not states or w["state"] in states]


def settled(runner: Runner, branch_id: str, length: int) -> list[str]:
    until(lambda: len(path_of(runner.store, branch_id)) == length)
    until(lambda: not list(runner.store.runs.not_ended()))
    return path_of(runner.store, branch_id)


def test_every_turn_goes_out_after_the_answer_before(runner: Runner, main: str) -> None:
    turns = [f"/count\nx{n}" for n in range(3)]
    assert script.play(runner, main, turns, at=None) == main
    found = settled(runner, main, 6)
    assert found[::2] == turns
    assert [words.split("\n")[0] for words in found[1::2]] == [
        f"context {n} messages" for n in (1, 3, 5)
    ]
    assert texts(runner, main) == []


def test_a_blank_turn_queues_nothing(runner: Runner, main: str) -> None:
    for turns in ([], ["a", " "]):
        with pytest.raises(UserError):
            script.play(runner, main, turns, at=None)
    assert texts(runner, main) == []


def test_from_an_inner_turn_it_goes_on_on_a_branch_of_its_own(runner: Runner, main: str) -> None:
    nodes = grow(runner.store, main, "q", "a", "q2", "a2")
    branch = script.play(runner, main, ["one", "two"], at=nodes[1].id)
    assert branch != main
    assert settled(runner, branch, 6) == ["q", "a", "one", "one", "two", "two"]
    assert path_of(runner.store, main) == ["q", "a", "q2", "a2"]


def test_while_an_answer_is_on_its_way_all_of_it_waits(runner: Runner, main: str) -> None:
    run = runner.send(main, SLOW)
    script.play(runner, main, ["one", "two"], at=runner.store.branches.get(main).tip_id)
    assert texts(runner, main, "waiting") == ["one", "two"]
    runner.wait(run.id, 10)
    assert settled(runner, main, 6)[2::2] == ["one", "two"]


def test_held_sends_nothing_until_it_is_let_go(runner: Runner, main: str) -> None:
    script.play(runner, main, ["one", "two"], at=None, held=True)
    assert texts(runner, main, "held") == ["one", "two"]
    assert path_of(runner.store, main) == []
    assert script.resume(runner, main) is not None
    assert settled(runner, main, 4)[::2] == ["one", "two"]


def test_paused_stays_paused_and_goes_on_where_it_was(runner: Runner, main: str) -> None:
    script.play(runner, main, [SLOW, "two", "three"], at=None)
    script.pause(runner, main)
    settled(runner, main, 2)
    assert texts(runner, main, "held") == ["two", "three"]
    script.resume(runner, main)
    assert settled(runner, main, 6)[2::2] == ["two", "three"]


def test_going_on_while_an_answer_comes_sends_nothing_twice(runner: Runner, main: str) -> None:
    script.play(runner, main, [SLOW, "two"], at=None)
    script.pause(runner, main)
    assert script.resume(runner, main) is None
    assert settled(runner, main, 4)[2] == "two"


def test_an_answer_that_fails_holds_the_rest(runner: Runner, main: str) -> None:
    script.play(runner, main, ["/fail Overloaded 9\nx", "two"], at=None)
    until(lambda: texts(runner, main, "held") == ["two"])
    assert path_of(runner.store, main) == ["/fail Overloaded 9\nx"]


def test_a_script_that_cannot_be_sent_is_held(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Running, queued_id: str, **more: Any) -> None:
        raise UserError("No.")

    monkeypatch.setattr(Running, "send_queued", refuse)
    with pytest.raises(UserError):
        script.play(runner, main, ["one", "two"], at=None)
    assert texts(runner, main, "held") == ["one", "two"]


# --- the acts --------------------------------------------------------------------------------


@pytest.fixture
def act(runner: Runner, session: Session, main: str) -> Callable[..., Result]:
    """Press a button of the queue."""

    def press(action: str, **more: Any) -> Result:
        view = show(runner.store, session.id, branch_id=main)
        return perform(runner, view, {"action": action, **more})

    return press


@pytest.fixture
def three(runner: Runner, main: str) -> list[str]:
    """Three held messages; their ids."""
    script.play(runner, main, ["one", "two", "three"], at=None, held=True)
    return [waiting["id"] for waiting in runner.store.branches.queued(main)]


def test_a_message_is_reworded_in_its_place(
    act: Callable[..., Result], runner: Runner, main: str, three: list[str]
) -> None:
    assert act("queue_reword", id=three[1], text="TWO \ud83d").stay
    assert texts(runner, main) == ["one", "TWO \ufffd", "three"]
    with pytest.raises(UserError, match="empty"):
        act("queue_reword", id=three[1], text=" ")


def test_words_for_a_message_that_has_gone_out_come_into_the_composer(
    act: Callable[..., Result],
) -> None:
    result = act("queue_reword", id="nobody", text="my words")
    assert result.insert == "my words"
    assert "gone out" in result.said


def test_another_order_and_what_comes_later_comes_last(
    act: Callable[..., Result], runner: Runner, main: str, three: list[str]
) -> None:
    act("queue_shift", id=three[2], by=-1)
    act("queue_shift", id=three[0], by=5)
    runner.store.branches.enqueue(main, "four")
    assert texts(runner, main) == ["three", "two", "one", "four"]
    act("queue_shift", id=three[2], by=-5)
    assert texts(runner, main)[0] == "three"
    with pytest.raises(NotFound):
        act("queue_shift", id="nobody", by=1)


def test_many_queued_at_once_keep_their_order(runner: Runner, main: str) -> None:
    turns = [str(n) for n in range(60)]
    script.play(runner, main, turns, at=None, held=True)
    assert texts(runner, main) == turns


def test_taken_back_they_are_put_back_or_composed_or_thrown_away(
    act: Callable[..., Result], runner: Runner, main: str, three: list[str]
) -> None:
    act("queue_stop")
    assert texts(runner, main, "stopped") == ["one", "two", "three"]
    assert script.resume(runner, main) is None
    assert "Nothing waits" in act("queue_stop").said
    ask(runner, main, "something else")
    assert texts(runner, main, "stopped") == ["one", "two", "three"]
    act("queue_back")
    assert texts(runner, main, "held") == ["one", "two", "three"]
    act("queue_stop")
    assert act("queue_compose").insert == "one\n\ntwo\n\nthree"
    assert texts(runner, main) == []
    script.play(runner, main, ["a", "b"], at=None, held=True)
    act("queue_stop")
    act("queue_discard")
    assert texts(runner, main) == []


def test_pause_and_resume_as_buttons(act: Callable[..., Result], runner: Runner, main: str) -> None:
    script.play(runner, main, [SLOW, "two"], at=None)
    (live,) = runner.live_in(runner.store.branches.get(main).session_id)
    begun(runner, live.run)
    assert act("queue_pause").stay
    settled(runner, main, 2)
    assert act("queue_resume").branch == main
    assert settled(runner, main, 4)[2] == "two"
