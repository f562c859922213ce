"""Replay, rebase, cherry-pick, one lane more, a matrix: what they are, as jobs yet to be played.

Each is a job of lines, each line a branch to be built turn by turn; :mod:`core.jobs` plays them.

What the new branch takes over of the old one's context (its recap, pins and mutes) points at the
old one's nodes, and holds wherever those are sent. *Teacher-forced* sends the old lineage itself:
all of it holds, and the recap stands in for what it covers, as it did. *Free* sends the new
branch: what was replayed there is new, so that a recap of old turns would tell of answers that
this model never gave; it does not apply, and every new turn goes whole. Of turns before
``from_turn``, which both branches share, everything holds in either mode.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from core.errors import UserError
from core.library import Body, preview
from core.store import Store
from core.types import (
    AttachmentRef,
    Comparison,
    Config,
    Job,
    JobKind,
    JobMode,
    Line,
    Node,
    Step,
    ToolCall,
    new_id,
    now,
)

MOST_CELLS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a lineage: the person's message, the recorded tool calls and results between
    it and the answer, and the answer. Calls whose results never came may end the rounds."""

    number: int
    asked: Node
    rounds: tuple[Node, ...] = ()
    answer: Node | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a job is played: calls at once, calls begun in a minute, stored answers taken."""

    concurrency: int = 4
    per_minute: int | None = None
    reuse: bool = False


def turns_of(lineage: Sequence[Node]) -> list[Turn]:
    """The turns of a lineage. What precedes the first message of a person belongs to none."""
    found: list[list[Node]] = []
    for node in lineage:
        if node.role == "user":
            found.append([node])
        elif found:
            found[-1].append(node)
    return [_turn(number, nodes) for number, nodes in enumerate(found, 1)]


def _turn(number: int, nodes: Sequence[Node]) -> Turn:
    asked, *rest = nodes
    answer = rest.pop() if rest and _answers(rest[-1]) else None
    return Turn(number=number, asked=asked, rounds=tuple(rest), answer=answer)


def _answers(node: Node) -> bool:
    return node.role == "assistant" and not any(isinstance(p, ToolCall) for p in node.parts)


def replay(
    store: Store,
    branch_id: str,
    config: Config,
    *,
    mode: JobMode = "free",
    from_turn: int = 1,
    tools_again: bool = False,
    samples: int = 1,
    pace: Pace = Pace(),
    name: str = "",
) -> Job:
    """Play the person's turns of a branch, from turn ``from_turn`` on, with another config.

    Recorded tool results stay where they were, unless ``tools_again`` leaves them out so that
    the model answers without them. Raises ``UserError`` where there is no such turn.
    """
    branch = store.branches.get(branch_id)
    lineage = store.nodes.lineage(branch.tip_id)
    played = _from(turns_of(lineage), from_turn)
    how = "teacher-forced" if mode == "forced" else "free"
    title = name or f"{branch.name} on {config.model or config.provider} · {how}"
    job = _job(branch.session_id, "replay", title, mode, pace, {"branch": branch.id})
    lines = []
    for sample in range(samples):
        line = _line(job, sample, title, config, played[0].asked.parent_id, sample=sample)
        steps = [
            _again(line, place, turn, forced=mode == "forced", tools_again=tools_again)
            for place, turn in enumerate(played)
        ]
        lines.append((line, steps))
    return _written(store, job, lines)


def rebase(
    store: Store,
    branch_id: str,
    turn: int,
    text: str,
    config: Config,
    *,
    pace: Pace = Pace(),
) -> Job:
    """Change the words of a turn and play everything after it anew, as a new branch.

    Raises ``UserError`` for blank words or a turn that there is not.
    """
    if not text.strip():
        raise UserError("A message cannot be empty.", hint="Write what the turn is to say.")
    branch = store.branches.get(branch_id)
    first, *rest = _from(turns_of(store.nodes.lineage(branch.tip_id)), turn)
    title = f"{branch.name} · turn {turn} changed"
    job = _job(branch.session_id, "rebase", title, "free", pace, {"branch": branch.id})
    line = _line(job, 0, title, config, first.asked.parent_id)
    changed = _step(
        line,
        0,
        text,
        files=_files(first.asked),
        suffix=first.asked.sent_suffix,
        source_id=first.asked.id,
    )
    return _written(
        store, job, [(line, [changed, *(_again(line, k, one) for k, one in enumerate(rest, 1))])]
    )


def cherry_pick(
    store: Store,
    from_branch: str,
    picked: Iterable[int],
    onto_branch: str,
    config: Config,
    *,
    execute: bool = True,
    pace: Pace = Pace(),
) -> Job:
    """Carry turns of one branch onto the tip of another, on a new branch: played anew, or as they
    are with ``execute`` False. Raises ``UserError`` where no such turn is."""
    source, onto = store.branches.get(from_branch), store.branches.get(onto_branch)
    wanted = set(picked)
    chosen = [t for t in turns_of(store.nodes.lineage(source.tip_id)) if t.number in wanted]
    if not chosen:
        raise UserError("No turn is ticked.", hint="Tick the turns to carry over.")
    if not execute and any(turn.answer is None for turn in chosen):
        raise UserError(
            "A ticked turn has no answer yet.", hint="Play the turns anew, or tick others."
        )
    numbers = ", ".join(str(turn.number) for turn in chosen)
    title = f"{onto.name} + turn {numbers} of {source.name}"
    spec = {"branch": source.id, "onto": onto.id}
    job = _job(source.session_id, "cherry-pick", title, "free", pace, spec)
    line = _line(job, 0, title, config, onto.tip_id)
    steps = [_again(line, k, turn, asks=execute) for k, turn in enumerate(chosen)]
    return _written(store, job, [(line, steps)])


def one_more(
    store: Store, comparison_id: str, config: Config, *, name: str = "", pace: Pace = Pace()
) -> Job:
    """The job of a new lane: all that was said in the fullest lane, played with another config.

    Raises ``UserError`` for a comparison that nothing was sent to.
    """
    comparison = store.comparisons.get(comparison_id)
    _, said = said_in(store, comparison)
    title = name or config.model or config.provider
    spec = {"comparison": comparison.id}
    job = _job(comparison.session_id, "lane", title, "free", pace, spec)
    line = _line(job, 0, title, config, comparison.at_id)
    steps = [_again(line, k, turn, tools_again=True) for k, turn in enumerate(said)]
    # Every lane answers the very same first message.
    steps[0] = replace(steps[0], tip_id=comparison.at_id)
    return _written(store, job, [(line, steps)])


def said_in(store: Store, comparison: Comparison) -> tuple[str | None, list[Turn]]:
    """The node that a fan-out began under (None is the root), and the turns of its fullest lane.

    Raises ``UserError`` for a comparison that nothing was sent to, or whose lanes are all gone.
    """
    if comparison.at_id is None:
        raise UserError(
            "These branches do not come from one prompt.", hint="Replay one of them instead."
        )
    said: list[Turn] = []
    for lane in store.comparisons.lanes(comparison.id, dropped=True):
        lineage = store.nodes.lineage(store.branches.get(lane.branch_id).tip_id)
        ids = [node.id for node in lineage]
        if comparison.at_id in ids:
            own = turns_of(lineage[ids.index(comparison.at_id) :])
            said = max(said, own, key=len)
    if not said:
        raise UserError("No lane of this prompt is left.", hint="Restore one, or send it anew.")
    return store.nodes.get(comparison.at_id).parent_id, said


def matrix(
    store: Store,
    branch_id: str,
    at: str | None,
    turns: Sequence[str],
    variables: Mapping[str, Sequence[str]],
    configs: Sequence[Config],
    *,
    samples: int = 1,
    pace: Pace = Pace(concurrency=8),
    name: str = "Matrix",
) -> Job:
    """Every combination of values, configs and samples as a cell, each a branch under ``at``.

    ``turns`` are templates with ``{{name}}`` places; ``variables`` map names to their values.
    Raises ``UserError`` for nothing to do, or more than ``MOST_CELLS`` cells.
    """
    branch = store.branches.get(branch_id)
    cells = [
        (dict(zip(variables, chosen, strict=True)), config, sample)
        for chosen in product(*variables.values())
        for config in configs
        for sample in range(samples)
    ]
    if not turns or not all(turn.strip() for turn in turns) or not cells:
        raise UserError("There is nothing to send.", hint="Write a prompt and choose a model.")
    if len(cells) > MOST_CELLS:
        raise UserError(
            f"{len(cells)} cells are more than {MOST_CELLS}.", hint="Take fewer values or samples."
        )
    spec = {"branch": branch.id, "turns": list(turns), "variables": dict(variables)}
    job = _job(branch.session_id, "matrix", name, "free", pace, spec)
    lines = []
    for place, (values, config, sample) in enumerate(cells):
        line = _line(job, place, f"{name} {place + 1}", config, at, sample=sample, values=values)
        steps = [_step(line, k, filled(turn, values)) for k, turn in enumerate(turns)]
        lines.append((line, steps))
    return _written(store, job, lines)


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with its ``{{name}}`` places filled, as the library fills them: in one pass, so
    that a value is never read as a template. What has no value stays as it is."""
    return preview(Body(turns=(template,)), values)[0]


