"""A call as it went out: the same for a running, a failed and a finished one; and as code."""

import ast
import json
from dataclasses import replace
from typing import Any

import pytest

from core import Config, Runner, Session, Store, exchange
from core.errors import NotFound, Unsupported
from core.exchange import differences, settings_before, settings_now, written
from core.providers import adapters
from core.types import Call, Failure, Message, Request, Run, Text, Thinking, new_id, now
from tests.conftest import ECHO
from tests.unit.house import ask, begun, grow

look = exchange.exchange


def started(store: Store, on: str, request: Request, **more: Any) -> str:
    """A run on a branch, written down as started; its id."""
    run = Run(
        **{
            "id": new_id(),
            "session_id": store.branches.get(on).session_id,
            "branch_id": on,
            "context_tip_id": store.branches.get(on).tip_id,
            "purpose": "reply",
            "config": ECHO,
            "state": "running",
            "owner": "me",
            "started_at": now(),
        }
        | more
    )
    store.runs.start(run, request=request)
    return run.id


def built(provider: str, model: str) -> Request:
    words = Message(role="user", parts=(Text(text="Hi $HOME"),))
    return adapters()[provider].build(Call(model=model, messages=(words,), system="Be brief."))


PAID = [("anthropic", "claude-opus-5-5"), ("openai", "gpt-6-sol"), ("gemini", "gemini-3.8-flash")]
NOTHING = Request(envelope={}, messages=())


def test_a_finished_call_has_request_and_reply(runner: Runner, main: str) -> None:
    run = ask(runner, main, "/think hm\nHello there")
    of = look(runner.store, run.id)
    assert of.body["messages"][-1]["text"] == "/think hm\nHello there"
    assert of.items == [{"role": "assistant", "text": "Hello there"}]
    assert of.parts == (Thinking(text="hm"), Text(text="Hello there"))
    assert of.left
    assert json.loads(written(of, "request")) == of.body
    assert json.loads(written(of, "reply")) == of.items
    assert "Hello there" in written(of, "python")
    assert written(of, "curl").startswith("#")


def test_a_running_call_shows_what_has_come(runner: Runner, main: str) -> None:
    run = runner.send(main, "/stall 2\none two three")
    assert isinstance(run, Run)
    begun(runner, run, 2)
    live = runner.live(run.id)
    assert live
    of = look(runner.store, run.id, arrived=live.parts())
    assert of.parts == (Text(text="one two"),)
    assert of.items is None
    assert json.loads(written(of, "reply")) == [{"type": "text", "text": "one two"}]
    assert of.body["messages"]
    runner.stop(run.id)
    runner.wait(run.id, 10)
    stopped = look(runner.store, run.id)
    assert (stopped.parts, stopped.items) == ((Text(text="one two"),), None)


def test_a_failed_call_is_shown_with_what_was_sent(runner: Runner, main: str) -> None:
    run = ask(runner, main, "/status 529\n/fail AuthFailed\nx")
    of = look(runner.store, run.id)
    assert of.run.failure
    assert of.left
    assert of.body["messages"]
    assert of.parts == ()
    assert json.loads(written(of, "reply")) == []


@pytest.mark.parametrize("kind", ["MissingKey", "LocalModelError"])
def test_what_could_not_go_out_is_told_apart(store: Store, main: str, kind: str) -> None:
    run = started(store, main, built("openai", "gpt-6-sol"), config=replace(ECHO))
    store.runs.end(
        run, finish_reason="error", node_id=None, failure=Failure(kind=kind, message="No.")
    )
    of = look(store, run)
    assert not of.left
    assert of.body is not None


def test_of_what_could_not_be_built_there_is_nothing(store: Store, main: str) -> None:
    for provider, model in [*PAID, ("echo", "echo-1"), ("local", "tiny"), ("compatible", "m")]:
        config = Config(provider=provider, model=model)
        of = look(store, started(store, main, NOTHING, config=config))
        assert of.body is None
        assert not of.left
        for form in ("request", "python", "curl"):
            with pytest.raises(Unsupported):
                written(of, form)  # type: ignore[arg-type]
        assert json.loads(written(of, "reply")) == []


