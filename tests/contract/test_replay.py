"""A recorded conversation of ten turns, played again on every protocol in both modes.

In it are tools in three turns and a recap that stands in for the first three. Every request that
a replay makes is compared with what must be sent, to the letter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from core import Store
from core.jobs import Player
from core.recap import activate, add
from core.replay import replay
from core.types import Branch, Job, JobMode, Node, Run, Step, ToolCall
from tests.contract.counted import numbered
from tests.contract.four import NAMES, Place, places
from tests.contract.spoken import Said, answer, user, wire
from tests.contract.story import Story, telling
from tests.contract.test_matrix import bare
from tests.unit.house import until

KEY = "sk-fake-replay-0123456789abcdefWXYZ"
TURNS = 10
COVERED = 3
RECAP = "Two cities were compared, and the weather in both is known."
ROUNDS = {2: [2], 5: [1, 1], 7: [2]}
"""Turn to its rounds of tools, each as how many calls are made side by side."""
MODES: Sequence[JobMode] = ("free", "forced")


class Record:
    """The ten turns as they were held at one provider."""

    def __init__(self, story: Story, place: Place) -> None:
        self.story, self.place = story, place
        self.rounds: dict[int, list[Said]] = {}
        self.numbers = count(1)
        for turn in range(1, TURNS + 1):
            self._tell(turn)
            if turn == COVERED:
                recap = add(story.store, story.session_id, story.tip, RECAP)
                activate(story.store, story.branch_id, recap.id)
        self.branch = story.branch_id
        self.tip = story.tip
        sent = zip(story.runs, place.seen, strict=True)
        self.asked = {run.context_tip_id: seen for run, seen in sent}
        """What the provider was sent for an answer, by the node that it answers."""

    def _tell(self, turn: int) -> None:
        story, place, said = self.story, self.place, self.rounds.setdefault(turn, [])
        words = f"Question {turn}?"
        begun = False
        for number in ROUNDS.get(turn, []):
            calls = self._calls(number)
            scene: dict[str, Any] = {"text": (f"Looking, turn {turn}.",), "calls": calls}
            made = story.reply(place, **scene) if begun else story.ask(place, words, **scene)
            begun = True
            told = [f"result of {call.id}" for call in calls]
            story.results(made, *told)
            said.append(Said("assistant", f"Looking, turn {turn}.", calls=calls))
            results = list(reversed([*zip(calls, told, strict=True)]))
            said.append(Said("tool", results=results))
        final = {"text": (f"Old {turn}.",)}
        if begun:
            story.reply(place, **final)
        else:
            story.ask(place, words, **final)

    def _calls(self, number: int) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(id=f"call_{next(self.numbers)}", name="weather", arguments='{"city": "Bern"}')
            for _ in range(number)
        )

    def before(self, turn: int, mode: JobMode, *, own: bool) -> list[Said]:
        """All that is to be sent for the answer of a turn."""
        first = COVERED + 1 if mode == "forced" and turn > COVERED else 1
        said: list[Said] = []
        for number in range(first, turn + 1):
            said += [user(f"Question {number}?"), *self.rounds[number]]
            if number < turn:
                new = mode == "free"
                words = f"Answer {number} it is." if new else f"Old {number}."
                said.append(answer(words, own=new and own))
        if first > 1:
            opening = f"To recap what we've decided so far:\n{RECAP}\n\n{said[0].text}"
            said[0] = replace(said[0], text=opening)
        return said


@pytest.fixture(scope="module", params=NAMES)
def record(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Record]:
    """Ten turns, recorded at each provider in turn."""
    path: Path = tmp_path_factory.mktemp("replay") / "sessions.db"
    with (
        pytest.MonkeyPatch.context() as patched,
        places(KEY) as found,
        Store.open(path) as store,
        telling(store, found) as story,
    ):
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            patched.delenv(name, raising=False)
        yield Record(story, found[request.param])


def played(record: Record, place: Place, mode: JobMode, **more: Any) -> tuple[Job, list[Any]]:
    """A replay that has come to its end, and what the place was sent for it."""
    store = record.story.store
    numbered(place)
    before = len(place.seen)
    job = replay(store, record.branch, place.config, mode=mode, **more)
    player = Player(record.story.runner)
    player.start(job.id)
    until(lambda: store.jobs.get(job.id).state != "running", 60)
    player.close()
    ended = store.jobs.get(job.id)
    assert (ended.state, ended.note) == ("done", "")
    seen = place.seen[before:]
    assert [one.refused for one in seen if one.refused] == []
    return ended, seen


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("mode", MODES)
def test_every_request_is_what_it_must_be(record: Record, target: str, mode: JobMode) -> None:
    place = record.story.places[target]
    job, seen = played(record, place, mode)
    messages = [bare(one.body[place.messages]) for one in seen]
    if mode == "forced" and target == record.place.name:
        # The very requests of the recording, thoughts and signatures and all.
        finals = [one for one in old(record) if one.role == "assistant" and not calls_of(one)]
        assert [bare(one.body) for one in seen] == [
            bare(record.asked[one.parent_id].body) for one in finals
        ]
    else:
        turns = range(1, TURNS + 1)
        wanted = [wire(target, record.before(turn, mode, own=True)) for turn in turns]
        assert messages == wanted
    heads = [{n: v for n, v in one.body.items() if n != place.messages} for one in seen]
    assert [bare(head) for head in heads] == [bare(heads[0])] * TURNS
    assert all(b"Be brief." in one.raw for one in seen)
    judge_tree(record, job, mode)


def judge_tree(record: Record, job: Job, mode: JobMode) -> None:
    """The new branch holds the same questions, the recorded rounds and the new answers."""
    store = record.story.store
    branch = branch_of(store, job)
    made, recorded = store.nodes.lineage(branch.tip_id), old(record)
    assert len(made) == len(recorded)
    answers = count(1)
    for new, was in zip(made, recorded, strict=True):
        assert new.id != was.id
        if new.role == "assistant" and not calls_of(new):
            assert (new.text, new.author) == (f"Answer {next(answers)} it is.", "model")
        else:
            assert (new.parts, new.author, new.source_id) == (was.parts, was.author, was.id)
            assert new.raw is None
    runs = [run_of(store, step) for step in store.jobs.steps(job.id)]
    reads = [was.parent_id for was in recorded if was.role == "assistant" and not calls_of(was)]
    assert [run.reads_id for run in runs] == (reads if mode == "forced" else [None] * TURNS)
    assert {run.branch_id for run in runs} == {branch.id}
    assert store.branches.get(record.branch).tip_id == record.tip


@pytest.mark.parametrize("mode", MODES)
def test_what_both_branches_share_is_sent_as_it_was(record: Record, mode: JobMode) -> None:
    """From turn 6 on: the recap stands above the fork, so that it holds in either mode."""
    place = record.place
    job, seen = played(record, place, mode, from_turn=6)
    assert len(seen) == TURNS - 5
    finals = [one for one in old(record) if one.role == "assistant" and not calls_of(one)]
    assert bare(seen[0].body) == bare(record.asked[finals[5].parent_id].body)
    for one in seen:
        assert RECAP.encode() in one.raw
        assert b"Question 1?" not in one.raw
    last = seen[-1].raw
    assert (b"Old 6." in last, b"Answer 1 it is." in last) == (mode == "forced", mode == "free")
    assert b"Old 5." in last
    branch = branch_of(record.story.store, job)
    shared = record.story.store.nodes.lineage(branch.tip_id)
    assert [n.id for n in shared[: shared.index(finals[4]) + 1]] == [
        n.id for n in old(record)[: old(record).index(finals[4]) + 1]
    ]


def test_a_free_replay_without_the_recorded_tools(record: Record) -> None:
    place = record.place
    _, seen = played(record, place, "free", tools_again=True)
    said: list[Said] = []
    for turn, one in enumerate(seen, 1):
        said.append(user(f"Question {turn}?"))
        assert bare(one.body[place.messages]) == wire(place.name, said)
        said.append(answer(f"Answer {turn} it is."))


# --- looking --------------------------------------------------------------------------------------


def old(record: Record) -> Sequence[Node]:
    return record.story.store.nodes.lineage(record.tip)


def calls_of(node: Node) -> list[ToolCall]:
    return [part for part in node.parts if isinstance(part, ToolCall)]


def branch_of(store: Store, job: Job) -> Branch:
    (line,) = store.jobs.lines(job.id)
    return store.branches.get(str(line.branch_id))


def run_of(store: Store, step: Step) -> Run:
    return store.runs.get(str(step.run_id))
