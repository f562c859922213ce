"""Keys, lists of models and counting with the Responses adapter."""

from dataclasses import replace

import pytest

from core.errors import AuthFailed, BadReply, MissingKey
from core.providers import openai as adapter_module
from core.providers.openai import ADAPTER
from core.types import Endpoint
from tests.contract.case import ask, words
from tests.contract.cases_compatible import KEY
from tests.contract.cases_openai import MODEL
from tests.contract.respond import CLOCK, fake_server, run
from tests.fakes import openai as fake


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for endpoint in (None, Endpoint(base_url="http://127.0.0.1:9/v1", api_key=" ")):
        with pytest.raises(MissingKey) as caught:
            run(ask("Hi", MODEL), endpoint)
        assert "Settings" in caught.value.hint


def test_the_environment_s_key_goes_to_the_default_address_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/trap")
    with fake_server() as (server, endpoint):
        monkeypatch.setattr(adapter_module.OpenAI, "default_url", endpoint.base_url)
        assert words(run(ask("Hi", MODEL), None)) == "Hello world"
        with pytest.raises(MissingKey):
            run(ask("Hi", MODEL), replace(endpoint, api_key=""))
    assert len(server.seen) == 1


def test_the_list_of_models_holds_those_that_write_text_and_still_run() -> None:
    with fake_server() as (server, endpoint):
        found = ADAPTER.list_models(endpoint)
    assert [info.id for info in found] == ["gpt-6-sol", "gpt-5-mini", "gpt-4.1"]
    assert found[0].window == 1_050_000
    assert (found[1].window, found[1].note) == (None, "Shuts down on 2999-12-11.")
    assert [knob.name for knob in found[2].knobs] == ["max_tokens", "temperature", "top_p"]
    assert "python" not in repr(server.seen[0].headers).lower()


def test_a_wrong_key_is_told_by_the_list_too() -> None:
    with fake_server() as (_, endpoint), pytest.raises(AuthFailed) as caught:
        ADAPTER.list_models(replace(endpoint, api_key="sk-wrong-0123456789"))
    assert "sk-wrong" not in str(caught.value)


def test_tokens_are_counted_by_the_api_itself() -> None:
    call = ask("Hi", MODEL, system="S", tools=(CLOCK,), sampling={"max_tokens": 16})
    with fake_server() as (server, endpoint):
        assert ADAPTER.count_tokens(ADAPTER.build(call), endpoint) == 42
        with pytest.raises(AuthFailed):
            ADAPTER.count_tokens(ADAPTER.build(call), replace(endpoint, api_key="sk-wrong-012345"))
    assert set(server.seen[0].body) == {"model", "instructions", "tools", "input"}
    assert server.seen[0].refused is None


def test_suggested_models_offer_only_what_they_take() -> None:
    for info in ADAPTER.models():
        assert info.window
        assert info.thinking
        assert not {"temperature", "top_p", "seed", "stop"} & {knob.name for knob in info.knobs}
    assert not ADAPTER.hidden()


@pytest.mark.parametrize("body", ["<html>Welcome</html>", [1], "{}"])
def test_a_list_that_is_none_is_told(body: object) -> None:
    with fake_server() as (server, endpoint), pytest.raises(BadReply):
        server.play = fake.Play(status=203, body=body)
        ADAPTER.list_models(endpoint)
