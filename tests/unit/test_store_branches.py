"""Branches: the only pointers that move, with their moves, overrides, recaps and waiting words."""

import pytest

from core import Session, Store
from core.errors import NameTaken, NotFound
from core.types import Override, Recap, new_id, now
from tests.unit.house import add, execute, grow, path_of


def recap(store: Store, session: Session, covers: str, text: str = "so far") -> Recap:
    return store.recaps.add(
        Recap(id=new_id(), session_id=session.id, covers_to=covers, text=text, created_at=now())
    )


# --- names ------------------------------------------------------------------------------------
def test_a_name_is_there_once_in_a_session(store: Store, session: Session, main: str) -> None:
    store.branches.create(session.id, "other", None)
    for wanted in ("main", "other"):
        with pytest.raises(NameTaken, match=wanted):
            store.branches.create(session.id, wanted, None)
    with pytest.raises(NameTaken):
        store.branches.rename(main, "other")
    store.branches.rename(main, "main")
    assert [branch.name for branch in store.branches.of(session.id)] == ["main", "other"]


def test_a_name_is_free_again_once_its_branch_is_in_the_bin(store: Store, session: Session) -> None:
    old = store.branches.create(session.id, "draft", None)
    store.branches.bin(old.id, now())
    assert store.branches.create(session.id, "draft", None).name == "draft"
    assert [branch.id for branch in store.branches.of(session.id, binned=True)] == [old.id]


def test_two_sessions_may_use_one_name(store: Store, session: Session) -> None:
    other = store.sessions.create(config=session.config)
    assert store.branches.create(other.id, "x", None).name == "x"
    assert store.branches.create(session.id, "x", None).name == "x"


@pytest.mark.parametrize(("name", "kept"), [("ü 'quoted'", "ü 'quoted'"), ("a\ud83d", "a\ufffd")])
def test_any_name_and_note_is_kept(
    store: Store, session: Session, main: str, name: str, kept: str
) -> None:
    made = store.branches.create(session.id, name, None)
    assert made == store.branches.get(made.id)
    assert made.name == kept
    store.branches.rename(main, f"{name}!")
    store.branches.annotate(main, name)
    found = store.branches.get(main)
    assert (found.name, found.note) == (f"{kept}!", kept)


def test_a_branch_that_is_not_there_is_said_so(store: Store) -> None:
    for act in (
        lambda: store.branches.get("nobody"),
        lambda: store.branches.rename("nobody", "x"),
        lambda: store.branches.move("nobody", None, why="send"),
        lambda: store.branches.take_queued("nobody"),
        lambda: store.branches.take_bin("nobody"),
    ):
        with pytest.raises(NotFound):
            act()


# --- moves ------------------------------------------------------------------------------------
def test_a_branch_moves_only_from_where_it_is_expected(
    store: Store, session: Session, main: str
) -> None:
    a, b = grow(store, main, "a", "b")
    c = add(store, session.id, b.id, "c")
    assert not store.branches.move(main, c.id, why="send", expected=a.id)
    assert not store.branches.move(main, c.id, why="send", expected=None)
    assert path_of(store, main) == ["a", "b"]
    assert store.branches.move(main, c.id, why="send", expected=b.id)
    assert path_of(store, main) == ["a", "b", "c"]


def test_a_question_and_its_answer_are_taken_back_together(store: Store, main: str) -> None:
    grow(store, main, "q1", "a1", "q2", "a2")
    assert store.branches.undo(main)
    assert path_of(store, main) == ["q1", "a1"]
    assert store.branches.undo(main)
    assert path_of(store, main) == []
    assert store.branches.undo(main) is None


def test_another_answer_is_a_move_of_its_own(store: Store, session: Session, main: str) -> None:
    question, _ = grow(store, main, "q", "first")
    second = add(store, session.id, question.id, "second", "assistant")
    store.branches.move(main, second.id, why="answer")
    undone = store.branches.undo(main)
    assert undone is not None
    assert undone["why"] == "answer"
    assert path_of(store, main) == ["q", "first"]


def test_a_question_without_an_answer_is_taken_back_alone(store: Store, main: str) -> None:
    grow(store, main, "q1", "a1", "q2")
    store.branches.undo(main)
    assert path_of(store, main) == ["q1", "a1"]


def test_forks_are_found_where_they_were_made(store: Store, session: Session, main: str) -> None:
    a, b = grow(store, main, "a", "b")
    one = store.branches.create(session.id, "one", a.id, forked_from=a.id)
    two = store.branches.create(session.id, "two", a.id, forked_from=a.id)
    assert store.branches.forked_at([a.id, b.id]) == {a.id: [one, two]}
    store.branches.bin(one.id, now())
    assert store.branches.forked_at([a.id]) == {a.id: [two]}
    assert [x.name for x in store.branches.with_tip_in([a.id, b.id])] == ["main", "two"]


