"""Turntree's own file: a zip archive that holds sessions whole, and reads back as they were.

``manifest.json`` names the sessions, ``sessions/<id>.jsonl`` has the rows of one, a line each,
``files/<sha256>`` the bytes of what was attached, each once. docs/native-format.md describes it.
Nothing in it tells when or where it was written: the same sessions make the same bytes. One
session's lines are read without the archive too, where no file is attached.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO

from core.errors import BadFile, UserError
from core.interchange import streams
from core.interchange.fitting import checked
from core.types import (
    CONFIG,
    PARTS,
    Carried,
    CarriedBranch,
    CarriedNode,
    Damaged,
    Include,
    Json,
    Parts,
    Record,
    Scope,
    Source,
    Stop,
    Text,
    TreeTaken,
)

VERSION = 1
_MANIFEST = "manifest.json"
_OURS = re.compile(r'"format"\s*:\s*"turntree"')
_FIRST_LINE = re.compile(r'\s*\{\s*"turntree"\s*:\s*\d')
_START = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip archive knows
_IN_MEMORY = 8 * 2**20
_PIECE = 2**20
_MOST_RATIO = 100  # half of what our own reader takes for a bomb
_MOST_OF_A_FILE = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSession:
    """A session to be packed. ``records`` yields its rows, ``files`` has at least the bytes of
    what they attach, by sha256."""

    id: str
    title: str
    records: Callable[[], Iterator[Record]]
    files: Mapping[str, bytes]


class Native:
    """Sessions, whole: every row, every attached file; never a key."""

    name = "native"
    label = "Turntree"
    scopes: frozenset[Scope] = frozenset({"tree"})
    ending = "turntree.zip"
    media_type = "application/zip"
    options: frozenset[str] = frozenset()

    # --- reading ---

    def recognise(self, source: Source) -> float:
        """Sure of an archive with our manifest, or of lines that begin as ours do."""
        if _FIRST_LINE.match(streams.decoded_head(source)):
            return 1.0
        return 1.0 if _manifest_of(source) is not None else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The sessions in the order of the manifest; a damaged one is told, the next goes on."""
        found = _manifest_of(source)
        if found is None:
            yield _whole(source, {}, None)
            return
        folder, manifest = found
        members = source.members
        files = {
            name.removeprefix(f"{folder}files/"): _bytes_of(member)
            for name, member in members.items()
            if name.startswith(f"{folder}files/")
        }
        for session_id in _sessions(manifest):
            member = members.get(f"{folder}sessions/{session_id}.jsonl")
            if member is None:
                place = f"{source.name}: sessions/{session_id[:40]}.jsonl"
                yield Damaged(place=place, why="it is not in the archive")
            else:
                yield _whole(member, files, session_id)

    # --- writing ---

    def write(self, taken: TreeTaken, include: Include) -> bytes:
        """One session as an archive. Raises ``UserError`` where its rows are not at hand."""
        if taken.records is None:
            raise UserError("There is nothing of this session to write.", hint="Reload the page.")
        stream = io.BytesIO()
        one = WholeSession(
            id=taken.session.id,
            title=taken.session.title,
            records=taken.records,
            files=taken.files,
        )
        pack(stream, [one])
        return stream.getvalue()


FORMAT = Native()


