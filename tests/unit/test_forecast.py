"""What a replay, a lane or a matrix will come to: by estimate, and what is unknown stays so."""

from dataclasses import replace
from decimal import Decimal

import pytest

from core import Runner, Session, Store, forecast, show
from core.errors import UserError
from core.estimate import tokens_of
from core.forecast import Forecast, together
from core.jobs import Player
from core.lanes import Wish, fan_out, side_by_side
from core.replay import filled, replay
from core.types import Config, OwnPrice, Text, ToolCall, ToolResult
from tests.conftest import ECHO
from tests.unit.house import grow, until

PRICED = Config(provider="openai", model="my-own-model")
TALK = ("one two three", "four five", "six", "seven eight nine ten", "eleven", "twelve")


@pytest.fixture
def long(store: Store, main: str) -> str:
    """A branch of three turns."""
    grow(store, main, *TALK)
    return main


def priced(store: Store, **figures: str) -> Config:
    told = {name: Decimal(value) for name, value in figures.items()}
    store.providers.set_own(PRICED.provider, PRICED.model, OwnPrice(**told))
    return PRICED


def test_unknown_prices_stay_unknown_and_are_counted_beside_the_sum(
    store: Store, session: Session, long: str
) -> None:
    view = show(store, session.id)
    unknown = forecast.send(store, view, "hello", Config(provider="openai", model="nobody-knows"))
    free = forecast.send(store, view, "hello", ECHO, samples=3)
    assert (unknown.cost, free.cost, free.calls) == (None, 0, 3)
    total = together([unknown, free])
    assert (total.calls, total.cost, total.unknown) == (4, 0, 1)
    assert together([unknown]).cost is None


def test_a_price_is_of_what_is_sent_and_of_answers_as_long_as_the_latest(
    store: Store, session: Session, long: str
) -> None:
    config = priced(store, input="2", output="10")
    found = forecast.send(store, show(store, session.id), "hello", config)
    assert found.output is None  # this model has not answered yet
    assert found.cost == found.input * 2000
    assert together([found]).open == 1


def test_each_turn_of_a_replay_is_sent_what_stands_before_it(
    store: Store, session: Session, long: str
) -> None:
    config = priced(store, input="1", output="1")
    whole = forecast.replay(store, session, long, config)
    last = forecast.replay(store, session, long, config, from_turn=3)
    assert (whole.calls, last.calls) == (3, 1)
    assert last.input == whole.largest
    assert whole.output == sum(round(tokens_of(TALK[place])) for place in (1, 3, 5))
    assert whole.cost == (whole.input + whole.output) * 1000
    twice = forecast.replay(store, session, long, config, samples=2)
    assert (twice.input, twice.cost) == (2 * whole.input, 2 * whole.cost)


def test_what_a_policy_leaves_out_is_not_counted(store: Store, session: Session, long: str) -> None:
    whole = forecast.replay(store, session, long, ECHO)
    last = replace(ECHO, policy="last", keep_turns=0)
    assert forecast.replay(store, session, long, last).input < whole.input
    short = replace(ECHO, policy="auto", keep_turns=0)
    assert forecast.replay(store, session, long, short).calls == whole.calls


def test_recorded_tool_results_count_where_they_are_kept(
    store: Store, session: Session, main: str
) -> None:
    call = ToolCall(id="c1", name="look", arguments="{}")
    grow(store, main, "q")
    with store.write():
        for role, part in (
            ("assistant", call),
            ("tool", ToolResult(call_id="c1", name="look", text="word " * 50)),
            ("assistant", Text(text="a")),
        ):
            _add(store, session, main, role, part)
    kept = forecast.replay(store, session, main, ECHO)
    without = forecast.replay(store, session, main, ECHO, tools_again=True)
    assert kept.input > without.input + 40


def test_calls_without_a_result_are_not_counted(store: Store, session: Session, main: str) -> None:
    grow(store, main, "q")
    alone = forecast.replay(store, session, main, ECHO)
    with store.write():
        _add(store, session, main, "assistant", ToolCall(id="c", name="look", arguments="x " * 99))
    assert forecast.replay(store, session, main, ECHO).input == alone.input


