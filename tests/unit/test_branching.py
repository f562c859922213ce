"""Fork, edit, prune, restore, undo: what each does to the tree, case by case."""

import pytest

from core import Session, Store, edit, fork, prune, prune_branch, restore, undo
from core.branching import arrive, new_node
from core.errors import NameTaken, NotFound, UserError
from core.types import Override
from tests.unit.house import add, count, grow, live, parts, path_of


def current(store: Store, session: Session) -> str:
    found = store.sessions.get(session.id).current_branch_id
    assert found is not None
    return store.branches.get(found).name


# --- fork -------------------------------------------------------------------------------------
def test_a_fork_is_one_new_pointer_and_the_session_goes_there(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "q1", "a1", "q2", "a2")
    made = fork(store, nodes[1].id, from_branch=main)
    assert live(store, session.id) == {
        "main": ["q1", "a1", "q2", "a2"],
        "turn 1 · take 2": ["q1", "a1"],
    }
    assert made.forked_from_node_id == nodes[1].id
    assert current(store, session) == made.name
    assert count(store) == 4


def test_forks_are_named_by_their_turn_and_never_twice(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "q1", "a1", "q2", "a2")
    names = [fork(store, nodes[at].id, from_branch=main).name for at in (1, 1, 3, 0)]
    assert names == ["turn 1 · take 2", "turn 1 · take 3", "turn 2 · take 2", "turn 1 · take 4"]
    assert fork(store, nodes[0].id, from_branch=main, name="mine").name == "mine"
    with pytest.raises(NameTaken):
        fork(store, nodes[0].id, from_branch=main, name="mine")
    assert current(store, session) == "mine"


def test_a_fork_inherits_what_the_branch_overrides(store: Store, main: str) -> None:
    (node,) = grow(store, main, "q")
    store.recaps.override(main, Override(kind="mute", target_id=node.id))
    made = fork(store, node.id, from_branch=main)
    assert store.recaps.overrides(made.id) == store.recaps.overrides(main)


def test_a_fork_from_nothing_or_from_the_bin_is_refused(store: Store, main: str) -> None:
    _, answer = grow(store, main, "q", "a")
    with pytest.raises(NotFound):
        fork(store, "nobody", from_branch=main)
    prune(store, answer.id)
    with pytest.raises(UserError, match="bin"):
        fork(store, answer.id, from_branch=main)


# --- edit and arrive --------------------------------------------------------------------------
def test_an_edit_at_the_tip_moves_the_branch_and_keeps_the_original(
    store: Store, session: Session, main: str
) -> None:
    _, answer = grow(store, main, "q", "a")
    node, branch = edit(store, main, answer.id, parts("better"))
    assert branch.id == main
    assert live(store, session.id) == {"main": ["q", "better"]}
    assert (node.author, node.source_id, node.role) == ("hand-edited", answer.id, "assistant")
    assert store.nodes.get(answer.id).text == "a"
    undo(store, main)
    assert live(store, session.id) == {"main": ["q", "a"]}


def test_an_edit_above_descendants_gets_a_branch_of_its_own(
    store: Store, session: Session, main: str
) -> None:
    question, *_ = grow(store, main, "q1", "a1", "q2", "a2")
    _, branch = edit(store, main, question.id, parts("q1 better"))
    assert live(store, session.id) == {
        "main": ["q1", "a1", "q2", "a2"],
        "turn 1 · take 2": ["q1 better"],
    }
    assert current(store, session) == branch.name


def test_an_answer_whose_branch_has_moved_on_gets_a_branch_of_its_own(
    store: Store, session: Session, main: str
) -> None:
    (question,) = grow(store, main, "q")
    grow(store, main, "typed by hand", "and more")
    answer = store.nodes.add(new_node(session.id, question.id, "assistant", parts("late")))
    placed = arrive(store, main, answer, replaces=question.id, why="answer")
    assert live(store, session.id) == {
        "main": ["q", "typed by hand", "and more"],
        placed.name: ["q", "late"],
    }


