"""Tokens where nobody has counted: by kinds of characters, corrected by a model's own counts."""

import pytest

from core.beginnings import Beginnings
from core.branching import new_node
from core.estimate import Calibration, calibrated, sums, tokens_in, tokens_of
from core.types import AttachmentRef, Node, Parts, Text, Thinking, ToolCall, ToolResult
from tests.unit.house import parts

ENGLISH = "The quick brown fox jumps over the lazy dog, and then it sleeps. " * 20
CHINESE = "今天天气很好，我们去公园散步吧。" * 20
CODE = "def add(a: int, b: int) -> int:\n    return a + b\n\n" * 20


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [(ENGLISH, 3.8, 5.5), (CHINESE, 0.9, 1.5), (CODE, 2.2, 3.6), ("😀🎉🚀" * 30, 0.4, 0.8)],
    ids=["English", "Chinese", "code", "emoji"],
)
def test_a_token_is_so_many_characters_of_a_script(text: str, least: float, most: float) -> None:
    assert least < len(text) / tokens_of(text) < most


def test_nothing_is_no_token_and_more_is_never_less() -> None:
    assert tokens_of("") == 0
    assert tokens_of("word") <= tokens_of("word word") <= tokens_of("word word 12345 слово")


def test_a_long_number_and_a_long_word_are_several_tokens() -> None:
    assert tokens_of("123456789") == 3
    assert tokens_of("incomprehensibilities") == 3
    assert tokens_of("непостижимость") > 3


def test_a_very_long_text_is_estimated_from_samples_and_comes_out_the_same() -> None:
    long = ENGLISH * 1000
    assert tokens_of(long) == pytest.approx(1000 * tokens_of(ENGLISH), rel=0.02)


def test_thinking_and_files_are_left_out_and_tools_are_not() -> None:
    file = AttachmentRef(sha256="0", media_type="image/png", name="a.png")
    assert tokens_in((Thinking(text=ENGLISH), file)) == 0
    call = ToolCall(id="1", name="weather", arguments='{"city": "Oslo"}')
    result = ToolResult(call_id="1", name="weather", text="It rains.")
    assert tokens_in((call,)) > 4
    assert tokens_in((result,)) == tokens_of("It rains.")


def line(*texts: str) -> tuple[Node, ...]:
    return tuple(new_node("s", None, "user", parts(text)) for text in texts)


def test_the_sums_of_a_lineage_grow_message_by_message() -> None:
    file = AttachmentRef(sha256="0", media_type="image/png", name="a.png")
    with_file: Parts = (file, Text(text="two words"))
    lineage = (*line("one"), new_node("s", None, "user", with_file))
    found = sums(lineage)
    assert found[0] == (0.0, 0)
    assert found[1] == (5.0, 0)
    assert found[2] == (5.0 + 4 + 2, 1)


def test_only_what_is_new_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.estimate._summed", Beginnings())
    lineage = line(*(f"message {number}" for number in range(50)))
    first = sums(lineage)
    looked_at: list[Parts] = []
    monkeypatch.setattr("core.estimate.tokens_in", lambda parts: looked_at.append(parts) or 1.0)
    assert sums(lineage) is first
    assert looked_at == []
    grown = sums((*lineage, *line("one more")))
    assert len(looked_at) == 1
    assert grown[:-1] == first


# --- learning from a model's own counts ------------------------------------------------------


def test_without_counts_the_estimate_stands() -> None:
    assert calibrated([]) == Calibration(factor=1.0, answers=0)
    assert calibrated([(0.0, 5), (5.0, 0)]) == Calibration(factor=1.0, answers=0)


def test_many_counts_are_believed() -> None:
    learned = calibrated([(1000.0, 1500)] * 20)
    assert learned.factor == pytest.approx(1.5, abs=0.01)
    assert learned.answers == 20


def test_a_few_words_prove_little() -> None:
    assert calibrated([(2.0, 6)]).factor == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("pair", [(1.0, 10**6), (10.0**6, 1)])
def test_what_cannot_be_is_not_believed(pair: tuple[float, int]) -> None:
    assert calibrated([pair]) == Calibration(factor=1.0, answers=0)
