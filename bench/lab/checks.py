"""Whether an answer is right: by looking, by comparing, by running; never by asking a model."""

import json
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.lab.items import Item

SECONDS = 10.0
_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|-?\.\d+")
_ANSWER = re.compile(r"answer\W*:", re.IGNORECASE)
_BLOCK = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_FENCED = re.compile(r"\A```[^\n]*\n(.*?)\n?```\Z", re.DOTALL)
# The code is a model's: it gets little time and memory, no environment, and an empty folder.
_LIMITS = """\
import contextlib, resource
for kind, most in ((resource.RLIMIT_CPU, 5), (resource.RLIMIT_AS, 1 << 29)):
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (most, most))
"""


def is_right(item: Item, reply: str) -> bool:
    """Whether ``reply`` is a right answer to the whole of the item."""
    match item.task:
        case "math":
            return number_of(reply) == number_of(str(item.keys["answer"]))
        case "actions":
            return same_calls(calls_in(reply), item.keys["reference_answer"])
        case "code":
            return passes(code_in(reply), item.keys["test"])
    return not broken(reply, item.keys["constraints"])


# --- numbers ---------------------------------------------------------------------------------


def number_of(reply: str) -> Decimal | None:
    """The number that is given as the answer: after the last "Answer:", else the last there is.

    Signs of money, thousands commas and trailing zeros make no difference.
    """
    answers = list(_ANSWER.finditer(reply))
    said = reply[answers[-1].end() :].strip() if answers else ""
    line = said.splitlines()[0].rpartition("=")[2] if said else ""
    if found := _NUMBER.search(line):
        return _decimal(found[0])
    every = _NUMBER.findall(said or reply)
    return _decimal(every[-1]) if every else None


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


# --- function calls --------------------------------------------------------------------------


def calls_in(reply: str) -> list[tuple[str, dict[str, Any]]]:
    """The calls in a reply, wherever its JSON stands; empty when there are none."""
    values = (
        one for value in _json_in(reply) for one in (value if isinstance(value, list) else [value])
    )
    return [call for call in map(_call, values) if call]


def _json_in(reply: str) -> Iterator[Any]:
    decoder, place = json.JSONDecoder(), 0
    while found := re.compile(r"[\[{]").search(reply, place):
        try:
            value, place = decoder.raw_decode(reply, found.start())
        except ValueError:
            place = found.start() + 1
        else:
            yield value


def _call(given: Any) -> tuple[str, dict[str, Any]] | None:
    """A call in one of the forms that models use."""
    if not isinstance(given, dict):
        return None
    if isinstance(given.get("function"), dict):
        given = given["function"]
    name = given.get("name", given.get("function"))
    arguments = given.get("arguments", given.get("parameters"))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    return (name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None


def same_calls(calls: list[tuple[str, dict[str, Any]]], reference: list[dict[str, Any]]) -> bool:
    """Whether these are the calls of the reference, each once, in any order."""
    missing = [(one["name"], one["arguments"]) for one in reference]
    for name, arguments in calls:
        for wanted in missing:
            if name == wanted[0] and _same(arguments, wanted[1]):
                missing.remove(wanted)
                break
        else:
            return False
    return not missing


def _same(one: Any, other: Any) -> bool:
    """Equal by structure: 18 is 18.0 but not True, and words may differ in case and spaces."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().split() == other.casefold().split()
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


# --- code ------------------------------------------------------------------------------------


def code_in(reply: str) -> str:
    """The last code block that defines something; the whole reply when there is none."""
    blocks = [block for block in _BLOCK.findall(reply) if "def " in block]
    return blocks[-1] if blocks else reply


def passes(code: str, test: str, seconds: float = SECONDS) -> bool:
    """Whether the asserts of ``test`` hold after ``code``, in a process and folder of its own."""
    token = secrets.token_hex(8)  # so that leaving early is not passing
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "answer.py"
        script.write_text(f"{_LIMITS}\n{code}\n\n{test}\nprint({token!r})\n", "utf-8")
        try:
            ended = subprocess.run(
                [sys.executable, "-I", str(script)],
                cwd=folder,
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except (subprocess.TimeoutExpired, OSError):
            return False
    return ended.returncode == 0 and token.encode() in ended.stdout


# --- constrained writing -----------------------------------------------------------------------


def broken(reply: str, constraints: dict[str, Any]) -> list[str]:
    """The constraints that a text does not keep, by name; "text" when there is none."""
    text = _bare(reply)
    return [name for name, want in constraints.items() if not _kept(text, name, want)] or (
        [] if text else ["text"]
    )


def _bare(reply: str) -> str:
    """The text without what models put around one: a code fence, quotes, bold."""
    text = reply.strip()
    if fenced := _FENCED.match(text):
        text = fenced[1].strip()
    for mark in ("**", '"', "“", "'"):
        end = "”" if mark == "“" else mark
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(end):
            text = text[len(mark) : -len(end)].strip()
    return text


def _kept(text: str, name: str, want: Any) -> bool:
    words = [word for word in text.split() if any(char.isalnum() for char in word)]
    lines = [line for line in text.splitlines() if line.strip()]
    match name:
        case "contains":
            return all(one.casefold() in text.casefold() for one in want)
        case "excludes":
            return not any(one.casefold() in text.casefold() for one in want)
        case "max_words":
            return len(words) <= int(want)
        case "min_words":
            return len(words) >= int(want)
        case "starts":
            return text.startswith(want)
        case "ends":
            return text.endswith(want)
        case "lines":
            return len(lines) == int(want)
        case "line_starts":
            return all(line.startswith(want) for line in lines)
        case "lower":
            return text == text.lower()
        case "upper":
            return text == text.upper()
    raise ValueError(f"there is no constraint {name!r}")
