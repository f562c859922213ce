"""What the two account exports keep beside their trees: files, notes, calls, and their shapes."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest

from core.errors import BadFile
from core.formats import found_in, reader, recognised
from core.interchange import exports, outline, streams
from core.interchange.growing import Grain, grow
from core.interchange.source import BytesSource
from core.types import AttachmentRef, Carried, Damaged, Text, Thinking, ToolCall, ToolResult
from tests.contract.hostile import GOOD, gpt, said
from tests.contract.shelf import SHELF, packed


def source_of(value: Any, name: str = "export.json") -> BytesSource:
    return BytesSource(name, json.dumps(value).encode())


def archive_of(files: Mapping[str, bytes]) -> BytesSource:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return BytesSource("all.zip", made.getvalue())


def read(format: str, source: Any) -> list[Carried]:
    found = list(reader(format).read(source))
    assert not [one for one in found if isinstance(one, Damaged)], found
    return [one for one in found if isinstance(one, Carried)]


def shelved(format: str, name: str) -> Carried:
    return read(format, BytesSource(name, (SHELF / format / name).read_bytes()))[0]


def notes(carried: Carried) -> list[str]:
    return [node.marks["note"] for node in carried.nodes if node.marks]


def claude(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"uuid": "c", "name": "T", "chat_messages": list(messages)}


# --- files and notes ---


def test_the_bytes_in_an_archive_come_along_unchanged(tmp_path) -> None:
    folder = SHELF / "chatgpt" / "account-export.zip"
    source = BytesSource("a.zip", packed(folder, tmp_path / "a.zip").read_bytes())
    (carried,) = read("chatgpt", source)
    refs = {p.name: p for node in carried.nodes for p in node.parts if p.type == "attachment"}
    lying = {path.name: path.read_bytes() for path in folder.rglob("file-*")}
    assert {name: ref.media_type for name, ref in refs.items()} == {
        "holiday.png": "image/png",
        "notes.txt": "text/plain",
        "5d1c9b1e-0000-4000-8000-000000000001.png": "image/png",
    }
    assert {carried.files[ref.sha256]() for ref in refs.values()} == set(lying.values())
    assert notes(carried) == ["Attached there: plan.pdf (its bytes are not in the file)"]
    drawn = carried.nodes[-1].parts
    assert [part.type for part in drawn] == ["tool_call", "tool_result", "attachment", "text"]


def test_a_name_comes_from_the_list_of_names(tmp_path) -> None:
    folder = SHELF / "chatgpt" / "sharded.zip"
    source = BytesSource("a.zip", packed(folder, tmp_path / "a.zip").read_bytes())
    found = [one for one in reader("chatgpt").read(source) if isinstance(one, Carried)]
    (ref,) = [p for one in found for n in one.nodes for p in n.parts if p.type == "attachment"]
    assert (ref.name, ref.media_type) == ("meadow.png", "image/png")


def test_names_without_bytes_stay_as_notes() -> None:
    assert notes(shelved("chatgpt", "attachments-without-bytes.json")) == [
        "Attached there: old.pdf, new.pdf (their bytes are not in the file)",
        "Attached there: a picture (its bytes are not in the file)",
    ]
    assert notes(shelved("chatgpt", "voice.json")) == [
        "Spoken there: a recording without its words"
    ]
    assert notes(shelved("claude", "attachments.json")) == [
        "Attached there: empty.txt, none.csv, photo.jpg (their bytes are not in the file)",
        "Attached there: alone.png (its bytes are not in the file)",
    ]


@pytest.mark.parametrize("answer", ["", "Here it is."])
def test_a_drawing_without_its_bytes_is_noted_on_the_answer(answer: str) -> None:
    value = gpt(("u1", None, "Draw."), ("t1", "u1", ""), ("a1", "t1", answer))
    drawn = value["mapping"]["t1"]["message"]
    drawn["author"] = {"role": "tool", "name": "dalle.text2im"}
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
    drawn["content"] = {"content_type": "multimodal_text", "parts": [picture]}
    (carried,) = read("chatgpt", source_of([value]))
    assert carried.nodes[-1].text == answer
    assert notes(carried) == ["Attached there: a picture (its bytes are not in the file)"]


def test_pasted_text_is_a_text_file() -> None:
    carried = shelved("claude", "attachments.json")
    refs = [part for part in carried.nodes[0].parts if isinstance(part, AttachmentRef)]
    assert [(ref.name, ref.media_type) for ref in refs] == [
        ("pasted.txt", "text/plain"),
        ("report.pdf.txt", "text/plain"),
    ]
    assert carried.files[refs[0].sha256]().decode() == "Pasted words, länger als eine Zeile\n"


def test_a_damaged_file_in_an_archive_does_not_stop_the_conversation() -> None:
    asked = gpt(*GOOD)
    asked["mapping"]["u1"]["message"]["metadata"] = {"attachments": [{"id": "file-X", "name": "x"}]}
    source = archive_of({"conversations.json": json.dumps([asked]).encode(), "file-X.txt": b"word"})
    source._content = source._content.replace(b"word", b"harm", 1)
    (carried,) = read("chatgpt", source)
    assert [(one.what, one.why) for one in carried.left_out] == [
        ("attachments", "they are damaged in the archive")
    ]
    assert notes(carried)


# --- parts ---


def test_results_know_their_calls() -> None:
    carried = shelved("chatgpt", "content-types.json")
    parts = carried.nodes[1].parts
    assert [(p.id, p.name) for p in parts if isinstance(p, ToolCall)] == [
        ("c1", "python"),
        ("c2", "browser"),
    ]
    assert [p.call_id for p in parts if isinstance(p, ToolResult)] == ["c1", "c2", "c2", "c2"]
    assert [p.text for p in parts if isinstance(p, ToolResult)][:3] == [
        "42",
        "# Results\n\n1. Deep Thought",
        "Deep Thought\n\nhttps://example.com/42\n\nThe answer is 42.",
    ]
    assert [p.text for p in parts if isinstance(p, Thinking)] == [
        "Checking\n\nSix times seven.\n\nDone",
        "Thought for 4 seconds",
    ]


def test_blocks_keep_their_order_and_their_exact_words() -> None:
    parts = shelved("claude", "thinking-and-tools.json").nodes[1].parts
    assert [part.type for part in parts] == [
        *("thinking", "text", "tool_call", "tool_result", "tool_call", "tool_result"),
        *("text", "text"),
    ]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    results = [part for part in parts if isinstance(part, ToolResult)]
    assert [call.id for call in calls] == [result.call_id for result in results]
    assert json.loads(calls[1].arguments)["content"] == "<h1>Ferries</h1>"
    assert results[1].text == "OK"


@pytest.mark.parametrize("given", ["toolu_1", None])
def test_a_result_finds_its_call_with_and_without_ids(given: str | None) -> None:
    blocks = [
        {"type": "tool_use", "name": "t", "input": {"n": 1}, "id": given},
        {"type": "tool_result", "name": "t", "content": "one", "tool_use_id": given},
        {"type": "tool_use", "name": "t", "input": {"n": 2}},
        {"type": "tool_result", "name": "t", "content": [{"n": 2}], "is_error": True},
        {"type": "text", "text": "Done."},
    ]
    (carried,) = read("claude", source_of(claude(said("a1", None, "", content=blocks))))
    call, result, again, error, text = carried.nodes[0].parts
    assert isinstance(result, ToolResult)
    assert (result.call_id, result.text, result.is_error) == (call.id, "one", False)
    assert (error.call_id, error.text, error.is_error) == (again.id, '{"n": 2}', True)
    assert call.id != again.id
    assert text == Text(text="Done.")


def test_a_long_chain_of_tools_is_quickly_read() -> None:
    names = ["u0", *(f"t{n}" for n in range(5000))]
    value = gpt(*((name, names[at - 1] if at else None, name) for at, name in enumerate(names)))
    for name in names[1:]:
        value["mapping"][name]["message"]["author"] = {"role": "tool", "name": "python"}
    (carried,) = read("chatgpt", source_of([value]))
    assert [len(node.parts) for node in carried.nodes] == [1, 5000]


# --- ids ---


def test_a_conversation_without_an_id_keeps_its_key_when_it_goes_on() -> None:
    longer = (*GOOD, ("u2", "a1", "More"))
    keys = {
        read("chatgpt", source_of(gpt(*rows, id=None, conversation_id=None)))[0].key
        for rows in (GOOD, longer)
    }
    assert len(keys) == 1
    messages = [said("u1", None, "x"), said("a1", "u1", "y")]
    assert (
        read("claude", source_of(claude(*messages[:1]) | {"uuid": None}))[0].key
        == read("claude", source_of(claude(*messages) | {"uuid": None}))[0].key
    )


# --- shapes ---


def test_words_in_a_text_are_no_keys() -> None:
    trap = '[{"x": {"message": 1}, "mapping": {"a": {"message": {}}}, "chat_messages": []}]'
    assert recognised(source_of([{"note": trap, "more": [trap, {"y": trap}]}])) is None


def test_keys_are_found_with_those_above_them() -> None:
    paths = outline.keys(source_of([[], {"a": [{"b": 1}, {"c": {"d": "}"}}]}, {"e": 2}]))
    assert paths == {("a",), ("a", "b"), ("a", "c"), ("a", "c", "d"), ("e",)}
    assert outline.within(paths, "a") == {("b",), ("c",), ("c", "d")}
    assert outline.keys(BytesSource("x", b'{"a": "' + b'\\"' * 40_000)) == {("a",)}


def test_a_list_in_a_wrapping_object_is_read_piece_by_piece() -> None:
    value = {"a": [1, {"conversations": 2}], "conversations": [{"n": 1}, {"n": 2}], "z": 0}
    source = source_of(value)
    assert [one for _, one in streams.items(source, "conversations")] == [{"n": 1}, {"n": 2}]
    with pytest.raises(BadFile, match="no list"):
        list(streams.items(source, "elsewhere"))


def test_two_products_in_one_archive_are_both_found() -> None:
    source = archive_of(
        {
            "chatgpt/conversations.json": json.dumps([gpt(*GOOD)]).encode(),
            "chatgpt/user.json": b'{"id": "user-1"}',
            "claude/conversations.json": json.dumps([claude(said("u1", None, "x"))]).encode(),
        }
    )
    found = [one for one in found_in(source) if not isinstance(one, Damaged)]
    assert sorted(one.name for one, _ in found) == ["chatgpt", "claude"]
    for one, part in found:
        assert [carried.key for carried in read(one.name, part)] in (["c1"], ["c"])


def test_a_shard_that_breaks_off_ends_only_itself() -> None:
    whole = json.dumps([gpt(*GOOD, conversation_id="whole")]).encode()
    source = archive_of({"conversations-000.json": whole[:-9], "conversations-001.json": whole})
    damaged, carried = reader("chatgpt").read(source)
    assert isinstance(damaged, Damaged)
    assert "conversations-000.json" in damaged.place
    assert isinstance(carried, Carried)
    assert carried.key == "whole"


def test_a_system_prompt_above_all_paths_is_lifted_and_no_other() -> None:
    def grain(key: str, parent: str | None, role: Any) -> Grain:
        return Grain(key=key, parent=parent, role=role, parts=(Text(text=key),))

    above = grow([grain("s", None, "system"), grain("u", "s", "user"), grain("v", "s", "user")])
    system, lifted = exports.lift_system(above)
    assert system == "s"
    assert [(node.key, node.parent) for node in lifted.nodes] == [("u", None), ("v", None)]
    assert {branch.forked_from for branch in lifted.branches} == {None}
    beside = grow([grain("s", None, "system"), grain("u", "s", "user"), grain("v", None, "user")])
    assert exports.lift_system(beside) == ("", beside)
    alone = grow([grain("s", None, "system")])
    assert exports.lift_system(alone) == ("", alone)
