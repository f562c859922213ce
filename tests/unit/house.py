"""Short ways to put up a tree, and to look at one as a table of texts."""

import time
from collections.abc import Callable, Iterable

from core import Branch, Node, Run, Runner, Store, Text
from core.branching import new_node
from core.types import Parts, Request, new_id, now
from tests.conftest import ECHO

OTHER = {"user": "assistant", "assistant": "user"}


def parts(text: str) -> Parts:
    return (Text(text=text),)


def add(store: Store, session_id: str, parent: str | None, text: str, role: str = "user") -> Node:
    """One more node, with no branch led to it."""
    return store.nodes.add(new_node(session_id, parent, role, parts(text)))


def grow(store: Store, branch_id: str, *texts: str) -> list[Node]:
    """A message a text below the branch's tip, speakers in turn; the branch goes along."""
    grown: list[Node] = []
    with store.write():
        branch = store.branches.get(branch_id)
        tip = store.nodes.get(branch.tip_id) if branch.tip_id else None
        for text in texts:
            role = OTHER[tip.role] if tip else "user"
            tip = add(store, branch.session_id, tip.id if tip else None, text, role)
            store.branches.move(branch_id, tip.id, why="send" if role == "user" else "answer")
            grown.append(tip)
    return grown


def told(nodes: Iterable[Node]) -> list[str]:
    return [node.text for node in nodes]


def path_of(store: Store, branch: str | Branch) -> list[str]:
    """The texts from the root to a branch's tip."""
    branch_id = branch if isinstance(branch, str) else branch.id
    return told(store.nodes.lineage(store.branches.get(branch_id).tip_id))


def live(store: Store, session_id: str) -> dict[str, list[str]]:
    """Every live branch by name, as texts."""
    return {branch.name: path_of(store, branch) for branch in store.branches.of(session_id)}


def count(store: Store, table: str = "nodes") -> int:
    with store._db.read() as db:
        return int(db.conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def execute(store: Store, sql: str, *values: object) -> None:
    with store.write() as db:
        db.conn.execute(sql, values)


def ask(runner: Runner, branch_id: str, text: str, **more: object) -> Run:
    """Send, and wait for the end."""
    run = runner.send(branch_id, text, **more)
    assert isinstance(run, Run), run
    return runner.wait(run.id, 10)


def begun(runner: Runner, run: Run, words: int = 1) -> None:
    """Wait until so many words of the answer are there."""
    live = runner.live(run.id)
    assert live is not None
    until(lambda: len(live.deltas) >= words or live.done.is_set())


def until(true: Callable[[], object], seconds: float = 10) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def dead_run(store: Store, branch_id: str, text: str = "", *, owner: str, **more: object) -> Run:
    """A run as a process leaves it behind that dies while it streams ``text``."""
    branch = store.branches.get(branch_id)
    run = Run(
        **{
            "id": new_id(),
            "session_id": branch.session_id,
            "branch_id": branch_id,
            "context_tip_id": branch.tip_id,
            "purpose": "reply",
            "config": ECHO,
            "state": "running",
            "owner": owner,
            "started_at": now(),
        }
        | more
    )
    store.runs.start(run, request=Request(envelope={"model": "echo-1"}, messages=()))
    if text:
        assert store.runs.save_partial(run.id, parts(text), owner)
    return run
