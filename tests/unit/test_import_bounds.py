"""What an import does with much of something, or with nothing: told, bounded, and dated."""

from pathlib import Path

import pytest

from core import Store, Text
from core.formats import reader
from core.importing import one as conversation
from core.importing import take
from core.interchange import attached, growing
from core.interchange.attached import Attached
from core.interchange.gemini_turns import Calls
from core.interchange.growing import Grain, grow
from core.interchange.source import BytesSource
from core.interchange.spoken_html import words_in
from core.types import Carried, ToolResult
from tests.conftest import ECHO
from tests.contract.hostile import claude, dumped, said
from tests.unit.house import live


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "sessions.db") as store:
        yield store


def read(name: str, content: bytes) -> Carried:
    (one,) = reader(name).read(BytesSource("file.json", content))
    assert isinstance(one, Carried)
    return one


def forked_tools() -> list[Grain]:
    """A question, what a tool said, and two answers to that."""
    told = ToolResult(call_id="c", name="n", text="out")
    return [
        Grain(key="u", parent=None, role="user", parts=(Text(text="?"),)),
        Grain(key="t", parent="u", role="tool", parts=(told,), kind="machinery"),
        Grain(key="a", parent="t", role="assistant", parts=(Text(text="A"),)),
        Grain(key="b", parent="t", role="assistant", parts=(Text(text="B"),)),
    ]


def test_each_of_two_answers_has_the_tools_that_both_go_back_to() -> None:
    nodes = grow(forked_tools()).nodes
    assert [(node.key, node.parent, len(node.parts)) for node in nodes] == [
        ("u", None, 1),
        ("a", "u", 2),
        ("b", "u", 2),
    ]


def test_tools_that_would_be_told_too_often_stand_once_above_the_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(growing, "_MOST_SHARED", 100)
    grown = grow(forked_tools())
    assert [(node.key, node.parent, len(node.parts)) for node in grown.nodes] == [
        ("u", None, 1),
        ("t", "u", 1),
        ("a", "t", 1),
        ("b", "t", 1),
    ]
    assert {branch.forked_from for branch in grown.branches} == {None, "t"}


def test_a_result_without_an_id_answers_the_first_call_of_its_name_that_waits() -> None:
    calls = Calls()
    keys = [calls.made("", name) for name in ("f", "g", "f")] + [calls.made("given", "f")]
    assert calls.answered("given", "f") == "given"
    assert [calls.answered("", name) for name in ("f", "f", "g", "f", "h")] == [
        keys[0],
        keys[2],
        keys[1],
        "",
        "",
    ]


def test_a_conversation_without_messages_has_its_own_date_and_no_branch(store: Store) -> None:
    report = take(store, BytesSource("export.json", claude()), config=ECHO)
    assert (report.new, report.messages, report.branches) == (1, 0, 0)
    assert store.sessions.get(report.sessions[0]).updated_at == "2025-06-01T10:00:00.000Z"
    assert take(store, BytesSource("export.json", claude()), config=ECHO).unchanged == 1


def test_of_two_strangers_under_one_id_the_second_is_known_without_the_first(store: Store) -> None:
    def talk(text: str) -> dict[str, object]:
        return {"id": "x", "conversations": [{"from": "human", "value": text}]}

    both = take(store, BytesSource("a.json", dumped([talk("one"), talk("two")])), config=ECHO)
    assert both.new == 2
    alone = take(store, BytesSource("b.json", dumped([talk("two")])), config=ECHO)
    assert (alone.new, alone.messages, alone.unchanged) == (0, 0, 1)
    assert [live(store, one) for one in both.sessions] == [{"main": ["one"]}, {"main": ["two"]}]


def test_a_file_beside_that_is_larger_than_any_attachment_is_only_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attached, "_MOST", 10)
    assert Attached().member(BytesSource("film.mp4", b"x" * 11)) is None
    assert Attached().member(BytesSource("note.txt", b"x" * 10)) is not None


def test_what_is_no_turn_and_what_was_cited_is_told() -> None:
    turns = [{"from": "human", "value": "x"}, None, "y"]
    odd = read("sharegpt", dumped([{"conversations": turns}]))
    assert {(one.what, one.count) for one in odd.left_out} == {("entries that are no turns", 2)}
    block = {"type": "text", "text": "x", "citations": [{"url": "a"}, {"url": "b"}]}
    cited = read("claude", claude(said("a1", None, "x", content=[block])))
    assert {(one.what, one.count) for one in cited.left_out} == {("sources of answers", 2)}


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<p>a &lt;b&gt; &amp;amp; c</p><p>d<br/>e</p>", "a <b> &amp; c\n\nd\ne"),
        ("<a href=\"x?a>b\" title='>'>link</a> 1 < 2 > 0", "link 1 < 2 > 0"),
        ("a<!-- <p>no</p> -->b<!doctype html><?x?>c", "abc"),
        ("a<script>if (x<y) z()</script><STYLE>p{}</STYLE>b<script/>c", "abc"),
        ("<pre>x = 1\n  y</pre>", "```\nx = 1\n  y\n```"),
        ("a<![CDATA[b<a c='", "a<![CDATA[b<a c='"),
        ("a<!-- open", "a"),
    ],
)
def test_html_becomes_words_whatever_is_wrong_with_it(html: str, words: str) -> None:
    assert words_in(html) == words


def test_a_conversation_can_be_written_with_hundreds_of_branches_under_one_name(
    store: Store,
) -> None:
    turns = [said("u1", None, "x"), *(said(f"a{n}", "u1", str(n)) for n in range(300))]
    one = read("claude", claude(*turns))
    made = conversation.write(store, reader("claude"), one, ECHO, set())
    assert made.branches == len(store.branches.of(made.session_id)) == 300
