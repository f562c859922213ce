"""What the Gemini adapter sends: settings, keys, addresses, tools and files."""

import base64
import copy
from typing import Any

import pytest

from core.errors import (
    AuthFailed,
    BadFile,
    BadRequest,
    MissingKey,
    UnknownModel,
    Unsupported,
)
from core.providers import gemini
from core.providers.gemini import ADAPTER
from core.types import (
    AttachmentRef,
    Call,
    Endpoint,
    Stop,
    Tool,
)
from tests.contract.case import ask, words
from tests.contract.cases_gemini import KEY, MODEL
from tests.contract.google import (
    CALL,
    END,
    PNG,
    RESULT,
    WEATHER,
    body_of,
    fake_server,
    run,
    say,
    wire,
)
from tests.fakes import gemini as fake


def test_what_was_built_is_exactly_what_is_sent() -> None:
    call = Call(
        model=MODEL,
        system="Be brief.",
        messages=(say("user", "Hi", PNG), say("assistant", CALL), say("tool", RESULT)),
        sampling={"top_p": 1, "thinking_level": "low", "stop": "END"},
        tools=(WEATHER,),
        tool_choice="weather",
        attachments={PNG.sha256: b"png"},
    )
    request = ADAPTER.build(call)
    with fake_server(END) as (server, endpoint):
        list(ADAPTER.stream(request, endpoint, Stop()))
    assert server.seen[0].refused is None
    assert server.seen[0].body == body_of(request)
    assert server.paths == [f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"]


def test_the_settings_go_out_under_google_s_names_and_no_others() -> None:
    sampling = {
        "temperature": 0.1,
        "top_p": 0.9,
        "top_k": 40,
        "max_tokens": 5,
        "seed": 1,
        "stop": ["END", ""],
        "presence_penalty": 0,
        "thinking_level": "low",
        "include_thoughts": "no",
        "frequency_penalty": None,
        "contents": "mine",
        "model": "mine",
    }
    built = ADAPTER.build(ask("Hi", MODEL, system="Be brief.", sampling=sampling))
    assert built.envelope == {
        "model": MODEL,
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "maxOutputTokens": 5,
            "presencePenalty": 0,
            "seed": 1,
            "stopSequences": ["END"],
            "temperature": 0.1,
            "thinkingConfig": {"thinkingLevel": "LOW"},
            "topK": 40,
            "topP": 0.9,
        },
    }
    fake.check(MODEL, body_of(built))


def test_thoughts_are_asked_for_where_a_model_has_them() -> None:
    shown = {"thinkingConfig": {"includeThoughts": True}}
    assert ADAPTER.build(ask("Hi", MODEL)).envelope["generationConfig"] == shown
    assert ADAPTER.build(ask("Hi", "gemini-2.5-pro")).envelope["generationConfig"] == shown
    assert ADAPTER.build(ask("Hi", "gemini-2.0-flash")).envelope["generationConfig"] == {}
    assert ADAPTER.build(ask("Hi", "gemma-4-31b-it")).envelope["generationConfig"] == {}


def test_structured_output_is_asked_for_as_json_schema() -> None:
    schema = {"type": ["object", "null"], "properties": {"a": {"type": "integer"}}}
    built = ADAPTER.build(ask("Hi", MODEL, sampling={"response_json_schema": schema}))
    config = built.envelope["generationConfig"]
    assert config["responseJsonSchema"] == schema
    assert config["responseMimeType"] == "application/json"
    fake.check(MODEL, body_of(built))


def test_only_the_headers_of_the_call_are_sent() -> None:
    with fake_server(END) as (server, endpoint):
        own = Endpoint(base_url=endpoint.base_url, api_key=KEY, headers={"X-Gate": "Mine"})
        run(ask("Hi", MODEL), own)
    assert {name for name, _ in server.seen[0].headers} == {
        "host",
        "x-goog-api-key",
        "content-type",
        "content-length",
        "accept",
        "accept-encoding",
        "user-agent",
        "x-gate",
    }


