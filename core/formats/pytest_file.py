"""A branch as a pytest file: it plays the person's turns again with the SDK of the branch's
provider, or with any server that speaks Chat Completions, and checks the last answer.

Without a key it is skipped and says why. No key is ever in it; what is checked is data, and an
expression is written down only if it can do nothing but compute.
"""

from collections.abc import Iterator
from pathlib import Path

from core.interchange.replayed import (
    SDKS,
    body_of,
    listed,
    name_of,
    python_of,
    python_text,
    settings,
    system_of,
    turns,
)
from core.types import BranchTaken, Check, Include, Scope, well_formed

_PLAYER = Path(__file__).with_name("_player.py.txt").read_text("utf-8")


class PytestFile:
    """The person's turns, played again, and the checks of the last answer."""

    name = "pytest_file"
    label = "pytest file (Python)"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "py"
    media_type = "text/x-python"
    options: frozenset[str] = frozenset()

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The file. Raises ``UserError`` where nobody said anything."""
        head = "\n".join(_head(taken))
        return well_formed(f"{head}\n{_PLAYER}").encode()


def _head(taken: BranchTaken) -> Iterator[str]:
    said, config = turns(taken), taken.config
    provider = config.provider if config.provider in SDKS else "chat"
    own, unknown = settings(config, provider)
    chat, _ = settings(config, "chat")
    yield from _docstring(taken, provider)
    yield ""
    yield f"PROVIDER = {python_text(provider)}"
    yield f"MODEL = {python_text(well_formed(config.model))}"
    yield f"SYSTEM = {_long(system_of(taken))}"
    if unknown:
        yield f"# Settings that have no name here, and are left out: {python_text(listed(unknown))}"
    yield f"SETTINGS = {python_text(own)}"
    yield f"CHAT_SETTINGS = {python_text(chat)}"
    yield "TURNS = ["
    for one in said:
        if one.files:
            yield f"    # Its files are left out: {python_text(listed(one.files))}"
        yield f"    {_long(one.text)},"
    yield "]"
    yield f"DONE_WHEN = {_long(well_formed(taken.session.done_when.strip()))}"
    yield from _checks(taken.checks)


def _docstring(taken: BranchTaken, provider: str) -> Iterator[str]:
    keys = {
        "openai": "OPENAI_API_KEY",
        "anthropic": "ANTHROPIC_API_KEY",
        "gemini": "GEMINI_API_KEY",
        "chat": "TURNTREE_BASE_URL",
    }
    title = python_text(" ".join(f"{taken.session.title}, branch {taken.branch.name}".split()))
    # A comment, not a docstring: a title may hold anything.
    yield "# Plays a conversation again and checks its last answer."
    yield f"# From {title}."
    yield "#"
    yield f"# Run it with {keys[provider]} set:  pytest -rs <this file>"
    yield "# TURNTREE_BASE_URL plays it on any server that speaks Chat Completions, with"
    yield "# TURNTREE_API_KEY and TURNTREE_MODEL where that server wants them."


def _long(text: str) -> str:
    """A text, each of its lines on its own line."""
    lines = text.split("\n")
    if len(lines) == 1:
        return python_text(text)
    told = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "(\n" + "\n".join(f"        {python_text(line)}" for line in told) + "\n    )"


def _checks(checks: tuple[Check, ...]) -> Iterator[str]:
    yield "CHECKS = ["
    for number, check in enumerate(checks, 1):
        body, name = dict(body_of(check)), f"{number}: {name_of(check)}"
        told = f'"name": {python_text(name)}, "kind": {python_text(check.kind)}'
        if check.kind == "expression":
            code = python_of(str(body.get("text", "")))
            act = (
                "None"
                if code is None
                else (f"lambda text, words, chars, lines, numbers, json: {code}")
            )
            yield f'    {{{told}, "body": {{}}, "expression": {act}}},'
        else:
            yield f'    {{{told}, "body": {python_text(_plain(body))}}},'
    yield "]"


def _plain(body: dict[str, object]) -> dict[str, object]:
    """A check's body, as far as Python can write it down."""
    return {
        name: well_formed(value) if isinstance(value, str) else value
        for name, value in body.items()
    }


FORMAT = PytestFile()
