"""Jobs are played to their end: nothing twice, nothing lost, whatever happens on the way."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core import Config, Runner, Session, Store
from core import jobs as jobs_module
from core.errors import UserError
from core.jobs import ENDED_BY_RESTART, Player
from core.lanes import Wish, fan_out, follow_up
from core.providers.echo import ADAPTER
from core.replay import Pace, matrix, one_more, replay
from core.types import Endpoint, Event, Job, Request, Run, Step, Stop
from tests.away import away
from tests.conftest import ECHO
from tests.unit.house import count, grow, path_of, until

CALM = Pace()


@pytest.fixture
def player(runner: Runner) -> Iterator[Player]:
    made = Player(runner)
    yield made
    made.close()


def cells(store: Store, main: str, values: int, *turns: str, pace: Pace = CALM, **more: Any) -> Job:
    """A matrix of so many cells, each of which answers with its own number."""
    numbers = {"n": [f"cell-{n}" for n in range(values)]}
    return matrix(store, main, None, turns or ("{{n}}",), numbers, [ECHO], pace=pace, **more)


def settled(store: Store, job: Job, seconds: float = 20) -> Job:
    """Wait until the job stands still; the job."""

    def still() -> bool:
        counts = store.jobs.counts(job.id)
        return store.jobs.get(job.id).state != "running" and not counts.get("running")

    until(still, seconds)
    return store.jobs.get(job.id)


def runs_of(store: Store, step: Step) -> list[Run]:
    """Every run that answered what the step asks."""
    with store._db.read() as db:
        rows = db.conn.execute(
            "SELECT id FROM runs WHERE context_tip_id = ? ORDER BY id", [step.tip_id]
        ).fetchall()
    return [store.runs.get(run_id) for (run_id,) in rows]


def run_of(store: Store, step: Step) -> Run:
    return store.runs.get(str(step.run_id))


def texts(store: Store, job: Job) -> list[list[str]]:
    """Each line's branch, as texts."""
    branches = [line.branch_id for line in store.jobs.lines(job.id)]
    return [path_of(store, branch) if branch else [] for branch in branches]


class Gate:
    """Answers begin, say one word, and wait here until the gate is open or they are stopped."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.lock = threading.Lock()
        self.inside = self.most = self.calls = 0

    def enter(self, by: int) -> None:
        with self.lock:
            self.inside += by
            self.calls += by > 0
            self.most = max(self.most, self.inside)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate()
    stream: Callable[..., Iterator[Event]] = type(ADAPTER).stream

    def held(
        self: object, request: Request, endpoint: Endpoint | None, stop: Stop
    ) -> Iterator[Event]:
        made.enter(1)
        try:
            for event in stream(self, request, endpoint, stop):
                yield event
                while not made.open.is_set() and not stop.is_set():
                    stop.wait(0.01)
                if stop.is_set():
                    return
        finally:
            made.enter(-1)

    monkeypatch.setattr(type(ADAPTER), "stream", held)
    yield made
    made.open.set()


# --- a matrix -------------------------------------------------------------------------------------


def test_every_cell_gets_its_own_branch_and_answer(
    store: Store, player: Player, session: Session, main: str
) -> None:
    grow(store, main, "q", "a")
    at = store.branches.get(main).tip_id
    kind = replace(ECHO, system="Be kind.")
    values = {"city": ["Bern", "Rome"], "day": ["today"]}
    turns = ["In {{city}} {{day}} {{other}}", "And {{city}}?"]
    job = matrix(store, main, at, turns, values, [ECHO, kind], samples=2, name="Weather")
    assert (job.state, count(store, "runs")) == ("paused", 0)  # nothing is asked yet
    player.start(job.id)
    assert settled(store, job).state == "done"
    lines = store.jobs.lines(job.id)
    told = [(line.values["city"], str(line.config.system), line.sample) for line in lines]
    assert told == [(c, s, n) for c in ("Bern", "Rome") for s in ("", "Be kind.") for n in (0, 1)]
    for line in lines:
        first = f"In {line.values['city']} today {{{{other}}}}"
        then = f"And {line.values['city']}?"
        assert path_of(store, str(line.branch_id)) == ["q", "a", first, first, then, then]
        assert store.branches.get(str(line.branch_id)).config == line.config
    assert {run_of(store, step).sample for step in store.jobs.steps(job.id)} == {0, 1}
    assert len({line.branch_id for line in lines}) == 8
    assert path_of(store, main) == ["q", "a"]


def test_no_more_are_asked_at_once_than_may_be(
    store: Store, player: Player, main: str, gate: Gate
) -> None:
    job = cells(store, main, 10, "{{n}}", "again", pace=Pace(concurrency=3))
    player.start(job.id)
    until(lambda: gate.inside == 3)
    assert store.jobs.counts(job.id) == {"running": 3, "waiting": 17}
    gate.open.set()
    assert settled(store, job).state == "done"
    assert (gate.most, gate.calls) == (3, 20)


class Clock:
    """A clock that stands, and the timers that were set by it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[Any] = []

    def timer(self, seconds: float, act: Callable[..., None], args: list[Any]) -> Any:
        made = SimpleNamespace(
            at=self.now + seconds,
            daemon=False,
            alive=True,
            ring=lambda: act(*args),
            start=lambda: None,
        )
        made.is_alive = lambda: made.alive
        made.cancel = lambda: setattr(made, "alive", False)
        self.timers.append(made)
        return made

    def pass_by(self) -> None:
        """Let the time come of the timer that is set."""
        (due,) = [timer for timer in self.timers if timer.alive]
        self.now, due.alive = due.at, False
        due.ring()


