"""What lanes cost beside one another, and whether a page stays quick while a matrix is played.

Lanes on the four protocols are asked through the runner, on a loopback server of its own
process: each alone first, then all at once. A matrix of 200 cells is played by the scripted
provider as fast as it goes, and at the pace of a model; meanwhile a second thread reads what the
page reads, over and over.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from unittest.mock import patch

from bench.adapters import four
from bench.server import CHUNKS, PACE
from bench.table import Line, milliseconds, ratio, undisturbed
from bench.table import show as show_table
from bench.turn import TARGET, serving
from bench.words import prose
from core import Config, Runner, Store, show
from core.columns import columns
from core.jobs import Player
from core.lanes import Wish, fan_out
from core.replay import Pace, matrix
from core.types import Comparison, Job
from core.view import entries

CELLS = 200
AT_ONCE = 8
OFTEN = 0.1  # seconds between two looks of the page
LIVELY, PATIENT = 0.1, 0.5  # seconds: what all that a page reads may take, usually and at worst
_ROUNDS = 3
_LENGTH = 400  # characters of every message
_ECHO = Config(provider="echo", model="echo-1")


def run() -> None:
    """Lanes against the slowest of them, then a matrix and the page beside it."""
    with (
        patch.dict(os.environ, {"TURNTREE_ECHO": "1"}),
        serving() as url,
        undisturbed(),
        four(url) as (runner, names),
    ):
        title = f"Lanes: {CHUNKS} chunks, {PACE * 1000:.0f} ms before each, four protocols"
        show_table(title, "slowest alone", "all at once", _lanes(runner, names))
        player = Player(runner)
        for pace, prompt in _PROMPTS.items():
            lines, speed = _matrix(runner, player, prompt)
            title = f"Page: reading beside a matrix of {CELLS} cells, {AT_ONCE} at once, {pace}"
            show_table(title, "may take", "takes", lines)
            print(f"  {speed}", flush=True)
        player.close()


_PROMPTS: Mapping[str, str] = {
    "unpaced": "{{n}}",
    "20 ms before each of 15 words": "/delay 20\n{{n}}",
}


# --- lanes ----------------------------------------------------------------------------------------


def _lanes(runner: Runner, names: list[str]) -> list[Line]:
    groups = [*([name] for name in names), names, names * 2]
    for group in groups:
        _seconds(runner, group)  # one that does not count: SDKs are loaded, clients made
    timings: list[list[float]] = [[] for _ in groups]
    for _ in range(_ROUNDS):  # in turn, so that what else the machine does meets all alike
        for found, group in zip(timings, groups, strict=True):
            found.append(_seconds(runner, group))
    *each, some, many = timings
    alone = max(each, key=median)
    return [
        Line(
            what=f"{len(group)} lanes of one prompt",
            base=milliseconds(alone),
            measured=milliseconds(together),
            ratio=ratio(together, alone),
            target=TARGET,
        )
        for group, together in zip(groups[-2:], (some, many), strict=True)
    ]


def _seconds(runner: Runner, names: list[str]) -> float:
    """From the person's click to the last word of the last lane, all written down."""
    store = runner.store
    configs = [
        Config(provider=name, model="paced", sampling={"max_tokens": 1000}) for name in names
    ]
    session = store.sessions.create(config=configs[0])
    wishes = [Wish(config=config) for config in configs]
    began = time.perf_counter()
    fan = fan_out(
        runner, str(session.current_branch_id), None, prose(0, _LENGTH), wishes, warm=False
    )
    for live in runner.live_in(session.id):
        live.done.wait()
    seconds = time.perf_counter() - began
    for lane in fan.lanes:
        answer = runner.store.runs.last_from(str(fan.comparison.at_id), lane.branch_id)
        assert answer is not None
        assert answer.finish_reason == "stop", answer.failure
    return seconds


# --- a matrix, and the page beside it -------------------------------------------------------------


@dataclass(slots=True)
class _Page:
    """What the page reads while a job is played, and how long each took."""

    store: Store
    comparison: Comparison
    job: Job
    seconds: dict[str, list[float]] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Read all of it once."""
        store, job = self.store, self.job
        reads: dict[str, Callable[[], object]] = {
            "how many steps are in each state": lambda: store.jobs.counts(job.id),
            "every step of the job": lambda: store.jobs.steps(job.id),
            "the comparison with its lanes": lambda: columns(store, self.comparison),
            "the conversation as it is shown": self._conversation,
        }
        together = 0.0
        for name, read in reads.items():
            began = time.perf_counter()
            read()
            took = time.perf_counter() - began
            together += took
            self.seconds.setdefault(name, []).append(took)
        self.seconds.setdefault("all of it", []).append(together)

    def _conversation(self) -> object:
        return entries(self.store, show(self.store, self.job.session_id))

    def keep_looking(self) -> None:
        while not self.over.wait(OFTEN):
            self.look()


@contextmanager
def _looking(page: _Page) -> Iterator[None]:
    thread = threading.Thread(target=page.keep_looking)
    thread.start()
    try:
        yield
    finally:
        page.over.set()
        thread.join()


def _matrix(runner: Runner, player: Player, prompt: str) -> tuple[list[Line], str]:
    """What the page's reading takes while a matrix is played, and how fast that was."""
    store = runner.store
    session = store.sessions.create(config=_ECHO)
    main = str(session.current_branch_id)
    fan = fan_out(runner, main, None, prose(0, _LENGTH), [Wish(config=_ECHO, samples=4)])
    words = [" ".join(prose(n, _LENGTH).split()[:15]) for n in range(CELLS)]
    pace = Pace(concurrency=AT_ONCE)
    job = matrix(store, main, None, [prompt], {"n": words}, [_ECHO], pace=pace)
    page = _Page(store, fan.comparison, job)

    with _looking(page):
        began = time.perf_counter()
        player.start(job.id)
        while store.jobs.get(job.id).state == "running":
            time.sleep(0.02)
        seconds = time.perf_counter() - began
    assert store.jobs.counts(job.id) == {"done": CELLS}
    speed = f"{CELLS / seconds:.0f} cells a second; {len(page.seconds['all of it'])} looks"
    return [line for name, found in page.seconds.items() for line in _takes(name, found)], speed


def _takes(name: str, seconds: list[float]) -> list[Line]:
    ends = (("median", median(seconds), LIVELY), ("worst", max(seconds), PATIENT))
    return [
        Line(
            what=f"{name}: {what}",
            base=milliseconds([most]),
            measured=milliseconds([took]),
            ratio=took / most,
            target=1.0,
        )
        for what, took, most in ends
    ]
