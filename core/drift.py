"""Drift: whether the last answer still does what was asked for, judged afresh.

The judge sees the objective, the definition of done, the requirements and the last answer, and
nothing of the conversation: who has followed it all drifts along with it.
"""

import logging
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import SequenceMatcher

from core.context import config_for
from core.errors import TurntreeError, UserError
from core.requirements import alike, as_of, gather, take_in
from core.roster import News
from core.runner import Runner
from core.store import Store
from core.told import json_in, text_in
from core.tree import last_answer
from core.types import Call, Config, Json, Message, Node, Requirement, Run, Session, Text, text_of

PROMPT = """\
You are checking one text against what was asked for. You know nothing else of how it came \
about. Judge only what is written there; be strict about numbers, names and things that are \
missing.

{asked}

The text:
<text>
{answer}
</text>

Answer with JSON alone, in this form:
{{"score": 0 to 10, "kept": [numbers of requirements that the text keeps], "dropped": \
[{{"requirement": number, "why": "a few words"}}], "suggestion": "one or two sentences that ask \
to bring the text back to the objective, beginning with: Coming back to our goal of"}}
10 means that all of it is kept. Something of the objective that no requirement covers is named \
in words instead of a number."""
_BACK = "Coming back to our goal of"
_ALIKE = 0.8  # of two wordings
_NUMBER = re.compile(r"^\D{0,14}?(\d+)\D{0,3}$")
_log = logging.getLogger("turntree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Something asked for that the answer does not keep; ``id`` of the requirement if it is one."""

    text: str
    why: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the judge found. ``score`` is 0 to 10, None when it gave none; ``kept`` are ids."""

    score: float | None
    kept: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    suggestion: str = ""


def judge_call(
    session: Session, requirements: Sequence[Requirement], answer: str, config: Config
) -> Call:
    """The call of a drift check: one message, in which nothing of the conversation is.

    Raises ``UserError`` when there is nothing to judge by.
    """
    objective, done = session.objective.strip(), session.done_when.strip()
    asked = [f"The objective:\n{objective}"] if objective else []
    asked += [f"It is done when:\n{done}"] if done else []
    if requirements:
        listed = "\n".join(f"{n}. {one.text}" for n, one in enumerate(requirements, 1))
        asked.append(f"The requirements:\n{listed}")
    if not asked:
        raise UserError(
            "There is nothing to check the answer against.",
            hint="Write an objective under Goal, or add a requirement.",
        )
    words = PROMPT.format(asked="\n\n".join(asked), answer=answer)
    message = Message(role="user", parts=(Text(text=words),))
    return Call(model=config.model, messages=(message,), sampling=config.sampling)


def check(
    runner: Runner, branch_id: str, lineage: Sequence[Node], *, config: Config | None = None
) -> Run:
    """Have the last answer of a lineage judged. Raises ``UserError`` when there is none."""
    store = runner.store
    answer = last_answer(lineage)
    if answer is None or not answer.text.strip():
        raise UserError("There is no answer to check yet.", hint="Send a message first.")
    branch = store.branches.get(branch_id)
    session = store.sessions.get(branch.session_id)
    up_to = store.nodes.lineage(answer.id)
    config = config or config_for(session, branch)
    call = judge_call(session, gather(store, up_to), answer.text, config)
    return runner.side(branch_id, call, config, "drift", at=answer.id)


# --- reading what the judge wrote ---------------------------------------------------------------


def read(text: str, requirements: Sequence[Requirement]) -> Verdict | None:
    """The verdict in what a judge wrote; None when there is none to be read."""
    told = json_in(
        text, lambda value: isinstance(value, dict) and bool({"score", "dropped"} & value.keys())
    )
    if not isinstance(told, dict):
        return None
    dropped = tuple(
        found for item in _list(told.get("dropped")) if (found := _dropped(item, requirements))
    )
    gone = {one.id for one in dropped}
    named = [_named(item, requirements) for item in _list(told.get("kept"))]
    kept = tuple(dict.fromkeys(one.id for one in named if one is not None and one.id not in gone))
    return Verdict(
        score=_score(told.get("score")),
        kept=kept,
        dropped=dropped,
        suggestion=text_in(told.get("suggestion")),
    )


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _score(value: Json) -> float | None:
    """0 to 10, from a number, "7/10" or "7 out of 10"; what cannot be one is None."""
    if isinstance(value, str):
        found = re.search(r"\d+(?:\.\d+)?", value)
        value = float(found[0]) if found else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return min(10.0, max(0.0, float(value)))


def _dropped(item: Json, requirements: Sequence[Requirement]) -> Dropped | None:
    name, why = item, ""
    if isinstance(item, dict):
        name, why = item.get("requirement", item.get("text")), text_in(item.get("why"))
    known = _named(name, requirements)
    if known is not None:
        return Dropped(text=known.text, why=why, id=known.id)
    text = text_in(name)
    return Dropped(text=text, why=why) if text else None


def _named(name: Json, requirements: Sequence[Requirement]) -> Requirement | None:
    """The requirement that a judge means: by number, or by words that are nearly its own."""
    if isinstance(name, dict):
        name = name.get("requirement")
    if isinstance(name, str) and (numbered := _NUMBER.match(name.strip())):
        name = int(numbered[1])
    if isinstance(name, int) and not isinstance(name, bool):
        return requirements[name - 1] if 1 <= name <= len(requirements) else None
    said = alike(text_in(name))
    if not said:
        return None
    close = [(SequenceMatcher(None, said, alike(one.text)).ratio(), one) for one in requirements]
    best, found = max(close, key=lambda pair: pair[0], default=(0.0, None))
    if best >= _ALIKE:
        return found
    within = [one for one in requirements if alike(one.text) and alike(one.text) in said]
    return within[0] if within else None


def coming_back(session: Session, verdict: Verdict) -> str:
    """The words that ask to come back, to be edited before they are sent."""
    if verdict.suggestion.casefold().startswith(_BACK.casefold()):
        return verdict.suggestion
    goal = session.objective.strip().rstrip(".") or "what I asked for"
    missing = "".join(f"\n- {one.text}" for one in verdict.dropped)
    rest = f" please bring these back in:{missing}" if missing else " please keep to it."
    said = f"{_BACK} {goal[:1].lower()}{goal[1:]}:{rest}"
    return f"{said}\n{verdict.suggestion}" if verdict.suggestion else said


def verdict_of(store: Store, run: Run) -> Verdict | None:
    """What a check has found, with the requirements as they were when it began."""
    lineage = store.nodes.lineage(run.context_tip_id)
    return read(text_of(run.partial), as_of(store, lineage, run.started_at))


def checks(store: Store, session_id: str, lineage: Sequence[Node]) -> list[Run]:
    """The checks of answers on a lineage, that of the last answer first."""
    place = {node.id: number for number, node in enumerate(lineage)}
    runs = [run for run in store.runs.side(session_id, "drift") if run.context_tip_id in place]
    return sorted(runs, key=lambda run: (place[str(run.context_tip_id)], run.id), reverse=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether an answer keeps a requirement, and why it does not; None when nobody has looked."""

    honoured: bool | None = None
    why: str = ""


def standings(
    store: Store, lineage: Sequence[Node], ledger: Sequence[Requirement], runs: Sequence[Run]
) -> dict[str, Standing]:
    """How each requirement stands on a lineage, by its id.

    The last of ``runs`` that found something tells, unless a person has said otherwise of the
    same answer or a later one.
    """
    place = {node.id: number for number, node in enumerate(lineage)}
    told: dict[str, Standing] = {}
    judged = -1
    for run in runs:
        verdict = verdict_of(store, run) if run.state == "ended" else None
        if verdict is not None:
            told = {one: Standing(honoured=True) for one in verdict.kept}
            told |= {d.id: Standing(honoured=False, why=d.why) for d in verdict.dropped if d.id}
            judged = place[str(run.context_tip_id)]
            break
    found = {}
    for one in ledger:
        said_of = place.get(one.answer_id or "", -1)
        by_hand = one.honoured is not None and said_of >= max(judged, 0)
        said = Standing(honoured=one.honoured) if by_hand else None
        found[one.id] = said or told.get(one.id, Standing())
    return found


# --- by itself ----------------------------------------------------------------------------------


class Watch:
    """Looks on as runs end: has every k-th answer judged, and notes down what a model has found.

    All of it happens in a thread of its own; no answer and no page waits for it.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="turntree-watch")
        self._unlisten = runner.listen(self._hear)

    def close(self) -> None:
        """Listen no longer, and let what was begun come to its end."""
        self._unlisten()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _hear(self, news: News) -> None:
        if news.kind == "ended" and news.run_id is not None:
            self._pool.submit(self._look, news.run_id)

    def _look(self, run_id: str) -> None:
        try:
            run = self._runner.store.runs.get(run_id)
            if run.purpose in ("reply", "continue") and run.finish_reason == "stop":
                self._perhaps_check(run)
            elif run.purpose == "requirements" and run.partial:
                take_in(self._runner.store, run)
                self._runner.announce(run.session_id)
        except TurntreeError as error:
            # A budget that is used up, or a session that is gone: nobody waits for this.
            _log.info("no drift check: %s", error.message)
        except Exception:  # noqa: BLE001 - nobody would hear it in this thread
            _log.exception("a drift check could not be made")

    def _perhaps_check(self, run: Run) -> None:
        store = self._runner.store
        session = store.sessions.get(run.session_id)
        if session.drift_every < 1 or run.node_id is None:
            return
        lineage = store.nodes.lineage(run.node_id)
        turn = sum(node.role == "user" for node in lineage)
        if turn % session.drift_every == 0 and _anything_asked(store, session, lineage):
            check(self._runner, run.branch_id, lineage, config=run.config)


def _anything_asked(store: Store, session: Session, lineage: Sequence[Node]) -> bool:
    return bool(session.objective.strip() or session.done_when.strip() or gather(store, lineage))
