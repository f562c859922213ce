"""Texts taken apart and compared without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.statements import Difference, compare, plain, sentences, statements

PLAN = """\
# The plan

Porto is the place. We meet on 14 May 2026!

- 18 people
- Budget: 10,000 euros,
  all in

| Day | What |
|-----|------|
| One | Walk |

```python
print("one. Two")
```
"""


def test_a_text_is_taken_apart_into_what_it_states() -> None:
    assert statements(PLAN) == [
        "Porto is the place.",
        "We meet on 14 May 2026!",
        "18 people",
        "Budget: 10,000 euros, all in",
        "| Day | What |",
        "| One | Walk |",
        '```python\nprint("one. Two")\n```',
    ]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("It costs 3.50 euros. No more.", ["It costs 3.50 euros.", "No more."]),
        ("See e.g. the list.", ["See e.g. the list."]),
        ('He said "Stop." Then he left', ['He said "Stop."', "Then he left"]),
        ("", []),
    ],
)
def test_prose_ends_where_a_sentence_does(words: str, found: list[str]) -> None:
    assert sentences(words) == found


def test_an_open_fence_loses_nothing() -> None:
    assert statements("Before.\n```\nno end\n\n- here") == ["Before.", "```\nno end\n\n- here"]


def test_a_very_long_text_is_told_by_paragraphs_and_loses_nothing() -> None:
    paragraphs = ["One. Two.", *(f"Sentence {number}. And more." for number in range(500))]
    found = statements("\n\n".join(paragraphs))
    assert len(found) == 400
    assert found[0] == "One. Two."
    assert "\n\n".join(found) == "\n\n".join(paragraphs)


def kinds(*texts: str) -> list[tuple[bool, list[tuple[tuple[int, ...], str]]]]:
    return [
        (one.alone, [(said.texts, said.words) for said in one.said])
        for one in compare(texts).differences
    ]


def test_two_answers() -> None:
    a = "Porto is the place. The budget is 10,000 euros. Bring a raincoat."
    b = "Porto is the place! The budget is 12,000 euros. There is a fado night."
    found = compare((a, b))
    assert found.same == ("Porto is the place.",)
    assert kinds(a, b) == [
        (
            False,
            [
                ((0,), "The budget is 10,000 euros."),
                ((1,), "The budget is 12,000 euros."),
            ],
        ),
        (True, [((1,), "There is a fado night.")]),
        (True, [((0,), "Bring a raincoat.")]),
    ]


def test_three_answers_of_which_two_agree() -> None:
    assert kinds("We walk along the river.", "Nothing here.", "We walk along the river!") == [
        (True, [((0, 2), "We walk along the river.")]),
        (True, [((1,), "Nothing here.")]),
    ]


def test_a_statement_that_is_repeated_counts_once() -> None:
    assert compare(("Same here. Same here.", "Same here.")).differences == ()


def test_short_statements_are_about_the_same_only_in_the_same_words() -> None:
    assert kinds("Day one", "Day two") == [
        (True, [((0,), "Day one")]),
        (True, [((1,), "Day two")]),
    ]


@given(st.lists(st.text(alphabet="ab .\n-#|`", max_size=60), min_size=2, max_size=4))
def test_every_statement_of_every_text_is_in_exactly_one_place(texts: list[str]) -> None:
    found = compare(tuple(texts))
    for number, text in enumerate(texts):
        stated = {plain(one) for one in statements(text)}
        differing = [
            plain(said.words)
            for one in found.differences
            for said in one.said
            if number in said.texts
        ]
        told = [*map(plain, found.same), *differing]
        assert sorted(told) == sorted(stated)


def test_equal_texts_do_not_differ() -> None:
    assert compare((PLAN, PLAN)).differences == ()
    assert Difference(said=compare(("One two three.", "")).differences[0].said).alone
