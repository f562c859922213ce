"""``python -m core.local fetch [default|tiny]``: have the embedded model's weights here.

Ends with 0 even if nothing could be fetched: the app runs without them, with a key or a
local server. Only a person's Ctrl-C ends it otherwise.
"""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

from core.errors import LocalModelError, TurntreeError
from core.local import catalogue, weights
from core.local.catalogue import Entry
from core.types import Stop

INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m core.local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    fetch = commands.add_parser("fetch", help="fetch a model into the cache folder")
    fetch.add_argument("model", nargs="?", help="default, tiny, or the path of a GGUF file")
    chosen = parser.parse_args(arguments).model
    try:
        return _fetch(catalogue.chosen(chosen))
    except TurntreeError as error:
        _say(f"{error.message}\n{error.hint}")
        _say("Turntree runs without it too: choose a provider and set its key in Settings.")
        return 0


def _fetch(choice: Entry | Path) -> int:
    if isinstance(choice, Path):
        names = ", ".join(found.label for found in catalogue.own_weights(choice))
        _say(f"The embedded model: {names}, from {choice}.")
        return 0
    stop = Stop()
    try:
        with _interruptible(stop):
            got = _fetch_visibly(choice, stop)
    except LocalModelError:
        if stop.is_set():
            _say("Stopped. What has arrived is kept; the next time goes on from there.")
            return INTERRUPTED
        raise
    instead = "" if got is choice else f"{choice.label} could not be fetched. Instead: "
    _say(f"{instead}{got.label} is ready.")
    return 0


@contextmanager
def _interruptible(stop: Stop) -> Iterator[None]:
    """Within, Ctrl-C and a polite kill set ``stop``, so that children end and locks go."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda _number, _frame: stop.set()) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _fetch_visibly(choice: Entry, stop: Stop) -> Entry:
    if not weights.is_present(choice):
        _say(f"{choice.label}: {choice.download / 1e6:.0f} MB, fetched once.")
    layout = "{desc}: {percentage:3.0f}% {bar} {elapsed}"
    # Only on a terminal: a log has no use for a bar.
    with tqdm(total=1.0, bar_format=layout, leave=False, disable=None) as bar:

        def told(share: float | None, words: str) -> None:
            bar.set_description_str(words, refresh=False)
            bar.n = bar.n if share is None else share
            bar.refresh()

        return weights.fetch_best(choice, told, stop)


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
