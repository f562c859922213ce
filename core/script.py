"""A conversation from the library, played turn by turn: the first is sent, the others wait.

The queue is the branch's own, so that whoever looks sees it, and each turn goes out when the
answer before it is there. A script that is paused, or whose answer failed, waits for a person.
"""

from collections.abc import Sequence

from core.branching import fork
from core.errors import NotFound, TurntreeError, UserError
from core.runner import Queued, Runner
from core.store.branches import QueueState
from core.types import Run


def play(
    runner: Runner, branch_id: str, turns: Sequence[str], *, at: str | None, held: bool = False
) -> str:
    """Play the turns on the branch, after ``at``; returns the branch they are on.

    Where ``at`` is not the branch's tip, they go on from there on a branch of their own. While
    an answer is on its way all of them wait for it. ``held`` sends nothing yet. Raises
    ``UserError`` for no turns or a blank one; nothing is queued then.
    """
    if not turns or not all(turn.strip() for turn in turns):
        raise UserError("There is a turn without words.", hint="Write it, or remove it.")
    store = runner.store
    with store.write():  # so that no answer ends between the look and the queue
        branch = store.branches.get(branch_id)
        if at is not None and at != branch.tip_id:
            branch = fork(store, at, from_branch=branch_id)
        state: QueueState = "held" if held else "waiting"
        first, *_ = [store.branches.enqueue(branch.id, turn, state) for turn in turns]
        busy = runner.answering(branch.id, branch.tip_id) is not None
    if not held and not busy:
        _send(runner, branch.id, first)
    return branch.id


def pause(runner: Runner, branch_id: str) -> None:
    """Send nothing more by itself; an answer on its way goes on."""
    runner.store.branches.hold_queue(branch_id)


def resume(runner: Runner, branch_id: str) -> Run | None:
    """Go on: what is held waits again, and the first is sent unless an answer is on its way.

    Returns the run it began, if any.
    """
    store = runner.store
    with store.write():
        store.queue.set_all(branch_id, "waiting", "held")
        branch = store.branches.get(branch_id)
        busy = runner.answering(branch_id, branch.tip_id) is not None
        waiting = store.queue.ids(branch_id, "waiting")
    return _send(runner, branch_id, waiting[0]) if waiting and not busy else None


def stop(runner: Runner, branch_id: str) -> int:
    """Take everything out of the queue; how much it was. The words stay, *stopped*."""
    return runner.store.queue.set_all(branch_id, "stopped", "waiting", "held")


def put_back(runner: Runner, branch_id: str) -> int:
    """Put back what was stopped, held until a person lets it go on."""
    return runner.store.queue.set_all(branch_id, "held", "stopped")


def take_stopped(runner: Runner, branch_id: str) -> str:
    """Take what was stopped away from the branch, as one text in the order it was queued."""
    store = runner.store
    with store.write():
        taken = [store.branches.take_queued(one) for one in store.queue.ids(branch_id, "stopped")]
        for one in taken:
            store.attachments.hold(branch_id, one["files"])
    return "\n\n".join(one["text"] for one in taken)


def _send(runner: Runner, branch_id: str, queued_id: str) -> Run | None:
    try:
        sent = runner.send_queued(queued_id)
    except NotFound:
        return None  # the answer before it came at this moment, and sent it
    except TurntreeError:
        pause(runner, branch_id)
        raise
    return None if isinstance(sent, Queued) else sent
