"""The meter on the page: in the head, over Settings, and what its button does."""

import pytest

from core import Config, Store, show
from core.estimate import Calibration
from core.meter import Meter, Warm, measure
from pages import backend
from pages.components import acts, meter
from tests.app.conftest import ECHO, Open, conversation

TALK = ("first question", "first answer")


def made(**more: object) -> Meter:
    known = {"tokens": 1000, "exact": False, "parts": (), "files": 0, "window": 8192, "cost": 0}
    return Meter(**{**known, "calibration": Calibration(), **more})


@pytest.mark.parametrize(
    ("config", "texts", "said"),
    [
        (ECHO, TALK, "≈ 13 of 8.2k tokens"),
        (ECHO, (), "≈ 0 of 8.2k tokens"),
        (ECHO, ("word " * 7000,), "nearly full"),
        (ECHO, ("word " * 9000,), "too long"),
        (Config(provider="compatible", model="somebody's"), TALK, "≈ 13 tokens"),
        (Config(provider="gone", model="m"), TALK, "≈ 13 tokens"),
        (Config(provider="anthropic", model="claude-opus-5-5"), TALK, "≈ 13 of 1M tokens"),
    ],
    ids=["short", "empty", "nearly full", "full", "unknown window", "provider gone", "Claude"],
)
def test_the_head_tells_how_much_the_next_send_takes(
    app: Open, store: Store, config: Config, texts: tuple[str, ...], said: str
) -> None:
    session = conversation(store, *texts, config=config)
    test = app(session=session.id)
    assert said in "".join(html.proto.body for html in test.get("html"))


@pytest.mark.parametrize(
    ("tokens", "brief"),
    [
        (0, "0"),
        (812, "812"),
        (999, "999"),
        (1000, "1k"),
        (1234, "1.2k"),
        (9949, "9.9k"),
        (9950, "10k"),
        (41_200, "41k"),
        (999_499, "999k"),
        (1_000_000, "1M"),
        (1_048_576, "1.05M"),
    ],
)
def test_a_number_of_tokens_is_brief(tokens: int, brief: str) -> None:
    assert meter.brief(tokens) == brief


@pytest.mark.parametrize(
    ("cost", "words"),
    [(None, "unknown"), (0, "free"), (50_000, "< $0.0001"), (2_100_000, "≈ $0.0021")],
)
def test_a_price_is_in_words_and_unknown_is_not_zero(cost: int | None, words: str) -> None:
    assert meter.price(made(cost=cost)) == words


def test_an_exact_count_bears_no_sign() -> None:
    assert meter.short(made(exact=True)) == "1k of 8.2k tokens"
    assert meter.short(made()) == "≈ 1k of 8.2k tokens"


@pytest.mark.parametrize(
    ("warm", "tokens", "until"),
    [(None, None, None), (Warm(tokens=0), 0, None), (Warm(tokens=5, until=2.0), 5, 2000)],
)
def test_what_is_warm_is_a_number_or_unknown(
    warm: Warm | None, tokens: int | None, until: int | None
) -> None:
    told = meter.meter_data(made(warm=warm))["warm"]
    assert (told["tokens"], told["until"]) == (tokens, until)
    assert told["about"].endswith(".")


def test_the_button_is_there_where_somebody_counts_and_has_not_yet() -> None:
    assert meter.meter_data(made(countable=True))["countable"]
    assert not meter.meter_data(made(countable=True, exact=True))["countable"]
    assert not meter.meter_data(made(countable=False))["countable"]


def test_pressed_it_counts_and_the_head_says_so(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    view = show(store, session.id)
    result = acts.perform(backend.runner(), view, {"action": "count"})
    assert result.stay
    assert measure(store, view).exact
    test = app(session=session.id)
    told = "".join(html.proto.body for html in test.get("html"))
    assert "5 of 8.2k tokens" in told
    assert "≈" not in told
