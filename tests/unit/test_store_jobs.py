"""Jobs on disk: every step's state, and which step may begin."""

from dataclasses import replace
from typing import Any

import pytest

from core import Session, Store
from core.errors import NotFound
from core.types import AttachmentRef, Job, Line, Step, StepState, new_id, now
from tests.conftest import ECHO
from tests.unit.house import count

FILE = AttachmentRef(sha256="1" * 64, media_type="image/png", name="cat.png")


def job(session: Session, **more: Any) -> Job:
    return Job(
        **{
            "id": new_id(),
            "session_id": session.id,
            "kind": "matrix",
            "name": "A job",
            "created_at": now(),
        }
        | more
    )


def line(made: Job, place: int, **more: Any) -> Line:
    return Line(
        **{"id": new_id(), "job_id": made.id, "place": place, "name": f"{place}", "config": ECHO}
        | more
    )


def step(of: Line, turn: int, **more: Any) -> Step:
    return Step(**{"id": new_id(), "line_id": of.id, "turn": turn, "text": f"t{turn}"} | more)


@pytest.fixture
def written(store: Store, session: Session) -> tuple[Job, list[Line], list[list[Step]]]:
    """A job of two lines of three turns."""
    made = job(session)
    lines = [line(made, place) for place in range(2)]
    steps = [[step(one, turn) for turn in range(3)] for one in lines]
    store.jobs.add(made, list(zip(lines, steps, strict=True)))
    return made, lines, steps


Written = tuple[Job, list[Line], list[list[Step]]]


def test_all_that_a_job_is_comes_back(store: Store, session: Session) -> None:
    made = job(
        session,
        mode="forced",
        per_minute=30,
        concurrency=8,
        reuse=True,
        note="n",
        spec={"branch": "b", "variables": {"city": ["Zürich", "\ud800"]}},
    )
    one = line(made, 0, base_id="base", sample=3, values={"city": "Bern"})
    full = step(
        one,
        0,
        files=(FILE,),
        suffix="s",
        source_id="source",
        rounds=("r1", "r2"),
        reads_id="reads",
        asks=False,
        answer_id="answer",
    )
    store.jobs.add(made, [(one, [full])])
    assert store.jobs.get(made.id) == made
    assert store.jobs.lines(made.id) == [one]
    assert store.jobs.line(one.id) == one
    assert store.jobs.steps(made.id) == [full]
    assert store.jobs.step(full.id) == full


def test_jobs_of_a_session_latest_first(store: Store, session: Session) -> None:
    made = [job(session, name=str(n)) for n in range(3)]
    for one in made:
        store.jobs.add(one, [])
    other = job(store.sessions.create(config=ECHO))
    store.jobs.add(other, [])
    assert store.jobs.of(session.id) == made[::-1]
    assert store.jobs.of(session.id, limit=2) == made[:0:-1]
    store.jobs.set_state(made[1].id, "running")
    store.jobs.set_state(other.id, "running", "why")
    running = {one.id: one.note for one in store.jobs.running()}
    assert running == {made[1].id: "", other.id: "why"}


@pytest.mark.parametrize("what", ["get", "line", "step"])
def test_what_is_not_there_is_said_to_be_missing(store: Store, what: str) -> None:
    with pytest.raises(NotFound) as refused:
        getattr(store.jobs, what)("nobody")
    assert refused.value.hint


def test_the_next_step_of_a_line_is_the_first_whose_earlier_ones_are_done(
    store: Store, written: Written
) -> None:
    made, _, (first, other) = written

    def ready(limit: int = 9) -> list[str]:
        return [one.id for one in store.jobs.next_steps(made.id, limit)]

    assert ready() == [first[0].id, other[0].id]
    assert ready(1) == [first[0].id]
    assert ready(0) == []
    store.jobs.began(first[0].id, "run")
    assert ready() == [other[0].id]
    store.jobs.finish(first[0].id, "done", "answer")
    store.jobs.finish(other[0].id, "failed")
    assert ready() == [first[1].id]
    assert store.jobs.counts(made.id) == {"waiting": 4, "done": 1, "failed": 1}


