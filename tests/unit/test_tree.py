"""The pure functions on the tree."""

import pytest

from core import Node
from core.tree import (
    Siblings,
    common_ancestor,
    free_name,
    last_answer,
    previous_user_turn,
    siblings,
    turns,
)
from core.types import Role
from tests.unit.house import parts

LETTERS: dict[str, Role] = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}


def line(roles: str, *, upto: str = "") -> list[Node]:
    """A lineage from letters; ids are the path, so that equal prefixes are equal nodes."""
    return [
        Node(
            id=upto + roles[: end + 1],
            session_id="s",
            parent_id=None,
            role=LETTERS[roles[end]],
            parts=parts(roles[end]),
            author="person",
            created_at="",
        )
        for end in range(len(roles))
    ]


@pytest.mark.parametrize(
    ("roles", "numbers"),
    [
        ("", []),
        ("u", [1]),
        ("ua", [1, 1]),
        ("uaua", [1, 1, 2, 2]),
        ("uuau", [1, 2, 2, 3]),
        ("a", [1]),
        ("sua", [1, 1, 1]),
        ("uatau", [1, 1, 1, 1, 2]),
    ],
)
def test_a_turn_is_a_user_message_and_all_that_follows(roles: str, numbers: list[int]) -> None:
    assert turns(line(roles)) == numbers


@pytest.mark.parametrize(
    ("node", "alternatives", "expected"),
    [
        ("a", [], None),
        ("a", ["a"], None),
        ("x", ["a", "b"], None),
        ("a", ["a", "b"], Siblings(1, 2, None, "b")),
        ("b", ["a", "b"], Siblings(2, 2, "a", None)),
        ("b", ["a", "b", "c"], Siblings(2, 3, "a", "c")),
    ],
)
def test_siblings_are_counted_from_one(
    node: str, alternatives: list[str], expected: Siblings | None
) -> None:
    assert siblings(node, alternatives) == expected


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("", "u", None),
        ("ua", "ua", "ua"),
        ("uau", "uaa", "ua"),
        ("ua", "uau", "ua"),
        ("u", "a", None),
    ],
)
def test_the_common_ancestor_is_the_last_that_both_share(
    one: str, other: str, shared: str | None
) -> None:
    for a, b in ((one, other), (other, one)):
        found = common_ancestor(line(a), line(b))
        assert (found.id if found else None) == shared


def test_the_same_words_in_two_places_are_not_shared() -> None:
    assert common_ancestor(line("uaua"), line("uaua", upto="elsewhere ")) is None


@pytest.mark.parametrize(
    ("roles", "user", "answer"),
    [("", None, None), ("u", 0, None), ("uau", 2, 1), ("uata", 0, 3), ("a", None, 0)],
)
def test_the_last_words_of_each_are_found(roles: str, user: int | None, answer: int | None) -> None:
    lineage = line(roles)
    assert previous_user_turn(lineage) == (None if user is None else lineage[user])
    assert last_answer(lineage) == (None if answer is None else lineage[answer])


@pytest.mark.parametrize(
    ("taken", "name"),
    [([], "main"), (["other"], "main"), (["main"], "main 2"), (["main", "main 2"], "main 3")],
)
def test_a_free_name_counts_up(taken: list[str], name: str) -> None:
    assert free_name("main", taken) == name