# --- pieces ---------------------------------------------------------------------------------------


def _from(turns: Sequence[Turn], first: int) -> list[Turn]:
    found = [turn for turn in turns if turn.number >= first]
    if not found:
        raise UserError(
            f"This branch has no turn {first}." if turns else "Nothing was asked on this branch.",
            hint="Choose an earlier turn." if turns else "Send a message first.",
        )
    return found


def _files(node: Node) -> tuple[AttachmentRef, ...]:
    return tuple(part for part in node.parts if isinstance(part, AttachmentRef))


def _job(session_id: str, kind: JobKind, name: str, mode: JobMode, pace: Pace, spec: object) -> Job:
    return Job(
        id=new_id(),
        session_id=session_id,
        kind=kind,
        name=name[:120],
        mode=mode,
        created_at=now(),
        concurrency=pace.concurrency,
        per_minute=pace.per_minute,
        reuse=pace.reuse,
        spec=spec,
    )


def _line(
    job: Job,
    place: int,
    name: str,
    config: Config,
    base_id: str | None,
    *,
    sample: int = 0,
    values: Mapping[str, str] | None = None,
) -> Line:
    return Line(
        id=new_id(),
        job_id=job.id,
        place=place,
        name=name[:60],
        config=config,
        base_id=base_id,
        sample=sample,
        values=values or {},
    )


