"""Files of an archive that came with the conversations and are none: what is told of them."""

from collections.abc import Iterator, Sequence

from core.errors import BadFile
from core.types import Damaged, LeftOut, Source

_MOST_NAMED = 4
_NOBODYS = ("desktop.ini", "thumbs.db")  # what file managers leave behind
_WHY = "no conversation is in them, and none names them"


def beside(source: Source, damaged: Sequence[Damaged]) -> tuple[LeftOut, ...]:
    """The files of ``source`` that nobody has opened, once its conversations were read: projects,
    settings, memories, cards of characters. Those that are told as ``damaged`` are not told
    again."""
    told = {one.place for one in damaged}
    names = [name for name, place in _unopened(source) if place not in told]
    if not names:
        return ()
    listed = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        listed += f" and {len(names) - _MOST_NAMED:,} more"
    return (LeftOut(what="other files", count=len(names), why=f"{_WHY}: {listed}"),)


def _unopened(source: Source) -> Iterator[tuple[str, str]]:
    """The name in its archive and the full name of each."""
    for path, member in _members(source).items():
        inner = _members(member)
        if inner:
            yield from _unopened(member)
        elif member.size and not member.opened and not _is_nobodys(path):
            yield member.name.rsplit(": ", 1)[-1], member.name


def _members(source: Source) -> dict[str, Source]:
    try:
        return dict(source.members)
    except BadFile:  # a damaged archive is told elsewhere
        return {}


def _is_nobodys(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.startswith(".") or name in _NOBODYS