def test_a_continuation_tells_what_it_continues(runner: Runner, main: str) -> None:
    first = ask(runner, main, "/cut 2\none two three four")
    assert first.node_id
    run = runner.wait(runner.go_on(main, first.node_id).id, 10)
    of = look(runner.store, run.id)
    assert of.began == (Text(text="one two"),)
    assert of.items is None
    assert of.parts


def test_a_call_that_is_not_there(store: Store) -> None:
    with pytest.raises(NotFound):
        look(store, "no such run")


def test_a_provider_that_is_gone_leaves_its_request(store: Store, main: str) -> None:
    request = Request(envelope={"model": "m", "x": 1}, messages=({"role": "user"},))
    gone = Config(provider="gone-by", model="m")
    of = look(store, started(store, main, request, config=gone))
    assert (of.provider, of.address) == ("gone-by", "")
    assert of.body == {"model": "m", "x": 1, "messages": [{"role": "user"}]}
    with pytest.raises(Unsupported):
        written(of, "python")


@pytest.mark.parametrize(("provider", "model"), PAID)
def test_code_names_the_key_and_never_holds_it(
    store: Store, main: str, provider: str, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = adapters()[provider]
    monkeypatch.setenv(found.key_names[0], "sk-very-secret-0123456789")
    config = Config(provider=provider, model=model)
    of = look(store, started(store, main, built(provider, model), config=config))
    assert of.address == found.default_url
    ast.parse(written(of, "python"))
    for form in ("request", "reply", "python", "curl"):
        assert "very-secret" not in written(of, form)  # type: ignore[arg-type]
    assert found.key_names[0] in written(of, "python")
    assert f"${found.key_names[0]}" in written(of, "curl")
    assert "very-secret" not in repr(of)


def test_the_address_holds_no_password(
    store: Store, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = adapters()["openai"]
    monkeypatch.setattr(type(found), "default_url", "https://me:hush@gate.example/v1?x=1")
    config = Config(provider="openai", model="gpt-6-sol")
    of = look(store, started(store, main, built("openai", "gpt-6-sol"), config=config))
    assert of.address == "https://gate.example/v1"
    assert "hush" not in written(of, "python") + written(of, "curl")


def test_code_goes_to_the_address_that_the_environment_names(
    store: Store, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNTREE_COMPATIBLE_URL", "http://127.0.0.1:11434/v1")
    config = Config(provider="compatible", model="m")
    of = look(store, started(store, main, built("compatible", "m"), config=config))
    assert "base_url='http://127.0.0.1:11434/v1'" in written(of, "python")
    assert "http://127.0.0.1:11434/v1/chat/completions" in written(of, "curl")


def test_settings_that_differ_are_named(runner: Runner, session: Session, main: str) -> None:
    store = runner.store
    ask(runner, main, "one")
    warm = replace(ECHO, system="Rhyme.", sampling={"max_tokens": 50})
    run = ask(runner, main, "two", config=warm)
    of = look(store, run.id)
    before, current = settings_before(store, of), settings_now(store, of)
    assert before
    assert current
    changed = [("system", "", "Rhyme."), ("max_tokens", "", "50")]
    assert differences(before, of.run.config) == changed
    assert differences(of.run.config, current) == [(n, new, old) for n, old, new in changed]
    assert differences(warm, warm) == []
    first = store.runs.last_from(store.nodes.lineage(store.branches.get(main).tip_id)[0].id)
    assert first
    assert settings_before(store, look(store, first.id)) is None


def test_words_without_a_call_have_none(store: Store, main: str) -> None:
    node = grow(store, main, "typed", "by hand")[-1]
    assert store.runs.of_nodes([node.id]) == {}