def test_an_answer_to_what_was_binned_meanwhile_waits_there_for_a_restore(
    store: Store, session: Session, main: str
) -> None:
    _, _, question = grow(store, main, "q1", "a1", "q2")
    pruned = prune(store, question.id)
    answer = store.nodes.add(new_node(session.id, question.id, "assistant", parts("a2")))
    arrive(store, main, answer, replaces=question.id, why="answer")
    assert live(store, session.id) == {"main": ["q1", "a1"]}
    restore(store, pruned)
    assert live(store, session.id) == {"main": ["q1", "a1", "q2"]}
    assert store.nodes.latest_leaf(question.id) == answer.id


# --- prune and restore ------------------------------------------------------------------------
def forked(store: Store, session: Session, main: str) -> dict[str, str]:
    """main: q1 a1 q2 a2; side: q1 a1 s2 t2, forked at a1; ids by text."""
    nodes = grow(store, main, "q1", "a1", "q2", "a2")
    side = fork(store, nodes[1].id, from_branch=main, name="side")
    nodes += grow(store, side.id, "s2", "t2")
    return {node.text: node.id for node in nodes}


MAIN, SIDE = ["q1", "a1", "q2", "a2"], ["q1", "a1", "s2", "t2"]


@pytest.mark.parametrize(
    ("pruned", "left"),
    [
        ("a2", {"main": ["q1", "a1", "q2"], "side": SIDE}),
        ("q2", {"side": SIDE}),
        ("s2", {"main": MAIN}),
        ("t2", {"main": MAIN, "side": ["q1", "a1", "s2"]}),
        ("a1", {"side": ["q1"]}),
        ("q1", {"side": []}),
    ],
)
def test_pruning_withdraws_what_ends_below_and_restoring_brings_all_back(
    store: Store, session: Session, main: str, pruned: str, left: dict[str, list[str]]
) -> None:
    ids = forked(store, session, main)
    moves = count(store, "branch_moves")
    bin_id = prune(store, ids[pruned])
    assert live(store, session.id) == left
    assert current(store, session) in left
    assert store.branches.bins(session.id)[0]["label"] == pruned
    restore(store, bin_id)
    assert live(store, session.id) == {"main": MAIN, "side": SIDE}
    assert (count(store), count(store, "branch_moves")) == (6, moves)
    assert store.branches.bins(session.id) == []


@pytest.mark.parametrize("pruned", ["a2", "a1", "q1", "t2"])
def test_undo_takes_a_pruning_back_whole(
    store: Store, session: Session, main: str, pruned: str
) -> None:
    ids = forked(store, session, main)
    prune(store, ids[pruned])
    (moved,) = (
        branch.id
        for branch in store.branches.of(session.id)
        if (store.branches.last_move(branch.id) or {}).get("why") == "bin"
    )
    assert undo(store, moved) == "bin"
    assert live(store, session.id) == {"main": MAIN, "side": SIDE}


def test_a_pruned_branch_that_comes_back_keeps_its_name_if_it_can(
    store: Store, session: Session, main: str
) -> None:
    ids = forked(store, session, main)
    bin_id = prune(store, ids["s2"])
    other = fork(store, ids["a1"], from_branch=main, name="side")
    assert restore(store, bin_id) == ["side 2"]
    assert live(store, session.id)["side 2"] == SIDE
    assert path_of(store, other) == ["q1", "a1"]


def test_a_branch_that_went_on_after_a_pruning_keeps_both(
    store: Store, session: Session, main: str
) -> None:
    grown = grow(store, main, "q1", "a1", "q2", "a2")
    bin_id = prune(store, grown[2].id)
    grow(store, main, "other q2", "other a2")
    (name,) = restore(store, bin_id)
    assert live(store, session.id) == {"main": ["q1", "a1", "other q2", "other a2"], name: MAIN}


def test_two_prunings_restored_in_the_wrong_order_bring_both_back(
    store: Store, session: Session, main: str
) -> None:
    _, second, third = grow(store, main, "q1", "a1", "q2")
    inner = prune(store, third.id)
    outer = prune(store, second.id)
    assert live(store, session.id) == {"main": ["q1"]}
    restore(store, inner)
    assert store.branches.bins(session.id) == [], "what lies above came along"
    assert ["q1", "a1", "q2"] in live(store, session.id).values()
    with pytest.raises(NotFound):
        restore(store, outer)


