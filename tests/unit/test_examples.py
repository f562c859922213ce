"""The worked examples as sessions: whole, of one's own, and as changeable as any."""

import pytest

from core import Runner, Session, Store, show, undo
from core.examples import examples, open_example
from core.view import entries
from tests.conftest import ECHO
from tests.unit.house import ask, count, live, path_of

NAMES = sorted(examples())


def test_there_are_three() -> None:
    assert len(NAMES) == 3
    for example in examples().values():
        assert example["title"]
        assert example["blurb"]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_opens_as_it_was_written(store: Store, name: str) -> None:
    example, session = examples()[name], open_example(store, name, ECHO)
    texts = {node["key"]: node["text"] for node in example["nodes"]}
    parents = {node["key"]: node["parent"] for node in example["nodes"]}
    expected = {}
    for branch in example["branches"]:
        path, key = [], branch["tip"]
        while key:
            path.insert(0, texts[key])
            key = parents[key]
        expected[branch["name"]] = path
    assert live(store, session.id) == expected
    assert count(store) == len(texts)
    assert (session.title, session.objective) == (example["title"], example["objective"])
    assert session.config.system == example["system"]
    assert (session.config.provider, session.config.model) == ("echo", "echo-1")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_shows_on_its_first_branch_with_all_that_is_drawn(
    store: Store, name: str
) -> None:
    session = open_example(store, name, ECHO)
    view = show(store, session.id)
    assert view.branch.name == examples()[name]["branches"][0]["name"]
    drawn, _ = entries(store, view)
    assert len(drawn) == len(view.lineage)
    finals = [mark for mark in examples()[name]["marks"] if mark["kind"] == "final"]
    assert len(store.nodes.finals(session.id)) == len(finals)


def test_a_hand_edited_answer_knows_the_model_s_own(store: Store) -> None:
    for name in NAMES:
        session = open_example(store, name, ECHO)
        for row in store.nodes.outline(session.id):
            node = store.nodes.get(row["id"])
            if node.author == "hand-edited":
                assert node.source_id
                original = store.nodes.get(node.source_id)
                assert (original.role, original.parent_id) == (node.role, node.parent_id)
                assert original.author != "hand-edited"


def test_an_example_opened_twice_is_two_sessions(store: Store) -> None:
    first, second = (open_example(store, NAMES[0], ECHO) for _ in range(2))
    assert first.id != second.id
    store.sessions.bin(first.id)
    store.sessions.delete_for_good(first.id)
    assert live(store, second.id)
    assert len(store.search.messages("the", limit=100)) > 0


def test_an_example_is_carried_on_like_any_session(runner: Runner) -> None:
    session: Session = open_example(runner.store, NAMES[0], ECHO)
    assert session.current_branch_id
    before = path_of(runner.store, session.current_branch_id)
    ask(runner, session.current_branch_id, "and now?")
    assert path_of(runner.store, session.current_branch_id) == [*before, "and now?", "and now?"]


@pytest.mark.parametrize("name", NAMES)
def test_undo_does_not_empty_a_fresh_example(store: Store, name: str) -> None:
    session = open_example(store, name, ECHO)
    before = live(store, session.id)
    for branch in store.branches.of(session.id):
        assert undo(store, branch.id) is None
    assert live(store, session.id) == before


def test_an_unknown_example_writes_nothing(store: Store) -> None:
    with pytest.raises(KeyError):
        open_example(store, "nobody", ECHO)
    assert count(store, "sessions") == 0