def test_a_step_from_its_words_to_its_answer(store: Store, written: Written) -> None:
    _, _, ((one, *_), _) = written
    store.jobs.placed(one.id, "tip")
    store.jobs.began(one.id, "run 1")
    found = store.jobs.step(one.id)
    assert (found.state, found.run_id, found.tip_id, found.tries) == ("running", "run 1", "tip", 1)
    assert store.jobs.step_of("run 1") == found
    store.jobs.goes_on(one.id, "run 2")
    assert store.jobs.step_of("run 1") is None
    store.jobs.finish(one.id, "interrupted", "half")
    found = store.jobs.step(one.id)
    assert (found.state, found.answer_id, found.tries) == ("interrupted", "half", 1)
    store.jobs.began(one.id, "run 3")
    assert store.jobs.step(one.id).answer_id is None  # half an answer is none
    store.jobs.finish(one.id, "failed")
    assert (store.jobs.step(one.id).answer_id, store.jobs.step(one.id).tries) == (None, 2)


def test_steps_in_some_states_wait_once_more(store: Store, written: Written) -> None:
    made, _, (first, _) = written
    other = job(store.sessions.create(config=ECHO))
    stranger = line(other, 0)
    alone = step(stranger, 0)
    store.jobs.add(other, [(stranger, [alone])])
    states: list[StepState] = ["failed", "done", "stopped"]
    for one, state in zip(first, states, strict=True):
        store.jobs.finish(one.id, state)
    store.jobs.finish(alone.id, "failed")
    store.jobs.redo(made.id, "failed", "stopped", "interrupted")
    assert [store.jobs.step(one.id).state for one in first] == ["waiting", "done", "waiting"]
    assert store.jobs.step(alone.id).state == "failed"


def test_a_step_again_means_all_after_it_again(store: Store, written: Written) -> None:
    made, _, (first, other) = written
    for place, one in enumerate([*first, *other]):
        store.jobs.placed(one.id, f"tip {place}")
        store.jobs.began(one.id, f"run {place}")
        store.jobs.finish(one.id, "done", f"answer {place}")
    store.jobs.finish(first[2].id, "failed")
    store.jobs.again(first[1].id)
    before, again, after = (store.jobs.step(one.id) for one in first)
    assert (before.state, before.answer_id) == ("done", "answer 0")
    # The words of the one stand where they stood; those of the next are written under its answer.
    assert (again.state, again.tip_id, again.answer_id) == ("waiting", "tip 1", None)
    assert (after.state, after.tip_id, after.run_id) == ("waiting", None, None)
    assert after.answer_id is None
    assert [store.jobs.step(one.id).state for one in other] == ["done"] * 3
    store.jobs.again(other[1].id)
    kept = store.jobs.step(other[2].id)
    assert (kept.state, kept.answer_id, kept.tip_id) == ("waiting", "answer 5", None)
    assert store.jobs.counts(made.id) == {"done": 2, "waiting": 4}


def test_a_step_that_copies_is_written_anew(store: Store, session: Session) -> None:
    made = job(session)
    one = line(made, 0)
    copies = step(one, 0, asks=False, answer_id="source")
    store.jobs.add(made, [(one, [copies])])
    store.jobs.placed(copies.id, "tip")
    store.jobs.finish(copies.id, "done", "copy")
    store.jobs.again(copies.id)
    found = store.jobs.step(copies.id)
    assert (found.state, found.tip_id, found.answer_id) == ("waiting", None, "copy")


def test_a_lines_branch_and_the_lines_of_a_branch(
    store: Store, written: Written, main: str
) -> None:
    _, (first, other), _ = written
    store.jobs.set_branch(first.id, main)
    assert store.jobs.of_branch(main) == [replace(first, branch_id=main)]
    assert store.jobs.line(other.id).branch_id is None


def test_a_session_that_is_deleted_for_good_takes_its_jobs_along(
    store: Store, session: Session, written: Written, main: str
) -> None:
    store.jobs.set_branch(written[1][0].id, main)
    other = job(store.sessions.create(config=ECHO))
    store.jobs.add(other, [])
    store.sessions.bin(session.id)
    store.sessions.delete_for_good(session.id)
    assert [count(store, name) for name in ("jobs", "job_lines", "job_steps")] == [1, 0, 0]
    assert store.jobs.get(other.id) == other
