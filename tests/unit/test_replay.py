"""Replay, rebase, cherry-pick: which turns they are made of, and what they write."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from core import Node, Runner, Session, Store, edit
from core.branching import arrive, new_node
from core.errors import UserError
from core.jobs import Player
from core.replay import (
    MOST_CELLS,
    Pace,
    cherry_pick,
    filled,
    matrix,
    rebase,
    replay,
    turns_of,
)
from core.types import Job, Part, Role, Text, ToolCall, ToolResult
from tests.conftest import ECHO
from tests.unit.house import count, grow, parts, path_of, until

KIND = replace(ECHO, system="Be kind.")
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
CALL = ToolCall(id="c1", name="weather", arguments="{}")
RESULT = ToolResult(call_id="c1", name="weather", text="rain")


@pytest.fixture
def player(runner: Runner) -> Iterator[Player]:
    made = Player(runner)
    yield made
    made.close()


def add(store: Store, branch_id: str, role: Role, *said: Part | str, **more: object) -> Node:
    """One more message at the branch's tip, of any parts."""
    branch = store.branches.get(branch_id)
    made = tuple(Text(text=one) if isinstance(one, str) else one for one in said)
    node = new_node(branch.session_id, branch.tip_id, role, made, **more)
    with store.write():
        store.nodes.add(node)
        arrive(store, branch_id, node, replaces=branch.tip_id, why="send")
    return node


def played(store: Store, player: Player, job: Job) -> str:
    """Play a job of one line to its end; the branch it built."""
    player.start(job.id)
    until(lambda: store.jobs.get(job.id).state != "running")
    ended = store.jobs.get(job.id)
    assert (ended.state, ended.note) == ("done", "")
    (line,) = store.jobs.lines(job.id)
    return str(line.branch_id)


def nodes_of(store: Store, branch_id: str) -> tuple[Node, ...]:
    return store.nodes.lineage(store.branches.get(branch_id).tip_id)


# --- turns ----------------------------------------------------------------------------------------


def test_a_turn_is_a_question_what_tools_said_and_an_answer(store: Store, main: str) -> None:
    add(store, main, "assistant", "Welcome")
    one = add(store, main, "user", "one")
    first = add(store, main, "assistant", "1")
    two = add(store, main, "user", "two")
    rounds = (add(store, main, "assistant", "look", CALL), add(store, main, "tool", RESULT))
    second = add(store, main, "assistant", "2")
    wait = add(store, main, "user", "wait")
    three = add(store, main, "user", "three")
    open_call = add(store, main, "assistant", CALL)
    found = turns_of(nodes_of(store, main))
    assert [(t.number, t.asked.id, t.answer and t.answer.id) for t in found] == [
        (1, one.id, first.id),
        (2, two.id, second.id),
        (3, wait.id, None),
        (4, three.id, None),
    ]
    assert [tuple(node.id for node in turn.rounds) for turn in found] == [
        (),
        tuple(node.id for node in rounds),
        (),
        (open_call.id,),
    ]
    assert turns_of(()) == []


def test_a_call_whose_result_never_came_is_not_what_is_answered(
    store: Store, player: Player, main: str
) -> None:
    add(store, main, "user", "/count")
    add(store, main, "assistant", CALL)
    add(store, main, "tool", RESULT)
    add(store, main, "assistant", "again", replace(CALL, id="c2"))
    asked = add(store, main, "user", "/count")
    for mode, read in (("free", None), ("forced", asked.id)):
        job = replay(store, main, ECHO, mode=mode)  # type: ignore[arg-type]
        first, second = store.jobs.steps(job.id)
        assert store.nodes.many(first.rounds)[-1].role == "tool"
        assert second.reads_id == read
        made = nodes_of(store, played(store, player, job))
        assert [node.role for node in made] == [
            "user", "assistant", "tool", "assistant", "user", "assistant",
        ]  # fmt: skip


# --- replay ---------------------------------------------------------------------------------------


def test_free_feeds_the_new_answers_and_forced_the_old_ones(
    store: Store, player: Player, main: str
) -> None:
    grow(store, main, "one", "old 1", "/context", "old 2")
    free = path_of(store, played(store, player, replay(store, main, KIND)))
    forced = path_of(store, played(store, player, replay(store, main, KIND, mode="forced")))
    assert free[:3] == forced[:3] == ["one", "one", "/context"]
    assert ("old 1" in free[3], "one" in free[3]) == (False, True)
    assert ("old 1" in forced[3], "old 2" in forced[3]) == (True, False)


