"""What the buttons of the compare page do: plain functions, without Streamlit.

An element sends one dictionary, ``{"action": "keep", "lane": …}``. What a lane shares with the
playground (stop, retry, take back, …) is done by :mod:`pages.components.acts`.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence

from core import Branch, Queued, Runner, View, fork
from core.errors import NotFound, UserError
from core.files import Upload, sort_out
from core.lanes import ask, drop, follow_up, join, keep, side_by_side, unkeep
from core.store import Store
from core.store.attachments import files_in, files_json
from core.types import AttachmentRef, Comparison, Lane
from pages.components import acts
from pages.components.act import Act, Result

MOST_PICKED = 6
_STAY = Result(stay=True)
_AS_IN_THE_PLAYGROUND = {
    "continue",
    "queue_resume",
    "retry",
    "send_queued",
    "stop",
    "unqueue",
    "without",
}


def perform(runner: Runner, comparison: Comparison, act: Act) -> Result:
    """Do what the person asked. Raises a ``TurntreeError`` that says why it cannot be done.

    A result that does not stay leads to the playground.
    """
    name = str(act.get("action"))
    if name in _AS_IN_THE_PLAYGROUND:
        done = acts.perform(runner, view_of(runner, _lane(runner, comparison, act)), act)
        return Result(stay=True, said=done.said, insert=done.insert)
    if name not in _ACTIONS:
        raise UserError(f"The page does not know {name!r}.", hint="Reload the page.")
    result = _ACTIONS[name](runner, comparison, act)
    if name not in _LOOKING:
        runner.announce(comparison.session_id)
    return result


def view_of(runner: Runner, lane: Lane) -> View:
    """The lane as the playground would show it."""
    store = runner.store
    branch = store.branches.get(lane.branch_id)
    return View(
        session=store.sessions.get(branch.session_id),
        branch=branch,
        tip_id=branch.tip_id,
        lineage=store.nodes.lineage(branch.tip_id),
    )


def draft_key(comparison_id: str) -> str:
    """Under which words for the lanes are kept that did not go out."""
    return f"lanes.{comparison_id}"


def files_key(comparison_id: str) -> str:
    """Under which the files for the next follow-up are kept."""
    return f"lanes.files.{comparison_id}"


def files_of(store: Store, comparison_id: str) -> tuple[AttachmentRef, ...]:
    """What goes along with the next follow-up."""
    return files_in(store.drafts.get(files_key(comparison_id)))


def _lane(runner: Runner, comparison: Comparison, act: Act) -> Lane:
    lane = runner.store.comparisons.lane(str(act.get("lane")))
    if lane.comparison_id != comparison.id:
        raise NotFound("There is no such lane in this comparison.", hint="Reload the page.")
    return lane


def _named(runner: Runner, comparison: Comparison, lane: Lane) -> str:
    """The lane's name as a message may say it."""
    hidden = runner.store.comparisons.get(comparison.id).blind
    return "A lane" if hidden else repr(runner.store.branches.get(lane.branch_id).name)


# --- what the element sends -----------------------------------------------------------------


def _ask(runner: Runner, comparison: Comparison, act: Act) -> Result:
    ask(runner, _lane(runner, comparison, act))
    return _STAY


def _follow_up(runner: Runner, comparison: Comparison, act: Act) -> Result:
    """Send to the ticked lanes. The words are kept until they have gone out."""
    drafts, key = runner.store.drafts, draft_key(comparison.id)
    text = str(act.get("text", ""))
    drafts.keep(comparison.session_id, key, text)
    files = files_of(runner.store, comparison.id)
    sent = follow_up(runner, comparison.id, text, only=act.get("only"), files=files)
    drafts.drop(key)
    drafts.drop(files_key(comparison.id))
    waiting = sum(isinstance(one, Queued) for one in sent)
    return Result(stay=True, said=_queued(waiting, len(sent)))


def _attach(runner: Runner, comparison: Comparison, act: Act) -> Result:
    """Keep files for the next follow-up; those that cannot be taken are told of."""
    store = runner.store
    held = files_of(store, comparison.id)
    sizes = store.attachments.sizes(file.sha256 for file in held)
    uploads = [Upload(name=str(one["name"]), content=_bytes(one)) for one in act["files"]]
    good, bad = sort_out(uploads, count=len(held), size=sum(sizes.values()))
    with store.write():
        found = [store.attachments.add(file.name, file.media_type, file.content) for file in good]
        together = {file.sha256: file for file in (*held, *found)}
        _hold(store, comparison, tuple(together.values()))
    if bad:
        raise UserError(" ".join(one.message for one in bad), hint=bad[0].hint)
    return _STAY


def _bytes(told: Mapping[str, str]) -> bytes | None:
    try:
        return b64decode(told["data"], validate=True)
    except (KeyError, binascii.Error):
        return None


def _hold(store: Store, comparison: Comparison, files: tuple[AttachmentRef, ...]) -> None:
    key = files_key(comparison.id)
    if kept := files_json(files):
        store.drafts.keep(comparison.session_id, key, kept)
    else:
        store.drafts.drop(key)


def _drop_file(runner: Runner, comparison: Comparison, act: Act) -> Result:
    files = files_of(runner.store, comparison.id)
    _hold(runner.store, comparison, tuple(one for one in files if one.sha256 != act["sha256"]))
    return _STAY


