"""A setting that a provider will not take: found under our own name, turned off, asked again."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from core import Config, Run, Runner, Session, show
from core.errors import UserError
from core.types import Json
from core.wire.complaints import setting_at, setting_named
from pages.components.acts import Result, perform
from pages.components.thread import trouble
from tests.conftest import ECHO
from tests.contract.case import Scene
from tests.contract.four import Place, places
from tests.fakes.chat_completions import refusal
from tests.unit.house import ask

KEY = "sk-test-AbCdEfGh0123456789"


@pytest.fixture(scope="module")
def four() -> Iterator[dict[str, Place]]:
    """The strict fakes of the four protocols."""
    with places(KEY) as found:
        yield found


@pytest.fixture
def at(four: dict[str, Place], monkeypatch: pytest.MonkeyPatch) -> dict[str, Place]:
    """The same, reached by every run."""
    monkeypatch.setattr("core.launcher.endpoint_of", lambda found: four[found.name].endpoint)
    for place in four.values():
        place.put(Scene(text=("Hello",)))
    return four


def without(runner: Runner, run: Run) -> Result:
    view = show(runner.store, run.session_id)
    return perform(runner, view, {"action": "without", "run": run.id})


def asked(runner: Runner, main: str, provider: str, model: str, sampling: dict[str, Any]) -> Run:
    config = Config(provider=provider, model=model, sampling=sampling)
    runner.store.sessions.choose(runner.store.branches.get(main).session_id, config)
    return ask(runner, main, "Hi")


REFUSED: list[tuple[str, str, str, dict[str, Any]]] = [
    # provider, model, the setting it will not take, all that is set
    ("openai", "gpt-6-sol", "temperature", {"temperature": 0.5}),
    ("openai", "gpt-6-sol", "top_p", {"reasoning_effort": "low", "top_p": 0.5}),
    ("openai", "gpt-4.1", "reasoning_effort", {"reasoning_effort": "low", "temperature": 1.0}),
    ("openai", "gpt-6-sol", "reasoning_effort", {"reasoning_effort": "huge", "verbosity": "low"}),
    ("openai", "gpt-6-sol", "reasoning_summary", {"reasoning_summary": "loud"}),
    ("openai", "gpt-6-sol", "verbosity", {"verbosity": "loud", "max_tokens": 64}),
    ("openai", "gpt-6-sol", "max_tokens", {"verbosity": "low", "max_tokens": 4}),
    ("openai", "gpt-6-sol", "seed", {"seed": 7}),
    ("compatible", "fake-model", "top_k", {"temperature": 0.5, "top_k": 4}),
    ("compatible", "fake-model", "temperature", {"temperature": 9.0, "seed": 7}),
    ("compatible", "fake-model", "stop", {"stop": list("abcde"), "seed": 7}),
    ("anthropic", "claude-opus-5-5", "temperature", {"temperature": 0.5, "effort": "low"}),
    ("anthropic", "claude-opus-5-5", "max_tokens", {"max_tokens": 999_999}),
    ("anthropic", "claude-opus-5-5", "effort", {"effort": "huge", "max_tokens": 900}),
    ("anthropic", "claude-haiku-4-5", "thinking", {"thinking": "adaptive", "max_tokens": 900}),
    (
        "anthropic",
        "claude-sonnet-5-5",
        "budget_tokens",
        {"thinking": "enabled", "budget_tokens": 100, "max_tokens": 5000},
    ),
    ("gemini", "gemini-3.8-flash", "top_k", {"top_k": 5000, "top_p": 0.5}),
    ("gemini", "gemini-3.8-flash", "max_tokens", {"max_tokens": 0, "temperature": 1.0}),
    ("gemini", "gemini-3.8-flash", "stop", {"stop": list("abcdef"), "seed": 7}),
    ("gemini", "gemini-2.5-flash", "thinking_level", {"thinking_level": "low"}),
    ("gemini", "gemma-4-31b-it", "include_thoughts", {"include_thoughts": "yes", "top_k": 4}),
]


@pytest.mark.parametrize(
    ("provider", "model", "refused", "sampling"),
    REFUSED,
    ids=[f"{provider}-{model}-{refused}" for provider, model, refused, _ in REFUSED],
)
def test_the_refused_setting_is_turned_off_and_the_question_asked_again(
    runner: Runner,
    session: Session,
    main: str,
    at: dict[str, Place],
    provider: str,
    model: str,
    refused: str,
    sampling: dict[str, Any],
) -> None:
    run = asked(runner, main, provider, model, sampling)
    assert run.failure is not None, run
    assert (run.failure.kind, run.failure.status) == ("BadRequest", 400)
    assert run.failure.parameter == refused
    result = without(runner, run)
    assert result.run is not None
    again = runner.wait(result.run, 10)
    rest = {name: value for name, value in sampling.items() if name != refused}
    assert again.config.sampling == rest
    assert runner.store.sessions.get(session.id).config.sampling == rest
    assert again.failure is None, again.failure
    assert runner.store.nodes.get(str(again.node_id)).text == "Hello"


@pytest.mark.parametrize("field", ["tools", "messages[0].content", "metadata.name", None])
def test_what_is_no_setting_of_the_person_s_is_not_offered(
    runner: Runner, session: Session, main: str, at: dict[str, Place], field: str | None
) -> None:
    at["compatible"].play(refusal(400, "Something is wrong with this.", param=field))
    run = asked(runner, main, "compatible", "fake-model", {"temperature": 0.5})
    assert run.failure is not None
    assert run.failure.parameter is None
    with pytest.raises(UserError, match="No setting is to blame"):
        without(runner, run)


def test_a_setting_that_nobody_chose_is_not_offered(
    runner: Runner, session: Session, main: str, at: dict[str, Place]
) -> None:
    """The answer's length is always sent to Claude, chosen or not."""
    at["anthropic"].play(refusal(400, "max_tokens: 32000 > 8192, the maximum of this model"))
    run = asked(runner, main, "anthropic", "claude-opus-5-5", {})
    assert run.failure is not None
    assert run.failure.parameter is None


