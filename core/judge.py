"""Has a model judge the lanes of a comparison: several votes, in the background, and durably.

A verdict is written before its first vote is asked, with all the votes that it will take; each
notes the call that it waits for. So a page that comes later sees how far it is, and after a
restart what was on its way is shown as interrupted and can be asked again.
"""

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from threading import RLock
from typing import Any

from core.briefing import Brief, prepare, refuse
from core.columns import Column
from core.errors import NotFound, TurntreeError
from core.judging import (
    READ,
    Criterion,
    Outcome,
    Vote,
    VoteState,
    outcome,
    prompt,
    read,
    rubric_body,
    rubric_of,
    vote_body,
    vote_of,
)
from core.roster import News
from core.runner import Runner
from core.store import Store
from core.types import (
    Call,
    Comparison,
    Config,
    FinishReason,
    Message,
    Run,
    Text,
    Verdict,
    new_id,
    now,
    text_of,
)

_AT_ONCE = 4  # calls of one verdict
_TRIES = 2  # the first, and one more with a note of what was wrong
_ENDED: dict[FinishReason | None, VoteState] = {
    "stopped": "stopped",
    "interrupted": "interrupted",
    "cut_off": "interrupted",
}
_DECLINED = "The model declined to judge."
_log = logging.getLogger("turntree")


# --- a verdict as it was kept --------------------------------------------------------------------


def votes_of(verdict: Verdict) -> list[Vote]:
    """The votes of a judge's verdict."""
    return [vote_of(one) for one in (verdict.body or {}).get("votes", ())]


def criteria_of(verdict: Verdict) -> tuple[Criterion, ...]:
    """What it scored by."""
    return rubric_of((verdict.body or {}).get("rubric"))


def judge_of(verdict: Verdict) -> Config:
    """The model that judged."""
    told = (verdict.body or {}).get("judge", {})
    return Config(
        provider=told.get("provider", ""),
        model=told.get("model", ""),
        sampling=told.get("sampling", {}),
    )


def outcome_of(verdict: Verdict) -> Outcome | None:
    """What the votes come to so far."""
    return outcome(votes_of(verdict), criteria_of(verdict))


def running(verdict: Verdict) -> bool:
    """Whether votes are still on their way."""
    return (verdict.body or {}).get("state") == "running"


def open_votes(verdict: Verdict) -> list[Vote]:
    """The votes that gave nothing and can be asked again."""
    if running(verdict):
        return []
    return [vote for vote in votes_of(verdict) if vote.state != "done"]


def find(store: Store, session_id: str, verdict_id: str) -> Verdict | None:
    """The verdict; None when it was removed."""
    return next((one for one in store.verdicts.of(session_id) if one.id == verdict_id), None)


# --- asking --------------------------------------------------------------------------------------


