"""Exports: exactly the words, and names that every system takes."""

import pytest

from core import Runner, Session, edit
from core.formats import markdown
from tests.unit.house import ask, grow, parts


def test_an_answer_is_exported_as_its_words_and_nothing_else(
    runner: Runner, session: Session, main: str
) -> None:
    text = "/think not this\n# Plan\n\n- one  \n- `two`\n\n$5 & <b>\n"
    run = ask(runner, main, text)
    node = runner.store.nodes.get(run.node_id or "")
    assert markdown.answer(node) == "# Plan\n\n- one  \n- `two`\n\n$5 & <b>\n"


def test_a_branch_is_exported_with_turns_and_models(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    store.sessions.change(session.id, title="A plan", objective="To win", done_when="We won")
    ask(runner, main, "one")
    second = ask(runner, main, "two")
    node, branch = edit(store, main, second.node_id or "", parts("TWO"))
    lineage = store.nodes.lineage(node.id)
    runs = store.runs.of_nodes([found.id for found in lineage])
    exported = markdown.branch(store.sessions.get(session.id), branch, lineage, runs)
    assert exported == (
        "# A plan\n\nBranch: main\n\n**Objective:** To win\n\n**Done when:** We won\n\n"
        "## Turn 1 · You\n\none\n\n## Turn 1 · echo-1\n\none\n\n"
        "## Turn 2 · You\n\ntwo\n\n## Turn 2 · Model (edited by hand)\n\nTWO\n"
    )


def test_an_empty_branch_is_a_title(runner: Runner, session: Session, main: str) -> None:
    branch = runner.store.branches.get(main)
    assert markdown.branch(session, branch, (), {}) == "# New session\n\nBranch: main\n"


def test_every_word_of_every_message_is_in_the_transcript(
    runner: Runner, session: Session, main: str
) -> None:
    texts = ["## not a heading of ours", "```\ncode\n```", " indented\n\n\nand far", "x" * 5000]
    lineage = grow(runner.store, main, *texts)
    exported = markdown.branch(session, runner.store.branches.get(main), lineage, {})
    positions = [exported.index(text) for text in texts]
    assert positions == sorted(positions)


@pytest.mark.parametrize(
    ("title", "suffix", "name"),
    [
        ("From Plan to Playbook", "", "from-plan-to-playbook.md"),
        ("From Plan", "final", "from-plan-final.md"),
        ("", "", "turntree.md"),
        ("🎉 / .. \\ :*?", "", "turntree.md"),
        ("../../etc/passwd", "", "etc-passwd.md"),
        ("Zürich – Genève", "", "zürich-genève.md"),
        ("CON\x00\n\t", "", "con.md"),
        ("a b c d e f g h i j", "", "a-b-c-d-e-f-g-h.md"),
    ],
)
def test_a_file_gets_a_name_that_every_system_takes(title: str, suffix: str, name: str) -> None:
    assert markdown.file_name(title, suffix) == name


@pytest.mark.parametrize("title", ["x" * 5000, "é" * 300, "漢" * 300, "word" * 30 + " " + "y" * 90])
def test_a_file_name_is_never_too_long_for_a_disk(title: str) -> None:
    assert len(markdown.file_name(title, "final").encode()) <= 255
