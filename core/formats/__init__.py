"""Kinds of files we read and write, one a file. This folder is scanned: no list names them.

To add a format, add a module here whose ``FORMAT`` fulfils :class:`core.types.Reader`,
:class:`core.types.Writer`, or both. Pure: a source in, conversations out; values in, bytes out.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from core.errors import BadFile, NotFound
from core.interchange.source import SeveralFiles
from core.types import Damaged, Reader, Scope, Source, Writer

_SURE, _VERY_SURE = 0.5, 0.9
_LIST = "See: python -m core.formats list --formats"


@cache
def formats() -> Mapping[str, Any]:
    """Every format by name; each is a reader, a writer or both."""
    found = (
        importlib.import_module(f"{__name__}.{module.name}")
        for module in pkgutil.iter_modules(__path__)
        if not module.name.startswith("_")
    )
    named = (module.FORMAT for module in found if hasattr(module, "FORMAT"))
    return MappingProxyType({one.name: one for one in named})


def readers() -> list[Reader]:
    """The formats that can be imported."""
    return [one for one in formats().values() if isinstance(one, Reader)]


def writers(scope: Scope) -> list[Writer]:
    """The formats that a subject of this scope can be written in."""
    return [one for one in formats().values() if isinstance(one, Writer) and scope in one.scopes]


def writer(name: str) -> Writer:
    """The format called ``name``, to write. Raises :class:`NotFound`."""
    found = formats().get(name)
    if not isinstance(found, Writer):
        raise NotFound(f"No format that can be written is called {name!r}.", hint=_LIST)
    return found


def reader(name: str) -> Reader:
    """The format called ``name``, to read. Raises :class:`NotFound`."""
    found = formats().get(name)
    if not isinstance(found, Reader):
        raise NotFound(f"No format that can be read is called {name!r}.", hint=_LIST)
    return found


def recognised(source: Source) -> tuple[Reader, float] | None:
    """The format that is surest of a source, and how sure; None where none is sure enough."""
    if not source.size:
        return None
    sure = [(one.recognise(source), one) for one in readers()]
    best, found = max(sure, key=lambda pair: pair[0])
    return (found, best) if best >= _SURE else None


def found_in(source: Source) -> Iterator[tuple[Reader, Source] | Damaged]:
    """The formats and sources in a file: the file itself, or the members of an archive that no
    format takes as a whole, a damaged member told. Raises :class:`BadFile` where there is nothing
    to import."""
    if isinstance(source, SeveralFiles) and not _one_export(source):
        yield from _each_by_itself(source)
        return
    if known := recognised(source):
        yield known[0], source
        yield from _others(source, known[0])
        return
    anything = False
    for member in source.members.values():
        try:
            known = recognised(member)
        except BadFile as error:
            yield Damaged(place=member.name, why=error.message)
            continue
        if known:
            anything = True
            yield known[0], member
    if not anything:
        raise unknown(source)


def _others(source: Source, taker: Reader) -> Iterator[tuple[Reader, Source]]:
    """What another format surely knows in an archive that one took: exports of two products in
    one archive. What is damaged there, the taker tells."""
    for path, member in source.members.items():
        if not path.lower().endswith((".json", ".jsonl")):
            continue
        try:
            known = recognised(member)
        except BadFile:
            continue
        if known and known[0] is not taker and known[1] >= _VERY_SURE:
            yield known[0], member


def _one_export(source: SeveralFiles) -> bool:
    """Whether files that were dropped together are the parts of one unpacked export."""
    files = source.members.values()
    try:
        if any(file.members for file in files):
            return False
        return len({known[0].name for file in files if (known := recognised(file))}) == 1
    except BadFile:
        return False


def _each_by_itself(source: SeveralFiles) -> Iterator[tuple[Reader, Source] | Damaged]:
    for file in source.members.values():
        try:
            yield from found_in(file)
        except BadFile as error:
            yield Damaged(place=file.name, why=error.message)


def unknown(source: Source) -> BadFile:
    """That a file is of no kind we know, and which kinds there are."""
    if not source.size:
        return BadFile(f"{source.name} is empty.", hint="Choose another file.")
    kinds = ", ".join(one.label for one in readers())
    return BadFile(
        f"{source.name} is of no kind that can be imported.", hint=f"These can be: {kinds}."
    )
