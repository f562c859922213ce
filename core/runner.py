"""The only way to call a model: durable runs that belong to the process, not to a page.

``start`` writes the run, a worker thread streams it, a keeper thread saves what has arrived a
few times a second, and the end writes answer, usage, branch and run state in one transaction.
Pages only look; reruns, reloads and closed tabs change nothing. Runs whose process died are
swept up as *interrupted*, with every saved word kept as a node.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import EllipsisType
from typing import Self

from core.asking import Prepared, path_to, prepare, ready, unsealed
from core.branching import edit, new_node
from core.context import config_for
from core.endpoints import reload
from core.errors import NotFound, UserError
from core.files import message, reworded
from core.launcher import ALONE, Beside, Launcher
from core.live import Outcome
from core.providers import adapter
from core.recap import choices_of
from core.recapping import recap_first
from core.steering import check, reminder
from core.store import Store
from core.types import AttachmentRef, Call, Config, Parts, Purpose, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A message kept for when the answer on its way is there."""

    id: str
    branch_id: str


class Runner(Launcher):
    """Starts, follows and stops runs. One for each process and database."""

    def __init__(self, store: Store) -> None:
        reload(store)
        super().__init__(store)
        store.branches.hold_forgotten()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what people ask for ---

    def send(
        self,
        branch_id: str,
        text: str,
        *,
        files: tuple[AttachmentRef, ...] = (),
        at: str | EllipsisType | None = ...,
        config: Config | None = None,
    ) -> Run | Queued:
        """Write the person's words and files under ``at`` and ask for an answer.

        ``at`` is the tip that the person saw, by default the branch's; ``None`` stands for the
        root of the session. If an answer to it is on its way, the words are queued; if the
        branch has moved on, they get a branch of their own. Raises ``UserError`` for blank text
        without a file.
        """
        parts = message(text, files)
        with self.store.write():  # so that no answer ends between the look and the queue
            branch = self.store.branches.get(branch_id)
            if at is ...:
                at = branch.tip_id
            if self.answering(branch_id, at):
                queued_id = self.store.branches.enqueue(branch_id, text, files=files)
                return Queued(id=queued_id, branch_id=branch_id)
        return self._send(branch_id, parts, self._caught_up(branch.tip_id, at), config)

    def edit_and_send(
        self, branch_id: str, node_id: str, text: str, *, config: Config | None = None
    ) -> Run:
        """Send a reworded version of a person's message, with the same files, as a sibling."""
        parts = reworded(self.store.nodes.get(node_id).parts, text)
        with self.store.write():
            node, branch = edit(self.store, branch_id, node_id, parts)
        return self._ask(branch.id, node.id, config)

    def regenerate(self, branch_id: str, node_id: str, *, config: Config | None = None) -> Run:
        """Ask again for an answer: to a person's message, or in place of an answer."""
        node = self.store.nodes.get(node_id)
        tip = node.parent_id if node.role == "assistant" else node.id
        if tip is None:
            raise UserError(
                "Nothing was asked before this message.", hint="Edit it, or send a message first."
            )
        return self._ask(branch_id, tip, config)

    def answer(
        self,
        branch_id: str,
        tip_id: str,
        *,
        config: Config | None = None,
        reads: str | None = None,
        sample: int = 0,
        beside: Beside = ALONE,
    ) -> Run:
        """Ask for an answer to a node that is there, on a branch that stands at it.

        ``reads`` sends the lineage that ends there in place of the node's own; ``sample`` tells
        apart the runs of one request. No recap goes first where another lineage is sent. Raises
        ``UserError`` where a budget is used up.
        """
        return self._ask(branch_id, tip_id, config, reads=reads, sample=sample, beside=beside)

    def retry(self, run_id: str, *, config: Config | None = None) -> Run:
        """Ask once more, as that run did; with another ``config`` if one is given."""
        run = self.store.runs.get(run_id)
        if run.context_tip_id is None:
            raise NotFound("What was asked is not there any more.")
        purpose: Purpose = "continue" if run.purpose == "continue" else "reply"
        return self._ask(
            run.branch_id,
            run.context_tip_id,
            config or run.config,
            purpose,
            reads=run.reads_id,
            sample=run.sample,
        )

    def go_on(self, branch_id: str, node_id: str, *, config: Config | None = None) -> Run:
        """*Continue* an answer that stopped early; both texts become one new node."""
        return self._ask(branch_id, node_id, config, "continue")

    def send_queued(
        self, queued_id: str, *, text: str | None = None, at: str | EllipsisType | None = ...
    ) -> Run | Queued:
        """Send a waiting message now, under the branch's tip or ``at``, perhaps reworded.

        It stays in the queue while an answer is still on its way. Raises ``NotFound`` if it
        was taken back meanwhile.
        """
        waiting = self.store.branches.waiting(queued_id)
        branch = self.store.branches.get(waiting["branch_id"])
        if at is ...:
            at = branch.tip_id
        if self.answering(branch.id, at):
            return Queued(id=queued_id, branch_id=branch.id)
        parts = message(text or waiting["text"], waiting["files"])
        return self._send(branch.id, parts, at, None, takes=queued_id)

    def side(
        self,
        branch_id: str,
        call: Call,
        config: Config,
        purpose: Purpose,
        *,
        at: str | None,
        write: Callable[[Run], None] | None = None,
    ) -> Run:
        """Ask something beside the conversation: no node comes of it.

        ``at`` is the node that it is about. The words stream as :meth:`live` tells, and stay in
        ``Run.partial``. ``write`` is called in the transaction that writes the run. Raises
        ``UserError`` where a budget is used up.
        """
        branch = self.store.branches.get(branch_id)
        session = self.store.sessions.get(branch.session_id)
        check(self.store, session)
        asked = ready(self.store, self.store.nodes.lineage(at), call, config)
        run = self._new_run(session.id, branch_id, at, purpose, config)
        live = self._begin(run, asked, session.objective, Beside(write=write))
        return self._launch(live, asked)

    def repeat(self, run_id: str, *, at: str) -> Run:
        """Send the very request of an older run once more, beside the conversation.

        ``at`` is the node that it is about; no node comes of it, the words stay in
        ``Run.partial``. Raises ``NotFound`` where the request is not known any more, and
        ``UserError`` where a budget is used up or the provider is not there any more.
        """
        older = self.store.runs.get(run_id)
        adapter(older.config.provider)
        session = self.store.sessions.get(older.session_id)
        check(self.store, session)
        request = self.store.runs.sent(run_id)
        if not request.envelope:
            raise NotFound("What was sent is not known any more.", hint="Ask for another answer.")
        asked = Prepared(request=request, sealed=unsealed)
        run = self._new_run(session.id, older.branch_id, at, "rerun", older.config)
        return self._launch(self._begin(run, asked, session.objective), asked)

    def stop(self, run_id: str) -> None:
        """Close the stream; what has arrived is kept as an answer marked *stopped*."""
        if live := self.live(run_id):
            live.stop.set()

    # --- inside ---

    def _caught_up(self, tip: str | None, at: str | None) -> str | None:
        """``at``, or the answer to it if that has come while the person was typing."""
        if tip is not None and tip != at:
            node = self.store.nodes.get(tip)
            if node.role == "assistant" and node.parent_id == at:
                return tip
        return at

    def _send(
        self,
        branch_id: str,
        parts: Parts,
        at: str | None,
        config: Config | None,
        takes: str | None = None,
    ) -> Run:
        session = self.store.sessions.get(self.store.branches.get(branch_id).session_id)
        turn = 1 + sum(node.role == "user" for node in self.store.nodes.lineage(at))
        said = reminder(session, turn)
        node = new_node(session.id, at, "user", parts, sent_suffix=said)
        beside = Beside(node=node, replaces=at, takes=takes)
        return self._ask(branch_id, node.id, config, beside=beside)

    def _ask(
        self,
        branch_id: str,
        tip_id: str,
        config: Config | None,
        purpose: Purpose = "reply",
        *,
        reads: str | None = None,
        sample: int = 0,
        beside: Beside = ALONE,
    ) -> Run:
        """Start a run that answers ``tip_id``, which ``beside`` may hold yet unwritten.

        What the person wrote is kept even when it cannot be asked: the run then has failed.
        A recap that is due goes first; its end begins the run that was asked for. Raises
        ``UserError`` where a budget is used up.
        """
        branch = self.store.branches.get(branch_id)
        session = self.store.sessions.get(branch.session_id)
        check(self.store, session)
        config = config or config_for(session, branch)
        lineage = path_to(self.store, reads or tip_id, beside.node)
        asked = None
        if purpose == "reply" and reads is None:
            asked = recap_first(self.store, branch, session, config, lineage)
        if asked is not None and asked.failure is None:
            purpose = "auto_recap"
        else:
            choices = choices_of(self.store, branch_id)
            asked = prepare(self.store, lineage, config, session, purpose, choices)
        run = self._new_run(
            session.id, branch_id, tip_id, purpose, config, reads=reads, sample=sample
        )
        live = self._begin(run, asked, session.objective, beside)
        return self._launch(live, asked)

    def _after(self, run: Run, outcome: Outcome) -> None:
        self._send_next(run, outcome)

    def _send_next(self, run: Run, outcome: Outcome) -> None:
        if outcome.finish_reason != "stop" or self._closed:
            return
        node_id = self.store.runs.get(run.id).node_id
        for branch in self.store.branches.with_tip_in([node_id] if node_id else []):
            for waiting in self.store.branches.queued(branch.id):
                if waiting["state"] == "waiting":
                    try:
                        self.send_queued(waiting["id"])
                    except UserError:  # a budget is used up: the person decides
                        self.store.branches.hold_queue(branch.id)
                        self.announce(run.session_id)
                    return
