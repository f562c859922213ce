"""Turns in rows: every turn has one, every lane keeps its order, the same questions meet."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.alignment import Turn, align, asks, rows, turns_after
from core.types import AttachmentRef, Node, Role, Text

LANES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=12), max_size=6)


@given(LANES)
def test_every_turn_has_exactly_one_row_and_no_row_is_empty(lanes: list[list[str]]) -> None:
    table = align(lanes)
    for number, lane in enumerate(lanes):
        places = [row[number] for row in table if row[number] is not None]
        assert places == list(range(len(lane)))  # total, and in order
    assert all(len(row) == len(lanes) for row in table)
    assert all(any(place is not None for place in row) for row in table)


@given(LANES)
def test_rows_are_no_more_than_turns_and_no_fewer_than_the_longest_lane(
    lanes: list[list[str]],
) -> None:
    table = align(lanes)
    assert max(map(len, lanes), default=0) <= len(table) <= sum(map(len, lanes))


@given(st.lists(st.sampled_from("abc"), max_size=10), st.integers(1, 5))
def test_lanes_that_ask_the_same_stand_side_by_side(lane: list[str], count: int) -> None:
    assert align([lane] * count) == [(place,) * count for place in range(len(lane))]


@given(st.lists(st.integers(), unique=True, max_size=12), st.data())
def test_a_lane_that_was_left_out_of_some_turns_has_gaps_there_and_nowhere_else(
    full: list[int], data: st.DataObject
) -> None:
    said = data.draw(st.lists(st.booleans(), min_size=len(full), max_size=len(full)))
    part = [key for key, is_said in zip(full, said, strict=True) if is_said]
    table = align([full, part])
    assert [row[0] for row in table] == list(range(len(full)))
    assert [row[1] is not None for row in table] == said


@pytest.mark.parametrize(
    ("lanes", "wanted"),
    [
        ([], []),
        ([[], []], []),
        (["ab", "ac"], [(0, 0), (1, 1)]),  # different questions are paired as they come
        (["abc", "ac"], [(0, 0), (1, None), (2, 1)]),
        (["ac", "abc"], [(0, 0), (None, 1), (1, 2)]),
        (["abc", "xc"], [(0, 0), (1, None), (2, 1)]),
        (["aab", "ab"], [(0, 0), (1, None), (2, 1)]),
        (["ab", "ba"], [(None, 0), (0, 1), (1, None)]),
        (["ab", "ac", "c"], [(0, 0, None), (1, 1, 0)]),
    ],
)
def test_the_same_questions_meet(
    lanes: Sequence[str], wanted: list[tuple[int | None, ...]]
) -> None:
    assert align(lanes) == wanted


def node(name: str, role: Role = "user", *files: str) -> Node:
    attached = (AttachmentRef(sha256=file, media_type="text/plain", name=file) for file in files)
    return Node(
        id=name,
        session_id="s",
        parent_id=None,
        role=role,
        parts=(Text(text=name), *attached),
        author="person",
        created_at="",
    )


def path(*names: str) -> list[Node]:
    """``q…`` is a person's message, anything else an answer."""
    return [node(name, "user" if name.startswith("q") else "assistant") for name in names]


def told(turns: Sequence[Turn]) -> list[tuple[int, str | None, list[str]]]:
    return [(t.number, t.asked.id if t.asked else None, [n.id for n in t.nodes]) for t in turns]


def test_what_follows_the_common_beginning_is_cut_into_turns() -> None:
    lineage = path("q1", "a1", "q2", "tool", "a2", "q3")
    assert told(turns_after(lineage, 0)) == [
        (1, "q1", ["a1"]),
        (2, "q2", ["tool", "a2"]),
        (3, "q3", []),
    ]
    assert told(turns_after(lineage, 1)) == [
        (1, None, ["a1"]),
        (2, "q2", ["tool", "a2"]),
        (3, "q3", []),
    ]
    assert told(turns_after(lineage, 2))[0] == (2, "q2", ["tool", "a2"])
    assert told(turns_after(lineage, 6)) == [(3, None, [])]  # asked, and not answered yet
    assert told(turns_after(lineage[:2], 2)) == []
    assert told(turns_after(path("a0", "q1"), 0)) == [(1, None, ["a0"]), (1, "q1", [])]


def test_rows_hold_the_turns_and_answers_to_one_question_share_the_first() -> None:
    one, two = path("q1", "a1", "q2", "a2"), path("q1", "b1")
    table = rows([turns_after(one, 1), turns_after(two, 1), turns_after(path("q1"), 1)])
    shown = [[t and [n.id for n in t.nodes] for t in row] for row in table]
    assert shown == [[["a1"], ["b1"], []], [["a2"], None, None]]


def test_files_make_another_question() -> None:
    plain, with_file = Turn(number=1, asked=node("q")), Turn(number=1, asked=node("q", "user", "f"))
    assert asks(plain) != asks(with_file)
    assert asks(plain) == asks(Turn(number=7, asked=node("q")))
