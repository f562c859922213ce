"""The pytest file: run as a program against the fakes of each provider, skipped without a key."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.errors import UserError
from core.formats import writer
from core.interchange.replayed import python_of
from core.types import BranchTaken, Config, Include
from tests.contract.case import Scene, cases
from tests.contract.cases_compatible import KEY
from tests.contract.subjects import EVIL, played

PASSING: list[Any] = [
    ("contains", {"text": "PLAN"}),
    ("regex", {"pattern": r"plan\s\d"}),
    ("length", {"least": 2, "unit": "words"}),
    ("number", {"value": 7}),
    ("forbidden", {"phrases": "as an AI"}),
    ("expression", {"text": "words >= 3 and 7 in numbers and not json"}),
]
SAID = "The plan 7 is done"
ENVIRONMENT = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "compatible": ("TURNTREE_API_KEY", "TURNTREE_BASE_URL"),
}


def run(taken: BranchTaken, folder: Path, **environment: str) -> str:
    """The report of the file, run on its own."""
    content = writer("pytest_file").write(taken, Include())
    ast.parse(content)
    file = folder / "test_conversation.py"
    file.write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider", str(file)],
        capture_output=True,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONIOENCODING": "utf-8", **environment},
        timeout=120,
        check=False,
    )
    return done.stdout.decode() + done.stderr.decode()


@pytest.mark.parametrize("provider", list(ENVIRONMENT))
def test_it_plays_the_turns_again_and_checks_the_last_answer(provider: str, tmp_path: Path) -> None:
    case = cases()[provider]
    config = Config(provider=provider, model=case.model, system="Be {brief}.\n'''")
    taken = played("One", 'Two\n\\ "', checks=PASSING, config=config, done_when="It is short")
    key, address = ENVIRONMENT[provider]
    with case.stage(Scene(text=[SAID])) as stage:
        assert stage.endpoint
        told = {key: stage.endpoint.api_key or "", address: stage.endpoint.base_url}
        report = run(taken, tmp_path, **told)
        sent = [seen.body for seen in stage.seen]
    assert "7 passed, 1 skipped" in report, report
    assert "It is short" in report
    assert len(sent) == 2
    assert "Two" not in repr(sent[0])
    assert SAID in repr(sent[1])
    assert KEY not in writer("pytest_file").write(taken, Include()).decode()


def test_an_answer_that_fails_a_check_fails_the_test(tmp_path: Path) -> None:
    case = cases()["compatible"]
    checks: list[Any] = [
        ("contains", {"text": "nowhere"}),
        ("length", {"most": 1}),
        ("number", {"value": 8}),
        ("forbidden", {"phrases": "plan"}),
        ("schema", {"schema": {"type": "object"}}),
        ("expression", {"text": "chars > 999"}),
    ]
    taken = played("One", checks=checks, config=Config(provider="x", model=case.model))
    with case.stage(Scene(text=[SAID])) as stage:
        assert stage.endpoint
        report = run(
            taken, tmp_path, TURNTREE_BASE_URL=stage.endpoint.base_url, TURNTREE_API_KEY=KEY
        )
    assert "6 failed, 1 passed, 1 skipped" in report, report


@pytest.mark.parametrize(
    ("provider", "told"),
    [("openai", "set OPENAI_API_KEY"), ("gemini", "GOOGLE_API_KEY"), ("echo", "TURNTREE_BASE_URL")],
)
def test_without_a_key_it_is_skipped_and_says_why(provider: str, told: str, tmp_path: Path) -> None:
    report = run(played("Hi", config=Config(provider=provider, model="m")), tmp_path)
    assert "3 skipped" in report, report
    assert told in report


def test_hostile_text_is_data(tmp_path: Path) -> None:
    config = Config(provider="openai", model=EVIL, system=EVIL, sampling={EVIL: 1})
    evil = "'''\"\"\"\n\\\nimport os\x00"
    kinds: Any = ("contains", "regex", "forbidden", "expression", "schema", "length", "number")
    checks = [(kind, {"text": evil, "pattern": evil, "phrases": evil}) for kind in kinds]
    taken = played(EVIL, evil, title=evil, done_when=EVIL, config=config, checks=checks)
    content = writer("pytest_file").write(taken, Include()).decode()
    tree = ast.parse(content)
    names = [node.name for item in tree.body if isinstance(item, ast.Import) for node in item.names]
    assert names == ["json", "os", "re", "pytest"]
    (turns,) = [
        item.value
        for item in tree.body
        if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "TURNS"
    ]
    assert ast.literal_eval(turns) == [EVIL.replace("\ud800", "\ufffd"), evil]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x')",
        "text.upper()",
        "(lambda: 1)()",
        "[x for x in text]",
        "open('x')",
        "eval(text)",
        "len.__class__",
        "f'{text}'",
        "len(*words)",
        "words if",
        "9 ** 9",
        "(" * 400,
        "",
        "a" * 600,
    ],
)
def test_an_expression_that_could_do_more_than_compute_is_not_written(text: str) -> None:
    assert python_of(text) is None


def test_an_expression_becomes_python() -> None:
    told = python_of("words > 3 and true and lower(text)[0:2] == 'ab' and json is null")
    assert told == "words > 3 and True and (lower(text)[0:2] == 'ab') and (json is None)"


def test_where_nobody_said_anything_there_is_nothing_to_write() -> None:
    with pytest.raises(UserError, match="nobody said anything"):
        writer("pytest_file").write(played(), Include())
