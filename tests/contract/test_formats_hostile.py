"""Whatever is dropped: a clear message that names file and place, or a repaired import that
lists its repairs. Never a crash, never half a conversation, never a hang."""

import io
import tracemalloc
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pytest

from core import Store
from core.errors import BadFile
from core.importing import Report, preview, take
from core.interchange import streams
from core.interchange.source import BytesSource
from core.types import Source
from tests.conftest import ECHO
from tests.contract.hostile import GOOD, HOSTILE, dumped, gpt


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "sessions.db") as store:
        yield store


def test_there_are_at_least_eighty_of_them() -> None:
    assert len(HOSTILE) >= 80


def ending(report: Report) -> set[str]:
    found = {"damaged"} if report.damaged or report.broke else set()
    found |= {"repaired"} if report.repairs else set()
    return found or {"read"}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_well(name: str, store: Store) -> None:
    hostile = HOSTILE[name]
    ends = {hostile.ends} if isinstance(hostile.ends, str) else set(hostile.ends)
    source = BytesSource(hostile.file, hostile.make())
    report, refused = attempt(store, source)
    if refused is not None:
        assert "refused" in ends, refused.message
        assert hostile.file in refused.message
        assert hostile.told in refused.message
        assert refused.hint
        assert tables(store) == (0, 0, 0)
        return
    assert ending(report) & ends, report
    told = [*report.repairs, report.broke, *(f"{one.place}: {one.why}" for one in report.damaged)]
    assert hostile.told in " | ".join(told)
    assert all(hostile.file in one.place for one in report.damaged)
    whole(store, report)
    again = take(store, source, config=ECHO)
    assert (again.new, again.messages) == (0, 0)


def attempt(store: Store, source: BytesSource) -> tuple[Report, BadFile | None]:
    """Look and take, as a person does."""
    try:
        seen = preview(store, source)
        report = take(store, source, config=ECHO)
    except BadFile as error:
        return Report(name=source.name), error
    assert report.messages == sum(one.messages for one in seen.found)
    return report, None


def whole(store: Store, report: Report) -> None:
    """Nothing half: every session reads to its tips, and the database is sound."""
    for session_id in report.sessions:
        for branch in store.branches.of(session_id):
            store.nodes.lineage(branch.tip_id)
    with store._db.read() as db:
        assert db.conn.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.conn.execute("PRAGMA quick_check").fetchone()[0] == "ok"
    assert tables(store)[1] == report.messages


def tables(store: Store) -> tuple[int, ...]:
    with store._db.read() as db:
        return tuple(
            db.conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("sessions", "nodes", "attachments")
        )


# --- what is too large to be a file here ---


class Endless:
    """A source that makes its bytes as they are read: the size of a disk, none of its room."""

    members: Mapping[str, Source] = {}

    def __init__(self, name: str, start: bytes, filling: bytes, size: int) -> None:
        self.name, self.size = name, size
        self._start, self._filling = start, filling
        self.read = 0

    def head(self) -> bytes:
        return (self._start + self._filling * (65_536 // len(self._filling)))[:65_536]

    def open(self) -> BinaryIO:
        return io.BufferedReader(_Making(self, self._start, self._filling))  # type: ignore[arg-type]


class _Making(io.RawIOBase):
    def __init__(self, source: Endless, start: bytes, filling: bytes) -> None:
        self._source, self._rest, self._filling = source, start, filling

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        if self._source.read >= self._source.size:
            return 0
        while len(self._rest) < len(buffer):
            self._rest += self._filling * (len(buffer) // len(self._filling) + 1)
        buffer[:] = self._rest[: len(buffer)]
        self._rest = self._rest[len(buffer) :]
        self._source.read += len(buffer)
        return len(buffer)


GOOD_ONE = dumped(gpt(*GOOD))


def test_a_conversation_of_two_gigabytes_is_given_up_in_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_OF_ONE", 8 * 2**20)
    endless = dumped([gpt(*GOOD)])[:-1] + b', {"mapping": {}, "title": "'
    source = Endless("huge.json", endless, b"word " * 1000, 2 * 2**30)
    report = take(store, source, config=ECHO)
    assert "huge.json has a conversation of more than 8 MB" in report.broke
    assert report.new == 1, "what came before it is kept"
    assert source.read < 64 * 2**20


def test_many_conversations_need_no_more_memory_than_one(store: Store) -> None:
    source = Endless("many.json", b"[" + GOOD_ONE, b", " + GOOD_ONE, 24 * 2**20)
    tracemalloc.start()
    with suppress(BadFile):  # the last one is cut off
        deque(streams.items(source), maxlen=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * 2**20
