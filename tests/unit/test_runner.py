"""Runs from the question to the answer: nothing a person or a model wrote is ever lost."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from core import Config, Node, Queued, Run, Runner, Session, Store, prune
from core.errors import NotFound, Overloaded, UserError
from core.live import Live
from core.providers import adapters
from core.providers.echo import ADAPTER
from core.roster import News
from core.types import Delta, Endpoint, Event, Request, Stop, Text, Thinking, ToolCall
from tests.conftest import ECHO
from tests.unit.house import ask, begun, count, execute, grow, live, path_of, until


def run_of(found: Run | Queued) -> Run:
    assert isinstance(found, Run), found
    return found


def answer(store: Store, run: Run) -> Node:
    assert run.node_id is not None
    return store.nodes.get(run.node_id)


# --- asking -----------------------------------------------------------------------------------
def test_a_question_is_answered_and_both_are_on_the_branch(
    runner: Runner, session: Session, main: str
) -> None:
    run = ask(runner, main, "/usage 10 20 5 3\nhello there")
    assert path_of(runner.store, main) == ["/usage 10 20 5 3\nhello there", "hello there"]
    assert (run.state, run.finish_reason, run.resolved_model) == ("ended", "stop", "echo-1")
    assert (run.usage.input_tokens, run.usage.reasoning_tokens) == (10, 3)
    assert (run.cost_nanodollars, run.partial, run.failure) == (0, (), None)
    assert run.first_token_ms is not None
    assert run.duration_ms is not None
    assert run.first_token_ms <= run.duration_ms
    node = answer(runner.store, run)
    assert (node.author, node.parent_id) == ("model", run.context_tip_id)
    assert node.raw["items"] == [{"role": "assistant", "text": "hello there"}]
    assert (node.raw["provider"], node.raw["after"]) == ("echo", 1)
    assert runner.store.sessions.get(session.id).title.startswith("/usage")


def test_what_was_sent_is_in_the_ledger(runner: Runner, session: Session, main: str) -> None:
    runner.store.sessions.choose(session.id, replace(ECHO, system="Be kind."))
    ask(runner, main, "one")
    run = ask(runner, main, "two", config=replace(ECHO, sampling={"max_tokens": 5}))
    sent = runner.store.runs.sent(run.id)
    assert [message["text"] for message in sent.messages] == ["one", "one", "two"]
    assert sent.envelope == {"model": "echo-1", "max_tokens": 5}
    assert run.config.sampling == {"max_tokens": 5}


@pytest.mark.parametrize("text", ["", " ", "\n\t  \n", "\u2003"])
def test_blank_words_never_reach_a_model(runner: Runner, main: str, text: str) -> None:
    (question,) = grow(runner.store, main, "q")
    for act in (
        lambda: runner.send(main, text),
        lambda: runner.edit_and_send(main, question.id, text),
    ):
        with pytest.raises(UserError, match="nothing to send"):
            act()
    assert (count(runner.store), count(runner.store, "runs")) == (1, 0)


@pytest.mark.parametrize(
    "config", [Config(provider="gone", model="x"), Config(provider="echo", model="echo-1")]
)
def test_what_cannot_be_asked_is_kept_and_said(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch, config: Config
) -> None:
    def refuse(_: object) -> Request:
        raise UserError("That cannot be built.", hint="Do otherwise.")

    monkeypatch.setattr(type(ADAPTER), "build", lambda self, call: refuse(call))
    run = run_of(runner.send(main, "precious words", config=config))
    assert runner.store.runs.get(run.id).state == "ended"
    assert path_of(runner.store, main) == ["precious words"]
    found = runner.store.runs.get(run.id)
    assert found.finish_reason == "error"
    assert found.failure is not None
    assert found.failure.hint
    assert runner.live(run.id) is None
    monkeypatch.undo()
    monkeypatch.setenv("TURNTREE_ECHO", "1")
    again = runner.wait(runner.regenerate(main, run.context_tip_id or "", config=ECHO).id, 10)
    assert answer(runner.store, again).text == "precious words"


def test_an_unknown_branch_is_said_so_before_anything_is_written(runner: Runner) -> None:
    with pytest.raises(NotFound):
        runner.send("nobody", "words")
    assert count(runner.store, "runs") == 0


def test_a_failed_start_leaves_nothing_behind(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner.store.runs, "start", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        runner.send(main, "words")
    assert (count(runner.store), runner.live_in(runner.store.branches.get(main).session_id)) == (
        0,
        [],
    )


# --- how answers end --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("script", "finish", "text"),
    [
        ("/finish length\nas far as it went", "length", "as far as it went"),
        ("/finish refusal\nI would rather not", "refusal", "I would rather not"),
        ("/finish content_filter\nhalf a", "content_filter", "half a"),
        ("/cut 2\none two three", "cut_off", "one two"),
        ("/noend\none two three", "cut_off", "one two three"),
        ("/fail Overloaded after 2\none two three", "error", "one two"),
        ("/fail AuthFailed after 1\none two", "error", "one"),
        ("/tool look {}\nLet me look", "tool_call", "Let me look"),
        ("/finish refusal\n", "refusal", None),
        ("/noend\n", "cut_off", None),
        ("/fail AuthFailed\nnever", "error", None),
        ("/fail BadReply\nnever", "error", None),
        ("/fail UnknownModel\nnever", "error", None),
    ],
)
def test_every_end_has_its_reason_and_keeps_every_word(
    runner: Runner, session: Session, main: str, script: str, finish: str, text: str | None
) -> None:
    run = ask(runner, main, script)
    assert (run.state, run.finish_reason) == ("ended", finish)
    assert (run.failure is not None) == (finish == "error")
    if text is None:
        assert run.node_id is None
        assert path_of(runner.store, main) == [script]
    else:
        assert answer(runner.store, run).text == text
        assert path_of(runner.store, main) == [script, text]
    assert runner.store.sessions.recent()[0]["running"] == 0


def test_thinking_and_tool_calls_are_parts_of_the_answer(runner: Runner, main: str) -> None:
    run = ask(runner, main, '/think Let me see\n/tool look {"at": 1}\nI look')
    assert answer(runner.store, run).parts == (
        Thinking(text="Let me see"),
        Text(text="I look"),
        ToolCall(id="call_1_0", name="look", arguments='{"at": 1}'),
    )


def test_half_a_character_from_a_model_costs_nothing_else(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_events(
        monkeypatch, [Delta(text="a \ud83d"), ToolCall(id="1", name="n", arguments="\ud83d")]
    )
    run = ask(runner, main, "go")
    assert answer(runner.store, run).text == "a \ufffd"


def with_events(monkeypatch: pytest.MonkeyPatch, *plays: list[Event | Exception]) -> list[int]:
    """Let the scripted provider play these, one list a call; returns when it was called."""
    calls: list[int] = []

    def stream(
        self: object, request: Request, endpoint: Endpoint | None, stop: Stop
    ) -> Iterator[Event]:
        calls.append(len(calls))
        for event in plays[min(len(calls), len(plays)) - 1]:
            if isinstance(event, Exception):
                raise event
            yield event

    monkeypatch.setattr(type(ADAPTER), "stream", stream)
    return calls


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), KeyError("choices"), OSError(5, "io")])
@pytest.mark.parametrize("words", ["", "half a "])
def test_an_adapter_that_breaks_in_an_unforeseen_way_is_said_to_have_and_loses_no_word(
    runner: Runner,
    main: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    words: str,
) -> None:
    with_events(monkeypatch, [*([Delta(text=words)] if words else []), error])
    run = ask(runner, main, "go")
    assert run.finish_reason == "error"
    assert run.failure is not None
    assert (run.failure.kind, bool(run.failure.hint)) == ("BadReply", True)
    assert str(error) not in run.failure.message
    assert path_of(runner.store, main) == (["go", words] if words else ["go"])
    assert "unforeseen" in caplog.text


def test_an_answer_without_a_word_is_no_message(runner: Runner, main: str) -> None:
    run = ask(runner, main, "/usage 1 0\n")
    assert (run.finish_reason, run.node_id) == ("stop", None)
    assert count(runner.store) == 1


# --- stop -------------------------------------------------------------------------------------
def test_stop_keeps_what_has_arrived(runner: Runner, main: str) -> None:
    run = run_of(runner.send(main, "/stall 3\none two three four five"))
    begun(runner, run, 3)
    runner.stop(run.id)
    ended = runner.wait(run.id, 5)
    assert (ended.finish_reason, ended.failure) == ("stopped", None)
    assert path_of(runner.store, main)[-1] == "one two three"
    runner.stop(run.id)
    runner.stop("nobody")


def test_stop_before_the_first_word_leaves_the_question(runner: Runner, main: str) -> None:
    run = run_of(runner.send(main, "/stall 0\nnever"))
    runner.stop(run.id)
    ended = runner.wait(run.id, 5)
    assert (ended.finish_reason, ended.node_id) == ("stopped", None)
    assert path_of(runner.store, main) == ["/stall 0\nnever"]


def test_what_a_closed_stream_raises_is_not_blamed_on_the_provider(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = threading.Event()

    def stream(
        self: object, request: Request, endpoint: Endpoint | None, stop: Stop
    ) -> Iterator[Event]:
        yield Delta(text="half")
        started.set()
        assert stop.wait(10)
        raise Overloaded("the line went dead")

    monkeypatch.setattr(type(ADAPTER), "stream", stream)
    run = run_of(runner.send(main, "go"))
    assert started.wait(10)
    runner.stop(run.id)
    ended = runner.wait(run.id, 5)
    assert (ended.finish_reason, ended.failure) == ("stopped", None)
    assert path_of(runner.store, main) == ["go", "half"]


def test_closing_the_runner_keeps_every_partial(store: Store) -> None:
    runner = Runner(store)
    asked = {}
    for number in range(4):
        branch = store.sessions.create(config=ECHO).current_branch_id
        assert branch
        asked[branch] = run_of(runner.send(branch, f"/stall 2\nkeep {number} and no more"))
    for run in asked.values():
        begun(runner, run, 2)
    runner.close()
    for number, branch in enumerate(asked):
        assert path_of(store, branch)[-1] == f"keep {number}"
    assert store.runs.not_ended() == []
    assert not [t for t in threading.enumerate() if t.name.startswith("turntree")]


# --- retries ----------------------------------------------------------------------------------
@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before retries, which last no time."""
    asked: list[float] = []

    def wait(self: Stop, seconds: float) -> bool:
        if seconds > 0:
            asked.append(seconds)
        return self.is_set()

    monkeypatch.setattr(Stop, "wait", wait)
    return asked


