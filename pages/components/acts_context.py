"""What the buttons of the context do: pin and mute, look ahead, and what helps where it is more
than the model's window holds. Without Streamlit."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from core import Config, Queued, Runner, View
from core.errors import NotFound, UserError
from core.estimate import tokens_of
from core.overflow import turns_that_fit
from core.policies import POLICIES
from core.types import Override, OverrideKind, Run
from pages.components.act import Act, Dialog, Result

_STAY = Result(stay=True)
_SAID = {
    ("pin", True): "Pinned: it is always sent on this branch.",
    ("pin", False): "It is pinned no longer.",
    ("mute", True): "Muted: it is not sent on this branch. Its words stay where they are.",
    ("mute", False): "It is sent again.",
}


def _override(kind: OverrideKind, on: bool) -> Callable[[Runner, View, Act], Result]:
    def change(runner: Runner, view: View, act: Act) -> Result:
        node = runner.store.nodes.get(act["node"])
        if node.session_id != view.session.id:
            raise NotFound("There is no such message in this session.")
        override = Override(kind=kind, target_id=node.id)
        runner.store.recaps.override(view.branch.id, override, on=on)
        return replace(_STAY, said=_SAID[kind, on])

    return change


def _preview(runner: Runner, view: View, act: Act) -> Result:
    return replace(_STAY, dialog=Dialog(kind="preview", branch=view.branch.id))


def choose(runner: Runner, view: View, policy: str, keep: int) -> None:
    """Let the branch send by this policy from now on. Raises ``UserError`` for an unknown one."""
    if policy not in POLICIES:
        raise UserError(
            f"This Turntree knows no context policy called {policy!r}.", hint="Choose another."
        )
    runner.store.branches.choose_policy(view.branch.id, policy, keep)


# --- more than the window holds ---


def _send_last(runner: Runner, view: View, act: Act) -> Result:
    """Send what waits, and from now on only the last turns with it."""
    words = runner.store.branches.waiting(act["id"])["text"]
    keep = turns_that_fit(runner.store, view, round(tokens_of(words)))
    choose(runner, view, "last", keep)
    return replace(_queued(runner, view, act), said=_only_last(keep))


def _send_larger(runner: Runner, view: View, act: Act) -> Result:
    """Choose a model with a larger window, and send what waits."""
    config = _with_model(view.session.config, act)
    runner.store.sessions.choose(view.session.id, config)
    return replace(_queued(runner, view, act), said=f"{act['model']} answers from now on.")


def _queued(runner: Runner, view: View, act: Act) -> Result:
    sent = runner.send_queued(act["id"], at=view.tip_id)
    return _STAY if isinstance(sent, Queued) else Result(branch=sent.branch_id)


def _retry_last(runner: Runner, view: View, act: Act) -> Result:
    """Ask once more, with only the last turns before the question."""
    run = runner.store.runs.get(act["run"])
    before = replace(view, lineage=view.lineage[:-1])
    question = view.lineage[-1].text if view.lineage else ""
    keep = turns_that_fit(runner.store, before, round(tokens_of(question)))
    choose(runner, view, "last", keep)
    again = runner.retry(run.id, config=replace(run.config, policy="last", keep_turns=keep))
    return replace(_watch(again), said=_only_last(keep))


def _retry_larger(runner: Runner, view: View, act: Act) -> Result:
    """Choose a model with a larger window, and ask once more."""
    run = runner.store.runs.get(act["run"])
    runner.store.sessions.choose(view.session.id, _with_model(view.session.config, act))
    again = runner.retry(run.id, config=_with_model(run.config, act))
    return replace(_watch(again), said=f"{act['model']} answers from now on.")


def _with_model(config: Config, act: Act) -> Config:
    # Knobs set for one model may not exist on another: they are left unset.
    return replace(config, provider=act["provider"], model=act["model"], sampling={})


def _only_last(keep: int) -> str:
    turns = {0: "no earlier turn", 1: "the last turn"}.get(keep, f"the last {keep} turns")
    return f"This branch now sends {turns} with each message. Change it under Context."


def _watch(run: Run) -> Result:
    return Result(branch=run.branch_id, run=run.id)


CONFIGURES = frozenset({"send_last", "send_larger", "retry_last", "retry_larger", "without"})
"""Acts that change what the settings' controls show."""

ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {
    "pin": _override("pin", True),
    "unpin": _override("pin", False),
    "mute": _override("mute", True),
    "unmute": _override("mute", False),
    "preview": _preview,
    "send_last": _send_last,
    "send_larger": _send_larger,
    "retry_last": _retry_last,
    "retry_larger": _retry_larger,
}
