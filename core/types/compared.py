"""What is compared: comparisons, lanes, jobs and their steps, verdicts, checks, origins."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.types.kept import AttachmentRef, Config, Json

JobKind = Literal["replay", "rebase", "cherry-pick", "lane", "matrix"]
JobMode = Literal["free", "forced"]
"""*free*: each new answer is part of the next turn's context. *forced* (teacher-forced): the
answers of the branch that is replayed stay in the context, and each turn is answered once anew."""
JobState = Literal["running", "paused", "stopped", "done"]
StepState = Literal["waiting", "running", "done", "failed", "stopped", "interrupted"]
Judged = Literal["person", "judge"]
CheckKind = Literal["contains", "regex", "schema", "length", "number", "forbidden", "expression"]
OriginKind = Literal["fuse", "merge", "quote", "replay", "pick"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Branches read side by side. ``at_id`` is the node that its lanes leave from: of a fan-out
    the person's message, None where branches were only put beside each other. ``blind`` hides
    names and order until a verdict is given; ``seed`` decides that order."""

    id: str
    session_id: str
    name: str
    created_at: str
    at_id: str | None = None
    blind: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One column: its own branch, which holds the lane's config and runs.

    ``sample`` counts from 0 the lanes of one config. ``after`` is the lane whose first word this
    one waits for, so that the provider has read their common beginning by then.
    """

    id: str
    comparison_id: str
    branch_id: str
    place: int
    sample: int = 0
    after: str | None = None
    dropped_at: str | None = None
    kept_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Turns that are played by themselves: a replay, a rebase, a cherry-pick, a matrix.

    ``per_minute`` limits how many calls begin in a minute, None not at all; ``reuse`` takes the
    stored answer to the same request. ``note`` tells why it paused by itself.
    """

    id: str
    session_id: str
    kind: JobKind
    name: str
    created_at: str
    mode: JobMode = "free"
    state: JobState = "paused"
    concurrency: int = 4
    per_minute: int | None = None
    reuse: bool = False
    note: str = ""
    spec: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One branch that a job builds, turn by turn; of a matrix, one cell.

    ``base_id`` is the node it starts under, None the root. ``branch_id`` is there once its first
    turn has begun. ``values`` are what its template was filled with.
    """

    id: str
    job_id: str
    place: int
    name: str
    config: Config
    base_id: str | None = None
    branch_id: str | None = None
    sample: int = 0
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of a line: the words to send, and what came of it.

    ``source_id`` is the person's message that it repeats. ``rounds`` are recorded tool calls and
    results that stand between it and the answer. ``reads_id`` is the node up to which another
    lineage is sent instead of the line's own. ``tip_id`` is what is answered, once it is written.
    ``asks`` False only copies ``answer_id`` (of a cherry-pick without execution).
    """

    id: str
    line_id: str
    turn: int
    text: str
    files: tuple[AttachmentRef, ...] = ()
    suffix: str = ""
    source_id: str | None = None
    rounds: tuple[str, ...] = ()
    reads_id: str | None = None
    asks: bool = True
    answer_id: str | None = None
    state: StepState = "waiting"
    run_id: str | None = None
    tip_id: str | None = None
    tries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What somebody said of branches. ``tips`` maps branch ids to the nodes that were judged;
    ``ratings`` branch ids to 1..5 (person) or 0..10 (judge). ``winner`` of None is a tie, or only
    ratings, as ``tie`` tells. ``body`` holds what else a judge left: votes, orders, reasons."""

    id: str
    session_id: str
    by: Judged
    tips: Mapping[str, str]
    created_at: str
    comparison_id: str | None = None
    winner: str | None = None
    tie: bool = False
    blind: bool = False
    ratings: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    body: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A test of an answer that needs no model. ``body`` is what its kind asks for."""

    id: str
    session_id: str
    kind: CheckKind
    body: Json
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a node's words came from: another node, of that branch."""

    node_id: str
    origin_id: str
    kind: OriginKind
    branch_id: str | None = None