def _step(
    line: Line,
    turn: int,
    text: str,
    *,
    files: tuple[AttachmentRef, ...] = (),
    suffix: str = "",
    source_id: str | None = None,
    rounds: tuple[str, ...] = (),
    reads_id: str | None = None,
    asks: bool = True,
    answer_id: str | None = None,
) -> Step:
    return Step(
        id=new_id(),
        line_id=line.id,
        turn=turn,
        text=text,
        files=files,
        suffix=suffix,
        source_id=source_id,
        rounds=rounds,
        reads_id=reads_id,
        asks=asks,
        answer_id=answer_id,
    )


def _again(
    line: Line,
    place: int,
    turn: Turn,
    *,
    forced: bool = False,
    tools_again: bool = False,
    asks: bool = True,
) -> Step:
    """A step that repeats a turn."""
    rounds = () if tools_again else results(turn.rounds) if asks else turn.rounds
    reads = (rounds[-1] if rounds else turn.asked).id if forced else None
    return _step(
        line,
        place,
        turn.asked.text,
        files=_files(turn.asked),
        suffix=turn.asked.sent_suffix,
        source_id=turn.asked.id,
        rounds=tuple(node.id for node in rounds),
        reads_id=reads,
        asks=asks,
        answer_id=turn.answer.id if turn.answer and not asks else None,
    )


def results(rounds: tuple[Node, ...]) -> tuple[Node, ...]:
    """The rounds as far as there are results: what a model said last is not to be answered."""
    last = max((place for place, node in enumerate(rounds, 1) if node.role == "tool"), default=0)
    return rounds[:last]


def _written(store: Store, job: Job, lines: Sequence[tuple[Line, Sequence[Step]]]) -> Job:
    store.jobs.add(job, lines)
    return job
