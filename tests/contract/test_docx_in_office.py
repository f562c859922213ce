"""Word files open in LibreOffice, with all of their words."""

from pathlib import Path

import pytest

from core.formats import writer
from core.types import Include
from tests.contract import office
from tests.contract.test_formats_written import (
    HOSTILE,
    RICH,
    answer,
    branch,
    dense,
    expected,
)

pytestmark = pytest.mark.skipif(office.find() is None, reason=office.NONE)
BULLETS = "•●○◦▪■–"  # which the office adds
LONG = {"many", "long table", "huge cell"}  # minutes of an office's time, and nothing new


def test_a_rich_answer_has_its_words_and_no_others(tmp_path: Path) -> None:
    document = tmp_path / "rich.docx"
    document.write_bytes(writer("docx").write(answer(RICH), Include()))
    (found,) = office.texts_of([document], tmp_path)
    words = dense(found).translate(dict.fromkeys(map(ord, BULLETS)))
    for line in ("AplanforZürich", "1,200.50", 'return{"a":[1,2]}', "Кириллица", "Smallheading"):
        assert line in words
    assert abs(len(words) - len(expected(RICH))) < len(words) // 20


def test_a_branch_of_any_words_opens(tmp_path: Path) -> None:
    everything = Include(thinking=True, tools=True, metadata=True, recaps="expanded")
    documents = []
    for number, what in enumerate(sorted(HOSTILE.keys() - LONG)):
        documents.append(tmp_path / f"{number}.docx")
        documents[-1].write_bytes(writer("docx").write(branch(HOSTILE[what]), everything))
    for found in office.texts_of(documents, tmp_path):
        assert "LASTWORDS" in dense(found)
