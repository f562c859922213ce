"""Chats of other products that no small file can show: very long ones, and those that grow."""

import contextlib
import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Store
from core.errors import BadFile
from core.formats import reader, recognised
from core.importing import take
from core.interchange import deep, outline, streams
from core.interchange.source import BytesSource, SeveralFiles
from core.types import Carried, Damaged, Thinking
from tests.conftest import ECHO
from tests.contract.shelf import path_of


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "sessions.db") as store:
        yield store


def read(format: str, content: Any, name: str = "file.json") -> list[Carried | Damaged]:
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    return list(reader(format).read(BytesSource(name, raw)))


def texts(carried: Carried | Damaged) -> list[str]:
    assert isinstance(carried, Carried), carried
    return [node.text for node in path_of(carried)]


# --- deeper than Python's decoder goes ---


def nested(depth: int) -> bytes:
    """A LibreChat conversation whose messages lie in each other."""
    opened = "".join(
        f'{{"messageId":"m{n}","text":"{n}","sender":"User","children":[' for n in range(depth)
    )
    head = '{"conversationId":"c","exportAt":"x","recursive":true,"options":{},"messagesTree":['
    return (head + opened + "]}" * depth + "]}").encode()


def test_a_nested_chat_of_1500_messages_is_read() -> None:
    found = read("librechat", nested(1500))
    assert texts(found[0]) == [str(n) for n in range(1500)]


def test_a_trap_of_nesting_is_refused() -> None:
    with pytest.raises(BadFile, match="nested more deeply"):
        read("librechat", nested(100_000))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.sampled_from([None, 2]))
def test_the_deep_decoder_reads_what_the_usual_one_does(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert deep.decode(text + " and more", 0) == (value, len(text))


@given(json_values.filter(lambda value: isinstance(value, dict | list)), st.data())
def test_the_deep_decoder_says_where_json_is_cut(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(json.JSONDecodeError):
        deep.decode(cut, 0)


# --- what formats are told apart by ---


def test_words_in_texts_are_no_keys() -> None:
    said = 'He wrote {"mapping": {"conversations": [{"from": "x", "value": "y"}]}} and "mes":'
    source = BytesSource("x.json", json.dumps([{"a": {"b": said, "c": [{"d": 1}]}}]).encode())
    assert outline.paths(source) == {"a", "a.b", "a.c", "a.c.d"}
    assert recognised(source) is None


def test_a_chat_about_formats_keeps_its_own() -> None:
    said = json.dumps({"conversations": [{"from": "human", "value": "x"}], "is_user": True})
    head = {"user_name": "unused", "character_name": "unused", "chat_metadata": {}}
    line = {"name": "Me", "is_user": True, "mes": said + "\n" + said}
    content = f"{json.dumps(head)}\n{json.dumps(line)}".encode()
    found = recognised(BytesSource("x.jsonl", content))
    assert found is not None
    assert found[0].name == "sillytavern"


def test_the_head_may_end_in_a_string() -> None:
    value = [{"conversations": [{"from": "human", "value": '\\" {[' * 60_000}]}]
    found = recognised(BytesSource("x.json", json.dumps(value).encode()))
    assert found is not None
    assert found[0].name == "sharegpt"


# --- folds ---


OPEN = '<details type="reasoning">'


def webui(content: str, **more: Any) -> dict[str, Any]:
    message = {"id": "a", "role": "assistant", "content": content, "parentId": None} | more
    return {"title": "T", "chat": {"history": {"currentId": "a", "messages": {"a": message}}}}


@pytest.mark.parametrize(
    ("content", "said", "thought"),
    [
        (f"{OPEN}\n&gt; a\n&gt;\n&gt; b &lt;c&gt;\n</details>\nX", "X", ["a\n\nb <c>"]),
        (f"{OPEN}\nplain\n> quote\n</details>X", "X", ["plain\n> quote"]),
        (f"{OPEN}\n</details>\n\n\nX\n", "X\n", []),
        (f"A\n{OPEN}\nt\n</details>\nB\n\n{OPEN}u</details>", "A\nB\n\n", ["t", "u"]),
        (f"before {OPEN}x</details>", f"before {OPEN}x</details>", []),
        ('<details type="other">x</details>', '<details type="other">x</details>', []),
        ('<details type="reasoning"', '<details type="reasoning"', []),
        ("  spaces stay  \n", "  spaces stay  \n", []),
    ],
)
def test_only_what_was_folded_is_taken_out(content: str, said: str, thought: list[str]) -> None:
    (carried,) = read("open_webui", webui(content))
    assert isinstance(carried, Carried)
    (node,) = carried.nodes
    assert node.text == said
    assert [part.text for part in node.parts if isinstance(part, Thinking)] == thought


# --- what grows and comes again ---


def turn(text: str, by: str, **more: Any) -> dict[str, Any]:
    return {"name": by, "is_user": by == "Me", "is_system": False, "mes": text} | more


HEAD = {"user_name": "Me", "character_name": "She", "create_date": "2024-7-19 @15h30m00s"}


def chat(*turns: dict[str, Any], **metadata: Any) -> bytes:
    lines = [HEAD | {"chat_metadata": metadata}, *turns]
    return "\n".join(json.dumps(line) for line in lines).encode()


HELLO = (turn("Hello", "She"), turn("Hi", "Me"))


def test_a_chat_that_went_on_is_added_to(store: Store) -> None:
    first = take(store, BytesSource("a.jsonl", chat(*HELLO)), config=ECHO)
    more = take(store, BytesSource("b.jsonl", chat(*HELLO, turn("So?", "She"))), config=ECHO)
    assert (more.new, more.extended, more.messages) == (0, 1, 1)
    assert more.sessions == first.sessions
    assert [branch.name for branch in store.branches.of(first.sessions[0])] == ["main"]


def test_another_swipe_later_is_another_branch(store: Store) -> None:
    first = take(store, BytesSource("a.jsonl", chat(*HELLO, turn("One", "She"))), config=ECHO)
    swiped = turn("Two", "She", swipes=["One", "Two"], swipe_id=1)
    more = take(store, BytesSource("a.jsonl", chat(*HELLO, swiped)), config=ECHO)
    assert (more.extended, more.messages, more.branches) == (1, 1, 1)
    assert len(store.branches.of(first.sessions[0])) == 2


def test_a_branch_that_comes_later_finds_its_chat(store: Store) -> None:
    main = take(store, BytesSource("a.jsonl", chat(*HELLO, turn("One", "She"))), config=ECHO)
    branch = chat(*HELLO, turn("Other", "She"), main_chat="a")
    more = take(store, BytesSource("Branch #1.jsonl", branch), config=ECHO)
    assert (more.sessions, more.messages, more.branches) == (main.sessions, 1, 1)


def test_files_dropped_together_are_one_chat(store: Store) -> None:
    main = BytesSource("a.jsonl", chat(*HELLO, turn("One", "She")))
    branch = BytesSource("b.jsonl", chat(*HELLO, turn("Other", "She"), main_chat="a"))
    for files in ([main, branch], [branch, main]):
        (carried,) = reader("sillytavern").read(SeveralFiles(files))
        assert texts(carried) == ["Hello", "Hi", "One"]
        assert isinstance(carried, Carried)
        assert [one.name for one in carried.branches] == ["main", "b"]


def test_files_in_a_circle_are_read() -> None:
    files = [
        BytesSource("a.jsonl", chat(*HELLO, main_chat="b")),
        BytesSource("b.jsonl", chat(*HELLO, turn("Longer", "She"), main_chat="a")),
    ]
    (carried,) = reader("sillytavern").read(SeveralFiles(files))
    assert texts(carried) == ["Hello", "Hi", "Longer"]


def test_an_archive_with_other_conversations_is_left_to_its_members(store: Store) -> None:
    packed = io.BytesIO()
    other = {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]}
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("chat.jsonl", chat(*HELLO))
        archive.writestr("train.json", json.dumps([other]))
    report = take(store, BytesSource("all.zip", packed.getvalue()), config=ECHO)
    assert sorted(report.formats) == ["ShareGPT", "SillyTavern"]
    assert report.messages == 4


def test_a_training_file_that_came_before_adds_nothing_and_grows(store: Store) -> None:
    turns = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]
    rows = [{"id": "x", "conversations": turns}]
    first = take(store, BytesSource("a.json", json.dumps(rows).encode()), config=ECHO)
    rows[0]["conversations"] = [*turns, {"from": "human", "value": "Ha"}]  # type: ignore[assignment]
    more = take(store, BytesSource("a.json", json.dumps(rows).encode()), config=ECHO)
    assert (more.sessions, more.messages) == (first.sessions, 1)


