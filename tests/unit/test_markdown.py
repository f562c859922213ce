"""A branch as Markdown: what stands where, and every word of it."""

from core import Runner, Session, Store, edit, exporting
from core.types import Include
from tests.unit.house import ask, grow, parts

WORDS_ALONE = Include(metadata=False, tools=False, recaps="none")


def written(store: Store, session: Session, branch_id: str) -> str:
    taken = exporting.branch(store, session.id, branch_id)
    return exporting.write(taken, "markdown", WORDS_ALONE).content.decode()


def test_a_branch_has_its_goal_its_turns_and_its_models(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    store.sessions.change(session.id, title="A plan", objective="To win", done_when="We won")
    ask(runner, main, "one")
    second = ask(runner, main, "two")
    edit(store, main, second.node_id or "", parts("TWO"))
    assert written(store, session, main) == (
        "# A plan\n\nBranch: main\n\n**Objective:** To win\n\n**Done when:** We won\n\n"
        "## Turn 1 · You\n\none\n\n## Turn 1 · echo-1\n\none\n\n"
        "## Turn 2 · You\n\ntwo\n\n## Turn 2 · Model (edited by hand)\n\nTWO\n"
    )


def test_an_empty_branch_is_a_title(store: Store, session: Session, main: str) -> None:
    assert written(store, session, main) == "# New session\n\nBranch: main\n"


def test_every_word_of_every_message_is_there(store: Store, session: Session, main: str) -> None:
    texts = ["## not a heading of ours", "```\ncode\n```", " indented\n\n\nand far", "x" * 5000]
    grow(store, main, *texts)
    exported = written(store, session, main)
    positions = [exported.index(text) for text in texts]
    assert positions == sorted(positions)
