"""What several texts say alike, and what only one of them says."""

import pytest

from core.likeness import MOST, Fact, Found, Likeness, in_words, likeness
from core.types import Session, text_of
from tests.conftest import ECHO

ONE = """# Launch plan

We launch on 14 May 2026 with a budget of 12,000 euros. Marta Oliveira leads the team.

- Send the press release to Reuters two weeks before.
- You must keep the tone calm.
- Hire 3 testers.

The slogan is "Made to last"."""
TWO = """# Launch plan

The launch is May 14, 2026. Marta Oliveira leads the team. The budget is €12k.

- Send the press release two weeks before to Reuters.
- Hire three testers.
- Run a webinar with 250 guests in Lisbon.

## Risks

The venue could cancel."""


def facts(found: Found) -> list[str]:
    return [one.text for one in found.facts]


def points(found: Found) -> list[str]:
    return [one.text for one in found.points]


@pytest.fixture(scope="module")
def both() -> Likeness:
    return likeness((ONE, TWO))


def test_what_all_say_is_found_in_whatever_notation(both: Likeness) -> None:
    assert facts(both.shared) == [
        "12,000 euros",
        "3 testers",
        "14 May 2026",
        "Marta Oliveira",
        "Reuters",
    ]
    assert points(both.shared) == ["Launch plan", "Marta Oliveira leads the team."]


def test_what_only_one_says_is_told_of_it(both: Likeness) -> None:
    one, two = both.alone
    assert one.facts == (Fact("quote", "Made to last"),)
    assert facts(two) == ["250 guests", "Lisbon"]
    assert "You must keep the tone calm." in points(one)
    assert points(two)[0] == "Risks"
    assert "Run a webinar with 250 guests in Lisbon." in points(two)


def test_words_in_another_order_are_no_difference(both: Likeness) -> None:
    told = points(both.alone[0]) + points(both.alone[1])
    assert not any("press release" in one for one in told)


def test_of_three_only_what_no_other_says_is_its_own() -> None:
    found = likeness((ONE, TWO, ONE.replace("Reuters", "AFP in Paris")))
    assert "Reuters" not in facts(found.shared)
    assert facts(found.alone[0]) == []  # the third has the slogan too
    assert "AFP" in " ".join(facts(found.alone[2]))


def test_equal_texts_have_nothing_of_their_own() -> None:
    found = likeness((ONE, ONE))
    assert found.alone == (Found(), Found())
    assert "You must keep the tone calm." in points(found.shared)


def test_code_and_the_lines_of_tables_are_no_sentences() -> None:
    table = "| Step | Owner |\n|---|---|\n| Press release | Ana |\n\n```py\nprint(123456)\n```"
    (one, _) = likeness((table, "Nothing of it.")).alone
    assert "Press release · Ana" in points(one)
    assert not any("---" in point or "print" in point for point in points(one))


def test_fewer_than_two_have_nothing_to_compare() -> None:
    assert likeness(("x",)) == Likeness(Found(), (Found(),))
    assert likeness(()) == Likeness(Found(), ())


def test_the_end_of_a_very_long_text_is_not_read() -> None:
    found = likeness(("Plain words here. " * (MOST // 18) + " Marta Oliveira agrees.", "Other."))
    assert found.cut
    assert "Marta Oliveira" not in facts(found.alone[0])


def test_a_model_reads_the_texts_under_letters_and_nothing_else() -> None:
    session = Session(
        id="s",
        title="Secret title",
        config=ECHO,
        created_at="",
        updated_at="",
        objective="A plan",
        done_when="One page",
    )
    call = in_words([" first ", "second", "third"], session, ECHO)
    (message,) = call.messages
    said = text_of(message.parts)
    assert "<text A>\nfirst\n</text A>\n\n<text B>\nsecond" in said
    assert "What was asked for:\nA plan" in said
    assert "It is done when:\nOne page" in said
    assert (call.system, call.tools) == ("", ())
    for hidden in ("Secret title", ECHO.provider, ECHO.model):
        assert hidden not in said
