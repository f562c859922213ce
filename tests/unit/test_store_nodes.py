"""Nodes: written once, never changed, and read back letter by letter."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Node, Session, Store, Text
from core.branching import new_node
from core.errors import NotFound
from core.types import AttachmentRef, Thinking, ToolCall, ToolResult, new_id, now
from tests.conftest import ECHO
from tests.unit.house import add, count, execute, grow, parts, told

HALF = "\ud83d"
OTHER_HALF = "\ude00"


@pytest.mark.parametrize("column", ["text", "parts_json", "parent_id", "session_id", "seq", "role"])
def test_no_column_of_a_node_can_be_changed(
    store: Store, session: Session, main: str, column: str
) -> None:
    (node,) = grow(store, main, "as it was")
    with pytest.raises(sqlite3.IntegrityError, match="immutable"):
        execute(store, f"UPDATE nodes SET {column} = {column} WHERE id = ?", node.id)
    assert store.nodes.get(node.id) == node


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\n leading and trailing \r\n",
        "a\x00b\x00",
        "\ufeffa mark at the beginning",
        "👩‍👩‍👧‍👦 🇨🇭 e\u0301 ｆｕｌｌ עברית \u202e",
        "'; DROP TABLE nodes; --",
        '{"type": "text"}',
        "x" * 1_000_000,
        "ü€😀" * 100_000,
    ],
    ids=["none", "white", "nul", "bom", "unicode", "sql", "json", "1 MB", "wide"],
)
def test_a_text_comes_back_as_it_was_typed(store: Store, session: Session, text: str) -> None:
    written = add(store, session.id, None, text)
    with Store.open(store.path) as again:
        assert again.nodes.get(written.id).text == written.text == text


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (f"a{HALF}b", "a\ufffdb"),
        (f"{OTHER_HALF}{HALF}", "\ufffd\ufffd"),
        (f"{HALF}{OTHER_HALF}", "😀"),
        (f"fine {HALF}", "fine \ufffd"),
    ],
)
def test_half_a_character_never_costs_the_message(
    store: Store, session: Session, typed: str, kept: str
) -> None:
    written = add(store, session.id, None, typed)
    assert written.text == store.nodes.get(written.id).text == kept


def test_half_a_character_is_survived_in_every_part(store: Store, session: Session) -> None:
    node = new_node(
        session.id,
        None,
        "assistant",
        (
            Thinking(text=f"hm{HALF}"),
            Text(text="words"),
            ToolCall(id="1", name="look", arguments=f'{{"at": "{HALF}"}}'),
            ToolResult(call_id="1", name="look", text=f"saw {HALF}"),
            AttachmentRef(sha256="0", media_type="text/plain", name=f"a{HALF}.txt"),
        ),
        raw={"text": HALF},
        sent_suffix=f"remember {HALF}",
    )
    written = store.nodes.add(node)
    assert written.text == "words"
    assert [part.type for part in written.parts] == [part.type for part in node.parts]
    assert written.raw == {"text": HALF}


def test_every_field_comes_back(store: Store, session: Session) -> None:
    first = add(store, session.id, None, "first")
    node = Node(
        id=new_id(),
        session_id=session.id,
        parent_id=first.id,
        role="assistant",
        parts=(Thinking(text="hm"), Text(text="a"), ToolCall(id="1", name="n", arguments="{}")),
        author="hand-edited",
        created_at=now(),
        source_id=first.id,
        sent_suffix="and this",
        raw=[{"x": None}],
    )
    assert store.nodes.add(node) == node
    assert store.nodes.many([node.id, "nobody", first.id]) == [node, first]


def test_a_node_that_is_not_there_is_said_so(store: Store, session: Session) -> None:
    for look in (store.nodes.get, store.nodes.lineage):
        with pytest.raises(NotFound):
            look("nobody")
    assert store.nodes.lineage(None) == ()


def test_a_node_needs_a_parent_that_exists(store: Store, session: Session) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        add(store, session.id, "nobody", "an orphan")
    assert count(store) == 0


# --- lineages, against the naive walk ---------------------------------------------------------
TREES = st.lists(st.one_of(st.none(), st.integers(min_value=0, max_value=10**6)), max_size=60)


def naive(nodes: dict[str, Node], tip: str) -> list[str]:
    path: list[str] = []
    at: str | None = tip
    while at is not None:
        path.append(at)
        at = nodes[at].parent_id
    return path[::-1]


@given(shape=TREES, looks=st.lists(st.integers(min_value=0, max_value=10**6), max_size=60))
def test_a_remembered_lineage_is_the_walk_from_tip_to_root(
    tmp_path_factory: pytest.TempPathFactory, shape: list[int | None], looks: list[int]
) -> None:
    with Store.open(tmp_path_factory.mktemp("tree") / "t.db") as store:
        session = store.sessions.create(config=ECHO)
        nodes: dict[str, Node] = {}
        ids: list[str] = []
        with store.write():
            for number, parent in enumerate(shape):
                above = ids[parent % len(ids)] if ids and parent is not None else None
                node = add(store, session.id, above, str(number))
                nodes[node.id] = node
                ids.append(node.id)
        for look in looks if ids else []:
            tip = ids[look % len(ids)]
            assert [node.id for node in store.nodes.lineage(tip)] == naive(nodes, tip)
        check_the_derived(store, session.id, nodes, ids)


def check_the_derived(
    store: Store, session_id: str, nodes: dict[str, Node], ids: list[str]
) -> None:
    """Children, leaves, subtrees and the outline, against a plain reading of the nodes."""
    children: dict[str | None, list[str]] = {}
    for node_id in ids:
        children.setdefault(nodes[node_id].parent_id, []).append(node_id)
    found = store.nodes.child_ids([None, *ids], session_id)
    assert {parent: [i for i, _ in kids] for parent, kids in found.items()} == children
    outline = store.nodes.outline(session_id)
    assert [row["id"] for row in outline] == ids
    assert all(row["parent_id"] is None or row["parent_id"] in ids for row in outline)
    for node_id in ids[:10]:
        leaf = node_id
        while leaf in children:
            leaf = children[leaf][-1]
        assert store.nodes.latest_leaf(node_id) == leaf
        below = store.nodes.subtree(node_id)
        assert below == {other for other in ids if node_id in naive(nodes, other)}


def test_a_lineage_of_a_thousand_turns_is_whole(store: Store, main: str) -> None:
    grown = grow(store, main, *[str(n) for n in range(2000)])
    with Store.open(store.path) as again:
        assert told(again.nodes.lineage(grown[-1].id)) == told(grown)
        assert told(again.nodes.lineage(grown[5].id)) == told(grown[:6])


def test_a_taken_back_transaction_leaves_no_node(store: Store, session: Session, main: str) -> None:
    grow(store, main, "kept")

    def half_way() -> None:
        with store.write():
            grow(store, main, "lost", "lost too")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half_way()
    assert count(store) == 1
    assert told(store.nodes.lineage(store.branches.get(main).tip_id)) == ["kept"]


# --- children and leaves ----------------------------------------------------------------------
def test_the_latest_leaf_passes_by_what_is_hidden(store: Store, session: Session) -> None:
    root = add(store, session.id, None, "root")
    old = add(store, session.id, root.id, "old")
    new = add(store, session.id, root.id, "new")
    below = add(store, session.id, new.id, "below")
    assert store.nodes.latest_leaf(root.id) == below.id
    assert store.nodes.latest_leaf(root.id, {below.id}) == new.id
    assert store.nodes.latest_leaf(root.id, {new.id}) == old.id
    assert store.nodes.latest_leaf(root.id, {new.id, old.id}) == root.id


def test_the_roots_are_those_of_the_session_asked_for(store: Store, session: Session) -> None:
    other = store.sessions.create(config=ECHO)
    mine, theirs = add(store, session.id, None, "mine"), add(store, other.id, None, "theirs")
    assert store.nodes.child_ids([None], session.id) == {None: [(mine.id, "user")]}
    assert store.nodes.children([None], other.id) == [theirs]
    assert store.nodes.children([], session.id) == []


def test_the_outline_tells_only_what_is_new(store: Store, session: Session) -> None:
    add(store, session.id, None, "one " * 100)
    seen = store.nodes.last_seq(session.id)
    assert store.nodes.outline(session.id, after=seen) == []
    new = add(store, session.id, None, "two", "assistant")
    assert [row["id"] for row in store.nodes.outline(session.id, after=seen)] == [new.id]
    assert len(store.nodes.outline(session.id)[0]["snippet"]) == 80


# --- marks ------------------------------------------------------------------------------------
def test_a_mark_is_set_changed_and_taken_off(store: Store, session: Session) -> None:
    one, two = add(store, session.id, None, "one"), add(store, session.id, None, "two")
    store.nodes.mark(one.id, "final", "2")
    store.nodes.mark(two.id, "final", "1")
    store.nodes.mark(one.id, "note", f"half {HALF}")
    assert store.nodes.finals(session.id) == [two.id, one.id]
    store.nodes.mark(one.id, "final", "0")
    assert store.nodes.marks([one.id, two.id])[one.id]["final"] == "0"
    store.nodes.mark(two.id, "final", None)
    assert store.nodes.finals(session.id) == [one.id]
    assert two.id not in store.nodes.marks([one.id, two.id])


def test_a_mark_on_nothing_is_said_so(store: Store, session: Session) -> None:
    with pytest.raises(NotFound):
        store.nodes.mark("nobody", "star", "1")


def test_parts_without_words_are_kept(store: Store, session: Session) -> None:
    node = store.nodes.add(new_node(session.id, None, "assistant", (Thinking(text="only this"),)))
    assert (node.text, node.parts) == ("", (Thinking(text="only this"),))
    assert store.nodes.add(new_node(session.id, None, "assistant", ())).parts == ()
    assert store.nodes.add(new_node(session.id, None, "user", parts("x"))).text == "x"
