"""Requirements: found in words, kept on the ledger of a lineage, asked of a model."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Runner, Session, Store, fork
from core.errors import NotFound, UserError
from core.requirements import (
    add,
    as_of,
    gather,
    read,
    requirements_call,
    requirements_in,
    take_in,
)
from tests.conftest import ECHO
from tests.unit.house import count, grow


@pytest.mark.parametrize(
    "sentence",
    [
        "It must name an owner for each step.",
        "The plan should fit on one page.",
        "We need a budget line.",
        "Keep it under 150 words.",
        "Avoid jargon.",
        "No more than three bullets.",
        "There have to be at least two sources.",
        "Don't mention the merger.",
        "Don’t mention the merger.",
        "Do not use tables.",
        "Have at least two sources.",
        "Keep it below $20,000.",
        "Please use British spelling.",
        "Could you please add dates?",
        "Can you shorten the introduction?",
        "Never promise a delivery date.",
        "I'd like a warmer tone.",
        "I would prefer short sentences.",
        "We want it ready before 3 May.",
        "Only public figures.",
        "Make sure every number has a source.",
        "Use plain words.",
        "Also, add a summary at the top.",
        "Write it for the board.",
        "Maximum 200 words.",
        "Without any emojis.",
        "The deadline cannot move.",
        "Budget: up to 20 hours a week.",
    ],
)
def test_a_sentence_that_asks_for_something_is_a_requirement(sentence: str) -> None:
    assert requirements_in(sentence) == [sentence]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\n",
        "Thanks, that is great.",
        "What should I do next?",
        "Is this what they need?",
        "How long must it be?",
        "Have you read what they need?",
        "Do they need it?",
        "The team met on Tuesday and liked the draft.",
        "Hello there.",
        "```\nmust = 'keep this code out'\n```",
        "/usage 10 20",
        "Just to recapitulate, the entire task is:",
        "Now please complete the task correctly taking all the information into account.",
        "ok",
    ],
)
def test_talk_questions_and_code_are_none(text: str) -> None:
    assert requirements_in(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "We sell bikes. The page must load in 1.5 s. It is for tourists; keep it friendly.",
            ["The page must load in 1.5 s.", "keep it friendly."],
        ),
        ("- must be short\n- nice weather\n* avoid blue", ["must be short", "avoid blue"]),
        ("1. Use metric units, e.g. metres.\n2) Cite sources.",
         ["Use metric units, e.g. metres.", "Cite sources."]),
        ("Keep it short. KEEP IT SHORT!", ["Keep it short."]),
        ("Use Python.\n```python\nraise ValueError('must not')\n```\nAvoid globals.",
         ["Use Python.", "Avoid globals."]),
        ("Avoid this: ```\nunclosed must", ["Avoid this: ```", "unclosed must"]),
    ],
)  # fmt: skip
def test_sentences_and_bullets_are_told_apart(text: str, found: list[str]) -> None:
    assert requirements_in(text) == found


@given(st.text())
def test_any_words_at_all_are_looked_through(text: str) -> None:
    found = requirements_in(text)
    assert found == requirements_in(text)
    assert all(one.strip() and one in text for one in found)


# --- the ledger ---


def texts(store: Store, branch_id: str) -> list[str]:
    return [
        one.text for one in gather(store, store.nodes.lineage(store.branches.get(branch_id).tip_id))
    ]


def test_each_requirement_knows_the_message_it_came_from(store: Store, main: str) -> None:
    nodes = grow(store, main, "Keep it short. Avoid blue.", "You must see it.", "Add a date.", "ok")
    found = gather(store, nodes)
    assert [(one.node_id, one.text) for one in found] == [
        (nodes[0].id, "Keep it short."),
        (nodes[0].id, "Avoid blue."),
        (nodes[2].id, "Add a date."),
    ]
    assert all(one.honoured is None and one.run_id is None for one in found)


def test_looking_again_finds_nothing_twice(store: Store, main: str) -> None:
    nodes = grow(store, main, "Keep it short.", "a", "no wishes here", "a")
    first = gather(store, nodes)
    assert gather(store, nodes) == first
    assert count(store, "requirements") == 1


def test_a_branch_has_those_of_the_messages_on_its_way(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "Keep it short.", "a", "Avoid blue.", "b")
    other = fork(store, nodes[1].id, from_branch=main)
    grow(store, other.id, "Use green.")
    assert texts(store, main) == ["Keep it short.", "Avoid blue."]
    assert texts(store, other.id) == ["Keep it short.", "Use green."]
    shared = gather(store, nodes)[0]
    store.requirements.reword(shared.id, "Keep it very short.")
    assert texts(store, main)[0] == texts(store, other.id)[0] == "Keep it very short."


def test_adding_rewording_judging_dropping_and_taking_back(store: Store, main: str) -> None:
    (node,) = grow(store, main, "Keep it short.")
    (found,) = gather(store, [node])
    mine = add(store, node, "  Name   an owner ")
    assert texts(store, main) == ["Keep it short.", "Name an owner"]
    assert add(store, node, "name an owner.") == mine
    store.requirements.judge(found.id, False, "answer")
    judged = store.requirements.get(found.id)
    assert (judged.honoured, judged.answer_id) == (False, "answer")
    again = store.requirements.reword(found.id, " Keep it under a page. ")
    assert (again.text, again.honoured, again.answer_id) == ("Keep it under a page.", None, None)
    assert texts(store, main) == ["Name an owner", "Keep it under a page."]
    store.requirements.drop(mine.id)
    assert texts(store, main) == ["Keep it under a page."]
    store.requirements.drop(again.id)
    assert texts(store, main) == []  # and is not found once more
    store.requirements.drop(mine.id, dropped=False)
    assert texts(store, main) == ["Name an owner"]


def test_what_is_gone_is_said_to_be_gone(store: Store) -> None:
    for change in (
        lambda: store.requirements.get("nobody"),
        lambda: store.requirements.reword("nobody", "x"),
        lambda: store.requirements.judge("nobody", True, None),
        lambda: store.requirements.drop("nobody"),
    ):
        with pytest.raises(NotFound):
            change()
    with pytest.raises(UserError, match="needs words"):
        store.requirements.reword("nobody", "  ")


def test_as_of_a_moment_tells_what_was_there_then(store: Store, main: str) -> None:
    nodes = grow(store, main, "Keep it short. Avoid blue.")
    first, second = gather(store, nodes)
    then = second.created_at
    store.requirements.drop(first.id)
    with store.write() as db:
        db.conn.execute("UPDATE requirements SET dropped_at = '9999' WHERE id = ?", [first.id])
    assert [one.id for one in as_of(store, nodes, then)] == [first.id, second.id]
    assert as_of(store, nodes, "2000") == []


def test_they_are_there_after_a_restart_and_gone_with_their_session(
    store: Store, session: Session, main: str, path: Path
) -> None:
    grow(store, main, "Keep it short.")
    assert texts(store, main)
    with Store.open(path) as other:
        assert texts(other, main) == ["Keep it short."]
    store.sessions.bin(session.id)
    store.sessions.delete_for_good(session.id)
    assert count(store, "requirements") == 0


# --- by a model ---


def test_a_model_is_given_the_words_of_the_person_and_nothing_else(store: Store, main: str) -> None:
    nodes = grow(store, main, "first wish", "AN ANSWER", "second wish")
    (message,) = requirements_call(nodes, ECHO).messages
    words = "".join(part.text for part in message.parts)  # type: ignore[union-attr]
    assert "Message 1:\nfirst wish" in words
    assert "Message 2:\nsecond wish" in words
    assert "AN ANSWER" not in words


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('{"requirements": [{"turn": 1, "requirement": "short"}]}', [(1, "short")]),
        ('Sure:\n```json\n[{"turn": 2, "requirement": "blue"}]\n```', [(2, "blue")]),
        ('["short", "blue"]', [(None, "short"), (None, "blue")]),
        ('{"requirements": [{"turn": "x", "requirement": "a"}, {}, 5, null]}', [(None, "a")]),
        ('{"requirements": [{"turn": 1, "requirement": "cut off', [(1, "cut off")]),
        ("nothing", []),
        ("{}", []),
        ("[]", []),
    ],
)  # fmt: skip
def test_what_a_model_lists_is_read_however_it_is_written(
    written: str, found: list[tuple[int | None, str]]
) -> None:
    assert read(written) == found


def test_what_a_model_found_joins_the_ledger_and_what_was_dropped_stays_dropped(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    told = {
        "requirements": [
            {"turn": 1, "requirement": "keep it SHORT"},
            {"turn": 1, "requirement": "Tourists read it"},
            {"turn": 2, "requirement": "Avoid blue"},
            {"turn": 9, "requirement": "Warm tone"},
            {"turn": 9, "requirement": "warm tone!"},
        ]
    }
    reply = "It is for tourists, and warm.\n/aside " + json.dumps({"reply": json.dumps(told)})
    nodes = grow(store, main, "Keep it short.", "a", "Avoid blue.", "b", reply)
    blue = gather(store, nodes)[1]
    store.requirements.drop(blue.id)
    call = requirements_call(nodes, ECHO)
    run = runner.wait(runner.side(main, call, ECHO, "requirements", at=nodes[-1].id).id, 10)
    assert take_in(store, run) == 2
    assert take_in(store, run) == 0
    found = gather(store, nodes)
    assert [(one.node_id, one.text) for one in found] == [
        (nodes[0].id, "Keep it short."),
        (nodes[0].id, "Tourists read it"),
        (nodes[4].id, "Warm tone"),
    ]
    assert [one.run_id for one in found] == [None, run.id, run.id]
