"""Copies of everything: made by hand or by the clock, kept so many deep, looked into, restored.

A copy is made while Turntree is in use, as everything stands at one moment, and verified before
it has its name. Before one is restored, what is there is copied too.
"""

import logging
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from core.endpoints import reload
from core.errors import BadFile, NotFound, ReadOnly, TurntreeError, UserError
from core.runner import Runner
from core.store import Store
from core.store.copies import Inside, look
from core.types import now

__all__ = [
    "Backup",
    "Inside",
    "Keeping",
    "Plan",
    "choose",
    "folder_of",
    "look",
    "made",
    "make",
    "plan",
    "remove",
    "restore",
]

Why = Literal["manual", "scheduled", "before-restore"]
MOST_HOURS, MOST_KEPT = 24 * 365, 999
_NAME = "backups"  # of the preference, and of the folder
_FILE = re.compile(r"(\d{8}T\d{9}Z)\.(manual|scheduled|before-restore)(?:-\d+)?\.db")
_STAMP = "%Y%m%dT%H%M%S%f"
_LOOK_SECONDS = 60.0
_PATIENCE_SECONDS = 5.0
_RESTORING = "Stopped, because a backup was restored."
_log = logging.getLogger("turntree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Copies by the clock: every so many ``hours`` (0 never), the latest ``keep`` of them kept,
    in ``folder`` (empty: ``backups`` beside the database)."""

    hours: int = 0
    keep: int = 7
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy that was found whole when it was made. ``size`` is bytes, ``at`` UTC."""

    path: Path
    at: str
    why: Why
    size: int

    @property
    def name(self) -> str:
        """The file's name, by which it can be removed."""
        return self.path.name


def plan(store: Store) -> Plan:
    """When copies are made by themselves, and how many are kept."""
    kept = store.preferences.get(_NAME)
    known: Mapping[str, object] = kept if isinstance(kept, Mapping) else {}
    folder = known.get("folder")
    return Plan(
        hours=_within(known.get("hours"), 0, MOST_HOURS, Plan().hours),
        keep=_within(known.get("keep"), 1, MOST_KEPT, Plan().keep),
        folder=folder if isinstance(folder, str) else "",
    )


def choose(store: Store, chosen: Plan) -> None:
    """Keep copies like this from now on. Raises ``UserError`` for a folder that cannot be."""
    if not 0 <= chosen.hours <= MOST_HOURS or not 1 <= chosen.keep <= MOST_KEPT:
        raise UserError(
            f"Copies are made every 1 to {MOST_HOURS:,} hours, and 1 to {MOST_KEPT} are kept.",
            hint="Choose other numbers; 0 hours makes none.",
        )
    if chosen.folder:
        folder = Path(chosen.folder).expanduser()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"{folder} cannot be used: {error.strerror or error}.", hint="Name another folder."
            ) from error
    store.preferences.set(_NAME, asdict(chosen))


def folder_of(store: Store) -> Path:
    """Where the copies are."""
    own = plan(store).folder
    return Path(own).expanduser() if own else store.path.parent / _NAME


def make(store: Store, why: Why = "manual") -> Backup:
    """Copy everything, now, and verify the copy. Raises a ``StoreError``."""
    folder = folder_of(store)
    at = datetime.now(UTC)
    stamp = f"{at.strftime(_STAMP)[:-3]}Z"
    path, number = folder / f"{store.path.stem}.{stamp}.{why}.db", 1
    while path.exists():
        number += 1
        path = folder / f"{store.path.stem}.{stamp}.{why}-{number}.db"
    store.copies.write(path)
    found = _backup(path)
    assert found is not None
    return found


def made(store: Store) -> list[Backup]:
    """The copies that there are of this database, the latest first."""
    try:
        paths = list(folder_of(store).glob("*.db"))
    except OSError:
        return []
    own = [path for path in paths if path.name.startswith(f"{store.path.stem}.")]
    found = [one for path in own if (one := _backup(path)) is not None]
    return sorted(found, key=lambda one: (one.at, one.name), reverse=True)


