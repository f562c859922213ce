"""What a command at a terminal is made of: files, bars, words, and Ctrl-C."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from tqdm import tqdm

from core.errors import TurntreeError, UserError
from core.types import Stop


class Interrupted(Exception):
    """A person ended it: what is half written goes."""


@contextmanager
def target(wanted: argparse.Namespace, name: str, *, several: bool = False) -> Iterator[BinaryIO]:
    """Where a file goes: it has its name once it is whole, and replaces no other unasked."""
    if wanted.out == "-":
        yield cast("BinaryIO", sys.stdout.buffer)
        return
    out = Path(wanted.out or ".")
    folder = several or out.is_dir() or wanted.out is None or str(wanted.out).endswith(os.sep)
    path = out / name if folder else out
    if path.exists() and not wanted.force:
        raise UserError(f"{path} is there already.", hint="Name another file, or add --force.")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(path)
        say(f"{path}  {path.stat().st_size:,} bytes")
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def bar(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """How far it is; the number of what is done moves it."""
    # Only on a terminal: a log has no use for a bar.
    with tqdm(total=total, desc=what, leave=False, disable=None, file=sys.stderr) as shown:

        def told(done: int) -> None:
            shown.update(done - shown.n)

        yield told


@contextmanager
def interruptible(stop: Stop) -> Iterator[None]:
    """Within, Ctrl-C and a polite kill set ``stop``: what is begun comes to a whole end."""
    signals = (signal.SIGINT, signal.SIGTERM)
    try:
        before = [signal.signal(number, lambda _number, _frame: stop.set()) for number in signals]
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def print_out(words: str) -> None:
    """What was asked for, on a line of its own; no control characters of somebody's titles."""
    print(_shown(words), flush=True)


def _shown(words: str) -> str:
    shown = "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in words)
    return shown.encode(errors="replace").decode()


def say(words: str) -> None:
    """What is said beside it; titles and names have no control characters here either."""
    print(_shown(words), file=sys.stderr, flush=True)


def tell(error: TurntreeError) -> None:
    """What went wrong, and what to do next."""
    say(f"{error.message} {error.hint}".strip())
