"""Comparisons and lanes on disk: what stands side by side, and where words came from."""

import pytest

from core import Session, Store, prune_branch, restore
from core.errors import NotFound
from core.types import Comparison, Origin, now
from tests.conftest import ECHO
from tests.unit.house import count, grow


@pytest.fixture
def comparison(store: Store, session: Session) -> Comparison:
    return store.comparisons.create(session.id, "Two", at_id="node", seed=7)


def more(store: Store, session: Session, name: str) -> str:
    return store.branches.create(session.id, name, None).id


def test_a_comparison_comes_back_as_it_was_made(store: Store, comparison: Comparison) -> None:
    found = store.comparisons.get(comparison.id)
    assert found == comparison
    assert (found.name, found.at_id, found.seed, found.blind) == ("Two", "node", 7, False)
    store.comparisons.rename(comparison.id, "Three \ud800")
    store.comparisons.set_blind(comparison.id, True)
    found = store.comparisons.get(comparison.id)
    assert (found.name, found.blind) == ("Three \ufffd", True)


def test_the_latest_comparison_comes_first(store: Store, session: Session) -> None:
    made = [store.comparisons.create(session.id, str(n)).id for n in range(3)]
    store.comparisons.create(store.sessions.create(config=ECHO).id, "elsewhere")
    assert [one.id for one in store.comparisons.of(session.id)] == made[::-1]
    assert [one.id for one in store.comparisons.of(session.id, limit=1)] == [made[2]]


@pytest.mark.parametrize("what", ["get", "lane"])
def test_what_is_not_there_is_said_to_be_missing(store: Store, what: str) -> None:
    with pytest.raises(NotFound) as refused:
        getattr(store.comparisons, what)("nobody")
    assert refused.value.hint


def test_lanes_stand_in_the_order_in_which_they_came(
    store: Store, session: Session, main: str, comparison: Comparison
) -> None:
    first = store.comparisons.add_lane(comparison.id, main)
    other = store.comparisons.add_lane(
        comparison.id, more(store, session, "b"), sample=2, after=first.id
    )
    assert [lane.place for lane in (first, other)] == [0, 1]
    assert store.comparisons.lanes(comparison.id) == [first, other]
    assert store.comparisons.lane(other.id) == other
    assert (other.sample, other.after) == (2, first.id)
    assert [one.id for one in store.comparisons.with_branch(main)] == [comparison.id]
    assert store.comparisons.with_branch("nobody") == []


def test_a_dropped_lane_is_left_out_until_it_comes_back(
    store: Store, session: Session, main: str, comparison: Comparison
) -> None:
    first = store.comparisons.add_lane(comparison.id, main)
    other = store.comparisons.add_lane(comparison.id, more(store, session, "b"))
    store.comparisons.drop(first.id, now())
    assert store.comparisons.lanes(comparison.id) == [other]
    every = store.comparisons.lanes(comparison.id, dropped=True)
    assert [lane.id for lane in every] == [first.id, other.id]
    third = store.comparisons.add_lane(comparison.id, more(store, session, "c"))
    assert third.place == 2  # the place of a dropped lane stays its own
    store.comparisons.drop(first.id, None)
    assert store.comparisons.lanes(comparison.id) == [first, other, third]


def test_one_lane_is_kept_at_a_time(
    store: Store, session: Session, main: str, comparison: Comparison
) -> None:
    first = store.comparisons.add_lane(comparison.id, main)
    other = store.comparisons.add_lane(comparison.id, more(store, session, "b"))
    elsewhere = store.comparisons.create(session.id, "Another")
    stranger = store.comparisons.add_lane(elsewhere.id, main)
    store.comparisons.keep(stranger.id)
    for chosen in (first, other):
        store.comparisons.keep(chosen.id)
        marks = {lane.id: lane.kept_at for lane in store.comparisons.lanes(comparison.id)}
        assert [found for found, at in marks.items() if at] == [chosen.id]
    assert store.comparisons.lane(stranger.id).kept_at


def test_a_lane_whose_branch_is_in_the_bin_is_not_shown(
    store: Store, session: Session, main: str, comparison: Comparison
) -> None:
    grow(store, main, "q", "a")
    binned = more(store, session, "b")
    first = store.comparisons.add_lane(comparison.id, main)
    gone = store.comparisons.add_lane(comparison.id, binned)
    bin_id = prune_branch(store, binned)
    assert store.comparisons.lanes(comparison.id) == [first]
    assert store.comparisons.lanes(comparison.id, dropped=True) == [first]
    restore(store, bin_id)
    assert store.comparisons.lanes(comparison.id) == [first, gone]


def test_origins_are_noted_once(store: Store, main: str) -> None:
    one, two, three = grow(store, main, "a", "b", "c")
    origins = [
        Origin(node_id=three.id, origin_id=one.id, kind="fuse", branch_id=main),
        Origin(node_id=three.id, origin_id=two.id, kind="fuse"),
    ]
    store.comparisons.note_origins(three.id, origins)
    store.comparisons.note_origins(three.id, origins[:1])
    found = store.comparisons.origins([one.id, three.id])
    assert list(found) == [three.id]
    assert sorted(found[three.id], key=lambda one: one.origin_id) == sorted(
        origins, key=lambda one: one.origin_id
    )


def test_a_session_that_is_deleted_for_good_takes_all_of_it_along(
    store: Store, session: Session, main: str, comparison: Comparison
) -> None:
    node, *_ = grow(store, main, "a")
    store.comparisons.add_lane(comparison.id, main)
    store.comparisons.note_origins(node.id, [Origin(node_id=node.id, origin_id="x", kind="pick")])
    other = store.sessions.create(config=ECHO)
    kept = store.comparisons.create(other.id, "stays")
    store.sessions.bin(session.id)
    store.sessions.delete_for_good(session.id)
    assert store.comparisons.of(session.id) == []
    assert store.comparisons.of(other.id) == [kept]
    assert [count(store, table) for table in ("comparisons", "lanes", "origins")] == [1, 0, 0]
