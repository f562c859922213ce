"""Every exception that SDK and transport have, found by walking their classes, becomes ours.

The suite's tables say what the telling ones become. Whatever else there is, and whatever a
newer SDK adds, must at least be an error of ours, without a word of theirs.
"""

from collections.abc import Iterator

import httpx2
import pytest

from core.errors import BadReply
from tests.contract.case import Case
from tests.contract.cases_compatible import KEY

pytestmark = pytest.mark.needs("http")
SDKS = {
    "openai": "openai",
    "compatible": "openai",
    "anthropic": "anthropic",
    "gemini": "google.genai",
}
FEWEST = {"openai": 20, "compatible": 20, "anthropic": 100, "gemini": 8, "httpx2": 20}
"""Of each: fewer would mean that the walk has lost its way."""


def below(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    """A class and all that are loaded below it."""
    yield kind
    for sub in kind.__subclasses__():
        yield from below(sub)


def raised_by(package: str) -> set[type[Exception]]:
    """The exception classes that a package defines, warnings left out."""
    return {
        kind
        for kind in below(Exception)
        if f"{kind.__module__}.".startswith(f"{package}.")
        and issubclass(kind, Exception)
        and not issubclass(kind, Warning)
    }


def test_every_class_is_one_of_ours_in_the_end(case: Case) -> None:
    table = case.exceptions()
    walked = {case.name: raised_by(SDKS[case.name]), "httpx2": raised_by("httpx2")}
    assert all(len(kinds) >= FEWEST[name] for name, kinds in walked.items())
    for kind in set().union(*walked.values()) - set(table):
        made = case.translate(kind.__new__(kind, f"said {KEY}"))
        assert type(made) is BadReply, kind
        assert KEY[:8] not in str(made) + repr(made.failure())


def test_the_transport_s_own_are_all_in_the_table(case: Case) -> None:
    told = {kind for kind in below(httpx2.RequestError) if kind.__module__.startswith("httpx2")}
    assert len(told) >= 18
    assert told <= set(case.exceptions())
