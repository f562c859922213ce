"""The only way to call a model: durable runs that belong to the process, not to a page.

``start`` writes the run, a worker thread streams it, a keeper thread saves what has arrived a
few times a second, and the end writes answer, usage, branch and run state in one transaction.
Pages only look; reruns, reloads and closed tabs change nothing. Runs whose process died are
swept up as *interrupted*, with every saved word kept as a node.
"""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from types import EllipsisType
from typing import Self

from core.asking import Prepared, path_to, prepare, ready
from core.branching import arrive, edit, new_node
from core.context import config_for
from core.endpoints import reload
from core.errors import Busy, DiskFull, NotFound, ReadOnly, UserError
from core.files import heading, message, reworded
from core.keeper import Keeper
from core.keys import endpoint_of
from core.live import Live, Outcome
from core.owner import is_dead, this_process
from core.providers import adapter
from core.recap import choices_of
from core.recapping import recap_first
from core.roster import Roster
from core.settle import settle
from core.steering import check, reminder
from core.store import Store
from core.types import (
    CONVERSATION,
    AttachmentRef,
    Call,
    Config,
    Node,
    Parts,
    Purpose,
    Request,
    Run,
    new_id,
    now,
)

_WORKERS = 16
_AGAIN_SECONDS = 1.0
_log = logging.getLogger("turntree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """A message kept for when the answer on its way is there."""

    id: str
    branch_id: str


class Runner(Roster):
    """Starts, follows and stops runs. One for each process and database."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.owner = this_process()
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="turntree-run")
        self._closed = False
        reload(store)
        self.sweep()
        store.branches.hold_forgotten()
        self._keeper = Keeper(store, self.lives, self.sweep)

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
        branch = self.store.branches.get(branch_id)
        if at is ...:
            at = branch.tip_id
        with self.store.write():  # so that no answer ends between the look and the queue
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
        return self._ask(branch.id, None, node.id, config)

    def regenerate(self, branch_id: str, node_id: str, *, config: Config | None = None) -> Run:
        """Ask again for an answer: to a person's message, or in place of an answer."""
        node = self.store.nodes.get(node_id)
        tip = node.parent_id if node.role == "assistant" else node.id
        if tip is None:
            raise UserError(
                "Nothing was asked before this message.", hint="Edit it, or send a message first."
            )
        return self._ask(branch_id, None, tip, config)

    def retry(self, run_id: str, *, config: Config | None = None) -> Run:
        """Ask once more, as that run did; with another ``config`` if one is given."""
        run = self.store.runs.get(run_id)
        if run.context_tip_id is None:
            raise NotFound("What was asked is not there any more.")
        purpose: Purpose = "continue" if run.purpose == "continue" else "reply"
        return self._ask(run.branch_id, None, run.context_tip_id, config or run.config, purpose)

    def go_on(self, branch_id: str, node_id: str, *, config: Config | None = None) -> Run:
        """*Continue* an answer that stopped early; both texts become one new node."""
        return self._ask(branch_id, None, node_id, config, "continue")

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
        self, branch_id: str, call: Call, config: Config, purpose: Purpose, *, at: str | None
    ) -> Run:
        """Ask something beside the conversation: no node comes of it.

        ``at`` is the node that it is about. The words stream as :meth:`live` tells, and stay in
        ``Run.partial``. Raises ``UserError`` where a budget is used up.
        """
        branch = self.store.branches.get(branch_id)
        session = self.store.sessions.get(branch.session_id)
        check(self.store, session)
        asked = ready(self.store, self.store.nodes.lineage(at), call, config)
        run = self._new_run(session.id, branch_id, at, purpose, config)
        return self._launch(self._begin(run, asked, session.objective), asked)

    def stop(self, run_id: str) -> None:
        """Close the stream; what has arrived is kept as an answer marked *stopped*."""
        if live := self.live(run_id):
            live.stop.set()

    # --- keeping ---

    def sweep(self) -> int:
        """Turn the runs of dead owners into *interrupted*; returns how many."""
        swept = 0
        for run in self.store.runs.not_ended():
            # Of itself a process knows: its clock may have been set since it began.
            ours = run.owner == self.owner
            dead = run.id not in self._live if ours else is_dead(run.owner, run.heartbeat_at)
            if run.state == "running" and dead:
                outcome = Outcome(finish_reason="interrupted")
                swept += self._settle(run, run.partial, outcome)
        return swept

    def close(self) -> None:
        """Stop every run, keep what has arrived, and end the threads."""
        self._closed = True
        lives = self.lives()
        for live in lives:
            live.stop.set()
        for live in lives:
            live.done.wait(5)
        self._keeper.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

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
        return self._ask(branch_id, node, node.id, config, replaces=at, takes=takes)

    def _ask(
        self,
        branch_id: str,
        node: Node | None,
        tip_id: str,
        config: Config | None,
        purpose: Purpose = "reply",
        *,
        replaces: str | None = None,
        takes: str | None = None,
    ) -> Run:
        """Start a run that answers ``tip_id``; ``node``, if given, is that tip, yet unwritten.

        What the person wrote is kept even when it cannot be asked: the run then has failed.
        ``takes`` is the queued message that this sends. A recap that is due goes first; its end
        begins the run that was asked for. Raises ``UserError`` where a budget is used up.
        """
        branch = self.store.branches.get(branch_id)
        session = self.store.sessions.get(branch.session_id)
        check(self.store, session)
        config = config or config_for(session, branch)
        lineage = path_to(self.store, tip_id, node)
        asked = None
        if purpose == "reply":
            asked = recap_first(self.store, branch, session, config, lineage)
        if asked is not None and asked.failure is None:
            purpose = "auto_recap"
        else:
            choices = choices_of(self.store, branch_id)
            asked = prepare(self.store, lineage, config, session, purpose, choices)
        run = self._new_run(session.id, branch_id, tip_id, purpose, config)
        live = self._begin(run, asked, session.objective, node, replaces=replaces, takes=takes)
        return self._launch(live, asked)

    def _begin(
        self,
        run: Run,
        asked: Prepared,
        objective: str,
        node: Node | None = None,
        *,
        replaces: str | None = None,
        takes: str | None = None,
    ) -> Live:
        """Write a run, with the message it answers if that is yet unwritten."""
        live = self._register(Live(run, asked.sealed))
        self._keeper.wake()
        try:
            with self.store.write():
                if takes is not None:
                    self.store.branches.take_queued(takes)
                if node is not None:
                    self.store.nodes.add(node)
                    placed = arrive(self.store, run.branch_id, node, replaces=replaces, why="send")
                    live.run = replace(live.run, branch_id=placed.id)
                    self.store.sessions.touch(run.session_id, heading(node.parts))
                self._write_start(live.run, asked, objective)
        except BaseException:
            self._forget(live)
            raise
        return live

    def _launch(self, live: Live, asked: Prepared) -> Run:
        """Let a written run stream, or end at once if it cannot be asked."""
        run = live.run
        if asked.failure is not None:
            self._forget(live)
        self.announce(run.session_id, "started", run_id=run.id, branch_id=run.branch_id)
        if asked.failure is None:
            self._pool.submit(self._work, live, asked.request)
        return run

    def _new_run(
        self, session_id: str, branch_id: str, tip_id: str | None, purpose: Purpose, config: Config
    ) -> Run:
        return Run(
            id=new_id(),
            session_id=session_id,
            branch_id=branch_id,
            context_tip_id=tip_id,
            purpose=purpose,
            config=config,
            state="running",
            owner=self.owner,
            started_at=now(),
        )

    def _write_start(self, run: Run, asked: Prepared, objective: str) -> None:
        overrides = self.store.recaps.overrides(run.branch_id)
        self.store.runs.start(run, request=asked.request, overrides=overrides, objective=objective)
        if asked.failure is not None:
            self.store.runs.end(run.id, finish_reason="error", node_id=None, failure=asked.failure)
            if run.purpose in CONVERSATION:
                self.store.branches.hold_queue(run.branch_id)

    def _work(self, live: Live, request: Request) -> None:
        try:
            found = adapter(live.run.config.provider)
            outcome = live.stream(found, request, partial(endpoint_of, found))
            self._write_down(live, outcome)
            self._forget(live)
            self._send_next(live.run, outcome)
        except Exception:  # noqa: BLE001 - nobody would hear it in this thread
            # The store failed: the words stay in the saved partial and are swept up later.
            _log.exception("a run could not be written down")
        finally:
            self._forget(live)

    def _write_down(self, live: Live, outcome: Outcome) -> None:
        """Settle the run, however long the disk is full: till then its words are only here."""
        while True:
            try:
                self._settle(live.run, live.parts(), outcome)
            except (Busy, DiskFull, ReadOnly):
                if self._closed:
                    raise
                _log.exception("an answer could not be written down; trying again")
                time.sleep(_AGAIN_SECONDS)
            else:
                return

    def _settle(self, run: Run, parts: Parts, outcome: Outcome) -> bool:
        """End a run; after a recap that went first, begin the answer in the same transaction."""
        goes_on = run.purpose == "auto_recap" and not self._closed
        goes_on = goes_on and outcome.finish_reason not in ("stopped", "interrupted")
        answer = None
        try:
            with self.store.write():
                settled = settle(self.store, run, parts, outcome)
                if settled is None:
                    return False
                if goes_on:
                    answer = self._after_recap(run)
        except BaseException:
            if answer is not None:
                self._forget(answer[0])
            raise
        self.announce(
            run.session_id,
            "ended",
            run_id=run.id,
            branch_id=settled.branch_id,
            node_id=settled.node_id,
        )
        if answer is not None:
            self._launch(*answer)
        return True

    def _after_recap(self, recapped: Run) -> tuple[Live, Prepared]:
        session = self.store.sessions.get(recapped.session_id)
        tip_id, config = str(recapped.context_tip_id), recapped.config
        choices = choices_of(self.store, recapped.branch_id)
        lineage = self.store.nodes.lineage(tip_id)
        asked = prepare(self.store, lineage, config, session, "reply", choices)
        run = self._new_run(session.id, recapped.branch_id, tip_id, "reply", config)
        return self._begin(run, asked, session.objective), asked

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