def test_the_later_turns_alone_stand_on_what_was_there(
    store: Store, player: Player, main: str
) -> None:
    grown = grow(store, main, "one", "1", "two", "2", "three")
    made = nodes_of(store, played(store, player, replay(store, main, ECHO, from_turn=2)))
    assert [node.id for node in made[:2]] == [node.id for node in grown[:2]]
    assert [node.text for node in made] == ["one", "1", "two", "two", "three", "three"]
    assert [node.source_id for node in made[2::2]] == [grown[2].id, grown[4].id]


@pytest.mark.parametrize(("turns", "first"), [((), 1), (("q", "a"), 2)])
def test_what_there_is_no_turn_of_is_not_replayed(
    store: Store, session: Session, main: str, turns: tuple[str, ...], first: int
) -> None:
    grow(store, main, *turns)
    with pytest.raises(UserError) as refused:
        replay(store, main, ECHO, from_turn=first)
    assert refused.value.hint
    assert store.jobs.of(session.id) == []


def test_the_words_are_repeated_to_the_letter_with_files_author_and_what_was_added(
    store: Store, player: Player, session: Session, main: str
) -> None:
    file = store.attachments.add("cat.png", "image/png", PNG)
    odd = (Text(text="  See "), file, Text(text="this\n"))
    branch = store.branches.get(main)
    with store.write():
        node = new_node(
            session.id, branch.tip_id, "user", odd, author="hand-edited", sent_suffix="\n\n(Keep.)"
        )
        store.nodes.add(node)
        store.branches.move(main, node.id, why="send")
    grow(store, main, "a")
    first, *_ = nodes_of(store, played(store, player, replay(store, main, ECHO)))
    assert (first.parts, first.author, first.sent_suffix) == (odd, "hand-edited", "\n\n(Keep.)")
    assert first.source_id == node.id


def test_a_replay_keeps_its_name_and_every_sample_a_branch(
    store: Store, player: Player, session: Session, main: str
) -> None:
    grow(store, main, "one", "1")
    job = replay(store, main, KIND, samples=3, pace=Pace(concurrency=2, per_minute=99), name="Mine")
    assert (job.name, job.concurrency, job.per_minute) == ("Mine", 2, 99)
    player.start(job.id)
    until(lambda: store.jobs.get(job.id).state == "done")
    lines = store.jobs.lines(job.id)
    assert [line.sample for line in lines] == [0, 1, 2]
    branches = [store.branches.get(str(line.branch_id)) for line in lines]
    assert [branch.name for branch in branches] == ["Mine", "Mine 2", "Mine 3"]
    assert [branch.config for branch in branches] == [KIND] * 3


# --- rebase ---------------------------------------------------------------------------------------


def test_a_change_upstream_is_felt_below(store: Store, player: Player, main: str) -> None:
    grow(store, main, "one", "1")
    file = store.attachments.add("cat.png", "image/png", PNG)
    second = add(store, main, "user", file, "two", sent_suffix="(Keep.)")
    grow(store, main, "2", "/context", "3")
    old = nodes_of(store, main)
    made = nodes_of(store, played(store, player, rebase(store, main, 2, "TWO", ECHO)))
    assert [node.id for node in made[:2]] == [node.id for node in old[:2]]
    assert made[2].parts == (file, Text(text="TWO"))
    assert (made[2].source_id, made[2].author) == (second.id, "person")
    assert made[2].sent_suffix == "(Keep.)"
    assert made[4].text == "/context"
    assert "TWO" in made[5].text
    assert "'2'" not in made[5].text
    assert nodes_of(store, main) == old


@pytest.mark.parametrize(("turn", "text"), [(1, " "), (9, "words")])
def test_what_cannot_be_rebased_makes_nothing(
    store: Store, session: Session, main: str, turn: int, text: str
) -> None:
    grow(store, main, "one", "1")
    with pytest.raises(UserError):
        rebase(store, main, turn, text, ECHO)
    assert store.jobs.of(session.id) == []


# --- cherry-pick ----------------------------------------------------------------------------------


@pytest.fixture
def other(store: Store, session: Session, main: str) -> str:
    """A second branch of two turns, beside ``main``."""
    made = store.branches.create(session.id, "other", None).id
    grow(store, made, "x", "X", "y", "Y")
    return made


