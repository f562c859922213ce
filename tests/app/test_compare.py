"""The compare page: every state, no exception, the right words; and what its element is given."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import Run, Runner, Session, Store
from core.branching import new_node
from core.columns import columns
from core.lanes import Fan, Wish, fan_out, follow_up
from core.types import Comparison, Text
from pages import backend
from pages.components import lanes
from tests.app.conftest import ECHO, Open, conversation, said, sound
from tests.unit.house import begun, until

TALK = ("first question", "first answer", "second question", "second answer")


@pytest.fixture
def runner() -> Iterator[Runner]:
    """The runner that the pages use, with nothing left running."""
    yield backend.runner()
    for live in backend.runner().lives():
        backend.runner().stop(live.run.id)


@pytest.fixture
def page(app: Open) -> Open:
    """The compare page at an address; the fixture's own way leads through the playground, which
    has an address of its own."""

    def open_page(**address: str) -> AppTest:
        test = app("compare.py")
        for name, value in address.items():
            test.query_params[name] = value
        return sound(test.run())

    return open_page


@pytest.fixture
def fan(runner: Runner, store: Store) -> Fan:
    """A talk of two turns, then a message to two lanes, answered."""
    session = conversation(store, *TALK, title="Talk")
    branch = store.branches.get(str(session.current_branch_id))
    wishes = [
        Wish(config=ECHO, name="plain"),
        Wish(config=replace(ECHO, model="echo-think", system="Be kind."), name="thinker"),
    ]
    made = fan_out(runner, branch.id, branch.tip_id, "third question", wishes, warm=False)
    quiet(runner)
    return made


def quiet(runner: Runner) -> None:
    until(lambda: not runner.store.runs.not_ended())


def data(runner: Runner, comparison: Comparison, **more: Any) -> dict[str, Any]:
    comparison = runner.store.comparisons.get(comparison.id)
    return lanes.lanes_data(runner, comparison, columns(runner.store, comparison), **more)


def shown(test: AppTest) -> str:
    return said(test) + "\n".join(one.label for one in (*test.button, *test.selectbox))


# --- the page -------------------------------------------------------------------------------


def test_without_a_session_it_says_where_to_begin(page: Open) -> None:
    assert "Open a session first" in said(page())


def test_a_session_of_one_branch_is_told_how_to_get_another(page: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = page(session=session.id)
    assert any("one branch" in one.value for one in test.info)


def test_branches_are_chosen_and_put_side_by_side(page: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    main = store.branches.get(str(session.current_branch_id))
    first = store.nodes.lineage(main.tip_id)[1]
    store.branches.create(session.id, "other", first.id, forked_from=first.id)
    test = page(session=session.id, pick=main.id)
    menu = next(one for one in test.multiselect if one.label == "Branches to compare")
    assert menu.value == [main.id]
    button = next(one for one in test.button if one.label == "Put side by side")
    sound(button.click().run())
    assert store.comparisons.of(session.id) == []
    assert any("Two branches" in one.value for one in test.error)
    menu = next(one for one in test.multiselect if one.label == "Branches to compare")
    menu.set_value([branch.id for branch in store.branches.of(session.id)])
    sound(next(one for one in test.button if one.label == "Put side by side").click().run())
    (made,) = store.comparisons.of(session.id)
    assert test.query_params["comparison"] == made.id
    assert len(store.comparisons.lanes(made.id)) == 2


def test_a_comparison_is_shown_renamed_and_made_blind(page: Open, store: Store, fan: Fan) -> None:
    test = page(comparison=fan.comparison.id)
    assert test.query_params["session"] == fan.comparison.session_id
    name = next(one for one in test.text_input if one.label == "Name of this comparison")
    sound(name.set_value("Which one?").run())
    assert store.comparisons.get(fan.comparison.id).name == "Which one?"
    sound(next(one for one in test.toggle if one.label == "Blind").set_value(True).run())
    assert store.comparisons.get(fan.comparison.id).blind
    assert "Judge" in shown(test)


def test_a_comparison_that_is_gone_gives_way_to_the_latest(
    page: Open, store: Store, fan: Fan
) -> None:
    test = page(session=fan.comparison.session_id, comparison="nobody")
    assert "There is no such comparison." in "".join(one.value for one in test.error)
    assert any(one.value == fan.comparison.id for one in test.selectbox)


def test_without_a_name_it_is_the_comparison_of_the_branch_that_one_comes_from(
    page: Open, runner: Runner, store: Store, fan: Fan
) -> None:
    session = fan.comparison.session_id
    tip = store.branches.get(fan.lanes[0].branch_id).tip_id
    later = fan_out(
        runner, fan.lanes[0].branch_id, tip, "more", [Wish(config=ECHO)] * 2, warm=False
    )
    quiet(runner)

    def shown_at(**place: str) -> list[str]:
        test = page(session=session, **place)
        return [one.value for one in test.selectbox if one.label == "Comparison"]

    assert shown_at() == [later.comparison.id]
    assert shown_at(branch=fan.lanes[1].branch_id) == [fan.comparison.id]


def test_another_branch_becomes_a_lane(page: Open, store: Store, fan: Fan) -> None:
    test = page(comparison=fan.comparison.id)
    assert next(one for one in test.selectbox if one.label == "A branch of this session")
    sound(next(one for one in test.button if one.label == "Add this branch").click().run())
    names = [
        store.branches.get(x.branch_id).name for x in store.comparisons.lanes(fan.comparison.id)
    ]
    assert names == ["plain", "thinker", "main"]


def test_two_messages_of_an_address_are_compared_only_when_asked(page: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    nodes = store.nodes.lineage(store.branches.get(str(session.current_branch_id)).tip_id)
    test = page(session=session.id, nodes=f"{nodes[1].id},{nodes[3].id}")
    assert "first answer" in said(test)
    assert store.comparisons.of(session.id) == []
    sound(next(one for one in test.button if one.label.startswith("Put these")).click().run())
    (made,) = store.comparisons.of(session.id)
    assert test.query_params["comparison"] == made.id
    test = page(session=session.id, nodes="nobody,else")
    assert "not in this session" in "".join(one.value for one in test.warning)


def test_when_every_lane_is_dropped_they_can_be_brought_back(
    page: Open, store: Store, fan: Fan
) -> None:
    for lane in fan.lanes:
        store.comparisons.drop(lane.id, "2026-01-01")
    test = page(comparison=fan.comparison.id)
    sound(next(one for one in test.button if one.label == "plain").click().run())
    assert len(store.comparisons.lanes(fan.comparison.id)) == 1


# --- what the element is given --------------------------------------------------------------


def test_the_common_beginning_is_told_once_and_turns_stand_in_rows(
    runner: Runner, fan: Fan
) -> None:
    follow_up(runner, fan.comparison.id, "both")
    quiet(runner)
    follow_up(runner, fan.comparison.id, "one alone", only=[fan.lanes[0].id])
    quiet(runner)
    told = data(runner, fan.comparison)
    assert (told["beginning"]["turns"], told["beginning"]["messages"]) == (2, 4)
    assert told["beginning"]["asked"]["id"] == fan.comparison.at_id
    rows = told["rows"]
    assert [row["asked"] is not None for row in rows] == [False, True, False]
    assert [[cell and len(cell["entries"]) for cell in row["cells"]] for row in rows] == [
        [1, 1],  # answers to what all were asked
        [1, 1],  # the question stands once, above them
        [2, None],
    ]
    assert rows[2]["cells"][0]["turn"] == 5


def test_a_head_tells_what_differs_and_the_numbers(runner: Runner, fan: Fan) -> None:
    plain, thinker = data(runner, fan.comparison)["lanes"]
    assert (plain["name"], plain["provider"], plain["model"]) == (
        "plain",
        "Echo (scripted)",
        "Echo",
    )
    assert plain["stands_out"]
    assert [(one["label"], one["value"]) for one in thinker["differences"]] == [
        ("System", "Be kind.")
    ]
    facts = {one["label"]: one["value"] for one in thinker["facts"]}
    assert facts["Length"] == "2 words"
    assert facts["Cached"] == "–"
    assert facts["Cost"] == "free"
    assert (plain["sums"], plain["finish"]) == ("", "stop")


def test_a_stored_answer_is_marked_as_replayed(runner: Runner, fan: Fan) -> None:
    again = fan_out(
        runner,
        fan.lanes[0].branch_id,
        runner.store.nodes.get(str(fan.comparison.at_id)).parent_id,
        "third question",
        [Wish(config=ECHO)],
        reuse=True,
    )
    quiet(runner)
    (lane,) = data(runner, again.comparison)["lanes"]
    assert {"label": "Cost", "value": "replayed, $0"} in lane["facts"]


def test_a_blind_look_gives_nothing_away(runner: Runner, fan: Fan) -> None:
    failed = runner.send(fan.lanes[1].branch_id, "/fail Overloaded\nno")
    assert isinstance(failed, Run)
    slow = runner.send(fan.lanes[0].branch_id, "/stall 1\na b c")
    assert isinstance(slow, Run)
    begun(runner, slow)
    runner.wait(failed.id, 10)
    runner.store.comparisons.set_blind(fan.comparison.id, True)
    told = data(runner, fan.comparison)
    assert [one["name"] for one in told["lanes"]] == ["A", "B"]
    assert any(one["trouble"] for one in told["lanes"])
    assert any(one["live"] for one in told["lanes"])
    for lane in told["lanes"]:
        assert [one["label"] for one in lane["facts"]] == ["Length", "Reads at"]
    words = json.dumps(told).lower()
    for secret in ("plain", "thinker", "echo", "be kind", "overloaded", "tokens", "_ms"):
        assert secret not in words, secret
    runner.stop(slow.id)


def test_a_lane_says_whether_it_runs_failed_waits_or_is_not_asked(
    runner: Runner, store: Store, fan: Fan
) -> None:
    plain, thinker = fan.lanes
    failed = runner.send(thinker.branch_id, "/fail Overloaded\nno")
    slow = runner.send(plain.branch_id, "/stall 1\na b c")
    assert isinstance(slow, Run)
    assert isinstance(failed, Run)
    begun(runner, slow)
    runner.wait(failed.id, 10)
    runner.send(plain.branch_id, "later")
    one, two = data(runner, fan.comparison)["lanes"]
    assert (one["live"]["run"], one["trouble"], one["waits"]) == (slow.id, None, False)
    assert [item["text"] for item in one["queue"]] == ["later"]
    assert (two["live"], two["trouble"]["run"], two["waits"]) == (None, failed.id, False)
    runner.stop(slow.id)
    quiet(runner)
    session = fan.comparison.session_id
    node = new_node(session, store.branches.get(plain.branch_id).tip_id, "user", (Text(text="?"),))
    store.nodes.add(node)
    store.branches.move(plain.branch_id, node.id, why="send")
    assert data(runner, fan.comparison)["lanes"][0]["waits"]


def test_what_is_sent_to_the_page_does_not_grow_with_the_conversation(
    runner: Runner, store: Store, fan: Fan
) -> None:
    for lane in fan.lanes:
        tip = store.branches.get(lane.branch_id).tip_id
        with store.write():
            for turn in range(100):
                for role in ("user", "assistant"):
                    words = (Text(text=f"turn {turn}"),)
                    node = new_node(fan.comparison.session_id, tip, role, words)
                    tip = store.nodes.add(node).id
            store.branches.move(lane.branch_id, tip, why="send")
    told = data(runner, fan.comparison)
    assert (len(told["rows"]), told["earlier"]) == (lanes.ROWS, 71)
    assert [row["key"] for row in told["rows"]] == list(range(71, 101))
    more = data(runner, fan.comparison, limit=2 * lanes.ROWS)
    assert more["rows"][lanes.ROWS :] == told["rows"]


def test_dropped_lanes_are_listed_and_words_that_did_not_go_out_are_there(
    runner: Runner, store: Store, fan: Fan
) -> None:
    store.comparisons.drop(fan.lanes[0].id, "2026-01-01")
    store.drafts.keep(fan.comparison.session_id, f"lanes.{fan.comparison.id}", "unsent")
    told = data(runner, fan.comparison)
    assert [one["name"] for one in told["lanes"]] == ["thinker"]
    assert told["dropped"] == [{"id": fan.lanes[0].id, "name": "plain"}]
    assert told["draft"] == "unsent"


def test_the_playground_leads_here_and_to_the_comparison_of_its_branch(
    app: Open, store: Store, fan: Fan
) -> None:
    def link(**place: str) -> str:
        test = app(session=fan.comparison.session_id, **place)
        found = [one.proto for one in test.get("page_link") if one.proto.label == "Compare"]
        return str([one.query_string for one in found])

    assert fan.comparison.id in link(branch=fan.lanes[0].branch_id)
    session: Session = store.sessions.get(fan.comparison.session_id)
    assert f"pick={session.current_branch_id}" in link()
