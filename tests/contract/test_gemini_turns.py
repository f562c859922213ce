"""The order of contents that Gemini is sent, and its own answers given back."""

import base64
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import (
    BadRequest,
)
from core.providers.gemini import ADAPTER
from core.types import (
    Call,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from tests.contract.case import ending
from tests.contract.cases_gemini import MODEL
from tests.contract.google import (
    CALL,
    END,
    PNG,
    RESULT,
    answer,
    body_of,
    converse,
    conversing,
    fake_server,
    run,
    say,
    wire,
)
from tests.fakes import gemini as fake


def test_all_orders_go_into_the_system_instruction() -> None:
    call = Call(
        model=MODEL,
        system="one",
        messages=(say("user", "a"), say("system", "two"), say("user", "b")),
    )
    built = ADAPTER.build(call)
    assert built.envelope["systemInstruction"] == {"parts": [{"text": "one\n\ntwo"}]}
    assert built.messages == ({"role": "user", "parts": [{"text": "a"}, {"text": "\n\nb"}]},)


def test_results_of_one_turn_stand_in_one_content_in_the_order_of_the_calls() -> None:
    calls = [ToolCall(id=f"c{n}", name="weather", arguments=f'{{"n": {n}}}') for n in range(3)]
    results = [ToolResult(call_id=f"c{n}", name="weather", text=f"r{n}") for n in (2, 0)]
    failed = ToolResult(call_id="c1", name="weather", text="no", is_error=True)
    sent = wire(
        say("user", "q"),
        say("assistant", "Look.", *calls),
        *(say("tool", result) for result in (*results, failed)),
        say("user", "and?"),
    )
    assert [content["role"] for content in sent] == ["user", "model", "user", "user"]
    assert [part["functionResponse"] for part in sent[2]["parts"]] == [
        {"name": "weather", "response": {"output": "r0"}},
        {"name": "weather", "response": {"error": "no"}},
        {"name": "weather", "response": {"output": "r2"}},
    ]


def test_calls_without_ids_get_their_results_by_name_and_order() -> None:
    names = ["a", "b", "a"]
    calls = [ToolCall(id="", name=name, arguments="{}") for name in names]
    results = [
        ToolResult(call_id="", name=name, text=text)
        for name, text in zip("baa", "123", strict=True)
    ]
    sent = wire(say("user", "q"), say("assistant", *calls), say("tool", *results))
    found = [part["functionResponse"]["response"]["output"] for part in sent[2]["parts"]]
    assert found == ["2", "1", "3"]


def test_a_stranger_s_first_call_is_marked_as_such_for_newer_models_only() -> None:
    other = ToolCall(id="call_2", name="weather", arguments="{}")
    history = (say("user", "q"), say("assistant", CALL, other), say("tool", RESULT))
    first, second = wire(*history)[1]["parts"]
    assert base64.b64decode(first["thoughtSignature"]) == b"skip_thought_signature_validator"
    assert "thoughtSignature" not in second
    assert "thoughtSignature" not in json.dumps(wire(*history, model="gemini-2.5-flash"))


def test_a_call_without_its_result_gets_a_stand_in() -> None:
    for after in ([], [say("user", "never mind")], [say("assistant", "Sorry.")]):
        sent = wire(say("user", "q"), say("assistant", CALL), *after)
        [part] = sent[2]["parts"]
        assert "not run" in part["functionResponse"]["response"]["error"]


def test_a_result_without_its_call_becomes_words() -> None:
    sent = wire(say("tool", RESULT), say("user", "and now?"))
    assert sent == (
        {
            "role": "user",
            "parts": [{"text": "Result of weather:\nrain\n\n"}, {"text": "\n\nand now?"}],
        },
    )


def test_a_second_result_of_the_same_call_becomes_words() -> None:
    sent = wire(say("user", "q"), say("assistant", CALL), say("tool", RESULT), say("tool", RESULT))
    assert "Result of weather" in sent[3]["parts"][0]["text"]


def test_a_conversation_that_begins_with_an_answer_gets_a_beginning() -> None:
    sent = wire(say("assistant", "Hello, I am here."), say("user", "Hi"))
    assert [content["role"] for content in sent] == ["user", "model", "user"]


def test_turns_of_one_role_become_one() -> None:
    sent = wire(say("user", "a"), say("assistant", "b"), say("assistant", "c", CALL))
    assert [content["role"] for content in sent] == ["user", "model", "user"]
    assert [part.get("text") for part in sent[1]["parts"]] == ["b", "\n\nc", None]


@pytest.mark.parametrize("arguments", ["", "{broken", "[1]", '{"a": NaN}'])
def test_arguments_that_are_no_object_are_wrapped(arguments: str) -> None:
    call = ToolCall(id="call_1", name="weather", arguments=arguments)
    sent = wire(say("user", "q"), say("assistant", call), say("tool", RESULT))
    made = sent[1]["parts"][0]["functionCall"]["args"]
    assert made == ({"input": arguments} if arguments else {})


def test_every_beginning_of_a_conversation_begins_the_longer_one() -> None:
    """Whatever is cached of a beginning stays good: also in fresh objects, also for forks."""
    turns = (
        say("user", "one"),
        say("assistant", Thinking(text="t"), "Look.", CALL),
        say("tool", RESULT),
        say("assistant", "Rain."),
        say("user", "two", PNG),
        say("assistant", "A cat."),
        say("user", "three"),
    )
    files = {PNG.sha256: b"png"}
    whole = wire(*turns, attachments=files)
    for end in (1, 3, 4, 5, 6):
        beginning = wire(*turns[:end], attachments=files)
        assert list(whole[: len(beginning)]) == list(beginning)
    assert wire(*copy.deepcopy(turns), attachments=files) == whole
    fork = wire(*turns[:6], say("user", "other"), attachments=files)
    assert fork[:-1] == whole[:-1]


IDS, NAMES = st.sampled_from(["", "c1", "c2"]), st.sampled_from(["a", "b"])
TURNS = st.lists(
    st.builds(
        lambda role, parts: Message(role=role, parts=tuple(parts)),
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.lists(
            st.one_of(
                st.builds(Text, text=st.sampled_from(["", " ", "word", "\ud83d"])),
                st.builds(Thinking, text=st.just("hidden")),
                st.builds(ToolCall, id=IDS, name=NAMES, arguments=st.sampled_from(["{}", "x"])),
                st.builds(ToolResult, call_id=IDS, name=NAMES, text=st.sampled_from(["", "r"])),
                st.just(PNG),
            ),
            max_size=4,
        ),
    ),
    max_size=9,
)


@given(TURNS)
def test_whatever_was_said_makes_a_request_that_is_taken(turns: list[Message]) -> None:
    sent: list[Any] = []
    for end in range(len(turns) + 1):
        call = Call(model=MODEL, messages=tuple(turns[:end]), attachments={PNG.sha256: b"png"})
        built = ADAPTER.build(call)
        if built.messages:
            fake.check(MODEL, body_of(built))
        assert "hidden" not in json.dumps(built.messages)
        # Only the last content may still grow.
        assert list(built.messages[: max(0, len(sent) - 1)]) == sent[:-1]
        sent = list(built.messages)


# --- replaying its own answers -------------------------------------------------------------


def test_three_turns_with_thinking_and_parallel_calls_are_replayed_verbatim() -> None:
    with fake_server() as (server, endpoint):
        server.play = conversing
        history = converse(endpoint, MODEL, 3)
    assert [seen.refused for seen in server.seen] == [None] * 6
    contents = server.seen[-1].body["contents"]
    assert [c["role"] for c in contents] == ["user", "model", "user", "model"] * 2 + [
        "user",
        "model",
        "user",
    ]
    thought, said, first, second = contents[1]["parts"]
    assert thought == {"text": "thought 1", "thought": True}
    assert said == {"text": "I look."}
    assert first["thoughtSignature"] not in ("", fake.DUMMY)
    assert second == {"functionCall": {"name": "weather", "args": {"city": "Bern"}}}
    responses = [part["functionResponse"] for part in contents[2]["parts"]]
    assert [response.get("id") for response in responses] == ["w", None]
    assert ["Zürich" in response["response"]["output"] for response in responses] == [True, False]
    # Each request begins with the very contents of the one before it.
    for before, after in zip(server.seen, server.seen[1:], strict=False):
        count = len(before.body["contents"])
        assert after.body["contents"][:count] == before.body["contents"]
    final = [part for part in history[-1].raw if "thoughtSignature" in part]
    assert [part["text"] for part in final] == [""]


def test_the_same_history_without_raw_goes_to_another_model() -> None:
    with fake_server() as (server, endpoint):
        server.play = conversing
        history = converse(endpoint, MODEL, 2)
        plain = [Message(role=m.role, parts=m.parts) for m in history]
        for model in ("gemini-4-argon", "gemini-2.5-pro"):
            run(Call(model=model, messages=(*plain, say("user", "And now?"))), endpoint)
        midway = Call(model="gemini-4-argon", messages=tuple(plain[:4]))
        run(midway, endpoint)
    assert [seen.refused for seen in server.seen] == [None] * 7
    marks = [
        part["thoughtSignature"]
        for seen in server.seen[-3:]
        for content in seen.body["contents"]
        for part in content["parts"]
        if "thoughtSignature" in part
    ]
    assert marks == [fake.DUMMY] * 3
    assert "thought 1" not in repr([seen.body for seen in server.seen[-3:]])


def test_the_fake_refuses_a_signature_of_another_model_or_out_of_its_place() -> None:
    with fake_server() as (server, endpoint):
        server.play = conversing
        history = converse(endpoint, MODEL, 1)
        question = say("user", "More?")
        run(Call(model=MODEL, messages=(*history, question)), endpoint)
        changed = (say("user", "Another question"), *history[1:], question)
        for call in (
            Call(model="gemini-4-argon", messages=(*history, question)),
            Call(model=MODEL, messages=changed),
        ):
            with pytest.raises(BadRequest, match="signature"):
                run(call, endpoint)


def test_a_thought_that_led_to_nothing_is_not_replayed() -> None:
    raw = [{"text": "Half an"}, {"text": "but wait", "thought": True}]
    sent = wire(say("user", "q"), say("assistant", "Half an", raw=raw), say("user", "go on"))
    assert sent[1]["parts"] == [{"text": "Half an"}]
    only = say("assistant", Thinking(text="but wait"), raw=raw[1:])
    assert len(wire(say("user", "q"), only, say("user", "go on"))) == 1


def test_parts_of_a_kind_nobody_knows_are_given_back_as_they_came() -> None:
    novel = {"novelty": {"deep": [1, None]}, "thoughtSignature": "AAAA"}
    found = answer(fake.chunk({"text": "Hi"}), fake.chunk(novel), END)
    assert ending(found).raw == [{"text": "Hi"}, novel]
    again = Call(model=MODEL, messages=(say("user", "q"), say("assistant", "Hi", raw=[novel])))
    with fake_server(END) as (server, endpoint), pytest.raises(BadRequest, match="oneof"):
        run(again, endpoint)
    assert server.seen[0].body["contents"][1] == {"role": "model", "parts": [novel]}
