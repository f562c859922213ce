"""The ways to ask one item, each through the product's own runner and context policies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.lab.items import Item
from core import Config, Run, Runner, Text, show
from core.branching import new_node
from core.consolidate import consolidate, open_clean
from core.errors import TurntreeError
from core.policies import restated
from core.types import Role, text_of


class Halt(TurntreeError):
    """A call failed: nothing is written of the conversation it belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of one conversation. ``answers`` are all of the model's, the last one counts."""

    answers: tuple[str, ...]
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The model that is asked. ``turn_tokens`` bounds an answer that others follow."""

    provider: str
    model: str
    max_tokens: int
    turn_tokens: int
    sampling: Mapping[str, float | int] = field(default_factory=dict)

    def config(self, item: Item, policy: str, *, last: bool) -> Config:
        most = self.max_tokens if last else min(self.turn_tokens, self.max_tokens)
        return Config(
            provider=self.provider,
            model=self.model,
            system=item.system,
            sampling={**self.sampling, "max_tokens": most},
            policy=policy,
        )


class Talk:
    """One conversation about an item, in a session of its own."""

    def __init__(self, runner: Runner, subject: Subject, item: Item) -> None:
        self._runner, self._subject, self._item = runner, subject, item
        config = subject.config(item, "full", last=True)
        self._session = runner.store.sessions.create(config=config, title=item.id)
        self._branch = str(self._session.current_branch_id)

    def heard(self, role: Role, text: str) -> None:
        """Take down what was said before, or elsewhere; no model is asked."""
        store = self._runner.store
        with store.write():
            tip = store.branches.get(self._branch).tip_id
            author = "person" if role == "user" else "model"
            node = new_node(self._session.id, tip, role, (Text(text=text),), author=author)
            store.nodes.add(node)
            store.branches.move(self._branch, node.id, why="send")

    def say(self, text: str, policy: str = "full", *, last: bool = True) -> Run:
        """Send words and wait for the answer. Raises :class:`Halt`."""
        config = self._subject.config(self._item, policy, last=last)
        run = self._runner.send(self._branch, text, config=config)
        return self._ended(self._runner.wait(run.id))

    def consolidated(self) -> Run:
        """Have all that was asked for gathered, beside the conversation."""
        view = show(self._runner.store, self._session.id, branch_id=self._branch)
        return self._ended(self._runner.wait(consolidate(self._runner, view).id))

    def afresh(self, prompt: str) -> Run:
        """Begin anew with one prompt, on a clean branch."""
        run = open_clean(self._runner, self._branch, prompt)
        return self._ended(self._runner.wait(run.id))

    def answer(self, run: Run) -> str:
        """The words of an answer."""
        if run.node_id is None:
            return text_of(run.partial)
        return self._runner.store.nodes.get(run.node_id).text

    def _ended(self, run: Run) -> Run:
        if run.failure is not None:
            raise Halt(run.failure.message, hint=run.failure.hint)
        if run.finish_reason in ("error", "cut_off", "interrupted", "stopped"):
            raise Halt(f"The answer ended early: {run.finish_reason}.")
        return run


Way = Callable[[Runner, Subject, Item, tuple[str, ...]], Asked]


def _at_once(runner: Runner, subject: Subject, item: Item, _: tuple[str, ...]) -> Asked:
    talk = Talk(runner, subject, item)
    run = talk.say(item.full)
    return Asked(answers=(talk.answer(run),), runs=(run,))


def _in_one_list(runner: Runner, subject: Subject, item: Item, _: tuple[str, ...]) -> Asked:
    talk = Talk(runner, subject, item)
    *before, last = item.shards
    for shard in before:
        talk.heard("user", shard)
    run = talk.say(last, "concat")
    return Asked(answers=(talk.answer(run),), runs=(run,))


def _turn_by_turn(policy: str) -> Way:
    def way(runner: Runner, subject: Subject, item: Item, _: tuple[str, ...]) -> Asked:
        talk = Talk(runner, subject, item)
        *before, last = item.shards
        runs = [talk.say(shard, policy, last=False) for shard in before]
        runs.append(talk.say(last, policy))
        return Asked(answers=tuple(map(talk.answer, runs)), runs=tuple(runs))

    return way


def _restated(runner: Runner, subject: Subject, item: Item, answers: tuple[str, ...]) -> Asked:
    talk = _again(runner, subject, item, answers)
    run = talk.say(restated(item.shards))
    return Asked(answers=(talk.answer(run),), runs=(run,))


def _consolidated(runner: Runner, subject: Subject, item: Item, answers: tuple[str, ...]) -> Asked:
    talk = _again(runner, subject, item, answers)
    aside = talk.consolidated()
    draft = talk.answer(aside)
    run = talk.afresh(draft if draft.strip() else item.shards[0])
    return Asked(answers=(draft, talk.answer(run)), runs=(aside, run))


def _again(runner: Runner, subject: Subject, item: Item, answers: tuple[str, ...]) -> Talk:
    """The conversation turn by turn as it went, without asking anyone."""
    talk = Talk(runner, subject, item)
    for shard, answer in zip(item.shards, answers, strict=True):
        talk.heard("user", shard)
        talk.heard("assistant", answer)
    return talk


MODES: Mapping[str, Way] = {
    "full": _at_once,
    "concat": _in_one_list,
    "sharded": _turn_by_turn("full"),
    "restate": _restated,
    "snowball": _turn_by_turn("snowball"),
    "yours": _turn_by_turn("yours"),
    "consolidate": _consolidated,
}
FOLLOWS = ("restate", "consolidate")
"""Modes that go on where *sharded* ended, with the very same conversation."""
