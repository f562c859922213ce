"""What is said of a lane: its last answer in numbers, sums, reading level, differing settings."""

from dataclasses import replace

import pytest

from core import Runner
from core.lane_facts import Total, differences, facts, of_lane, reading_grade, total
from core.types import Run, Usage
from tests.conftest import ECHO
from tests.unit.house import ask, grow, path_of

EASY = "The cat sat on the mat. It was a big cat. The dog ran to it and sat too. " * 3
HARD = (
    "Notwithstanding considerable methodological heterogeneity, contemporary investigations"
    " overwhelmingly corroborate the hypothesised relationship between institutional transparency"
    " and administrative accountability throughout industrialised democracies. "
) * 2


def test_hard_words_and_long_sentences_ask_for_a_higher_grade() -> None:
    easy, hard = reading_grade(EASY), reading_grade(HARD)
    assert easy is not None
    assert hard is not None
    assert easy < 3 < 15 < hard


def test_the_grade_is_the_one_of_the_formula() -> None:
    text = "Four word long here. " * 10  # 40 words, 160 letters, 10 sentences
    assert reading_grade(text) == pytest.approx(0.0588 * 400 - 0.296 * 25 - 15.8, abs=0.05)


@pytest.mark.parametrize(
    "text",
    ["", "Too few words.", "一二三四五六七八九十 " * 40, "слово за словом " * 20, "12 34 " * 50],
)
def test_no_grade_is_told_where_the_formula_does_not_apply(text: str) -> None:
    assert reading_grade(text) is None


def test_code_and_addresses_are_no_prose() -> None:
    code = "\n```python\n" + "parametrisation_of_everything = 1\n" * 200 + "```\n"
    assert reading_grade(EASY + code) == reading_grade(EASY + "\n")


def test_a_last_answer_in_numbers_and_the_sums_of_all(runner: Runner, main: str) -> None:
    grow(runner.store, main, "q", "an answer that is shared")
    common = len(path_of(runner.store, main))
    for usage in ("10 5 4", "30 7 6"):
        ask(runner, main, f"/usage {usage}\nsay this")
    lineage = runner.store.nodes.lineage(runner.store.branches.get(main).tip_id)
    last, sums = of_lane(runner.store, lineage, common)
    assert last is not None
    assert (last.words, last.characters, last.finish) == (2, 8, "stop")
    assert (last.input_tokens, last.output_tokens, last.cached) == (30, 7, 0.2)
    assert last.duration_ms is not None
    assert (sums.answers, sums.input_tokens, sums.output_tokens) == (2, 40, 12)
    shared, none = of_lane(runner.store, lineage[:common], common)  # it ends where others go on
    assert shared is not None
    assert (shared.words, none) == (5, Total())
    assert of_lane(runner.store, lineage[: common + 1], common) == (None, Total())  # not answered


def test_unknown_is_never_zero(runner: Runner, main: str) -> None:
    run = ask(runner, main, "/usage none\nhello")
    node = runner.store.nodes.get(str(run.node_id))
    unpriced = replace(runner.store.runs.get(run.id), cost_nanodollars=None)
    told = facts(node.text, unpriced)
    assert (told.input_tokens, told.cached, told.cost_nanodollars) == (None, None, None)
    sums = total([node], {node.id: unpriced})
    assert (sums.input_tokens, sums.cost_nanodollars, sums.unknown_cost) == (None, None, 1)
    assert total([node], {}) == Total(answers=1)  # written by a person


def test_a_stored_answer_is_told_as_such() -> None:
    run = Run(
        id="r",
        session_id="s",
        branch_id="b",
        context_tip_id=None,
        purpose="reply",
        config=ECHO,
        state="ended",
        owner="",
        started_at="",
        usage=Usage(),
        replayed_from="older",
        cost_nanodollars=0,
    )
    assert facts("words", run).replayed
    assert not facts("words", replace(run, replayed_from=None)).replayed


def test_only_what_differs_is_told() -> None:
    kind = replace(ECHO, system="Be kind.", sampling={"max_tokens": 5})
    other = replace(ECHO, provider="openai", model="gpt")
    assert differences([ECHO, ECHO]) == [{}, {}]
    assert differences([ECHO]) == [{}]
    assert differences([]) == []
    assert differences([ECHO, kind]) == [
        {"system": "", "max_tokens": None},
        {"system": "Be kind.", "max_tokens": 5},
    ]
    assert [list(one) for one in differences([ECHO, other])] == [["model"], ["model"]]


def test_kept_turns_matter_only_to_policies_that_keep_some() -> None:
    assert differences([ECHO, replace(ECHO, keep_turns=9)]) == [{}, {}]
    last = replace(ECHO, policy="last")
    assert differences([last, replace(last, keep_turns=9)]) == [
        {"keep_turns": 4},
        {"keep_turns": 9},
    ]
