"""Files on their way in: looked at, chosen from, imported, cancelled; in a thread of their own."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from core import Store, importing
from core import intake as module
from core.errors import BadFile, DiskFull, UserError
from core.formats import reader
from core.intake import Arrival, Intake
from core.types import Source
from tests.conftest import ECHO

PATIENCE = 20.0


def conversation(name: str, *words: str) -> dict[str, Any]:
    said = [{"from": "gpt" if n % 2 else "human", "value": text} for n, text in enumerate(words)]
    return {"id": name, "conversations": said}


def packed(*found: dict[str, Any]) -> io.BytesIO:
    return io.BytesIO(json.dumps(list(found)).encode())


TWO = (conversation("one", "q1", "a1"), conversation("two", "q2", "a2", "q3", "a3"))


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def intake(store: Store, told: list[str]) -> Iterator[Intake]:
    made = Intake(store, told.append)
    yield made
    made.close()


def settled(intake: Intake) -> Arrival:
    intake.wait(PATIENCE)
    assert intake.current is not None
    assert not intake.current.busy
    return intake.current


def folders(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("turntree-import-*"))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))


def test_a_file_is_looked_at_chosen_from_and_imported(
    intake: Intake, store: Store, told: list[str], tmp_path: Path
) -> None:
    intake.drop([("two.json", packed(*TWO))])
    one = settled(intake)
    assert one.state == "looked"
    assert one.preview is not None
    assert [found.messages for found in one.preview.found] == [2, 4]
    assert (one.chosen, one.conversations, one.messages) == ({0, 1}, 2, 6)
    assert store.sessions.count() == 0
    assert len(folders(tmp_path)) == 1

    intake.choose([0, 99], on=False)
    assert one.chosen == {1}
    intake.choose([0], on=True)
    intake.choose([0], on=False)
    intake.take(ECHO)
    done = settled(intake)
    assert done.state == "done"
    assert done.report is not None
    assert (done.report.new, done.report.passed_over, done.report.messages) == (1, 1, 4)
    assert (done.wanted, done.conversations, done.messages) == (1, 1, 4)
    assert told == done.report.sessions
    assert folders(tmp_path) == []  # nothing of the file is kept aside any longer
    intake.dismiss()
    assert intake.current is None


def test_what_is_here_already_is_not_chosen(intake: Intake, store: Store) -> None:
    intake.drop([("one.json", packed(TWO[0]))])
    settled(intake)
    intake.take(ECHO)
    settled(intake)
    longer = conversation("one", "q1", "a1", "more", "yes")
    intake.drop([("again.json", packed(TWO[0], TWO[1]))])
    assert settled(intake).chosen == {1}
    intake.drop([("longer.json", packed(longer))])
    assert settled(intake).chosen == {0}
    intake.take(ECHO)
    report = settled(intake).report
    assert report is not None
    assert (report.new, report.extended, report.messages) == (0, 1, 2)
    assert store.sessions.count() == 1


def test_several_files_are_looked_into_each_by_itself(intake: Intake, tmp_path: Path) -> None:
    archive = tmp_path / "both.zip"
    with zipfile.ZipFile(archive, "w") as packing:
        packing.writestr("in/c.json", packed(conversation("three", "q5", "a5")).read())
        packing.writestr("in/photo.png", b"PNG")
    plain = {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}
    files = [
        ("a.json", packed(TWO[0])),
        ("a.json", packed(TWO[1])),  # of another folder
        ("both.zip", io.BytesIO(archive.read_bytes())),
        ("other.jsonl", io.BytesIO(json.dumps(plain).encode() + b"\n")),
        ("photo.png", io.BytesIO(b"\x89PNG\r\n\x1a\n")),
    ]
    intake.drop(files)
    one = settled(intake)
    assert one.preview is not None
    assert one.name == "What you dropped (5 files)"
    assert len(one.preview.found) == 4
    assert len({found.format for found in one.preview.found}) == 2
    ((place, why),) = [(lost.place, lost.why) for lost in one.preview.damaged]
    assert place == "photo.png"
    assert "of no kind that can be imported" in why
    intake.take(ECHO)
    report = settled(intake).report
    assert report is not None
    assert (report.new, len(report.damaged)) == (4, 1)  # what was lost is told afterwards too


def test_the_parts_of_one_unpacked_export_are_read_as_one(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    sharegpt = reader("sharegpt")
    looked: list[Source] = []
    # A format that knows its export by what lies together: here any files one of which is its own.
    monkeypatch.setattr(
        type(sharegpt),
        "recognise",
        lambda self, source: 0.99 if source.members or b"conversations" in source.head() else 0.0,
    )
    monkeypatch.setattr(type(sharegpt), "read", lambda self, source: looked.append(source) or [])
    files = [("a.json", TWO[0]), ("b.json", TWO[1])]
    intake.drop([*((n, packed(one)) for n, one in files), ("c.png", io.BytesIO(b"x"))])
    settled(intake)
    assert [source.name for source in looked] == ["What you dropped (3 files)"]


def test_text_is_pasted(intake: Intake) -> None:
    intake.paste(json.dumps(list(TWO)) + "\ud800")
    one = settled(intake)
    assert one.preview is not None
    assert one.name == "Pasted text"
    assert len(one.preview.found) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"no such thing \x00\x01\x02", "of no kind that can be imported"),
        (b"PK\x03\x04 not really a zip", "damaged zip archive"),
    ],
)
def test_what_cannot_be_read_says_why_and_what_next(
    intake: Intake, content: bytes, said: str
) -> None:
    intake.drop([("bad.zip", io.BytesIO(content))])
    one = settled(intake)
    assert one.state == "refused"
    assert isinstance(one.trouble, BadFile)
    assert "bad.zip" in one.trouble.message
    assert said in one.trouble.message
    assert one.trouble.hint
    intake.take(ECHO)  # no way on from there
    assert one.state == "refused"


def test_a_fault_of_ours_is_said_and_leaves_nobody_waiting(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("mapping")

    monkeypatch.setattr(module, "preview", broken)
    intake.drop([("x.json", packed(*TWO))])
    one = settled(intake)
    assert one.state == "refused"
    assert one.trouble is not None
    assert "KeyError" in one.trouble.message


def test_a_full_disk_is_said_and_ends_the_import(
    intake: Intake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise DiskFull("There is no space left.")

    monkeypatch.setattr(module, "take", full)
    intake.drop([("x.json", packed(*TWO))])
    settled(intake)
    intake.take(ECHO)
    one = settled(intake)
    assert one.state == "refused"
    assert isinstance(one.trouble, DiskFull)
    assert folders(tmp_path) == []


def test_a_file_that_cannot_be_kept_aside_is_said(intake: Intake, tmp_path: Path) -> None:
    class Cut(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(28, "No space left on device")

    with pytest.raises(BadFile, match="No space left"):
        intake.drop([("x.json", Cut())])
    assert intake.current is None
    assert folders(tmp_path) == []
    with pytest.raises(BadFile, match="no file"):
        intake.drop([])


class Slow:
    """An import that waits after its first conversation until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.go_on = Event(), Event()
        monkeypatch.setattr(module, "take", self)

    def __call__(self, *args: Any, **more: Any) -> importing.Report:
        heard = more.pop("progress")

        def progress(conversations: int, messages: int) -> None:
            heard(conversations, messages)
            self.began.set()
            assert self.go_on.wait(PATIENCE)

        return importing.take(*args, progress=progress, **more)


