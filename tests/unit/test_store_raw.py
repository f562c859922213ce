"""What a provider said is kept to the letter, though the words in it are stored only once."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core import Session, Store, Text
from core.branching import new_node


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("Hello.", {"content": "Hello."}),
        ("Hello.", [{"type": "text", "text": "Hello."}, {"again": "Hello.", "Hello.": 1}]),
        ("…", {"content": "…", "more": ["……", "\u2026"]}),
        (", ", {"a": ["x", "y", ", "], "b": ", "}),
        ("", {"content": "", "calls": []}),
        ('"', {"content": '"', "escaped": '\\"', "quoted": '"""'}),
        ("\ue000\x00\x01\n", {"content": "\ue000\x00\x01\n"}),
        ("ü 😀", {"content": "ü 😀", "half": "\ud83d"}),
        ("words", {"content": None, "numbers": [1, 1.0, True]}),
        ("words", "words"),
    ],
)
def test_raw_items_come_back_as_they_were(
    store: Store, session: Session, text: str, raw: Any
) -> None:
    made = new_node(session.id, None, "assistant", (Text(text=text),), author="model", raw=raw)
    added = store.nodes.add(made)
    assert repr(added.raw) == repr(raw)
    assert added == replace(made, raw=raw)


def test_the_words_of_an_answer_are_not_stored_twice(
    store: Store, session: Session, path: Path
) -> None:
    words = "a long answer " * 100
    store.nodes.add(
        new_node(session.id, None, "assistant", (Text(text=words),), raw={"content": words})
    )
    with sqlite3.connect(path) as database:
        (kept,) = database.execute("SELECT raw_json FROM nodes").fetchone()
    database.close()
    assert kept == '{"content": "…"}'
