"""The ledger: what was sent is kept exactly, each message once, and a run ends only once."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Config, Run, Session, Store
from core.errors import NotFound
from core.types import Failure, Override, Request, Thinking, ToolCall, Usage, new_id, now
from tests.conftest import ECHO
from tests.unit.house import count, execute, grow, parts

A, B, C = ({"role": "user", "text": letter} for letter in "abc")


def started(store: Store, on: str, /, *messages: Any, **more: Any) -> Run:
    """A run on a branch that sends these messages, written down as started."""
    envelope = more.pop("envelope", {"model": "echo-1"})
    branch = store.branches.get(on)
    run = Run(
        **{
            "id": new_id(),
            "session_id": branch.session_id,
            "branch_id": on,
            "context_tip_id": branch.tip_id,
            "purpose": "reply",
            "config": ECHO,
            "state": "running",
            "owner": "me",
            "started_at": now(),
        }
        | more
    )
    request = Request(envelope=envelope, messages=messages)
    store.runs.start(run, request=request, overrides=(Override(kind="pin", target_id="x"),))
    return run


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (A,),
        (A, A, A),
        (A, B, C),
        ({"role": "user", "text": "a\x00\n\u2028 😀"},),
        ({"deep": [{"in": {"it": [1, 1.5, True, None, ""]}}]},),
        ({"role": "user", "text": "x" * 1_000_000},),
        ("just words", 3, None, []),
    ],
)
def test_what_was_sent_is_what_was_built(store: Store, main: str, messages: tuple[Any]) -> None:
    envelope = {"model": "m", "temperature": 0.1, "stop": ["\x00", "ü"], "nested": {"b": 1, "a": 2}}
    run = started(store, main, *messages, envelope=envelope)
    sent = store.runs.sent(run.id)
    assert (sent.messages, sent.envelope) == (messages, envelope)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@given(conversations=st.lists(st.lists(JSON, max_size=6), max_size=5))
def test_any_conversations_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory, conversations: list[list[Any]]
) -> None:
    with Store.open(tmp_path_factory.mktemp("wire") / "t.db") as store:
        main = store.sessions.create(config=ECHO).current_branch_id
        assert main
        sent = [(started(store, main, *messages), messages) for messages in conversations]
        for run, messages in sent:
            assert list(store.runs.sent(run.id).messages) == messages
        prefixes = {
            repr(messages[: end + 1]) for messages in conversations for end in range(len(messages))
        }
        assert count(store, "wire") <= len(prefixes)


def test_each_message_is_stored_once(store: Store, main: str) -> None:
    for messages in ([A], [A, B], [A, B, C], [A, B, C], [A, C]):
        started(store, main, *messages)
    assert count(store, "wire") == 4  # a, a-b, a-b-c and the sibling a-c share what they can
    assert count(store, "configs") == count(store, "envelopes") == 1


def test_the_same_message_after_another_is_another_link(store: Store, main: str) -> None:
    runs = [started(store, main, *messages) for messages in ([A, B], [B, A], [B], [A])]
    assert [store.runs.sent(run.id).messages for run in runs] == [(A, B), (B, A), (B,), (A,)]


def test_a_thousand_turns_cost_a_thousand_links(store: Store, main: str) -> None:
    messages = [{"role": "user", "text": str(n)} for n in range(2000)]
    with store.write():
        for end in range(0, 2001, 100):
            run = started(store, main, *messages[:end])
    assert count(store, "wire") == 2000
    assert list(store.runs.sent(run.id).messages) == messages


def test_half_a_character_in_what_is_sent_does_not_cost_the_run(store: Store, main: str) -> None:
    run = started(
        store,
        main,
        {"text": "a\ud83d"},
        envelope={"stop": "\ud83d"},
        config=replace(ECHO, system="\ud83d"),
    )
    assert store.runs.sent(run.id).messages == ({"text": "a\ufffd"},)
    assert store.runs.get(run.id).config.system == "\ufffd"


def test_a_run_comes_back_as_it_was_written(store: Store, main: str) -> None:
    grow(store, main, "hello")
    config = Config(provider="p", model="m", system="ü", sampling={"t": 0.5, "stop": ["a"]})
    run = started(store, main, A, config=config, purpose="continue")
    found = store.runs.get(run.id)
    assert found.overrides == (Override(kind="pin", target_id="x"),)
    assert replace(found, wire_tail=None, heartbeat_at=None, overrides=()) == run
    with pytest.raises(NotFound):
        store.runs.get("nobody")
    with pytest.raises(NotFound):
        store.runs.sent("nobody")


def test_a_run_ends_only_once(store: Store, main: str) -> None:
    run = started(store, main, A)
    usage = Usage(input_tokens=1, output_tokens=0, cached_tokens=None, reasoning_tokens=7)
    failure = Failure(kind="Overloaded", message="m\ud83d", hint="h", status=529, retryable=True)
    more = {
        "usage": usage,
        "resolved_model": "m-2",
        "cost_nanodollars": 0,
        "first_token_ms": 1,
        "duration_ms": 2,
        "failure": failure,
    }
    assert store.runs.end(run.id, finish_reason="error", node_id=None, **more)
    before = store.runs.get(run.id)
    assert (before.state, before.usage, before.failure) == ("ended", usage, failure)
    assert (before.cost_nanodollars, before.resolved_model) == (0, "m-2")
    assert not store.runs.end(run.id, finish_reason="stop", node_id="other")
    assert not store.runs.end("nobody", finish_reason="stop", node_id=None)
    assert store.runs.get(run.id) == before


def test_a_partial_is_saved_by_the_owner_while_it_runs(store: Store, main: str) -> None:
    run = started(store, main, A)
    said = (
        Thinking(text="hm"),
        *parts("half \ud83d"),
        ToolCall(id="1", name="n", arguments="\ud83d"),
    )
    assert store.runs.save_partial(run.id, said, "me")
    assert store.runs.get(run.id).partial[:2] == (Thinking(text="hm"), *parts("half \ufffd"))
    assert not store.runs.save_partial(run.id, parts("stolen"), "somebody else")
    store.runs.end(run.id, finish_reason="stop", node_id=None)
    assert not store.runs.save_partial(run.id, parts("too late"), "me")
    assert store.runs.get(run.id).partial == ()


def test_runs_are_found_by_what_they_answer_and_wrote(
    store: Store, session: Session, main: str
) -> None:
    question, answer = grow(store, main, "q", "a")
    first = started(store, main, A, context_tip_id=question.id)
    other = started(store, main, A, context_tip_id=question.id, branch_id="elsewhere")
    store.runs.end(first.id, finish_reason="stop", node_id=answer.id)
    assert store.runs.of_nodes([answer.id, question.id])[answer.id].id == first.id
    last = store.runs.last_from(question.id)
    assert last is not None
    assert last.id == other.id
    here = store.runs.last_from(question.id, main)
    assert here is not None
    assert here.id == first.id
    assert store.runs.last_from("nobody") is None
    assert [run.id for run in store.runs.not_ended()] == [other.id]
    assert [run.id for run in store.runs.not_ended(session.id)] == [other.id]
    assert store.runs.not_ended("nobody") == []


def test_the_search_for_unended_runs_reads_only_those(store: Store, main: str) -> None:
    started(store, main, A)
    with store._db.read() as db:
        plan = str(
            db.conn.execute(
                "EXPLAIN QUERY PLAN SELECT * FROM runs WHERE runs.state != 'ended'"
            ).fetchall()
        )
    assert "runs_not_ended" in plan


def test_a_chain_that_was_half_written_is_not_there(store: Store, main: str) -> None:
    with pytest.raises(KeyboardInterrupt), store.write():
        started(store, main, A, B)
        raise KeyboardInterrupt
    assert count(store, "wire") == count(store, "runs") == 0
    execute(store, "SELECT 1")
    run = started(store, main, A, B)
    assert store.runs.sent(run.id).messages == (A, B)
