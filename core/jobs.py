"""Plays jobs: starts steps as others end, a few at once, and stands still where a person must
look.

All that a job knows is on disk. A step's words are written first, then asked; both are noted in
the transaction that does them, so that nothing is done twice and nothing finished is done again.
"""

import logging
import time
from collections import deque
from threading import RLock, Timer

from core.branching import new_node
from core.errors import TurntreeError, UserError
from core.files import message
from core.lanes import join, lane_branch
from core.launcher import Beside
from core.roster import News
from core.runner import Runner
from core.store import Store
from core.types import FinishReason, Job, Line, Node, Origin, OriginKind, Step, StepState

_MINUTE = 60.0
_ENDED: dict[FinishReason | None, StepState] = {
    "stop": "done",
    "length": "done",
    "refusal": "done",
    "stopped": "stopped",
    "interrupted": "interrupted",
    "cut_off": "interrupted",
}
_BROKEN: tuple[StepState, ...] = ("failed", "stopped", "interrupted")
ENDED_BY_RESTART = "Turntree ended while this ran."
_log = logging.getLogger("turntree")


class Player:
    """Plays every job of one process. One for each runner."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.store: Store = runner.store
        self._lock = RLock()
        self._began: dict[str, deque[float]] = {}
        self._timers: dict[str, Timer] = {}
        self._closed = False
        self._wake()
        self._deafen = runner.listen(self._hear)

    def close(self) -> None:
        """Start nothing more."""
        self._closed = True
        self._deafen()
        with self._lock:
            for timer in self._timers.values():
                timer.cancel()

    # --- what people ask for ---

    def start(self, job_id: str) -> Job:
        """Play a job, or go on with one. What failed or was interrupted is tried again."""
        with self._lock:
            self.store.jobs.redo(job_id, *_BROKEN)
            self.store.jobs.set_state(job_id, "running")
            self._pump(job_id)
            return self._said(job_id)

    def pause(self, job_id: str, note: str = "") -> Job:
        """Begin nothing more; what is on its way comes to its end."""
        with self._lock:
            self.store.jobs.set_state(job_id, "paused", note)
            return self._said(job_id)

    def stop(self, job_id: str) -> Job:
        """Begin nothing more, and stop what is on its way; its words are kept."""
        with self._lock:
            self.store.jobs.set_state(job_id, "stopped")
            for step in self.store.jobs.steps(job_id):
                if step.state == "running" and step.run_id:
                    self.runner.stop(step.run_id)
            return self._said(job_id)

    def retry(self, step_id: str) -> Job:
        """Answer one turn once more, and go on from there: what came after it on its branch is
        played anew. The answers that were there stay in the tree.

        Raises ``UserError`` while a turn of that branch is being answered.
        """
        with self._lock:
            step = self.store.jobs.step(step_id)
            job_id = self.store.jobs.line(step.line_id).job_id
            steps = self.store.jobs.steps(job_id)
            if any(one.line_id == step.line_id and one.state == "running" for one in steps):
                raise UserError(
                    "A turn of this branch is being answered.", hint="Wait, or stop it first."
                )
            with self.store.write():
                self.store.jobs.again(step_id)
                self.store.jobs.set_state(job_id, "running")
            self._pump(job_id)
            return self._said(job_id)

    # --- inside ---

    def _said(self, job_id: str) -> Job:
        job = self.store.jobs.get(job_id)
        self.runner.announce(job.session_id)
        return job

    def _wake(self) -> None:
        """After a restart: what ran then is noted as it ended, and waits for a person.

        A job that still has a run is played by another process, which lives.
        """
        for job in self.store.jobs.running():
            with self.store.write():
                steps = [one for one in self.store.jobs.steps(job.id) if one.state == "running"]
                for step in steps:
                    self._note(step)
                if not any(self.store.jobs.step(one.id).state == "running" for one in steps):
                    self.store.jobs.set_state(job.id, "paused", ENDED_BY_RESTART)

    def _hear(self, news: News) -> None:
        if news.kind != "ended" or news.run_id is None or self._closed:
            return
        if self.store.jobs.step_of(news.run_id) is None:
            return
        try:
            with self._lock:  # looked up again within: it may have been noted, or begun anew
                step = self.store.jobs.step_of(news.run_id)
                if step is None or step.state != "running":
                    return
                self._note(step)
                self._pump(self.store.jobs.line(step.line_id).job_id)
        except TurntreeError:
            _log.exception("a job could not go on")

    def _note(self, step: Step) -> None:
        """Take over how the run of a step has ended."""
        run = self.store.runs.get(str(step.run_id))
        if run.purpose == "auto_recap" and run.context_tip_id:
            after = self.store.runs.last_from(run.context_tip_id, run.branch_id)
            if after is not None and after.id != run.id:
                self.store.jobs.goes_on(step.id, after.id)
                if after.state != "ended":
                    return
                run = after
        if run.state != "ended":
            return
        state = _ENDED.get(run.finish_reason, "failed")
        if state == "done" and run.node_id is None:
            state = "failed"
        self.store.jobs.finish(step.id, state, run.node_id)

    def _pump(self, job_id: str) -> None:
        """Begin what may begin now; end the job when nothing can."""
        job = self.store.jobs.get(job_id)
        if job.state != "running" or self._closed or self.runner.closed:
            return
        while True:
            counts = self.store.jobs.counts(job_id)
            free = job.concurrency - counts.get("running", 0)
            ready = self.store.jobs.next_steps(job_id, max(0, free))
            wait = self._wait(job) if ready else 0.0
            if wait > 0:
                self._later(job_id, wait)
                return
            if not ready:
                break
            if not self._begin(job, ready[0]):
                return
        if not counts.get("running", 0):
            broken = sum(counts.get(state, 0) for state in _BROKEN)
            note = f"{broken} of the turns did not get an answer." if broken else ""
            self.store.jobs.set_state(job_id, "paused" if broken else "done", note)
            self.runner.announce(job.session_id)

    def _begin(self, job: Job, step: Step) -> bool:
        """Write a step's words and ask. False where the job cannot go on."""
        line = self.store.jobs.line(step.line_id)
        try:
            with self.store.write():
                line, tip = self._placed(job, line, step)
            if not step.asks:
                return True
            self._began.setdefault(job.id, deque()).append(time.monotonic())
            self.runner.answer(
                str(line.branch_id),
                tip,
                config=line.config,
                reads=step.reads_id,
                sample=line.sample,
                beside=Beside(
                    reuse=_takes_stored(job, step),
                    write=lambda run: self.store.jobs.began(step.id, run.id),
                ),
            )
        except TurntreeError as error:
            self.store.jobs.set_state(job.id, "paused", f"{error.message} {error.hint}".strip())
            self.runner.announce(job.session_id)
            return False
        return self._heed(step)

    def _heed(self, step: Step) -> bool:
        """A run that failed before it was launched has ended already, and nobody says so."""
        now = self.store.jobs.step(step.id)
        if now.run_id and self.store.runs.get(now.run_id).state == "ended":
            self._note(now)
        return True

    def _placed(self, job: Job, line: Line, step: Step) -> tuple[Line, str]:
        """The line with its branch, and what is to be answered; written if it is not yet."""
        if line.branch_id is None:
            line = self._branched(job, line)
        if step.tip_id is not None:
            self._stand_at(line, step.tip_id)
            return line, step.tip_id
        parent = self.store.branches.get(str(line.branch_id)).tip_id
        tip = self.store.nodes.add(self._asked(job, step, parent)).id
        for copied in self.store.nodes.many(step.rounds):
            tip = self._copy(job, tip, copied)
        if not step.asks:
            answer = self.store.nodes.get(str(step.answer_id))
            tip = self._copy(job, tip, answer)
            self.store.jobs.finish(step.id, "done", tip)
        self.store.branches.move(str(line.branch_id), tip, why="send")
        self.store.jobs.placed(step.id, tip)
        self.store.sessions.touch(job.session_id)
        return line, tip

    def _asked(self, job: Job, step: Step, parent: str | None) -> Node:
        """The person's message of a step: the very one that it repeats, unless it is reworded."""
        source = next(iter(self.store.nodes.many([step.source_id] if step.source_id else [])), None)
        if source is not None and source.text == step.text:
            parts, author = source.parts, source.author
        else:
            parts, author = message(step.text, step.files), "person"
        return new_node(
            job.session_id,
            parent,
            "user",
            parts,
            author=author,
            sent_suffix=step.suffix,
            source_id=step.source_id,
        )

    def _stand_at(self, line: Line, tip: str) -> None:
        """Before a retry the branch goes back to what was asked; the answer that it had stays."""
        branch = self.store.branches.get(str(line.branch_id))
        if branch.tip_id != tip:
            node = self.store.nodes.get(branch.tip_id) if branch.tip_id else None
            if node is None or node.parent_id != tip:
                self.store.branches.move(branch.id, tip, why="retry")

    def _branched(self, job: Job, line: Line) -> Line:
        spec = job.spec or {}
        comparison = spec.get("comparison")
        if comparison:
            lanes = self.store.comparisons.lanes(comparison, dropped=True)
            if not lanes:
                raise UserError("Every other lane is in the bin.", hint="Restore one first.")
            source = self.store.branches.get(lanes[0].branch_id)
        else:
            source = self.store.branches.get(spec.get("onto") or spec["branch"])
        base = self.store.nodes.get(line.base_id) if line.base_id else None
        branch = lane_branch(self.store, source, base, line.name, line.config)
        self.store.jobs.set_branch(line.id, branch.id)
        if comparison:
            join(self.store, comparison, branch.id)
        return self.store.jobs.line(line.id)

    def _copy(self, job: Job, parent: str | None, node: Node) -> str:
        """A copy of a node elsewhere in the tree; its raw items are bound to where they were."""
        copy = new_node(
            job.session_id, parent, node.role, node.parts, author=node.author, source_id=node.id
        )
        self.store.nodes.add(copy)
        kind: OriginKind = "pick" if job.kind == "cherry-pick" else "replay"
        origin = Origin(node_id=copy.id, origin_id=node.id, kind=kind)
        self.store.comparisons.note_origins(copy.id, [origin])
        return copy.id

    def _wait(self, job: Job) -> float:
        """Seconds until another call may begin."""
        if not job.per_minute:
            return 0.0
        began = self._began.setdefault(job.id, deque())
        while began and time.monotonic() - began[0] >= _MINUTE:
            began.popleft()
        return 0.0 if len(began) < job.per_minute else _MINUTE - (time.monotonic() - began[0])

    def _later(self, job_id: str, seconds: float) -> None:
        waiting = self._timers.get(job_id)
        if waiting is not None and waiting.is_alive():
            return
        timer = Timer(seconds, self._again, args=[job_id])
        timer.daemon = True
        self._timers[job_id] = timer
        timer.start()

    def _again(self, job_id: str) -> None:
        with self._lock:
            self._timers.pop(job_id, None)
            if not self._closed:
                self._pump(job_id)


def _takes_stored(job: Job, step: Step) -> bool:
    """Whether a stored answer may be taken: never for what a person wants answered once more.

    Of a forced replay the turns after that one are asked in their very own words, and have
    their answers already.
    """
    if step.tries == 0:
        return job.reuse
    return job.mode == "forced" and step.run_id is None and step.answer_id is not None