def test_no_more_begin_in_a_minute_than_may(
    store: Store, player: Player, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(jobs_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(jobs_module, "Timer", clock.timer)
    job = cells(store, main, 7, pace=Pace(concurrency=8, per_minute=3))

    def begun() -> int:
        until(lambda: not store.jobs.counts(job.id).get("running"))
        return count(store, "runs")

    player.start(job.id)
    assert begun() == 3
    clock.now += 20
    player.start(job.id)  # somebody is impatient
    assert begun() == 3
    clock.pass_by()
    assert (begun(), clock.now) == (6, 1060)
    clock.pass_by()
    assert (begun(), clock.now) == (7, 1120)
    assert settled(store, job).state == "done"
    assert [timer for timer in clock.timers if timer.alive] == []


# --- pause, stop, resume --------------------------------------------------------------------------


def test_a_pause_lets_what_is_on_its_way_come_to_its_end(
    store: Store, player: Player, main: str, gate: Gate
) -> None:
    job = cells(store, main, 5, pace=Pace(concurrency=2))
    player.start(job.id)
    until(lambda: gate.inside == 2)
    assert player.pause(job.id, "Enough.").note == "Enough."
    gate.open.set()
    assert settled(store, job).state == "paused"
    assert (store.jobs.counts(job.id), gate.calls) == ({"done": 2, "waiting": 3}, 2)
    player.start(job.id)
    assert settled(store, job).state == "done"
    assert store.jobs.get(job.id).note == ""
    assert [step.tries for step in store.jobs.steps(job.id)] == [1] * 5


def test_a_stop_keeps_the_words_and_a_resume_asks_again(
    store: Store, player: Player, main: str, gate: Gate
) -> None:
    job = cells(store, main, 3, "/chunk 3\n{{n}}", pace=Pace(concurrency=2))
    player.start(job.id)
    until(lambda: all(live.deltas for live in player.runner.lives()) and gate.inside == 2)
    assert player.stop(job.id).state == "stopped"
    settled(store, job)
    assert store.jobs.counts(job.id) == {"stopped": 2, "waiting": 1}
    assert [path[-1] for path in texts(store, job)[:2]] == ["cel", "cel"]
    gate.open.set()
    player.start(job.id)
    assert settled(store, job).state == "done"
    assert [path[1:] for path in texts(store, job)] == [["cell-0"], ["cell-1"], ["cell-2"]]
    steps = store.jobs.steps(job.id)
    assert [step.tries for step in steps] == [2, 2, 1]
    ends = [[run.finish_reason for run in runs_of(store, step)] for step in steps]
    assert ends == [["stopped", "stop"], ["stopped", "stop"], ["stop"]]


def test_one_answer_that_a_person_stops_does_not_stop_the_others(
    store: Store, player: Player, main: str, gate: Gate
) -> None:
    job = cells(store, main, 3, pace=Pace(concurrency=3))
    player.start(job.id)
    until(lambda: gate.inside == 3)
    first = store.jobs.steps(job.id)[0]
    player.runner.stop(str(first.run_id))
    until(lambda: store.jobs.step(first.id).state == "stopped")
    gate.open.set()
    ended = settled(store, job)
    assert (ended.state, ended.note) == ("paused", "1 of the turns did not get an answer.")
    assert store.jobs.counts(job.id) == {"stopped": 1, "done": 2}


def test_a_process_that_ends_begins_nothing_more(
    store: Store, session: Session, main: str, gate: Gate
) -> None:
    runner = Runner(store)
    player = Player(runner)
    job = cells(store, main, 6, pace=Pace(concurrency=2))
    player.start(job.id)
    until(lambda: gate.inside == 2)
    runner.close()  # nobody has told the player
    assert (gate.calls, store.runs.not_ended()) == (2, [])
    player.close()
    with Runner(store) as again:
        woken = Player(again)
        assert store.jobs.get(job.id).note == ENDED_BY_RESTART
        gate.open.set()
        woken.start(job.id)
        assert settled(store, job).state == "done"
        woken.close()


# --- what goes wrong ------------------------------------------------------------------------------


def test_a_cell_that_fails_does_not_stop_the_others(
    store: Store, player: Player, main: str
) -> None:
    values = {"n": ["one", "/fail BadRequest 1\ntwo", "three"]}
    job = matrix(store, main, None, ["{{n}}", "go on"], values, [ECHO])
    player.start(job.id)
    ended = settled(store, job)
    assert (ended.state, ended.note) == ("paused", "1 of the turns did not get an answer.")
    assert store.jobs.counts(job.id) == {"done": 4, "failed": 1, "waiting": 1}
    (failed,) = [step for step in store.jobs.steps(job.id) if step.state == "failed"]
    assert run_of(store, failed).failure is not None
    player.retry(failed.id)
    assert settled(store, job).state == "done"
    assert texts(store, job)[1][1:] == ["two", "go on", "go on"]
    assert [step.tries for step in store.jobs.steps(job.id)] == [1, 1, 2, 1, 1, 1]


def test_what_cannot_be_asked_at_all_is_noted_and_the_rest_is_played(
    store: Store, player: Player, main: str
) -> None:
    gone = Config(provider="gone", model="x")
    job = matrix(store, main, None, ["q"], {}, [gone, ECHO, gone], pace=Pace(concurrency=1))
    player.start(job.id)
    ended = settled(store, job)
    assert (ended.state, ended.note) == ("paused", "2 of the turns did not get an answer.")
    assert store.jobs.counts(job.id) == {"failed": 2, "done": 1}


def test_a_budget_that_is_used_up_pauses_the_job(
    store: Store, player: Player, session: Session, main: str
) -> None:
    store.sessions.change(session.id, token_budget=30, over_budget="stop")
    job = cells(store, main, 4, "/usage 10 10 0 0\n{{n}}", pace=Pace(concurrency=1))
    player.start(job.id)
    ended = settled(store, job)
    assert ended.state == "paused"
    assert "used up its budget of 30 tokens. Raise the budget" in ended.note
    assert store.jobs.counts(job.id) == {"done": 2, "waiting": 2}
    store.sessions.change(session.id, token_budget=1000)
    player.start(job.id)
    assert settled(store, job).state == "done"
    assert [step.tries for step in store.jobs.steps(job.id)] == [1] * 4
    nodes = [path for path in texts(store, job) if len(path) != 2]
    assert nodes == []  # the words that waited were not written twice


def test_a_job_whose_session_is_deleted_ends_quietly(
    store: Store, player: Player, session: Session, main: str, gate: Gate
) -> None:
    job = cells(store, main, 4, pace=Pace(concurrency=1))
    player.start(job.id)
    until(lambda: gate.inside == 1)
    (live,) = player.runner.lives()
    player.stop(job.id)
    live.done.wait(10)
    store.sessions.bin(session.id)
    store.sessions.delete_for_good(session.id)
    gate.open.set()
    assert store.jobs.of(session.id) == []
    assert count(store, "runs") == 0


# --- one turn once more ---------------------------------------------------------------------------


def retold(store: Store, main: str, **more: Any) -> Job:
    grow(store, main, "/count", "old 1", "/count", "old 2", "/count", "old 3")
    return replay(store, main, ECHO, **more)


def test_a_turn_in_the_middle_again_plays_what_comes_after_it_anew(
    store: Store, player: Player, main: str
) -> None:
    job = retold(store, main)
    player.start(job.id)
    settled(store, job)
    before = store.jobs.steps(job.id)
    player.retry(before[1].id)
    assert settled(store, job).state == "done"
    after = store.jobs.steps(job.id)
    assert [step.tries for step in after] == [1, 2, 2]
    assert after[0] == before[0]
    assert after[1].tip_id == before[1].tip_id  # the question stands where it stood
    assert after[2].tip_id != before[2].tip_id
    (path,) = texts(store, job)
    assert path[1::2] == ["context 1 messages", "context 3 messages", "context 5 messages"]
    assert len(store.nodes.many([str(step.answer_id) for step in before])) == 3
    tip = store.nodes.get(str(store.branches.get(str(_line(store, job))).tip_id))
    assert tip.id == after[2].answer_id != before[2].answer_id


def test_of_a_forced_replay_the_turns_after_it_keep_their_answers(
    store: Store, player: Player, main: str
) -> None:
    job = retold(store, main, mode="forced")
    player.start(job.id)
    settled(store, job)
    before = store.jobs.steps(job.id)
    player.retry(before[1].id)
    assert settled(store, job).state == "done"
    runs = [run_of(store, step) for step in store.jobs.steps(job.id)]
    assert [run.replayed_from for run in runs] == [None, None, before[2].run_id]
    assert len(path_of(store, str(_line(store, job)))) == 6


def test_a_turn_that_a_person_asks_again_is_never_taken_from_the_store(
    store: Store, player: Player, main: str
) -> None:
    job = retold(store, main, pace=Pace(reuse=True))
    player.start(job.id)
    settled(store, job)
    player.retry(store.jobs.steps(job.id)[0].id)
    settled(store, job)
    runs = [run_of(store, step) for step in store.jobs.steps(job.id)]
    assert [run.replayed_from for run in runs] == [None] * 3


def test_a_branch_that_is_being_answered_is_not_asked_again(
    store: Store, player: Player, main: str, gate: Gate
) -> None:
    job = retold(store, main)
    player.start(job.id)
    until(lambda: gate.inside == 1)
    for step in store.jobs.steps(job.id):
        with pytest.raises(UserError, match="being answered"):
            player.retry(step.id)
    gate.open.set()
    assert settled(store, job).state == "done"
    assert gate.calls == 3


def _line(store: Store, job: Job) -> str | None:
    (line,) = store.jobs.lines(job.id)
    return line.branch_id


# --- stored answers -------------------------------------------------------------------------------


def test_the_same_again_is_taken_from_the_store_and_costs_nothing(
    store: Store, player: Player, main: str, gate: Gate
) -> None:
    gate.open.set()
    grow(store, main, "one", "a", "two", "b")
    first = replay(store, main, ECHO, samples=2)
    player.start(first.id)
    settled(store, first)
    assert gate.calls == 4
    again = replay(store, main, ECHO, samples=3, pace=Pace(reuse=True))
    player.start(again.id)
    assert settled(store, again).state == "done"
    assert gate.calls == 6  # the third sample was never taken
    runs = [run_of(store, step) for step in store.jobs.steps(again.id)]
    older = [run_of(store, step) for step in store.jobs.steps(first.id)]
    assert [run.replayed_from for run in runs] == [*(run.id for run in older), None, None]
    assert [run.cost_nanodollars for run in runs[:4]] == [0] * 4
    assert [run.usage.input_tokens for run in runs[:4]] == [None] * 4
    assert texts(store, again)[0] == texts(store, first)[0] == ["one", "one", "two", "two"]


# --- one lane more --------------------------------------------------------------------------------


def test_a_lane_that_comes_later_is_told_all_that_was_said(
    store: Store, player: Player, main: str
) -> None:
    runner = player.runner
    grow(store, main, "q", "a")
    tip = store.branches.get(main).tip_id
    fan = fan_out(runner, main, tip, "first", [Wish(config=ECHO), Wish(config=ECHO, name="b")])
    until(lambda: not store.runs.not_ended())
    follow_up(runner, fan.comparison.id, "second", only=[fan.lanes[1].id])
    until(lambda: not store.runs.not_ended())
    kind = replace(ECHO, system="Be kind.")
    job = one_more(store, fan.comparison.id, kind, name="late")
    player.start(job.id)
    assert settled(store, job).state == "done"
    *_, lane = store.comparisons.lanes(fan.comparison.id)
    branch = store.branches.get(lane.branch_id)
    assert (branch.name, branch.config) == ("late", kind)
    assert path_of(store, branch) == ["q", "a", "first", "first", "second", "second"]
    # It answers the very message that the others answer.
    assert store.nodes.lineage(branch.tip_id)[2].id == fan.comparison.at_id


def test_a_comparison_without_lanes_gets_none_more(
    store: Store, player: Player, session: Session, main: str
) -> None:
    fan = fan_out(player.runner, main, None, "first", [Wish(config=ECHO)])
    until(lambda: not store.runs.not_ended())
    store.branches.bin(fan.lanes[0].branch_id, "2026-01-01")
    with pytest.raises(UserError, match="No lane"):
        one_more(store, fan.comparison.id, ECHO)
    beside = store.comparisons.create(session.id, "beside")
    with pytest.raises(UserError, match="one prompt"):
        one_more(store, beside.id, ECHO)
    assert store.jobs.of(session.id) == []


def test_a_turn_is_done_when_the_answer_after_its_recap_is_there(
    store: Store, player: Player, main: str
) -> None:
    auto = replace(ECHO, policy="auto", keep_turns=1)
    recapped = matrix(store, main, None, ["one", "two", "three"], {}, [auto], samples=2)
    player.start(recapped.id)
    assert settled(store, recapped).state == "done"
    for step in store.jobs.steps(recapped.id):
        run = run_of(store, step)
        assert (run.purpose, run.node_id, step.tries) == ("reply", step.answer_id, 1)
        assert run.sample == store.jobs.line(step.line_id).sample
    assert len(store.runs.side(store.branches.get(main).session_id, "auto_recap")) >= 2


# --- the end of the process -----------------------------------------------------------------------


def begin(runner: Runner, player: Player, job_id: str) -> None:
    player.start(job_id)


def snapshot(store: Store, job: Job) -> dict[str, Step]:
    return {step.id: step for step in store.jobs.steps(job.id)}


def test_killed_in_the_middle_of_a_matrix_it_goes_on_where_it_was(path: Path) -> None:
    with Store.open(path) as store:
        main = str(store.sessions.create(config=ECHO).current_branch_id)
        words = "/delay 40\n{{n}} of one two three four five six seven"
        job = cells(store, main, 20, words, pace=Pace(concurrency=4))
        with away(path) as there:
            there.do(begin, job.id)
            until(lambda: store.jobs.counts(job.id).get("done", 0) >= 5, 60)
            there.kill()
        left = snapshot(store, job)
        assert store.jobs.get(job.id).state == "running", "nobody was there to write it down"
        in_flight = {
            found
            for found, step in left.items()
            if step.state == "running" and run_of(store, step).state == "running"
        }
        assert 1 <= len(in_flight) <= 4
        with Runner(store) as runner:
            player = Player(runner)
            _is_shown_as_it_ended(store, job, left, in_flight)
            asked = count(store, "runs")
            player.start(job.id)
            assert settled(store, job, 60).state == "done"
            player.close()
        _is_whole(store, job, left, in_flight, asked)


def _is_shown_as_it_ended(
    store: Store, job: Job, left: dict[str, Step], in_flight: set[str]
) -> None:
    woken = store.jobs.get(job.id)
    assert (woken.state, woken.note) == ("paused", ENDED_BY_RESTART)
    found = snapshot(store, job)
    assert {key for key, step in found.items() if step.state == "interrupted"} == in_flight
    assert not [step for step in found.values() if step.state == "running"]
    done = {key for key, step in left.items() if step.state == "done"}
    assert {key: found[key] for key in done} == {key: left[key] for key in done}


def _is_whole(
    store: Store, job: Job, left: dict[str, Step], in_flight: set[str], asked: int
) -> None:
    found = snapshot(store, job)
    for key, step in found.items():
        was = left[key]
        runs = runs_of(store, step)
        assert [run.finish_reason for run in runs].count("stop") == 1
        assert [run for run in runs if run.finish_reason not in ("stop", "interrupted")] == []
        if was.state == "done" or (was.state == "running" and key not in in_flight):
            assert (step.run_id, step.tries, len(runs)) == (was.run_id, 1, 1)
        else:
            assert len(runs) == 1 + (key in in_flight)
    finished = sum(step.state == "done" for step in left.values())
    finished += sum(s.state == "running" and k not in in_flight for k, s in left.items())
    assert count(store, "runs") == asked + 20 - finished
    said = "of one two three four five six seven"
    assert [path[-1] for path in texts(store, job)] == [f"cell-{n} {said}" for n in range(20)]
    assert all(len(path) == 2 for path in texts(store, job))


def test_a_job_that_another_process_plays_is_left_to_it(path: Path) -> None:
    with Store.open(path) as store:
        main = str(store.sessions.create(config=ECHO).current_branch_id)
        job = cells(store, main, 3, "/delay 60\n{{n}} one two three four five six seven eight")
        with away(path) as there:
            there.do(begin, job.id)
            with Runner(store) as runner:
                second = Player(runner)
                assert store.jobs.get(job.id).state == "running"
                assert settled(store, job, 60).state == "done"
                second.close()
        assert count(store, "runs") == 3