# --- overrides and recaps ---------------------------------------------------------------------
def test_one_recap_at_most_is_active(store: Store, session: Session, main: str) -> None:
    (a,) = grow(store, main, "a")
    one, two = recap(store, session, a.id, "half \ud83d"), recap(store, session, a.id)
    assert [found.text for found in store.recaps.of(session.id)] == ["half \ufffd", "so far"]
    assert store.recaps.overrides(main) == ()
    for chosen in (one, two):
        store.recaps.override(main, Override(kind="recap", target_id=chosen.id))
    store.recaps.override(main, Override(kind="pin", target_id=a.id))
    store.recaps.override(main, Override(kind="pin", target_id=a.id))
    expected = (Override(kind="pin", target_id=a.id), Override(kind="recap", target_id=two.id))
    assert store.recaps.overrides(main) == expected
    store.recaps.override(main, expected[1], on=False)
    assert store.recaps.overrides(main) == expected[:1]
    assert len(store.recaps.of(session.id)) == 2, "switching a recap off deletes nothing"


def test_a_fork_takes_the_overrides_along_and_then_goes_its_own_way(
    store: Store, session: Session, main: str
) -> None:
    (a,) = grow(store, main, "a")
    one, two = recap(store, session, a.id), recap(store, session, a.id)
    active, other = (Override(kind="recap", target_id=found.id) for found in (one, two))
    mute = Override(kind="mute", target_id=a.id)
    for override in (active, mute):
        store.recaps.override(main, override)
    made = store.branches.create(session.id, "fork", a.id)
    store.branches.inherit(main, made.id)
    assert store.recaps.overrides(made.id) == store.recaps.overrides(main) == (mute, active)
    store.recaps.override(made.id, other)
    assert store.recaps.overrides(main) == (mute, active)
    assert store.recaps.overrides(made.id) == (mute, other)


# --- the queue --------------------------------------------------------------------------------
def test_waiting_words_keep_their_order_and_are_taken_once(store: Store, main: str) -> None:
    ids = [store.branches.enqueue(main, f"word {n}\ud83d") for n in range(20)]
    texts = [waiting["text"] for waiting in store.branches.queued(main)]
    assert texts == [f"word {n}\ufffd" for n in range(20)]
    assert store.branches.take_queued(ids[3])["text"] == "word 3\ufffd"
    with pytest.raises(NotFound):
        store.branches.take_queued(ids[3])
    assert len(store.branches.queued(main)) == 19


def test_what_is_held_or_offered_does_not_follow_an_answer(
    store: Store, session: Session, main: str
) -> None:
    other = store.branches.create(session.id, "other", None)
    store.branches.enqueue(main, "held", "held")
    store.branches.enqueue(main, "offer", "offer")
    store.branches.enqueue(main, "waiting")
    store.branches.move_queue(main, other.id)
    assert [waiting["text"] for waiting in store.branches.queued(other.id)] == ["waiting"]
    store.branches.hold_queue(other.id)
    store.branches.hold_queue(main)
    states = {w["text"]: w["state"] for b in (main, other.id) for w in store.branches.queued(b)}
    assert states == {"held": "held", "offer": "offer", "waiting": "held"}


# --- the bin ----------------------------------------------------------------------------------
def test_a_bin_is_taken_once_and_hides_its_root_until_then(store: Store, session: Session) -> None:
    root = add(store, session.id, None, "root")
    first = store.branches.add_bin(session.id, root.id, [{"branch": "b"}], "label \ud83d")
    second = store.branches.add_bin(session.id, None, [], "a branch")
    assert [found["id"] for found in store.branches.bins(session.id)] == [second, first]
    assert store.branches.bins(session.id)[1]["label"] == "label \ufffd"
    assert store.branches.hidden_roots(session.id) == {root.id}
    assert store.branches.take_bin(first)["branches"] == [{"branch": "b"}]
    assert store.branches.hidden_roots(session.id) == set()
    with pytest.raises(NotFound):
        store.branches.take_bin(first)


def test_a_tip_cannot_be_deleted_from_under_a_branch(store: Store, main: str) -> None:
    (a,) = grow(store, main, "a")
    with pytest.raises(Exception, match="FOREIGN KEY"):
        execute(store, "DELETE FROM nodes WHERE id = ?", a.id)
    assert path_of(store, main) == ["a"]
