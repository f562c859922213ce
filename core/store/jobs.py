"""Jobs: turns that are played by themselves, with every step's state on disk."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import NotFound
from core.store.attachments import files_in, files_json
from core.store.database import Database
from core.store.nodes import config_json
from core.types import CONFIG, Job, JobState, Line, Step, StepState, well_formed

_JOB = (
    "SELECT id, session_id, kind, name, mode, state, concurrency, per_minute, reuse, note,"
    " spec_json, created_at FROM jobs"
)
_LINE = "SELECT id, job_id, place, name, config_json, base_id, branch_id, sample, values_json"
_STEP = (
    "SELECT job_steps.id, line_id, turn, text, files_json, suffix, source_id, rounds_json,"
    " reads_id, asks, answer_id, job_steps.state, run_id, tip_id, tries FROM job_steps"
)


_CELLS = (
    "SELECT job_steps.id AS step_id, line_id, job_lines.name AS line, job_lines.place AS place,"
    " turn, job_lines.branch_id AS branch_id, job_lines.sample AS sample, values_json,"
    " json_extract(config_json, '$.provider') AS provider,"
    " json_extract(config_json, '$.model') AS model,"
    " json_extract(config_json, '$.policy') AS policy,"
    " substr(job_steps.text, 1, :few) AS asked, job_steps.state AS state, asks, tries,"
    " tip_id, answer_id, run_id, substr(nodes.text, 1, :few) AS answer, finish_reason,"
    " replayed_from, input_tokens, output_tokens, cost_nanodollars, duration_ms,"
    " json_extract(error_json, '$.message') AS error"
    " FROM job_steps JOIN job_lines ON job_lines.id = line_id"
    " LEFT JOIN runs ON runs.id = run_id LEFT JOIN nodes ON nodes.id = answer_id"
    " WHERE job_id = :job ORDER BY job_lines.place, turn"
)
_FEW = 200  # characters of words that a list shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A step as a list shows it, with what its run came to. ``asked`` and ``answer`` are the
    beginnings of the words; tokens, cost (nano-dollars) and time are None where unknown."""

    step_id: str
    line_id: str
    line: str
    place: int
    turn: int
    branch_id: str | None
    sample: int
    values: Mapping[str, str]
    provider: str
    model: str
    policy: str | None
    asked: str
    state: StepState
    asks: bool
    tries: int
    tip_id: str | None
    answer_id: str | None
    run_id: str | None
    answer: str | None
    finish_reason: str | None
    replayed_from: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_nanodollars: int | None
    duration_ms: int | None
    error: str | None