def test_a_restore_is_not_taken_for_that_of_a_later_pruning(
    store: Store, session: Session, main: str
) -> None:
    first = grow(store, main, "q1", "a1", "q2")
    early = prune(store, first[2].id)
    second = grow(store, main, "other q2")
    late = prune(store, second[0].id)
    restore(store, early)
    assert live(store, session.id) == {"main": ["q1", "a1", "q2"]}
    assert store.branches.hidden_roots(session.id) == {second[0].id}
    restore(store, late)
    assert ["q1", "a1", "other q2"] in live(store, session.id).values()
    assert ["q1", "a1", "q2"] in live(store, session.id).values()


def test_what_is_in_the_bin_is_not_binned_again(store: Store, main: str) -> None:
    first, second = grow(store, main, "q1", "a1")
    prune(store, first.id)
    for node in (first, second):
        with pytest.raises(UserError, match="bin"):
            prune(store, node.id)


def test_pruning_a_branch_hides_only_its_own_messages(
    store: Store, session: Session, main: str
) -> None:
    ids = forked(store, session, main)
    side = next(b.id for b in store.branches.of(session.id) if b.name == "side")
    bin_id = prune_branch(store, side)
    assert live(store, session.id) == {"main": MAIN}
    assert store.branches.hidden_roots(session.id) == {ids["s2"]}
    assert current(store, session) == "main"
    assert restore(store, bin_id) == ["side"]
    assert live(store, session.id) == {"main": MAIN, "side": SIDE}


def test_the_last_branch_is_never_binned(store: Store, session: Session, main: str) -> None:
    (node,) = grow(store, main, "q")
    with pytest.raises(UserError, match="only branch"):
        prune_branch(store, main)
    prune(store, node.id)
    assert live(store, session.id) == {"main": []}


def test_branches_pruned_one_after_the_other_come_back_in_any_order(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "q0")
    trunk = fork(store, store.branches.get(main).tip_id or "", from_branch=main, name="one")
    shared = grow(store, trunk.id, "a0", "q1", "a1")
    other = fork(store, shared[-1].id, from_branch=trunk.id, name="two")
    grow(store, other.id, "q2")
    grow(store, trunk.id, "q3")
    bins = [prune_branch(store, other.id), prune_branch(store, trunk.id)]
    restore(store, bins[0])
    assert live(store, session.id)["two"] == ["q0", "a0", "q1", "a1", "q2"]
    assert store.branches.hidden_roots(session.id) == set()


# --- undo -------------------------------------------------------------------------------------
def test_undo_of_a_second_answer_goes_back_to_the_first(
    store: Store, session: Session, main: str
) -> None:
    question, _ = grow(store, main, "q", "first")
    second = add(store, session.id, question.id, "second", "assistant")
    arrive(store, main, second, replaces=store.branches.get(main).tip_id, why="answer")
    assert undo(store, main) == "answer"
    assert path_of(store, main) == ["q", "first"]
    assert undo(store, main) == "send"
    assert path_of(store, main) == []
    assert undo(store, main) is None


def test_undo_never_leads_into_the_bin(store: Store, session: Session, main: str) -> None:
    _, first = grow(store, main, "q", "first")
    edit(store, main, first.id, parts("second"))
    prune(store, first.id)
    assert undo(store, main) == "edit"
    assert path_of(store, main) == ["q", "first"]
    assert store.branches.hidden_roots(session.id) == set()


def test_undo_of_a_restore_goes_back_to_where_the_branch_stood(
    store: Store, session: Session, main: str
) -> None:
    grown = grow(store, main, "q1", "a1", "q2")
    prune(store, grown[2].id)
    assert undo(store, main) == "bin"
    assert path_of(store, main) == ["q1", "a1", "q2"]
    assert undo(store, main) == "send"
    assert path_of(store, main) == ["q1", "a1"]
