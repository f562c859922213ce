"""What the thread's and the tree's buttons do: plain functions from an act to a new place.

An element sends one dictionary, ``{"action": "fork", "node": …}``. Nothing here knows of
Streamlit; :func:`perform` is what tests call.
"""

from collections.abc import Callable
from dataclasses import replace

from core import (
    Config,
    Queued,
    Runner,
    View,
    edit,
    fork,
    prune,
    prune_branch,
    restore,
    undo,
)
from core.errors import NotFound, UserError
from core.files import reworded
from core.meter import count
from core.store.branches import QueueState
from core.tree import previous_user_turn
from core.types import Run, now
from pages.components import (
    acts_context,
    acts_diff,
    acts_export,
    acts_merge,
    acts_queue,
    acts_recap,
    acts_replay,
    acts_steering,
)
from pages.components.act import Act as Act
from pages.components.act import Result as Result

_STAY = Result(stay=True)
_UNDONE = {
    "send": "Took back the last turn. It is still in the tree.",
    "answer": "Back at the answer before.",
    "edit": "Back at the version before the edit.",
    "bin": "Restored from the bin.",
    "restore": "Took back the restore.",
}


def perform(runner: Runner, view: View, act: Act) -> Result:
    """Do what the person asked. Raises a ``TurntreeError`` that says why it cannot be done."""
    action = _ACTIONS.get(str(act.get("action")))
    if action is None:
        raise UserError(f"The page does not know {act.get('action')!r}.", hint="Reload the page.")
    result = action(runner, view, act)
    if act["action"] not in _LOOKING:
        runner.announce(view.session.id)
    return result


def _fork(runner: Runner, view: View, act: Act) -> Result:
    branch = fork(runner.store, act["node"], from_branch=view.branch.id)
    return Result(branch=branch.id, said=f"Forked as {branch.name!r}. Write what comes next.")


def _edit(runner: Runner, view: View, act: Act) -> Result:
    if act.get("send"):
        run = runner.edit_and_send(view.branch.id, act["node"], act["text"])
        return Result(branch=run.branch_id)
    if not act["text"].strip():
        raise UserError("A message cannot be empty.", hint="Bin it instead, or write something.")
    node = runner.store.nodes.get(act["node"])
    _, branch = edit(runner.store, view.branch.id, node.id, reworded(node.parts, act["text"]))
    return Result(branch=branch.id)


def _regenerate(runner: Runner, view: View, act: Act) -> Result:
    config: Config = view.config
    if act.get("model"):
        provider = act.get("provider") or config.provider
        # Knobs set for one model may not exist on another: they are left unset.
        same = (provider, act["model"]) == (config.provider, config.model)
        sampling = config.sampling if same else {}
        config = replace(config, provider=provider, model=act["model"], sampling=sampling)
    return _watch(runner.regenerate(view.branch.id, act["node"], config=config))


def _final(runner: Runner, view: View, act: Act) -> Result:
    runner.store.nodes.mark(act["node"], "final", now() if act.get("on") else None)
    return _STAY


def _bin(runner: Runner, view: View, act: Act) -> Result:
    below = runner.store.nodes.subtree(act["node"])
    _finish(runner, view, lambda run: run.context_tip_id in below)
    prune(runner.store, act["node"])
    session = runner.store.sessions.get(view.session.id)
    return Result(branch=session.current_branch_id, said="Moved to the bin. Undo brings it back.")


def _finish(runner: Runner, view: View, wanted: Callable[[Run], bool]) -> None:
    """Stop the answers on their way into the bin."""
    for live in runner.live_in(view.session.id):
        if wanted(live.run):
            runner.stop(live.run.id)
            live.done.wait(2)


def _bin_branch(runner: Runner, view: View, act: Act) -> Result:
    name = runner.store.branches.get(act["branch"]).name
    prune_branch(runner.store, act["branch"])
    _finish(runner, view, lambda run: run.branch_id == act["branch"])
    session = runner.store.sessions.get(view.session.id)
    stays = view.branch.id if act["branch"] != view.branch.id else session.current_branch_id
    return Result(branch=stays, said=f"Branch {name!r} is in the bin. It can be restored there.")


def _restore(runner: Runner, view: View, act: Act) -> Result:
    names = restore(runner.store, act["bin"])
    said = f"Restored {', '.join(map(repr, names))}." if names else "Restored."
    return replace(_STAY, said=said)


def _view(runner: Runner, view: View, act: Act) -> Result:
    return Result(node=act["node"])


def _branch(runner: Runner, view: View, act: Act) -> Result:
    branch = runner.store.branches.get(act["branch"])
    runner.store.sessions.change(view.session.id, current_branch_id=branch.id)
    return Result(branch=branch.id)


def _rename(runner: Runner, view: View, act: Act) -> Result:
    name = " ".join(str(act["name"]).split())[:80]
    if not name:
        raise UserError("A branch needs a name.", hint="Write one, or press Esc.")
    runner.store.branches.rename(act["branch"], name)
    return _STAY


def _undo(runner: Runner, view: View, act: Act) -> Result:
    undone = undo(runner.store, act.get("branch") or view.branch.id)
    if undone is None:
        return replace(_STAY, said="There is nothing to undo on this branch.")
    return Result(branch=view.branch.id, said=_UNDONE.get(undone, "Undone."))


def _stop(runner: Runner, view: View, act: Act) -> Result:
    runner.stop(act["run"])
    return _STAY


def _retry(runner: Runner, view: View, act: Act) -> Result:
    return _watch(runner.retry(act["run"]))