def test_a_running_import_is_cancelled_and_what_is_in_stays(
    intake: Intake, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    intake.drop([("x.json", packed(*TWO))])
    settled(intake)
    intake.take(ECHO)
    assert slow.began.wait(PATIENCE)
    assert intake.current is not None
    assert (intake.current.state, intake.current.conversations) == ("importing", 1)
    for forbidden in (
        intake.dismiss,
        lambda: intake.paste("x"),
        lambda: intake.drop([("y", packed())]),
    ):
        with pytest.raises(UserError, match="is being imported"):
            forbidden()
    intake.cancel()
    slow.go_on.set()
    report = settled(intake).report
    assert report is not None
    assert (report.cancelled, report.new) == (True, 1)
    assert store.sessions.count() == 1
    assert store.imports.reports()[0]["report"]["cancelled"] is True


def test_looking_is_cancelled_and_the_file_forgotten(
    intake: Intake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    began = Event()

    def endless(_: Any, __: Any, ___: Any, stop: Any) -> importing.Preview:
        began.set()
        assert stop.wait(PATIENCE)
        return importing.Preview(name="", found=())

    monkeypatch.setattr(module, "preview", endless)
    intake.drop([("x.json", packed(*TWO))])
    assert began.wait(PATIENCE)
    intake.cancel()
    assert intake.current is None
    assert folders(tmp_path) == []
    intake.wait(PATIENCE)
    assert intake.current is None


def test_the_end_of_the_process_stops_an_import_between_two_conversations(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    intake = Intake(store)
    intake.drop([("x.json", packed(*TWO))])
    settled(intake)
    intake.take(ECHO)
    assert slow.began.wait(PATIENCE)
    assert intake.current is not None
    intake.current.stop.on_set(slow.go_on.set)
    intake.close()
    (session,) = store.sessions.recent()
    assert store.imports.tally(session["id"])[0] == 2
