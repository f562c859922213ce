"""Verdicts, checks and rubrics on disk."""

from typing import Any

import pytest

from core import Session, Store
from core.types import Verdict, new_id, now
from tests.conftest import ECHO
from tests.unit.house import count


def verdict(session: Session, **more: Any) -> Verdict:
    return Verdict(
        **{
            "id": new_id(),
            "session_id": session.id,
            "by": "person",
            "tips": {"branch a": "node 1", "branch b": "node 2"},
            "created_at": now(),
        }
        | more
    )


def test_a_verdict_comes_back_as_it_was_given(store: Store, session: Session) -> None:
    plain = verdict(session)
    full = verdict(
        session,
        by="judge",
        comparison_id="comparison",
        winner="branch a",
        tie=False,
        blind=True,
        ratings={"branch a": 8.5, "branch b": 3},
        note="Clearer. Grüße",
        body={"votes": [{"order": ["b", "a"], "reason": "shorter \ud800"}]},
    )
    tied = verdict(session, tie=True)
    for one in (plain, full, tied):
        store.verdicts.add(one)
    assert store.verdicts.of(session.id) == [tied, full, plain]


def test_verdicts_of_a_comparison_of_a_session_and_of_all(store: Store, session: Session) -> None:
    other = store.sessions.create(config=ECHO)
    ours = [verdict(session, comparison_id=name) for name in ("one", "two", "two")]
    theirs = verdict(other, comparison_id="three")
    for one in (*ours, theirs):
        store.verdicts.add(one)
    assert store.verdicts.of(session.id, comparison_id="two") == ours[:0:-1]
    assert store.verdicts.of(comparison_id="three") == [theirs]
    assert store.verdicts.of(session.id, comparison_id="three") == []
    assert store.verdicts.of() == [theirs, *ours[::-1]]
    assert store.verdicts.of(limit=2) == [theirs, ours[2]]


def test_a_verdict_can_be_taken_back(store: Store, session: Session) -> None:
    first, other = verdict(session), verdict(session)
    store.verdicts.add(first)
    store.verdicts.add(other)
    store.verdicts.remove(first.id)
    store.verdicts.remove("nobody")
    assert store.verdicts.of(session.id) == [other]


def test_words_that_no_file_can_hold_are_made_safe(store: Store, session: Session) -> None:
    given = verdict(session, note="half \ud800")
    store.verdicts.add(given)
    assert store.verdicts.of(session.id)[0].note == "half \ufffd"


def test_checks_stand_oldest_first_until_they_are_dropped(store: Store, session: Session) -> None:
    made = [
        store.verdicts.add_check(session.id, "contains", {"text": "Bern"}),
        store.verdicts.add_check(session.id, "schema", {"schema": {"type": "object"}}),
        store.verdicts.add_check(session.id, "expression", "words < 100"),
    ]
    assert store.verdicts.checks(session.id) == made
    store.verdicts.drop_check(made[1].id)
    assert store.verdicts.checks(session.id) == [made[0], made[2]]
    assert store.verdicts.checks(store.sessions.create(config=ECHO).id) == []


@pytest.mark.parametrize("body", [{"criteria": [{"name": "Clear", "weight": 2}]}, [], "words"])
def test_a_session_has_one_rubric(store: Store, session: Session, body: Any) -> None:
    assert store.verdicts.rubric(session.id) is None
    store.verdicts.choose_rubric(session.id, {"old": True})
    store.verdicts.choose_rubric(session.id, body)
    assert store.verdicts.rubric(session.id) == body
    assert count(store, "rubrics") == 1


def test_a_session_that_is_deleted_for_good_takes_all_that_was_said_of_it_along(
    store: Store, session: Session
) -> None:
    other = store.sessions.create(config=ECHO)
    for one in (session, other):
        store.verdicts.add(verdict(one))
        store.verdicts.add_check(one.id, "length", {"most": 10})
        store.verdicts.choose_rubric(one.id, {"of": one.id})
    store.sessions.bin(session.id)
    store.sessions.delete_for_good(session.id)
    assert [count(store, table) for table in ("verdicts", "checks", "rubrics")] == [1, 1, 1]
    assert store.verdicts.rubric(other.id) == {"of": other.id}
    assert len(store.verdicts.of()) == 1
