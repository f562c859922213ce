"""The life of the model's process, with a stand-in script that starts in a moment."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from core.errors import LocalModelError
from core.local import process, server
from core.local.catalogue import Weights
from core.local.process import Engine
from core.local.server import Server
from core.types import Progress, Stop

STAND_IN = """
import http.server, json, os, sys, threading, time
settings = json.loads(sys.stdin.readline())
mode = settings["alias"]
log = open(settings["path"], "a")
print(os.getpid(), file=log, flush=True)
if mode == "no-library":
    print(json.dumps({"error": "libgomp.so.1: cannot open shared object", "kind": "import"}))
    sys.exit()
if mode == "no-runtime":
    print(json.dumps({"error": "No module named 'xllamacpp'", "kind": "import"}))
    sys.exit()
if mode == "unreadable":
    print("0.1 E load: error loading model: unknown architecture", file=sys.stderr)
    print(json.dumps({"error": "Failed to init server", "kind": "load"}))
    sys.exit()
if mode == "dies":
    os.kill(os.getpid(), 9)
if mode == "slow":
    time.sleep(60)

class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if mode == "sick" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args):
        pass

web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
threading.Thread(target=web.serve_forever, daemon=True).start()
print(json.dumps({"url": f"http://127.0.0.1:{web.server_port}"}), flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)
    monkeypatch.setattr(server, "SCRIPT", script)
    monkeypatch.setattr(process, "LOOK_SECONDS", 0.02)


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine(prepare=lambda weights: None)
    yield engine
    engine.stop()


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Weights]:
    def weights(name: str = "well") -> Weights:
        return Weights(id=name, label=f"Model {name}", path=tmp_path / f"{name}.log")

    return weights


Make = Callable[..., Weights]


def starts(weights: Weights) -> int:
    return len(weights.path.read_text().split())


