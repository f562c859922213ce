"""Recaps that write themselves: one call, announced, reversible, and never in the answer's way."""

from dataclasses import replace

import pytest

from core import Queued, Run, Runner, Session, Store, show
from core.providers.echo import ADAPTER
from core.recap import activate, choices_of
from core.types import Request, text_of
from pages.components import recap_marks
from pages.components.acts import perform
from pages.components.thread import trouble
from tests.conftest import ECHO
from tests.unit.house import ask, begun, execute, grow, path_of, until

AUTO = replace(ECHO, policy="auto", keep_turns=1)
TALK = ("u1", "a1", "u2", "a2", "u3", "a3")


@pytest.fixture
def auto(runner: Runner, session: Session, main: str) -> Runner:
    """A session of three turns whose policy leaves the last one verbatim."""
    runner.store.sessions.choose(session.id, AUTO)
    grow(runner.store, main, *TALK)
    return runner


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a recap's request is answered with; tests change it."""
    script = ["The recap."]
    stream = type(ADAPTER).stream

    def played(self: object, request: Request, endpoint: object, stop: object) -> object:
        last = request.messages[-1]["text"]
        if last.startswith("Write a recap"):
            changed = (*request.messages[:-1], {**request.messages[-1], "text": script[0]})
            request = replace(request, messages=changed)
        return stream(self, request, endpoint, stop)  # type: ignore[arg-type]

    monkeypatch.setattr(type(ADAPTER), "stream", played)
    return script


def recaps(store: Store, session: Session) -> list[Run]:
    return list(reversed(store.runs.side(session.id, "auto_recap")))


def told(store: Store, run: Run | None) -> list[str]:
    assert run is not None
    return [message["text"] for message in store.runs.sent(run.id).messages]


def answered(runner: Runner, main: str, text: str) -> Run:
    """Send, and wait until the answer after the recap has come."""
    sent = runner.send(main, text)
    assert isinstance(sent, Run)
    until(lambda: path_of(runner.store, main)[-2:-1] == [text])
    tip = runner.store.branches.get(main).tip_id
    assert tip is not None
    return runner.store.runs.of_nodes([tip])[tip]


