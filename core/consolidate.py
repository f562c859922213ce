"""Consolidate, and other requests about the whole of a branch that are made beside it.

Models get lost when a task comes in pieces (Laban, Hayashi, Zhou and Neville, arXiv
2505.06120); the remedy is to gather everything into one prompt and start anew with it.
"""

from collections.abc import Sequence

from core.context import with_parts
from core.errors import UserError
from core.policies import restated
from core.recap import recap_call
from core.recapping import readable
from core.runner import Queued, Runner
from core.steering import check
from core.store import Store
from core.tree import free_name
from core.types import Branch, Node, Purpose, Run
from core.view import View

PROMPT = """\
Please consolidate everything I've told you so far, and everything we agreed on, into one \
prompt that stands on its own. It will be given to someone who knows nothing of this \
conversation.

- State the whole task first, then every requirement, constraint and preference I gave, and \
every decision we settled on; where I changed my mind, the latest version only.
- Keep every number, name, date, quoted wording and link as it is.
- Include material I gave that is needed for the task, word for word.
- Leave out your own suggestions that I did not take up, and do not solve the task.

Answer with the prompt alone, written as if I wrote it."""
DECISIONS = "Before we continue, summarize the key decisions we've made so far in a bullet list."
REWRITE = """\
Below is a draft of my next message. Rewrite it as one clear, complete instruction that says \
all that is meant, taking what it refers to ("it", "the second one", "as before") from our \
conversation. Keep every requirement, number and name; add none that is not there. Do not carry \
it out. Answer with the rewritten message alone.

The draft:
{draft}"""


def ask(runner: Runner, view: View, prompt: str, purpose: Purpose) -> Run:
    """Ask about the conversation so far, beside it: its messages as they stand, then the prompt."""
    config = view.config
    lineage = with_parts(view.lineage)
    choices = readable(runner.store, view.branch.id, config, lineage)
    call = recap_call(lineage, config, view.session, prompt=prompt, choices=choices)
    return runner.side(view.branch.id, call, config, purpose, at=view.tip_id)


def consolidate(runner: Runner, view: View) -> Run:
    """Have everything asked for along the branch gathered. Raises ``UserError`` for nothing."""
    if not asked_for(view.lineage):
        raise UserError("Nothing was asked for on this branch yet.", hint="Send a message first.")
    return ask(runner, view, PROMPT, "consolidate")


def asked_for(lineage: Sequence[Node]) -> list[str]:
    """What the person wrote along a branch."""
    return [node.text for node in lineage if node.role == "user" and node.text.strip()]


def listed(lineage: Sequence[Node]) -> str:
    """The same without a model: everything that was asked for, as the whole task."""
    asked = asked_for(lineage)
    return restated(asked) if len(asked) > 1 else "".join(asked)


def rewrite(runner: Runner, view: View, draft: str) -> Run:
    """Have a draft put as one instruction. Raises ``UserError`` for a blank one."""
    if not draft.strip():
        raise UserError("There is no draft to rewrite.", hint="Write a few words first.")
    return ask(runner, view, REWRITE.format(draft=draft.strip()), "rewrite")


def open_clean(runner: Runner, source_id: str, prompt: str) -> Run:
    """Send one prompt on a new branch from the root, linked to the branch it was gathered from.

    Raises ``UserError`` for a blank prompt or a budget that is used up; nothing is made then.
    """
    if not prompt.strip():
        raise UserError("The prompt is empty.", hint="Write what the branch is to begin with.")
    store = runner.store
    source = store.branches.get(source_id)
    check(store, store.sessions.get(source.session_id))
    with store.write():
        taken = [branch.name for branch in store.branches.of(source.session_id)]
        made = store.branches.create(
            source.session_id, free_name(f"{source.name} · consolidated", taken), None
        )
        store.branches.link(made.id, source.id)
        store.sessions.change(source.session_id, current_branch_id=made.id)
    run = runner.send(made.id, prompt, at=None)
    assert not isinstance(run, Queued)
    return run


def linked(store: Store, branch: Branch) -> tuple[list[Branch], list[Branch]]:
    """The branch that one was consolidated from, and those consolidated from it; none in the
    bin."""
    live = store.branches.of(branch.session_id)
    return (
        [one for one in live if one.id == branch.linked_to],
        [one for one in live if one.linked_to == branch.id],
    )
