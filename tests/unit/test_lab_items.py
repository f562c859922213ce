"""The laboratory's items and checks: what is asked can be answered, and wrong answers fail."""

import json
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bench.lab.checks import broken, calls_in, code_in, is_right, number_of, passes, same_calls
from bench.lab.items import ITEMS, TASKS, Item, evenly, load

ALL = load()
LINES = [json.loads(line) for line in ITEMS.read_text("utf-8").splitlines()]
KEYS = {
    "math": {"question", "answer"},
    "actions": {"question", "function", "reference_answer"},
    "code": {"prompt", "test", "reference_answer", "wrong_answer"},
    "writing": {"prompt", "constraints", "reference_answer", "wrong_answer"},
}
each = pytest.mark.parametrize("item", ALL, ids=lambda item: item.id)


def facts(text: str) -> set[str]:
    """What must not be lost: numbers and quoted words."""
    quoted = re.findall(r'"([^"]+)"|`([^`]+)`', text)
    return {*re.findall(r"\d[\d:.-]*\d|\d", text), *("".join(pair) for pair in quoted)}


def names(text: str) -> list[str]:
    """Words with a capital in the middle of a sentence."""
    return re.findall(r"(?<=[a-z,] )[A-Z]\w+", text)


def right(item: Item) -> str:
    match item.task:
        case "math":
            return f"Let me see: 1 + 1 = 2.\nAnswer: {item.keys['answer']}"
        case "actions":
            return f"```json\n{json.dumps(item.keys['reference_answer'])}\n```"
        case "code":
            return f"Here it is:\n```python\n{item.keys['reference_answer']}```\nIt works."
    return str(item.keys["reference_answer"])


def wrong(item: Item) -> str:
    match item.task:
        case "math":
            return f"Answer: {int(item.keys['answer']) + 1}"
        case "actions":
            calls = json.loads(json.dumps(item.keys["reference_answer"]))
            name, value = next(iter(calls[-1]["arguments"].items()))
            calls[-1]["arguments"][name] = f"not {value}"
            return json.dumps(calls)
    return str(item.keys["wrong_answer"])


# --- the file ---------------------------------------------------------------------------------
def test_the_file_has_the_schema() -> None:
    assert len(LINES) >= 24
    assert Counter(line["task"] for line in LINES) == dict.fromkeys(TASKS, len(LINES) // 4)
    assert len({line["task_id"] for line in LINES}) == len(LINES)
    for line in LINES:
        assert set(line) == {"task_id", "task", "shards", *KEYS[line["task"]]}, line["task_id"]
        assert 3 <= len(line["shards"]) <= 6
        assert [shard["shard_id"] for shard in line["shards"]] == [
            *range(1, len(line["shards"]) + 1)
        ]
        assert all(set(shard) == {"shard_id", "shard"} for shard in line["shards"])


@each
def test_the_shards_say_what_the_full_instruction_says(item: Item) -> None:
    together = " ".join(item.shards)
    assert facts(together) == facts(item.full)
    assert all(name in together for name in names(item.full))
    assert all(name in item.full for name in names(together))
    assert all(shard.strip() == shard for shard in item.shards)
    assert len(set(item.shards)) == len(item.shards)


@each
def test_the_reference_passes_and_a_wrong_answer_does_not(item: Item) -> None:
    assert is_right(item, right(item))
    assert not is_right(item, wrong(item))
    assert not is_right(item, "")
    assert not is_right(item, "I cannot help with that.")


@each
def test_the_full_instruction_is_no_answer(item: Item) -> None:
    assert not is_right(item, item.full)


def test_items_are_taken_from_each_task_in_turn() -> None:
    assert [item.task for item in evenly(ALL, 6)] == [*TASKS, "math", "actions"]
    assert len(evenly(ALL, None)) == len(ALL)
    assert [item.task for item in evenly(ALL[:2], 2)] == ["math", "math"]


def test_an_item_of_an_unknown_task_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(LINES[0] | {"task": "poetry"}))
    with pytest.raises(ValueError, match="no task 'poetry'"):
        load(file)


# --- checks -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("Answer: $3360.00", "3360"),
        ("**Answer:** 3,360 dollars", "3360"),
        ("ANSWER: 40 x 84 = 3360", "3360"),
        ("Answer: 1\nNo, wait.\nAnswer:\n\\boxed{3360}", "3360"),
        ("That makes 84 times 40, so 3360.", "3360"),
        ("Answer: -2.50", "-2.5"),
        ("Answer: she scores 3360 points.", "3360"),
        ("Answer: 12, then 40 more", "12"),
    ],
)
def test_numbers_are_compared_as_numbers(reply: str, number: str) -> None:
    assert number_of(reply) == Decimal(number)