def test_turns_are_carried_over_as_they_are(
    store: Store, player: Player, main: str, other: str
) -> None:
    grow(store, main, "one", "1", "two")
    add(store, main, "assistant", "look", CALL, author="model", raw={"items": [1]})
    add(store, main, "tool", RESULT)
    answer = add(store, main, "assistant", "2", author="model", raw={"items": [2]})
    edit(store, main, answer.id, parts("2, by hand"))
    add(store, main, "user", "three", author="hand-edited")
    add(store, main, "assistant", "3", author="model")
    source = nodes_of(store, main)
    job = cherry_pick(store, main, [3, 2], other, KIND, execute=False)
    branch = played(store, player, job)
    made = nodes_of(store, branch)
    assert [node.id for node in made[:4]] == [node.id for node in nodes_of(store, other)]
    carried = made[4:]
    assert [(n.role, n.parts, n.author) for n in carried] == [
        (n.role, n.parts, n.author) for n in source[2:]
    ]
    assert [n.author for n in carried] == [
        "person", "model", "person", "hand-edited", "hand-edited", "model",
    ]  # fmt: skip
    assert [n.source_id for n in carried] == [n.id for n in source[2:]]
    assert {n.raw for n in carried} == {None}
    origins = store.comparisons.origins([n.id for n in carried])
    copies = [n for n in carried if n.role != "user"]
    assert {key: [one.kind for one in found] for key, found in origins.items()} == {
        n.id: ["pick"] for n in copies
    }
    assert count(store, "runs") == 0
    steps = store.jobs.steps(job.id)
    assert [(step.state, step.tries) for step in steps] == [("done", 0)] * 2
    assert store.branches.get(branch).config == KIND


def test_turns_that_are_carried_over_can_be_played_anew(
    store: Store, player: Player, main: str, other: str
) -> None:
    grow(store, main, "one", "1", "/count", "2")
    made = path_of(
        store, played(store, player, cherry_pick(store, main, [2], other, ECHO, execute=True))
    )
    assert made == ["x", "X", "y", "Y", "/count", "context 5 messages"]
    assert path_of(store, other) == ["x", "X", "y", "Y"]


def test_a_turn_that_was_carried_over_can_be_written_once_more(
    store: Store, player: Player, main: str, other: str
) -> None:
    grow(store, main, "one", "1", "two", "2")
    job = cherry_pick(store, main, [1, 2], other, ECHO, execute=False)
    branch = played(store, player, job)
    player.retry(store.jobs.steps(job.id)[0].id)
    until(lambda: store.jobs.get(job.id).state == "done")
    assert path_of(store, branch)[-4:] == ["one", "1", "two", "2"]


@pytest.mark.parametrize(
    ("picked", "execute", "match"),
    [([], True, "ticked"), ([9], True, "ticked"), ([2], False, "no answer")],
)
def test_what_cannot_be_picked_makes_nothing(
    store: Store,
    session: Session,
    main: str,
    other: str,
    picked: list[int],
    execute: bool,
    match: str,
) -> None:
    grow(store, main, "one", "1", "open")
    with pytest.raises(UserError, match=match):
        cherry_pick(store, main, picked, other, ECHO, execute=execute)
    assert store.jobs.of(session.id) == []


# --- a matrix -------------------------------------------------------------------------------------


def test_places_of_a_template_are_filled_and_values_are_never_templates() -> None:
    values = {"a": "{{b}}", "b": "2"}
    assert filled("{{a}} {{b}} {{c}} {b}", values) == "{{b}} 2 {{c}} {b}"


@pytest.mark.parametrize(
    ("turns", "values", "configs", "samples"),
    [
        ([], {}, 1, 1),
        ([" "], {}, 1, 1),
        (["q"], {}, 0, 1),
        (["q"], {"n": []}, 1, 1),
        (["q"], {}, 1, 0),
        (["q"], {"n": ["x"] * (MOST_CELLS + 1)}, 1, 1),
    ],
)
def test_a_matrix_of_nothing_or_of_too_much_is_not_made(
    store: Store,
    session: Session,
    main: str,
    turns: list[str],
    values: dict[str, list[str]],
    configs: int,
    samples: int,
) -> None:
    with pytest.raises(UserError) as refused:
        matrix(store, main, None, turns, values, [ECHO] * configs, samples=samples)
    assert refused.value.hint
    assert store.jobs.of(session.id) == []
