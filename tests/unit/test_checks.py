"""Checks: what each kind says of an answer, and what none of them can be made to do."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import checks
from core.checks import Result, described, json_of, numbers_in, results, trouble
from core.types import Check, CheckKind

REPLY = "Risk: LOW.\nThe total is 1,234.50, up 7% from −3."


def check(kind: CheckKind, /, **body: Any) -> Check:
    return Check(id="c", session_id="s", kind=kind, body=body, created_at="")


def say(reply: str, kind: CheckKind, /, **body: Any) -> Result:
    (found,) = results([check(kind, **body)], reply)
    return found


@pytest.mark.parametrize(
    ("kind", "body", "passed", "why"),
    [
        ("contains", {"text": "risk: low"}, True, ""),
        ("contains", {"text": "risk: low", "case": True}, False, "It is not there."),
        ("contains", {"text": "straße"}, False, "It is not there."),
        ("forbidden", {"phrases": ["risk"]}, False, "“risk”"),
        ("forbidden", {"phrases": "the  total\ntot"}, False, "“the total”"),
        ("forbidden", {"phrases": ["tot", "ris"]}, True, ""),
        ("forbidden", {"phrases": ["7%"]}, False, "“7%”"),
        ("length", {"least": 10, "most": 10}, True, "10 words"),
        ("length", {"unit": "chars", "most": 20}, False, f"{len(REPLY)} chars"),
        ("length", {"least": 11}, False, "10 words"),
        ("number", {"value": 1234.5}, True, "The closest is 1,234.5."),
        ("number", {"value": 1230, "tolerance": 5}, True, "The closest is 1,234.5."),
        ("number", {"value": 1230, "tolerance": 4}, False, "The closest is 1,234.5."),
        ("number", {"value": -3}, True, "The closest is -3."),
        ("regex", {"pattern": r"risk: (?i:low)\b"}, False, "Nothing matches."),
        ("regex", {"pattern": r"(?i)RISK: \w+"}, True, "“Risk: LOW”"),
        ("expression", {"text": "words < 11 and 'Risk' in text"}, True, ""),
        ("expression", {"text": "lines == 3"}, False, ""),
        ("expression", {"text": "max(numbers) > 1000 and len(numbers) == 3"}, True, ""),
        ("expression", {"text": "count('t', lower(text)) == 3"}, True, ""),
        ("expression", {"text": "chars"}, True, "48"),
        (
            "schema",
            {"schema": {}},
            False,
            "It is not JSON: Expecting value: line 1 column 1 (char 0)",
        ),
    ],
)
def test_what_a_check_says(kind: CheckKind, body: Any, passed: bool, why: str) -> None:
    found = say(REPLY, kind, **body)
    assert (found.passed, found.why) == (passed, why)
    assert trouble(kind, body) == ""


SCHEMA = {"type": "object", "required": ["owner"], "properties": {"days": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("text", "passed", "why"),
    [
        ('{"owner": "Ada", "days": 3}', True, ""),
        ('Here it is:\n```json\n{"owner": "Ada"}\n```', True, ""),
        ('{"days": 3}', False, "'owner' is a required property"),
        ('{"owner": "Ada", "days": "three"}', False, "['days'] 'three' is not of type 'integer'"),
    ],
)
def test_json_is_held_against_a_schema(text: str, passed: bool, why: str) -> None:
    for schema in (SCHEMA, json.dumps(SCHEMA)):
        found = say(text, "schema", schema=schema)
        assert (found.passed, found.why) == (passed, why)


def test_two_blocks_are_not_one_json() -> None:
    with pytest.raises(ValueError):
        json_of("```\n{}\n```\n```\n{}\n```")


def test_an_expression_sees_the_json() -> None:
    assert say('{"a": [1, 2]}', "expression", text="json['a'][1] == 2").passed is True
    assert say("no", "expression", text="json['a']").passed is None


# --- nothing a check holds can do harm ---


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        ("regex", {"pattern": "("}, "missing )"),
        ("schema", {"schema": "{"}, "Expecting"),
        ("schema", {"schema": {"type": "nope"}}, "nope"),
        ("schema", {"schema": "7"}, "object"),
        ("expression", {"text": "words <"}, "invalid syntax"),
        ("expression", {"text": "1+" * 300 + "1"}, "more than 500"),
        ("number", {"value": "many"}, "could not convert"),
        ("number", {}, "value"),
        ("contains", {"text": "  "}, "nothing to check"),
        ("forbidden", {"phrases": ["", " "]}, "nothing to check"),
        ("length", {"unit": "words"}, "nothing to check"),
        ("expression", {"text": ""}, ""),
    ],
)
def test_what_cannot_be_used_is_said_before_it_is_kept(
    kind: CheckKind, body: Any, why: str
) -> None:
    said = trouble(kind, body)
    assert said
    assert why in said
    assert isinstance(say(REPLY, kind, **body).passed, bool | None)


@pytest.mark.parametrize(
    "text",
    [
        "text.upper()",
        "text.__class__",
        "().__class__.__bases__[0].__subclasses__()",
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "[x for x in text]",
        "(lambda: 1)()",
        "f'{text!r:>999999999}'",
        "'%999999999d' % 1",
        "9 ** 9 ** 9 ** 9",
        "2 ** 100000",
        "'a' * 999999999",
        "numbers * 999999999",
        "1 << 999999999",
        "nobody",
        "1 / 0",
    ],
)
def test_no_expression_reaches_beyond_the_text(text: str) -> None:
    found = say("1 2 3", "expression", text=text)
    assert found.passed is None
    assert found.why


def test_a_pattern_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "PATIENCE", 0.05)
    began = time.process_time()
    endless = r"^(?:(?:a|b|ab)+x?)+$"
    for body in ({"pattern": endless}, {"schema": {"pattern": endless}}):
        text = "ab" * 60 + "!"
        kind: CheckKind = "regex" if "pattern" in body else "schema"
        found = say(text if kind == "regex" else json.dumps(text), kind, **body)
        assert found.passed is None
        assert "longer" in found.why
    assert time.process_time() - began < 60


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "not in it"),
        ({"$ref": "file:///etc/hosts"}, "not in it"),
        ({"$ref": "#"}, "without end"),
    ],
)
def test_a_schema_fetches_nothing(schema: Any, why: str) -> None:
    found = say("{}", "schema", schema=schema)
    assert found.passed is None
    assert why in found.why


def test_names_of_properties_are_matched_against_the_clock_as_well() -> None:
    schema = {"patternProperties": {"^x": {"type": "string"}}}
    assert say('{"x1": 1}', "schema", schema=schema).passed is False
    assert say('{"y1": 1}', "schema", schema=schema).passed is True


JSONS = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS: list[CheckKind] = [
    "contains", "regex", "schema", "length", "number", "forbidden", "expression",
]  # fmt: skip


@given(
    st.sampled_from(KINDS),
    st.dictionaries(
        st.sampled_from(
            ["text", "pattern", "schema", "least", "most", "value", "tolerance", "phrases", "unit"]
        ),
        JSONS,
        max_size=4,
    )
    | JSONS,
    st.text(max_size=40),
)
def test_no_check_ever_raises(kind: CheckKind, body: Any, text: str) -> None:
    one = Check(id="c", session_id="s", kind=kind, body=body, created_at="")
    (found,) = results([one], text)
    assert found.passed in (True, False, None)
    assert isinstance(trouble(kind, body), str)
    assert isinstance(described(kind, body), str)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,234.5 and 12,34", [1234.5, 12]),
        ("v1.2.3", []),
        ("-5 −6 +7", [-5, -6, 7]),
        ("1e3, 2.5E-1.", [1000, 0.25]),
        ("1e999", []),
        ("room 12a", [12]),
    ],
)
def test_numbers_are_found_as_people_write_them(text: str, numbers: list[float]) -> None:
    assert numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("regex", {"pattern": "(" * 5000 + ")" * 5000}),
        ("schema", {"schema": '{"not":' * 100_000 + "{}" + "}" * 100_000}),
        ("expression", {"text": "(" * 240 + "1" + ")" * 240}),
    ],
)
def test_what_is_nested_too_deeply_is_refused_and_breaks_nothing(
    kind: CheckKind, body: dict[str, str]
) -> None:
    assert trouble(kind, body)
    (result,) = results([Check(id="1", session_id="s", kind=kind, body=body, created_at="")], "{}")
    assert result.passed is None


HERE = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("schema", "reply"),
    [
        ({"items": {"$schema": HERE, "pattern": "(a+)+$"}}, ["a" * 40 + "!"]),
        ({"uniqueItems": True}, [{"a": n} for n in range(4000)]),
        ({"items": {"items": {"uniqueItems": True}}}, [[[n]] for n in range(400)]),
        (
            {"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#"}}}] * 8, "minLength": 9},
            json.loads('{"a":' * 12 + "{}" + "}" * 12),
        ),
        (
            {"allOf": [{"properties": {"a": {"$ref": "#"}}}] * 8},
            json.loads('{"a":' * 12 + "{}" + "}" * 12),
        ),
    ],
)
def test_a_schema_that_asks_for_endless_work_is_given_up(schema: Any, reply: Any) -> None:
    began = time.monotonic()
    say(json.dumps(reply), "schema", schema=json.dumps(schema))
    assert time.monotonic() - began < 10 * checks.PATIENCE


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, 1.0], False),
        ([1, True], True),
        ([{"a": 1, "b": [0]}, {"b": [0.0], "a": 1}], False),
        (["1", 1], True),
        ([None, False, 0, "", [], {}], True),
    ],
)
def test_items_are_told_apart_as_json_schema_does(items: list[Any], unique: bool) -> None:
    assert say(json.dumps(items), "schema", schema={"uniqueItems": True}).passed is unique


def test_a_length_of_at_least_more_than_at_most_is_refused() -> None:
    assert trouble("length", {"least": 3, "most": 1})
    assert not trouble("length", {"least": 3, "most": 3})
    assert not trouble("length", {"least": 3, "most": None})
