"""Lanes: one message, several branches, and each goes on with its own history alone."""

import threading
from dataclasses import replace
from datetime import datetime

import pytest

from core import Run, Runner, Session, Store
from core.errors import UserError
from core.lanes import (
    MOST_LANES,
    Fan,
    Wish,
    ask,
    drop,
    fan_out,
    follow_up,
    join,
    keep,
    side_by_side,
)
from core.types import Lane
from tests.conftest import ECHO
from tests.unit.house import ask as talk
from tests.unit.house import grow, path_of, until

SLOW = replace(ECHO, system="slow")


def settled(runner: Runner, fan: Fan) -> list[Lane]:
    """Wait until every lane has an answer; the lanes."""
    lanes = runner.store.comparisons.lanes(fan.comparison.id)

    def over() -> bool:
        tips = [runner.store.branches.get(lane.branch_id).tip_id for lane in lanes]
        quiet = not runner.store.runs.not_ended()
        return quiet and all(runner.store.nodes.get(str(t)).role == "assistant" for t in tips)

    until(over)
    return lanes


def branch_paths(store: Store, lanes: list[Lane]) -> list[list[str]]:
    return [path_of(store, lane.branch_id) for lane in lanes]


def test_lanes_share_the_message_and_nothing_after_it(runner: Runner, main: str) -> None:
    grow(runner.store, main, "q", "a")
    before = runner.store.branches.get(main)
    wishes = [Wish(config=ECHO), Wish(config=replace(ECHO, system="Be kind."), samples=2)]
    fan = fan_out(runner, main, before.tip_id, "say it", wishes, warm=False)
    lanes = settled(runner, fan)
    assert branch_paths(runner.store, lanes) == [["q", "a", "say it", "say it"]] * 3
    asked = {runner.store.nodes.get(str(t.tip_id)).parent_id for t in branches(runner, lanes)}
    assert asked == {fan.comparison.at_id}
    assert [b.config.system for b in branches(runner, lanes) if b.config] == ["", *["Be kind."] * 2]
    assert [lane.sample for lane in lanes] == [0, 0, 1]
    assert runner.store.branches.get(main).tip_id == before.tip_id  # stays where it was
    assert len({branch.name for branch in branches(runner, lanes)}) == 3


def branches(runner: Runner, lanes: list[Lane]):  # type: ignore[no-untyped-def]
    return [runner.store.branches.get(lane.branch_id) for lane in lanes]


def test_each_lane_goes_on_with_its_own_history(runner: Runner, main: str) -> None:
    one, two = replace(ECHO, system="one"), replace(ECHO, system="two")
    fan = fan_out(runner, main, None, "/count", [Wish(config=one), Wish(config=two)])
    lanes = settled(runner, fan)
    runs = follow_up(runner, fan.comparison.id, "/context")
    assert len(runs) == 2
    settled(runner, fan)
    for lane in lanes:
        words = path_of(runner.store, lane.branch_id)
        assert words[:3] == ["/count", words[1], "/context"]
    only = follow_up(runner, fan.comparison.id, "just you", only=[lanes[1].id])
    assert len(only) == 1
    settled(runner, fan)
    assert [len(path) for path in branch_paths(runner.store, lanes)] == [4, 6]


def test_siblings_follow_their_leaders_first_word(runner: Runner, main: str) -> None:
    words = "/delay 60\none two three four five six seven eight"
    fan = fan_out(runner, main, None, words, [Wish(config=ECHO, samples=3)], warm=True)
    assert [lane.after is None for lane in fan.lanes] == [True, False, False]
    lanes = settled(runner, fan)
    runs = [runner.store.runs.last_from(str(fan.comparison.at_id), x.branch_id) for x in lanes]
    first, *others = [run for run in runs if run is not None]
    assert first.first_token_ms is not None
    # The leader's first word cannot come before its delay of 60 ms is over.
    begun = datetime.fromisoformat(first.started_at)
    waited = [(datetime.fromisoformat(run.started_at) - begun).total_seconds() for run in others]
    assert min(waited) >= 0.06
    assert len(others) == 2


def test_a_lane_that_was_never_asked_can_be(runner: Runner, main: str) -> None:
    fan = fan_out(runner, main, None, "q", [Wish(config=ECHO)])
    (lane,) = settled(runner, fan)
    assert ask(runner, lane) is None  # it has its answer
    runner.store.branches.move(lane.branch_id, fan.comparison.at_id, why="undo")
    assert ask(runner, lane) is not None
    settled(runner, fan)


def test_dropped_lanes_stay_in_the_tree_and_come_back(runner: Runner, main: str) -> None:
    fan = fan_out(runner, main, None, "q", [Wish(config=ECHO, samples=2)])
    lanes = settled(runner, fan)
    drop(runner, lanes[0].id)
    assert [lane.id for lane in runner.store.comparisons.lanes(fan.comparison.id)] == [lanes[1].id]
    assert path_of(runner.store, lanes[0].branch_id) == ["q", "q"]
    join(runner.store, fan.comparison.id, lanes[0].branch_id)
    assert len(runner.store.comparisons.lanes(fan.comparison.id)) == 2


