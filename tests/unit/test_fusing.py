"""Fuse: what is asked for, where it goes, and where it came from; words that wait in a composer."""

import pytest

from core import Runner, Session, Store, fork, show
from core.branching import branch_at
from core.columns import columns
from core.errors import NotFound, UserError
from core.exchange import exchange
from core.fusing import Source, bases, fuse, fuse_call, place, ticks_of
from core.lanes import side_by_side, unkeep
from core.origins import brought, carries, expect, quoted, settle
from core.policies import Choices
from core.recap import activate, add, choices_of
from core.types import Branch, Origin, Override, Run, Text, text_of
from core.winner import carried, choose, give_reasons, losers, winner, winners
from pages.components.acts import perform
from tests.conftest import ECHO
from tests.unit.house import ask, dead_run, execute, grow, path_of

A = "Porto is the place. The budget is 10,000 euros. Bring a raincoat."
B = "Porto is the place. The budget is 12,000 euros. There is a fado night."


def two(store: Store, main: str, *more: str) -> tuple[list[Source], Branch]:
    """Two lanes that answer one message; ``more`` goes on in the second."""
    asked, first = grow(store, main, "Plan an offsite.", A)
    other = fork(store, asked.id, from_branch=main, name="other")
    nodes = grow(store, other.id, B, *more)
    return [
        Source(node=first, branch_id=main, name="main"),
        Source(node=nodes[-1], branch_id=other.id, name="other"),
    ], other


def said(runner: Runner, run_id: str) -> str:
    (message,) = runner.store.runs.sent(run_id).messages
    return str(message["text"])


# --- asking ---


