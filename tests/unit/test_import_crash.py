"""An import that is killed, or runs beside another: each conversation is whole or not there."""

import multiprocessing
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from core import Store
from core.errors import Busy
from core.importing import take
from core.store import database
from tests.conftest import ECHO
from tests.unit.house import count
from tests.unit.short_import import TALKS, TURNS, beside, live, source

KILLED_AFTER = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23)
"""Conversations; the kill comes somewhere in one of those that follow."""


@pytest.fixture(scope="module")
def nursery() -> Any:
    """Where processes are born: with the imports done, and from one that has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.unit.short_import"])
    return context


def killed(nursery: Any, path: Path, after: int) -> int:
    """Kill an import once it told of so many; returns how many it told of in the end."""
    here, there = nursery.Pipe()
    process = nursery.Process(target=live, args=(str(path), there), daemon=True)
    process.start()
    there.close()
    told = 0
    while told < after:
        told, _ = here.recv()
    process.kill()
    process.join(10)
    try:
        while True:
            told, _ = here.recv()
    except (EOFError, OSError):
        here.close()
    return int(told)


def whole(path: Path) -> int:
    """How many conversations are there, each of them with every word of it."""
    with Store.open(path) as store:
        with store._db.read() as db:
            assert db.conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            assert db.conn.execute("PRAGMA foreign_key_check").fetchall() == []
        sessions = store.sessions.recent(TALKS + 1)
        for row in sessions:
            branches = {branch.name: branch for branch in store.branches.of(row["id"])}
            assert set(branches) == {"main", "branch 2"}
            number = store.nodes.lineage(branches["main"].tip_id)[0].text.split("/")[0]
            for name, last in (("main", "chosen"), ("branch 2", "rejected")):
                lineage = store.nodes.lineage(branches[name].tip_id)
                shared = [f"{number}/{place}" for place in range(TURNS - 2)]
                assert [node.text for node in lineage] == [*shared, f"{number}/{last}"]
        assert count(store) == len(sessions) * TURNS
        assert count(store, "imported_nodes") == len(sessions) * TURNS
        assert count(store, "imported") == len(sessions)
    return len(sessions)


def test_a_killed_import_leaves_whole_conversations_and_the_next_completes_it(
    tmp_path: Path, nursery: Any
) -> None:
    path = tmp_path / "sessions.db"
    before = 0
    for after in KILLED_AFTER:
        told = killed(nursery, path, before + after)
        there = whole(path)
        assert before + after <= told <= there <= TALKS
        before = there
    with Store.open(path) as store:
        report = take(store, source(), config=ECHO)
        assert (report.new, report.unchanged) == (TALKS - before, before)
        assert take(store, source(), config=ECHO).messages == 0
    assert whole(path) == TALKS


def test_two_imports_at_once_bring_every_conversation_once(tmp_path: Path, nursery: Any) -> None:
    path = tmp_path / "sessions.db"
    Store.open(path).close()
    pipes = []
    for _ in range(2):
        here, there = nursery.Pipe()
        nursery.Process(target=beside, args=(str(path), there), daemon=True).start()
        there.close()
        pipes.append(here)
    assert [pipe.recv() for pipe in pipes] == ["ready", "ready"]
    for pipe in pipes:
        pipe.send("go")
    told = [pipe.recv() for pipe in pipes]
    assert [broke for *_, broke in told] == ["", ""]
    assert sum(new for new, *_ in told) == TALKS
    assert sum(unchanged for _, unchanged, *_ in told) == TALKS
    assert sum(messages for _, _, messages, _ in told) == TALKS * TURNS
    assert whole(path) == TALKS


def test_a_database_that_somebody_holds_is_said_and_nothing_half_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.db"
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.1)
    with Store.open(path) as store:
        holder = sqlite3.connect(path)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy, match="locked by another program") as told:
            take(store, source(), config=ECHO)
        assert told.value.hint
        assert count(store) == count(store, "sessions") == count(store, "imports") == 0
        holder.rollback()
        holder.close()
        assert take(store, source(), config=ECHO).new == TALKS