@pytest.mark.parametrize(
    ("script", "finish", "paused"),
    [
        ("/fail Overloaded 1\nfine", "stop", [0.5]),
        ("/fail Overloaded 2\nfine", "stop", [0.5, 1.0]),
        ("/fail Overloaded 3\nfine", "error", [0.5, 1.0]),
        ("/fail RateLimited 1\n/retry-after 3\nfine", "stop", [3.0]),
        ("/fail RateLimited 1\n/retry-after 30\nfine", "stop", [30.0]),
        ("/fail RateLimited 1\n/retry-after 31\nfine", "error", []),
        ("/fail RateLimited 1\n/retry-after 0\nfine", "stop", []),
        ("/fail Timeout 1\nfine", "stop", [0.5]),
        ("/fail Unreachable 1\nfine", "stop", [0.5]),
        ("/fail AuthFailed 1\nfine", "error", []),
        ("/fail QuotaExhausted 1\nfine", "error", []),
        ("/fail ContextTooLong 1\nfine", "error", []),
        ("/fail MissingKey 1\nfine", "error", []),
        ("/fail Overloaded 1 after 1\nfine and more", "error", []),
        ("/think hm\n/fail Overloaded 1 after 0\nfine", "stop", [0.5]),
    ],
)
def test_only_a_passing_fault_before_the_first_word_is_tried_again(
    runner: Runner, main: str, waits: list[float], script: str, finish: str, paused: list[float]
) -> None:
    ADAPTER._failed.clear()
    run = ask(runner, main, script)
    assert (run.finish_reason, waits) == (finish, paused)


