"""What the buttons of steering do: finish, budgets, drift, requirements, and what is asked
beside the conversation. Without Streamlit."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from core import Queued, Runner, View, consolidate, drift, requirements
from core.errors import UserError
from core.steering import finish_words
from core.tree import last_answer
from core.types import Node, Requirement
from pages.components.act import Act, Dialog, Result

_STAY = Result(stay=True)


# --- the planned turns ---


def _finish(runner: Runner, view: View, act: Act) -> Result:
    """Ask for the final version: as words in the composer, or with ``send`` at once."""
    words = finish_words(view.session)
    if not act.get("send"):
        return replace(_STAY, insert=words)
    sent = runner.send(view.branch.id, words, at=view.tip_id)
    return _STAY if isinstance(sent, Queued) else Result(branch=sent.branch_id)


def _finish_instead(runner: Runner, view: View, act: Act) -> Result:
    """What waits and the words that ask for the final version, together in the composer."""
    store = runner.store
    with store.write():
        taken = store.branches.take_queued(act["id"])
        store.attachments.hold(view.branch.id, taken["files"])
    return replace(_STAY, insert=f"{taken['text'].strip()}\n\n{finish_words(view.session)}")


def _go_past(runner: Runner, view: View, act: Act) -> Result:
    """Go on after the planned turns; on this branch nobody asks again."""
    runner.store.branches.go_past_budget(view.branch.id)
    sent = runner.send_queued(act["id"], at=view.tip_id)
    return _STAY if isinstance(sent, Queued) else Result(branch=sent.branch_id)


# --- drift and requirements ---


def _drift(runner: Runner, view: View, act: Act) -> Result:
    drift.check(runner, view.branch.id, view.lineage, config=view.config)
    return _STAY


def _come_back(runner: Runner, view: View, act: Act) -> Result:
    """Put the words that lead back to the objective into the composer."""
    verdict = drift.verdict_of(runner.store, runner.store.runs.get(act["run"]))
    if verdict is None:
        raise UserError("This check found nothing to come back to.", hint="Check once more.")
    return replace(_STAY, insert=drift.coming_back(view.session, verdict))


def _find(runner: Runner, view: View, act: Act) -> Result:
    """Have the model look for requirements in what the person wrote."""
    if not any(node.role == "user" for node in view.lineage):
        raise UserError("Nothing was asked for yet.", hint="Send a message first.")
    config = view.config
    call = requirements.requirements_call(view.lineage, config)
    runner.side(view.branch.id, call, config, "requirements", at=view.tip_id)
    return _STAY


def _add(runner: Runner, view: View, act: Act) -> Result:
    """Write a requirement down, for the last message of the person."""
    asked: list[Node] = [node for node in view.lineage if node.role == "user"]
    if not asked:
        raise UserError("A requirement belongs to a message.", hint="Send a message first.")
    if not act["text"].strip():
        raise UserError("A requirement needs words.", hint="Write what is asked for.")
    requirements.add(runner.store, asked[-1], act["text"])
    return _STAY


def _one(runner: Runner, view: View, act: Act) -> Requirement:
    one = runner.store.requirements.get(act["id"])
    if one.session_id != view.session.id:
        raise UserError("That requirement is of another session.", hint="Reload the page.")
    return one


def _reword(runner: Runner, view: View, act: Act) -> Result:
    if act["text"].strip() != (one := _one(runner, view, act)).text:
        runner.store.requirements.reword(one.id, act["text"])
    return _STAY


def _judge(runner: Runner, view: View, act: Act) -> Result:
    answer = last_answer(view.lineage)
    one = _one(runner, view, act)
    runner.store.requirements.judge(one.id, act["honoured"], answer.id if answer else None)
    return _STAY


def _drop(runner: Runner, view: View, act: Act) -> Result:
    runner.store.requirements.drop(_one(runner, view, act).id)
    return replace(_STAY, said="Dropped. It can be taken back at the end of the list.")


def _take_back(runner: Runner, view: View, act: Act) -> Result:
    runner.store.requirements.drop(_one(runner, view, act).id, dropped=False)
    return _STAY


# --- what is asked beside the conversation ---


def _restate(runner: Runner, view: View, act: Act) -> Result:
    words = consolidate.listed(view.lineage)
    if not words:
        raise UserError("Nothing was asked for on this branch yet.", hint="Send a message first.")
    return replace(_STAY, insert=words)


def _decisions(runner: Runner, view: View, act: Act) -> Result:
    if not view.lineage:
        raise UserError("Nothing was decided on this branch yet.", hint="Send a message first.")
    run = consolidate.ask(runner, view, consolidate.DECISIONS, "decisions")
    return _shown("decisions", view, run.id)


def _rewrite(runner: Runner, view: View, act: Act) -> Result:
    run = consolidate.rewrite(runner, view, act["text"])
    return _shown("rewrite", view, run.id, act["text"])


def _consolidate(runner: Runner, view: View, act: Act) -> Result:
    return _shown("consolidate", view, consolidate.consolidate(runner, view).id)


def _side_by_side(runner: Runner, view: View, act: Act) -> Result:
    """Two linked branches beside each other: the one shown, and the other that is named."""
    other = runner.store.branches.get(act["branch"])
    return replace(_STAY, dialog=Dialog(kind="reading", branch=view.branch.id, text=other.id))


def _shown(kind: str, view: View, run_id: str, text: str = "") -> Result:
    return replace(_STAY, dialog=Dialog(kind=kind, branch=view.branch.id, run=run_id, text=text))


ACTIONS: Mapping[str, Callable[[Runner, View, Act], Result]] = {
    "finish": _finish,
    "finish_instead": _finish_instead,
    "go_past": _go_past,
    "drift": _drift,
    "come_back": _come_back,
    "requirements": _find,
    "requirement_add": _add,
    "requirement_reword": _reword,
    "requirement_judge": _judge,
    "requirement_drop": _drop,
    "requirement_back": _take_back,
    "restate": _restate,
    "decisions": _decisions,
    "rewrite": _rewrite,
    "consolidate": _consolidate,
    "side_by_side": _side_by_side,
}
LOOKING = frozenset({"come_back", "restate", "side_by_side"})
"""Those that change nothing."""
