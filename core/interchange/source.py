"""Files and archives as sources: bytes in streams, with bounds against bombs and tricks."""

import io
import stat
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from core.errors import BadFile
from core.types import Source, well_formed

HEAD = 65_536
MOST_MEMBERS = 50_000
MOST_UNPACKED = 8 * 2**30
"""Bytes that an archive may come to; real ones are below 1 GB."""
MOST_RATIO = 200
"""How many times its packed size a member may be, once it is over :data:`_SMALL`. Text packs
about 4 to 20 times, a bomb a thousand times."""
_SMALL = 10 * 2**20
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_BROKEN = (  # what unpacking raises; each becomes a BadFile that names archive and member
    zipfile.BadZipFile,
    zlib.error,
    EOFError,  # the member is cut off
    NotImplementedError,  # it is packed in a way that zipfile does not know
    RuntimeError,  # it is encrypted
    OSError,
)


class FileSource:
    """A file on disk."""

    opened = False

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        self.name = shown(name or path.name)
        try:
            self.size = path.stat().st_size
            if not path.is_file():
                raise BadFile(f"{self.name} is not a file.", hint="Choose a file or a zip archive.")
        except OSError as error:
            raise _unreadable(self.name, error) from error

    def open(self) -> BinaryIO:
        """The bytes from the start. Raises ``BadFile``."""
        self.opened = True
        return self._stream()

    def _stream(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise _unreadable(self.name, error) from error

    def head(self) -> bytes:
        """The first 64 KiB. Raises ``BadFile``."""
        return self._head

    @property
    def members(self) -> Mapping[str, Source]:
        """The files in it, if it is a zip archive. Raises ``BadFile`` for a damaged one."""
        return self._members

    @cached_property
    def _head(self) -> bytes:
        with self._stream() as stream:
            return stream.read(HEAD)

    @cached_property
    def _members(self) -> Mapping[str, Source]:
        if not self._head.startswith(_ZIP):
            return MappingProxyType({})
        return _members(self, self.path)


class BytesSource:
    """Bytes that are at hand: pasted text, and what tests make."""

    opened = False

    def __init__(self, name: str, content: bytes) -> None:
        self.name = shown(name)
        self.size = len(content)
        self._content = content

    def open(self) -> BinaryIO:
        """The bytes from the start."""
        self.opened = True
        return io.BytesIO(self._content)

    def head(self) -> bytes:
        """The first 64 KiB."""
        return self._content[:HEAD]

    @cached_property
    def members(self) -> Mapping[str, Source]:
        """The files in it, if it is a zip archive. Raises ``BadFile`` for a damaged one."""
        if not self._content.startswith(_ZIP):
            return MappingProxyType({})
        return _members(self, io.BytesIO(self._content))


class SeveralFiles:
    """Files that were dropped together, as if they lay in one archive."""

    opened = False

    def __init__(self, files: Sequence[Source]) -> None:
        self.name = f"What you dropped ({len(files)} files)"
        self.size = sum(file.size for file in files)
        found: dict[str, Source] = {}
        for file in files:
            name = file.name
            while name in found:  # two folders may hold files of one name
                name = f"another/{name}"
            found[name] = file
        self.members: Mapping[str, Source] = MappingProxyType(found)

    def open(self) -> BinaryIO:
        """Nothing: it is its members alone that have content."""
        return io.BytesIO()

    def head(self) -> bytes:
        """Nothing."""
        return b""


class MemberSource:
    """A file in a zip archive. It is never written to a disk, so its path can do no harm."""

    members: Mapping[str, Source] = MappingProxyType({})
    opened = False

    def __init__(self, archive: Source, info: zipfile.ZipInfo, opened: zipfile.ZipFile) -> None:
        self.name = f"{archive.name}: {shown(info.filename)}"
        self.size = info.file_size
        self._info, self._archive = info, opened

    def open(self) -> BinaryIO:
        """The unpacked bytes from the start. Raises ``BadFile``."""
        self.opened = True
        return self.stream()

    def stream(self) -> BinaryIO:
        """The same for a look, of which nobody is told. Raises ``BadFile``."""
        try:
            packed = self._archive.open(self._info)
            return cast("BinaryIO", io.BufferedReader(_Guarded(packed, self)))
        except _BROKEN as error:
            raise self.damaged(error) from error

    def head(self) -> bytes:
        """The first 64 KiB. Raises ``BadFile``."""
        return _head_of(self)

    def damaged(self, error: Exception) -> BadFile:
        """Why it cannot be unpacked."""
        if "password" in str(error) or "encrypted" in str(error):
            return BadFile(f"{self.name} is encrypted.", hint="Unpack it yourself and drop that.")
        return BadFile(
            f"{self.name} cannot be unpacked: {error}.", hint="Download the archive once more."
        )


class _Guarded(io.RawIOBase):
    """Unpacks no more than the archive said there is, whatever is in it."""

    def __init__(self, stream: Any, source: MemberSource) -> None:
        self._stream, self._source, self._left = stream, source, source.size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            found = self._stream.read(len(buffer))
        except _BROKEN as error:
            raise self._source.damaged(error) from error
        self._left -= len(found)
        if self._left < 0:
            raise BadFile(
                f"{self._source.name} is larger than its archive says: it may be a trap.",
                hint="Import it only if you know where it is from, unpacked.",
            )
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _members(archive: Source, where: Path | BinaryIO) -> Mapping[str, Source]:
    """The archive stays open for as long as one of its members is held."""
    try:
        opened = zipfile.ZipFile(where)
        infos = [info for info in opened.infolist() if not info.is_dir()]
    except (*_BROKEN, ValueError, UnicodeError) as error:
        raise BadFile(
            f"{archive.name} is a damaged zip archive: {error}.",
            hint="Download it once more, or unpack it and drop what is inside.",
        ) from error
    if len(infos) > MOST_MEMBERS or sum(info.file_size for info in infos) > MOST_UNPACKED:
        raise BadFile(
            f"{archive.name} unpacks to more than any export ({len(infos):,} files).",
            hint="Unpack it and drop the files you want.",
        )
    found: dict[str, Source] = {}
    for info in infos:
        bomb = info.file_size > max(_SMALL, MOST_RATIO * max(info.compress_size, 1))
        if bomb:
            raise BadFile(
                f"{archive.name}: {shown(info.filename)} unpacks to {info.file_size:,} bytes from"
                f" {info.compress_size:,}: that is a trap, not an export.",
                hint="Nothing of it was read.",
            )
        if stat.S_ISLNK(info.external_attr >> 16) or "__MACOSX" in info.filename:
            continue
        found.setdefault(_inner(info.filename), MemberSource(archive, info, opened))
    return MappingProxyType(found)


@lru_cache(maxsize=16)  # every format looks at the same one; an archive may have thousands
def _head_of(source: MemberSource) -> bytes:
    with source.stream() as stream:
        return stream.read(HEAD)


def _inner(path: str) -> str:
    """A member's path without tricks; it only serves to find a member in its archive."""
    steps = PurePosixPath(path.replace("\\", "/")).parts
    return "/".join(step for step in steps if step not in ("/", "..", "."))


def shown(name: str) -> str:
    """A file's name as a message may show it: one line, no control characters, not too long."""
    clean = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    clean = well_formed(clean).strip() or "The file"
    return clean if len(clean) <= 120 else f"{clean[:80]}…{clean[-36:]}"


def _unreadable(name: str, error: OSError) -> BadFile:
    return BadFile(
        f"{name} cannot be read: {error.strerror or error}.",
        hint="Check that the file is there and that you may read it.",
    )
