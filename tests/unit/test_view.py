"""What a tab sees: any link shows something, and never more than it asks for."""

import pytest

from core import Runner, Session, Store, edit, fork, prune, prune_branch, restore, show
from core.errors import NotFound
from core.types import Run
from core.view import WINDOW, entries
from tests.conftest import ECHO
from tests.unit.house import add, ask, begun, grow, parts, path_of, told


def texts(store: Store, session: Session, **link: str | None) -> list[str]:
    return told(show(store, session.id, **link).lineage)


@pytest.fixture
def ids(store: Store, session: Session, main: str) -> dict[str, str]:
    """main: q1 a1 q2 a2 q3; side: q1 a1 s2 t2; ids by text, and of the branch *side*."""
    nodes = grow(store, main, "q1", "a1", "q2", "a2", "q3")
    side = fork(store, nodes[1].id, from_branch=main, name="side")
    nodes += grow(store, side.id, "s2", "t2")
    store.sessions.change(session.id, current_branch_id=main)
    return {node.text: node.id for node in nodes} | {"side": side.id}


MAIN, SIDE = ["q1", "a1", "q2", "a2", "q3"], ["q1", "a1", "s2", "t2"]


# --- links ---


def test_an_empty_session_shows_its_empty_branch(store: Store, session: Session) -> None:
    view = show(store, session.id)
    assert (view.tip_id, view.lineage, view.turn, view.on_branch) == (None, (), 0, True)
    assert entries(store, view) == ([], False)
    with pytest.raises(NotFound):
        show(store, "nobody")


@pytest.mark.parametrize(
    ("link", "shown", "branch", "focus", "on_branch"),
    [
        ({}, MAIN, "main", None, True),
        ({"branch_id": "side"}, SIDE, "side", None, True),
        ({"branch_id": "nobody"}, MAIN, "main", None, True),
        ({"node_id": "nobody"}, MAIN, "main", None, True),
        ({"node_id": "a1"}, MAIN, "main", "a1", True),
        ({"node_id": "q3"}, MAIN, "main", "q3", True),
        ({"node_id": "s2"}, SIDE, "side", "s2", True),
        ({"node_id": "t2", "branch_id": "main"}, SIDE, "side", "t2", True),
        ({"node_id": "q2", "branch_id": "side"}, MAIN, "main", "q2", True),
        ({"run_id": "nobody"}, MAIN, "main", None, True),
    ],
)
def test_a_link_shows_what_it_names_and_passes_over_what_is_not_there(
    store: Store,
    session: Session,
    ids: dict[str, str],
    link: dict[str, str],
    shown: list[str],
    branch: str,
    focus: str | None,
    on_branch: bool,
) -> None:
    view = show(store, session.id, **{key: ids.get(name, name) for key, name in link.items()})
    assert told(view.lineage) == shown
    assert (view.branch.name, view.on_branch) == (branch, on_branch)
    assert view.focus == (ids[focus] if focus else None)


def test_a_node_that_no_branch_leads_to_is_shown_beside_the_branch(
    store: Store, session: Session, ids: dict[str, str]
) -> None:
    lonely = add(store, session.id, ids["a2"], "lonely")
    below = add(store, session.id, lonely.id, "below", "assistant")
    view = show(store, session.id, node_id=lonely.id)
    assert told(view.lineage) == ["q1", "a1", "q2", "a2", "lonely", "below"]
    assert (view.tip_id, view.branch.name, view.on_branch) == (below.id, "main", False)
    assert view.turn == 3


def test_a_node_of_another_session_is_passed_over(
    store: Store, session: Session, ids: dict[str, str]
) -> None:
    other = store.sessions.create(config=ECHO)
    theirs = add(store, other.id, None, "theirs")
    assert texts(store, session, node_id=theirs.id) == MAIN


def test_what_is_in_the_bin_is_passed_over_until_it_is_restored(
    store: Store, session: Session, ids: dict[str, str]
) -> None:
    pruned = prune(store, ids["s2"])
    for link in ({"node_id": ids["t2"]}, {"node_id": ids["s2"]}, {"branch_id": ids["side"]}):
        assert texts(store, session, **link) == MAIN
    restore(store, pruned)
    assert texts(store, session, node_id=ids["t2"]) == SIDE


def test_below_a_node_the_latest_that_is_not_binned_is_shown(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "q1", "a1")
    other = add(store, session.id, None, "other")
    add(store, session.id, other.id, "old", "assistant")
    newest = add(store, session.id, other.id, "new", "assistant")
    assert texts(store, session, node_id=other.id) == ["other", "new"]
    prune(store, newest.id)
    assert texts(store, session, node_id=other.id) == ["other", "old"]


def test_when_the_session_stands_on_a_binned_branch_another_is_shown(
    store: Store, session: Session, main: str, ids: dict[str, str]
) -> None:
    store.sessions.change(session.id, current_branch_id=ids["side"])
    prune_branch(store, ids["side"])
    assert texts(store, session) == MAIN
    store.sessions.change(session.id, current_branch_id="nobody")
    assert texts(store, session) == MAIN


# --- runs ---


