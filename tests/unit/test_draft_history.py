"""The drafts of a branch: which, in which order, by whom, and what each changed."""

from core import Runner, Session, Store
from core.branching import edit, new_node
from core.draft_history import final_draft, history
from core.types import ToolCall
from tests.conftest import ECHO
from tests.unit.house import ask, grow, parts


def lineage(store: Store, branch: str):  # type: ignore[no-untyped-def]
    return store.nodes.lineage(store.branches.get(branch).tip_id)


def test_each_answer_is_told_against_the_one_before(runner: Runner, main: str) -> None:
    ask(runner, main, "one two three")
    ask(runner, main, "one two four")
    first, second = history(runner.store, lineage(runner.store, main))
    assert (first.number, first.turn, first.before) == (1, 1, None)
    assert (second.number, second.turn, second.before) == (2, 2, first.node)
    assert second.run is not None
    assert second.run.config == ECHO
    assert (second.diff.added, second.diff.removed, second.diff.same) == (1, 1, 2)
    assert (first.diff.added, first.diff.same) == (3, 0)


def test_a_hand_edit_comes_after_what_it_was_made_of(store: Store, main: str) -> None:
    grow(store, main, "q", "a b c")
    tip = str(store.branches.get(main).tip_id)
    for text in ("a B c", "a B c d"):
        node, _ = edit(store, main, tip, parts(text))
        tip = node.id
    grow(store, main, "r", "e")
    found = history(store, lineage(store, main))
    assert [(one.node.text, one.by_hand, one.turn) for one in found] == [
        ("a b c", False, 1),
        ("a B c", True, 1),
        ("a B c d", True, 1),
        ("e", False, 2),
    ]
    assert [one.before.text if one.before else None for one in found] == [
        None,
        "a b c",
        "a B c",
        "a B c d",
    ]


def test_answers_without_words_and_other_speakers_are_no_drafts(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "q", " ")
    assert history(store, lineage(store, main)) == ()
    assert history(store, ()) == ()
    asked = store.nodes.get(str(store.branches.get(main).tip_id)).parent_id
    lone = new_node(session.id, asked, "assistant", parts("x"), source_id=asked)
    store.branches.move(main, store.nodes.add(lone).id, why="answer")
    (only,) = history(store, lineage(store, main))
    assert only.node.text == "x"  # made of a question, which is no draft


def test_the_final_draft_is_the_one_marked_last_else_the_last(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "q", "one", "r", "two")
    path = lineage(store, main)
    assert final_draft(store, session.id, path) == nodes[3]
    store.nodes.mark(nodes[1].id, "final", "2026-01-01T00:00:00.000Z")
    assert final_draft(store, session.id, path) == nodes[1]
    assert [one.final for one in history(store, path)] == [True, False]
    assert final_draft(store, session.id, path[:1]) is None


def test_an_answer_without_words_is_no_final_draft(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "one", "ONE", "two")
    call = (ToolCall(id="1", name="search", arguments="{}"),)
    store.nodes.add(new_node(session.id, nodes[2].id, "assistant", call))
    path = store.nodes.lineage(store.nodes.latest_leaf(nodes[2].id))
    assert final_draft(store, session.id, path) == nodes[1]
    assert store.nodes.outline(session.id)[-1]["snippet"] == "search"
