"""The protocols of a format: what reads a file, and what writes one."""

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Protocol, runtime_checkable

from core.types.carried import Carried, Damaged
from core.types.taken import Include, Scope


class Source(Protocol):
    """A file to read, or a member of an archive. Nothing of its name is believed."""

    name: str
    """What a message calls it: the file's name, of a member ``archive.zip: folder/name``."""
    size: int
    """Bytes, unpacked."""
    opened: bool
    """Whether somebody has asked for its content, beyond the first bytes."""

    def open(self) -> BinaryIO:
        """The bytes from the start, as a stream of its own. Raises ``BadFile``."""
        ...

    def head(self) -> bytes:
        """The first 64 KiB, read once. Raises ``BadFile``."""
        ...

    @property
    def members(self) -> Mapping[str, "Source"]:
        """The files in it by their path, if it is a zip archive; else nothing."""
        ...


@runtime_checkable
class Reader(Protocol):
    """A kind of file that can be imported."""

    name: str
    label: str

    def recognise(self, source: Source) -> float:
        """How sure it is, 0 to 1, that this is one of its files; judged by content alone."""
        ...

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversations, one after another, in memory one at a time.

        Raises ``BadFile`` where nothing more can be read, naming file and place.
        """
        ...


@runtime_checkable
class Writer(Protocol):
    """A kind of file that can be exported. ``scopes`` are what it can be made of."""

    name: str
    label: str
    scopes: frozenset[Scope]
    ending: str
    """Of the file's name, without the dot."""
    media_type: str
    options: frozenset[str]
    """The fields of :class:`core.types.Include` that change what it writes."""

    def write(self, taken: Any, include: Include) -> bytes:
        """The file; ``taken`` is a subject of one of its scopes. Raises ``UserError`` where
        there is nothing to write (an answer without tables, say)."""
        ...