# --- bounds ---


def test_a_chat_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_OF_ONE", 1000)
    with pytest.raises(BadFile, match="more than"):
        read("sillytavern", chat(*HELLO, turn("x" * 2000, "She")), "big.jsonl")


def test_trees_that_never_become_whole_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_OF_ONE", 1000)

    def row(tree: int, number: int) -> bytes:
        key = f"{tree}-{number}"
        return json.dumps(
            {
                "message_tree_id": f"t{tree}",
                "message_id": key,
                "text": "x" * 200,
                "role": "prompter",
            }
        ).encode()

    mixed = b"\n".join(row(tree, number) for number in range(2) for tree in range(9))
    with pytest.raises(BadFile, match="none of them is whole"):
        read("oasst", mixed, "mixed.messages.jsonl")
    in_order = b"\n".join(row(tree, number) for tree in range(9) for number in range(2))
    assert len(read("oasst", in_order, "ordered.messages.jsonl")) == 9


KEYS = (
    "chat history messages currentId id parentId childrenIds content output files error params"
    " conversationId messagesTree children options text messageId mes is_user swipes swipe_id"
    " swipe_info extra chat_metadata conversations from value images tools prompt replies"
    " message_id message_tree_id rank"
).split()


@pytest.mark.parametrize("format", ["open_webui", "librechat", "sillytavern", "sharegpt", "oasst"])
@settings(max_examples=25)
@given(value=json_values)
def test_no_json_makes_a_reader_stumble(format: str, value: Any) -> None:
    """Whatever lies where something else should: told, or passed over, never an exception."""
    filled = dict.fromkeys(KEYS, value)
    listed = {key: [filled, value] for key in KEYS}
    mapped = {key: {"messages": {"m": filled, "n": value}, **filled} for key in KEYS}
    for content in (value, filled, listed, mapped, [listed, mapped, filled]):
        with contextlib.suppress(BadFile):
            read(format, content)
