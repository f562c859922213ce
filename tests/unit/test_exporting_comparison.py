"""What is taken of a comparison, and the files that are made of it."""

import csv
import io
from typing import Any

import pytest
from openpyxl import load_workbook

from core import Runner, Store, fork
from core.errors import NotFound, UserError
from core.exporting.comparison import comparison, unified
from core.formats import writer
from core.interchange.cells import LONGEST
from core.types import Comparison, ComparisonTaken, Include, Verdict, new_id, now
from tests.conftest import ECHO
from tests.unit.house import ask, grow

EVIL = ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "\t=1", "<b>x</b>|\n# no \ud800\x07"]


@pytest.fixture
def laned(runner: Runner, main: str) -> Comparison:
    """Two lanes with a common beginning, checks, and two verdicts."""
    store = runner.store
    shared = grow(store, main, "Draft a plan", "A plan for all.")
    session_id = shared[0].session_id
    ask(runner, main, "Shorter, please")
    other = fork(store, shared[1].id, from_branch=main, name="bolder")
    ask(runner, other.id, "Bolder, please")
    made = store.comparisons.create(session_id, "Short or bold?")
    for branch in (main, other.id):
        store.comparisons.add_lane(made.id, branch)
    store.verdicts.add_check(session_id, "contains", {"text": "bolder"})
    tips = {one: str(store.branches.get(one).tip_id) for one in (main, other.id)}
    common: dict[str, Any] = {
        "session_id": session_id,
        "tips": tips,
        "comparison_id": made.id,
        "created_at": now(),
    }
    ratings = {main: 2.0, other.id: 4.0}
    body = {
        "judge": {"provider": "anthropic", "model": "claude"},
        "own": [main],
        "votes": [{"order": [main, other.id], "given": [{"reason": "dull"}, {"reason": "bold"}]}],
    }
    store.verdicts.add(
        Verdict(id=new_id(), by="person", winner=other.id, ratings=ratings, note="=1+1", **common)
    )
    store.verdicts.add(Verdict(id=new_id(), by="judge", winner=main, body=body, **common))
    return made


def taken_of(store: Store, made: Comparison) -> ComparisonTaken:
    return comparison(store, made.session_id, made.id)


def text_of(name: str, taken: ComparisonTaken) -> str:
    return writer(name).write(taken, Include()).decode("utf-8-sig")


def test_lanes_share_their_beginning_and_hold_what_is_their_own(
    store: Store, laned: Comparison
) -> None:
    taken = taken_of(store, laned)
    assert [node.text for node in taken.shared] == ["Draft a plan", "A plan for all."]
    assert [lane.name for lane in taken.lanes] == ["main", "bolder"]
    assert [lane.nodes[-1].text for lane in taken.lanes] == ["Shorter, please", "Bolder, please"]
    figures = taken.lanes[0].metrics
    assert figures["Input tokens"] is not None
    assert figures["Words"] == 2
    checks = [lane.metrics["Check: contains “bolder”"] for lane in taken.lanes]
    assert checks == ["failed", "passed"]
    (difference,) = taken.differences
    assert (difference.of, difference.against, difference.likeness) == ("main", "bolder", 0.5)
    assert difference.diff.splitlines() == [
        "--- main",
        "+++ bolder",
        "@@ -1,1 +1,1 @@",
        "-Shorter, please",
        "+Bolder, please",
    ]
    assert [verdict.by for verdict in taken.verdicts] == ["person", "judge"]


def test_the_answer_that_counts_is_the_one_marked_final(store: Store, laned: Comparison) -> None:
    lane = taken_of(store, laned).lanes[0]
    grow(store, lane.branch.id, "And?", "Nothing more.")
    store.nodes.mark(lane.nodes[-1].id, "final", "")
    answer = taken_of(store, laned).lanes[0].answer
    assert answer is not None
    assert answer.text == "Shorter, please"


def test_a_blind_look_tells_no_name_and_no_model(store: Store, laned: Comparison) -> None:
    store.comparisons.rename(laned.id, "main against bolder on echo-1")
    store.comparisons.set_blind(laned.id, True)
    taken = taken_of(store, laned)
    assert [lane.name for lane in taken.lanes] == ["Answer A", "Answer B"]
    assert not [lane.model for lane in taken.lanes if lane.model]
    judge = taken.verdicts[1]
    assert (judge.winner, judge.ratings, judge.body) == (None, {}, None)
    for name in ("comparison_markdown", "comparison_html", "comparison_csv"):
        told = text_of(name, taken).lower()
        for word in ("echo", "against", ">main<", "| main", "input tokens"):
            assert word not in told, (name, word)


def test_branches_need_no_comparison(store: Store, laned: Comparison) -> None:
    ids = [one.id for one in store.branches.of(laned.session_id)]
    taken = comparison(store, laned.session_id, branch_ids=ids)
    assert (taken.comparison, taken.verdicts, len(taken.lanes)) == (None, (), 2)


