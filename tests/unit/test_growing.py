"""Messages as others keep them become trees that hold together, whatever they were."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.interchange.growing import Grain, Grown, grow, line
from core.types import Text, Thinking, ToolCall, ToolResult


def grain(key: str, parent: str | None = None, kind: str = "shown", **more: object) -> Grain:
    role = {"u": "user", "a": "assistant", "s": "system", "t": "tool"}[key[0]]
    return Grain(
        key=key, parent=parent, **({"role": role, "parts": (Text(text=key),), "kind": kind} | more)
    )


def edges(grown: Grown) -> dict[str, str | None]:
    return {node.key: node.parent for node in grown.nodes}


def tips(grown: Grown) -> list[str]:
    return [branch.tip for branch in grown.branches]


def test_siblings_come_as_their_parent_lists_them() -> None:
    grown = grow([grain("u1", order=("a2", "a1")), grain("a1", "u1"), grain("a2", "u1")])
    assert [node.key for node in grown.nodes] == ["u1", "a2", "a1"]
    assert tips(grown) == ["a1", "a2"], "without a sign of another, the last child is open"


def test_the_open_path_comes_first_and_others_know_where_they_left_it() -> None:
    grown = grow(
        [grain("u1"), grain("a1", "u1"), grain("a2", "u1"), grain("u2", "a1")], current="u2"
    )
    assert [(one.name, one.tip, one.forked_from) for one in grown.branches] == [
        ("main", "u2", None),
        ("branch 2", "a2", "u1"),
    ]


def test_a_path_may_be_open_in_the_middle() -> None:
    grown = grow([grain("u1"), grain("a1", "u1"), grain("u2", "a1")], current="a1")
    assert tips(grown) == ["a1", "u2"]


def test_what_is_hidden_is_closed_up_and_counted() -> None:
    grown = grow(
        [
            grain("s0", None, "hidden", parts=()),
            grain("s1", "s0", "hidden", why="custom instructions"),
            grain("u1", "s1"),
            grain("s2", "u1", "hidden"),
            grain("a1", "s2"),
            grain("a2", "s2"),
        ],
        current="s2",
    )
    assert edges(grown) == {"u1": None, "a1": "u1", "a2": "u1"}
    assert [(one.what, one.count) for one in grown.left_out] == [
        ("custom instructions", 1),
        ("hidden messages", 1),
    ]
    assert tips(grown)[0] == "u1", "the kept message where the hidden one stood"


def test_machinery_goes_to_the_answer_after_it_on_every_branch() -> None:
    grown = grow(
        [
            grain("u1"),
            grain("a1", "u1", "machinery", parts=(ToolCall(id="1", name="run", arguments="{}"),)),
            grain("t1", "a1", "machinery", parts=(ToolResult(call_id="1", name="run", text="4"),)),
            grain("a2", "t1"),
            grain("a3", "t1"),
        ]
    )
    assert edges(grown) == {"u1": None, "a2": "u1", "a3": "u1"}
    for node in grown.nodes[1:]:
        assert [part.type for part in node.parts] == ["tool_call", "tool_result", "text"]


def test_machinery_without_an_answer_is_an_answer_of_its_own() -> None:
    thought = (Thinking(text="hm"),)
    grown = grow(
        [
            grain("u1"),
            grain("a1", "u1", "machinery", parts=thought),
            grain("u2", "a1"),
            grain("u3", "a1"),
            grain("a4", "u3", "machinery", parts=thought),
        ],
        current="a4",
    )
    assert edges(grown) == {"u1": None, "a1": "u1", "u2": "a1", "u3": "a1", "a4": "u3"}
    assert {node.role for node in grown.nodes if node.parts == thought} == {"assistant"}
    assert tips(grown)[0] == "a4"


@pytest.mark.parametrize(
    ("grains", "told"),
    [
        ([grain("u1"), grain("u1")], "kept once"),
        ([grain("u1"), grain("u1", parts=(Text(text="other"),))], "kept under a new one"),
        ([grain("u1", "gone")], "not in the file"),
        ([grain("u1", "a1"), grain("a1", "u1")], "circle"),
        ([grain("u1", parts=(Text(text="\ud83d"),))], "replaced"),
    ],
)
def test_what_was_broken_is_put_right_and_told(grains: Sequence[Grain], told: str) -> None:
    assert told in " ".join(grow(grains).repairs)


def test_nothing_gives_nothing() -> None:
    assert grow([]) == Grown(nodes=(), branches=(), left_out=(), repairs=())


def test_a_line_hangs_each_message_on_the_one_before() -> None:
    assert edges(line([grain("u1"), grain("a1"), grain("u2")])) == {
        "u1": None,
        "a1": "u1",
        "u2": "a1",
    }


def test_a_place_that_is_gone_is_told_only_where_the_file_names_one() -> None:
    assert grow([grain("u1")], current="gone").repairs == ()
    assert "current_node names" in grow([grain("u1")], "gone", "current_node").repairs[0]


KEYS = st.sampled_from([f"{role}{number}" for role in "uast" for number in range(6)])
GRAINS = st.builds(
    grain,
    KEYS,
    st.one_of(st.none(), KEYS),
    st.sampled_from(["shown", "shown", "machinery", "hidden"]),
    order=st.lists(KEYS, max_size=4).map(tuple),
)


@given(st.lists(GRAINS, max_size=30), st.one_of(st.none(), KEYS))
def test_any_messages_become_a_tree_that_holds(grains: list[Grain], current: str | None) -> None:
    grown = grow(grains, current)
    seen: set[str] = set()
    for node in grown.nodes:
        assert node.key not in seen
        assert node.parent is None or node.parent in seen
        seen.add(node.key)
    inner = {node.parent for node in grown.nodes}
    assert seen - inner <= set(tips(grown)) <= seen
    assert len(set(tips(grown))) == len(tips(grown))
    shown = {one.key for one in grains if one.kind == "shown"}
    assert shown <= {key.split("~")[0] for key in seen}, "no message that is to be shown gets lost"
    kept = [part for node in grown.nodes for part in node.parts]
    for one in grains:
        if one.kind == "machinery":
            assert all(part in kept for part in one.parts), "nor any machinery"
