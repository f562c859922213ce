"""More than the window holds: it is noticed before sending, and what makes it fit is offered."""

from dataclasses import replace
from typing import Any

import pytest

from core import Config, Run, Runner, Session, Store, View, show
from core.errors import NotFound, UserError
from core.exchange import exchange
from core.meter import measure
from core.overflow import larger, overfull, turns_that_fit
from core.types import OwnPrice
from pages.components.act import Result
from pages.components.acts import offer, perform
from tests.conftest import ECHO
from tests.unit.house import ask, grow

LONG = "word " * 1100


def view(store: Store, session: Session) -> View:
    return show(store, session.id)


def press(runner: Runner, session: Session, action: str, **more: Any) -> Result:
    result = perform(runner, view(runner.store, session), {"action": action, **more})
    for live in runner.live_in(session.id):
        live.done.wait(10)
    return result


@pytest.mark.parametrize(("texts", "words", "over"), [
    (7, "one", False), (7, "word " * 500, True), (8, "one", True), (0, "word " * 9000, True),
])  # fmt: skip
def test_it_is_known_before_sending(
    store: Store, session: Session, main: str, texts: int, words: str, over: bool
) -> None:
    grow(store, main, *[LONG] * texts)
    assert overfull(store, view(store, session), words) == over


def test_nothing_is_known_of_an_unknown_window(store: Store, session: Session, main: str) -> None:
    grow(store, main, *[LONG] * 20)
    store.sessions.choose(session.id, Config(provider="compatible", model="somebody's"))
    assert not overfull(store, view(store, session), LONG)


def test_a_recap_that_goes_first_makes_room(store: Store, session: Session, main: str) -> None:
    grow(store, main, *["word " * 700] * 14)
    assert overfull(store, view(store, session), "one")
    store.sessions.change(session.id, auto_recap=0.8)
    assert not overfull(store, view(store, session), "one")
    store.sessions.change(session.id, auto_recap=None)
    store.branches.choose_policy(main, "auto", 2)
    assert not overfull(store, view(store, session), "one")


@pytest.mark.parametrize(("tokens", "turns"), [(100, 3), (2500, 2), (5000, 1), (9000, 0)])
def test_so_many_last_turns_fit(
    store: Store, session: Session, main: str, tokens: int, turns: int
) -> None:
    grow(store, main, *[LONG] * 8)
    assert turns_that_fit(store, view(store, session), tokens) == turns


def test_without_a_window_as_many_as_are_kept_and_then_half(
    store: Store, session: Session, main: str
) -> None:
    store.sessions.choose(session.id, Config(provider="compatible", model="somebody's"))
    grow(store, main, *[LONG] * 8)
    assert turns_that_fit(store, view(store, session), 10) == 4
    store.branches.choose_policy(main, "last", 4)
    assert turns_that_fit(store, view(store, session), 10) == 2


def test_models_that_hold_more_the_ones_that_can_be_asked_first(store: Store) -> None:
    found = larger(store, ECHO)
    windows = [one.window for one in found if not one.ready]
    assert windows == sorted(windows, reverse=True)
    assert all(one.window > 8192 for one in found)
    store.providers.set_own("echo", "echo-slow", OwnPrice(window=20_000))
    first = larger(store, ECHO)[0]
    assert (first.provider, first.model, first.window, first.ready) == (
        "echo", "echo-slow", 20_000, True,
    )  # fmt: skip
    assert all(one.model != "echo-slow" for one in larger(store, ECHO, 20_001))


def waiting(runner: Runner, session: Session, words: str = "what next?") -> str:
    offer(runner, view(runner.store, session), words, "offer_long")
    branch = str(session.current_branch_id)
    (one,) = runner.store.branches.queued(branch)
    assert one["state"] == "offer_long"
    return str(one["id"])


def test_only_the_last_turns_go_with_what_waits(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *[LONG] * 8)
    press(runner, session, "send_last", id=waiting(runner, session, "/count"))
    shown = view(runner.store, session)
    assert shown.lineage[-1].text == "context 7 messages"
    assert (shown.branch.policy, shown.branch.keep_turns) == ("last", 3)
    assert runner.store.branches.queued(main) == []


def test_a_model_with_a_larger_window_answers_what_waits(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *[LONG] * 8)
    choice = {"provider": "echo", "model": "echo-think"}
    press(runner, session, "send_larger", id=waiting(runner, session, "/count"), **choice)
    shown = view(runner.store, session)
    assert shown.session.config.model == "echo-think"
    assert shown.lineage[-1].text == "context 9 messages"