def _queued(waiting: int, count: int) -> str:
    if not waiting:
        return ""
    if waiting == count:
        return "It goes out as soon as the answers on their way are there."
    lanes = "1 lane is" if waiting == 1 else f"{waiting} lanes are"
    return f"{lanes} still being answered: there it waits."


def _open(runner: Runner, comparison: Comparison, act: Act) -> Result:
    lane = _lane(runner, comparison, act)
    return Result(branch=lane.branch_id, node=act.get("node"))


def _keep(runner: Runner, comparison: Comparison, act: Act) -> Result:
    branch = keep(runner, _lane(runner, comparison, act).id)
    return Result(stay=True, said=f"Kept {branch.name!r}: the conversation goes on there.")


def _unkeep(runner: Runner, comparison: Comparison, act: Act) -> Result:
    name = _named(runner, comparison, _lane(runner, comparison, act))
    unkeep(runner, comparison)
    return Result(stay=True, said=f"{name!r} is not the kept lane any more.")


def _drop(runner: Runner, comparison: Comparison, act: Act) -> Result:
    lane = _lane(runner, comparison, act)
    name = _named(runner, comparison, lane)
    drop(runner, lane.id)
    return Result(stay=True, said=f"{name} is out of the comparison. It can be brought back.")


def _join(runner: Runner, comparison: Comparison, act: Act) -> Result:
    join(runner.store, comparison.id, _lane(runner, comparison, act).branch_id)
    return _STAY


def _rename(runner: Runner, comparison: Comparison, act: Act) -> Result:
    lane = _lane(runner, comparison, act)
    name = " ".join(str(act["name"]).split())[:80]
    if not name:
        raise UserError("A branch needs a name.", hint="Write one, or press Esc.")
    runner.store.branches.rename(lane.branch_id, name)
    return _STAY


def _sent(runner: Runner, comparison: Comparison, act: Act) -> Result:
    run = runner.store.runs.get(str(act["run"]))
    if run.session_id != comparison.session_id:
        raise NotFound("There is no such run in this session.")
    return Result(stay=True, sent=run.id)


def _refresh(runner: Runner, comparison: Comparison, act: Act) -> Result:
    return _STAY


_ACTIONS: Mapping[str, Callable[[Runner, Comparison, Act], Result]] = {
    "ask": _ask,
    "follow_up": _follow_up,
    "attach": _attach,
    "drop_file": _drop_file,
    "open": _open,
    "keep": _keep,
    "unkeep": _unkeep,
    "drop": _drop,
    "join": _join,
    "rename": _rename,
    "sent": _sent,
    "refresh": _refresh,
}
_LOOKING = {"open", "sent", "refresh"}


# --- what the page's own controls do --------------------------------------------------------


def compare(runner: Runner, session_id: str, branch_ids: Sequence[str]) -> Comparison:
    """Put branches side by side. Raises ``UserError`` for fewer than two or too many."""
    if len(branch_ids) > MOST_PICKED:
        raise UserError(
            f"{len(branch_ids)} branches are more than one can read side by side.",
            hint=f"Choose {MOST_PICKED} at most.",
        )
    made = side_by_side(runner.store, session_id, branch_ids)
    for lane in runner.store.comparisons.lanes(made.id, dropped=True):
        if lane.branch_id in branch_ids and lane.dropped_at is not None:
            join(runner.store, made.id, lane.branch_id)
    runner.announce(session_id)
    return made


def add_branch(runner: Runner, comparison: Comparison, branch_id: str) -> None:
    """One more lane: a branch that is there."""
    join(runner.store, comparison.id, branch_id)
    runner.announce(comparison.session_id)


def rename_comparison(runner: Runner, comparison: Comparison, name: str) -> None:
    """Give a comparison another name; a blank one is passed over."""
    name = " ".join(name.split())[:80]
    if name and name != comparison.name:
        runner.store.comparisons.rename(comparison.id, name)
        runner.announce(comparison.session_id)


def set_blind(runner: Runner, comparison: Comparison, blind: bool) -> None:
    """Hide the names and the order of the lanes, or show them."""
    runner.store.comparisons.set_blind(comparison.id, blind)
    runner.announce(comparison.session_id)


def ending_at(runner: Runner, node_id: str) -> Branch | None:
    """A branch whose last message this is."""
    return next(iter(runner.store.branches.with_tip_in([node_id])), None)


def compare_nodes(runner: Runner, session_id: str, node_ids: Sequence[str]) -> Comparison:
    """Put two messages of a session side by side, each with all that led to it.

    One that is no branch's last message gets a branch of its own; the session stays where it is.
    """
    store = runner.store
    session = store.sessions.get(session_id)
    with store.write():
        ids = []
        for node in store.nodes.many(node_ids):
            if node.session_id != session_id:
                raise NotFound("That message belongs to another session.")
            branch = ending_at(runner, node.id)
            if branch is None:
                source = session.current_branch_id or store.branches.of(session_id)[0].id
                branch = fork(store, node.id, from_branch=source)
            ids.append(branch.id)
        store.sessions.change(session_id, current_branch_id=session.current_branch_id)
        return compare(runner, session_id, ids)


def comparison_of(runner: Runner, branch_id: str) -> Comparison | None:
    """The latest comparison in which a branch is a lane that was not dropped."""
    for known in runner.store.comparisons.with_branch(branch_id):
        if any(lane.branch_id == branch_id for lane in runner.store.comparisons.lanes(known.id)):
            return known
    return None