def _without(runner: Runner, view: View, act: Act) -> Result:
    """Turn off the setting that the provider would not take, and ask again."""
    run = runner.store.runs.get(act["run"])
    refused = run.failure.parameter if run.failure else None
    if refused is None:
        raise UserError("No setting is to blame for this.", hint="Read the message, then retry.")
    own = view.branch.config
    chosen = own or view.session.config
    same_model = (chosen.provider, chosen.model) == (run.config.provider, run.config.model)
    if same_model and chosen.sampling.get(refused) == run.config.sampling.get(refused):
        if own is not None:
            runner.store.branches.choose_config(view.branch.id, _rid(chosen, refused))
        else:
            runner.store.sessions.choose(view.session.id, _rid(chosen, refused))
    return _watch(runner.retry(run.id, config=_rid(run.config, refused)))


def _rid(config: Config, setting: str) -> Config:
    kept = {name: value for name, value in config.sampling.items() if name != setting}
    return replace(config, sampling=kept)


def _continue(runner: Runner, view: View, act: Act) -> Result:
    return _watch(runner.go_on(view.branch.id, act["node"]))


def _unqueue(runner: Runner, view: View, act: Act) -> Result:
    store = runner.store
    with store.write():
        taken = store.branches.take_queued(act["id"])
        store.attachments.hold(view.branch.id, taken["files"])
    return replace(_STAY, insert=taken["text"])


def _send_queued(runner: Runner, view: View, act: Act) -> Result:
    sent = runner.send_queued(act["id"])
    return _STAY if isinstance(sent, Queued) else Result(branch=sent.branch_id)


def _fork_offered(runner: Runner, view: View, act: Act) -> Result:
    """Accept the offer made to a message that starts with "Fork:"."""
    last = previous_user_turn(view.lineage)
    words = runner.store.branches.waiting(act["id"])["text"].strip()
    at = last.parent_id if last else view.tip_id
    sent = runner.send_queued(act["id"], text=words[len("fork:") :].strip() or words, at=at)
    return Result(branch=sent.branch_id)


def _drop_file(runner: Runner, view: View, act: Act) -> Result:
    """Take back a file that was to go with the next message."""
    runner.store.attachments.let_go(view.branch.id, [act["sha256"]])
    return _STAY


def _send_files(runner: Runner, view: View, act: Act) -> Result:
    """Send what waits beside the composer, without words."""
    sent = send_pending(runner, view, "")
    return _STAY if isinstance(sent, Queued) else Result(branch=sent.branch_id)


def send_pending(runner: Runner, view: View, words: str) -> Run | Queued:
    """Send words with the files that wait beside the composer; they wait no longer then."""
    files = runner.store.attachments.pending(view.branch.id)
    sent = runner.send(view.branch.id, words, files=files, at=view.tip_id, config=view.config)
    runner.store.attachments.let_go(view.branch.id, [file.sha256 for file in files])
    return sent


def offer(runner: Runner, view: View, words: str, kind: QueueState = "offer") -> None:
    """Let words wait for a click, with the files that go with them: what is offered depends on
    ``kind``, see :mod:`pages.components.offers`."""
    store = runner.store
    files = store.attachments.pending(view.branch.id)
    with store.write():
        store.branches.enqueue(view.branch.id, words, kind, files=files)
        store.attachments.let_go(view.branch.id, [file.sha256 for file in files])


def _compose(runner: Runner, view: View, act: Act) -> Result:
    return replace(_STAY, insert=act["text"])


def _count(runner: Runner, view: View, act: Act) -> Result:
    """Have the provider count the next send; the meter shows it until something is sent."""
    count(runner.store, view)
    return _STAY


def _sent(runner: Runner, view: View, act: Act) -> Result:
    """Show what was sent, of a run of this very session."""
    run = runner.store.runs.get(act["run"])
    if run.session_id != view.session.id:
        raise NotFound("There is no such run in this session.")
    return replace(_STAY, sent=run.id)


def _refresh(runner: Runner, view: View, act: Act) -> Result:
    return _STAY


def _watch(run: Run) -> Result:
    return Result(branch=run.branch_id, run=run.id)


_ACTIONS: dict[str, Callable[[Runner, View, Act], Result]] = {
    "fork": _fork,
    "edit": _edit,
    "regenerate": _regenerate,
    "final": _final,
    "bin": _bin,
    "bin_branch": _bin_branch,
    "restore": _restore,
    "view": _view,
    "branch": _branch,
    "rename": _rename,
    "undo": _undo,
    "stop": _stop,
    "retry": _retry,
    "without": _without,
    "continue": _continue,
    "unqueue": _unqueue,
    "send_queued": _send_queued,
    "fork_offered": _fork_offered,
    "drop_file": _drop_file,
    "send_files": _send_files,
    "compose": _compose,
    "count": _count,
    "sent": _sent,
    "refresh": _refresh,
    **acts_context.ACTIONS,
    **acts_diff.ACTIONS,
    **acts_export.ACTIONS,
    **acts_merge.ACTIONS,
    **acts_queue.ACTIONS,
    **acts_recap.ACTIONS,
    **acts_replay.ACTIONS,
    **acts_steering.ACTIONS,
}
_LOOKING = {"preview", "view", "branch", "compose", "count", "refresh", "sent", "stop"}
_LOOKING |= acts_diff.LOOKING | acts_export.LOOKING
_LOOKING |= acts_merge.LOOKING | acts_recap.LOOKING | acts_replay.LOOKING | acts_steering.LOOKING
