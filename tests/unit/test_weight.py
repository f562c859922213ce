"""What a context weighs by its plan is what its words weigh once they are written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Node, Text
from core.context import full, with_parts
from core.estimate import MESSAGE, sums, tokens_in, tokens_of
from core.policies import POLICIES, Choices, applicable, current_turn, plan, render
from core.types import Message
from core.weight import COMING, Weight, recap_guess, shortened, straight, weigh
from tests.unit.test_policies import asked, choices, path

RECAP = tokens_of("R")
SLACK = 3.0  # tokens a message; what the seams between words come to
WORDS = "please keep the tone warm and short, name one reason, end with a question. "


def long(words: str) -> tuple[Node, ...]:
    """A path on which people and models say more than a word."""
    return tuple(
        node
        if any(not isinstance(part, Text) for part in node.parts) or not node.parts
        else Node(
            id=node.id,
            session_id="s",
            parent_id=None,
            role=node.role,
            parts=(Text(text=f"{node.id}: {WORDS * (1 + n % 3)}"),),
            author="person",
            created_at="",
            sent_suffix=node.sent_suffix,
        )
        for n, node in enumerate(path(words))
    )


def of(message: Message) -> float:
    return tokens_in(message.parts) + MESSAGE


def both(
    policy: str, lineage: tuple[Node, ...], chosen: Choices, keep: int
) -> tuple[Weight, list[Message]]:
    nodes = with_parts(lineage)
    items = plan(policy, nodes, chosen, keep)
    recap = applicable(nodes, chosen.recap, current_turn(nodes))
    return weigh(items, nodes, RECAP), list(render(items, nodes, full(nodes), recap))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "chosen",
    [choices(), choices("A2"), choices(pin="A1", mute="A3"), choices("A1", pin="U1")],
    ids=["plain", "recap", "pin and mute", "recap and pin"],
)
def test_a_plan_weighs_what_its_words_weigh(policy: str, chosen: Choices) -> None:
    weight, messages = both(policy, long("UAUCTARAFAU"), chosen, 2)
    real = sum(map(of, messages))
    assert weight.total == pytest.approx(real, rel=0.02, abs=SLACK * len(messages))
    assert len(weight.ends) == len(messages) + 1
    ends = [sum(map(of, messages[:size])) for size in range(len(messages) + 1)]
    for mine, theirs in zip(weight.ends, ends, strict=True):
        assert mine == pytest.approx(theirs, rel=0.02, abs=SLACK * len(messages))


@given(given_=asked(), policy=st.sampled_from(sorted(POLICIES)))
def test_whatever_a_branch_chooses(
    given_: tuple[tuple[Node, ...], Choices, int], policy: str
) -> None:
    lineage, chosen, keep = given_
    weight, messages = both(policy, lineage, chosen, keep)
    words = sum(len(item.repeats) for item in plan(policy, with_parts(lineage), chosen, keep))
    real = sum(map(of, messages))
    assert abs(weight.total - real) <= SLACK * (len(messages) + words + 1)
    assert list(weight.ends) == sorted(weight.ends)


@given(given_=asked())
def test_what_stands_as_it_is_weighs_the_sum_of_it(
    given_: tuple[tuple[Node, ...], Choices, int],
) -> None:
    nodes = with_parts(given_[0])
    items = plan("full", nodes)
    assert weigh(items, nodes).ends == pytest.approx(straight(nodes).ends)
    assert straight(nodes).total == sums(nodes)[-1][0]


def test_after_a_recap_it_is_a_subtraction() -> None:
    nodes = with_parts(long("UAUAUAU"))
    items = plan("full", nodes, choices("A2"))
    assert shortened(nodes, 4, RECAP) == pytest.approx(weigh(items, nodes, RECAP).total)


def test_of_the_coming_message_only_what_is_known_weighs() -> None:
    *earlier, last = long("UAR")
    coming = Node(
        id=COMING,
        session_id="s",
        parent_id=None,
        role="user",
        parts=last.parts,
        author="person",
        created_at="",
        sent_suffix=last.sent_suffix,
    )
    nodes = (*earlier, coming)
    before = sums(tuple(earlier))[-1][0]
    assert straight(nodes).total == before + tokens_of(last.sent_suffix)
    assert weigh(plan("full", nodes), nodes).total == straight(nodes).total
    one = weigh(plan("concat", nodes), nodes).total
    assert tokens_of(earlier[0].text) < one < before + 20


def test_the_files_of_a_list_come_along() -> None:
    nodes = path("FAFAU")
    assert [node_id for node_id, _ in weigh(plan("concat", nodes), nodes).files] == ["U1", "U2"]
    assert [i for i, _ in weigh(plan("last", nodes, keep=1), nodes).files] == ["U2"]
    assert [i for i, _ in weigh(plan("full", nodes), nodes).files] == ["U1", "U2"]


def test_a_recap_is_shorter_than_what_it_covers_and_has_an_end() -> None:
    guesses = [recap_guess(float(size)) for size in (0, 50, 500, 3000, 100_000)]
    assert guesses == [0, 50, 150, 600, 800]