def _add(store: Store, session: Session, branch: str, role: str, part: object) -> None:
    from core.branching import new_node

    tip = store.branches.get(branch).tip_id
    node = store.nodes.add(new_node(session.id, tip, role, (part,)))  # type: ignore[arg-type]
    store.branches.move(branch, node.id, why="answer")


def test_other_words_make_another_forecast(store: Store, session: Session, long: str) -> None:
    same = forecast.rebase(store, session, long, 2, "six", ECHO)
    more = forecast.rebase(store, session, long, 2, "six " * 40, ECHO)
    assert same.input == forecast.replay(store, session, long, ECHO, from_turn=2).input
    assert more.input > same.input + 2 * 30  # both turns are sent them
    nothing = forecast.rebase(store, session, long, 9, "six", ECHO)
    assert (nothing.calls, nothing.input) == (0, 0)


def test_carried_turns_come_after_the_other_branch(
    store: Store, session: Session, long: str
) -> None:
    other = store.branches.create(session.id, "other", None)
    grow(store, other.id, "a long beginning " * 20, "ok")
    alone = forecast.cherry_pick(store, session, long, [2], long, ECHO)
    onto = forecast.cherry_pick(store, session, long, [2], other.id, ECHO)
    assert (alone.calls, onto.calls) == (1, 1)
    assert onto.input > alone.input


def test_a_window_that_is_too_small_is_seen(store: Store, session: Session, long: str) -> None:
    store.providers.set_own("openai", "my-own-model", OwnPrice(window=20))
    small = forecast.replay(store, session, long, PRICED)
    assert small.overflows
    assert not forecast.replay(store, session, long, ECHO).overflows


def test_a_matrix_is_the_sum_of_its_cells(store: Store, session: Session, main: str) -> None:
    values = {"name": [f"n{number}" for number in range(90)]}
    one, two = forecast.matrix(
        store, session, main, None, ["Say {{name}}"], values, [ECHO, PRICED], samples=2
    )
    assert (one.calls, two.calls) == (180, 180)
    assert (one.cost, two.cost) == (0, None)
    single = forecast.matrix(store, session, main, None, ["Say {{name}}"], {"name": ["n1"]}, [ECHO])
    assert 150 * single[0].input < one.input < 210 * single[0].input
    assert forecast.matrix(store, session, main, None, ["x"], {"name": []}, [ECHO])[0].calls == 0


def test_one_more_lane_is_asked_all_that_was_said(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    fan = fan_out(runner, main, None, "hello there", [Wish(config=ECHO)])
    until(lambda: not store.runs.not_ended())
    found = forecast.one_more(store, session, fan.comparison.id, ECHO)
    assert found.calls == 1
    other = side_by_side(store, session.id, [main, fan.lanes[0].branch_id])
    with pytest.raises(UserError, match="one prompt"):
        forecast.one_more(store, session, other.id, ECHO)


def test_forecasts_of_nothing_are_nothing() -> None:
    assert together([]).cost is None
    empty = Forecast(calls=0, input=0, output=None, cost=0, largest=0)
    assert not empty.overflows
    assert together([empty]).open == 0


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("Say {{ name }} to {{reader}}", "Say {{reader}} to you"),
        ("{{name}}{{none}}", "{{reader}}{{none}}"),
        (r"\{{name}}", "{{name}}"),
    ],
)
def test_templates_are_filled_in_one_pass_as_the_library_fills_them(
    template: str, said: str
) -> None:
    assert filled(template, {"name": "{{reader}}", "reader": "you"}) == said


def test_cells_tell_of_every_step_in_one_look(runner: Runner, long: str) -> None:
    job = replay(runner.store, long, ECHO)
    player = Player(runner)
    player.start(job.id)
    until(lambda: runner.store.jobs.get(job.id).state == "done")
    player.close()
    cells = runner.store.jobs.cells(job.id)
    assert [cell.turn for cell in cells] == [0, 1, 2]
    assert [(cell.state, cell.answer) for cell in cells] == [
        ("done", "one two three"),
        ("done", "six"),
        ("done", "eleven"),
    ]
    assert {(cell.model, cell.cost_nanodollars, cell.error) for cell in cells} == {
        ("echo-1", 0, None)
    }
    assert all(cell.branch_id and cell.input_tokens for cell in cells)
