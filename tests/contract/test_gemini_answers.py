"""What the Gemini adapter makes of answers, complaints, lists of models and counts."""

import json
from typing import Any

import pytest

from core.errors import (
    AuthFailed,
    BadReply,
    BadRequest,
    Unreachable,
)
from core.providers.gemini import ADAPTER
from core.types import (
    Endpoint,
    ToolCall,
    Usage,
)
from tests.contract.case import ask, ending, words
from tests.contract.cases_gemini import KEY, MODEL
from tests.contract.google import WEATHER, answer, body_of, fake_server, run, say, wire
from tests.fakes import gemini as fake
from tests.fakes.chat_completions import sse
from tests.fakes.server import serving


def test_a_call_without_an_id_gets_one() -> None:
    part = {"functionCall": {"name": "clock"}}
    found = answer(fake.chunk(part, part, finish="STOP"))
    calls = [event for event in found if isinstance(event, ToolCall)]
    assert [(call.name, call.arguments) for call in calls] == [("clock", "{}")] * 2
    assert len({call.id for call in calls}) == 2
    assert all(call.id for call in calls)


def test_a_blocked_prompt_is_an_answer_that_was_filtered() -> None:
    usage = {"promptTokenCount": 7}
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": usage}
    end = ending(answer(sse(blocked)))
    assert (end.finish_reason, end.raw) == ("content_filter", None)
    assert end.usage == Usage(input_tokens=7)


@pytest.mark.parametrize(
    ("wire_reason", "ours"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("CONTINUATION", "length"),
        ("RECITATION", "content_filter"),
        ("SPII", "content_filter"),
        ("OTHER", "cut_off"),
        ("A_NEW_REASON", "stop"),
    ],
)
def test_every_reason_has_a_meaning(wire_reason: str, ours: str) -> None:
    found = answer(fake.chunk({"text": "x"}, finish=wire_reason))
    assert (words(found), ending(found).finish_reason) == ("x", ours)


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "MISSING_THOUGHT_SIGNATURE"])
def test_an_answer_that_went_wrong_is_an_error(reason: str) -> None:
    with fake_server(fake.chunk(finish=reason)) as (_, endpoint), pytest.raises(BadReply) as caught:
        run(ask("Hi", MODEL), endpoint)
    assert (caught.value.provider, caught.value.model) == ("gemini", MODEL)


def test_the_last_count_of_tokens_is_the_right_one() -> None:
    first = {"promptTokenCount": 5, "candidatesTokenCount": 1}
    last = {
        "promptTokenCount": 5,
        "toolUsePromptTokenCount": 2,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 4,
        "cachedContentTokenCount": 1,
    }
    end = ending(
        answer(
            fake.chunk({"text": "a"}, usageMetadata=first),
            fake.chunk({"text": "b"}, finish="STOP", usageMetadata=last),
        )
    )
    assert end.usage == Usage(input_tokens=7, output_tokens=7, cached_tokens=1, reasoning_tokens=4)
    assert end.resolved_model == "fake-gemini-001"


def test_a_server_that_does_not_stream_is_told() -> None:
    with (
        fake_server(content_type="application/json") as (_, endpoint),
        pytest.raises(BadReply, match="without streaming") as caught,
    ):
        run(ask("Hi", MODEL), endpoint)
    assert "address" in caught.value.hint


@pytest.mark.parametrize(
    ("message", "field", "sampling", "named"),
    [
        ("Invalid value.", "generation_config.max_output_tokens", {"max_tokens": 5}, "max_tokens"),
        ("Penalty is not enabled for this model.", "", {"presence_penalty": 1}, "presence_penalty"),
        ("Thinking level is not supported.", "", {"thinking_level": "low"}, "thinking_level"),
        ("The thinking budget 5 is invalid.", "", {"thinking_budget": 5}, "thinking_budget"),
        ("topK must be at most 40.", "", {"top_k": 50, "top_p": 1}, "top_k"),
        ("Something else.", "", {"top_k": 50}, None),
    ],
)
def test_the_setting_that_is_to_blame_is_named(
    message: str, field: str, sampling: dict[str, Any], named: str | None
) -> None:
    details = [fake.violation(field, message)] if field else []
    refused = fake.refusal(400, message, "INVALID_ARGUMENT", *details)
    with (
        fake_server(status=400, body=refused.body) as (_, endpoint),
        pytest.raises(BadRequest) as caught,
    ):
        run(ask("Hi", MODEL, sampling=sampling), endpoint)
    assert caught.value.parameter == named
    if named:
        assert named in caught.value.hint


# --- models and tokens ---------------------------------------------------------------------


def test_the_models_that_write_text_are_listed_page_by_page() -> None:
    def model(name: str, *methods: str, **more: Any) -> dict[str, Any]:
        return {"name": f"models/{name}", "supportedGenerationMethods": list(methods), **more}

    models = [
        model("gemini-9", "generateContent", displayName="Gemini 9", inputTokenLimit=9,
              outputTokenLimit=3, thinking=True, maxTemperature=1.5),
        model("gemini-9-image", "generateContent"),
        model("text-embedding-1", "embedContent"),
        model("gemini-2.5-flash", "generateContent", novelty=1),
        model("gemini-9-tts-preview", "generateContent"),
    ]  # fmt: skip
    server = fake.Gemini(key=KEY, models=models)
    with serving(server.app) as address:
        found = ADAPTER.list_models(Endpoint(base_url=address, api_key=KEY))
    assert [info.id for info in found] == ["gemini-9", "gemini-2.5-flash"]
    new, old = found
    assert (new.label, new.window, new.output_limit, new.thinking) == ("Gemini 9", 9, 3, True)
    knobs = {knob.name: knob for knob in new.knobs}
    assert knobs["temperature"].high == 1.5
    assert "thinking_level" in knobs
    assert (old.window, old.thinking) == (1_048_576, True)
    assert "thinking_budget" in {knob.name for knob in old.knobs}


def test_a_bad_key_is_told_when_models_are_listed_or_tokens_counted() -> None:
    with fake_server() as (_, endpoint):
        wrong = Endpoint(base_url=endpoint.base_url, api_key="AIza-not-this-one")
        with pytest.raises(AuthFailed):
            ADAPTER.list_models(wrong)
        with pytest.raises(AuthFailed):
            ADAPTER.count_tokens(ADAPTER.build(ask("Hi", MODEL)), wrong)
    with pytest.raises(Unreachable):
        ADAPTER.list_models(endpoint)


def test_tokens_are_counted_of_the_whole_request() -> None:
    call = ask("Hi", MODEL, system="Be brief.", tools=(WEATHER,), sampling={"seed": 1})
    request = ADAPTER.build(call)
    with fake_server() as (server, endpoint):
        counted = ADAPTER.count_tokens(request, endpoint)
    assert counted == len(json.dumps(body_of(request)))
    assert server.seen[0].refused is None
    whole = server.seen[0].body["generateContentRequest"]
    assert whole == {**body_of(request), "model": f"models/{MODEL}"}


def test_the_suggestions_say_what_a_model_takes() -> None:
    infos = {info.id: info for info in ADAPTER.models()}
    assert len(infos) == len(ADAPTER.models())
    for info in infos.values():
        sampling = {knob.name: 1 for knob in info.knobs if knob.kind in ("number", "integer")}
        sampling |= {knob.name: knob.choices[0] for knob in info.knobs if knob.kind == "choice"}
        sampling |= {knob.name: ["a"] for knob in info.knobs if knob.kind == "list"}
        wire(say("user", "Hi"), model=info.id, sampling=sampling)
        assert info.thinking
        assert info.tools
