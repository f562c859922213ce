"""A recap stands in for the beginning of a branch, and switched off nothing was ever there."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import Config, Runner, Session, Store, View, fork, show
from core.asking import prepare
from core.branching import new_node
from core.errors import NotFound, UserError
from core.policies import POLICIES
from core.recap import PROMPT, activate, add, boundary, choices_of, cut_of, drafts, recap_call
from core.recapping import covered_by, gain, request
from core.types import Node, Override, Text, ToolCall, ToolResult, text_of
from pages.components import recap_marks
from pages.components.act import Result
from pages.components.acts import perform
from pages.components.recap_check import told as told_gain
from tests.conftest import ECHO
from tests.unit.house import ask, begun, execute, grow, parts

TALK = ("u1", "a1", "u2", "a2", "u3", "a3")


def sent(store: Store, branch_id: str, text: str = "next", config: Config = ECHO) -> list[str]:
    """What the next message of a branch would be sent with, as texts."""
    branch = store.branches.get(branch_id)
    session = store.sessions.get(branch.session_id)
    node = new_node(session.id, branch.tip_id, "user", parts(text))
    lineage = (*store.nodes.lineage(branch.tip_id), node)
    asked = prepare(store, lineage, config, session, "reply", choices_of(store, branch_id))
    assert asked.failure is None
    return [message["text"] for message in asked.request.messages]


def view_of(store: Store, branch_id: str) -> View:
    return show(store, store.branches.get(branch_id).session_id, branch_id=branch_id)


def act(runner: Runner, branch_id: str, action: str, **more: object) -> Result:
    return perform(runner, view_of(runner.store, branch_id), {"action": action, **more})


# --- the wire --------------------------------------------------------------------------------


def test_an_active_recap_is_sent_in_place_of_what_it_covers(store: Store, main: str) -> None:
    nodes = grow(store, main, *TALK)
    recap = add(store, nodes[0].session_id, nodes[3].id, "Decided: blue.")
    before = sent(store, main)
    assert before == [*TALK, "next"]
    activate(store, main, recap.id)
    assert sent(store, main) == [
        "To recap what we've decided so far:\nDecided: blue.\n\nu3",
        "a3",
        "next",
    ]
    activate(store, main, None)
    assert sent(store, main) == before


def test_the_call_reads_exactly_what_is_covered(store: Store, main: str) -> None:
    nodes = grow(store, main, *TALK)
    session = store.sessions.get(nodes[0].session_id)
    config = replace(ECHO, sampling={"max_tokens": 3, "temperature": 0.5, "stop": ["x"]})
    call = recap_call(nodes[:4], config, session, focus=" the colour ")
    told = [text_of(message.parts) for message in call.messages]
    assert told[:4] == ["u1", "a1", "u2", "a2"]
    assert told[4] == f"{PROMPT}\n\nPay particular attention to this: the colour"
    assert dict(call.sampling) == {"temperature": 0.5}
    assert text_of(recap_call(nodes[:4], ECHO, session, prompt="Mine").messages[-1].parts) == "Mine"


@pytest.mark.parametrize(("keep", "last"), [(0, "a3"), (1, "a2"), (2, "a1"), (3, None), (9, None)])
def test_where_a_recap_cuts(store: Store, main: str, keep: int, last: str | None) -> None:
    nodes = grow(store, main, *TALK)
    coming = new_node(nodes[0].session_id, nodes[-1].id, "user", parts("next"))
    cut = boundary([*nodes, coming], keep)
    assert (cut.text if cut else None) == last


def test_a_recap_that_covers_the_question_does_not_apply(store: Store, main: str) -> None:
    nodes = grow(store, main, *TALK[:3])
    recap = add(store, nodes[0].session_id, nodes[2].id, "all of it")
    activate(store, main, recap.id)
    cut = cut_of(store, main, nodes)
    assert cut is not None
    assert (cut.active, cut.on_path, cut.applies) == (True, True, False)
    answered = grow(store, main, "a2")
    cut = cut_of(store, main, [*nodes, *answered])
    assert cut is not None
    assert (cut.applies, cut.messages, cut.turns) == (True, 3, 2)


def test_a_recap_of_another_path_does_not_apply(store: Store, main: str) -> None:
    nodes = grow(store, main, *TALK)
    recap = add(store, nodes[0].session_id, nodes[3].id, "x")
    activate(store, main, recap.id)
    store.branches.move(main, nodes[1].id, why="undo")
    cut = cut_of(store, main, nodes[:2])
    assert cut is not None
    assert (cut.active, cut.on_path, cut.applies) == (True, False, False)
    assert sent(store, main) == ["u1", "a1", "next"]


def test_a_branch_without_recaps_has_no_cut(store: Store, main: str) -> None:
    assert cut_of(store, main, []) is None
    assert cut_of(store, main, grow(store, main, *TALK)) is None


def test_the_last_one_that_can_be_switched_on_is_told(store: Store, main: str) -> None:
    nodes = grow(store, main, *TALK)
    session_id = nodes[0].session_id
    add(store, session_id, nodes[1].id, "early")
    first = add(store, session_id, nodes[3].id, "late")
    second = add(store, session_id, nodes[3].id, "later", edited_from=first.id)
    cut = cut_of(store, main, nodes)
    assert cut is not None
    assert (cut.recap.id, cut.active) == (second.id, False)
    assert [one.id for one in cut.versions] == [first.id, second.id]


def test_forks_inherit_and_go_their_own_way(store: Store, main: str) -> None:
    nodes = grow(store, main, *TALK)
    recap = add(store, nodes[0].session_id, nodes[3].id, "blue")
    activate(store, main, recap.id)
    branch = fork(store, nodes[-1].id, from_branch=main)
    assert sent(store, branch.id) == sent(store, main)
    activate(store, branch.id, None)
    assert sent(store, branch.id) == [*TALK, "next"]
    assert sent(store, main)[0].startswith("To recap")


def test_a_tool_call_is_not_parted_from_its_result(store: Store, main: str) -> None:
    nodes = grow(store, main, "u1")
    calling = new_node(
        nodes[0].session_id,
        nodes[0].id,
        "assistant",
        (ToolCall(id="c", name="look", arguments="{}"),),
    )
    result = new_node(
        nodes[0].session_id,
        calling.id,
        "tool",
        (ToolResult(call_id="c", name="look", text="seen"),),
    )
    with store.write():
        store.nodes.add(calling)
        store.nodes.add(result)
        store.branches.move(main, result.id, why="answer")
    recap = add(store, nodes[0].session_id, calling.id, "looked")
    activate(store, main, recap.id)
    assert sent(store, main) == ["To recap what we've decided so far:\nlooked\n\nnext"]


def test_an_empty_recap_is_refused(store: Store, main: str) -> None:
    (node,) = grow(store, main, "u1")
    with pytest.raises(UserError, match="empty"):
        add(store, node.session_id, node.id, " \n ")
    assert store.recaps.of(node.session_id) == []


# --- undo brings back the very same bytes -----------------------------------------------------

ROLES = st.lists(st.sampled_from("ua"), min_size=1, max_size=9).map(lambda rest: ["u", *rest])


@settings(max_examples=60)
@given(
    roles=ROLES,
    forks=st.lists(st.integers(0, 9), max_size=3),
    policy=st.sampled_from(sorted(POLICIES)),
    keep=st.integers(0, 3),
    cuts=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    pins=st.lists(st.integers(0, 9), max_size=2),
    words=st.text(min_size=1, max_size=40).filter(str.strip),
)
def test_undo_restores_the_context_byte_for_byte(
    roles: list[str],
    forks: list[int],
    policy: str,
    keep: int,
    cuts: list[int],
    pins: list[int],
    words: str,
) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.db") as store:
        session = store.sessions.create(config=ECHO)
        branches, nodes = [str(session.current_branch_id)], _lineage(store, session, roles)
        store.branches.move(branches[0], nodes[-1].id, why="send")
        for at in forks:
            node = nodes[at % len(nodes)]
            branches.append(fork(store, node.id, from_branch=branches[-1]).id)
        for at in pins:
            pin = Override(kind="pin", target_id=nodes[at % len(nodes)].id)
            store.recaps.override(branches[0], pin)
        config = replace(ECHO, policy=policy, keep_turns=keep)
        before = [_bytes(store, branch, config) for branch in branches]
        for number, at in enumerate(cuts):
            recap = add(store, session.id, nodes[at % len(nodes)].id, words)
            activate(store, branches[number % len(branches)], recap.id)
        for branch in branches:
            activate(store, branch, None)
        assert [_bytes(store, branch, config) for branch in branches] == before


def _lineage(store: Store, session: Session, roles: list[str]) -> list[Node]:
    made: list[Node] = []
    with store.write():
        for number, role in enumerate(roles):
            parent = made[-1].id if made else None
            whole = "user" if role == "u" else "assistant"
            node = new_node(session.id, parent, whole, parts(f"{role}{number}"))
            made.append(store.nodes.add(node))
    return made


def _bytes(store: Store, branch_id: str, config: Config) -> str:
    branch = store.branches.get(branch_id)
    session = store.sessions.get(branch.session_id)
    node = new_node(session.id, branch.tip_id, "user", (Text(text="next"),))
    lineage = (*store.nodes.lineage(branch.tip_id), node)
    asked = prepare(store, lineage, config, session, "reply", choices_of(store, branch_id))
    return repr((asked.request.messages, asked.failure))


# --- drafts ----------------------------------------------------------------------------------


def write(runner: Runner, branch_id: str, covers_to: str, prompt: str) -> str:
    view = view_of(runner.store, branch_id)
    call = request(runner.store, view, covers_to, ECHO, prompt=prompt)
    return runner.side(branch_id, call, ECHO, "recap", at=covers_to).id


def test_a_draft_waits_until_it_is_placed(runner: Runner, main: str) -> None:
    store = runner.store
    nodes = grow(store, main, *TALK)
    run = runner.wait(write(runner, main, nodes[3].id, "Goal: blue"), 10)
    assert text_of(run.partial) == "Goal: blue"
    assert [message["text"] for message in store.runs.sent(run.id).messages] == [
        *TALK[:4],
        "Goal: blue",
    ]
    assert [one.id for one in drafts(store, nodes)] == [run.id]
    assert path_ids(store, main) == [node.id for node in nodes]  # nothing was added
    recap = add(store, run.session_id, nodes[3].id, "Goal: blue", run_id=run.id)
    assert drafts(store, nodes) == []
    assert store.recaps.get(recap.id).run_id == run.id


def path_ids(store: Store, branch_id: str) -> list[str]:
    return [node.id for node in store.nodes.lineage(store.branches.get(branch_id).tip_id)]


def test_a_draft_outlives_the_process_that_wrote_it(runner: Runner, main: str) -> None:
    store = runner.store
    nodes = grow(store, main, *TALK)
    run_id = write(runner, main, nodes[3].id, "/stall 3\none two three four")
    begun(runner, store.runs.get(run_id), 3)
    live = runner.live(run_id)
    assert live is not None
    store.runs.save_partial(run_id, live.parts(), runner.owner)
    execute(store, "UPDATE runs SET owner = 'elsewhere:1:0', heartbeat_at = '2000-01-01T00:00:00Z'")
    other = Runner(store)
    try:
        run = store.runs.get(run_id)
        assert (run.state, run.finish_reason) == ("ended", "interrupted")
        assert [one.id for one in drafts(store, nodes)] == [run_id]
        assert text_of(run.partial).startswith("one two three")
    finally:
        other.close()
        runner.stop(run_id)


def test_a_draft_without_words_is_none_and_a_failure_is_told(runner: Runner, main: str) -> None:
    nodes = grow(runner.store, main, *TALK)
    run = runner.wait(write(runner, main, nodes[1].id, "/fail BadRequest\nx"), 10)
    assert run.finish_reason == "error"
    assert run.failure is not None
    assert drafts(runner.store, nodes) == []


def test_only_young_drafts_ask_for_attention(runner: Runner, main: str) -> None:
    store = runner.store
    nodes = grow(store, main, *TALK)
    runner.wait(write(runner, main, nodes[3].id, "first"), 10)
    assert len(drafts(store, nodes, fresh=True)) == 1
    add(store, nodes[0].session_id, nodes[3].id, "by hand")
    assert drafts(store, nodes, fresh=True) == []
    assert len(drafts(store, nodes)) == 1


def test_there_must_be_something_to_recap(runner: Runner, session: Session, main: str) -> None:
    with pytest.raises(UserError, match="nothing to recap"):
        act(runner, main, "recap")
    (node,) = _lineage(runner.store, session, ["u"])
    empty = runner.store.nodes.add(new_node(session.id, None, "user", ()))
    assert node.parts
    with pytest.raises(UserError, match="nothing to recap"):
        request(runner.store, view_of(runner.store, main), empty.id, ECHO)


# --- acts ------------------------------------------------------------------------------------


def test_acts_open_dialogs_and_switch(runner: Runner, main: str) -> None:
    store = runner.store
    nodes = grow(store, main, *TALK)
    opened = act(runner, main, "recap", node=nodes[3].id).dialog
    assert opened is not None
    assert (opened.kind, opened.node, opened.branch) == ("recap", nodes[3].id, main)
    one = add(store, nodes[0].session_id, nodes[3].id, "one")
    two = add(store, nodes[0].session_id, nodes[3].id, "two", edited_from=one.id)
    assert "4 messages" in act(runner, main, "recap_on", recap=one.id).said
    assert sent(store, main)[0].endswith("one\n\nu3")
    act(runner, main, "recap_on", recap=two.id)
    assert sent(store, main)[0].endswith("two\n\nu3")
    assert "exactly as before" in act(runner, main, "recap_off").said
    assert sent(store, main) == [*TALK, "next"]
    for action, kind in (("recap_view", "recaps"), ("recap_edit", "recap_edit")):
        dialog = act(runner, main, action, recap=one.id).dialog
        assert dialog is not None
        assert (dialog.kind, dialog.recap) == (kind, one.id)
    run = runner.wait(write(runner, main, nodes[3].id, "draft"), 10)
    dialog = act(runner, main, "recap_draft", run=run.id).dialog
    assert dialog is not None
    assert dialog.run == run.id


@pytest.mark.parametrize("action", ["recap_on", "recap_view", "recap_edit"])
def test_recaps_of_other_sessions_are_out_of_reach(runner: Runner, main: str, action: str) -> None:
    store = runner.store
    grow(store, main, *TALK)
    other = store.sessions.create(config=ECHO)
    (node,) = grow(store, str(other.current_branch_id), "u1")
    recap = add(store, other.id, node.id, "theirs")
    for wanted in (recap.id, "nobody"):
        with pytest.raises(NotFound):
            act(runner, main, action, recap=wanted)
    with pytest.raises(NotFound):
        act(runner, main, "recap", node=node.id)


def test_what_the_thread_is_told(runner: Runner, main: str) -> None:
    store = runner.store
    nodes = grow(store, main, *TALK)
    assert recap_marks.mark(runner, view_of(store, main)) is None
    recap = add(store, nodes[0].session_id, nodes[3].id, "one")
    activate(store, main, recap.id)
    told = recap_marks.mark(runner, view_of(store, main))
    assert told == {
        "id": recap.id,
        "at": nodes[3].id,
        "active": True,
        "applies": True,
        "messages": 4,
        "by_itself": False,
        "version": 1,
        "versions": 1,
    }
    run = runner.wait(write(runner, main, nodes[3].id, "draft"), 10)
    (notice,) = recap_marks.notices(runner, view_of(store, main))
    assert notice["acts"][0]["act"] == {"action": "recap_draft", "run": run.id}


# --- what it saves ---------------------------------------------------------------------------


def test_what_a_recap_saves_is_estimated(runner: Runner, main: str) -> None:
    store = runner.store
    nodes = grow(store, main, "word " * 400, "answer " * 400, "u2", "a2")
    covered = covered_by(store, nodes[1].id)
    found = gain(store, view_of(store, main), covered, "short")
    assert found.covered > 700
    assert found.saved == found.covered - found.recap
    assert "Saves" in told_gain(found)[0]
    longer = gain(store, view_of(store, main), covered, "word " * 2000)
    assert longer.saved < 0
    assert "no shorter" in told_gain(longer)[0]


def test_what_is_warm_and_will_be_read_anew_is_counted(
    runner: Runner, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = runner.store
    config = Config(provider="anthropic", model="claude-opus-5-5")
    store.sessions.choose(session.id, config)
    nodes = grow(store, main, "word " * 3000, "a1", "word " * 3000, "a2")
    view, covered = view_of(store, main), covered_by(store, nodes[1].id)
    cold = gain(store, view, covered, "short")
    assert (cold.lost, cold.lost_cost) == (0, 0)
    run = ask(runner, main, "one more", config=ECHO)
    # As if the provider had been sent all of it a moment ago.
    execute(
        store,
        "UPDATE runs SET provider = 'anthropic', model = ?, first_token_ms = 1,"
        " input_tokens = 6400 WHERE id = ?",
        config.model,
        run.id,
    )
    warm = gain(store, view_of(store, main), covered, "short")
    assert warm.lost is not None
    assert 2500 < warm.lost < 4500
    assert warm.lost_cost
    assert warm.cost
    assert any("read anew" in line for line in told_gain(warm))
    recap = add(store, session.id, nodes[1].id, "short")
    activate(store, main, recap.id)
    assert gain(store, view_of(store, main), covered, "short").lost == 0