def test_it_can_be_sent_anyway_or_taken_back(runner: Runner, session: Session, main: str) -> None:
    grow(runner.store, main, *[LONG] * 8)
    assert press(runner, session, "unqueue", id=waiting(runner, session)).insert == "what next?"
    press(runner, session, "send_queued", id=waiting(runner, session))
    assert view(runner.store, session).lineage[-1].text == "what next?"


@pytest.mark.parametrize("action", ["send_last", "send_larger", "retry_last", "retry_larger"])
def test_what_is_gone_is_said_to_be_gone(
    runner: Runner, session: Session, main: str, action: str
) -> None:
    with pytest.raises(NotFound):
        press(runner, session, action, id="x", run="x", provider="echo", model="echo-1")


def failed(runner: Runner, main: str) -> Run:
    run = ask(runner, main, "/fail ContextTooLong 1\n/count")
    assert run.failure is not None
    return run


def test_after_the_provider_refused_only_the_last_turns_are_sent(
    runner: Runner, session: Session, main: str
) -> None:
    grow(runner.store, main, *["some words"] * 12)
    run = failed(runner, main)
    press(runner, session, "retry_last", run=run.id)
    again = runner.store.runs.last_from(str(run.context_tip_id))
    assert again is not None
    assert (again.config.policy, again.config.keep_turns) == ("last", 4)
    assert len(exchange(runner.store, again.id).body["messages"]) == 9
    assert show(runner.store, session.id).branch.policy == "last"


def test_after_the_provider_refused_another_model_is_asked(
    runner: Runner, session: Session, main: str
) -> None:
    run = failed(runner, main)
    press(runner, session, "retry_larger", run=run.id, provider="echo", model="echo-think")
    again = runner.store.runs.last_from(str(run.context_tip_id))
    assert again is not None
    assert again.id != run.id
    assert again.config == replace(ECHO, model="echo-think")
    assert show(runner.store, session.id).session.config == again.config


# --- pin and mute --------------------------------------------------------------------------------


def test_pinned_and_muted_exclude_each_other_and_are_undone(
    runner: Runner, session: Session, main: str
) -> None:
    node, _ = grow(runner.store, main, "one", "two")

    def now() -> set[str]:
        return {one.kind for one in runner.store.recaps.overrides(main)}

    for action, kinds in (("pin", {"pin"}), ("mute", {"mute"}), ("unmute", set()),
                          ("pin", {"pin"}), ("unpin", set()), ("unpin", set())):  # fmt: skip
        assert press(runner, session, action, node=node.id).stay
        assert now() == kinds


def test_a_message_of_another_session_is_not_pinned(
    runner: Runner, session: Session, main: str
) -> None:
    other = runner.store.sessions.create(config=ECHO)
    (node,) = grow(runner.store, str(other.current_branch_id), "theirs")
    with pytest.raises(NotFound):
        press(runner, session, "pin", node=node.id)


def test_the_marks_are_told_of_each_message(runner: Runner, session: Session, main: str) -> None:
    from pages.components.entry import entry_page

    one, two = grow(runner.store, main, "one", "two")
    press(runner, session, "pin", node=one.id)
    press(runner, session, "mute", node=two.id)
    entries, _ = entry_page(runner.store, view(runner.store, session))
    assert [(e["pinned"], e["muted"]) for e in entries] == [(True, False), (False, True)]


def test_the_preview_is_a_dialog(runner: Runner, session: Session, main: str) -> None:
    dialog = press(runner, session, "preview").dialog
    assert dialog is not None
    assert (dialog.kind, dialog.branch) == ("preview", main)


def test_a_branch_s_policy_is_what_every_answer_is_asked_with(
    runner: Runner, session: Session, main: str
) -> None:
    from pages.components.acts_context import choose

    nodes = grow(runner.store, main, "one", "two", "/count", "three")
    choose(runner, view(runner.store, session), "concat", 4)
    press(runner, session, "regenerate", node=nodes[-1].id)
    assert view(runner.store, session).lineage[-1].text == "- one\n- /count"
    with pytest.raises(UserError, match="no context policy"):
        choose(runner, view(runner.store, session), "other", 4)


def test_the_measure_follows_a_view_of_another_policy(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, *["some words here"] * 6)
    now = view(store, session)
    once = replace(now, branch=replace(now.branch, policy="yours"))
    assert measure(store, once).tokens < measure(store, now).tokens
