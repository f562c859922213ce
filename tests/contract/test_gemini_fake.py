"""The fake of Gemini is as strict as it says."""

import copy
import json
from typing import Any

import pytest

from core.providers.gemini import ADAPTER
from tests.contract.case import ask
from tests.contract.cases_gemini import MODEL
from tests.contract.google import body_of
from tests.fakes import gemini as fake


@pytest.mark.parametrize(
    "change",
    [
        {"contents": []},
        {"contents": [{"role": "user", "parts": []}]},
        {"contents": [{"role": "user", "parts": [{"text": " "}]}]},
        {"contents": [{"role": "system", "parts": [{"text": "a"}]}]},
        {"contents": [{"role": "model", "parts": [{"text": "a"}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "a", "novelty": 1}]}]},
        {"contents": [{"role": "user", "parts": [{"text": "a"}]}] * 2},
        {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "a"}}]}]},
        {"novelty": 1},
        {"generationConfig": {"temperature": 3}},
        {"generationConfig": {"temperature": "1"}},
        {"generationConfig": {"maxTokens": 1}},
        {"generationConfig": {"stopSequences": []}},
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}},
        {"generationConfig": {"responseJsonSchema": {}}},
        {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        {"tools": [{"functionDeclarations": [{"name": "a b"}]}]},
        {"tools": [{"functionDeclarations": [{"name": "a", "parameters": {}}]}]},
        {"systemInstruction": {"parts": [{"text": ""}]}},
    ],
    ids=json.dumps,
)
def test_the_fake_refuses_what_google_does_not_take(change: dict[str, Any]) -> None:
    good = body_of(ADAPTER.build(ask("Hi", MODEL)))
    fake.check(MODEL, good)
    with pytest.raises(fake.Refused):
        fake.check(MODEL, {**good, **change})


def test_the_fake_refuses_calls_without_signatures_or_results() -> None:
    question = {"role": "user", "parts": [{"text": "q"}]}
    call = {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]}
    response = {"functionResponse": {"name": "a", "response": {}}}
    signed = copy.deepcopy(call)
    signed["parts"][0]["thoughtSignature"] = fake.DUMMY
    fake.check(MODEL, {"contents": [question, signed, {"role": "user", "parts": [response]}]})
    fake.check(
        "gemini-2.5-pro", {"contents": [question, call, {"role": "user", "parts": [response]}]}
    )
    for contents in (
        [question, signed],
        [question, call, {"role": "user", "parts": [response]}],
        [question, signed, {"role": "user", "parts": [response, response]}],
        [question, signed, {"role": "user", "parts": [response, {"text": "a"}]}],
    ):
        with pytest.raises(fake.Refused):
            fake.check(MODEL, {"contents": contents})
