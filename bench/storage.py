"""What a long conversation takes on disk, and whether its turns stay as quick as its first."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.table import Line, milliseconds, ratio, show, undisturbed
from bench.words import prose
from core import Config, Runner, Store
from core.providers import adapters
from core.providers.compatible import Compatible
from core.types import Endpoint, Event, Request, Stop
from core.wire.chat_completions import Answer

TURNS = 1000
EARLY, AROUND = 10, 10  # turn 10, and as many turns before as after it
LENGTH = 400  # characters of every message


class Canned(Compatible):
    """The Chat Completions adapter without its network: real requests, real chunks, no wait."""

    def __init__(self) -> None:
        super().__init__("canned", "Canned answers")

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        words = prose(-len(request.messages), LENGTH)
        answer = Answer()
        for start in range(0, LENGTH, 40):
            delta = {"content": words[start : start + 40]}
            yield from answer.take({"model": "canned-1", "choices": [{"delta": delta}]})
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        yield from answer.take({"choices": [{"finish_reason": "stop"}], "usage": usage})
        yield from answer.end()


def run() -> None:
    """Hold a conversation of a thousand turns; weigh the file, time its turns."""
    adapters()["canned"] = Canned()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.db"
        with Store.open(path) as store, undisturbed():
            seconds = _converse(store)
        # Closing the last connection brings everything from the log into the file.
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
    text = TURNS * 2 * LENGTH
    early, late = seconds[: EARLY + AROUND], seconds[-2 * AROUND :]
    show(
        f"Storage: {TURNS} turns of {LENGTH} + {LENGTH} characters, through the runner",
        "base",
        "measured",
        [
            Line(
                what="file, with search and exact requests / text",
                base=f"{text / 1000:.0f} kB",
                measured=f"{size / 1000:.0f} kB",
                ratio=size / text,
                target=5.0,
            ),
            Line(
                what=f"a turn at {TURNS} / at {EARLY} turns",
                base=milliseconds(early),
                measured=milliseconds(late),
                ratio=ratio(late, early),
                target=1.25,
            ),
        ],
    )


def _converse(store: Store) -> list[float]:
    """Seconds from sending to settled, for every turn."""
    runner = Runner(store)
    session = store.sessions.create(config=Config(provider="canned", model="canned-1"))
    seconds = []
    for turn in range(TURNS):
        words = prose(turn, LENGTH)
        began = time.perf_counter()
        sent = runner.send(str(session.current_branch_id), words)
        runner.wait(sent.id)
        seconds.append(time.perf_counter() - began)
    runner.close()
    return seconds