def eventually(true: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


def pid_of(leased: Server) -> int:
    assert leased.pid is not None
    return leased.pid


def leased(engine: Engine, weights: Weights) -> Server:
    """A server that answers."""
    found = engine.lease(weights)
    assert found is not None
    assert found.wait(10) is not None
    return found


def state(engine: Engine) -> str:
    status = engine.status()
    return status.words if status else "none"


def test_many_runs_at_once_start_one_process_and_share_it(engine: Engine, make: Make) -> None:
    weights, found = make(), []
    runs = [
        threading.Thread(target=lambda: found.append(engine.ensure(weights, Stop())))
        for _ in range(8)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(10)
    assert found == [found[0]] * 8
    assert found[0] is not None
    assert starts(weights) == 1


def test_neither_arguments_nor_environment_hold_the_key(engine: Engine, make: Make) -> None:
    found = leased(engine, make())
    assert found.endpoint is not None
    child = psutil.Process(pid_of(found))
    assert found.endpoint.api_key not in " ".join(child.cmdline())
    assert found.endpoint.api_key not in str(child.environ())
    assert found.endpoint.base_url.startswith("http://127.0.0.1:")
    assert found.endpoint.api_key not in repr(found.endpoint)


def test_waiting_for_a_slow_start_ends_at_once_when_stopped(engine: Engine, make: Make) -> None:
    stop, told = Stop(), list[Progress]()
    threading.Timer(0.2, stop.set).start()
    began = time.monotonic()
    assert engine.ensure(make("slow"), stop, told.append) is None
    assert time.monotonic() - began < 2
    assert told[0].stage == "starting"
    assert state(engine) == "starting"


def test_stopping_the_engine_while_it_starts_ends_the_process(engine: Engine, make: Make) -> None:
    found = engine.lease(make("slow"))
    assert found is not None
    eventually(lambda: found.pid is not None)
    engine.stop()
    assert not psutil.pid_exists(pid_of(found))
    with pytest.raises(LocalModelError, match="was stopped"):
        found.wait(5)


def test_a_killed_process_is_started_again_by_the_next_use(engine: Engine, make: Make) -> None:
    weights = make()
    first = leased(engine, weights)
    os.kill(pid_of(first), signal.SIGKILL)
    eventually(first.is_lost)
    assert "ended unexpectedly (signal 9)" in state(engine)
    second = leased(engine, weights)
    assert second is not first
    assert state(engine) == "ready"
    assert starts(weights) == 2
    engine.release(first)  # late, and no harm to the second's count
    assert engine.lease(weights) is second


def test_a_process_that_keeps_crashing_is_given_up_for_a_while(
    engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "BACKOFF_SECONDS", 0.0)
    weights = make()
    for _ in range(process.CRASH_LIMIT):
        found = leased(engine, weights)
        os.kill(pid_of(found), signal.SIGKILL)
        eventually(found.is_lost)
    with pytest.raises(LocalModelError, match="4 times within a minute") as caught:
        engine.lease(weights)
    assert "ended unexpectedly" in state(engine)
    assert "retry in a minute" in caught.value.hint
    monkeypatch.setattr(process, "CRASH_SECONDS", 0.0)
    assert leased(engine, weights).is_alive()


def test_crashes_are_followed_by_growing_pauses(engine: Engine, make: Make) -> None:
    weights, delays = make(), []
    for _ in range(3):
        found = leased(engine, weights)
        os.kill(pid_of(found), signal.SIGKILL)
        eventually(found.is_lost)
        with engine._lock:
            delays.append(engine._note_crash(engine._server))
    assert delays == [0.0, 0.5, 1.0]


def test_an_idle_process_ends_and_a_used_one_stays(make: Make) -> None:
    engine = Engine(idle_seconds=0.1, prepare=lambda weights: None)
    weights = make()
    one, two = leased(engine, weights), leased(engine, weights)
    engine.release(one)
    time.sleep(0.25)
    assert two.is_alive()
    engine.release(two)
    eventually(lambda: not two.is_alive())
    assert state(engine) == "none"
    assert leased(engine, weights).is_alive()
    engine.stop()


def test_other_weights_wait_until_the_present_ones_are_unused(engine: Engine, make: Make) -> None:
    here, other = make("here"), make("other")
    first = leased(engine, here)
    assert engine.lease(other) is None
    stop, told = Stop(), list[Progress]()
    stop.on_set(lambda: None)
    threading.Timer(0.1, stop.set).start()
    assert engine.ensure(other, stop, told.append) is None
    assert told[0].stage == "waiting"
    engine.release(first)
    assert leased(engine, other).weights == other
    assert not first.is_alive()
    assert not psutil.pid_exists(pid_of(first))


@pytest.mark.parametrize(
    ("mode", "message", "hint"),
    [
        ("no-library", "needs the system library libgomp", "apt-get install libgomp1"),
        ("no-runtime", "No module named 'xllamacpp'", "Install the requirements"),
        ("unreadable", "cannot be loaded: unknown architecture", "Choose another model"),
        ("dies", "ended while loading \\(signal 9\\)", "short of memory"),
        ("sick", "answers with status 503", "make run"),
    ],
)
def test_a_failed_start_says_why_and_what_to_do(
    engine: Engine, make: Make, mode: str, message: str, hint: str
) -> None:
    with pytest.raises(LocalModelError, match=message) as caught:
        engine.ensure(make(mode), Stop())
    assert hint in caught.value.hint
    assert state(engine).startswith("failed: ")
    assert engine.ensure(make("well"), Stop()) is not None


def test_broken_weights_are_an_error_before_anything_starts(make: Make) -> None:
    def broken(weights: Weights) -> None:
        raise LocalModelError("The file was damaged.", hint="Fetch it again.")

    engine, weights = Engine(prepare=broken), make()
    with pytest.raises(LocalModelError, match="damaged"):
        engine.ensure(weights, Stop())
    assert not weights.path.exists()


def test_a_start_that_takes_for_ever_is_ended(
    engine: Engine, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "START_SECONDS", 0.2)
    with pytest.raises(LocalModelError, match="ended while loading"):
        engine.ensure(make("slow"), Stop())


def test_reading_is_told_until_words_come(engine: Engine, make: Make) -> None:
    found = leased(engine, make())
    engine.note_reading(0.6)
    assert state(engine) == "reading the prompt 60%"
    engine.note_reading(None)
    assert state(engine) == "ready"
    engine.note_reading(0.9)
    engine.release(found)
    assert state(engine) == "ready"


PARENT = """
import sys, time
from core.local import server
from core.local.catalogue import Weights
from core.local.process import Engine
from core.types import Stop
from pathlib import Path
server.SCRIPT = Path(sys.argv[1])
engine = Engine(prepare=lambda weights: None)
weights = Weights(id="well", label="", path=Path(sys.argv[2]))
engine.ensure(weights, Stop())
print("up", flush=True)
if sys.argv[3] == "stay":
    time.sleep(60)
"""


@pytest.mark.parametrize("ends", ["leave", "stay"])
def test_no_process_outlives_its_parent(tmp_path: Path, ends: str) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", PARENT, str(server.SCRIPT), str(log), ends]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "up\n"
        child = int(log.read_text())
        if ends == "stay":
            parent.kill()
        parent.wait(10)
    eventually(lambda: not psutil.pid_exists(child))


def test_the_number_of_threads_is_sane_and_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURNTREE_THREADS", raising=False)
    assert 1 <= server.thread_count() <= (os.cpu_count() or 1)
    monkeypatch.setenv("TURNTREE_THREADS", "3")
    assert server.thread_count() == 3


@pytest.mark.parametrize(
    ("given", "size"), [("", 8192), ("4096", 4096), ("many", 8192), ("7", 8192)]
)
def test_the_window_can_be_chosen(monkeypatch: pytest.MonkeyPatch, given: str, size: int) -> None:
    monkeypatch.setenv("TURNTREE_CONTEXT", given)
    assert server.context_size() == size
