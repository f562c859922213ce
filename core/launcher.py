"""How a prepared run begins, streams and ends: in threads of the process, whatever pages do."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from core.asking import Prepared, prepare
from core.branching import arrive
from core.errors import Busy, DiskFull, ReadOnly
from core.files import heading
from core.keeper import Keeper
from core.keys import endpoint_of
from core.live import Live, Outcome
from core.owner import is_dead, this_process
from core.providers import adapter
from core.recap import choices_of
from core.roster import Roster
from core.settle import settle
from core.store import Store
from core.types import CONVERSATION, Config, Node, Parts, Purpose, Request, Run, new_id, now

_WORKERS = 16
_AGAIN_SECONDS = 1.0
_log = logging.getLogger("turntree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What goes with a run. ``node`` is the message it answers, if that is yet unwritten;
    ``replaces`` the tip that it moves the branch from; ``takes`` the queued message it sends.

    ``reuse`` takes the stored answer to the same request, if there is one. ``write`` is called
    in the transaction that writes the run.
    """

    node: Node | None = None
    replaces: str | None = None
    takes: str | None = None
    reuse: bool = False
    write: Callable[[Run], None] | None = None


ALONE = Beside()


class Launcher(Roster):
    """Begins, streams and settles runs of this process."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.owner = this_process()
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="turntree-run")
        self._closed = False
        self.sweep()
        self._keeper = Keeper(store, self.lives, self.sweep)

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

    @property
    def closed(self) -> bool:
        """Whether the process is ending: nothing is to be begun any more."""
        return self._closed

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

    def _begin(
        self,
        run: Run,
        asked: Prepared,
        objective: str,
        beside: Beside = ALONE,
    ) -> Live:
        """Write a run, with the message it answers if that is yet unwritten."""
        live = self._register(Live(run, asked.sealed))
        self._keeper.wake()
        try:
            with self.store.write():
                if beside.takes is not None:
                    self.store.branches.take_queued(beside.takes)
                if beside.node is not None:
                    live.run = self._written(live.run, beside.node, beside.replaces)
                self._write_start(live.run, asked, objective)
                if beside.reuse and asked.failure is None:
                    older = self.store.runs.replay(run.id)
                    live.run = replace(live.run, replayed_from=older.id if older else None)
                if beside.write is not None:
                    beside.write(live.run)
        except BaseException:
            self._forget(live)
            raise
        return live

    def _written(self, run: Run, node: Node, replaces: str | None) -> Run:
        """The run, on the branch that the message it answers has come to."""
        self.store.nodes.add(node)
        placed = arrive(self.store, run.branch_id, node, replaces=replaces, why="send")
        self.store.sessions.touch(run.session_id, heading(node.parts))
        return replace(run, branch_id=placed.id)

    def _launch(self, live: Live, asked: Prepared) -> Run:
        """Let a written run stream, or end at once if it cannot be asked."""
        run = live.run
        if asked.failure is not None:
            self._forget(live)
        self.announce(run.session_id, "started", run_id=run.id, branch_id=run.branch_id)
        if asked.failure is None:
            work = self._work if run.replayed_from is None else self._replay
            self._pool.submit(work, live, asked.request)
        return run

    def _new_run(
        self,
        session_id: str,
        branch_id: str,
        tip_id: str | None,
        purpose: Purpose,
        config: Config,
        *,
        reads: str | None = None,
        sample: int = 0,
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
            reads_id=reads,
            sample=sample,
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
            self._after(live.run, outcome)
        except Exception:  # noqa: BLE001 - nobody would hear it in this thread
            # The store failed: the words stay in the saved partial and are swept up later.
            _log.exception("a run could not be written down")
        finally:
            self._forget(live)

    def _replay(self, live: Live, request: Request) -> None:
        """End a run with the stored answer of an older one; nobody is asked."""
        try:
            older = self.store.runs.get(str(live.run.replayed_from))
            answer = self.store.nodes.get(str(older.node_id))
            outcome = Outcome(
                finish_reason="stop", resolved_model=older.resolved_model, raw=answer.raw
            )
            self._settle(live.run, answer.parts, outcome)
            self._forget(live)
            self._after(live.run, outcome)
        except Exception:  # noqa: BLE001 - nobody would hear it in this thread
            _log.exception("a stored answer could not be taken")
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
        run = self._new_run(
            session.id, recapped.branch_id, tip_id, "reply", config, sample=recapped.sample
        )
        return self._begin(run, asked, session.objective), asked

    def _after(self, run: Run, outcome: Outcome) -> None:
        """What follows a run that has ended."""
