"""What the Anthropic adapter sends: settings, breakpoints, keys and addresses."""

import json
from typing import Any

import anthropic
import pytest

from core.errors import AuthFailed, BadRequest, MissingKey, Unsupported
from core.providers import anthropic as adapter
from core.providers.anthropic import ADAPTER
from core.types import Endpoint, Stop
from core.wire import messages as wire_form
from tests.contract.case import words
from tests.contract.cases_anthropic import KEY
from tests.contract.claude import WEATHER, ask, checked, fake_server, run, say

# --- settings ------------------------------------------------------------------------------


def test_the_longest_answer_is_always_told() -> None:
    assert checked()["max_tokens"] == 32_000
    assert checked(sampling={"max_tokens": 7})["max_tokens"] == 7


def test_what_was_built_is_exactly_what_is_sent_but_for_the_breakpoints() -> None:
    request = ADAPTER.build(ask(system="Be brief.", tools=(WEATHER,)))
    with fake_server() as (server, endpoint):
        list(ADAPTER.stream(request, endpoint, Stop()))
    assert server.seen[0].refused is None
    assert server.seen[0].body == wire_form.body(request)
    assert "cache_breakpoints" not in server.seen[0].body
    assert "cache_control" not in json.dumps([dict(request.envelope), request.messages])


def test_only_the_headers_of_the_call_are_sent() -> None:
    with fake_server() as (server, endpoint):
        own = Endpoint(base_url=endpoint.base_url, api_key=KEY, headers={"x-gate": "mine"})
        run(ask(), own)
    assert {name for name, _ in server.seen[0].headers} == {
        *("host", "authorization", "content-type", "content-length", "accept"),
        *("accept-encoding", "user-agent", "anthropic-version", "x-gate"),
    }


def test_the_version_is_the_one_of_the_sdk() -> None:
    assert anthropic._constants.ANTHROPIC_API_VERSION == adapter.VERSION


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("adaptive", {"type": "adaptive", "display": "summarized"}),
        ("enabled", {"type": "enabled", "budget_tokens": 16_000, "display": "summarized"}),
        ("between_tools", {"type": "between_tools"}),
        ({"type": "adaptive"}, {"type": "adaptive"}),
    ],
)
def test_thinking_is_asked_for_in_full(choice: Any, sent: Any) -> None:
    assert checked(sampling={"thinking": choice})["thinking"] == sent


def test_a_budget_leaves_room_for_the_answer() -> None:
    body = checked(sampling={"thinking": "enabled", "budget_tokens": 50_000})
    assert body["max_tokens"] == 82_000
    assert (
        checked(sampling={"thinking": "enabled", "max_tokens": 3000})["thinking"]["budget_tokens"]
        == 1500
    )
    with pytest.raises(Unsupported, match="1024") as caught:
        checked(sampling={"thinking": "enabled", "max_tokens": 1000})
    assert "thinking off" in caught.value.hint
    assert "budget_tokens" not in json.dumps(checked(sampling={"budget_tokens": 5000}))


def test_effort_has_its_own_place() -> None:
    assert checked(sampling={"effort": "low"})["output_config"] == {"effort": "low"}


def test_blank_stops_are_not_sent() -> None:
    assert checked(sampling={"stop_sequences": ["a", " "]})["stop_sequences"] == ["a"]
    assert "stop_sequences" not in checked(sampling={"stop_sequences": [""]})


@pytest.mark.parametrize("name", ["temperature", "top_p", "top_k"])
def test_settings_of_older_days_are_refused_by_name(name: str) -> None:
    with fake_server() as (_, endpoint), pytest.raises(BadRequest) as caught:
        run(ask(sampling={name: 1}), endpoint)
    assert caught.value.parameter == name
    assert name in caught.value.hint


def test_a_setting_that_is_not_json_is_told() -> None:
    with fake_server() as (server, endpoint), pytest.raises(BadRequest):
        run(ask(sampling={"max_tokens": float("nan")}), endpoint)
    assert server.seen == []


def test_no_model_is_offered_a_temperature() -> None:
    for info in ADAPTER.models():
        names = [knob.name for knob in info.knobs]
        assert names[0] == "max_tokens"
        assert not {"temperature", "top_p", "top_k"} & set(names)
        assert info.window
        assert info.images and info.tools and info.thinking


