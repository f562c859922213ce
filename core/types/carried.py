"""Conversations on their way in: what a format's file holds, before anything of it is stored.

``key`` is the identity that the other product gave, so that what is here already is known when
the same file comes again. Times are UTC ISO 8601 text with milliseconds, None where unknown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.types.kept import Author, Json, MarkKind, Parts, Role, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedNode:
    """One message. ``parent`` is a key, None at a root; ``model`` is who answered, as it is
    named there, with its ``provider`` where that is told."""

    key: str
    parent: str | None
    role: Role
    parts: Parts
    at: str | None = None
    author: Author = "import"
    model: str = ""
    provider: str = ""
    marks: Mapping[MarkKind, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The readable words of the message."""
        return text_of(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedBranch:
    """A name for the path that ends in the node with the key ``tip``."""

    name: str
    tip: str
    forked_from: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What does not come along, how much of it, and why: one line of a preview."""

    what: str
    count: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row of Turntree's own: only the native format carries what others have no word for."""

    table: str
    row: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """One conversation. ``nodes`` come parents first, siblings in their order; the first branch
    is the path that was open. ``files`` are the bytes of every attachment by sha256, read when
    they are asked for. ``repairs`` tell what was damaged and how it was put right."""

    key: str
    title: str
    nodes: tuple[CarriedNode, ...]
    branches: tuple[CarriedBranch, ...]
    at: str | None = None
    updated_at: str | None = None
    system: str = ""
    objective: str = ""
    done_when: str = ""
    model: str = ""
    provider: str = ""
    sampling: Mapping[str, Json] = field(default_factory=dict)
    files: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    repairs: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A conversation that could not be read: ``place`` names file and spot, ``why`` the fault."""

    place: str
    why: str
