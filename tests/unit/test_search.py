"""Search finds words in every message of every branch, whatever people type into it."""

import pytest

from core import Session, Store, edit, prune, restore
from core.store.search import CLOSE, OPEN
from tests.conftest import ECHO
from tests.unit.house import add, execute, grow, parts

TEXTS = {
    "cafe": "Meet me at the Café Müller in Zürich",
    "decomposed": "un e\u0301te\u0301 indien",
    "code": "foo_bar(baz) != qux-quux",
    "quoted": 'She said "never again" and left; 100% sure',
    "syntax": "NEAR AND OR NOT text:something title*",
    "cyrillic": "Привет мир",
    "nul": "before\x00after",
    "emoji": "launch 🚀 day",
    "long": "x" * 5000 + " needle " + "y" * 5000,
}


@pytest.fixture
def said(store: Store, session: Session) -> dict[str, str]:
    """Node ids by the names above."""
    return {name: add(store, session.id, None, text).id for name, text in TEXTS.items()}


def found(store: Store, query: str) -> list[str]:
    return [hit["node_id"] for hit in store.search.messages(query)]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("café", ["cafe"]),
        ("cafe muller", ["cafe"]),
        ("CAFÉ", ["cafe"]),
        ("caf", ["cafe"]),
        ("mull caf", []),
        ("zurich meet", ["cafe"]),
        ("zurich absent", []),
        ("été", ["decomposed"]),
        ("ete", ["decomposed"]),
        ("foo_bar", ["code"]),
        ("foo_bar(baz)", ["code"]),
        ("qux-quux", ["code"]),
        ('"never again"', ["quoted"]),
        ('again "', ["quoted"]),
        ("100%", ["quoted"]),
        ("NEAR AND OR", ["syntax"]),
        ("text:something", ["syntax"]),
        ("title*", ["syntax"]),
        ("NOT", ["syntax"]),
        ("мир", ["cyrillic"]),
        ("ПРИВЕТ", ["cyrillic"]),
        ("before", ["nul"]),
        ("after", ["nul"]),
        ("🚀 day", ["emoji"]),
        ("needle", ["long"]),
    ],
)
def test_words_are_found(store: Store, said: dict[str, str], query: str, names: list[str]) -> None:
    assert found(store, query) == [said[name] for name in names]


@pytest.mark.parametrize(
    "query",
    ["", " ", '"', '""', "*", "(", ")", "^", "-", "+", ":", "🚀", "___", "_", "\x00", "%", "'", ";",
     "a AND", "(a", 'a"b', "text:", "-x", "^x", "{x}", "\ud83d", "x" * 10_000, "NEAR(", "a* b*"],
)  # fmt: skip
def test_nothing_that_is_typed_breaks_the_search(
    store: Store, said: dict[str, str], query: str
) -> None:
    assert isinstance(store.search.messages(query), list)
    assert isinstance(store.search.sessions(query), list)


def test_the_hits_are_marked_and_the_latest_come_first(store: Store, session: Session) -> None:
    for number in range(5):
        add(store, session.id, None, f"apple pie {number}", "user" if number % 2 else "assistant")
    hits = store.search.messages("pie", limit=3)
    assert [hit["snippet"] for hit in hits] == [f"apple {OPEN}pie{CLOSE} {n}" for n in (4, 3, 2)]
    assert hits[0]["role"] == "assistant"
    assert (hits[0]["session_id"], hits[0]["title"]) == (session.id, session.title)


def test_every_branch_is_searched(store: Store, session: Session, main: str) -> None:
    first, _ = grow(store, main, "apples", "answer")
    node, _ = edit(store, main, first.id, parts("apples and pears"))
    assert found(store, "apples") == [node.id, first.id]


def test_what_is_in_the_bin_is_not_found_until_it_is_restored(
    store: Store, session: Session, main: str
) -> None:
    other = store.sessions.create(config=ECHO, title="Secret plan")
    hidden = add(store, other.id, None, "apples")
    assert found(store, "apples") == [hidden.id]
    store.sessions.bin(other.id)
    assert found(store, "apples") == []
    assert store.search.sessions("secret") == []
    store.sessions.restore(other.id)
    assert found(store, "apples") == [hidden.id]
    assert len(store.search.sessions("secret")) == 1


def test_a_pruned_message_is_not_found_until_it_is_restored(
    store: Store, session: Session, main: str
) -> None:
    _, answer, follow_up = grow(store, main, "question", "apples", "more apples")
    pruned = prune(store, answer.id)
    assert found(store, "apples") == []
    restore(store, pruned)
    assert found(store, "apples") == [follow_up.id, answer.id]


@pytest.mark.parametrize(
    ("query", "hit"),
    [
        ("tart", True),
        ("TARTE", True),
        ("bake", True),
        ("sunday", True),
        ("sun day", False),
        ("note_1", True),
        ("noteX1", False),
        ("100%", True),
        ("100 percent", False),
        ("nothing", False),
    ],
)
def test_sessions_are_found_by_title_objective_branch_and_note(
    store: Store, query: str, hit: bool
) -> None:
    made = store.sessions.create(config=ECHO, title="Tarte Tatin", objective="To bake one")
    branch = store.branches.create(made.id, "sunday best", None)
    store.branches.annotate(branch.id, "note_1 is 100% butter")
    store.sessions.create(config=ECHO, title="Unrelated")
    assert [row["title"] for row in store.search.sessions(query)] == ["Tarte Tatin"] * hit


def test_a_new_title_is_found_and_the_old_one_is_not(store: Store, session: Session) -> None:
    store.sessions.change(session.id, title="Kale salad", objective="lunch")
    store.sessions.change(session.id, title="Pear cake")
    assert store.search.sessions("kale") == []
    assert [row["id"] for row in store.search.sessions("pear")] == [session.id]
    assert [row["id"] for row in store.search.sessions("lunch")] == [session.id]
    execute(store, "INSERT INTO sessions_search(sessions_search) VALUES ('integrity-check')")


def test_the_index_is_true_to_every_text(store: Store, said: dict[str, str]) -> None:
    execute(store, "INSERT INTO nodes_search(nodes_search, rank) VALUES ('integrity-check', 1)")