def test_the_lane_that_is_kept_is_the_sessions_branch(
    runner: Runner, session: Session, main: str
) -> None:
    fan = fan_out(runner, main, None, "q", [Wish(config=ECHO, samples=2)])
    lanes = settled(runner, fan)
    kept = keep(runner, lanes[1].id)
    assert runner.store.sessions.get(session.id).current_branch_id == kept.id
    marks = [lane.kept_at for lane in runner.store.comparisons.lanes(fan.comparison.id)]
    assert [mark is None for mark in marks] == [True, False]


def test_branches_put_side_by_side_are_found_again(
    runner: Runner, session: Session, main: str
) -> None:
    fan = fan_out(runner, main, None, "q", [Wish(config=ECHO, samples=2)])
    ids = [lane.branch_id for lane in settled(runner, fan)]
    assert side_by_side(runner.store, session.id, ids).id == fan.comparison.id
    other = side_by_side(runner.store, session.id, [main, ids[0]])
    assert side_by_side(runner.store, session.id, [ids[0], main, main]).id == other.id
    with pytest.raises(UserError, match="least"):
        side_by_side(runner.store, session.id, [main, main])


def test_a_stored_answer_is_taken_once_asked_for(runner: Runner, main: str) -> None:
    first = talk(runner, main, "once")
    runner.store.branches.move(main, None, why="undo")
    fan = fan_out(runner, main, None, "once", [Wish(config=ECHO, samples=2)], reuse=True)
    lanes = settled(runner, fan)
    runs = [last(runner, fan, lane) for lane in lanes]
    assert [run.replayed_from for run in runs] == [first.id, None]  # another sample is another
    assert (runs[0].cost_nanodollars, runs[0].finish_reason) == (0, "stop")
    again = fan_out(runner, main, None, "once", [Wish(config=ECHO)])
    (lane,) = settled(runner, again)
    assert last(runner, again, lane).replayed_from is None  # nobody asked for it


def last(runner: Runner, fan: Fan, lane: Lane) -> Run:
    run = runner.store.runs.last_from(str(fan.comparison.at_id), lane.branch_id)
    assert run is not None
    return run


@pytest.mark.parametrize(
    ("text", "wishes"),
    [
        (" ", [Wish(config=ECHO)]),
        ("q", []),
        ("q", [Wish(config=ECHO, samples=0)]),
        ("q", [Wish(config=ECHO, samples=MOST_LANES + 1)]),
    ],
)
def test_what_cannot_be_fanned_out_makes_nothing(
    runner: Runner, session: Session, main: str, text: str, wishes: list[Wish]
) -> None:
    with pytest.raises(UserError):
        fan_out(runner, main, None, text, wishes)
    assert runner.store.comparisons.of(session.id) == []
    assert path_of(runner.store, main) == []


def test_a_branchs_own_config_holds_for_it_and_for_its_forks(runner: Runner, main: str) -> None:
    own = replace(ECHO, system="Mine.")
    runner.store.branches.choose_config(main, own)
    run = talk(runner, main, "q")
    assert run.config == own
    runner.store.branches.choose_config(main, None)
    assert talk(runner, main, "r").config == ECHO


def test_a_lane_that_was_never_asked_answers_the_first_message_first(
    runner: Runner, main: str
) -> None:
    store = runner.store
    fan = fan_out(runner, main, None, "first", [Wish(config=ECHO, samples=2)], warm=False)
    lane, other = settled(runner, fan)
    with store.write() as db:  # as a process leaves it that ended before the lane was asked
        db.conn.execute("DELETE FROM runs WHERE branch_id = ?", [lane.branch_id])
        store.branches.move(lane.branch_id, fan.comparison.at_id, why="undo")
    follow_up(runner, fan.comparison.id, "second")
    for branch_id in (lane.branch_id, other.branch_id):
        until(lambda branch_id=branch_id: len(path_of(store, branch_id)) == 4)
    assert path_of(store, lane.branch_id) == ["first", "first", "second", "second"]


def test_an_answer_that_comes_while_a_follow_up_is_sent_stands_before_it(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, write = runner.store, runner.store.write
    fan = fan_out(runner, main, None, "/delay 20\none two three", [Wish(config=ECHO)])
    (live,) = runner.lives()
    here = threading.current_thread()

    def late() -> object:
        if threading.current_thread() is here:
            live.done.wait(10)  # between the look at the branch and the transaction
        return write()

    with monkeypatch.context() as slowed:
        slowed.setattr(store, "write", late)
        runner.send(fan.lanes[0].branch_id, "second")
    settled(runner, fan)
    path = path_of(store, fan.lanes[0].branch_id)
    assert path[1:] == ["one two three", "second", "second"]


def test_lanes_that_cannot_be_asked_any_more_stay_to_be_asked(
    runner: Runner, session: Session, main: str
) -> None:
    """The first lane uses up what is left of the budget: the fan-out stands all the same."""
    runner.store.sessions.change(session.id, token_budget=30, over_budget="stop")
    words = "/usage 40 10 0 0\nq"
    fan = fan_out(runner, main, None, words, [Wish(config=ECHO, samples=2)], warm=True)
    until(lambda: not runner.store.runs.not_ended())
    lanes = runner.store.comparisons.lanes(fan.comparison.id)
    assert len(lanes) == 2
    runner.store.sessions.change(session.id, token_budget=None)
    for lane in lanes:
        ask(runner, lane)
    settled(runner, fan)
    assert branch_paths(runner.store, lanes) == [[words, "q"]] * 2