def test_a_thinking_budget_that_nobody_chose_goes_with_the_thinking(
    runner: Runner, session: Session, main: str, at: dict[str, Place]
) -> None:
    at["anthropic"].play(
        refusal(400, "thinking.enabled.budget_tokens: Input should be less than 8000")
    )
    run = asked(runner, main, "anthropic", "claude-sonnet-5-5", {"thinking": "enabled"})
    assert run.failure is not None
    assert run.failure.parameter == "thinking"


# --- reading names ---------------------------------------------------------------------------

PLACES = {"reasoning.effort": "reasoning_effort", "top_p": "top_p", "stop": "stop"}


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("Unsupported value: 'reasoning.effort' does not support 'x'.", "reasoning_effort"),
        ("top_p and stop cannot be used together", "top_p"),
        ("stop and top_p cannot be used together", "stop"),
        ("Top_P is not supported.", "top_p"),
        ("body.top_p: too high", "top_p"),
        ("stop[3]: too long", "stop"),
        ("the model stopped; top_pick is fine", None),
        ("", None),
    ],
)
def test_the_first_setting_in_the_words_is_the_one(words: str, named: str | None) -> None:
    assert setting_named(words, PLACES) == named


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("reasoning.effort", "reasoning_effort"),
        ("reasoning", "reasoning_effort"),
        ("stop[0]", "stop"),
        ("reasoning.summary", None),
        ("tools[0].name", None),
    ],
)
def test_a_field_is_a_setting_or_holds_one(field: str, named: str | None) -> None:
    assert setting_at(field, PLACES) == named


# --- the act and the card --------------------------------------------------------------------


def refused_by_echo(runner: Runner, main: str, sampling: Mapping[str, Json]) -> Run:
    config = Config(provider="echo", model="echo-1", sampling=sampling)
    runner.store.sessions.choose(runner.store.branches.get(main).session_id, config)
    return ask(runner, main, "/refuse max_tokens\na happy ending")


def test_the_card_offers_to_turn_it_off_by_the_name_it_has_in_the_settings(
    runner: Runner, session: Session, main: str
) -> None:
    refused_by_echo(runner, main, {"max_tokens": 5})
    card = trouble(runner, show(runner.store, session.id))
    assert card is not None
    assert card["refused"] == "longest answer (words)"
    assert "'max_tokens'" in card["message"]
    assert "Settings" in card["hint"]


def test_other_troubles_offer_nothing_to_turn_off(
    runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "/fail BadRequest\nno")
    card = trouble(runner, show(runner.store, session.id))
    assert card is not None
    assert card["refused"] is None


@pytest.mark.parametrize(
    "now",
    [
        Config(provider="echo", model="echo-slow", sampling={"max_tokens": 5}),
        Config(provider="echo", model="echo-1", sampling={"max_tokens": 9}),
        ECHO,
    ],
    ids=["another model", "another value", "turned off already"],
)
def test_what_was_chosen_meanwhile_stays_chosen(
    runner: Runner, session: Session, main: str, now: Config
) -> None:
    run = refused_by_echo(runner, main, {"max_tokens": 5})
    runner.store.sessions.choose(session.id, now)
    again = runner.wait(str(without(runner, run).run), 10)
    assert runner.store.sessions.get(session.id).config == now
    assert again.config == Config(provider="echo", model="echo-1")
    assert runner.store.nodes.get(str(again.node_id)).text == "a happy ending"
