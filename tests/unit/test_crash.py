"""Kill the process at any moment: when it comes back, every word is there."""

import multiprocessing
import os
import random
import sqlite3
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core import Runner, Store
from core.errors import NotFound
from tests.unit.house import count, until
from tests.unit.short_life import live

LIVES = 50
LOST_SECONDS = 0.5
"""What of a running answer may be lost, of the time that the machine let the process live."""


@pytest.fixture(scope="module")
def nursery() -> Any:
    """Where processes are born: with the imports done, and from one that has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.unit.short_life"])
    return context


def killed(nursery: Any, path: Path, seed: int, seconds: float) -> tuple[list[Any], float]:
    """All that a process told in its short life, and the moment it was killed."""
    here, there = nursery.Pipe(duplex=False)
    process = nursery.Process(target=live, args=(str(path), there, seed), daemon=True)
    process.start()
    there.close()
    facts = [here.recv()]
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if here.poll(left):
            facts.append(here.recv())
    process.kill()
    died = time.time()
    process.join(10)
    try:
        while True:
            facts.append(here.recv())
    except (EOFError, OSError):
        here.close()
    return facts, died


class Memory:
    """What was ever acknowledged on this database, over all lives."""

    def __init__(self) -> None:
        self.nodes: dict[str, str] = {}
        self.branches: dict[str, str | None] = {}
        self.queued: dict[str, str] = {}
        self.most = 0
        self.interrupted = 0

    def learn(self, facts: list[Any]) -> None:
        for fact in facts:
            match fact:
                case ("node", node_id, text):
                    self.nodes[node_id] = text
                case ("branch", branch_id, tip):
                    self.branches[branch_id] = tip
                case ("queued", queued_id, text):
                    self.queued[queued_id] = text

    def check(self, store: Store, facts: list[Any], died: float) -> None:
        found = {node.id: node.text for node in store.nodes.many(self.nodes)}
        assert found == self.nodes, "a word that was acknowledged is gone"
        for branch_id in self.branches:
            tip = store.branches.get(branch_id).tip_id
            assert tip is not None
            assert store.nodes.lineage(tip)
        self.check_queue(store)
        assert store.runs.not_ended() == []
        number = count(store)
        assert number >= self.most
        self.most = number
        self.check_streams(store, facts, died)

    def check_queue(self, store: Store) -> None:
        """What waited is still there and held, or has become a message."""
        for queued_id, text in self.queued.items():
            try:
                assert store.branches.waiting(queued_id)["state"] == "held"
            except NotFound:
                assert store.search.messages(text) or len(text) < 5

    def check_streams(self, store: Store, facts: list[Any], died: float) -> None:
        heard: dict[str, list[tuple[str, float]]] = {}
        for fact in facts:
            if fact[0] == "heard":
                heard.setdefault(fact[1], []).append((fact[2], fact[3]))
        pulses = [fact[1] for fact in facts if fact[0] == "pulse"] + [died]
        pauses = [after - before for before, after in pairwise(pulses)]
        may_be_lost = LOST_SECONDS + max(pauses, default=0)
        for run_id, words in heard.items():
            run = store.runs.get(run_id)
            kept = store.nodes.get(run.node_id).text if run.node_id else ""
            self.interrupted += run.finish_reason == "interrupted"
            lost = [died - at for text, at in words if len(text) > len(kept)]
            assert max(lost, default=0) <= may_be_lost, "more than the last moment is gone"
            longest = words[-1][0]
            assert kept.startswith(longest) or longest.startswith(kept)


def intact(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        for index in ("nodes_search", "sessions_search"):
            raw.execute(f"INSERT INTO {index}({index}) VALUES ('integrity-check')")
    raw.close()


@pytest.mark.timeout(170)
def test_killed_at_fifty_moments_no_word_is_lost(nursery: Any, path: Path) -> None:
    seed = int(os.environ.get("TURNTREE_SEED", "20"))
    chance = random.Random(seed)
    memory = Memory()
    for life in range(LIVES):
        # Short lives are killed in the middle of writing, long ones in the middle of answers.
        seconds = chance.uniform(0.02, 0.4) if life % 3 else chance.uniform(0.8, 1.1)
        facts, died = killed(nursery, path, seed * 1000 + life, seconds)
        memory.learn(facts)
        intact(path)
        with Store.open(path) as store, Runner(store):
            memory.check(store, facts, died)
    assert len(memory.nodes) > LIVES
    assert len(memory.branches) > LIVES / 2
    assert memory.interrupted > LIVES / 2, "the kills were meant to come in the middle of answers"
    with Store.open(path) as store, Runner(store) as runner:
        session = store.sessions.recent(1)[0]["id"]
        for branch in store.branches.of(session)[:5]:
            runner.send(branch.id, "and on it goes")
        until(lambda: not runner.live_in(session))
