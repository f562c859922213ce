"""The promptfoo file: valid by its schema, templates in a conversation never filled in, and its
assertions right in the languages that run them."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jinja2
import jsonschema
import pytest
import yaml

from core.errors import UserError
from core.formats import writer
from core.types import BranchTaken, Config, Include
from tests.contract.subjects import EVIL, played

SCHEMA = json.loads(Path(__file__).with_name("promptfoo_schema.json").read_text("utf-8"))
TRICKY = [
    "Hello",
    "{{ 7 * 7 }} {% for x in y %} {# gone #} {{{{",
    "file:///etc/passwd",
    'quotes " and \\ and \n lines\n',
    "  - yaml: [x]\n# no comment\n--- \t\u2028\u0085\ufeff\x7f",
    "😀 日本語 \\u007b",
]
CHECKS: list[Any] = [
    ("contains", {"text": "plan"}),
    ("contains", {"text": "{{x}}", "case": True}),
    ("regex", {"pattern": r"\bplan\s+\d+"}),
    ("regex", {"pattern": r"(?i)(?P<a>plan)"}),
    ("schema", {"schema": {"type": "object", "required": ["a"]}}),
    ("length", {"least": 2, "most": 12, "unit": "words"}),
    ("number", {"value": 1234.5, "tolerance": 0.5}),
    ("forbidden", {"phrases": "as an AI\nC++"}),
    ("expression", {"text": "words > 2 and count('a', text) >= 1"}),
    ("expression", {"text": "__import__('os').system('x')"}),
]


def config_of(taken: BranchTaken) -> Any:
    found = yaml.safe_load(writer("promptfoo").write(taken, Include()).decode())
    jsonschema.validate(found, SCHEMA)
    return found


def filled_in(found: Any, place: int, before: list[tuple[str, str]]) -> Any:
    """The prompt of one test as promptfoo makes it: templates are filled in twice."""
    engine = jinja2.Environment(autoescape=False)
    engine.filters["dump"] = lambda value: json.dumps(value, ensure_ascii=False)
    given = found.get("defaultTest", {}).get("vars", {}) | found["tests"][place]["vars"]
    for value in given.values():
        assert not value.startswith("file://")
    turns = [{"input": asked, "output": said} for asked, said in before]
    once = engine.from_string(found["prompts"][0]["raw"]).render(_conversation=turns, **given)
    return json.loads(engine.from_string(once).render(**given))


@pytest.mark.parametrize("text", TRICKY)
def test_a_text_arrives_as_it_was_written(text: str) -> None:
    taken = played("First", text, config=Config(provider="openai", model="m", system=text))
    found = config_of(taken)
    messages = filled_in(found, 1, [("First", text)])
    assert messages == [
        {"role": "system", "content": text.strip()},
        {"role": "user", "content": "First"},
        {"role": "assistant", "content": text},
        {"role": "user", "content": text},
    ]


def test_without_a_system_text_there_is_none() -> None:
    assert filled_in(config_of(played("Hi")), 0, []) == [{"role": "user", "content": "Hi"}]


def test_every_turn_is_a_test_of_one_conversation_and_the_last_one_asserts() -> None:
    found = config_of(played("One", "Two", checks=CHECKS, done_when="Each has an {{owner}}"))
    assert [test["metadata"] for test in found["tests"]] == [{"conversationId": "turntree"}] * 2
    assert "assert" not in found["tests"][0]
    kinds = [one["type"] for one in found["tests"][1]["assert"]]
    assert kinds == [
        "icontains",
        "javascript",
        "javascript",
        "python",
        "contains-json",
        "javascript",
        "javascript",
        "javascript",
        "python",
        "llm-rubric",
    ]
    assert "{{" not in json.dumps(found["tests"])


@pytest.mark.parametrize(
    ("provider", "name", "told"),
    [
        ("openai", "openai:responses:m", {"max_output_tokens": 9, "temperature": 0.5}),
        ("anthropic", "anthropic:messages:m", {"max_tokens": 9, "temperature": 0.5}),
        ("gemini", "google:m", {"generationConfig": {"maxOutputTokens": 9, "temperature": 0.5}}),
    ],
)
def test_the_provider_and_its_settings(provider: str, name: str, told: Any) -> None:
    sampling = {"max_tokens": 9, "temperature": 0.5, "strange": 1}
    taken = played("Hi", config=Config(provider=provider, model="m", sampling=sampling))
    assert config_of(taken)["providers"] == [{"id": name, "config": told}]
    assert "strange" in writer("promptfoo").write(taken, Include()).decode()


def test_any_other_provider_is_a_chat_server_of_one_s_own() -> None:
    (found,) = config_of(played("Hi", config=Config(provider="local", model="q:w")))["providers"]
    assert found["id"] == "openai:chat:q:w"
    assert "TURNTREE_BASE_URL" in found["config"]["apiBaseUrl"]


def test_hostile_names_and_texts_stay_data() -> None:
    taken = played(EVIL, EVIL, title=EVIL, done_when=EVIL, checks=[("contains", {"text": EVIL})])
    found = config_of(taken)
    assert len(found["tests"]) == 2
    assert filled_in(found, 1, [])[0]["content"] == EVIL.replace("\ud800", "\ufffd")


def test_where_nobody_said_anything_there_is_nothing_to_write() -> None:
    with pytest.raises(UserError, match="nobody said anything"):
        writer("promptfoo").write(played(), Include())


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_what_is_asserted_holds_where_ours_does() -> None:
    found = config_of(played("Hi", checks=CHECKS))["tests"][-1]["assert"]
    codes = [one["value"] for one in found if one["type"] == "javascript"]
    good = "The plan 7 has {{x}} and costs 1,234.9, in C+"
    bad = "as  an ai I like C++"
    program = f"const codes = {json.dumps(codes)}; const texts = {json.dumps([good, bad])};"
    program += "console.log(JSON.stringify(texts.map(output => codes.map(code => eval(code)))))"
    done = subprocess.run(
        ["node", "-e", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == [
        [True, True, True, True, True],
        [False] * 2 + [True, False, False],
    ]
    for one in found:
        if one["type"] == "python":
            body = "\n".join(f"    {line}" for line in one["value"].splitlines())
            told: dict[str, Any] = {}
            exec(f"def judge(output):\n{body}", told)
            assert told["judge"](good) is True
            assert told["judge"]("no") is False
