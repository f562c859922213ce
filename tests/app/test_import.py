"""The tabs Import and Backups without a browser: every state a file can be in, in words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import Store, backups, show
from core.importing import Found, Preview, Report
from core.types import Damaged, LeftOut
from pages import backend
from pages.components import backups_panel
from pages.components.backups_panel import size
from pages.components.entry import entry_page
from tests.app.conftest import Open, conversation, said, sound

PATIENCE = 20.0
TALKS = [
    {
        "id": f"talk-{n}",
        "conversations": [
            {"from": "human", "value": f"Question {n}, **bold** $5 <b>x</b>"},
            {"from": "gpt", "value": f"Answer {n}"},
        ],
    }
    for n in range(60)
]


@pytest.fixture
def tab(app: Open) -> Callable[[str], AppTest]:
    """The page of sessions with one of its tabs open."""

    def open_(name: str) -> AppTest:
        test = app("sessions.py")
        test.query_params["tab"] = name
        return sound(test.run())

    return open_


def drop(test: AppTest, name: str, content: bytes) -> AppTest:
    """Drop a file, and wait until it was looked at."""
    (uploader,) = test.get("file_uploader")
    uploader.upload(name, content, "application/octet-stream")
    test.run()
    backend.intake().wait(PATIENCE)
    return sound(test.run())


def press(test: AppTest, key: str) -> AppTest:
    return sound(test.button(key=key).click().run())


def labels(test: AppTest) -> list[str]:
    return [button.label for button in test.button]


def everything(test: AppTest) -> str:
    """All words, with those of alerts and of our own tables."""
    more = [*test.success, *test.info, *test.warning, *test.get("html")]
    found = [str(getattr(one, "value", None) or getattr(one, "body", "")) for one in more]
    return "\n".join([said(test), *found])


def many() -> bytes:
    return json.dumps(TALKS).encode()


def test_a_file_is_dropped_looked_at_chosen_from_imported_and_told_later(
    tab: Callable[[str], AppTest], store: Store
) -> None:
    test = tab("Import")
    assert "ShareGPT" in said(test)
    test = drop(test, "talks.json", many())
    assert "nothing is imported yet" in said(test)
    assert "60 of 60 chosen" in said(test)
    assert "Import 60 conversations" in labels(test)
    assert len(test.checkbox) == 25
    assert r"Question 0, \*\*bold\*\* \$5 \<b\>x\</b\>" in test.checkbox[0].label
    assert store.sessions.count() == 0

    sound(test.checkbox[0].uncheck().run())
    assert "Import 59 conversations" in labels(test)
    key = next(one.key for one in test.text_input if one.label == "Search the titles")
    sound(test.text_input(key=key).set_value("question 1").run())
    assert len(test.checkbox) == 15
    test = press(test, "import.choose.False")
    sound(test.text_input(key=key).set_value("").run())
    assert "44 of 60 chosen" in said(test)

    test = press(test, "import.go")
    backend.intake().wait(PATIENCE)
    test = sound(test.run())
    assert "44 conversations imported. 88 messages read back" in everything(test)
    assert store.sessions.count() == 44
    assert "39 more are in the list of sessions." in said(test)
    first = next(button for button in test.button if button.label.startswith("Open Question 2"))
    sound(first.click().run())
    assert test.query_params["session"]

    test = tab("Import")
    test = press(test, "import.again")
    assert "Past imports" in said(test)
    (past,) = store.imports.reports()
    assert past["report"]["passed_over"] == 16
    assert any("talks.json" in one.label for one in test.expander)


def test_the_same_file_again_adds_nothing_and_says_so(
    tab: Callable[[str], AppTest], store: Store
) -> None:
    test = drop(tab("Import"), "talks.json", many())
    test = press(test, "import.go")
    backend.intake().wait(PATIENCE)
    test = press(sound(test.run()), "import.again")
    test = drop(test, "talks.json", many())
    assert "Everything in this file is here already." in said(test)
    assert test.button(key="import.go").disabled
    test = press(test, "import.choose.True")
    test = press(test, "import.go")
    backend.intake().wait(PATIENCE)
    assert "Nothing new" in everything(sound(test.run()))
    assert store.sessions.count() == 60


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG nothing of ours", "of no kind that can be imported"),
        (b"PK\x03\x04broken", "damaged zip archive"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_what_next(
    tab: Callable[[str], AppTest], content: bytes, words: str
) -> None:
    test = drop(tab("Import"), "no *good*.zip", content)
    (error,) = test.error
    assert words in error.value
    assert r"no \*good\*.zip" in error.value
    assert test.get("file_uploader")  # the next one can be dropped at once


def test_a_file_is_forgotten(tab: Callable[[str], AppTest], store: Store) -> None:
    test = drop(tab("Import"), "talks.json", many())
    test = press(test, "import.dismiss")
    assert backend.intake().current is None
    assert test.get("file_uploader")
    assert store.sessions.count() == 0


def test_what_is_damaged_repaired_and_left_out_is_told_before(
    tab: Callable[[str], AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Found(
        number=0,
        format="x",
        label="An <i>app</i>",
        title="",
        messages=3,
        branches=2,
        new=1,
        at="2024-02-03T04:05:06.000Z",
        session_id="known",
        left_out=(LeftOut(what="<b>custom</b> instructions", count=2, why="not shown"),),
        repairs=("1 circle of messages cut open",),
    )
    held = Preview(
        name="<x>.json",
        found=(found,),
        damaged=(Damaged(place="<x>.json: conversation 7", why="no <list> of messages"),),
        broke="It ends in the middle. Download it once more.",
    )
    monkeypatch.setattr("core.intake.preview", lambda *_: held)
    test = drop(tab("Import"), "x.json", b"{}")
    told = everything(test)
    for words in (
        "&lt;b&gt;custom&lt;/b&gt; instructions",
        "What will be left out, and why",
        "&lt;x&gt;.json: conversation 7",
        "no &lt;list&gt; of messages",
        "1 part of the file could not be read and is left out",
        "It ends in the middle. Download it once more.",
    ):
        assert words in told, words
    assert "1 repair: broken in the file, put right here" in [e.label for e in test.expander]
    (line,) = test.checkbox
    assert line.label.startswith("Untitled")
    assert "3 messages · 2 branches · 2024-02-03 · :blue[1 new message]" in line.label
    assert "<i>" not in line.label


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (Report(name="x", cancelled=True, new=1, messages=2, checked=2), "You cancelled."),
        (Report(name="x", broke="The disk is full. Free some."), "The disk is full. Free some."),
        (Report(name="x", damaged=[Damaged(place="a", why="b")]), "No conversation was imported"),
        (Report(name="x", new=1, messages=1, checked=1, more_damaged=3), "1 conversation imported"),
    ],
)
def test_every_end_of_an_import_is_told(
    tab: Callable[[str], AppTest], monkeypatch: pytest.MonkeyPatch, report: Report, words: str
) -> None:
    monkeypatch.setattr("core.intake.take", lambda *_, **__: report)
    test = drop(tab("Import"), "talks.json", many())
    test = press(test, "import.go")
    backend.intake().wait(PATIENCE)
    test = sound(test.run())
    assert words in everything(test)
    assert "Import something else" in labels(test)


def test_imported_answers_name_who_wrote_them(app: Open, store: Store) -> None:
    talk = conversation(store, "q", "a")
    tip = show(store, talk.id).lineage[-1]
    with store.write():
        store.imports.note_nodes([(tip.id, "k", "openai", "gpt-4o")])
        store.nodes.mark(tip.id, "note", "Attached there: plan.pdf")
    (asked, answer), _ = entry_page(store, show(store, talk.id))
    assert answer["note"] == "Attached there: plan.pdf"
    assert (asked["model"], asked["note"]) == (None, "")
    assert store.nodes.outline(talk.id)[-1]["model"] == "gpt-4o"


# --- backups -----------------------------------------------------------------------------------


def test_a_backup_is_made_looked_into_restored_and_deleted(
    tab: Callable[[str], AppTest], store: Store
) -> None:
    kept = conversation(store, "q", "a", title="In the backup")
    test = tab("Backups")
    assert "There is none yet." in said(test)
    test = press(test, "backups.now")
    (made,) = backups.made(store)
    assert "made by you" in said(test)
    later = conversation(store, "q2", "a2", title="After the backup")

    test = press(test, f"backup_row.{made.name}.look")
    assert "everything that is here now" in everything(test)
    assert "In the backup" in everything(test)
    test = press(test, "backups.restore")
    assert {row["id"] for row in store.sessions.recent()} == {kept.id}
    assert later.title not in [row["title"] for row in store.sessions.recent()]

    test = tab("Backups")
    assert "made before a restore" in said(test)
    test = press(test, f"backup_row.{made.name}.delete")
    assert [one.why for one in backups.made(store)] == ["before-restore"]


def test_when_backups_are_made_is_chosen(
    tab: Callable[[str], AppTest], store: Store, tmp_path: Path
) -> None:
    test = tab("Backups")
    assert test.number_input(key="backups.keep").disabled
    sound(test.selectbox(key="backups.hours").select(24).run())
    sound(test.number_input(key="backups.keep").set_value(3).run())
    sound(test.text_input(key="backups.folder").set_value(str(tmp_path / "other")).run())
    assert backups.plan(store) == backups.Plan(hours=24, keep=3, folder=str(tmp_path / "other"))
    (tmp_path / "file").write_text("no folder")
    sound(test.text_input(key="backups.folder").set_value(str(tmp_path / "file" / "x")).run())
    assert any("cannot be used" in error.value for error in test.error)
    assert backups.plan(store).folder == str(tmp_path / "other")


def test_a_file_that_is_no_backup_cannot_be_restored(
    tab: Callable[[str], AppTest], store: Store, tmp_path: Path, monkeypatch: Any
) -> None:
    stranger = tmp_path / "stranger.db"
    stranger.write_bytes(b"not a database at all" * 100)
    test = tab("Backups")
    monkeypatch.setattr(backups_panel.backups, "made", lambda _: [_backup(stranger)])
    test = press(sound(test.run()), f"backup_row.{stranger.name}.look")
    assert any("stranger.db" in error.value for error in test.error)
    assert "backups.restore" not in [button.key for button in test.button]


def _backup(path: Path) -> backups.Backup:
    return backups.Backup(path=path, at="2026-01-02T03:04:05.000Z", why="scheduled", size=7)


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1536, "1.5 kB"),
        (999_999, "1.0 MB"),
        (52_000_000, "52 MB"),
        (3 * 10**9, "3.0 GB"),
    ],
)
def test_sizes_are_said_as_people_read_them(count: int, words: str) -> None:
    assert size(count) == words
