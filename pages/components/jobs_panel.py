"""Jobs: what is played by itself, how far it is, what came of each turn or cell."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from core import Runner, TurntreeError, View, show
from core.columns import Column
from core.store.jobs import Cell
from core.types import Comparison, Job, JobKind, JobState, StepState
from pages import backend
from pages.components import (
    checks_panel,
    lane_wishes,
    matrix_dialog,
    pane,
    replay_dialogs,
    sidebar,
    state,
    words,
)
from pages.components.act import Dialog
from pages.components.frame import folding
from pages.components.state import Place

_LOOK, _JOBS, _ROWS = 1.0, 20, 30  # seconds between two looks; how many are shown
KINDS: dict[JobKind, str] = {
    "replay": "Replay",
    "rebase": "Re-run below",
    "cherry-pick": "Carried turns",
    "lane": "New lane",
    "matrix": "Matrix",
}
STATES: dict[JobState, str] = {
    "running": "running",
    "paused": "paused",
    "stopped": "stopped",
    "done": "done",
}
_STEPS: dict[StepState, str] = {
    "waiting": "waiting",
    "running": "running…",
    "done": "answered",
    "failed": "failed",
    "stopped": "stopped",
    "interrupted": "interrupted",
}
_COLOURS: dict[StepState, str] = {"failed": "red", "interrupted": "orange", "stopped": "orange"}
_BROKEN: tuple[StepState, ...] = ("failed", "interrupted", "stopped")
Counts = dict[StepState, int]


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """The tab of the compare page: the jobs of its session, which tell who wrote what."""
    if comparison.blind:
        st.info(
            "Jobs name their branches and models. They are shown once you have voted.",
            icon=":material/visibility_off:",
        )
        return
    of_session(runner, comparison.session_id)


def of_session(runner: Runner, session_id: str) -> None:
    """Every job of a session, the latest first, and the way to a new matrix."""
    _leave()
    with st.container(horizontal=True, vertical_alignment="center", key="jobs_head"):
        st.markdown("#### Jobs", width="stretch")
        if st.button("New matrix", icon=":material/grid_on:", key="jobs.matrix"):
            view = _view(runner, session_id)
            state.open_dialog(Dialog(kind="matrix", branch=view.branch.id))
    jobs = runner.store.jobs.of(session_id, _JOBS)
    if not jobs:
        st.caption(
            "Nothing was played by itself in this session yet. Replay a branch from its menu in"
            " the tree, change a turn and re-run what is below it, or start a matrix here."
        )
    elif _busy(runner, jobs):
        _following(runner, session_id)
    else:
        _list(runner, jobs)
    shown = state.dialog()
    if shown is not None and shown.kind == "matrix":
        matrix_dialog.draw(runner, _view(runner, session_id), shown)


def rest(runner: Runner, session_id: str) -> None:
    """The session goes into the bin: what plays by itself in it pauses, and costs no more."""
    for job in runner.store.jobs.of(session_id):
        if job.state == "running":
            backend.player().pause(job.id)


def _view(runner: Runner, session_id: str) -> View:
    here = state.place()
    branch = here.branch if here.session == session_id else None
    return show(runner.store, session_id, branch_id=branch)


def _busy(runner: Runner, jobs: Sequence[Job]) -> bool:
    """Whether anything may change by itself: a paused job still ends what is on its way."""
    return any(
        job.state == "running" or runner.store.jobs.counts(job.id).get("running") for job in jobs
    )


@pane.fragment(run_every=_LOOK)
def _following(runner: Runner, session_id: str) -> None:
    _leave()
    jobs = runner.store.jobs.of(session_id, _JOBS)
    _list(runner, jobs)
    if not _busy(runner, jobs):
        st.rerun()


def _leave() -> None:
    """Go where a button has led: a fragment runs without the page around it."""
    if state.leaving():
        st.switch_page("playground.py", query_params=state.link())


def _list(runner: Runner, jobs: Sequence[Job]) -> None:
    for number, job in enumerate(jobs):
        if number == 0 and state.kept("jobs.newest") != job.id:
            state.keep("jobs.newest", job.id)
            state.unfold(f"job.{job.id}")
        _job(runner, job)


# --- one job -------------------------------------------------------------------------------------


def _job(runner: Runner, job: Job) -> None:
    counts = runner.store.jobs.counts(job.id)
    with st.container(border=True, key=f"job.{job.id}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{sidebar.label(job.name)}** :small[· {_facts(job)}]", width="stretch")
            _buttons(job, counts, f"job.{job.id}")
        done, total = counts.get("done", 0), sum(counts.values())
        st.progress(done / total if total else 0.0, text=_progress(job, counts))
        if job.note and job.state == "paused":
            st.caption(f":orange[{sidebar.label(job.note)}]")
        noun = "Results" if job.kind == "matrix" else "Turns"
        with folding(f"job.{job.id}", noun, small=True) as opened:
            if opened:
                cells = runner.store.jobs.cells(job.id)
                (_table if job.kind == "matrix" else _steps)(job, cells)


def _facts(job: Job) -> str:
    return f"{KINDS[job.kind]} · {STATES[job.state]}"


def _progress(job: Job, counts: Counts) -> str:
    noun = "call" if job.kind == "matrix" else "turn"
    told = [f"{counts.get('done', 0)} of {words.counted(sum(counts.values()), noun)}"]
    told += [f"{counts[one]} {_STEPS[one].rstrip('…')}" for one in _STEPS if _telling(one, counts)]
    return " · ".join(told)


def _telling(one: StepState, counts: Counts) -> bool:
    return one not in ("done", "waiting") and bool(counts.get(one))


def _buttons(job: Job, counts: Counts, scope: str) -> None:
    """Pause and Stop while it runs; Resume where anything is left."""
    player = backend.player()
    if job.state == "running":
        _button("Pause", ":material/pause:", f"{scope}.pause", lambda: player.pause(job.id))
    elif sum(counts.values()) > counts.get("done", 0):
        _button("Resume", ":material/play_arrow:", f"{scope}.resume", lambda: player.start(job.id))
    if job.state == "running" or counts.get("running"):
        _button("Stop", ":material/stop:", f"{scope}.stop", lambda: player.stop(job.id))


def _button(label: str, icon: str, key: str, act: Callable[[], object], **more: Any) -> None:
    def done() -> None:
        try:
            act()
        except TurntreeError as error:
            state.flash_error(error)

    st.button(label, icon=icon, key=key, on_click=done, type="tertiary", **more)


# --- turns ---------------------------------------------------------------------------------------


def _steps(job: Job, cells: Sequence[Cell]) -> None:
    """A line for each turn: how it stands, what it came to, and what can be done with it."""
    several = len({cell.line_id for cell in cells}) > 1
    listing = f"job.{job.id}"
    most = state.shown(listing, _ROWS)
    for cell in cells[:most]:
        if several and cell.turn == 0:
            st.markdown(f":small[**Sample {cell.sample + 1}**]")
        _step(job, cell)
    if len(cells) > most:
        st.button(
            f"{len(cells) - most} more",
            key=f"{listing}.more",
            type="tertiary",
            on_click=state.show_more,
            args=[listing, most + _ROWS],
        )


def _step(job: Job, cell: Cell) -> None:
    key = f"step.{cell.step_id}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=key):
        st.markdown(
            f"{cell.turn + 1}. {_short(cell.asked)}  \n:small[{_outcome(cell)}]", width="stretch"
        )
        if cell.state in (*_BROKEN, "done") and cell.asks:
            name = f"Retry turn {cell.turn + 1}"
            again = backend.player().retry
            _button(name, ":material/refresh:", f"{key}.retry", lambda: again(cell.step_id))
        if cell.branch_id:
            _open(job, cell, f"{key}.open", f"Open turn {cell.turn + 1}")


def _outcome(cell: Cell) -> str:
    """How a step stands, by which model, and what it came to."""
    said = _STEPS[cell.state]
    colour = _COLOURS.get(cell.state)
    told = [f":{colour}[{said}]" if colour else said, sidebar.label(cell.model)]
    if cell.state == "done":
        said = "copied" if not cell.asks else words.outcome(cell.finish_reason)
        told[0] = said
    if cell.replayed_from:
        told.append("replayed, \\$0")
    elif cell.state == "done" and cell.asks:
        told += [words.money(cell.cost_nanodollars).replace("$", "\\$")]
        told += [words.duration(cell.duration_ms)]
    if cell.state == "failed" and cell.error:
        told.append(sidebar.label(cell.error[:160]))
    return " · ".join(told)


def _short(text: str, most: int = 90) -> str:
    line = " ".join(text.split())
    return sidebar.label(f"{line[:most]}…" if len(line) > most else line)


def _open(job: Job, cell: Cell, key: str, label: str) -> None:
    st.button(
        label,
        icon=":material/arrow_outward:",
        key=key,
        type="tertiary",
        on_click=state.open_place,
        args=[
            Place(session=job.session_id, branch=cell.branch_id, node=cell.answer_id or cell.tip_id)
        ],
    )


# --- cells ---------------------------------------------------------------------------------------


def _table(job: Job, cells: Sequence[Cell]) -> None:
    """The results of a matrix, a row a cell; a chosen one can be opened or asked again."""
    lines: dict[str, list[Cell]] = {}
    for cell in cells:
        lines.setdefault(cell.line_id, []).append(cell)
    rows = [_now(line) for line in lines.values()]
    names = lane_wishes.labels()
    policies = len({cell.policy for cell in rows}) > 1
    key = f"cells.{job.id}"
    answers = [cell.answer_id for cell in rows if cell.answer_id]
    checked = checks_panel.passed(backend.store(), job.session_id, answers)
    event = st.dataframe(
        [
            _row(cell, lines[cell.line_id], names, policies=policies, samples=_sampled(rows))
            | ({"Checks": checked.get(str(cell.answer_id))} if checked else {})
            for cell in rows
        ],
        hide_index=True,
        column_config=_columns(),
        on_select="rerun",
        selection_mode="single-row",
        height="content" if len(rows) < 12 else 440,
        key=key,
        placeholder=words.NOTHING,
        alt=f"Results of {job.name}",
    )
    chosen = [rows[row] for row in event["selection"]["rows"] if row < len(rows)]
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}.bar"):
        if not chosen:
            st.caption("Choose a row to open its branch. – is unknown.")
            return
        cell = chosen[0]
        st.text(f"Cell {cell.place + 1}", width="content")
        if cell.branch_id:
            _open(job, cell, f"{key}.open", "Open the branch")
        if cell.state in (*_BROKEN, "done"):
            again = backend.player().retry
            _button("Ask again", ":material/refresh:", f"{key}.retry", lambda: again(cell.step_id))
    if chosen[0].error:
        st.caption(f":red[{sidebar.label(chosen[0].error)}]")


def _sampled(rows: Sequence[Cell]) -> bool:
    return any(cell.sample for cell in rows)


def _now(line: Sequence[Cell]) -> Cell:
    """Where a cell of several turns stands: at its last turn, or the first that is not done."""
    return next((cell for cell in line if cell.state != "done"), line[-1])


def _row(
    cell: Cell,
    line: Sequence[Cell],
    names: dict[str, str],
    *,
    policies: bool,
    samples: bool,
) -> dict[str, Any]:
    row: dict[str, Any] = {f"{{{{{name}}}}}": value for name, value in cell.values.items()}
    row["Model"] = names.get(f"{cell.provider}:{cell.model}", cell.model)
    if policies:
        row["Context"] = cell.policy
    if samples:
        row["Sample"] = cell.sample + 1
    said = "replayed" if cell.replayed_from else _STEPS[cell.state].rstrip("…")
    row["State"] = said
    row["Answer"] = " ".join((cell.answer or cell.error or "").split())
    row["Tokens in"] = _sum(one.input_tokens for one in line)
    row["Tokens out"] = _sum(one.output_tokens for one in line)
    cost = _sum(one.cost_nanodollars for one in line)
    row["Cost"] = None if cost is None else cost / 1e9
    took = _sum(one.duration_ms for one in line)
    row["Took"] = None if took is None else took / 1000
    return row


def _sum(found: Any) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [one for one in found if one is not None]
    return sum(known) if known else None


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        "Answer": config.TextColumn("Answer", width="medium"),
        "Tokens in": config.NumberColumn("In", format="localized", help="Tokens"),
        "Tokens out": config.NumberColumn("Out", format="localized", help="Tokens"),
        "Cost": config.NumberColumn("Cost", format="$%.4f", help="An estimate; empty is unknown"),
        "Took": config.NumberColumn("Took", format="%.1f s"),
    }


# --- the line in the playground ------------------------------------------------------------------


def line(runner: Runner, view: View) -> None:
    """Under the head: the job that builds the branch that is shown, until it is done."""
    job = _builds(runner, view.branch.id)
    if job is None:
        return
    if job.state == "running":
        _line_following(runner, view.branch.id)
    else:
        _line(runner, job)


def _builds(runner: Runner, branch_id: str) -> Job | None:
    found = runner.store.jobs.of_branch(branch_id)
    job = runner.store.jobs.get(found[-1].job_id) if found else None
    return job if job is not None and job.state in ("running", "paused") else None


@pane.fragment(run_every=_LOOK)
def _line_following(runner: Runner, branch_id: str) -> None:
    job = _builds(runner, branch_id)
    if job is None or job.state != "running":
        st.rerun()
    _line(runner, job)


def _line(runner: Runner, job: Job) -> None:
    counts = runner.store.jobs.counts(job.id)
    with st.container(key="job_line", horizontal=True, vertical_alignment="center", gap="small"):
        named = replay_dialogs.MODES[job.mode][0].lower()
        mode = f" · {named}" if job.kind == "replay" else ""
        note = f" · {job.note}" if job.note and job.state == "paused" else ""
        st.markdown(
            f":small[{_facts(job)}{mode} · {_progress(job, counts)}{sidebar.label(note)}]",
            width="content",
        )
        _buttons(job, counts, "job_line")
        st.page_link(
            "compare.py",
            label="All jobs",
            icon=":material/view_list:",
            query_params={"session": job.session_id, "tab": "Jobs"},
        )
