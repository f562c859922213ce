"""What a process leaves behind that dies, and who may say that it is dead."""

import os
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psutil
import pytest

from core import Config, Runner, Session, Store
from core.live import Outcome
from core.owner import is_dead, this_process
from core.settle import settle
from core.store import database
from core.types import Run
from tests.conftest import ECHO
from tests.unit.house import (
    ask,
    begun,
    count,
    dead_run,
    execute,
    grow,
    live,
    parts,
    path_of,
    until,
)

GONE = f"{socket.gethostname()}|999999999|1.00"


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def someone_else() -> str:
    """A living process that is not this one."""
    parent = psutil.Process(os.getppid())
    return f"{socket.gethostname()}|{parent.pid}|{parent.create_time():.2f}"


# --- who is dead ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "silent", "dead"),
    [
        (this_process, 9999, False),
        (someone_else, 9999, False),
        (lambda: GONE, 0, True),
        (lambda: f"{socket.gethostname()}|{os.getpid()}|12.00", 0, True),
        (lambda: "elsewhere|1|1.00", 5, False),
        (lambda: "elsewhere|1|1.00", 59, False),
        (lambda: "elsewhere|1|1.00", 61, True),
        (lambda: "elsewhere|1|1.00", None, True),
        (lambda: "nonsense", 0, True),
        (lambda: "", 0, True),
        (lambda: "a|b|c|d", 0, True),
        (lambda: f"{socket.gethostname()}|x|1.00", 0, True),
    ],
)
def test_a_process_is_dead_when_it_is_gone_or_silent_too_long(
    owner: Callable[[], str], silent: float | None, dead: bool
) -> None:
    heartbeat = None if silent is None else ago(silent)
    assert is_dead(owner(), heartbeat) is dead


def test_a_process_that_has_just_ended_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    born = psutil.Process(child.pid).create_time()
    owner = f"{socket.gethostname()}|{child.pid}|{born:.2f}"
    assert not is_dead(owner, None)
    child.kill()
    until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
    assert is_dead(owner, ago(0)), "even before its parent takes notice"
    child.communicate()
    assert is_dead(owner, ago(0))


# --- the sweep ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "half an ans"])
def test_a_run_of_a_dead_process_is_interrupted_and_its_words_are_kept(
    store: Store, session: Session, main: str, text: str
) -> None:
    grow(store, main, "q")
    left = dead_run(store, main, text, owner=GONE)
    waiting = store.branches.enqueue(main, "later")
    runner = Runner(store)
    runner.close()
    run = store.runs.get(left.id)
    assert (run.state, run.finish_reason, run.partial) == ("ended", "interrupted", ())
    assert path_of(store, main) == (["q", text] if text else ["q"])
    assert store.branches.waiting(waiting)["state"] == "held"
    assert bool(run.node_id) == bool(text)


@pytest.mark.parametrize(
    ("owner", "silent", "state"),
    [
        (someone_else(), None, "running"),
        ("elsewhere|1|1.00", 10, "running"),
        ("elsewhere|1|1.00", 61, "ended"),
        (GONE, None, "ended"),
        (this_process(), None, "ended"),
    ],
    ids=["another here", "elsewhere", "silent elsewhere", "gone", "this one before"],
)
def test_only_runs_of_the_dead_are_swept(
    store: Store, main: str, owner: str, silent: float | None, state: str
) -> None:
    left = dead_run(store, main, "half", owner=owner)
    if silent:
        execute(store, "UPDATE runs SET heartbeat_at = ?", ago(silent))
    runner = Runner(store)
    assert store.runs.get(left.id).state == state
    assert runner.sweep() == 0, "once is enough"
    runner.close()


def test_a_run_that_waits_for_a_person_is_not_swept(store: Store, main: str) -> None:
    left = dead_run(store, main, owner=GONE, state="waiting")
    Runner(store).close()
    assert store.runs.get(left.id).state == "waiting"