def test_one_recap_of_exactly_what_is_dropped_goes_first(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    reply = answered(auto, main, "u4")
    (recap,) = recaps(auto.store, session)
    first = told(auto.store, recap)
    assert first[:-1] == ["u1", "a1", "u2", "a2"]
    assert first[-1].startswith("Write a recap of the conversation so far.")
    assert told(auto.store, reply) == [
        "To recap what we've decided so far:\nThe recap.\n\nu3",
        "a3",
        "u4",
    ]
    assert path_of(auto.store, main) == [*TALK, "u4", "u4"]
    (kept,) = auto.store.recaps.of(session.id)
    assert (kept.run_id, kept.text) == (recap.id, "The recap.")
    assert reply.purpose == "reply"
    assert recap.id < reply.id


def test_the_same_range_is_not_written_twice(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    answered(auto, main, "u4")
    node = auto.store.nodes.lineage(auto.store.branches.get(main).tip_id)[-2]
    again = auto.regenerate(main, node.id)
    assert again.purpose == "reply"
    auto.wait(again.id, 10)
    assert len(recaps(auto.store, session)) == 1
    activate(auto.store, main, None)  # switched off, and asked once more: taken again
    once_more = auto.regenerate(main, node.id)
    assert once_more.purpose == "reply"
    assert told(auto.store, auto.wait(once_more.id, 10))[0].startswith("To recap")
    assert len(recaps(auto.store, session)) == 1


def test_the_next_turn_moves_the_range_on(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    answered(auto, main, "u4")
    answered(auto, main, "u5")
    assert [len(told(auto.store, run)) for run in recaps(auto.store, session)] == [5, 7]


@pytest.mark.parametrize("keep", [3, 9])
def test_no_call_where_nothing_is_dropped(
    auto: Runner, session: Session, main: str, keep: int
) -> None:
    auto.store.sessions.choose(session.id, replace(AUTO, keep_turns=keep))
    reply = ask(auto, main, "u4")
    assert reply.purpose == "reply"
    assert recaps(auto.store, session) == []
    assert told(auto.store, reply) == [*TALK, "u4"]


@pytest.mark.parametrize(
    ("script", "finish"),
    [
        ("/fail BadRequest\nx", "error"),
        ("/finish length\nhalf", "length"),
        ("/noend\nx", "cut_off"),
    ],
)
def test_after_a_failure_the_answer_comes_with_everything(
    auto: Runner, session: Session, main: str, written: list[str], script: str, finish: str
) -> None:
    written[0] = script
    reply = answered(auto, main, "u4")
    (recap,) = recaps(auto.store, session)
    assert recap.finish_reason == finish
    assert told(auto.store, reply) == [*TALK, "u4"]
    assert auto.store.recaps.of(session.id) == []
    (notice,) = recap_marks.notices(auto, show(auto.store, session.id))
    assert "everything was sent" in notice["text"]
    assert notice["acts"][0]["act"] == {"action": "sent", "run": recap.id}


def test_stopped_there_is_no_answer_and_the_question_is_kept(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    written[0] = "/stall 2\none two three"
    run = auto.send(main, "u4")
    assert isinstance(run, Run)
    assert run.purpose == "auto_recap"
    begun(auto, run, 2)
    auto.stop(run.id)
    auto.wait(run.id, 10)
    assert path_of(auto.store, main) == [*TALK, "u4"]
    assert auto.store.runs.side(session.id, "reply") == []
    assert auto.store.recaps.of(session.id) == []
    view = show(auto.store, session.id)
    card = trouble(auto, view)
    assert card is not None
    assert "while a recap was written first" in card["message"]
    assert "kept" in card["hint"]
    written[0] = "The recap."
    auto.wait(auto.retry(run.id).id, 10)
    until(lambda: len(path_of(auto.store, main)) == 8)
    assert choices_of(auto.store, main).recap is not None


def test_after_a_crash_the_question_is_kept_and_retry_works(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    written[0] = "/stall 2\none two three"
    run = auto.send(main, "u4")
    assert isinstance(run, Run)
    begun(auto, run, 2)
    execute(
        auto.store, "UPDATE runs SET owner = 'elsewhere:1:0', heartbeat_at = '2000-01-01T00:00:00Z'"
    )
    other = Runner(auto.store)
    try:
        swept = auto.store.runs.get(run.id)
        assert (swept.state, swept.finish_reason, swept.node_id) == ("ended", "interrupted", None)
        assert path_of(auto.store, main) == [*TALK, "u4"]
        card = trouble(other, show(auto.store, session.id))
        assert card is not None
        assert card["message"].startswith("Turntree ended while a recap")
        written[0] = "The recap."
        other.retry(run.id)
        until(lambda: len(path_of(auto.store, main)) == 8)
        (recap,) = auto.store.recaps.of(session.id)
        assert recap.text == "The recap."
    finally:
        auto.stop(run.id)
        auto.wait(run.id, 10)
        other.close()
    assert path_of(auto.store, main) == [*TALK, "u4", "u4"]  # the sleeper overwrote nothing


def test_what_is_sent_meanwhile_waits_for_the_answer(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    written[0] = "/delay 20\none two three four five"
    run = auto.send(main, "u4")
    assert isinstance(run, Run)
    queued = auto.send(main, "u5")  # as from another tab
    assert isinstance(queued, Queued)
    until(lambda: len(path_of(auto.store, main)) == 10, seconds=20)
    assert path_of(auto.store, main) == [*TALK, "u4", "u4", "u5", "u5"]
    assert len(recaps(auto.store, session)) == 2


def test_a_stopped_recap_holds_what_waits(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    written[0] = "/stall 2\none two three"
    run = auto.send(main, "u4")
    assert isinstance(run, Run)
    begun(auto, run, 2)
    assert isinstance(auto.send(main, "u5"), Queued)
    auto.stop(run.id)
    auto.wait(run.id, 10)
    (waiting,) = auto.store.branches.queued(main)
    assert (waiting["text"], waiting["state"]) == ("u5", "held")


def test_two_tabs_write_one_recap(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    written[0] = "/delay 10\none two three"
    sends = [auto.send(main, "u4"), auto.send(main, "u5")]
    assert [isinstance(one, Queued) for one in sends] == [False, True]
    until(lambda: len(path_of(auto.store, main)) == 10, seconds=20)
    firsts = [told(auto.store, run)[:-1] for run in recaps(auto.store, session)]
    assert firsts == [list(TALK[:4]), list(TALK)]


def test_a_share_of_the_window_brings_one_under_any_policy(
    runner: Runner, session: Session, main: str, written: list[str]
) -> None:
    store = runner.store
    store.sessions.choose(session.id, replace(ECHO, keep_turns=1))
    store.sessions.change(session.id, auto_recap=0.5)
    grow(store, main, "word " * 2500, "word " * 2500, "u2", "a2")
    reply = answered(runner, main, "u3")
    assert len(recaps(store, session)) == 1
    assert told(store, reply)[0] == "To recap what we've decided so far:\nThe recap.\n\nu2"
    store.sessions.change(session.id, auto_recap=None)
    activate(store, main, None)
    assert ask(runner, main, "u4").purpose == "reply"


def test_below_that_share_none_is_written(runner: Runner, session: Session, main: str) -> None:
    runner.store.sessions.change(session.id, auto_recap=0.9)
    grow(runner.store, main, *TALK)
    assert ask(runner, main, "u4").purpose == "reply"


def test_it_is_announced_and_switched_off_with_one_click(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    answered(auto, main, "u4")
    view = show(auto.store, session.id)
    (notice,) = recap_marks.notices(auto, view)
    assert notice["text"].startswith("A recap of turns 1–2 wrote itself")
    mark = recap_marks.mark(auto, view)
    assert mark is not None
    assert (mark["by_itself"], mark["active"], mark["messages"]) == (True, True, 4)
    off = next(one["act"] for one in notice["acts"] if one["label"] == "Switch off")
    said = perform(auto, view, off).said
    assert "may write itself again" in said
    assert choices_of(auto.store, main).recap is None
    assert recap_marks.notices(auto, show(auto.store, session.id)) == []


def test_a_tab_that_waits_for_the_recap_is_led_to_the_answer(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    grow(auto.store, main, "u4")
    tip = auto.store.branches.get(main).tip_id
    assert tip is not None
    written[0] = "/delay 5\none two three"
    run = auto.regenerate(main, tip)
    assert run.purpose == "auto_recap"
    waiting = show(auto.store, session.id, run_id=run.id)
    assert waiting.run is not None
    until(lambda: len(path_of(auto.store, main)) == 8)
    there = show(auto.store, session.id, run_id=run.id)
    assert there.run is None
    assert there.lineage[-1].role == "assistant"


def test_the_words_of_a_recap_are_no_answer(
    auto: Runner, session: Session, main: str, written: list[str]
) -> None:
    written[0] = "/think hm\nThe recap."
    answered(auto, main, "u4")
    (recap,) = recaps(auto.store, session)
    assert text_of(recap.partial) == "The recap."
    assert recap.node_id is None
    assert auto.store.recaps.of(session.id)[0].text == "The recap."
