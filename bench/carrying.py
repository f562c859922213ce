"""Ten thousand conversations in, a large tree out, and whether search stays quick."""

import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bench.table import Line, show
from bench.words import prose
from core import Config, Store, Text
from core.importing import take
from core.interchange.source import FileSource
from core.types import Include, Node, new_id, now

CONVERSATIONS, EACH = 10_000, 20
LENGTH = 400  # characters of every message
SEARCHES = 30
TREE = 5_000  # nodes
WANTED = 0.050  # seconds of a search
ECHO = Config(provider="echo", model="echo-1")


def run() -> None:
    """Import a large account export, search it; export a large tree."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export = folder / "conversations.json"
        _write_export(export)
        seconds, peak = _in_process_of_its_own(export, folder / "sessions.db")
        bare = _bare(folder / "sessions.db", folder / "bare.db")
        messages = CONVERSATIONS * EACH
        search = _search(folder / "sessions.db")
        size = export.stat().st_size / 2**20
        show(
            f"Import: ChatGPT export of {CONVERSATIONS:,} conversations, {messages:,} messages,"
            f" {size:.0f} MB: {messages / seconds:,.0f} messages a second, peak {peak:,.0f} MB",
            "base",
            "measured",
            [
                Line(
                    what="import / sqlite3 inserting the same rows",
                    base=f"{bare:.1f} s",
                    measured=f"{seconds:.1f} s",
                    ratio=seconds / bare,
                    target=5.0,
                ),
                Line(
                    what="a search afterwards",
                    base=f"{WANTED * 1000:.0f} ms",
                    measured=f"{search * 1000:.1f} ms",
                    ratio=search / WANTED,
                    target=1.0,
                ),
            ],
        )
    _show_exports()


def _write_export(path: Path) -> None:
    """In the shape of an account export, written piece by piece."""
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number in range(CONVERSATIONS):
            file.write(",\n" if number else "")
            json.dump(_conversation(number), file, ensure_ascii=False)
        file.write("]")


def _conversation(number: int) -> dict[str, Any]:
    base = 1_700_000_000.0 + number * 1000
    root = f"{number}-root"
    mapping: dict[str, Any] = {
        root: {"id": root, "message": None, "parent": None, "children": [f"{number}-0"]}
    }
    for place in range(EACH):
        key = f"{number}-{place}"
        last = place == EACH - 1
        mapping[key] = {
            "id": key,
            "message": _message(key, number, place, base),
            "parent": f"{number}-{place - 1}" if place else root,
            "children": [] if last else [f"{number}-{place + 1}"],
        }
    return {
        "title": f"Conversation {number}",
        "create_time": base,
        "update_time": base + EACH,
        "mapping": mapping,
        "current_node": f"{number}-{EACH - 1}",
        "conversation_id": f"conversation-{number}",
    }


def _message(key: str, number: int, place: int, base: float) -> dict[str, Any]:
    role = "assistant" if place % 2 else "user"
    return {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": base + place,
        "content": {"content_type": "text", "parts": [prose(number * EACH + place, LENGTH)]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {"model_slug": "gpt-4o"} if place % 2 else {},
        "recipient": "all",
    }


def _in_process_of_its_own(export: Path, database: Path) -> tuple[float, float]:
    """Seconds, and the peak of memory in MB, which only a fresh process tells."""
    told = subprocess.run(
        [sys.executable, "-m", "bench.carrying", str(export), str(database)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak = told.stdout.split()
    return float(seconds), float(peak)


def _import(export: Path, database: Path) -> None:
    with Store.open(database) as store:
        began = time.perf_counter()
        report = take(store, FileSource(export), config=ECHO)
        seconds = time.perf_counter() - began
    assert report.messages == CONVERSATIONS * EACH, report
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _bare(full: Path, to: Path) -> float:
    """Seconds that sqlite3 takes for the same rows in the same tables, one transaction a
    conversation; the rows are at hand already."""
    shutil.copy(full, to)
    with sqlite3.connect(full) as source:
        rows = {table: list(source.execute(f"SELECT * FROM {table}")) for table in _TABLES}
        sessions = [row[1] for row in rows["sessions"]]
    by_session = _by_session(rows)
    db = sqlite3.connect(to, isolation_level=None)
    for table in reversed(_TABLES):
        db.execute(f"DELETE FROM {table}")
    db.execute("VACUUM")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = ON")
    began = time.perf_counter()
    for session in sessions:
        db.execute("BEGIN IMMEDIATE")
        for table in _TABLES:
            if found := by_session[table].get(session):
                marks = ",".join("?" * len(found[0]))
                db.executemany(f"INSERT INTO {table} VALUES ({marks})", found)
        db.execute("COMMIT")
    seconds = time.perf_counter() - began
    db.close()
    return seconds


_TABLES = ("sessions", "nodes", "branches", "imported", "imported_nodes")


def _by_session(rows: dict[str, list[Any]]) -> dict[str, dict[str, list[Any]]]:
    home = {row[1]: row[2] for row in rows["nodes"]}
    of = {
        "sessions": lambda row: row[1],
        "nodes": lambda row: row[2],
        "branches": lambda row: row[1],
        "imported": lambda row: row[2],
        "imported_nodes": lambda row: home[row[0]],
    }
    found: dict[str, dict[str, list[Any]]] = {table: {} for table in _TABLES}
    for table in _TABLES:
        for row in rows[table]:
            found[table].setdefault(of[table](row), []).append(row)
    return found


def _search(database: Path) -> float:
    """The median of searches that people do: a word, two words, one half typed."""
    with Store.open(database) as store:
        seconds = []
        for place in range(SEARCHES):
            words = prose(place * 7919, LENGTH).split()
            query = (words[3], f"{words[5]} {words[9]}", words[11][:3])[place % 3]
            began = time.perf_counter()
            store.search.messages(query)
            store.search.sessions(query)
            seconds.append(time.perf_counter() - began)
    return median(seconds)


# --- out ---


def _show_exports() -> None:
    from core import exporting
    from core.formats import writers

    print(f"\nExport of a tree of {TREE:,} nodes")
    with tempfile.TemporaryDirectory() as name, Store.open(Path(name) / "sessions.db") as store:
        session = _large_tree(store)
        for writer in writers("tree"):
            began = time.perf_counter()
            file = exporting.write(exporting.tree(store, session), writer.name, Include())
            seconds = time.perf_counter() - began
            print(f"  {writer.label:<46}{seconds:>10.2f} s{len(file.content) / 2**20:>10.1f} MB")


def _large_tree(store: Store) -> str:
    session = store.sessions.create(config=ECHO, title="A large tree")
    made: list[Node] = []
    for place, parent in enumerate(_parents()):
        above = made[parent] if parent is not None else None
        made.append(
            Node(
                id=new_id(),
                session_id=session.id,
                parent_id=above.id if above else None,
                role="assistant" if above is not None and above.role == "user" else "user",
                parts=(Text(text=prose(place, LENGTH)),),
                author="import",
                created_at=now(),
            )
        )
    inner = {node.parent_id for node in made}
    with store.write():
        store.nodes.add_all(made)
        for number, leaf in enumerate(node for node in made if node.id not in inner):
            store.branches.create(session.id, f"branch {number}", leaf.id)
    return session.id


def _parents() -> Iterator[int | None]:
    """Twenty messages down, then a fork somewhere above, again and again."""
    for place in range(TREE):
        if place == 0:
            yield None
        else:
            yield place - 1 if place % 20 else (place * 7919) % place


if __name__ == "__main__":
    _import(Path(sys.argv[1]), Path(sys.argv[2]))
