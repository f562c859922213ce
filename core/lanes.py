"""Lanes: one prompt to several models, each on a branch of its own.

The lanes of a fan-out share the person's message and nothing after it: what a lane is sent is the
lineage of its own branch. Lanes of one model share a prompt cache, so the first of them may go
ahead; the others follow with its first word.
"""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Thread

from core.branching import new_node
from core.errors import TurntreeError, UserError
from core.files import heading, message
from core.launcher import Beside
from core.runner import Queued, Runner
from core.steering import check, reminder
from core.store import Store
from core.tree import free_name
from core.types import AttachmentRef, Branch, Comparison, Config, Lane, Node, Run, now

MOST_LANES = 12
_log = logging.getLogger("turntree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A kind of lane: its config, and how many samples of it. ``name`` is made if empty."""

    config: Config
    samples: int = 1
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """A fan-out that has begun. ``late`` are the lanes that wait for another's first word."""

    comparison: Comparison
    lanes: tuple[Lane, ...]
    late: tuple[Lane, ...] = field(default=())


def fan_out(
    runner: Runner,
    branch_id: str,
    at: str | None,
    text: str,
    wishes: Sequence[Wish],
    *,
    files: tuple[AttachmentRef, ...] = (),
    warm: bool = True,
    reuse: bool = False,
) -> Fan:
    """Send words under ``at`` (None is the root) to every wished lane.

    ``branch_id`` is the branch that the person saw: its overrides hold in every lane. With
    ``warm`` the first lane of a model goes ahead of its siblings. ``reuse`` takes stored answers
    to the same requests. Raises ``UserError`` for blank words, for no lane or too many, and
    where a budget is used up; nothing is made then.
    """
    store = runner.store
    parts = message(text, files)
    count = _counted(wishes)
    source = store.branches.get(branch_id)
    session = store.sessions.get(source.session_id)
    check(store, session)
    turn = 1 + sum(node.role == "user" for node in store.nodes.lineage(at))
    asked = new_node(session.id, at, "user", parts, sent_suffix=reminder(session, turn))
    with store.write():
        store.nodes.add(asked)
        store.sessions.touch(session.id, heading(parts))
        seed = secrets.randbelow(2**31)
        name = _title(text, count)
        comparison = store.comparisons.create(session.id, name, at_id=asked.id, seed=seed)
        lanes = [
            lane
            for wish in wishes
            for lane in _new_lanes(store, comparison, source, asked, wish, warm=warm)
        ]
    return _begin(runner, comparison, lanes, reuse=reuse)


def _counted(wishes: Sequence[Wish]) -> int:
    count = sum(wish.samples for wish in wishes)
    if not wishes or any(wish.samples < 1 for wish in wishes):
        raise UserError("There is no lane to send to.", hint="Choose a model.")
    if count > MOST_LANES:
        raise UserError(
            f"{count} lanes are more than {MOST_LANES}.", hint="Take fewer samples, or a matrix."
        )
    return count


def _title(text: str, count: int) -> str:
    line = " ".join(text.split())
    short = f"{line[:59]}…" if len(line) > 60 else line
    return short or f"{count} lanes"


def _new_lanes(
    store: Store,
    comparison: Comparison,
    source: Branch,
    asked: Node,
    wish: Wish,
    *,
    warm: bool,
) -> list[Lane]:
    made: list[Lane] = []
    ahead = _ahead(store, comparison, wish.config) if warm else None
    for sample in range(wish.samples):
        name = wish.name or wish.config.model or wish.config.provider
        if wish.samples > 1:
            name = f"{name} · {sample + 1}"
        branch = lane_branch(store, source, asked, name, wish.config)
        lane = store.comparisons.add_lane(
            comparison.id, branch.id, sample=sample, after=ahead if warm else None
        )
        ahead = ahead or lane.id
        made.append(lane)
    return made


def _ahead(store: Store, comparison: Comparison, config: Config) -> str | None:
    """The first lane of the same model: what it has the provider read is warm for the others."""
    for lane in store.comparisons.lanes(comparison.id):
        own = store.branches.get(lane.branch_id).config
        if own and (own.provider, own.model) == (config.provider, config.model):
            return lane.id
    return None


def lane_branch(
    store: Store, source: Branch, tip: Node | None, name: str, config: Config
) -> Branch:
    """A branch at ``tip`` with a config of its own, and the overrides of ``source``."""
    taken = store.branches.names(source.session_id)
    branch = store.branches.create(
        source.session_id,
        free_name(name[:60], taken),
        tip.id if tip else None,
        forked_from=tip.parent_id if tip and tip.role == "user" else (tip.id if tip else None),
    )
    store.branches.inherit(source.id, branch.id)
    store.branches.choose_policy(branch.id, None, None)
    store.branches.choose_config(branch.id, config)
    return store.branches.get(branch.id)


# --- asking ---------------------------------------------------------------------------------------


def _begin(runner: Runner, comparison: Comparison, lanes: Sequence[Lane], *, reuse: bool) -> Fan:
    late = [lane for lane in lanes if lane.after is not None]
    first = {lane.id: _asked(runner, lane, reuse) for lane in lanes if lane.after is None}
    for leader in {lane.after for lane in late}:
        behind = [lane for lane in late if lane.after == leader]
        run = first.get(str(leader))
        Thread(
            target=_follow,
            args=(runner, run, behind, reuse),
            name="turntree-warming",
            daemon=True,
        ).start()
    runner.announce(comparison.session_id)
    return Fan(comparison=comparison, lanes=tuple(lanes), late=tuple(late))


def _follow(runner: Runner, leader: Run | None, behind: Sequence[Lane], reuse: bool) -> None:
    """Ask the lanes behind once their leader's first word is there, or none will come."""
    live = runner.live(leader.id) if leader else None
    if live is not None:
        live.more_than(0)
    for lane in behind:
        if runner.closed:
            return
        try:
            _asked(runner, lane, reuse)
        except RuntimeError:  # the app is closing
            return


def _asked(runner: Runner, lane: Lane, reuse: bool) -> Run | None:
    """Ask a new lane. One that cannot be asked (its siblings have just used up a budget) is
    shown as not asked yet, with a button that asks."""
    try:
        return ask(runner, lane, reuse=reuse)
    except TurntreeError:
        _log.exception("a lane could not be asked")
        return None


def ask(runner: Runner, lane: Lane, *, reuse: bool = False) -> Run | None:
    """Have a lane answer the person's message that it stands at; None if it stands at none, or
    is being answered."""
    branch = runner.store.branches.get(lane.branch_id)
    tip = runner.store.nodes.get(branch.tip_id) if branch.tip_id else None
    if tip is None or tip.role != "user" or runner.answering(branch.id, tip.id):
        return None
    beside = Beside(reuse=reuse)
    return runner.answer(branch.id, tip.id, sample=lane.sample, beside=beside)


def follow_up(
    runner: Runner,
    comparison_id: str,
    text: str,
    *,
    only: Sequence[str] | None = None,
    files: tuple[AttachmentRef, ...] = (),
) -> list[Run | Queued]:
    """Say the same in every lane, or in those whose ids are in ``only``: each continues on its
    own history. In a lane that is being answered the words wait their turn; one that was never
    asked is asked first.

    Raises ``UserError`` for blank words or no lane. Where a later lane cannot be asked (the ones
    before have just used up a budget) the words are held in it: nobody has to say them again to
    those that have heard them.
    """
    message(text, files)
    lanes = runner.store.comparisons.lanes(comparison_id)
    chosen = [lane for lane in lanes if only is None or lane.id in only]
    if not chosen:
        raise UserError("No lane is ticked.", hint="Tick the lanes that are to go on.")
    at = runner.store.comparisons.get(comparison_id).at_id
    for lane in chosen:
        if at is not None and runner.store.runs.last_from(at, lane.branch_id) is None:
            ask(runner, lane)
    sent: list[Run | Queued] = []
    for lane in chosen:
        try:
            sent.append(runner.send(lane.branch_id, text, files=files))
        except TurntreeError:
            if not sent:
                raise
            _log.exception("a lane could not be asked")
            held = runner.store.branches.enqueue(lane.branch_id, text, "held", files=files)
            sent.append(Queued(id=held, branch_id=lane.branch_id))
    return sent


def side_by_side(store: Store, session_id: str, branch_ids: Sequence[str]) -> Comparison:
    """Put branches of a session beside each other; the same ones are found again.

    Raises ``UserError`` for fewer than two.
    """
    wanted = list(dict.fromkeys(branch_ids))
    if len(wanted) < 2:
        raise UserError("Two branches are the least to compare.", hint="Choose another one.")
    with store.write():
        for known in store.comparisons.of(session_id):
            there = store.comparisons.lanes(known.id)
            if {lane.branch_id for lane in there} == set(wanted):
                return known
        names = [store.branches.get(branch_id).name for branch_id in wanted]
        seed = secrets.randbelow(2**31)
        made = store.comparisons.create(session_id, " · ".join(names)[:80], seed=seed)
        for branch_id in wanted:
            store.comparisons.add_lane(made.id, branch_id)
        return made


def join(store: Store, comparison_id: str, branch_id: str) -> Lane:
    """Add a branch that is there as a lane; one that was dropped comes back."""
    with store.write():
        for lane in store.comparisons.lanes(comparison_id, dropped=True):
            if lane.branch_id == branch_id:
                store.comparisons.drop(lane.id, None)
                return lane
        return store.comparisons.add_lane(comparison_id, branch_id)


def drop(runner: Runner, lane_id: str) -> None:
    """Take a lane out; its answer on the way is stopped, its branch stays in the tree."""
    lane = runner.store.comparisons.lane(lane_id)
    for live in runner.lives():
        if live.run.branch_id == lane.branch_id:
            runner.stop(live.run.id)
    runner.store.comparisons.drop(lane.id, now())


def keep(runner: Runner, lane_id: str) -> Branch:
    """Go on with one lane: its branch becomes the session's current one."""
    store = runner.store
    lane = store.comparisons.lane(lane_id)
    branch = store.branches.get(lane.branch_id)
    with store.write():
        store.comparisons.keep(lane.id)
        store.sessions.change(branch.session_id, current_branch_id=branch.id)
    runner.announce(branch.session_id)
    return branch


def unkeep(runner: Runner, comparison: Comparison) -> None:
    """Take back that a lane was kept. The session stays where it is: it may have gone on."""
    runner.store.comparisons.unkeep(comparison.id)
    runner.announce(comparison.session_id)