def test_no_switch_of_the_environment_leads_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    traps = {
        "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_API_VERSION": "v9",
        "GOOGLE_GENAI_CLIENT_MODE": "replay",
        "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
        "GOOGLE_GENAI_REPLAY_ID": "trap",
        "GOOGLE_CLOUD_PROJECT": "trap",
        "GOOGLE_CLOUD_LOCATION": "trap",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
        "GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:9",
        "GOOGLE_API_KEY": "trap-key",
    }
    for name, value in traps.items():
        monkeypatch.setenv(name, value)
    with fake_server(fake.chunk({"text": "yes"}), END) as (server, endpoint):
        assert words(run(ask("Hi", MODEL), endpoint)) == "yes"
    assert server.paths == [f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"]
    assert "trap" not in repr(server.seen[0].headers)


@pytest.mark.parametrize(
    ("ending_of_url", "path"),
    [
        ("", "/v1beta/"),
        ("/", "/v1beta/"),
        ("/v1", "/v1/"),
        ("/v1beta/", "/v1beta/"),
        ("/gate", "/gate/v1beta/"),
        ("/gate/v1", "/gate/v1/"),
    ],
)
def test_the_address_may_name_a_version_or_a_gateway(ending_of_url: str, path: str) -> None:
    with fake_server(END) as (server, endpoint):
        there = Endpoint(base_url=endpoint.base_url + ending_of_url, api_key=KEY)
        if "gate" in path:
            with pytest.raises(BadRequest) as caught:
                run(ask("Hi", MODEL), there)
            assert "address" in caught.value.hint
        else:
            run(ask("Hi", MODEL), there)
    assert server.paths == [f"{path}models/{MODEL}:streamGenerateContent?alt=sse"]


def test_software_that_cannot_be_loaded_is_told() -> None:
    endpoint = Endpoint(base_url="http://127.0.0.1:1", api_key=KEY)
    error = gemini.translate(ImportError("httpx is configured"), {"model": MODEL}, endpoint)
    assert isinstance(error, Unsupported)
    assert error.hint


def test_the_key_of_the_environment_goes_to_google_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ADAPTER.hidden()
    for name in ADAPTER.key_names:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingKey, match="Gemini") as caught:
        run(ask("Hi", MODEL), None)
    assert "Settings" in caught.value.hint
    monkeypatch.setenv("GOOGLE_API_KEY", "second")
    assert gemini._reachable(None).api_key == "second"
    monkeypatch.setenv("GEMINI_API_KEY", " first\n")
    assert gemini._reachable(None) == Endpoint(base_url=ADAPTER.default_url, api_key="first")
    with fake_server(END) as (server, endpoint), pytest.raises(MissingKey):
        run(ask("Hi", MODEL), Endpoint(base_url=endpoint.base_url, api_key=""))
    assert server.seen == []


def test_a_key_that_cannot_be_one_is_refused_without_showing_it() -> None:
    for key in ("AIza-abc\nX-Evil: 1", "auth_tokens/abc"):
        with pytest.raises(AuthFailed) as caught:
            run(ask("Hi", MODEL), Endpoint(base_url="http://127.0.0.1:1", api_key=key))
        assert "abc" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "a/../b", "a?key=1", "a b", "a#b"])
def test_a_name_no_model_can_have_is_told_before_anything_is_sent(name: str) -> None:
    with fake_server(END) as (server, endpoint), pytest.raises(UnknownModel):
        run(ask("Hi", name), endpoint)
    assert server.seen == []


def test_a_setting_that_is_not_a_number_is_told() -> None:
    with fake_server(END) as (server, endpoint), pytest.raises(BadRequest):
        run(ask("Hi", MODEL, sampling={"temperature": float("nan")}), endpoint)
    assert server.seen == []


def test_one_client_is_kept_for_a_server_and_key() -> None:
    gemini._client.cache_clear()
    with fake_server(END) as (_, endpoint):
        for _ in range(3):
            run(ask("Hi", MODEL), endpoint)
    assert gemini._client.cache_info().currsize == 1