def test_no_number_is_no_answer() -> None:
    assert number_of("Answer: many") is None


CALL = {"name": "set", "arguments": {"room": "Hall", "celsius": 18, "on": True}}


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps([CALL]),
        json.dumps(CALL),
        f"Sure [as you wish]:\n```json\n{json.dumps(CALL)}\n```",
        json.dumps({"type": "function", "function": CALL}),
        json.dumps([{"function": "set", "parameters": json.dumps(CALL["arguments"])}]),
        '[{"arguments": {"on": true, "celsius": 18.0, "room": " hall"}, "name": "set"}]',
    ],
)
def test_a_call_is_the_same_in_any_form(reply: str) -> None:
    assert same_calls(calls_in(reply), [CALL])


def changed(**arguments: Any) -> list[Any]:
    return [CALL | {"arguments": CALL["arguments"] | arguments}]  # type: ignore[operator]


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [CALL, CALL],
        changed(celsius="18"),
        changed(on=1),
        changed(more=1),
        changed(room=["Hall"]),
        [CALL | {"name": "get"}],
        [{"name": "set", "arguments": "{"}],
    ],
)
def test_another_call_is_another(calls: list[Any]) -> None:
    assert not same_calls(calls_in(json.dumps(calls)), [CALL])


def test_two_calls_come_in_any_order_but_each_once() -> None:
    other = changed(room="Attic")[0]
    assert same_calls(calls_in(json.dumps([other, CALL])), [CALL, other])
    assert same_calls(calls_in(f"{json.dumps(other)}\n{json.dumps(CALL)}"), [CALL, other])
    assert not same_calls(calls_in(json.dumps([CALL, CALL])), [CALL, other])


@pytest.mark.parametrize(
    "code",
    [
        "def f(:",
        "import sys\ndef f(): return 1\nsys.exit(0)",
        "import os\ndef f(): return 1\nos._exit(0)",
        "def f():\n    while True: pass",
        "x = bytearray(1 << 33)\ndef f(): return 1",
        "def f(): return input()",
    ],
)
def test_code_that_does_not_come_to_its_end_does_not_pass(code: str) -> None:
    assert not passes(code, "assert f() == 1", seconds=3.0)


def test_code_runs_apart_without_what_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-models")
    here = str(Path.cwd())
    assert passes(
        "import os\ndef f(): return dict(os.environ)", "assert 'OPENAI_API_KEY' not in f()"
    )
    assert passes("import os\ndef f(): return os.getcwd()", f"assert f() != {here!r}")


def test_the_last_block_that_defines_something_is_the_code() -> None:
    reply = (
        "```python\ndef f(): return 0\n```\nBetter:\n```py\ndef f(): return 1\n```\n```\nf()\n```"
    )
    assert code_in(reply) == "def f(): return 1\n"
    assert code_in("def f(): return 1") == "def f(): return 1"
    assert code_in("```python\ndef f():\n    return 1") == "def f():\n    return 1"


@pytest.mark.parametrize(
    ("text", "constraints", "missed"),
    [
        ('"Fresh every day!"', {"ends": "!", "max_words": 3}, []),
        ("```\n- one\n- two\n```", {"lines": 2, "line_starts": "- ", "max_words": 2}, []),
        ("One — two", {"max_words": 2, "contains": ["ONE"], "excludes": ["three"]}, []),
        (
            "Hello",
            {"lower": True, "starts": "hello", "min_words": 2},
            ["lower", "starts", "min_words"],
        ),
        ("a\n\nb", {"lines": 3}, ["lines"]),
        ("  ", {"excludes": ["x"]}, ["text"]),
    ],
)
def test_constraints_are_told_one_by_one(
    text: str, constraints: dict[str, Any], missed: list[str]
) -> None:
    assert broken(text, constraints) == missed


def test_an_unknown_constraint_is_not_passed_over() -> None:
    with pytest.raises(ValueError, match="no constraint 'rhymes'"):
        broken("text", {"rhymes": True})


@pytest.mark.parametrize("check", [number_of, calls_in, code_in])
@pytest.mark.parametrize(
    "reply", ["", "[", "{" * 50, "Answer:", "```", "[[[]]]", "\ud800", "```\n"]
)
def test_no_reply_breaks_a_check(check: Callable[[str], object], reply: str) -> None:
    check(reply)