# --- cache breakpoints ---------------------------------------------------------------------

LONG = tuple(say("user" if n % 2 == 0 else "assistant", f"turn {n}") for n in range(9))


def marks(body: dict[str, Any]) -> list[str]:
    """Where breakpoints are: the names of places, and texts of blocks."""
    blocks = [block for message in body["messages"] for block in message["content"]]
    named = [("tools", body.get("tools", [])), ("system", body.get("system", []))]
    found = [name for name, things in named if any("cache_control" in thing for thing in things)]
    return found + [block["text"] for block in blocks if "cache_control" in block]


def test_breakpoints_stand_at_tools_system_the_fork_and_the_end() -> None:
    body = checked(*LONG, system="Be brief.", tools=(WEATHER,), shared_until=5)
    assert marks(body) == ["tools", "system", "turn 4", "turn 8"]


def test_where_there_is_nothing_to_mark_nothing_is_marked() -> None:
    assert marks(checked(*LONG)) == ["turn 8"]
    assert marks(checked(*LONG, shared_until=0)) == ["turn 8"]
    assert marks(checked(*LONG, shared_until=9)) == ["turn 8"]
    assert marks(checked(*LONG, shared_until=99)) == ["turn 8"]


def test_the_messages_are_the_same_wherever_the_breakpoints_are() -> None:
    plain = ADAPTER.build(ask(*LONG))
    forked = ADAPTER.build(ask(*LONG, shared_until=3))
    assert plain.messages == forked.messages
    assert plain.envelope != forked.envelope


def test_the_next_turn_and_a_fork_find_the_prefix_warm() -> None:
    long = tuple(say("user" if n % 2 == 0 else "assistant", f"turn {n}") for n in range(61))
    with fake_server() as (server, endpoint):
        run(ask(*long[:31], system="Be brief.", tools=(WEATHER,), shared_until=5), endpoint)
        run(ask(*long[:33], system="Be brief.", tools=(WEATHER,), shared_until=5), endpoint)
        fork = (*long[:5], say("assistant", "else"), say("user", "more"))
        run(ask(*fork, system="Be brief.", tools=(WEATHER,), shared_until=5), endpoint)
        run(ask(say("user", "new"), system="Be brief.", tools=(WEATHER,)), endpoint)
    assert [seen.refused for seen in server.seen] == [None] * 4
    assert server.warm == [0, 2 + 31, 2 + 5, 2]


# --- keys and addresses --------------------------------------------------------------------


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "trap")
    assert not ADAPTER.hidden()
    for endpoint in (None, Endpoint(base_url="", api_key=" ")):
        with pytest.raises(MissingKey) as caught:
            run(ask(), endpoint)
        assert "Settings" in caught.value.hint


def test_the_key_of_the_environment_goes_to_anthropic_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "trap")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "trap")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Trap: trap\nAuthorization: trap")
    with fake_server() as (server, endpoint), fake_server() as (stranger, other):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", other.base_url)
        monkeypatch.setattr(adapter, "URL", endpoint.base_url)
        assert words(run(ask(), None)) == "Hi"
        assert ADAPTER.count_tokens(ADAPTER.build(ask()), None)
        assert ADAPTER.list_models(None) == ()
        with pytest.raises(AuthFailed):
            run(ask(), Endpoint(base_url=other.base_url, api_key=""))
    assert len(server.seen) == 3
    assert "trap" not in repr([seen.headers for seen in server.seen])
    assert KEY not in repr(stranger.seen)


@pytest.mark.parametrize("ending", ["/", "/v1", "/v1/"])
def test_the_address_may_end_as_others_do(ending: str) -> None:
    with fake_server() as (_, endpoint):
        run(ask(), Endpoint(base_url=endpoint.base_url + ending, api_key=KEY))


def test_one_client_is_kept_for_a_server_and_key() -> None:
    adapter._client.cache_clear()
    with fake_server() as (_, endpoint):
        for _ in range(3):
            run(ask(), endpoint)
    assert adapter._client.cache_info().currsize == 1