def test_a_running_answer_of_this_process_is_never_swept(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even after the clock was set, which moves the start of every process."""
    run = runner.send(main, "/stall 2\none two three")
    assert isinstance(run, Run)
    begun(runner, run, 2)
    assert runner.sweep() == 0
    born = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: born(self) + 3600)
    execute(runner.store, "UPDATE runs SET heartbeat_at = ?", ago(9999))
    assert runner.sweep() == 0
    runner.stop(run.id)
    assert runner.wait(run.id, 10).finish_reason == "stopped"


def test_a_run_of_a_provider_that_is_no_more_does_not_keep_the_house_shut(
    store: Store, main: str
) -> None:
    grow(store, main, "q")
    dead_run(store, main, "half", owner=GONE, config=Config(provider="gone", model="x"))
    Runner(store).close()
    assert path_of(store, main) == ["q", "half"]


def test_a_continuation_that_was_interrupted_is_joined_as_far_as_it_came(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "q", "one two")
    dead_run(store, main, " three", owner=GONE, purpose="continue")
    Runner(store).close()
    assert path_of(store, main) == ["q", "one two three"]
    assert store.branches.undo(main)
    assert path_of(store, main) == ["q", "one two"]


def test_an_interrupted_answer_whose_branch_moved_gets_a_branch_of_its_own(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "q")
    dead_run(store, main, "half", owner=GONE)
    grow(store, main, "by hand", "and on")
    Runner(store).close()
    assert sorted(live(store, session.id).values()) == [["q", "by hand", "and on"], ["q", "half"]]


def test_words_that_wait_for_nothing_any_more_are_held(store: Store, main: str) -> None:
    """The process died after the answer was written and before the next was sent."""
    grow(store, main, "q", "a")
    other = store.sessions.create(config=ECHO).current_branch_id
    assert other
    dead_run(store, other, owner=someone_else())
    ids = [store.branches.enqueue(branch, "later") for branch in (main, other)]
    Runner(store).close()
    assert [store.branches.waiting(found)["state"] for found in ids] == ["held", "waiting"]


def test_a_process_that_slept_through_its_own_sweep_overwrites_nothing(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "q")
    run = dead_run(store, main, "half", owner="me")
    assert settle(store, run, parts("half"), Outcome(finish_reason="interrupted"))
    nodes, before = count(store), store.runs.get(run.id)
    assert settle(store, run, parts("half and all the rest"), Outcome(finish_reason="stop")) is None
    assert (count(store), store.runs.get(run.id)) == (nodes, before)
    assert path_of(store, main) == ["q", "half"]


@pytest.mark.parametrize("room", ["nodes.add", "branches.move", "sessions.touch"])
def test_the_end_of_an_answer_is_written_whole_or_not_at_all(
    store: Store, main: str, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    grow(store, main, "q")
    run = dead_run(store, main, "half", owner="me")
    nodes, before = count(store), store.runs.get(run.id)
    name, _, act = room.partition(".")
    with monkeypatch.context() as broken:
        broken.setattr(getattr(store, name), act, lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            settle(store, run, parts("whole"), Outcome(finish_reason="stop"))
    assert (count(store), store.runs.get(run.id), path_of(store, main)) == (nodes, before, ["q"])
    assert settle(store, run, parts("whole"), Outcome(finish_reason="stop"))
    assert path_of(store, main) == ["q", "whole"]


def test_a_run_that_was_swept_while_it_streams_stops(store: Store, main: str) -> None:
    runner = Runner(store)
    run = runner.send(main, "/delay 20\n" + "word " * 500)
    assert isinstance(run, Run)
    begun(runner, run, 2)
    assert settle(store, run, parts("kept"), Outcome(finish_reason="interrupted"))
    until(lambda: runner.live(run.id) is None)
    assert path_of(store, main)[-1] == "kept"
    runner.close()


# --- what has arrived is saved while it streams ----------------------------------------------


def test_every_word_is_saved_within_half_a_second(runner: Runner, main: str) -> None:
    run = runner.send(main, "/stall 3\none two three four")
    assert isinstance(run, Run)
    begun(runner, run, 3)
    until(lambda: runner.store.runs.get(run.id).partial == parts("one two three"), 0.5)
    beat = runner.store.runs.get(run.id).heartbeat_at
    assert beat is not None
    runner.stop(run.id)
    runner.wait(run.id, 10)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.05)
    monkeypatch.setattr("core.launcher._AGAIN_SECONDS", 0.02)


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_ends_while_another_program_holds_the_file_is_written_later(
    path: object, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(str(path)) as store, Runner(store) as runner:
        main = store.sessions.create(config=ECHO).current_branch_id
        assert main
        run = runner.send(main, "/delay 15\none two three four five six")
        assert isinstance(run, Run)
        other = sqlite3.connect(str(path), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        until(lambda: "could not be written down" in caplog.text)
        assert runner.live(run.id) is not None
        other.execute("ROLLBACK")
        other.close()
        assert runner.wait(run.id, 10).finish_reason == "stop"
        assert path_of(store, main)[-1] == "one two three four five six"


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_ends_on_a_full_disk_is_written_once_there_is_room(
    path: object, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(str(path)) as store, Runner(store) as runner:
        main = store.sessions.create(config=ECHO).current_branch_id
        assert main
        run = runner.send(main, "/delay 15\none two three " + "x" * 100_000)
        assert isinstance(run, Run)
        writer = store._db._writer.conn
        with store._db._write_lock:
            (pages,) = writer.execute("PRAGMA page_count").fetchone()
            writer.execute(f"PRAGMA max_page_count = {pages}")
        until(lambda: "an answer could not be written down" in caplog.text)
        with store._db._write_lock:
            writer.execute("PRAGMA max_page_count = 100000")
        assert runner.wait(run.id, 10).finish_reason == "stop"
        assert path_of(store, main)[-1].startswith("one two three xxx")


def test_a_runner_leaves_no_thread_behind(store: Store, main: str) -> None:
    with Runner(store) as runner:
        ask(runner, main, "hello")
    assert not [t.name for t in threading.enumerate() if t.name.startswith("turntree")]
