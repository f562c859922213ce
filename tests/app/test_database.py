"""A database that cannot be opened: said on every page, and left as it is."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from core import Store
from tests.app.conftest import Open, said, sound


def damaged(path: Path) -> None:
    path.write_bytes(b"This is no database at all. " * 500)


def newer(path: Path) -> None:
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
        " VALUES ('turntree', 'm999_from_the_future', '2999-01-01')"
    )
    connection.commit()
    connection.close()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("spoil", [damaged, newer, foreign, a_folder])
@pytest.mark.parametrize("page", [None, "sessions.py"])
def test_a_database_that_cannot_be_used_is_said_and_left_alone(
    app: Open, path: Path, spoil: Callable[[Path], None], page: str | None
) -> None:
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    test = app(page)
    assert "Turntree cannot open its database" in said(test)
    assert test.error[0].value
    assert test.code[0].value == str(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_once_the_database_is_good_again_the_page_opens_it(app: Open, path: Path) -> None:
    damaged(path)
    test = app()
    path.unlink()
    sound(next(b for b in test.button if b.label == "Try again").click().run())
    assert "Start broad. Narrow turn by turn." in said(test)