class Judge:
    """Asks for the votes of every verdict of one process. One for each runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._store = runner.store
        self._lock = RLock()
        self._asked: dict[str, tuple[str, str]] = {}
        self._closed = False
        self._wake()
        self._deafen = runner.listen(self._hear)

    def close(self) -> None:
        """Ask nothing more."""
        self._closed = True
        self._deafen()

    def ask(self, comparison: Comparison, found: Sequence[Column], brief: Brief) -> Verdict:
        """Have the lanes judged. Returns the verdict as it stands at its beginning.

        Raises ``UserError`` when fewer than two answers are left to judge, or for too many calls.
        """
        planned = prepare(self._store, comparison, found, brief)
        refuse(planned)
        config = brief.config
        body = {
            "state": "running",
            "judge": {
                "provider": config.provider,
                "model": config.model,
                "sampling": dict(config.sampling),
            },
            "rubric": rubric_body(brief.criteria),
            "task": planned.task,
            "own": list(planned.own),
            "own_judged": brief.own and bool(planned.own),
            "votes": [vote_body(Vote(order=order)) for order in planned.orders],
        }
        verdict = Verdict(
            id=new_id(),
            session_id=comparison.session_id,
            comparison_id=comparison.id,
            by="judge",
            tips=planned.tips,
            blind=True,
            body=body,
            created_at=now(),
        )
        with self._lock:
            self._store.verdicts.add(verdict)
            return self._pump(verdict)

    def again(self, session_id: str, verdict_id: str) -> None:
        """Ask once more for every vote that gave nothing."""
        with self._lock:
            verdict = find(self._store, session_id, verdict_id)
            if verdict is None:
                raise NotFound("The verdict was removed.", hint="Ask the judge anew.")
            if not running(verdict):
                votes = [
                    vote if vote.state == "done" else Vote(order=vote.order, runs=vote.runs)
                    for vote in votes_of(verdict)
                ]
                self._pump(self._kept(verdict, votes, "running"))

    def stop(self, session_id: str, verdict_id: str) -> None:
        """Ask no more votes of it, and stop those on their way."""
        with self._lock:
            verdict = find(self._store, session_id, verdict_id)
            if verdict is None or not running(verdict):
                return
            votes = [
                replace(vote, state="stopped") if vote.state == "waiting" else vote
                for vote in votes_of(verdict)
            ]
            self._kept(verdict, votes, "running")
            live = [vote.runs[-1] for vote in votes if vote.state == "running" and vote.runs]
            for run_id in live:
                self._runner.stop(run_id)
            if not live:
                self._kept(verdict, votes, "open")
        self._runner.announce(session_id)

    # --- inside ---

    def _wake(self) -> None:
        """After a restart: what had been on its way is noted as it ended."""
        for verdict in self._store.verdicts.of():
            if verdict.by != "judge" or not running(verdict):
                continue
            votes = votes_of(verdict)
            try:
                runs = [self._store.runs.get(v.runs[-1]) for v in votes if v.state == "running"]
            except (IndexError, NotFound):
                runs = []
            if any(run.state != "ended" for run in runs):
                continue  # another process asks for it, and lives
            self._kept(verdict, [self._woken(verdict, vote) for vote in votes], None)

    def _woken(self, verdict: Verdict, vote: Vote) -> Vote:
        if vote.state == "waiting" or (vote.state == "running" and not vote.runs):
            return replace(vote, state="interrupted")
        if vote.state != "running":
            return vote
        ended = self._read(verdict, vote, self._store.runs.get(vote.runs[-1]))
        return replace(ended, state="malformed") if ended.state == "waiting" else ended

    def _hear(self, news: News) -> None:
        if news.kind != "ended" or news.run_id is None or self._closed:
            return
        with self._lock:
            asked = self._asked.pop(news.run_id, None)
            if asked is None:
                return
            try:
                verdict = find(self._store, *asked)
                if verdict is not None:
                    self._pump(self._noted(verdict, news.run_id))
            except TurntreeError:
                _log.exception("a verdict could not go on")

    def _noted(self, verdict: Verdict, run_id: str) -> Verdict:
        """The verdict with how a call of it has ended."""
        run = self._store.runs.get(run_id)
        votes = [
            self._read(verdict, vote, run) if vote.runs[-1:] == (run_id,) else vote
            for vote in votes_of(verdict)
        ]
        return self._kept(verdict, votes, "running")

    def _read(self, verdict: Verdict, vote: Vote, run: Run) -> Vote:
        """What a call gave a vote. One that cannot be read is asked for once more."""
        if run.finish_reason in ("stop", "length"):
            given = read(text_of(run.partial), len(vote.order), criteria_of(verdict))
            if not isinstance(given, str):
                return replace(vote, state="done", given=given, trouble="")
            tries = vote.tries + 1
            state: VoteState = "malformed" if tries >= _TRIES else "waiting"
            return replace(vote, state=state, tries=tries, trouble=given)
        why = run.failure.message if run.failure else ""
        if run.finish_reason in ("refusal", "content_filter"):
            why = _DECLINED
        return replace(vote, state=_ENDED.get(run.finish_reason, "failed"), trouble=why)

    def _pump(self, verdict: Verdict) -> Verdict:
        """Ask the next votes; write down what they came to when none is left."""
        votes = votes_of(verdict)
        while not self._closed:
            waiting = [place for place, vote in enumerate(votes) if vote.state == "waiting"]
            busy = sum(vote.state == "running" for vote in votes)
            if not waiting or busy >= _AT_ONCE:
                break
            try:
                verdict = self._begin(verdict, votes, waiting[0])
                votes = votes_of(verdict)
                continue
            except TurntreeError as error:  # a budget that is used up
                why = f"{error.message} {error.hint}".strip()
                votes = [
                    replace(vote, state="failed", trouble=why) if vote.state == "waiting" else vote
                    for vote in votes
                ]
            except RuntimeError:  # the app is closing
                break
            verdict = self._kept(verdict, votes, "running")
        over = not any(vote.state in ("waiting", "running") for vote in votes)
        if over:
            verdict = self._kept(verdict, votes, None)
        self._runner.announce(verdict.session_id)
        return verdict

    def _begin(self, verdict: Verdict, votes: Sequence[Vote], place: int) -> Verdict:
        """Ask one vote. The verdict notes the call in the transaction that writes it."""
        store, vote = self._store, votes[place]
        texts = [store.nodes.get(verdict.tips[one]).text for one in vote.order]
        why = vote.trouble if vote.tries else ""
        asked = prompt(verdict.body["task"], criteria_of(verdict), texts, why)
        config = judge_of(verdict)
        message = Message(role="user", parts=(Text(text=asked),))
        call = Call(model=config.model, messages=(message,), sampling=config.sampling)
        first = vote.order[0]
        noted: list[Verdict] = []

        def note(run: Run) -> None:
            begun = replace(vote, state="running", runs=(*vote.runs, run.id))
            noted.append(self._kept(verdict, _put(votes, place, begun), "running"))

        at = verdict.tips[first]
        run = self._runner.side(first, call, config, "judge", at=at, write=note)
        self._asked[run.id] = (verdict.session_id, verdict.id)
        written = store.runs.get(run.id)
        # A call that could not be made has ended already, and nobody says so.
        if written.state == "ended" and written.failure is not None:
            self._asked.pop(run.id, None)
            ended = self._read(verdict, votes_of(noted[0])[place], written)
            return self._kept(verdict, _put(votes, place, ended), "running")
        return noted[0]

    def _kept(self, verdict: Verdict, votes: Sequence[Vote], state: str | None) -> Verdict:
        """Write the votes down. Without a ``state`` nothing is on its way any more."""
        body: dict[str, Any] = dict(verdict.body or {})
        body["votes"] = [vote_body(vote) for vote in votes]
        found = outcome(votes, criteria_of(verdict))
        whole = state is None and found is not None and all(vote.state in READ for vote in votes)
        body["state"] = state or ("done" if whole else "open")
        body["outcome"] = asdict(found) if found else None
        made = replace(
            verdict,
            body=body,
            # Half of the votes would prefer a place: only all of them make a winner.
            winner=found.winner if whole and found else None,
            tie=bool(whole and found and found.tie),
            ratings={one.branch: one.score for one in found.sums} if whole and found else {},
        )
        _replace(self._store, made)
        return made


def _put(votes: Sequence[Vote], place: int, vote: Vote) -> list[Vote]:
    return [*votes[:place], vote, *votes[place + 1 :]]


def _replace(store: Store, verdict: Verdict) -> None:
    """Write a verdict in place of how it was; one that was removed stays so."""
    with store.write():
        if find(store, verdict.session_id, verdict.id) is not None:
            store.verdicts.remove(verdict.id)
            store.verdicts.add(verdict)