def remove(store: Store, name: str) -> None:
    """Delete one copy for good. Raises ``NotFound``, or a ``StoreError``."""
    for one in made(store):
        if one.name == name:
            try:
                one.path.unlink()
            except OSError as error:
                raise ReadOnly(f"{name} cannot be deleted.") from error
            return
    raise NotFound("There is no such copy.", hint="Reload the page.")


def restore(runner: Runner, path: Path) -> Backup:
    """Put the content of a copy in place of all that is here; returns the copy that was made of
    what was here before.

    Answers on their way are stopped first, and their words kept in that copy. When copies are
    made stays as it was chosen. Raises ``BadFile`` for a file that cannot be restored, or a
    ``StoreError``: then nothing has changed.
    """
    store = runner.store
    if path.exists() and path.samefile(store.path):
        raise BadFile("That is the database that is open.", hint="Choose a copy of it.")
    inside = look(path)
    if inside.trouble:
        raise BadFile(inside.trouble, hint=inside.hint)
    chosen = plan(store)
    _quieten(runner)
    before = make(store, "before-restore")
    store.copies.bring_back(path)
    store.nodes.forget()
    store.preferences.set(_NAME, asdict(chosen))
    reload(store)
    runner.sweep()
    store.branches.hold_forgotten()
    for session in store.sessions.recent(1000):
        runner.announce(session["id"])
    return before


class Keeping:
    """Makes copies by the clock, in a thread of its own, and removes those beyond the number
    kept. Copies made by hand, or before a restore, are never removed."""

    def __init__(self, store: Store) -> None:
        self.trouble = ""
        """Why the latest copy could not be made; empty if it could."""
        self._store = store
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="turntree-backups", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; a copy that is being made is made to its end."""
        self._ended.set()
        self._thread.join(30)

    def look(self) -> Backup | None:
        """Make a copy if it is time. Never raises."""
        try:
            chosen = plan(self._store)
            if not _due(chosen, made(self._store)):
                return None
            found = make(self._store, "scheduled")
            self.trouble = ""
            scheduled = [one for one in made(self._store) if one.why == "scheduled"]
            for old in scheduled[chosen.keep :]:
                old.path.unlink(missing_ok=True)
        except TurntreeError as error:
            self.trouble = f"{error.message} {error.hint}".strip()
            _log.warning("a scheduled copy could not be made: %s", self.trouble)
        except OSError as error:
            self.trouble = f"An old copy could not be removed: {error.strerror or error}."
            _log.warning("%s", self.trouble)
        else:
            return found
        return None

    def _keep(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            try:
                self.look()
            except Exception:  # noqa: BLE001 - the next look may do better
                _log.exception("scheduled copies could not be looked after")


def _due(chosen: Plan, standing: list[Backup]) -> bool:
    if not chosen.hours:
        return False
    last = next((one.at for one in standing if one.why == "scheduled"), None)
    moment = datetime.fromisoformat(now())
    if last is None:
        return True
    since = moment - datetime.fromisoformat(last)
    # A clock that was set back must not end all copies.
    return since >= timedelta(hours=chosen.hours) or since < timedelta(0)


def _backup(path: Path) -> Backup | None:
    found = _FILE.search(path.name)
    if found is None:
        return None
    try:
        moment = datetime.strptime(found[1][:-1], _STAMP).replace(tzinfo=UTC)
        size = path.stat().st_size
    except (OSError, ValueError):
        return None
    at = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Backup(path=path, at=at, why=found[2], size=size)  # type: ignore[arg-type]


def _quieten(runner: Runner) -> None:
    """Let nothing new begin, and end what is on its way; its words are kept."""
    for job in runner.store.jobs.running():
        runner.store.jobs.set_state(job.id, "paused", _RESTORING)
    lives = runner.lives()
    for live in lives:
        live.stop.set()
    until = time.monotonic() + _PATIENCE_SECONDS
    for live in lives:
        live.done.wait(max(0.0, until - time.monotonic()))


def _within(value: object, least: int, most: int, otherwise: int) -> int:
    return value if isinstance(value, int) and least <= value <= most else otherwise
