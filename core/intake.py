"""A file on its way in: kept aside, looked at, chosen from, imported, in a thread of its own.

One at a time for the whole process, so that neither a rerun of a page nor a reload nor a closed
tab loses it. Nothing is written to the database before a person says so.
"""

import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from core.errors import BadFile, TurntreeError, UserError
from core.formats import recognised, unknown
from core.importing import Preview, Report, preview, take
from core.interchange.source import BytesSource, FileSource, SeveralFiles, shown
from core.store import Store
from core.types import Config, Source, Stop, new_id

State = Literal["looking", "looked", "importing", "done", "refused"]
_WAIT = 10.0  # seconds for a thread to end with the process
_log = logging.getLogger("turntree")


@dataclass(slots=True, kw_only=True)
class Arrival:
    """What was dropped or pasted, and how far it has come.

    ``conversations`` and ``messages`` count what was read or written so far, ``wanted`` the
    conversations to write. ``chosen`` are numbers of conversations of the ``preview``.
    """

    id: str
    name: str
    state: State = "looking"
    conversations: int = 0
    messages: int = 0
    wanted: int = 0
    preview: Preview | None = None
    chosen: set[int] = field(default_factory=set)
    report: Report | None = None
    trouble: TurntreeError | None = None
    stop: Stop = field(default_factory=Stop)

    @property
    def busy(self) -> bool:
        """Whether a thread works on it."""
        return self.state in ("looking", "importing")


class Intake:
    """What comes in through the pages of one process. ``told`` hears of a session that changed."""

    def __init__(self, store: Store, told: Callable[[str], None] = lambda _: None) -> None:
        self._store, self._told = store, told
        self._lock = threading.RLock()
        self._current: Arrival | None = None
        self._source: Source | None = None
        self._folder: Path | None = None
        self._thread: threading.Thread | None = None

    @property
    def current(self) -> Arrival | None:
        """What is at hand, if anything."""
        return self._current

    def drop(self, files: Sequence[tuple[str, BinaryIO]]) -> Arrival:
        """Keep files by name and content aside, and look into them. Several count as one archive.

        Raises ``UserError`` while an import runs, ``BadFile`` where they cannot be kept.
        """
        if not files:
            raise BadFile("There is no file.", hint="Choose one or drop one.")
        with self._lock:
            self.dismiss()
            folder = Path(tempfile.mkdtemp(prefix="turntree-import-"))
            self._folder = folder
            try:
                kept = [_keep(folder / str(n), *file) for n, file in enumerate(files)]
            except BadFile:
                self._forget()
                raise
            return self._look(kept[0] if len(kept) == 1 else SeveralFiles(kept))

    def paste(self, text: str) -> Arrival:
        """Look into text that was pasted. Raises ``UserError`` while an import runs."""
        with self._lock:
            self.dismiss()
            return self._look(BytesSource("Pasted text", text.encode("utf-8", "surrogatepass")))

    def choose(self, numbers: Iterable[int], *, on: bool) -> None:
        """Take these conversations, or leave them out."""
        with self._lock:
            if self._current is not None and self._current.preview is not None:
                known = {one.number for one in self._current.preview.found}
                numbers = known & set(numbers)
                chosen = self._current.chosen
                self._current.chosen = chosen | numbers if on else chosen - numbers

    def take(self, config: Config) -> None:
        """Import what is chosen; ``config`` is what the next answers there are asked with."""
        with self._lock:
            one = self._current
            if one is None or one.state != "looked" or not one.chosen:
                return
            one.state, one.stop = "importing", Stop()
            one.conversations = one.messages = 0
            one.wanted = len(one.chosen)
            self._start(lambda: self._import(one, config))

    def cancel(self) -> None:
        """Stop looking, and forget the file; or stop importing, and keep what is in."""
        with self._lock:
            one = self._current
            if one is not None and one.state == "importing":
                one.stop.set()
            else:
                self.dismiss()

    def dismiss(self) -> None:
        """Forget what is at hand. Raises ``UserError`` while it is being imported."""
        with self._lock:
            one = self._current
            if one is not None and one.state == "importing":
                raise UserError(
                    f"{one.name} is being imported.", hint="Wait until it is in, or cancel it."
                )
            if one is not None:
                one.stop.set()
            self._current = self._source = None
            self._forget()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until no thread works, ``seconds`` at most."""
        if self._thread is not None:
            self._thread.join(seconds)

    def close(self) -> None:
        """Stop; a conversation that is being written is finished first."""
        if self._current is not None:
            self._current.stop.set()
        self.wait(_WAIT)
        self._forget()

    # --- inside ---

    def _look(self, source: Source) -> Arrival:
        one = self._current = Arrival(id=new_id(), name=source.name)
        self._source = source
        self._start(lambda: self._preview(one, source))
        return one

    def _start(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work, name="turntree-import", daemon=True)
        self._thread.start()

    def _preview(self, one: Arrival, source: Source) -> None:
        def looked() -> None:
            found = preview(self._store, source, _counting(one), one.stop)
            if not found.found and not found.damaged:
                raise _nothing(source)
            one.preview = found
            one.chosen = {each.number for each in found.found if each.new or not each.session_id}
            one.state = "looked"

        self._tried(one, looked)

    def _import(self, one: Arrival, config: Config) -> None:
        source = self._source
        assert source is not None
        numbers = frozenset(one.chosen)

        def written() -> None:
            one.report = take(
                self._store,
                source,
                config=config,
                chosen=numbers,
                progress=_counting(one),
                stop=one.stop,
            )
            if one.report.sessions:
                self._told(one.report.sessions[0])
            one.state = "done"

        self._tried(one, written)
        with self._lock:
            if self._current is one:
                self._source = None
                self._forget()

    def _tried(self, one: Arrival, work: Callable[[], None]) -> None:
        """Do it; whatever goes wrong is said on the page. A thread has nobody else to tell."""
        try:
            work()
        except TurntreeError as error:
            one.trouble = error
        except Exception as error:  # noqa: BLE001 - the page is told, the log has it all
            _log.exception("an import broke off")
            one.trouble = BadFile(
                f"{one.name} could not be read: something in it was not foreseen"
                f" ({type(error).__name__}).",
                hint="Conversations that are in are whole. Please report this.",
            )
        if one.trouble is not None:
            one.state = "refused"

    def _forget(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _keep(path: Path, name: str, content: BinaryIO) -> FileSource:
    """A copy on disk: what is looked at must not stay in memory."""
    try:
        with path.open("wb") as kept:
            shutil.copyfileobj(content, kept, 2**20)
    except OSError as error:
        raise BadFile(
            f"{shown(name)} could not be put aside to be looked at: {error.strerror or error}.",
            hint="Free some space on the disk, then drop it again.",
        ) from error
    return FileSource(path, name)


def _counting(one: Arrival) -> Callable[[int, int], None]:
    def count(conversations: int, messages: int) -> None:
        one.conversations, one.messages = conversations, messages

    return count


def _nothing(source: Source) -> BadFile:
    kind = recognised(source)
    if kind is None:
        return unknown(source)
    return BadFile(
        f"{source.name} is a file of {kind[0].label}, but there is no conversation in it.",
        hint="Make the export again, or choose another file.",
    )
