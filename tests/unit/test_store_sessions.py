"""Sessions: the list, the bin, and what deleting for good deletes."""

from dataclasses import replace

import pytest

from core import Runner, Session, Store
from core.errors import NotFound
from core.store.sessions import title_from
from core.types import Override, Recap, new_id, now
from tests.conftest import ECHO
from tests.unit.house import add, ask, count, execute, grow, live, path_of

TABLES = (
    "sessions nodes branches branch_moves overrides recaps marks bins queue runs wire configs"
    " envelopes"
).split()


def titles(store: Store, *, binned: bool = False) -> list[str]:
    return [row["title"] for row in store.sessions.recent(binned=binned)]


def test_a_new_session_has_one_empty_branch(store: Store) -> None:
    made = store.sessions.create(
        config=ECHO, title="T", objective="O", done_when="D", turn_budget=3
    )
    assert store.sessions.get(made.id) == made
    (branch,) = store.branches.of(made.id)
    assert (branch.name, branch.tip_id, branch.id) == ("main", None, made.current_branch_id)
    assert (made.objective, made.done_when, made.turn_budget) == ("O", "D", 3)
    with pytest.raises(NotFound):
        store.sessions.get("nobody")


def test_every_change_is_kept_and_nothing_else_may_be_changed(
    store: Store, session: Session
) -> None:
    store.sessions.change(session.id, title="a\ud83d", objective="o", turn_budget=None)
    store.sessions.choose(session.id, replace(ECHO, system="half \ud83d", sampling={"t": 0.1}))
    found = store.sessions.get(session.id)
    assert (found.title, found.objective, found.turn_budget) == ("a\ufffd", "o", None)
    assert (found.config.system, found.config.sampling) == ("half \ufffd", {"t": 0.1})
    with pytest.raises(ValueError, match="id"):
        store.sessions.change(session.id, id="other")


def test_the_list_is_by_the_latest_touch(store: Store) -> None:
    for title in "abc":
        made = store.sessions.create(config=ECHO, title=title)
        execute(
            store, "UPDATE sessions SET updated_at = ? WHERE id = ?", f"2020-01-0{title}", made.id
        )
    assert titles(store) == ["c", "b", "a"]
    first = next(row for row in store.sessions.recent() if row["title"] == "a")
    store.sessions.touch(first["id"])
    assert titles(store) == ["a", "c", "b"]
    assert [row["title"] for row in store.sessions.recent(limit=2)] == ["a", "c"]


def test_sessions_of_the_same_moment_are_listed_latest_first(store: Store) -> None:
    for title in "abc":
        store.sessions.create(config=ECHO, title=title)
    execute(store, "UPDATE sessions SET updated_at = '2026-01-01T00:00:00.000Z'")
    assert titles(store) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello there", "Hello there"),
        ("\n\n  # Plan *now*\nmore", "Plan *now"),
        ("```\ncode", "code"),
        ("word " * 40, ("word " * 14).strip() + "…"),
        ("x" * 200, "x" * 70 + "…"),
        (" \n ", "New session"),
        ("- 🎉", "🎉"),
    ],
)
def test_an_untitled_session_takes_its_title_from_the_first_message(
    store: Store, session: Session, text: str, title: str
) -> None:
    store.sessions.touch(session.id, text)
    assert store.sessions.get(session.id).title == title
    store.sessions.touch(session.id, "something else")
    assert store.sessions.get(session.id).title == (
        "something else" if title == "New session" else title
    )


def test_a_title_is_at_most_a_line_long() -> None:
    assert len(title_from("lorem ipsum " * 50)) <= 71


