"""What is known of models, from whom, and what that makes a run cost."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from core import Runner, Store, endpoints, models
from core.errors import NotFound, Timeout
from core.models import Known, facts, offered, price, table
from core.providers import adapters, learn, model_info, register, unregister
from core.providers.echo import ADAPTER as ECHO
from core.types import Endpoint, ModelInfo, OwnPrice, Usage
from tests.conftest import ECHO as ECHO_CONFIG

USED = Usage(input_tokens=1000, output_tokens=100)
FAR = "https://gateway.example/v1"


@pytest.fixture(autouse=True)
def nothing_stays(store: Store) -> Iterator[None]:
    yield
    for endpoint in store.providers.endpoints():
        endpoints.remove(store, endpoint.name)
    for provider in ("openai", "anthropic"):
        learn(provider, ())


def served(store: Store, url: str, protocol: str = "compatible") -> str:
    return endpoints.add(store, label="Mine", protocol=protocol, base_url=url).name


# --- figures ---------------------------------------------------------------------------------


def test_a_figure_comes_from_the_person_then_the_list_then_what_is_published(
    store: Store,
) -> None:
    def window() -> Known[int]:
        return facts(store, "anthropic", "claude-haiku-4-5").window

    assert window() == Known(200_000, "genai-prices")
    learn("anthropic", [ModelInfo(id="claude-haiku-4-5", label="H", window=150_000)])
    assert window() == Known(150_000, "list")
    store.providers.set_own("anthropic", "claude-haiku-4-5", OwnPrice(window=90_000))
    assert window() == Known(90_000, "yours")
    store.providers.set_own("anthropic", "claude-haiku-4-5", OwnPrice())
    assert window() == Known(150_000, "list")
    assert store.providers.own_of("anthropic") == {}


def test_what_nobody_knows_is_unknown_and_never_zero(store: Store) -> None:
    name = served(store, FAR)
    known = facts(store, name, "made-up")
    for figure in (known.window, known.output_limit, known.input, known.cached, known.output):
        assert figure == Known(None, "unknown")
    assert price(store, name, "made-up", None, USED) is None


def test_prices_follow_the_address_not_the_name(store: Store) -> None:
    router = served(store, "https://openrouter.ai/api/v1")
    assert facts(store, router, "openai/gpt-5").input.source == "genai-prices"
    endpoints.move(store, router, FAR)
    assert facts(store, router, "openai/gpt-5").input == Known(None, "unknown")


def test_on_this_machine_all_is_free_unless_the_person_says_so(store: Store) -> None:
    name = served(store, "http://127.0.0.1:11434/v1")
    assert facts(store, name, "llama").input == Known(Decimal(0), "free")
    assert price(store, name, "llama", None, Usage()) == 0
    store.providers.set_own(name, "llama", OwnPrice(window=9))
    assert price(store, name, "llama", None, USED) == 0
    store.providers.set_own(name, "llama", OwnPrice(input=Decimal(2)))
    assert price(store, name, "llama", None, USED) == 2_000_000
    assert price(store, name, "llama", None, Usage()) is None


def test_a_person_s_price_beats_the_published_one_figure_by_figure(store: Store) -> None:
    model = "claude-opus-5-5"  # published: 4 in, 20 out, cached 0.2
    assert price(store, "anthropic", model, None, USED) == 6_000_000
    store.providers.set_own("anthropic", model, OwnPrice(output=Decimal(0)))
    assert price(store, "anthropic", model, None, USED) == 4_000_000
    warm = replace(USED, cached_tokens=500)
    assert price(store, "anthropic", model, None, warm) == 2_100_000
    store.providers.set_own("anthropic", model, OwnPrice(input=Decimal(1)))
    assert price(store, "anthropic", model, None, warm) == 3_000_000


def test_half_a_price_is_none(store: Store) -> None:
    name = served(store, FAR)
    store.providers.set_own(name, "m", OwnPrice(input=Decimal(1)))
    assert price(store, name, "m", None, USED) is None
    store.providers.set_own(name, "m", OwnPrice(input=Decimal(1), output=Decimal(2)))
    assert price(store, name, "m", None, USED) == 1_200_000


def test_the_model_that_really_answered_is_priced(store: Store) -> None:
    alias = price(store, "anthropic", "claude-latest-of-all", "claude-opus-5-5", USED)
    assert alias == 6_000_000
    assert price(store, "anthropic", "claude-opus-5-5", "unheard-of", USED) == 6_000_000
    store.providers.set_own("anthropic", "claude-opus-5-5", OwnPrice(input=Decimal(0)))
    assert price(store, "anthropic", "alias", "claude-opus-5-5", USED) == 2_000_000


def test_a_run_costs_what_the_person_said(runner: Runner, store: Store, main: str) -> None:
    mine = OwnPrice(input=Decimal(1_000_000), output=Decimal(0))
    store.providers.set_own(ECHO_CONFIG.provider, ECHO_CONFIG.model, mine)
    run = runner.wait(runner.send(main, "one two three").id, 10)
    assert run.usage.input_tokens
    assert run.cost_nanodollars == run.usage.input_tokens * 1_000_000_000


def test_figures_survive_the_file(store: Store) -> None:
    mine = OwnPrice(input=Decimal("0.075"), cached=Decimal("1e-3"), window=1, output_limit=2)
    store.providers.set_own("x", "m", mine)
    assert store.providers.own("x", "m") == mine
    info = replace(ECHO.models()[0], window=None, free=True, note="n")
    store.providers.keep_list("x", [info])
    kept = store.providers.list_of("x")
    assert kept is not None
    assert kept.models == (info,)


# --- what is offered -------------------------------------------------------------------------


def test_a_list_goes_before_suggestions_and_its_gaps_are_filled_from_them(store: Store) -> None:
    suggested = [info.id for info in offered("openai")]
    assert suggested
    learn(
        "openai",
        [ModelInfo(id="gpt-zero", label="gpt-zero"), ModelInfo(id="gpt-5.5", label="gpt-5.5")],
    )
    assert [info.id for info in offered("openai", ["mine"])] == ["gpt-5.5", "gpt-zero", "mine"]
    filled = model_info("openai", "gpt-5.5")
    assert (filled.label, filled.window) == ("GPT-5.5", 1_000_000)


def test_a_model_typed_by_hand_has_the_settings_of_its_protocol(store: Store) -> None:
    for protocol, one in (
        ("compatible", "temperature"),
        ("openai", "max_tokens"),
        ("anthropic", "effort"),
        ("gemini", "temperature"),
    ):
        name = served(store, FAR, protocol)
        assert one in {knob.name for knob in model_info(name, "typed").knobs}
        assert one in {knob.name for knob in model_info(protocol, "typed").knobs}
        assert not model_info(name, "typed").free
        endpoints.remove(store, name)
    assert model_info("not-here", "m") == ModelInfo(id="m", label="m")


def test_the_table_holds_all_that_is_offered(store: Store) -> None:
    store.providers.set_own("anthropic", "claude-mine", OwnPrice(window=5))
    rows = {row.info.id: row for row in table(store, "anthropic")}
    assert rows["claude-mine"].window == Known(5, "yours")
    assert rows["claude-opus-5-5"].input == Known(Decimal(4), "genai-prices")
    assert facts(store, "openai", "gpt-6-sol").dearer_above == 272_000


# --- real calls ------------------------------------------------------------------------------


class Slow(type(ECHO)):  # type: ignore[misc]
    """A provider that never comes to an end."""

    name, label = "slow", "Slow one"

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        self.let_go.wait(30)
        return ()


def test_who_looks_on_does_not_wait_for_ever(store: Store) -> None:
    slow = Slow()
    register(slow)
    try:
        with pytest.raises(Timeout) as caught:
            models.refresh(store, "slow", patience=0.05)
        assert "Slow one" in caught.value.message
        assert store.providers.list_of("slow") is None
    finally:
        slow.let_go.set()
        unregister("slow")


def test_a_refreshed_list_is_kept_and_known_at_once(store: Store) -> None:
    kept = models.refresh(store, "echo")
    assert kept == store.providers.list_of("echo")
    assert {info.id for info in kept.models} == {info.id for info in ECHO.models()}
    models.ask_one_word("echo", "echo-1")
    with pytest.raises(NotFound):
        models.refresh(store, "nobody")
    learn("echo", ())
    assert "echo" in adapters()
