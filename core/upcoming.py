"""The next send as its branch would make it: which messages, what is changed about them, and the
recap that would be written first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.context import with_parts
from core.estimate import sums, tokens_of
from core.policies import Choices, Item, plan
from core.recap import choices_from, choices_of, uncovered
from core.steering import reminder
from core.store import Store
from core.types import AttachmentRef, Config, Node, Parts, Recap, Run, Text
from core.view import View
from core.weight import COMING, Weight, recap_guess, shortened, straight, weigh

UNWRITTEN = "[the recap that will be written first]"
_AS_IT_STANDS = ("full", "auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """``nodes`` are the messages of a lineage that have parts; the last is the one to come.

    ``cut`` is where a recap would be written before it is sent; ``choices`` hold it already, as a
    recap without words, and ``before`` is the one it would replace. ``recap`` is the estimated
    tokens of the recap in force.
    """

    config: Config
    nodes: tuple[Node, ...]
    choices: Choices
    cut: Node | None = None
    before: Recap | None = None
    recap: float = 0.0

    @property
    def straight(self) -> bool:
        """Whether every message is sent as it stands."""
        return self.config.policy in _AS_IT_STANDS and not self.choices

    @property
    def coming(self) -> Node:
        """The message that is yet to be written."""
        return self.nodes[-1]

    @property
    def written(self) -> Choices:
        """The choices without a recap that has no words yet."""
        return self.choices if self.cut is None else replace(self.choices, recap=self.before)

    def items(self) -> tuple[Item, ...]:
        """The plan of what is sent."""
        return plan(self.config.policy, self.nodes, self.choices, self.config.keep_turns)

    def weight(self) -> Weight:
        """What it weighs, by estimate; files are left out where every message stands as it is."""
        if self.straight:
            return straight(self.nodes)
        return weigh(self.items(), self.nodes, self.recap)

    def total(self) -> float:
        """The sum of that; of messages that stand as they are after a recap, without a plan."""
        cut = self.cut
        alone = self.config.policy in _AS_IT_STANDS and not self.choices.pinned | self.choices.muted
        if cut is None or not alone:
            return self.weight().total
        start = 1 + next(i for i, node in enumerate(self.nodes) if node.id == cut.id)
        return shortened(self.nodes, start, self.recap)


def upcoming(
    store: Store,
    view: View,
    config: Config | None = None,
    *,
    recapped: bool = False,
    words: Parts = (),
) -> Upcoming:
    """The next send of a view. ``words`` are those of the coming message, where they are known.

    ``recapped`` asks for it as after a recap, which the policy *auto* has written by itself.
    """
    config = config or view.config
    nodes = (*with_parts(view.lineage), coming(store, view, words))
    found = Upcoming(config=config, nodes=nodes, choices=choices_of(store, view.branch.id))
    if recapped or config.policy == "auto":
        found = _after_recap(store, found)
    if found.choices.recap is not None and found.cut is None:
        found = replace(found, recap=tokens_of(found.choices.recap.text))
    return found


def coming(store: Store, view: View, words: Parts = ()) -> Node:
    """The message that is yet to be written, with the files that wait for it."""
    turn = 1 + sum(node.role == "user" for node in view.lineage)
    held: tuple[AttachmentRef, ...] = store.attachments.pending(view.branch.id)
    return Node(
        id=COMING,
        session_id=view.session.id,
        parent_id=view.tip_id,
        role="user",
        parts=(*held, *(words or (Text(text=""),))),
        author="person",
        created_at="",
        sent_suffix=reminder(view.session, turn),
    )


def _after_recap(store: Store, before: Upcoming) -> Upcoming:
    """As :func:`core.recap.due` has it, without changing anything."""
    nodes = before.nodes
    active = before.choices.recap
    cut = uncovered(nodes, before.config.keep_turns, active)
    if cut is None:
        return before
    known = store.recaps.covering([cut.id])
    if known:
        return replace(before, choices=replace(before.choices, recap=known[-1]))
    unwritten = Recap(
        id="unwritten", session_id=cut.session_id, covers_to=cut.id, text=UNWRITTEN, created_at=""
    )
    covered = sums(nodes[:-1])[nodes.index(cut) + 1][0]
    choices = replace(before.choices, recap=unwritten)
    return replace(before, choices=choices, cut=cut, before=active, recap=recap_guess(covered))


def items_of(store: Store, run: Run, nodes: Sequence[Node]) -> tuple[Item, ...]:
    """The plan of what a run has sent of ``nodes``, which end with what it answered."""
    choices = choices_from(store, run.overrides)
    return plan(run.config.policy, nodes, choices, run.config.keep_turns)


def weight_of(store: Store, run: Run, nodes: Sequence[Node]) -> Weight:
    """What that weighed, by estimate."""
    if went_straight(run):
        return straight(nodes)
    recap = choices_from(store, run.overrides).recap
    return weigh(items_of(store, run, nodes), nodes, tokens_of(recap.text) if recap else 0.0)


def went_straight(run: Run) -> bool:
    """Whether a run has sent every message as it stands."""
    return run.config.policy in _AS_IT_STANDS and not run.overrides
