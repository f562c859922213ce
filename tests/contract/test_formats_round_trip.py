"""What a format writes it reads again: the same conversation, and written again the same bytes."""

import io
import json
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import Config, Session, Store
from core.branching import new_node
from core.exporting import branch, whole, write
from core.formats import Reader, Writer, formats
from core.importing import take
from core.interchange.source import BytesSource
from core.types import Carried, Include, Parts, Text, ToolCall, ToolResult
from tests.conftest import ECHO
from tests.contract.shelf import Case, cases, path_of, source_of

BOTH = [
    name
    for name, one in formats().items()
    if isinstance(one, Reader) and isinstance(one, Writer) and "branch" in one.scopes
]
WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), min_size=1
).filter(lambda text: text.strip() == text)
NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=8)
ARGUMENTS = st.dictionaries(NAMES, st.integers() | NAMES, max_size=2)


@st.composite
def rounds(draw: st.DrawFn, number: int) -> list[tuple[str, Parts]]:
    """A turn: a question, perhaps a tool and what it gave, and an answer."""
    told: list[tuple[str, Parts]] = [("user", (Text(text=draw(WORDS)),))]
    if draw(st.booleans()):
        name, call = draw(NAMES), f"call_{number}"
        given_to = json.dumps(draw(ARGUMENTS), separators=(",", ":"))
        told.append(("assistant", (ToolCall(id=call, name=name, arguments=given_to),)))
        told.append(("tool", (ToolResult(call_id=call, name=name, text=draw(WORDS)),)))
    told.append(("assistant", (Text(text=draw(WORDS)),)))
    return told


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[str, Parts]]:
    return [
        message for number in range(draw(st.integers(1, 4))) for message in draw(rounds(number))
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    with Store.open(tmp_path_factory.mktemp("db") / "sessions.db") as store:
        yield store


def grown(store: Store, told: list[tuple[str, Parts]], system: str = "") -> Session:
    config = Config(provider="compatible", model="some-model", system=system)
    session = store.sessions.create(config=config, title="A conversation")
    tip: str | None = None
    with store.write():
        for role, parts in told:
            node = store.nodes.add(new_node(session.id, tip, role, parts))
            tip = node.id
        assert session.current_branch_id is not None
        store.branches.move(session.current_branch_id, tip, why="test")
    return session


def read(name: str, content: bytes, ending: str) -> Carried:
    (found,) = formats()[name].read(BytesSource(f"x.{ending}", content))
    assert isinstance(found, Carried), found
    return found


def essence(role: str, parts: Parts) -> tuple[str, list[tuple[str, ...]]]:
    """What every provider's form can hold of a message; ids of calls are made anew by some."""
    told: list[tuple[str, ...]] = []
    for part in parts:
        match part:
            case Text():
                told.append(("text", part.text))
            case ToolCall():
                told.append(("call", part.name, "".join(part.arguments.split())))
            case ToolResult():
                told.append(("result", part.text))
    return ("tool" if told and told[0][0] == "result" else role), told


@pytest.mark.parametrize("name", BOTH)
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(told=conversations(), system=st.just("") | WORDS)
def test_any_conversation_comes_back_as_it_went(
    name: str, store: Store, told: list[tuple[str, Parts]], system: str
) -> None:
    writer = formats()[name]
    session = grown(store, told, system)
    content = write(branch(store, session.id, str(session.current_branch_id)), name, Include())
    found = read(name, content.content, writer.ending)
    assert [essence(node.role, node.parts) for node in path_of(found)] == [
        essence(*message) for message in told
    ]
    assert found.system == system
    again = grown(store, [(node.role, node.parts) for node in path_of(found)], found.system)
    second = write(branch(store, again.id, str(again.current_branch_id)), name, Include())
    assert second.content == content.content


def test_the_formats_that_go_both_ways_are_all_here() -> None:
    assert {"openai_messages", "anthropic_messages", "gemini_messages", "finetuning"} <= set(BOTH)


# --- whole sessions, in our own format ---


def packed(store: Store) -> bytes:
    stream = io.BytesIO()
    whole.sessions(store, whole.every(store), stream)
    return stream.getvalue()


@pytest.mark.parametrize("held", [case for case in cases() if case.format != "native"], ids=str)
def test_what_came_from_anywhere_leaves_as_ours_and_comes_back_byte_for_byte(
    held: Case, tmp_path: Path
) -> None:
    with Store.open(tmp_path / "one.db") as first:
        take(first, source_of(held, tmp_path), config=ECHO)
        if not first.sessions.count():
            pytest.skip("there is no conversation in it")
        out = packed(first)
    with Store.open(tmp_path / "two.db") as second:
        report = take(second, BytesSource("ours.zip", out), config=ECHO)
        assert (report.damaged, report.repairs, report.broke) == ([], [], "")
        assert packed(second) == out
