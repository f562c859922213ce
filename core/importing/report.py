"""What an import finds, and what became of it."""

from dataclasses import dataclass, field

from core.types import Damaged, LeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One conversation of a file. ``number`` counts them from 0 over the whole file; ``new`` of
    its messages are not here yet, and ``session_id`` is what it became before."""

    number: int
    format: str
    label: str
    title: str
    messages: int
    branches: int
    new: int
    at: str | None = None
    session_id: str | None = None
    binned: bool = False
    left_out: tuple[LeftOut, ...] = ()
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a file holds; nothing was written. ``broke`` tells where reading had to stop,
    ``left_out`` what lies beside the conversations."""

    name: str
    found: tuple[Found, ...]
    damaged: tuple[Damaged, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    broke: str = ""


@dataclass(slots=True, kw_only=True)
class Report:
    """What became of an import. ``sessions`` are those it made or added to, in order."""

    name: str
    formats: list[str] = field(default_factory=list)
    new: int = 0
    extended: int = 0
    unchanged: int = 0
    passed_over: int = 0
    messages: int = 0
    branches: int = 0
    checked: int = 0
    sessions: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    more_repairs: int = 0
    more_damaged: int = 0
    cancelled: bool = False
    broke: str = ""
