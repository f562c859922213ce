"""What the buttons of the compare page do, from the act that is sent to what comes of it."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core import Run, Runner, Session
from core.errors import NameTaken, NotFound, TurntreeError, UserError
from core.lanes import Fan, Wish, fan_out
from core.store.attachments import drop_unused
from core.types import Comparison, Lane
from pages.components.act import Result
from pages.components.acts_lanes import (
    MOST_PICKED,
    add_branch,
    compare,
    compare_nodes,
    comparison_of,
    draft_key,
    files_of,
    perform,
    rename_comparison,
    set_blind,
)
from tests.conftest import ECHO
from tests.unit.house import ask as talk
from tests.unit.house import begun, grow, path_of, until

Act = Callable[..., Result]


@pytest.fixture
def fan(runner: Runner, main: str) -> Fan:
    """Two lanes that were asked the same and have answered."""
    wishes = [Wish(config=ECHO, name="one"), Wish(config=replace(ECHO, system="x"), name="two")]
    made = fan_out(runner, main, None, "hello", wishes, warm=False)
    quiet(runner)
    return made


def quiet(runner: Runner) -> None:
    until(lambda: not runner.store.runs.not_ended())


@pytest.fixture
def act(runner: Runner, fan: Fan) -> Act:
    """Press a button of a lane, by its place."""

    def press(action: str, lane: int | None = None, /, **more: Any) -> Result:
        if lane is not None:
            more["lane"] = fan.lanes[lane].id
        return perform(runner, fan.comparison, {"action": action, **more})

    return press


def paths(runner: Runner, fan: Fan) -> list[list[str]]:
    return [path_of(runner.store, lane.branch_id) for lane in fan.lanes]


@pytest.mark.parametrize("action", ["", "bin", "edit", "__init__"])
def test_a_button_that_nobody_knows_is_said_so(act: Act, action: str) -> None:
    with pytest.raises(UserError, match="does not know"):
        act(action)


@pytest.mark.parametrize(
    "action", ["ask", "open", "keep", "unkeep", "drop", "join", "rename", "retry"]
)
def test_a_lane_of_another_comparison_is_none_of_this_one(
    runner: Runner, act: Act, main: str, action: str
) -> None:
    with pytest.raises(NotFound):
        act(action, lane="nobody")
    other = fan_out(runner, main, None, "other", [Wish(config=ECHO)], warm=False)
    quiet(runner)
    with pytest.raises(NotFound):
        act(action, lane=other.lanes[0].id, name="x", run="x")


def test_a_follow_up_goes_to_the_ticked_lanes_and_leaves_no_draft(
    runner: Runner, fan: Fan, act: Act
) -> None:
    assert act("follow_up", text="more", only=[lane.id for lane in fan.lanes]).said == ""
    quiet(runner)
    act("follow_up", text="only you", only=[fan.lanes[1].id])
    quiet(runner)
    assert [len(path) for path in paths(runner, fan)] == [4, 6]
    assert runner.store.drafts.get(draft_key(fan.comparison.id)) is None


def test_words_that_could_not_go_out_are_kept(runner: Runner, fan: Fan, act: Act) -> None:
    with pytest.raises(UserError, match="ticked"):
        act("follow_up", text="precious words", only=[])
    assert runner.store.drafts.get(draft_key(fan.comparison.id)) == "precious words"
    act("follow_up", text="precious words", only=None)
    quiet(runner)
    assert runner.store.drafts.get(draft_key(fan.comparison.id)) is None
    with pytest.raises(TurntreeError):
        act("follow_up", text="  ", only=None)


def test_where_an_answer_is_on_its_way_the_words_wait_and_it_is_said(
    runner: Runner, fan: Fan, act: Act
) -> None:
    slow = runner.send(fan.lanes[0].branch_id, "/stall 1\na b c")
    assert isinstance(slow, Run)
    begun(runner, slow)
    said = act("follow_up", text="next", only=None).said
    assert said.startswith("1 lane is still being answered")
    waiting = runner.store.branches.queued(fan.lanes[0].branch_id)
    assert [one["text"] for one in waiting] == ["next"]
    assert act("unqueue", 0, id=waiting[0]["id"]).insert == "next"
    assert runner.store.branches.queued(fan.lanes[0].branch_id) == []
    assert act("stop", 0, run=slow.id).stay
    quiet(runner)
    assert runner.store.runs.get(slow.id).finish_reason == "stopped"
    assert paths(runner, fan)[1][-1] == "next"


def test_files_are_kept_until_a_follow_up_takes_them_along(
    runner: Runner, fan: Fan, act: Act
) -> None:
    def sent(name: str, content: bytes) -> dict[str, str]:
        return {"name": name, "data": b64encode(content).decode()}

    store = runner.store
    assert act("attach", files=[sent("a.txt", b"alpha"), sent("b.txt", b"beta")]).stay
    act("attach", files=[sent("a.txt", b"alpha")])  # the same one twice is held once
    bad = [sent("empty.txt", b""), {"name": "huge.bin"}, {"name": "odd.txt", "data": "%"}]
    with pytest.raises(UserError, match=r"empty\.txt.*huge\.bin.*odd\.txt"):
        act("attach", files=[sent("c.txt", b"gamma"), *bad])
    held = files_of(store, fan.comparison.id)
    assert [file.name for file in held] == ["a.txt", "b.txt", "c.txt"]
    act("drop_file", sha256=held[1].sha256)
    with store.write() as db:
        drop_unused(db)  # what waits stays, what was taken back goes
    assert set(store.attachments) == {held[0].sha256, held[2].sha256}
    act("follow_up", text="look", only=None)
    quiet(runner)
    assert files_of(store, fan.comparison.id) == ()
    for lane in fan.lanes:
        asked, _ = store.nodes.lineage(store.branches.get(lane.branch_id).tip_id)[-2:]
        assert [part for part in asked.parts if part in held] == [held[0], held[2]]


def test_a_later_lane_that_cannot_be_asked_holds_the_words(
    runner: Runner, fan: Fan, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, broke = runner.send, fan.lanes[1].branch_id

    def sends(branch_id: str, *args: Any, **more: Any) -> Any:
        if branch_id == broke:
            raise UserError("The budget is used up.")
        return send(branch_id, *args, **more)

    monkeypatch.setattr(runner, "send", sends)
    act("follow_up", text="next", only=None)
    quiet(runner)
    assert paths(runner, fan)[0][-2:] == ["next", "next"]
    (held,) = runner.store.branches.queued(broke)
    assert (held["text"], held["state"]) == ("next", "held")
    with pytest.raises(UserError):  # the first one: then nothing went out, the words stay
        act("follow_up", text="more", only=[fan.lanes[1].id])
    assert len(runner.store.branches.queued(broke)) == 1


def test_a_failed_lane_is_retried_alone(runner: Runner, fan: Fan, act: Act) -> None:
    failed = talk(runner, fan.lanes[0].branch_id, "/fail Overloaded\nno")
    assert failed.finish_reason == "error"
    before = paths(runner, fan)[1]
    result = act("retry", 0, run=failed.id)
    assert result.stay  # on the compare page
    quiet(runner)
    last = runner.store.runs.last_from(str(failed.context_tip_id), fan.lanes[0].branch_id)
    assert last is not None
    assert last.id != failed.id
    assert paths(runner, fan)[1] == before


def test_ask_answers_a_lane_that_was_not_asked_yet(runner: Runner, fan: Fan, act: Act) -> None:
    grow(runner.store, fan.lanes[0].branch_id, "asked by nobody")
    act("ask", 0)
    quiet(runner)
    assert paths(runner, fan)[0][-2:] == ["asked by nobody", "asked by nobody"]


def test_open_leads_to_the_branch_and_everything_else_stays(fan: Fan, act: Act) -> None:
    opened = act("open", 1)
    assert (opened.branch, opened.stay) == (fan.lanes[1].branch_id, False)
    assert act("refresh").stay


def test_keep_makes_the_lane_the_current_branch(
    runner: Runner, session: Session, fan: Fan, act: Act
) -> None:
    assert "'two'" in act("keep", 1).said
    assert runner.store.sessions.get(session.id).current_branch_id == fan.lanes[1].branch_id
    kept = [lane.kept_at is not None for lane in runner.store.comparisons.lanes(fan.comparison.id)]
    assert kept == [False, True]


def test_a_dropped_lane_is_brought_back_where_it_was(runner: Runner, fan: Fan, act: Act) -> None:
    def there() -> list[Lane]:
        return runner.store.comparisons.lanes(fan.comparison.id)

    before = [lane.id for lane in there()]
    assert "'one'" in act("drop", 0).said
    assert [lane.id for lane in there()] == before[1:]
    act("join", 0)
    assert [lane.id for lane in there()] == before
    set_blind(runner, fan.comparison, True)
    assert "'one'" not in act("drop", 0).said  # names are hidden


def test_a_lane_gets_a_name_that_nobody_has(runner: Runner, fan: Fan, act: Act) -> None:
    act("rename", 0, name="  better \n name ")
    assert runner.store.branches.get(fan.lanes[0].branch_id).name == "better name"
    with pytest.raises(NameTaken):
        act("rename", 0, name="two")
    with pytest.raises(UserError):
        act("rename", 0, name=" ")


def test_what_was_sent_is_shown_of_this_session_only(runner: Runner, fan: Fan, act: Act) -> None:
    run = runner.store.runs.last_from(str(fan.comparison.at_id), fan.lanes[0].branch_id)
    assert run is not None
    assert act("sent", run=run.id).sent == run.id
    stranger = runner.store.sessions.create(config=ECHO)
    other = talk(runner, str(stranger.current_branch_id), "elsewhere")
    with pytest.raises(NotFound):
        act("sent", run=other.id)


# --- the page's own controls ----------------------------------------------------------------


def test_branches_are_put_side_by_side_once(runner: Runner, session: Session, fan: Fan) -> None:
    ids = [lane.branch_id for lane in fan.lanes]
    assert compare(runner, session.id, ids).id == fan.comparison.id
    other = compare(runner, session.id, [ids[0], str(session.current_branch_id)])
    assert other.id != fan.comparison.id
    with pytest.raises(UserError):
        compare(runner, session.id, ids[:1])
    with pytest.raises(UserError, match="more than"):
        compare(runner, session.id, [str(n) for n in range(MOST_PICKED + 1)])


def test_a_branch_is_added_and_a_comparison_renamed(runner: Runner, main: str, fan: Fan) -> None:
    add_branch(runner, fan.comparison, main)
    lanes = runner.store.comparisons.lanes(fan.comparison.id)
    assert [lane.branch_id for lane in lanes][-1] == main
    rename_comparison(runner, fan.comparison, "  new   name ")
    rename_comparison(runner, fan.comparison, " ")
    assert runner.store.comparisons.get(fan.comparison.id).name == "new name"


def test_two_messages_are_compared_and_the_session_stays_where_it_is(
    runner: Runner, session: Session, main: str
) -> None:
    nodes = grow(runner.store, main, "q", "a", "q2", "a2")
    made = compare_nodes(runner, session.id, [nodes[1].id, nodes[3].id])
    lanes = runner.store.comparisons.lanes(made.id)
    assert [path_of(runner.store, lane.branch_id)[-1] for lane in lanes] == ["a", "a2"]
    assert lanes[1].branch_id == main  # it ended there already
    assert runner.store.sessions.get(session.id).current_branch_id == main
    again = compare_nodes(runner, session.id, [nodes[1].id, nodes[3].id])
    assert again.id == made.id
    assert len(runner.store.branches.of(session.id)) == 2
    with pytest.raises(TurntreeError):
        compare_nodes(runner, session.id, [nodes[1].id])


def test_a_branch_knows_the_comparison_that_it_is_a_lane_of(
    runner: Runner, main: str, fan: Fan, act: Act
) -> None:
    def known() -> Comparison | None:
        return comparison_of(runner, fan.lanes[0].branch_id)

    assert known() == fan.comparison
    assert comparison_of(runner, main) is None
    act("drop", 0)
    assert known() is None
