"""Every format that is read: recognised by content, read whole, imported once, and only once."""

from collections import Counter
from pathlib import Path

import pytest

from core import Store
from core.errors import BadFile
from core.formats import readers, recognised
from core.importing import preview, take
from core.types import Carried, Damaged, Thinking, ToolCall, ToolResult
from tests.conftest import ECHO
from tests.contract.shelf import Case, cases, path_of, source_of

every_case = pytest.mark.parametrize("held", cases(), ids=str)
FOREIGN = sorted({one.name for one in readers()} - {"native"})


def read(held: Case, tmp_path: Path) -> tuple[list[Carried], list[Damaged], str]:
    source = source_of(held, tmp_path)
    found, broke = [], ""
    reader = next(one for one in readers() if one.name == held.format)
    try:
        for one in reader.read(source):
            found.append(one)  # noqa: PERF402 - what came before a break is kept
    except BadFile as error:
        broke = error.message
    carried = [one for one in found if isinstance(one, Carried)]
    return carried, [one for one in found if isinstance(one, Damaged)], broke


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "sessions.db") as store:
        yield store


@pytest.mark.parametrize("name", FOREIGN)
def test_each_format_has_at_least_a_dozen_files(name: str) -> None:
    assert sum(case.format == name for case in cases()) >= 12


@every_case
def test_the_format_is_recognised_from_content_alone(held: Case, tmp_path: Path) -> None:
    source = source_of(held, tmp_path)
    sure = {one.name: one.recognise(source) for one in readers()}
    found = recognised(source)
    assert found is not None, sure
    assert found[0].name == held.format, sure
    rivals = [value for name, value in sure.items() if name != held.format]
    assert max(rivals, default=0) < sure[held.format], sure


@every_case
def test_what_is_in_the_file_is_read(held: Case, tmp_path: Path) -> None:
    carried, damaged, broke = read(held, tmp_path)
    expected = held.expected.get("conversations", [])
    assert len(carried) == len(expected), (carried, damaged, broke)
    for one, wanted in zip(carried, expected, strict=True):
        assert {name: FACTS[name](one) for name in wanted if name != "repairs"} == {
            name: value for name, value in wanted.items() if name != "repairs"
        }
        said = " | ".join(one.repairs)
        assert [part for part in wanted.get("repairs", []) if part not in said] == [], said
        if "repairs" not in wanted:
            assert not one.repairs
    told = " | ".join(f"{one.place}: {one.why}" for one in damaged)
    assert len(damaged) == len(held.expected.get("damaged", [])), told
    assert [part for part in held.expected.get("damaged", []) if part not in told] == [], told
    assert held.expected.get("broke", "") in broke
    assert bool(broke) == ("broke" in held.expected), broke


def parts_of(carried: Carried, *kinds: type) -> int:
    return sum(isinstance(part, kinds) for node in carried.nodes for part in node.parts)


def left_out(carried: Carried) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in carried.left_out:
        found[one.what] += one.count
    return dict(found)


FACTS = {
    "key": lambda one: one.key,
    "title": lambda one: one.title,
    "messages": lambda one: len(one.nodes),
    "branches": lambda one: len(one.branches),
    "names": lambda one: [branch.name for branch in one.branches],
    "system": lambda one: one.system,
    "at": lambda one: one.at,
    "updated_at": lambda one: one.updated_at,
    "path": lambda one: [[node.role, node.text] for node in path_of(one)],
    "leaves": lambda one: [path_of(one, branch.tip)[-1].text for branch in one.branches],
    "models": lambda one: [node.model for node in path_of(one) if node.role == "assistant"],
    "times": lambda one: [node.at for node in path_of(one)],
    "left_out": left_out,
    "files": lambda one: len(one.files),
    "thinking": lambda one: parts_of(one, Thinking),
    "tools": lambda one: parts_of(one, ToolCall, ToolResult),
}


@every_case
def test_the_tree_holds_together(held: Case, tmp_path: Path) -> None:
    for one in read(held, tmp_path)[0]:
        seen: set[str] = set()
        for node in one.nodes:
            assert node.key not in seen
            assert node.parent is None or node.parent in seen, "parents come first"
            seen.add(node.key)
        inner = {node.parent for node in one.nodes}
        tips = [branch.tip for branch in one.branches]
        assert set(tips) <= seen
        assert seen - inner <= set(tips), "every leaf is some branch's end"
        assert len({branch.name for branch in one.branches}) == len(tips)


@every_case
def test_reading_twice_gives_the_same(held: Case, tmp_path: Path) -> None:
    first, second = read(held, tmp_path), read(held, tmp_path)
    assert [strip(one) for one in first[0]] == [strip(one) for one in second[0]]


def strip(one: Carried) -> tuple[object, ...]:
    return one.key, one.title, one.nodes, one.branches, one.at, one.left_out, one.repairs


@every_case
def test_importing_again_adds_nothing(held: Case, tmp_path: Path, store: Store) -> None:
    source = source_of(held, tmp_path)
    seen = preview(store, source)
    first = take(store, source, config=ECHO)
    assert first.messages == sum(one.new for one in seen.found)
    assert first.new + first.unchanged + first.extended == len(seen.found)
    nodes, sessions = tally(store)
    again = take(store, source, config=ECHO)
    assert (again.messages, again.new, again.extended, again.branches) == (0, 0, 0, 0)
    assert again.unchanged == len(seen.found)
    assert tally(store) == (nodes, sessions)
    assert sum(one.new for one in preview(store, source).found) == 0


def tally(store: Store) -> tuple[int, int]:
    with store._db.read() as db:
        count = "SELECT (SELECT count(*) FROM nodes), (SELECT count(*) FROM sessions)"
        found = db.conn.execute(count).fetchone()
    return found[0], found[1]


@every_case
def test_what_is_imported_reads_as_it_did(held: Case, tmp_path: Path, store: Store) -> None:
    source = source_of(held, tmp_path)
    carried = read(held, tmp_path)[0]
    if len({one.key for one in carried}) != len(carried):
        pytest.skip("conversations that share an id are told apart by the import's own test")
    report = take(store, source, config=ECHO)
    assert len(report.sessions) == len(carried)
    for session_id, one in zip(report.sessions, carried, strict=True):
        branches = store.branches.of(session_id)
        current = store.sessions.get(session_id).current_branch_id
        assert len(branches) == max(1, len(one.branches))
        by_name = {branch.name: branch for branch in branches}
        for branch in one.branches:
            made = by_name[branch.name]
            lineage = store.nodes.lineage(made.tip_id)
            assert [(node.role, node.text) for node in lineage] == [
                (node.role, node.text) for node in path_of(one, branch.tip)
            ]
        if one.branches:
            assert current == by_name[one.branches[0].name].id