def test_a_retry_never_repeats_what_has_arrived(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """A tool call or a thought is a word, too: a second try would bring it twice."""
    for first in (ToolCall(id="1", name="n", arguments="{}"), Delta(text="hm", kind="thinking")):
        calls = with_events(monkeypatch, [first, Overloaded("busy")])
        run = ask(runner, main, "go")
        assert (run.finish_reason, len(calls)) == ("error", 1)
        assert len(answer(runner.store, run).parts) == 1
    assert waits == []


def test_stop_ends_the_wait_for_a_retry_at_once(runner: Runner, main: str) -> None:
    run = run_of(runner.send(main, "/fail RateLimited\n/retry-after 25\nnever"))
    found = runner.live(run.id)
    assert found is not None
    until(lambda: found.retry_at is not None)
    assert found.retry_why
    runner.stop(run.id)
    ended = runner.wait(run.id, 5)
    assert (ended.state, ended.finish_reason, ended.failure) == ("ended", "stopped", None)


# --- sending while an answer is on its way ----------------------------------------------------
def test_what_is_sent_while_an_answer_streams_waits_and_is_sent_after_it(
    runner: Runner, main: str
) -> None:
    store = runner.store
    run = run_of(runner.send(main, "/delay 20\none two three four"))
    queued = [runner.send(main, text) for text in ("second", "third")]
    assert all(isinstance(found, Queued) for found in queued)
    assert [waiting["text"] for waiting in store.branches.queued(main)] == ["second", "third"]
    runner.wait(run.id, 10)
    until(lambda: len(path_of(store, main)) == 6)
    assert path_of(store, main)[2:] == ["second", "second", "third", "third"]
    assert store.branches.queued(main) == []
    assert count(store, "runs") == 3


def test_waiting_words_can_be_taken_back(runner: Runner, main: str) -> None:
    run = run_of(runner.send(main, "/delay 20\none two three four"))
    queued = runner.send(main, "second thoughts")
    assert isinstance(queued, Queued)
    assert runner.store.branches.take_queued(queued.id)["text"] == "second thoughts"
    runner.wait(run.id, 10)
    until(lambda: not runner.store.runs.not_ended())
    assert len(path_of(runner.store, main)) == 2
    with pytest.raises(NotFound):
        runner.send_queued(queued.id)


@pytest.mark.parametrize(
    "script",
    [
        "/delay 5\n/fail Overloaded after 3\na b c d",
        "/delay 5\n/finish length\na b c",
        "/delay 5\n/noend\na b c",
    ],
)
def test_after_any_other_end_waiting_words_are_held_for_the_person(
    runner: Runner, main: str, script: str
) -> None:
    run = run_of(runner.send(main, "/progress 5\n" + script))
    queued = runner.send(main, "later")
    assert isinstance(queued, Queued)
    runner.wait(run.id, 10)
    until(lambda: runner.live(run.id) is None)
    (waiting,) = runner.store.branches.queued(main)
    assert (waiting["text"], waiting["state"]) == ("later", "held")
    sent = run_of(runner.send_queued(queued.id))
    runner.wait(sent.id, 10)
    assert path_of(runner.store, main)[-1] == "later"
    assert runner.store.branches.queued(main) == []


def test_words_sent_as_the_answer_ends_are_not_left_waiting_for_ever(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = runner.store
    run = run_of(runner.send(main, "/stall 1\none two"))
    begun(runner, run)
    found, enqueue = runner.live(run.id), store.branches.enqueue
    assert found is not None

    def late(branch_id: str, text: str, **more: Any) -> str:
        runner.stop(run.id)
        found.done.wait(0.3)
        return enqueue(branch_id, text, **more)

    monkeypatch.setattr(store.branches, "enqueue", late)
    runner.send(main, "later")
    runner.wait(run.id, 10)
    assert [waiting["state"] for waiting in store.branches.queued(main)] == ["held"]


def test_after_stop_waiting_words_are_held(runner: Runner, main: str) -> None:
    run = run_of(runner.send(main, "/stall 1\none two"))
    begun(runner, run)
    runner.send(main, "later")
    runner.stop(run.id)
    runner.wait(run.id, 10)
    assert runner.store.branches.queued(main)[0]["state"] == "held"


def test_an_answer_without_a_word_holds_what_waits(runner: Runner, main: str) -> None:
    run = run_of(runner.send(main, "/delay 30\n/progress 5\n/usage 1 0\n"))
    runner.send(main, "later")
    assert runner.wait(run.id, 10).node_id is None
    assert runner.store.branches.queued(main)[0]["state"] == "held"


def test_when_the_next_in_line_cannot_be_asked_the_rest_is_held(
    runner: Runner, session: Session, main: str
) -> None:
    run = run_of(runner.send(main, "/delay 20\none two three four"))
    runner.send(main, "second")
    runner.send(main, "third")
    runner.store.sessions.choose(session.id, Config(provider="gone", model="x"))
    runner.wait(run.id, 10)
    until(lambda: path_of(runner.store, main)[-1] == "second")
    until(lambda: [w["state"] for w in runner.store.branches.queued(main)] == ["held"])


def test_waiting_words_sent_while_another_answer_streams_wait_on(runner: Runner, main: str) -> None:
    held = runner.store.branches.enqueue(main, "held words", "held")
    run = run_of(runner.send(main, "/stall 1\none two"))
    assert runner.send_queued(held) == Queued(id=held, branch_id=main)
    assert runner.store.branches.waiting(held)["text"] == "held words"
    runner.stop(run.id)
    runner.wait(run.id, 10)


def test_waiting_words_follow_the_answer_to_its_own_branch(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    run = run_of(runner.send(main, "/delay 20\none two three four"))
    runner.send(main, "and then")
    store.branches.move(main, None, why="send")
    runner.wait(run.id, 10)
    until(lambda: not store.runs.not_ended() and count(store, "runs") == 2)
    assert live(store, session.id)["main"] == []
    ((_, path),) = ((name, path) for name, path in live(store, session.id).items() if path)
    assert path[2:] == ["and then", "and then"]


# --- two tabs ---------------------------------------------------------------------------------
def test_two_tabs_that_send_on_one_branch_keep_both_questions_and_both_answers(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    first = ask(runner, main, "first")
    one = run_of(runner.send(main, "/delay 10\nfrom tab one", at=first.node_id))
    two = run_of(runner.send(main, "from tab two", at=first.node_id))
    assert two.branch_id != one.branch_id == main
    for run in (one, two):
        runner.wait(run.id, 10)
    assert sorted(path[-1] for path in live(store, session.id).values()) == [
        "from tab one",
        "from tab two",
    ]


def test_many_tabs_at_the_very_same_moment_lose_nothing(
    runner: Runner, session: Session, main: str
) -> None:
    first = ask(runner, main, "first")
    gate = threading.Barrier(8)
    errors: list[Exception] = []

    def tab(number: int) -> None:
        gate.wait()
        try:
            runner.send(main, f"tab {number}", at=first.node_id)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=tab, args=[n]) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: not runner.store.runs.not_ended())
    until(lambda: not runner.live_in(session.id))
    until(lambda: not runner.store.branches.queued(main) or errors)
    assert errors == []
    until(lambda: count(runner.store) == 2 + 16)
    paths = list(live(runner.store, session.id).values())
    said = {text for path in paths for text in path}
    assert {f"tab {number}" for number in range(8)} <= said


def test_words_typed_while_the_answer_came_go_below_it(runner: Runner, main: str) -> None:
    first = ask(runner, main, "first")
    run = ask(runner, main, "second", at=first.context_tip_id)
    assert path_of(runner.store, run.branch_id) == ["first", "first", "second", "second"]
    assert run.branch_id == main


def test_words_at_the_root_of_a_session_are_a_branch_beside_the_first(
    runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "first")
    ask(runner, main, "afresh", at=None)
    assert sorted(live(runner.store, session.id).values()) == [
        ["afresh", "afresh"],
        ["first", "first"],
    ]


def test_an_answer_that_comes_after_the_branch_moved_gets_a_branch_of_its_own(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    run = run_of(runner.send(main, "/delay 10\nlate late late"))
    question = store.branches.get(main).tip_id
    grow(store, main, "by hand", "and on")
    runner.wait(run.id, 10)
    paths = live(store, session.id)
    assert paths.pop("main")[1:] == ["by hand", "and on"]
    ((_, path),) = paths.items()
    assert path[-1] == "late late late"
    assert store.nodes.get(store.runs.get(run.id).node_id or "").parent_id == question


def test_an_answer_to_what_was_binned_meanwhile_is_kept(
    runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "first")
    run = run_of(runner.send(main, "/delay 10\nlate late late"))
    prune(runner.store, run.context_tip_id or "")
    ended = runner.wait(run.id, 10)
    assert answer(runner.store, ended).text == "late late late"
    assert live(runner.store, session.id) == {"main": ["first", "first"]}


# --- again, otherwise, and on -----------------------------------------------------------------
def test_regenerating_at_the_tip_moves_the_branch_and_keeps_the_first_answer(
    runner: Runner, session: Session, main: str
) -> None:
    first = ask(runner, main, "hello")
    again = runner.wait(runner.regenerate(main, first.node_id or "").id, 10)
    assert again.context_tip_id == first.context_tip_id
    assert runner.store.branches.get(main).tip_id == again.node_id != first.node_id
    assert len(live(runner.store, session.id)) == 1
    assert runner.store.branches.undo(main)
    assert runner.store.branches.get(main).tip_id == first.node_id


def test_regenerating_above_descendants_makes_a_branch(
    runner: Runner, session: Session, main: str
) -> None:
    first = ask(runner, main, "one")
    ask(runner, main, "two")
    runner.wait(runner.regenerate(main, first.node_id or "").id, 10)
    paths = live(runner.store, session.id)
    assert paths.pop("main") == ["one", "one", "two", "two"]
    assert list(paths.values()) == [["one", "one"]]


def test_regenerating_a_question_asks_it_again(runner: Runner, main: str) -> None:
    failed = ask(runner, main, "/fail AuthFailed 1\nhello")
    again = runner.wait(runner.regenerate(main, failed.context_tip_id or "").id, 10)
    assert answer(runner.store, again).text == "hello"
    assert runner.store.branches.get(main).tip_id == again.node_id


def test_regenerating_what_nobody_asked_is_refused(
    runner: Runner, session: Session, main: str
) -> None:
    (question,) = grow(runner.store, main, "q")
    with pytest.raises(NotFound):
        runner.regenerate(main, "nobody")
    node = runner.store.nodes.add(
        replace(question, id="X", role="assistant", created_at="", parent_id=None)
    )
    with pytest.raises(UserError, match="Nothing was asked"):
        runner.regenerate(main, node.id)


def test_retry_asks_as_the_run_did(runner: Runner, session: Session, main: str) -> None:
    config = replace(ECHO, sampling={"max_tokens": 2})
    failed = ask(runner, main, "/fail AuthFailed 1\none two three", config=config)
    again = runner.wait(runner.retry(failed.id).id, 10)
    assert again.config == config
    assert answer(runner.store, again).text == "one two"


def test_an_edited_question_is_asked_beside_the_first(
    runner: Runner, session: Session, main: str
) -> None:
    first = ask(runner, main, "first")
    run = runner.edit_and_send(main, first.context_tip_id or "", "better")
    runner.wait(run.id, 10)
    assert sorted(live(runner.store, session.id).values()) == [
        ["better", "better"],
        ["first", "first"],
    ]
    assert runner.store.nodes.get(run.context_tip_id or "").source_id == first.context_tip_id


def test_continue_joins_both_texts_in_a_new_answer(
    runner: Runner, session: Session, main: str
) -> None:
    stopped = ask(runner, main, "/cut 3\none two three four five")
    assert stopped.node_id
    prompt = runner.store.nodes.lineage(stopped.context_tip_id)[-1].text
    execute(runner.store, "SELECT 1")
    run = runner.wait(runner.go_on(main, stopped.node_id).id, 10)
    joined = answer(runner.store, run)
    assert (run.purpose, joined.source_id) == ("continue", stopped.node_id)
    assert joined.parent_id == stopped.context_tip_id
    assert joined.text.startswith("one two three")
    assert runner.store.nodes.get(stopped.node_id).text == "one two three"
    assert path_of(runner.store, main) == [prompt, joined.text]
    assert [m["role"] for m in runner.store.runs.sent(run.id).messages] == ["user", "assistant"]
    assert runner.store.branches.undo(main)
    assert runner.store.branches.get(main).tip_id == stopped.node_id


def test_continue_goes_on_letter_by_letter(runner: Runner, main: str) -> None:
    config = replace(ECHO, sampling={"max_tokens": 2})
    half = ask(runner, main, "one two three four", config=config)
    run = runner.wait(runner.go_on(main, half.node_id or "", config=ECHO).id, 10)
    assert answer(runner.store, run).text == "one two three four"


def test_continue_asks_to_go_on_where_a_provider_cannot_prefill(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = ask(runner, main, "/cut 1\none two")
    plain = tuple(replace(info, prefill=False) for info in ADAPTER.models())
    monkeypatch.setattr(type(ADAPTER), "models", lambda self: plain)
    run = runner.wait(runner.go_on(main, half.node_id or "").id, 10)
    sent = runner.store.runs.sent(run.id).messages
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert answer(runner.store, run).text.startswith("one")


def test_continue_above_a_question_leaves_the_question_where_it_is(
    runner: Runner, session: Session, main: str
) -> None:
    half = ask(runner, main, "/cut 1\none two")
    ask(runner, main, "/fail AuthFailed\na precious question")
    run = runner.wait(runner.go_on(main, half.node_id or "").id, 10)
    assert path_of(runner.store, main)[-1] == "/fail AuthFailed\na precious question"
    assert run.node_id in {b.tip_id for b in runner.store.branches.of(session.id)}


def test_a_second_answer_does_not_push_a_question_off_its_branch(
    runner: Runner, session: Session, main: str
) -> None:
    first = ask(runner, main, "one")
    ask(runner, main, "/fail AuthFailed\na precious question")
    runner.wait(runner.regenerate(main, first.node_id or "").id, 10)
    assert path_of(runner.store, main)[-1] == "/fail AuthFailed\na precious question"
    assert len(live(runner.store, session.id)) == 2


# --- looking on -------------------------------------------------------------------------------
def test_whoever_follows_gets_every_word_from_the_beginning(runner: Runner, main: str) -> None:
    text = " ".join(str(n) for n in range(40))
    run = run_of(runner.send(main, f"/delay 3\n{text}"))
    begun(runner, run, 5)
    heard: list[str] = []
    followers = [
        threading.Thread(
            target=lambda: heard.append("".join(d.text for d in runner.follow(run.id)))
        )
        for _ in range(3)
    ]
    for follower in followers:
        follower.start()
    for follower in followers:
        follower.join(10)
    assert heard == [text] * 3
    assert list(runner.follow("nobody")) == []


def test_news_comes_in_order_and_stops_when_nobody_listens(
    runner: Runner, session: Session, main: str
) -> None:
    heard: list[News] = []
    leave: Callable[[], None] = runner.listen(heard.append)
    run = ask(runner, main, "hello")
    assert [(news.kind, news.run_id) for news in heard] == [("started", run.id), ("ended", run.id)]
    assert (heard[1].node_id, heard[1].branch_id) == (run.node_id, main)
    runner.announce(session.id)
    assert heard[-1] == News(kind="changed", session_id=session.id)
    leave()
    ask(runner, main, "again")
    assert len(heard) == 3


def test_a_run_is_live_until_it_is_written_down(
    runner: Runner, session: Session, main: str
) -> None:
    run = run_of(runner.send(main, "/stall 1\none two"))
    assert [live.run.id for live in runner.live_in(session.id)] == [run.id]
    assert runner.live_in("another session") == []
    found = runner.live(run.id)
    assert isinstance(found, Live)
    runner.stop(run.id)
    assert runner.wait(run.id, 10).state == "ended"
    assert found.done.is_set()


def test_an_adapter_that_is_new_needs_no_word_here(
    runner: Runner, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(type(ADAPTER)):  # type: ignore[misc]
        name = "other"

    monkeypatch.setitem(adapters(), "other", Other())
    run = ask(runner, main, "hello", config=Config(provider="other", model="echo-1"))
    assert answer(runner.store, run).text == "hello"