def test_the_model_is_told_the_goal_the_request_the_answers_and_the_ticks_and_no_name(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    store.sessions.change(session.id, objective="A calm plan", done_when="It fits a page")
    sources, _ = two(store, main)
    ticks = ticks_of(sources)
    assert len(ticks) == 4
    run = runner.wait(fuse(runner, sources, [ticks[1], ticks[2]], "Keep it short", ECHO).id, 10)
    text = said(runner, run.id)
    for seen in ("A calm plan", "It fits a page", "Plan an offsite.", A, B, "Keep it short"):
        assert seen in text
    goes, stays = text.split("Stays out:")
    goes, stays = goes.split("Goes in:")[1], stays.split("Rules:")[0]
    assert "(from B) The budget is 12,000 euros." in goes
    assert "(from B) There is a fado night." in goes
    assert "(from A) The budget is 10,000 euros." in stays
    assert "(from A) Bring a raincoat." in stays
    assert "main" not in text.split()
    assert (run.purpose, run.node_id) == ("fuse", None)
    assert path_of(store, main) == ["Plan an offsite.", A]


def test_what_would_fuse_nothing_is_not_asked(session: Session, store: Store, main: str) -> None:
    sources, _ = two(store, main)
    for wanted, ticks, wish, message in [
        (sources[:1], [], "x", "two answers"),
        ([sources[0], sources[0]], [], "x", "two answers"),
        (sources, [], "", "Nothing is ticked"),
        (sources, ["gone.1"], "", "Nothing is ticked"),
    ]:
        with pytest.raises(UserError, match=message) as caught:
            fuse_call(session, "", wanted, ticks, wish, ECHO)
        assert caught.value.hint
    assert fuse_call(session, "", sources, [], "Only what both say", ECHO).messages


def test_answers_that_say_the_same_are_not_fused(store: Store, session: Session, main: str) -> None:
    asked, first = grow(store, main, "Plan.", "One thing. Another thing.")
    other = fork(store, asked.id, from_branch=main)
    (second,) = grow(store, other.id, "One thing.\n\n- Another thing")
    sources = [
        Source(node=first, branch_id=main, name="a"),
        Source(node=second, branch_id=other.id, name="b"),
    ]
    with pytest.raises(UserError, match="say the same"):
        fuse_call(session, "", sources, [], "", ECHO)


def test_ticks_stay_with_their_words_when_a_third_answer_comes(
    store: Store, session: Session, main: str
) -> None:
    sources, _ = two(store, main)
    third = fork(store, sources[0].node.parent_id or "", from_branch=main)
    (node,) = grow(store, third.id, "Wholly different words about a castle.")
    three = [*sources, Source(node=node, branch_id=third.id, name="third")]
    assert set(ticks_of(sources)) <= set(ticks_of(three))
    assert len(ticks_of(three, 2)) == 1


# --- placing ---


def drafted(store: Store, branch_id: str, text: str = "Fused.") -> Run:
    """A side run that has fused."""
    run = dead_run(store, branch_id, owner="somebody", purpose="fuse")
    store.runs.end(run.id, finish_reason="stop", node_id=None, words=(Text(text=text),))
    return store.runs.get(run.id)


def test_the_new_answer_stands_under_what_both_answered_and_knows_its_origins(
    store: Store, session: Session, main: str
) -> None:
    sources, other = two(store, main)
    (base,) = bases(store, sources)
    run = drafted(store, main)
    made = place(store, sources, base, " Fused. ", by=run)
    assert path_of(store, made) == ["Plan an offsite.", "Fused."]
    node = store.nodes.get(str(made.tip_id))
    assert (node.role, node.author, node.parent_id) == ("assistant", "model", base.node.id)
    assert store.runs.of_nodes([node.id])[node.id].id == run.id
    assert made.name == "fused · main + other"
    assert made.forked_from_node_id == base.node.id
    assert store.comparisons.origins([node.id])[node.id] == sorted(
        [
            Origin(node_id=node.id, origin_id=one.node.id, kind="fuse", branch_id=one.branch_id)
            for one in sources
        ],
        key=lambda origin: origin.origin_id,
    )
    assert store.sessions.get(session.id).current_branch_id == made.id
    assert path_of(store, main)[-1] == A
    assert path_of(store, other)[-1] == B


def test_changed_words_are_hand_edited_and_names_are_never_taken_twice(
    store: Store, session: Session, main: str
) -> None:
    sources, _ = two(store, main)
    (base,) = bases(store, sources)
    run = drafted(store, main)
    first = place(store, sources, base, "Fused.", by=run)
    made = place(store, sources, base, "Fused by me.", by=run)
    assert store.runs.get(run.id).node_id == first.tip_id  # what one run wrote, it wrote once
    assert store.nodes.get(str(made.tip_id)).author == "hand-edited"
    assert made.name == "fused · main + other 2"


def test_it_can_go_where_one_branch_answered_last_with_that_branch_s_settings(
    store: Store, session: Session, main: str
) -> None:
    sources, other = two(store, main, "And day two?", "A museum.")
    store.branches.choose_config(other.id, ECHO)
    together, own = bases(store, sources)
    assert (together.node.text, together.branch_id) == ("Plan an offsite.", None)
    assert (own.node.text, own.branch_id) == ("And day two?", other.id)
    made = place(store, sources, own, "Fused.", by=drafted(store, main))
    assert path_of(store, made) == ["Plan an offsite.", B, "And day two?", "Fused."]
    assert made.config == ECHO
    shared = place(store, sources, together, "Fused.", by=drafted(store, main))
    assert path_of(store, shared) == ["Plan an offsite.", "Fused."]
    assert shared.config is None


def test_what_lanes_were_asked_alike_in_a_follow_up_is_what_is_fused(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    asked = grow(store, main, "Plan an offsite.", "Where to?")[-1]
    other = fork(store, asked.id, from_branch=main, name="other")
    sources = [
        Source(node=grow(store, branch, "Write it.", text)[-1], branch_id=branch, name=name)
        for branch, text, name in ((main, A, "main"), (other.id, B, "other"))
    ]
    found = bases(store, sources)
    assert [(base.node.text, base.branch_id) for base in found] == [
        ("Write it.", main), ("Write it.", other.id), ("Plan an offsite.", None)
    ]  # fmt: skip
    run = fuse(runner, sources, ticks_of(sources), "", ECHO)
    assert "<request>\nWrite it.\n</request>" in said(runner, run.id)


def test_nothing_is_placed_where_nothing_can_be(store: Store, session: Session, main: str) -> None:
    sources, _ = two(store, main)
    (base,) = bases(store, sources)
    with pytest.raises(UserError, match="empty"):
        place(store, sources, base, " \n", by=drafted(store, main))
    store.branches.add_bin(session.id, base.node.id, [], "it")
    with pytest.raises(UserError, match="in the bin"):
        place(store, sources, base, "x", by=drafted(store, main))
    assert len(store.branches.of(session.id)) == 2


def test_answers_without_a_common_root_have_a_place_each(
    store: Store, session: Session, main: str
) -> None:
    (_, first) = grow(store, main, "One way", "ONE")
    other = store.branches.create(session.id, "other", None)
    (_, second) = grow(store, other.id, "Other way", "OTHER")
    found = bases(
        store,
        [
            Source(node=first, branch_id=main, name="main"),
            Source(node=second, branch_id=other.id, name="other"),
        ],
    )
    assert [(base.node.text, base.branch_id) for base in found] == [
        ("One way", main),
        ("Other way", other.id),
    ]


def test_only_what_is_pinned_or_recapped_of_the_shared_lineage_goes_along(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "u1", "a1", "u2", "a2")
    for node in (nodes[0], nodes[3]):
        store.recaps.override(main, Override(kind="pin", target_id=node.id))
    recap = add(store, session.id, nodes[1].id, "so far")
    activate(store, main, recap.id)
    made = branch_at(store, main, nodes[2], "x" * 99, forked_from=nodes[1].id)
    assert choices_of(store, made.id) == Choices(recap=recap, pinned=frozenset({nodes[0].id}))
    assert len(made.name) == 60
    activate(store, main, add(store, session.id, nodes[3].id, "all").id)
    later = branch_at(store, main, nodes[2], "y", forked_from=nodes[1].id)
    assert choices_of(store, later.id) == Choices(pinned=frozenset({nodes[0].id}))


# --- brought in ---


def test_a_quote_says_where_it_is_from() -> None:
    assert quoted("One.\n\nTwo.\n", "main") == "From the branch “main”:\n> One.\n>\n> Two.\n\n"
    assert quoted("One.").startswith("From another branch:\n")


@pytest.mark.parametrize(
    ("text", "words", "whether"),
    [
        ("Look:\n> Bring a raincoat.\nWhy?", "From x:\n> Bring a raincoat.\n> And more", True),
        ("Only the line From x: stays", "From x:\n> Bring a raincoat.", False),
        ("Bring a raincoat. Why?", "Bring a raincoat.", True),
        ("Something else", "Bring a raincoat.", False),
        ("> Yes\nreally?", "From x:\n> Yes", True),
    ],
)
def test_what_is_left_of_the_words_tells(text: str, words: str, whether: bool) -> None:
    assert carries(text, words) is whether


def test_the_origin_of_a_quote_is_recorded_once_it_is_sent(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    sources, other = two(store, main)
    words = quoted(B, "other")
    expect(store, session.id, main, [(sources[1].node.id, other.id)], "quote", words)
    ask(runner, main, "Something else first")
    settled = store.nodes.lineage(store.branches.get(main).tip_id)
    settle(store, session.id, main, settled)
    assert len(brought(store, session.id)) == 1
    assert store.comparisons.origins(node.id for node in settled) == {}
    ask(runner, main, f"{words}Why not this?")
    settled = store.nodes.lineage(store.branches.get(main).tip_id)
    settle(store, session.id, main, settled)
    settle(store, session.id, main, settled)
    sent = settled[-2]
    assert store.comparisons.origins(node.id for node in settled) == {
        sent.id: [
            Origin(node_id=sent.id, origin_id=sources[1].node.id, kind="quote", branch_id=other.id)
        ]
    }
    assert brought(store, session.id) == []
    assert store.drafts.get(f"origins.{session.id}") is None


def test_what_is_brought_and_never_sent_is_forgotten_in_the_end(
    store: Store, session: Session, main: str
) -> None:
    for number in range(25):
        expect(store, session.id, main, [(f"n{number}", None)], "quote", f"words {number}")
    assert [one.origin_id for one in brought(store, session.id)] == [
        f"n{number}" for number in range(5, 25)
    ]


def test_an_answer_is_brought_from_what_is_shown_into_another_branch(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    (_, answer) = grow(store, main, "u", "a")
    view = show(store, session.id)
    with pytest.raises(NotFound):
        perform(runner, view, {"action": "bring_in", "node": "nobody"})
    with pytest.raises(UserError, match="no other branch"):
        perform(runner, view, {"action": "bring_in", "node": answer.id})
    fork(store, answer.id, from_branch=main)
    view = show(store, session.id, branch_id=main)
    dialog = perform(runner, view, {"action": "bring_in", "node": answer.id}).dialog
    assert dialog is not None
    assert (dialog.kind, dialog.node, dialog.branch) == ("bring_in", answer.id, main)


# --- the winner ---


def test_a_winner_its_verdict_and_the_reasons_of_the_others(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    sources, other = two(store, main)
    comparison = side_by_side(store, session.id, [main, other.id])
    assert (winner(store, comparison), losers(store, comparison)) == (None, [])
    assert choose(runner, comparison, other.id, verdict=False).id == other.id
    assert store.verdicts.of(session.id) == []
    assert choose(runner, comparison, main, verdict=True).id == main
    (verdict,) = store.verdicts.of(session.id)
    assert (verdict.winner, verdict.by, verdict.comparison_id) == (main, "person", comparison.id)
    assert verdict.tips == {one.branch_id: one.node.id for one in sources}
    won = winner(store, comparison)
    assert won is not None
    assert won.id == main
    assert winners(store, session.id) == {main}
    assert store.sessions.get(session.id).current_branch_id == main
    assert [branch.id for branch in losers(store, comparison)] == [other.id]
    assert carried(losers(store, comparison)) == ""
    give_reasons(store, {other.id: " Too dear,\n and too late. "})
    assert store.branches.get(other.id).note == "Too dear, and too late."
    assert carried(losers(store, comparison)) == (
        "What did not work in the alternatives:\n- Too dear, and too late.\n\n"
    )


def test_a_winner_that_was_dropped_or_binned_is_none(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    _, other = two(store, main)
    comparison = side_by_side(store, session.id, [main, other.id])
    choose(runner, comparison, other.id, verdict=False)
    execute(store, "UPDATE branches SET binned_at = 'now' WHERE id = ?", other.id)
    assert winner(store, comparison) is None
    assert len(columns(store, comparison)) == 1
    with pytest.raises(UserError, match="no lane"):
        choose(runner, comparison, other.id, verdict=False)


def test_the_words_of_a_fused_run_are_the_draft(
    runner: Runner, session: Session, main: str
) -> None:
    sources, _ = two(runner.store, main)
    wish = '/aside {"reply": "One text."}'
    run = runner.wait(fuse(runner, sources, [], f"short\n{wish}", ECHO).id, 10)
    assert text_of(run.partial) == "One text."


def test_the_call_of_a_fused_answer_shows_what_came_back_not_what_was_made_of_it(
    store: Store, session: Session, main: str
) -> None:
    sources, _ = two(store, main)
    run = drafted(store, main)
    place(store, sources, bases(store, sources)[0], "Fused by me.", by=run)
    assert text_of(exchange(store, run.id).parts) == "Fused."


def test_a_winner_can_be_taken_back(runner: Runner, session: Session, main: str) -> None:
    store = runner.store
    _, other = two(store, main)
    comparison = side_by_side(store, session.id, [main, other.id])
    choose(runner, comparison, other.id, verdict=True)
    give_reasons(store, {main: "Too dear."})
    unkeep(runner, comparison)
    assert (winner(store, comparison), losers(store, comparison)) == (None, [])
    assert winners(store, session.id) == frozenset()
    assert store.sessions.get(session.id).current_branch_id == other.id
    assert store.branches.get(main).note == "Too dear."
    assert len(store.verdicts.of(comparison_id=comparison.id)) == 1