def test_what_the_session_does_not_have_is_refused(store: Store, laned: Comparison) -> None:
    other = store.sessions.create(title="other", config=ECHO)
    with pytest.raises(NotFound):
        comparison(store, other.id, laned.id)
    with pytest.raises(NotFound):
        branch = store.branches.of(laned.session_id)[0].id
        comparison(store, other.id, branch_ids=[branch])
    with pytest.raises(UserError):
        comparison(store, laned.session_id)


def test_markdown_tells_all_of_it(store: Store, laned: Comparison) -> None:
    told = text_of("comparison_markdown", taken_of(store, laned))
    for words in (
        "# Short or bold?",
        "| Input tokens |",
        "## What all lanes share",
        "## bolder",
        "**bolder is best** · A person",
        "- main: 2 of 5",
        "- bolder: bold",
        "```diff\n--- main",
        "50% of the words are the same.",
    ):
        assert words in told


def test_the_page_shows_lanes_figures_verdicts_and_differences(
    store: Store, laned: Comparison
) -> None:
    told = text_of("comparison_html", taken_of(store, laned))
    for words in (
        "Short or bold?",
        "--lanes:2",
        "<h2>Figures</h2>",
        "bolder is best",
        "2 of 5",
        '<del class="gone">-Shorter, please',
        '<ins class="come">+Bolder, please',
    ):
        assert words in told


def test_a_table_has_one_row_a_lane(store: Store, laned: Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(text_of("comparison_csv", taken_of(store, laned)))))
    assert [row["Lane"] for row in rows] == ["main", "bolder"]
    assert [row["Answer"] for row in rows] == ["Shorter, please", "Bolder, please"]
    assert [row["Rating 1"] for row in rows] == ["2.0", "4.0"]
    assert [row["Likeness to main"] for row in rows] == ["", "0.5"]


def test_the_workbook_opens_and_holds_four_sheets(store: Store, laned: Comparison) -> None:
    content = writer("comparison_xlsx").write(taken_of(store, laned), Include())
    book = load_workbook(io.BytesIO(content))
    assert book.sheetnames == ["Lanes", "Turns", "Verdicts", "Differences"]
    lanes = {row[0].value: [cell.value for cell in row[1:]] for row in book["Lanes"].iter_rows()}
    assert lanes["Figure"] == ["main", "bolder"]
    assert lanes["Words"] == [2, 2]
    turns = [[cell.value for cell in row] for row in book["Turns"].iter_rows()]
    assert turns[1][:2] == ["shared", "user: Draft a plan\n\nassistant: A plan for all."]
    assert turns[2] == [
        2,
        None,
        *(f"user: {x}\n\nassistant: {x}" for x in ("Shorter, please", "Bolder, please")),
    ]
    assert book["Verdicts"].max_row == 3
    assert book["Differences"]["C2"].value == 0.5


@pytest.mark.parametrize("text", EVIL)
def test_no_text_is_a_formula(store: Store, laned: Comparison, text: str) -> None:
    session_id = laned.session_id
    branches = store.branches.of(session_id)
    for branch in branches:
        grow(store, branch.id, text, f"{text} {branch.name}")
    store.branches.rename(branches[0].id, text[:40])
    taken = taken_of(store, laned)
    for row in csv.reader(io.StringIO(text_of("comparison_csv", taken))):
        for cell in row:
            assert not cell.startswith(("=", "+", "@", "\t", "\r"))
            assert not cell.startswith("-") or cell[1:2].isdigit() is False
    book = load_workbook(io.BytesIO(writer("comparison_xlsx").write(taken, Include())))
    for sheet in book.worksheets:
        for cells in sheet.iter_rows():
            assert "f" not in {cell.data_type for cell in cells}
    for name in ("comparison_markdown", "comparison_html"):
        text_of(name, taken)


def test_a_cell_holds_only_so_much(store: Store, laned: Comparison) -> None:
    for branch in store.branches.of(laned.session_id):
        grow(store, branch.id, "More", "😀" * 40_000)
    taken = taken_of(store, laned)
    book = load_workbook(io.BytesIO(writer("comparison_xlsx").write(taken, Include())))
    longest = max(
        len(str(cell.value).encode("utf-16-le")) // 2
        for row in book["Turns"].iter_rows()
        for cell in row
    )
    assert LONGEST - 40 < longest <= LONGEST


def test_a_unified_diff_is_what_others_can_read() -> None:
    old = "\n".join(f"line {n}" for n in range(40))
    new = old.replace("line 3\n", "line three\n").replace("line 30\n", "")
    told = unified(old, new, "a", "b")
    assert told.count("@@ -") == 2
    assert "@@ -1,7 +1,7 @@" in told
    assert "-line 30\n" in told
    assert unified(old, old, "a", "b") == ""