# --- tools ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("required", {"mode": "ANY"}),
        ("none", {"mode": "NONE"}),
        ("weather", {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
    ],
)
def test_tools_and_the_choice_among_them(choice: str, config: Any) -> None:
    built = ADAPTER.build(ask("Hi", MODEL, tools=(WEATHER,), tool_choice=choice))
    fake.check(MODEL, body_of(built))
    [tool] = built.envelope["tools"]
    assert tool["functionDeclarations"] == [
        {
            "name": "weather",
            "description": "The weather of a place.",
            "parametersJsonSchema": WEATHER.parameters,
        }
    ]
    assert built.envelope["toolConfig"] == {"functionCallingConfig": config}


def test_without_tools_no_choice_is_sent() -> None:
    assert "toolConfig" not in ADAPTER.build(ask("Hi", MODEL, tool_choice="auto")).envelope


def test_what_the_dialect_does_not_know_is_told_in_words() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2, "description": "Where."},
            "unit": {"const": "C"},
            "type": {"$ref": "#/definitions/kind", "description": "dropped"},
            "way": {"oneOf": [{"type": "string", "pattern": "^a"}, {"type": "null"}]},
            "all": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}},
        },
        "required": ["city"],
        "additionalProperties": False,
        "definitions": {"kind": {"enum": ["a", "b"], "default": "a"}},
    }
    untouched = copy.deepcopy(schema)
    tool = Tool(name="t", description="d", parameters=schema)
    built = ADAPTER.build(ask("Hi", MODEL, tools=(tool,)))
    fake.check(MODEL, body_of(built))
    made = built.envelope["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]
    assert made["properties"]["city"]["description"] == "Where. (minLength: 2)"
    assert made["properties"]["unit"] == {"enum": ["C"]}
    assert made["properties"]["type"] == {"$ref": "#/$defs/kind"}
    assert made["$defs"]["kind"]["enum"] == ["a", "b"]
    assert made["additionalProperties"] is False
    assert schema == untouched


def test_a_tool_no_model_can_be_offered_is_told() -> None:
    with pytest.raises(Unsupported):
        ADAPTER.build(ask("Hi", MODEL, tools=(Tool(name="a b", description="", parameters={}),)))


# --- attachments ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["image/png", "image/jpeg", "image/webp", "application/pdf"])
def test_images_and_pdf_go_in_place(kind: str) -> None:
    file = AttachmentRef(sha256="2" * 64, media_type=kind, name="a file")
    [content] = wire(say("user", "Before", file, "after"), attachments={"2" * 64: b"\x00\xff"})
    assert content["parts"] == [
        {"text": "Before"},
        {"inlineData": {"mimeType": kind, "data": base64.b64encode(b"\x00\xff").decode()}},
        {"text": "after"},
    ]


def test_text_is_pasted_with_its_name() -> None:
    file = AttachmentRef(sha256="3" * 64, media_type="text/csv", name="list.csv")
    [content] = wire(say("user", "See", file), attachments={"3" * 64: "ä;b".encode()})
    [part] = content["parts"]
    assert part["text"].startswith("See")
    assert "list.csv" in part["text"]
    assert "ä;b" in part["text"]


@pytest.mark.parametrize("kind", ["image/gif", "audio/wav", "application/zip"])
def test_a_file_it_does_not_take_is_told_before_anything_is_sent(kind: str) -> None:
    file = AttachmentRef(sha256="4" * 64, media_type=kind, name="thing.bin")
    with pytest.raises(Unsupported, match=r"thing\.bin") as caught:
        wire(say("user", "See", file), attachments={"4" * 64: b"\x00\xff"})
    assert caught.value.hint


def test_a_file_that_is_gone_is_told() -> None:
    with pytest.raises(BadFile, match=r"cat\.png"):
        wire(say("user", PNG))