def test_a_run_is_waited_for_on_its_branch_and_then_its_answer_is_shown(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    ask(runner, main, "first")
    run = runner.send(main, "/stall 1\none two")
    assert isinstance(run, Run)
    begun(runner, run)
    fork(store, store.nodes.lineage(run.context_tip_id)[1].id, from_branch=main)
    view = show(store, session.id, run_id=run.id)
    assert view.run is not None
    assert (view.run.id, view.tip_id, view.branch.id) == (run.id, run.context_tip_id, main)
    runner.stop(run.id)
    runner.wait(run.id, 10)
    view = show(store, session.id, run_id=run.id)
    assert (view.run, view.lineage[-1].text) == (None, "one")


def test_a_second_answer_is_waited_for_in_place_of_the_first(
    runner: Runner, session: Session, main: str
) -> None:
    first = ask(runner, main, "quick")
    run = runner.regenerate(main, first.node_id or "")
    runner.wait(run.id, 10)
    view = show(runner.store, session.id, run_id=run.id)
    assert [node.id for node in view.lineage][-1] == runner.store.runs.get(run.id).node_id


def test_a_run_that_failed_shows_the_question(runner: Runner, session: Session, main: str) -> None:
    failed = ask(runner, main, "/fail AuthFailed\nwhy")
    view = show(runner.store, session.id, run_id=failed.id)
    assert view.run is not None
    assert view.run.failure is not None
    assert told(view.lineage) == ["/fail AuthFailed\nwhy"]


def test_a_run_of_another_session_is_passed_over(
    runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "mine")
    other = runner.store.sessions.create(config=ECHO)
    assert other.current_branch_id
    theirs = ask(runner, other.current_branch_id, "theirs")
    assert texts(runner.store, session, run_id=theirs.id) == ["mine", "mine"]


def test_a_run_whose_question_is_in_the_bin_is_passed_over(
    runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "first")
    failed = ask(runner, main, "/fail AuthFailed\nwhy")
    prune(runner.store, failed.context_tip_id or "")
    assert texts(runner.store, session, run_id=failed.id) == ["first", "first"]


# --- windows ---


def test_a_long_conversation_is_shown_window_by_window(
    store: Store, session: Session, main: str
) -> None:
    grown = grow(store, main, *[str(n) for n in range(2 * WINDOW + 5)])
    view = show(store, session.id)
    seen: list[str] = []
    numbers: list[int] = []
    before, more = None, True
    while more:
        window, more = entries(store, view, before=before)
        assert len(window) <= WINDOW
        seen[:0] = [entry["id"] for entry in window]
        numbers[:0] = [entry["turn"] for entry in window]
        before = window[0]["id"]
    assert seen == [node.id for node in grown]
    assert numbers == [n // 2 + 1 for n in range(len(grown))]
    assert entries(store, view, before=grown[0].id) == ([], False)
    assert entries(store, view, before="nobody") == ([], False)
    one, more = entries(store, view, before=grown[2].id, limit=1)
    assert ([entry["id"] for entry in one], more) == ([grown[1].id], True)


def test_an_entry_tells_all_that_is_drawn(runner: Runner, session: Session, main: str) -> None:
    store = runner.store
    first = ask(runner, main, "one")
    second = ask(runner, main, "two")
    side = fork(store, first.node_id or "", from_branch=main)
    again = runner.wait(runner.regenerate(main, second.node_id or "").id, 10)
    store.nodes.mark(again.node_id or "", "final", "now")
    entry = dict(
        zip(
            "one ONE two TWO".split(),
            entries(store, show(store, session.id, branch_id=main))[0],
            strict=True,
        )
    )
    assert [found["role"] for found in entry.values()] == ["user", "assistant"] * 2
    assert [found["turn"] for found in entry.values()] == [1, 1, 2, 2]
    assert [branch.id for branch in entry["ONE"]["forks"]] == [side.id]
    assert entry["one"]["siblings"] is entry["two"]["siblings"] is None
    siblings = entry["TWO"]["siblings"]
    assert (siblings.index, siblings.count, siblings.previous) == (2, 2, second.node_id)
    assert [found["final"] for found in entry.values()] == [False, False, False, True]
    assert entry["TWO"]["run"].id == again.id
    assert entry["TWO"]["previous_answer"] == first.node_id
    assert entry["ONE"]["previous_answer"] is None
    assert entry["two"]["previous_answer"] is None


def test_siblings_in_the_bin_and_of_another_role_are_not_counted(
    store: Store, session: Session, main: str
) -> None:
    question, answer = grow(store, main, "q", "a")
    other, _ = edit(store, main, answer.id, parts("b"))
    add(store, session.id, question.id, "a follow-up at once")
    window, _ = entries(store, show(store, session.id))
    assert window[-1]["siblings"].count == 2
    prune(store, answer.id)
    window, _ = entries(store, show(store, session.id))
    assert (window[-1]["id"], window[-1]["siblings"]) == (other.id, None)


def test_roots_are_siblings_of_each_other(store: Store, session: Session, main: str) -> None:
    first, _ = grow(store, main, "q", "a")
    _, branch = edit(store, main, first.id, parts("another beginning"))
    (entry,), _ = entries(store, show(store, session.id, branch_id=branch.id))
    assert (entry["siblings"].index, entry["siblings"].previous) == (2, first.id)


def test_looking_writes_nothing(store: Store, session: Session, ids: dict[str, str]) -> None:
    with store._db.read() as db:
        before = db.conn.execute("PRAGMA data_version").fetchone()
        for node_id in (None, ids["s2"], ids["q1"]):
            entries(store, show(store, session.id, node_id=node_id))
        assert db.conn.execute("PRAGMA data_version").fetchone() == before
    assert path_of(store, ids["side"]) == SIDE
