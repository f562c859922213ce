"""Lanes on four protocols at once: whatever happens to one, each is sent its own history alone."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from core import Runner, Store
from core.jobs import Player
from core.lanes import Fan, Wish, fan_out, follow_up
from core.runner import Queued
from core.types import Adapter, Comparison, Endpoint, Lane, Run, text_of
from core.wire.readable import readable
from tests.away import away
from tests.contract.case import Scene
from tests.contract.cases_compatible import TROUBLES
from tests.contract.counted import numbered
from tests.contract.four import NAMES, Place, places
from tests.contract.spoken import Said, answer, user, wire
from tests.contract.test_matrix import bare
from tests.fakes.chat_completions import Play
from tests.unit.house import until

KEY = "sk-fake-lanes-0123456789abcdefWXYZ"
PARTS = ("failing", "stopped", "slow", "restarted")


@pytest.fixture
def four() -> Iterator[dict[str, Place]]:
    with places(KEY) as found:
        yield found


# --- what the process away is told --------------------------------------------------------------


def begin(runner: Runner, player: Player, branch_id: str, wishes: Sequence[Wish]) -> Fan:
    return fan_out(runner, branch_id, None, "First?", wishes)


def follow(runner: Runner, player: Player, comparison_id: str, text: str) -> list[Run | Queued]:
    return follow_up(runner, comparison_id, text)


def stop(runner: Runner, player: Player, branch_id: str) -> None:
    for live in runner.lives():
        if live.run.branch_id == branch_id:
            runner.stop(live.run.id)


# --- four lanes ---------------------------------------------------------------------------------


class Cast:
    """Who plays which part, and what is looked at from here."""

    def __init__(self, four: dict[str, Place], turned: int, store: Store) -> None:
        names = NAMES[turned:] + NAMES[:turned]
        self.part = dict(zip(PARTS, names, strict=True))
        self.four, self.store = four, store
        self.gate = threading.Event()
        self.lanes: dict[str, Lane] = {}

    def __getitem__(self, part: str) -> Place:
        return self.four[self.part[part]]

    def branch(self, part: str) -> str:
        return self.lanes[self.part[part]].branch_id

    def say(self, number: int, parts: Sequence[str] = PARTS, **scene: Any) -> None:
        """What these lanes are answered with next."""
        for part in parts:
            place = self[part]
            place.put(Scene(text=(f"Answer {number}", f" of {place.name}."), **scene))

    def quiet(self, parts: Sequence[str], number: int) -> None:
        """Wait until so many runs of these lanes have ended, and no other is on its way."""
        branches = [self.branch(part) for part in parts]

        def over() -> bool:
            runs = [runs_of(self.store, branch) for branch in branches]
            return all(
                len(one) == number and all(run.state == "ended" for run in one) for one in runs
            )

        until(over, 30)

    def heard(self, part: str, number: int) -> None:
        """Wait until the words of the answer on its way are on disk."""
        words = f"Answer {number} of {self.part[part]}."
        until(lambda: text_of(runs_of(self.store, self.branch(part))[-1].partial) == words, 30)


def runs_of(store: Store, branch_id: str) -> list[Run]:
    with store._db.read() as db:
        ids = db.conn.execute("SELECT id FROM runs WHERE branch_id = ? ORDER BY id", [branch_id])
        return [store.runs.get(run_id) for (run_id,) in ids.fetchall()]


def held_back(place: Place, gate: threading.Event) -> None:
    """Let the place answer, but not before the gate is open."""

    class Late(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            gate.wait(60)
            return super().__iter__()

    then = place.server.play

    def late(play: Play) -> Play:
        return replace(play, steps=Late(play.steps))

    place.server.play = late(then) if isinstance(then, Play) else lambda *a: late(then(*a))


@pytest.mark.parametrize("turned", range(4))
def test_each_lane_is_sent_its_own_history_alone(
    path: Path, four: dict[str, Place], turned: int
) -> None:
    with Store.open(path) as store:
        cast = Cast(four, turned, store)
        comparison = _three_turns(path, cast)
        _after_the_restart(cast, comparison)
        for part in PARTS:
            _judge(cast, part)


def _three_turns(path: Path, cast: Cast) -> Comparison:
    """A fan-out and two follow-ups, in a process that is killed in the middle of an answer."""
    session = cast.store.sessions.create(config=cast["slow"].config)
    endpoints = {name: place.endpoint for name, place in cast.four.items()}
    wishes = [Wish(config=place.config, name=name) for name, place in cast.four.items()]
    with away(path, endpoints) as there:
        cast.say(1)
        fan: Fan = there.do(begin, str(session.current_branch_id), wishes)
        cast.lanes = dict(zip(cast.four, fan.lanes, strict=True))
        cast.quiet(PARTS, 1)

        cast.say(2)
        cast["failing"].play(TROUBLES["bad_parameter"])
        cast.say(2, ["stopped"], stall=True)
        held_back(cast["slow"], cast.gate)
        there.do(follow, fan.comparison.id, "Second?")
        cast.quiet(["failing", "restarted"], 2)
        cast.heard("stopped", 2)
        there.do(stop, cast.branch("stopped"))
        cast.quiet(["stopped"], 2)

        until(lambda: len(cast["slow"].seen) == 2)  # what comes next is not for that answer
        cast.say(3)
        cast.say(3, ["restarted"], stall=True)
        told = there.do(follow, fan.comparison.id, "Third?")
        waiting = [one.branch_id for one in told if isinstance(one, Queued)]
        assert waiting == [cast.branch("slow")]
        cast.gate.set()
        cast.quiet(["failing", "stopped", "slow"], 3)
        cast.heard("restarted", 3)
        there.kill()
    return fan.comparison


def _after_the_restart(cast: Cast, comparison: Comparison) -> None:
    """What was under way is interrupted with its words kept, and every lane goes on."""

    def endpoint_of(adapter: Adapter) -> Endpoint:
        return cast.four[adapter.name].endpoint

    with patch("core.launcher.endpoint_of", endpoint_of), Runner(cast.store) as runner:
        ends = {part: runs_of(cast.store, cast.branch(part))[-1] for part in PARTS}
        assert {part: run.finish_reason for part, run in ends.items()} == {
            "failing": "stop",
            "stopped": "stop",
            "slow": "stop",
            "restarted": "interrupted",
        }
        cast.say(4)
        follow_up(runner, comparison.id, "Fourth?")
        cast.quiet(PARTS, 4)


def _judge(cast: Cast, part: str) -> None:
    """Every request of a lane, to the letter."""
    place = cast[part]
    # What a stop or a restart left is in words only: nothing of it is bound to its provider.
    second = answer(f"Answer 2 of {place.name}.", own=part != "stopped")
    third = answer(f"Answer 3 of {place.name}.", own=part != "restarted")
    history: list[Said] = [user("First?"), answer(f"Answer 1 of {place.name}."), user("Second?")]
    history += [] if part == "failing" else [second]
    history += [user("Third?"), third, user("Fourth?")]
    asked = [n for n, said in enumerate(history, 1) if said.role == "user"]
    wanted = [wire(place.name, history[:n]) for n in asked]
    assert [bare(seen.body[place.messages]) for seen in place.seen] == wanted
    assert [seen.refused for seen in place.seen] == [None] * 4
    runs = runs_of(cast.store, cast.branch(part))
    expected = {"failing": "error", "stopped": "stopped"}.get(part, "stop")
    assert (runs[1].finish_reason, runs[3].finish_reason) == (expected, "stop")
    for run, seen in zip(runs, place.seen, strict=True):
        body = place.adapter.body(cast.store.runs.sent(run.id))
        assert bare(body[place.messages]) == bare(seen.body[place.messages])


# --- lanes of one model -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_samples_and_variants_of_one_model_do_not_mix(
    store: Store, four: dict[str, Place], name: str
) -> None:
    """Three lanes on one server, which cannot tell them apart but by what they send."""
    place = four[name]
    numbered(place)
    with patch("core.launcher.endpoint_of", lambda _: place.endpoint), Runner(store) as runner:
        session = store.sessions.create(config=place.config)
        shouting = replace(place.config, system="Shout.")
        wishes = [Wish(config=place.config, samples=2), Wish(config=shouting)]
        fan = fan_out(runner, str(session.current_branch_id), None, "First?", wishes)
        tips = [lane.branch_id for lane in fan.lanes]
        for number, text in enumerate(("", "Second?", "Third?", "Fourth?"), 1):
            if text:
                follow_up(runner, fan.comparison.id, text)
            until(lambda number=number: all(answers(store, tip) == number for tip in tips), 30)
        lineages = [[node.text for node in _lineage(store, tip)] for tip in tips]
    assert len({tuple(lineage) for lineage in lineages}) == 3
    wanted = sorted(lineage[:n] for lineage in lineages for n in (1, 3, 5, 7))
    assert sorted(spoken(seen.body) for seen in place.seen) == wanted
    shouted = [spoken(seen.body) for seen in place.seen if b"Shout." in seen.raw]
    assert sorted(shouted) == sorted(lineages[2][:n] for n in (1, 3, 5, 7))
    assert [seen.refused for seen in place.seen if seen.refused] == []


def answers(store: Store, branch_id: str) -> int:
    """How many answers a branch has, if nothing is on its way there."""
    nodes = _lineage(store, branch_id)
    return 0 if nodes[-1].role == "user" else sum(node.role == "assistant" for node in nodes)


def _lineage(store: Store, branch_id: str) -> Sequence[Any]:
    return store.nodes.lineage(store.branches.get(branch_id).tip_id)


def spoken(body: Any) -> list[str]:
    """The words of a request's messages, the system prompt left out."""
    return [
        "".join(piece.text for piece in message.pieces)
        for message in readable(body).messages
        if message.role not in ("system", "developer")
    ]
