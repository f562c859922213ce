"""``python -m core.formats``: out and in from the command line, with an exit code that is true."""

import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import Store, fork
from core.formats import __main__ as command
from core.formats.__main__ import DONE, INTERRUPTED, NO_DATABASE, NOTHING, PARTLY, main
from tests.conftest import ECHO
from tests.unit.anything import made
from tests.unit.house import grow

HOUSE = Path(command.__file__).parents[2]


@pytest.fixture(autouse=True)
def database(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNTREE_DB", str(path))
    return path


@pytest.fixture
def two(path: Path) -> Iterator[list[str]]:
    """A database of two sessions with everything in them; their ids."""
    with Store.open(path) as store:
        ids = [made(store).id for _ in range(2)]
        for number, one in enumerate(ids):
            store.sessions.restore(one)
            store.sessions.change(one, title=f"Session {number}")
    return ids


@pytest.fixture
def share(tmp_path: Path) -> Path:
    file = tmp_path / "share.json"
    file.write_text(
        json.dumps(
            [
                {"id": str(n), "conversations": [{"from": "human", "value": f"Question {n}"}]}
                for n in range(1, 6)
            ]
        )
    )
    return file


def titles(path: Path) -> list[str]:
    with Store.open(path) as store:
        return sorted(row["title"] for row in store.sessions.recent(100))


# --- list ---


def test_sessions_are_listed_the_latest_first(
    two: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == two[::-1]
    assert main(["list", "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)
    assert [(row["id"], row["title"]) for row in rows] == [
        (two[1], "Session 1"),
        (two[0], "Session 0"),
    ]
    assert all(row["messages"] > 0 for row in rows)


def test_formats_are_listed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--formats", "--json"]) == DONE
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["native"] == {
        "name": "native",
        "label": "Turntree",
        "reads": True,
        "writes": ["tree"],
    }
    assert rows["sharegpt"]["writes"] == []
    assert main(["list", "--formats"]) == DONE
    assert "import; export of tree" in capsys.readouterr().out


def test_a_title_cannot_write_to_the_terminal(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(path) as store:
        store.sessions.create(config=ECHO, title="a\x1b]0;evil\x07b\r\n fake")
    assert main(["list"]) == DONE
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\r" not in out


# --- export and back ---


def test_all_sessions_go_out_and_come_in_elsewhere(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, there = tmp_path / "all.turntree.zip", tmp_path / "there.db"
    assert main(["export", "--all", "--out", str(file)]) == DONE
    assert str(file) in capsys.readouterr().err
    assert main(["import", "--db", str(there), str(file)]) == DONE
    assert "2 new, 0 extended, 0 unchanged" in capsys.readouterr().out
    back = tmp_path / "back.zip"
    assert main(["export", "--all", "--db", str(there), "--out", str(back)]) == DONE
    assert back.read_bytes() == file.read_bytes()
    assert main(["import", "--db", str(there), str(file)]) == DONE
    assert "0 new, 0 extended, 2 unchanged; 0 messages" in capsys.readouterr().out


def test_one_session_by_the_beginning_of_its_id(
    two: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "--session", two[0][:20].lower() + two[0][20:]]) == DONE
    with zipfile.ZipFile(tmp_path / "session-0.turntree.zip") as archive:
        assert f"sessions/{two[0]}.jsonl" in archive.namelist()
        assert f"sessions/{two[1]}.jsonl" not in archive.namelist()


@pytest.mark.parametrize(
    ("format", "ending"), [("markdown", "md"), ("tree_svg", "svg"), ("openai_messages", "json")]
)
def test_other_formats_make_a_file_for_each_session(
    format: str, ending: str, two: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "out" / "deep"
    assert main(["export", "--all", "--format", format, "--out", str(folder)]) == DONE
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 2
    assert all(name.endswith(f".{ending}") for name in names)
    assert all(path.stat().st_size for path in folder.iterdir())


def test_to_the_standard_output(two: list[str]) -> None:
    done = run("export", "--session", two[0], "--format", "plain_text", "--out", "-")
    assert done.returncode == DONE
    assert done.stdout.strip()
    assert b"Traceback" not in done.stderr


def test_what_is_there_is_not_replaced_unasked(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.zip"
    file.write_text("mine")
    assert main(["export", "--all", "--out", str(file)]) == NOTHING
    assert "is there already" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert main(["export", "--all", "--out", str(file), "--force"]) == DONE
    assert zipfile.is_zipfile(file)


def test_what_some_sessions_do_not_have_is_said(
    two: list[str], path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(path) as store:
        store.sessions.create(config=ECHO, title="Nothing yet")
    told = ["export", "--format", "pieces", "--out", str(tmp_path / "x"), "--all"]
    assert main(told) in (PARTLY, NOTHING)
    assert "Nothing yet: It has no answer yet." in capsys.readouterr().err


def answered(path: Path, title: str = "One", text: str = "Words.\n\n```py\n1\n```\n") -> str:
    """A session with a question and an answer; its id."""
    with Store.open(path) as store:
        session = store.sessions.create(config=ECHO, title=title)
        grow(store, str(session.current_branch_id), "Why?", text)
        return session.id


def test_what_of_a_session_is_wanted_can_be_said(path: Path, tmp_path: Path) -> None:
    of = answered(path)
    out = f"{tmp_path / 'new'}{os.sep}"
    start = ["export", "--session", of, "--out", out, "--format"]
    assert main([*start, "markdown", "--of", "answer"]) == DONE
    assert (tmp_path / "new" / "one-answer.md").read_text() == "Words.\n\n```py\n1\n```\n"
    assert main([*start, "markdown"]) == DONE
    assert "Why?" in (tmp_path / "new" / "one-branch.md").read_text()
    assert main([*start, "pieces", "--pieces", "code"]) == DONE
    assert [one.read_text() for one in (tmp_path / "new").glob("*.py")] == ["1\n"]
    assert main([*start, "docx", "--of", "tree"]) == NOTHING


def test_provenance_goes_beside_an_answer(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = answered(path)
    start = ["export", "--session", of, "--out", str(tmp_path), "--format", "markdown"]
    assert main([*start, "--provenance"]) == NOTHING
    assert "--of answer" in capsys.readouterr().err
    assert main([*start, "--provenance", "--of", "answer"]) == DONE
    with zipfile.ZipFile(tmp_path / "one-answer-with-provenance.zip") as archive:
        assert archive.namelist() == ["one-answer.md", "one-provenance.json", "one-provenance.html"]
        assert json.loads(archive.read("one-provenance.json"))["session"]["id"] == of


def test_the_answer_marked_final_goes_out_if_it_is_on_the_branch(
    path: Path, tmp_path: Path
) -> None:
    with Store.open(path) as store:
        session = store.sessions.create(config=ECHO, title="Two ways")
        main_id = str(session.current_branch_id)
        nodes = grow(store, main_id, "Why?", "FIRST", "And?", "LAST")
        other = fork(store, nodes[0].id, from_branch=main_id, name="other")
        elsewhere = grow(store, other.id, "ELSEWHERE")[0]
        store.nodes.mark(nodes[1].id, "final", "yes")
        store.nodes.mark(elsewhere.id, "final", "yes")
        store.sessions.change(session.id, current_branch_id=main_id)
    told = ["export", "--session", session.id, "--format", "plain_text", "--of", "answer"]
    assert main([*told, "--out", str(tmp_path / "a.txt")]) == DONE
    assert (tmp_path / "a.txt").read_text().strip() == "FIRST"
    assert main([*told, "--branch", "other", "--out", str(tmp_path / "b.txt")]) == DONE
    assert (tmp_path / "b.txt").read_text().strip() == "ELSEWHERE"


def test_a_branch_that_there_is_not_is_told_with_those_that_there_are(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = answered(path, title="a\x1b]0;evil\x07b")
    told = ["export", "--session", of, "--format", "markdown", "--branch", "nope"]
    assert main(told) == NOTHING
    said = capsys.readouterr().err
    assert "It has: main." in said
    assert "\x1b" not in said


def test_sessions_of_the_same_name_do_not_replace_each_other(path: Path, tmp_path: Path) -> None:
    for text in ("FIRST", "SECOND", "THIRD"):
        answered(path, title="Same", text=text)
    told = ["export", "--all", "--format", "plain_text", "--of", "answer", "--out", str(tmp_path)]
    assert main(told) == DONE
    names = ["same-answer.txt", "same-answer-2.txt", "same-answer-3.txt"]
    assert {(tmp_path / name).read_text().strip() for name in names} == {"FIRST", "SECOND", "THIRD"}


# --- import ---


def test_a_look_first_writes_nothing(
    share: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(path):
        pass
    assert main(["import", "--dry-run", str(share)]) == DONE
    out = capsys.readouterr().out
    assert "5 conversations" in out
    assert "Question 3" in out
    assert titles(path) == []
    assert main(["import", "--dry-run", "--json", str(share)]) == DONE
    assert len(json.loads(capsys.readouterr().out)["found"]) == 5


def test_only_those_that_were_chosen(share: Path, path: Path) -> None:
    assert main(["import", str(share), "--choose", "1,4-5"]) == DONE
    assert titles(path) == ["Question 1", "Question 4", "Question 5"]
    assert main(["import", str(share)]) == DONE
    assert len(titles(path)) == 5


@pytest.mark.parametrize("told", ["x", "0", "3-1", "1,,2", "-", "1-x", ""])
def test_numbers_that_are_none(
    told: str, share: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(share), f"--choose={told}"]) == (NOTHING if told else DONE)
    assert len(titles(path) if path.exists() else []) == (0 if told else 5)


def test_several_files_one_of_which_is_no_export(
    share: Path, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "picture.bin"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
    assert main(["import", str(bad), str(share)]) == PARTLY
    assert "picture.bin" in capsys.readouterr().err
    assert len(titles(path)) == 5


def test_a_file_that_breaks_off_is_partly_done(
    share: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    share.write_bytes(share.read_bytes()[:-30])
    assert main(["import", str(share)]) == PARTLY
    assert "ends in the middle" in capsys.readouterr().out
    assert len(titles(path)) == 4
    assert main(["import", "--json", str(share)]) == PARTLY
    assert json.loads(capsys.readouterr().out)["unchanged"] == 4


# --- codes and words ---


def spoil(path: Path) -> None:
    path.write_bytes(b"not a database" * 400)


@pytest.mark.parametrize(
    ("arguments", "before", "code", "told"),
    [
        (["import", "nowhere.json"], None, NOTHING, "nowhere.json"),
        (["list"], None, NO_DATABASE, "There is no database"),
        (["export", "--all"], None, NO_DATABASE, "There is no database"),
        (["import", "--dry-run", "x"], None, NO_DATABASE, "There is no database"),
        (["list"], spoil, NO_DATABASE, "not a readable database"),
        (["export", "--session", "01X"], "empty", NOTHING, "no session with the id"),
        (["export", "--all"], "empty", NOTHING, "no session to export"),
        (["export", "--all", "--format", "spell"], "empty", NOTHING, "No format"),
        (["export", "--all", "--format", "chatgpt"], "empty", NOTHING, "No format"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: list[str],
    before: Any,
    code: int,
    told: str,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if before == "empty":
        Store.open(path).close()
    elif before:
        before(path)
    assert main(arguments) == code
    said = capsys.readouterr()
    assert told in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert said.out == ""


@pytest.mark.parametrize("arguments", [[], ["fly"], ["export"], ["import"]])
def test_a_command_that_makes_no_sense_ends_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def stopping(after: int) -> Callable[..., Any]:
    """A way to be interrupted: the signal arrives while the work is on."""
    seen = []

    def told(*_: object) -> None:
        seen.append(1)
        if len(seen) == after:
            os.kill(os.getpid(), signal.SIGINT)

    return told


def test_ctrl_c_ends_an_import_between_two_conversations(
    share: Path, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, told = command.take, stopping(2)

    def take(*args: Any, **more: Any) -> Any:
        return real(*args, **(more | {"progress": told}))

    monkeypatch.setattr(command, "take", take)
    assert main(["import", str(share)]) == INTERRUPTED
    assert len(titles(path)) == 2
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setattr(command, "take", real)
    assert main(["import", str(share)]) == DONE
    assert len(titles(path)) == 5


def test_ctrl_c_leaves_no_half_file(
    two: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, told = command.whole.sessions, stopping(1)

    def sessions(*args: Any, **more: Any) -> bool:
        return real(*args, **(more | {"progress": told}))

    monkeypatch.setattr(command.whole, "sessions", sessions)
    folder = tmp_path / "out"
    folder.mkdir()
    assert main(["export", "--all", "--out", str(folder)]) == INTERRUPTED
    assert list(folder.iterdir()) == []


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "core.formats", *arguments],
        cwd=HOUSE,
        capture_output=True,
        check=False,
        **more,
    )


def test_as_a_program_it_says_what_it_did_and_no_bar_goes_to_a_log(share: Path, path: Path) -> None:
    done = run("import", str(share))
    assert (done.returncode, done.stderr) == (DONE, b"")
    assert b"5 new" in done.stdout
    listed = run("list", "--json")
    assert len(json.load(io.BytesIO(listed.stdout))) == 5


def test_the_help_tells_the_exit_codes() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert b"130" in done.stdout
