"""Files and archives as sources: bounded, whatever is in them; and JSON a value at a time."""

import json
import zipfile
from pathlib import Path

import pytest

from core.errors import BadFile
from core.interchange import source as sources
from core.interchange import streams
from core.interchange.source import BytesSource, FileSource, shown


def zipped(path: Path, **members: str) -> FileSource:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return FileSource(path)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"gone\.json cannot be read"):
        FileSource(tmp_path / "gone.json")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is not a file"):
        FileSource(tmp_path)


def test_members_are_named_with_their_archive(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "all.zip", **{"a/b.json": "[]"})
    (member,) = archive.members.values()
    assert (member.name, member.size, member.head()) == ("all.zip: a/b.json", 2, b"[]")
    assert list(archive.members) == ["a/b.json"]


def test_an_archive_of_too_many_files_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_MEMBERS", 2)
    with pytest.raises(BadFile, match="more than any export"):
        _ = zipped(tmp_path / "x.zip", a="1", b="2", c="3").members


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_UNPACKED", 100)
    with pytest.raises(BadFile, match="more than any export"):
        _ = zipped(tmp_path / "x.zip", a="1" * 101).members


def test_a_name_is_shown_on_one_line_and_not_too_long() -> None:
    assert shown("a\nb\x1b[31m\u202e.json") == "a�b�[31m�.json"
    assert len(shown("x" * 500)) < 130
    assert shown("") == "The file"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 2**20])
def test_values_are_read_whatever_the_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_PIECE", size)
    values = [{"a": 'é\\"[{', "b": [1, 2.5, None, True]}, {"c": "x" * 300}, {"d": -12e3}]
    text = json.dumps(values, ensure_ascii=False)
    found = [value for _, value in streams.items(BytesSource("x.json", text.encode()))]
    assert found == values


def test_one_value_alone_and_values_in_a_row_are_read_too() -> None:
    def read(text: str) -> list[object]:
        return [value for _, value in streams.items(BytesSource("x.json", text.encode()))]

    assert read(' {"a": 1} ') == [{"a": 1}]
    assert read('{"a": 1}\n{"b": 2}') == [{"a": 1}, {"b": 2}]


def test_a_fault_names_file_and_place() -> None:
    text = b'[{"a": 1}, {"b": oops}' + b" " * 100 + b"]"
    found = streams.items(BytesSource("x.json", text))
    assert next(found) == ("x.json, conversation 1", {"a": 1})
    with pytest.raises(
        BadFile, match=r"x.json is not JSON any more .* in conversation 2.*1 before"
    ):
        next(found)


def test_what_is_cut_off_is_told_from_what_is_broken() -> None:
    for end in range(1, len(b'{"a": [tru')):
        with pytest.raises(BadFile, match="ends in the middle"):
            list(streams.items(BytesSource("x.json", b'{"a": [true]}'[:end])))


def test_lines_have_places_and_a_broken_one_ends_nothing() -> None:
    source = BytesSource("x.jsonl", b'{"a": 1}\n\nnot so\n{"b": 2}')
    found = list(streams.json_lines(source))
    assert [place for place, _ in found] == [f"x.jsonl, line {number}" for number in (1, 3, 4)]
    assert getattr(found[1][1], "why", "").startswith("not JSON")


def test_a_line_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_OF_A_LINE", 100)
    with pytest.raises(BadFile, match="line 2 is longer"):
        list(streams.lines(BytesSource("x.jsonl", b"a\n" + b"x" * 200)))


def test_a_fingerprint_is_of_the_content_alone() -> None:
    assert streams.fingerprint("a", ["b"]) == streams.fingerprint("a", ["b"])
    assert streams.fingerprint("a") != streams.fingerprint("b")
    assert streams.fingerprint("\ud83d")