class Jobs:
    """Jobs, the lines they build, and the steps of each line."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, job: Job, lines: Sequence[tuple[Line, Sequence[Step]]]) -> None:
        """Write a job with all it will do."""
        with self._db.write() as db:
            db.conn.execute(
                "INSERT INTO jobs VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                [
                    job.id,
                    job.session_id,
                    job.kind,
                    well_formed(job.name),
                    job.mode,
                    job.state,
                    job.concurrency,
                    job.per_minute,
                    int(job.reuse),
                    job.note,
                    None if job.spec is None else json.dumps(job.spec, ensure_ascii=True),
                    job.created_at,
                ],
            )
            db.conn.executemany(
                "INSERT INTO job_lines VALUES (?,?,?,?,?,?,?,?,?)",
                [_line_row(line) for line, _ in lines],
            )
            db.conn.executemany(
                "INSERT INTO job_steps VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                [_step_row(step) for _, steps in lines for step in steps],
            )

    def get(self, job_id: str) -> Job:
        """The job. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_JOB} WHERE id = ?", [job_id]):
                return _job(row)
        raise NotFound("There is no such job.", hint="Reload the page.")

    def of(self, session_id: str, limit: int = 20) -> list[Job]:
        """The session's jobs, the latest first."""
        with self._db.read() as db:
            rows = db.query(
                f"{_JOB} WHERE session_id = ? ORDER BY id DESC LIMIT ?", [session_id, limit]
            )
            return [_job(row) for row in rows]

    def running(self) -> list[Job]:
        """Every job that is said to run."""
        with self._db.read() as db:
            return [_job(row) for row in db.query(f"{_JOB} WHERE state = 'running'")]

    def set_state(self, job_id: str, state: JobState, note: str = "") -> None:
        """Bring the job into another state."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE jobs SET state = ?, note = ? WHERE id = ?", [state, note, job_id]
            )

    def lines(self, job_id: str) -> list[Line]:
        """What the job builds, in order."""
        with self._db.read() as db:
            rows = db.query(f"{_LINE} FROM job_lines WHERE job_id = ? ORDER BY place", [job_id])
            return [_line(row) for row in rows]

    def line(self, line_id: str) -> Line:
        """The line. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_LINE} FROM job_lines WHERE id = ?", [line_id]):
                return _line(row)
        raise NotFound("There is no such line.", hint="Reload the page.")

    def of_branch(self, branch_id: str) -> list[Line]:
        """The lines that build a branch."""
        with self._db.read() as db:
            rows = db.query(f"{_LINE} FROM job_lines WHERE branch_id = ?", [branch_id])
            return [_line(row) for row in rows]

    def set_branch(self, line_id: str, branch_id: str) -> None:
        """Note the branch that a line builds."""
        with self._db.write() as db:
            db.conn.execute("UPDATE job_lines SET branch_id = ? WHERE id = ?", [branch_id, line_id])

    def steps(self, job_id: str) -> list[Step]:
        """Every step of a job, line by line."""
        with self._db.read() as db:
            rows = db.query(
                f"{_STEP} JOIN job_lines ON job_lines.id = line_id WHERE job_id = ?"
                " ORDER BY job_lines.place, turn",
                [job_id],
            )
            return [_step(row) for row in rows]

    def cells(self, job_id: str) -> list[Cell]:
        """Every step with what came of it, line by line: one query, however many there are."""
        with self._db.read() as db:
            rows = db.query(_CELLS, {"job": job_id, "few": _FEW})
            return [_cell(row) for row in rows]

    def step(self, step_id: str) -> Step:
        """The step. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query(f"{_STEP} WHERE job_steps.id = ?", [step_id]):
                return _step(row)
        raise NotFound("There is no such step.", hint="Reload the page.")

    def step_of(self, run_id: str) -> Step | None:
        """The step that a run belongs to."""
        with self._db.read() as db:
            return next(map(_step, db.query(f"{_STEP} WHERE run_id = ?", [run_id])), None)

    def next_steps(self, job_id: str, limit: int) -> list[Step]:
        """The first waiting step of each line in which every earlier one is done."""
        with self._db.read() as db:
            rows = db.query(
                f"{_STEP} JOIN job_lines ON job_lines.id = line_id"
                " WHERE job_id = ? AND job_steps.state = 'waiting' AND NOT EXISTS"
                " (SELECT 1 FROM job_steps AS earlier WHERE earlier.line_id = job_steps.line_id"
                " AND earlier.turn < job_steps.turn AND earlier.state != 'done')"
                " ORDER BY job_lines.place LIMIT ?",
                [job_id, limit],
            )
            return [_step(row) for row in rows]

    def counts(self, job_id: str) -> dict[StepState, int]:
        """How many steps are in each state."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT job_steps.state, count(*) FROM job_steps JOIN job_lines"
                " ON job_lines.id = line_id WHERE job_id = ? GROUP BY job_steps.state",
                [job_id],
            ).fetchall()
        return dict(rows)

    def placed(self, step_id: str, tip_id: str) -> None:
        """Note that the step's words are written; ``tip_id`` is what is to be answered."""
        with self._db.write() as db:
            db.conn.execute("UPDATE job_steps SET tip_id = ? WHERE id = ?", [tip_id, step_id])

    def began(self, step_id: str, run_id: str) -> None:
        """Note that a step is being answered."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE job_steps SET run_id = ?, answer_id = NULL, state = 'running',"
                " tries = tries + 1 WHERE id = ?",
                [run_id, step_id],
            )

    def goes_on(self, step_id: str, run_id: str) -> None:
        """Note that another run answers the step: the recap that went before it is written."""
        with self._db.write() as db:
            db.conn.execute("UPDATE job_steps SET run_id = ? WHERE id = ?", [run_id, step_id])

    def finish(self, step_id: str, state: StepState, answer_id: str | None = None) -> None:
        """Bring a step into another state; ``answer_id`` is the answer, once there is one."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE job_steps SET state = ?, answer_id = coalesce(?, answer_id) WHERE id = ?",
                [state, answer_id, step_id],
            )

    def again(self, step_id: str) -> None:
        """Let a step wait for another answer, and all that follows it on its line be written and
        played anew. A step that only copies is written anew as well."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE job_steps SET state = 'waiting',"
                " answer_id = CASE WHEN asks THEN NULL ELSE answer_id END,"
                " tip_id = CASE WHEN asks THEN tip_id END WHERE id = ?",
                [step_id],
            )
            db.conn.execute(
                "UPDATE job_steps SET"
                " answer_id = CASE WHEN state = 'done' OR NOT asks THEN answer_id END,"
                " state = 'waiting', run_id = NULL, tip_id = NULL"
                " WHERE (line_id, 1) = (SELECT line_id, job_steps.turn > first.turn"
                " FROM job_steps AS first WHERE first.id = ?)",
                [step_id],
            )

    def redo(self, job_id: str, *states: StepState) -> None:
        """Let the steps in these states wait for another try."""
        with self._db.write() as db:
            db.conn.execute(
                "UPDATE job_steps SET state = 'waiting' WHERE state IN"
                " (SELECT value FROM json_each(?)) AND line_id IN"
                " (SELECT id FROM job_lines WHERE job_id = ?)",
                [json.dumps(states), job_id],
            )


def _line_row(line: Line) -> list[Any]:
    return [
        line.id,
        line.job_id,
        line.place,
        well_formed(line.name),
        config_json(line.config),
        line.base_id,
        line.branch_id,
        line.sample,
        json.dumps(dict(line.values)),
    ]


def _step_row(step: Step) -> list[Any]:
    return [
        step.id,
        step.line_id,
        step.turn,
        well_formed(step.text),
        files_json(step.files),
        step.suffix,
        step.source_id,
        json.dumps(step.rounds),
        step.reads_id,
        int(step.asks),
        step.answer_id,
        step.state,
        step.run_id,
        step.tip_id,
        step.tries,
    ]


def _job(row: Mapping[str, Any]) -> Job:
    known = dict(row)
    spec = known.pop("spec_json")
    reuse = bool(known.pop("reuse"))
    return Job(spec=json.loads(spec) if spec else None, reuse=reuse, **known)


def _line(row: Mapping[str, Any]) -> Line:
    known = dict(row)
    return Line(
        config=CONFIG.validate_json(known.pop("config_json")),
        values=json.loads(known.pop("values_json")),
        **known,
    )


def _step(row: Mapping[str, Any]) -> Step:
    known = dict(row)
    return Step(
        files=files_in(known.pop("files_json")),
        rounds=tuple(json.loads(known.pop("rounds_json"))),
        asks=bool(known.pop("asks")),
        **known,
    )


def _cell(row: Mapping[str, Any]) -> Cell:
    known = dict(row)
    return Cell(values=json.loads(known.pop("values_json")), asks=bool(known.pop("asks")), **known)