def test_a_session_is_unread_from_an_answer_until_somebody_looks(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store

    def row() -> tuple[int, int]:
        (found,) = store.sessions.recent()
        return found["unread"], found["running"]

    assert row() == (0, 0)
    run = runner.send(main, "/stall 1\none two")
    execute(store, "UPDATE sessions SET seen_at = '2020' WHERE id = ?", session.id)
    assert row() == (1, 1)
    runner.stop(run.id)
    runner.wait(run.id, 10)
    assert row() == (1, 0)
    store.sessions.seen(session.id)
    assert row() == (0, 0)
    store.sessions.seen("nobody")


def test_the_bin_takes_a_session_whole_and_gives_it_back(store: Store, session: Session) -> None:
    assert session.current_branch_id
    grow(store, session.current_branch_id, "q", "a")
    other = store.sessions.create(config=ECHO, title="other")
    store.sessions.bin(session.id)
    assert (titles(store), titles(store, binned=True)) == (["other"], ["New session"])
    assert (store.sessions.count(), store.sessions.count(binned=True)) == (1, 1)
    assert store.sessions.get(session.id).binned_at
    store.sessions.restore(session.id)
    assert (store.sessions.count(), store.sessions.count(binned=True)) == (2, 0)
    assert live(store, session.id) == {"main": ["q", "a"]}
    assert other.id in [row["id"] for row in store.sessions.recent()]


# --- for good ---------------------------------------------------------------------------------
def furnish(runner: Runner, text: str) -> Session:
    """A session that has a row in every table, with ``text`` wherever a text can be."""
    store = runner.store
    session = store.sessions.create(
        config=replace(ECHO, system=text), title=text, objective=text, done_when=text
    )
    assert session.current_branch_id
    run = ask(runner, session.current_branch_id, f"/think {text}\n{text}")
    assert run.node_id
    ask(runner, session.current_branch_id, f"/fail Overloaded after 1\n{text} {text}")
    branch = store.branches.create(session.id, text, run.node_id, forked_from=run.node_id)
    store.branches.annotate(branch.id, text)
    store.branches.enqueue(branch.id, text, "held")
    recap = store.recaps.add(
        Recap(
            id=new_id(),
            session_id=session.id,
            covers_to=run.node_id,
            text=text,
            created_at=now(),
        )
    )
    store.recaps.override(branch.id, Override(kind="recap", target_id=recap.id))
    store.nodes.mark(run.node_id, "note", text)
    store.branches.add_bin(session.id, None, [], text)
    return session


def test_deleting_for_good_leaves_no_row_of_the_session_and_every_row_of_others(
    runner: Runner,
) -> None:
    store = runner.store
    kept = furnish(runner, "harmless")
    before = {table: count(store, table) for table in TABLES}
    assert 0 not in before.values(), before
    lines = live(store, kept.id)
    sent = [store.runs.sent(run) for run in run_ids(store, kept)]
    gone = furnish(runner, "confidential")
    store.sessions.bin(gone.id)
    store.sessions.delete_for_good(gone.id)
    store.nodes.forget()
    assert {table: count(store, table) for table in TABLES} == before
    assert live(store, kept.id) == lines
    assert [store.runs.sent(run) for run in run_ids(store, kept)] == sent
    with pytest.raises(NotFound):
        store.sessions.get(gone.id)
    execute(store, "INSERT INTO nodes_search(nodes_search) VALUES ('integrity-check')")
    execute(store, "INSERT INTO sessions_search(sessions_search) VALUES ('integrity-check')")
    assert store.search.messages("confidential") == store.search.sessions("confidential") == []
    assert len(store.search.messages("harmless")) > 0


def run_ids(store: Store, session: Session) -> list[str]:
    with store._db.read() as db:
        rows = db.query("SELECT id FROM runs WHERE session_id = ? ORDER BY id", [session.id])
        return [row["id"] for row in rows]


def test_what_two_sessions_sent_alike_stays_for_the_other(runner: Runner) -> None:
    store = runner.store
    first, second = (store.sessions.create(config=ECHO) for _ in range(2))
    runs = []
    for session in (first, second):
        assert session.current_branch_id
        runs.append(ask(runner, session.current_branch_id, "the same"))
        ask(runner, session.current_branch_id, "the same again")
    store.sessions.bin(first.id)
    store.sessions.delete_for_good(first.id)
    assert store.runs.sent(runs[1].id).messages == ({"role": "user", "text": "the same"},)
    assert count(store, "wire") == 3


def test_only_what_is_in_the_bin_is_deleted(store: Store, session: Session, main: str) -> None:
    grow(store, main, "q", "a")
    store.sessions.delete_for_good(session.id)
    assert live(store, session.id) == {"main": ["q", "a"]}, "another tab had restored it"


def test_a_very_long_conversation_can_be_deleted(store: Store, session: Session, main: str) -> None:
    grow(store, main, *[str(n) for n in range(2500)])
    store.sessions.bin(session.id)
    store.sessions.delete_for_good(session.id)
    assert count(store) == count(store, "sessions") == 0


def test_deleting_one_session_touches_no_other(store: Store, session: Session) -> None:
    other = store.sessions.create(config=ECHO)
    assert other.current_branch_id
    grow(store, other.current_branch_id, "mine")
    add(store, session.id, None, "theirs")
    store.sessions.bin(session.id)
    store.sessions.delete_for_good(session.id)
    store.sessions.delete_for_good("nobody")
    assert path_of(store, other.current_branch_id) == ["mine"]
