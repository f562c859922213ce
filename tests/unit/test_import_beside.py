"""What lies in an archive beside the conversations is told, before and after an import."""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from core import Store
from core.formats import reader
from core.importing import preview, take
from core.interchange import exports
from core.interchange.source import BytesSource, SeveralFiles
from core.types import Source
from tests.conftest import ECHO

TALK = {"uuid": "c1", "chat_messages": [{"uuid": "m1", "sender": "human", "text": "Hi"}]}
CLAUDE: Mapping[str, object] = {
    "conversations.json": [TALK],
    "projects.json": [{"uuid": "p"}],
    "users.json": [{"uuid": "u"}],
    "__MACOSX/._users.json": {},
    ".DS_Store": "",
}
NODES = {
    "root": {"parent": None, "children": ["a"], "message": None},
    "a": {
        "parent": "root",
        "children": [],
        "message": {
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": ["Look"]},
            "metadata": {"attachments": [{"id": "file-one", "name": "note.txt"}]},
        },
    },
}
CHATGPT = {"title": "T", "conversation_id": "g1", "current_node": "a", "mapping": NODES}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "sessions.db") as store:
        yield store


def packed(members: Mapping[str, object], name: str = "export.zip") -> BytesSource:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, value in members.items():
            archive.writestr(path, value if isinstance(value, str) else json.dumps(value))
    return BytesSource(name, stream.getvalue())


def told(store: Store, source: Source) -> list[tuple[str, int, str]]:
    """What a preview says stays behind of the archive itself; a take says the same."""
    ahead = preview(store, source).left_out
    after = take(store, source, config=ECHO).left_out
    assert list(ahead) == after[len(after) - len(ahead) :]
    return [(one.what, one.count, one.why.partition(": ")[2]) for one in ahead]


def test_what_is_no_conversation_is_named(store: Store) -> None:
    found = told(store, packed(CLAUDE))
    assert found == [("other files", 2, "projects.json, users.json")]


def test_many_are_counted(store: Store) -> None:
    more = {f"cards/{number}.json": {"spec": "chara"} for number in range(7)}
    [(_, count, names)] = told(store, packed({"conversations.json": [TALK], **more}))
    assert count == 7
    assert names == "cards/0.json, cards/1.json, cards/2.json, cards/3.json and 3 more"


def test_a_file_that_a_message_names_comes_along(store: Store) -> None:
    members = {
        "conversations.json": [CHATGPT],
        "file-one-note.txt": "words",
        "file-two-other.txt": "of nobody",
        "chat.html": "<html>",
    }
    assert told(store, packed(members)) == [("other files", 2, "file-two-other.txt, chat.html")]


def test_also_of_files_that_were_dropped_together(store: Store) -> None:
    files: list[Source] = [
        BytesSource("conversations.json", json.dumps([TALK]).encode()),
        packed({"conversations.json": [TALK], "memories.json": [{"m": 1}]}),
    ]
    assert told(store, SeveralFiles(files)) == [("other files", 1, "memories.json")]


def test_what_is_damaged_is_told_once(store: Store) -> None:
    broken = json.dumps([TALK])[:-20]
    source = packed({"conversations.json": [TALK], "conversations-001.json": broken})
    looked = preview(store, source)
    assert [one.place for one in looked.damaged] == ["export.zip: conversations-001.json"]
    assert looked.left_out == ()


def test_one_file_alone_leaves_nothing_beside_it(store: Store) -> None:
    assert told(store, BytesSource("c.json", json.dumps([TALK]).encode())) == []


def test_a_damaged_manifest_is_told(store: Store) -> None:
    source = packed({"conversations.json": [TALK], "export_manifest.json": '{"logical_files": {'})
    looked = preview(store, source)
    assert len(looked.found) == 1
    [one] = looked.damaged
    assert one.place == "export.zip: export_manifest.json"
    assert "cannot be told" in one.why


def test_a_manifest_of_absurd_size_is_told_and_not_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_MOST_OF_A_LIST", 20)
    manifest = json.dumps({"logical_files": {"conversations.json": {"files": []}}})
    source = packed({"conversations.json": [TALK], "export_manifest.json": manifest})
    [one] = preview(store, source).damaged
    assert "too large for a list" in one.why
    assert not source.members["export_manifest.json"].opened


def test_ratings_tags_and_settings_are_told(store: Store) -> None:
    rated = {"id": "a", "role": "user", "content": "Hi", "annotation": {"rating": 1}}
    chat = {"history": {"messages": {"a": rated}, "currentId": "a"}, "tags": ["tea", "cup"]}
    web = BytesSource("web.json", json.dumps([{"id": "w", "title": "W", "chat": chat}]).encode())
    [found] = preview(store, web).found
    assert {one.what: one.count for one in found.left_out} == {"ratings": 1, "tags": 2}
    message = {
        "messageId": "m",
        "parentMessageId": None,
        "text": "Hi",
        "isCreatedByUser": True,
        "feedback": {"rating": "thumbsUp"},
    }
    libre = {"conversationId": "l", "title": "L", "messages": [message], "tags": ["tea"]}
    [one] = reader("librechat").read(BytesSource("l.json", json.dumps(libre).encode()))
    assert {each.what: each.count for each in one.left_out} == {"ratings": 1, "tags": 1}
    studio = {
        "runSettings": {"temperature": 0.3, "topP": 0.9},
        "chunkedPrompt": {"chunks": [{"text": "Hi", "role": "user"}]},
    }
    [asked] = preview(store, BytesSource("studio", json.dumps(studio).encode())).found
    assert {each.what: each.count for each in asked.left_out} == {"sampling settings": 2}


def test_where_reading_had_to_stop_nobody_knows_what_the_rest_is(store: Store) -> None:
    broken = json.dumps([TALK, TALK])[:-40]
    looked = preview(store, packed({"conversations.json": broken, "users.json": [{"uuid": "u"}]}))
    assert looked.found
    assert looked.broke
    assert looked.left_out == ()