def pack(
    stream: IO[bytes],
    sessions: Sequence[WholeSession],
    progress: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> bool:
    """Write sessions as one archive, one of them in memory at a time; False when stopped: what
    is written by then is no archive.

    ``progress`` is called with how many are done.
    """
    attached: dict[str, Mapping[str, bytes]] = {}
    with zipfile.ZipFile(stream, "w") as archive:
        told = [{"id": one.id, "title": one.title} for one in sessions]
        manifest = {"format": "turntree", "version": VERSION, "sessions": told}
        _add(archive, _MANIFEST, io.BytesIO(json.dumps(manifest, ensure_ascii=False).encode()))
        for number, one in enumerate(sessions, 1):
            if stop is not None and stop.is_set():
                return False
            with SpooledTemporaryFile(_IN_MEMORY) as lines:
                for digest in _write_lines(lines, one):
                    attached.setdefault(digest, one.files)
                _add(archive, f"sessions/{one.id}.jsonl", lines)
            if progress is not None:
                progress(number)
        for digest, files in sorted(attached.items()):
            _add(archive, f"files/{digest}", io.BytesIO(files[digest]))
    return True


def _write_lines(stream: IO[bytes], one: WholeSession) -> Iterator[str]:
    """Write a session's lines; yields the files that it attaches."""
    stream.write(_line({"turntree": VERSION, "session": one.id}))
    count = 0
    for record in one.records():
        stream.write(_line({"table": record.table, "row": dict(record.row)}))
        count += 1
        if record.table == "attachments":
            yield str(record.row["sha256"])
    stream.write(_line({"end": count}))


def _line(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _add(archive: zipfile.ZipFile, name: str, content: IO[bytes]) -> None:
    """Add a member that is the same whenever it is written. What would pack so small that it
    looked like a bomb goes in as it is."""
    size, packed = 0, 0
    content.seek(0)
    packer = zlib.compressobj()
    while piece := content.read(_PIECE):
        size += len(piece)
        packed += len(packer.compress(piece))
    packed += len(packer.flush())
    info = zipfile.ZipInfo(name, _START)
    info.create_system, info.external_attr = 3, 0o644 << 16
    small = packed * _MOST_RATIO < size or packed >= size
    info.compress_type = zipfile.ZIP_STORED if small else zipfile.ZIP_DEFLATED
    info.file_size = size
    content.seek(0)
    with archive.open(info, "w") as member:
        while piece := content.read(_PIECE):
            member.write(piece)


# --- a file's parts -----------------------------------------------------------------------------


def _manifest_of(source: Source) -> tuple[str, Source] | None:
    """The folder in an archive in which all lies, with its last slash, and the manifest."""
    for name, member in source.members.items():
        folder, _, last = name.rpartition("/")
        if last == _MANIFEST and _OURS.search(streams.decoded_head(member)):
            return (f"{folder}/" if folder else ""), member
    return None


def _sessions(manifest: Source) -> list[str]:
    """The ids of the sessions. Raises ``BadFile``, also for what a newer version wrote."""
    told = streams.whole(manifest)
    version = told.get("version") if isinstance(told, dict) else None
    _refuse_newer(version, manifest)
    listed = told.get("sessions")
    ids = [one.get("id") for one in listed if isinstance(one, dict)] if _is_list(listed) else []
    found = [one for one in ids if isinstance(one, str)]
    if not found:
        raise BadFile(f"{manifest.name} names no session.", hint="Export it again.")
    return list(dict.fromkeys(found))


def _refuse_newer(version: Json, source: Source) -> None:
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise BadFile(f"{source.name} does not say of which version it is.", hint="Export again.")
    if version > VERSION:
        raise BadFile(
            f"{source.name} was written by a newer Turntree (version {version:,} of the file;"
            f" this one reads up to {VERSION}).",
            hint="Update Turntree, then import it again. Nothing was taken.",
        )


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _bytes_of(member: Source) -> Callable[[], bytes]:
    def content() -> bytes:
        if member.size > _MOST_OF_A_FILE:
            raise BadFile(
                f"{member.name} is larger than any attached file ({member.size:,} bytes).",
                hint="Nothing of its session was taken.",
            )
        stream: BinaryIO
        with member.open() as stream:
            return stream.read()

    return content


def _whole(
    source: Source, files: Mapping[str, Callable[[], bytes]], session_id: str | None
) -> Carried | Damaged:
    """One session, whole, or why it is refused. A newer version's raises ``BadFile``."""
    try:
        records = checked(_records(source, session_id))
    except _Newer as error:
        raise BadFile(error.message, hint=error.hint) from error
    except BadFile as error:
        return Damaged(place=source.name, why=error.message)
    return _carried(records, files)


class _Newer(BadFile):
    """Of a newer version: no part of it can be judged."""


def _records(source: Source, session_id: str | None) -> Iterator[Record]:
    """The rows of a session's lines. Raises ``BadFile`` where they break off."""
    count, begun, ended = 0, False, False
    for place, value in streams.json_lines(source):
        if isinstance(value, Damaged) or not isinstance(value, dict) or ended:
            why = value.why if isinstance(value, Damaged) else "not a row"
            raise BadFile(f"{place}: {why}.", hint="Export it again where it is from.")
        if not begun:
            _header(source, value, session_id)
            begun = True
        elif "end" in value:
            ended = value["end"] == count
        else:
            table, row = value.get("table"), value.get("row")
            if not isinstance(table, str) or not isinstance(row, dict) or len(value) != 2:
                raise BadFile(f"{place}: not a row.", hint="Export it again where it is from.")
            count += 1
            yield Record(table=table, row=row)
    if not ended:
        raise BadFile(
            f"{source.name} ends in the middle, after {count:,} rows.",
            hint="Export it again where it is from.",
        )


def _header(source: Source, value: Mapping[str, Json], session_id: str | None) -> None:
    try:
        _refuse_newer(value.get("turntree"), source)
    except BadFile as error:
        raise _Newer(error.message, hint=error.hint) from error
    if session_id is not None and value.get("session") != session_id:
        raise BadFile(f"{source.name} holds another session than the manifest says.")


# --- what a preview shows -----------------------------------------------------------------------


def _carried(records: tuple[Record, ...], files: Mapping[str, Callable[[], bytes]]) -> Carried:
    rows: dict[str, list[Mapping[str, Json]]] = {}
    for record in records:
        rows.setdefault(record.table, []).append(record.row)
    session = rows["sessions"][0]
    config = CONFIG.validate_json(session["config_json"])
    return Carried(
        key=session["id"],
        title=session["title"],
        nodes=_nodes(rows),
        branches=_branches(rows, session.get("current_branch_id")),
        at=session["created_at"],
        updated_at=session["updated_at"],
        system=config.system,
        objective=session["objective"],
        done_when=session["done_when"],
        model=config.model,
        provider=config.provider,
        sampling=config.sampling,
        files={
            row["sha256"]: files[row["sha256"]]
            for row in rows.get("attachments", [])
            if row["sha256"] in files
        },
        records=records,
    )


def _nodes(rows: Mapping[str, list[Mapping[str, Json]]]) -> tuple[CarriedNode, ...]:
    makers = {row["node_id"]: row for row in rows.get("imported_nodes", [])}
    makers |= {row["node_id"]: row for row in rows.get("runs", []) if row.get("node_id")}
    marks: dict[str, dict[str, str]] = {}
    for row in rows.get("marks", []):
        marks.setdefault(row["node_id"], {})[row["kind"]] = row["value"]
    return tuple(
        CarriedNode(
            key=row["id"],
            parent=row.get("parent_id"),
            role=row["role"],
            parts=_parts(row),
            at=row["created_at"],
            author=row["author"],
            model=_model(makers.get(row["id"], {})),
            provider=makers.get(row["id"], {}).get("provider", ""),
            marks=marks.get(row["id"], {}),  # type: ignore[arg-type]
        )
        for row in rows.get("nodes", [])
    )


def _model(maker: Mapping[str, Json]) -> str:
    return str(maker.get("resolved_model") or maker.get("model", ""))


def _parts(row: Mapping[str, Json]) -> Parts:
    held = row.get("parts_json")
    return (Text(text=row["text"]),) if held is None else PARTS.validate_json(held)


def _branches(
    rows: Mapping[str, list[Mapping[str, Json]]], current: str | None
) -> tuple[CarriedBranch, ...]:
    """The live branches, the one that was open first."""
    live = [
        row
        for row in rows.get("branches", [])
        if row.get("binned_at") is None and row.get("tip_id") is not None
    ]
    return tuple(
        CarriedBranch(
            name=row["name"],
            tip=row["tip_id"],
            forked_from=row.get("forked_from_node_id"),
            note=row["note"],
        )
        for row in sorted(live, key=lambda row: row["id"] != current)
    )
