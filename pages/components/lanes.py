"""The lanes element: columns side by side, turns aligned, answers streamed live, one field for
a follow-up in all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from core import Node, Run, Runner, TurntreeError, View
from core.alignment import Turn, rows, turns_after
from core.columns import Column, letter, shared, shuffled
from core.files import LIMITS, MOST_BYTES
from core.lane_facts import Facts, Total, differences, of_lane
from core.policies import POLICIES
from core.providers import adapters, model_info
from core.types import Comparison, Config, Json
from pages import backend
from pages.components import acts_lanes, element, state, thread, words
from pages.components.entry import run_facts, run_summary
from pages.components.state import Place

_HERE = Path(__file__)
_element = st.components.v2.component(
    "turntree_lanes",
    js=_HERE.with_suffix(".js").read_text("utf-8"),
    css=_HERE.with_name("thread.css").read_text("utf-8")
    + _HERE.with_name("files.css").read_text("utf-8")
    + _HERE.with_suffix(".css").read_text("utf-8"),
)
KEY = "turntree.lanes"
ROWS = 30
"""Aligned turns that are shown at first, and how many more at a time."""
_BEGINNING = 30  # messages of the common beginning that can be unfolded
_VALUE = 60  # characters of a setting
_HIDDEN_TROUBLE = {
    "message": "This lane could not answer.",
    "hint": "Retry, or show the names to see why.",
}


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """Draw the lanes, and do what is done in them."""
    data = lanes_data(
        runner,
        comparison,
        found,
        limit=state.shown(KEY + comparison.id, ROWS),
        heard=state.kept(_heard(comparison)),
        insert=state.kept(_taken_back(comparison)),
    )
    data["attached"] = state.kept(_attached(comparison))
    element.mount(_element, KEY, data, partial(on_act, runner, comparison))


def _heard(comparison: Comparison) -> str:
    return f"lanes.heard.{comparison.id}"


def _attached(comparison: Comparison) -> str:
    return f"lanes.attached.{comparison.id}"


def _taken_back(comparison: Comparison) -> str:
    return f"lanes.insert.{comparison.id}"


def on_act(runner: Runner, comparison: Comparison) -> None:
    """Something was done in the lanes."""
    act = element.take(KEY)
    if act is None:
        return
    if act["action"] == "earlier":
        key = KEY + comparison.id
        state.show_more(key, state.shown(key, ROWS) + ROWS)
        return
    fine = False
    try:
        result = acts_lanes.perform(runner, comparison, act)
        fine = True
    except TurntreeError as error:
        state.flash_error(error)
    if act["action"] == "follow_up":
        state.keep(_heard(comparison), {"n": act["n"], "fine": fine})
    if act["action"] == "attach":
        state.keep(_attached(comparison), act["n"])
    if not fine:
        return
    if result.said:
        state.flash(result.said)
    if result.insert is not None:
        state.keep(_taken_back(comparison), {"n": act["n"], "text": result.insert})
    if result.sent is not None:
        state.look_into(result.sent)
    if not result.stay:
        place = Place(session=comparison.session_id, branch=result.branch, node=result.node)
        state.open_place(place)


# --- the data -------------------------------------------------------------------------------


def lanes_data(
    runner: Runner,
    comparison: Comparison,
    found: Sequence[Column],
    *,
    limit: int = ROWS,
    heard: Json = None,
    insert: Json = None,
) -> dict[str, Any]:
    """Ids, marks and numbers; the words come by their own route. While the look is blind,
    nothing in it tells which model a lane is."""
    store = runner.store
    shown = shuffled(comparison, found) if comparison.blind else list(found)
    common = beginning_of(comparison, shown)
    table = rows([turns_after(column.lineage, common) for column in shown])
    table = table or [(None,) * len(shown)]
    first = max(0, len(table) - limit)
    names = [letter(n) if comparison.blind else one.name for n, one in enumerate(shown)]
    beginning = shown[0].lineage[:common] if shown else ()
    ids = [node.id for row in table[first:] for turn in row if turn for node in turn.nodes]
    ids += [node.id for node in beginning[-_BEGINNING:]]
    runs: dict[str, Run | str] = {**store.imports.models(ids), **store.runs.of_nodes(ids)}
    return {
        "token": backend.TOKEN,
        "session_id": comparison.session_id,
        "comparison_id": comparison.id,
        "blind": comparison.blind,
        "lanes": [
            lane(runner, comparison, column, names[n], differ, common, names)
            for n, (column, differ) in enumerate(
                zip(shown, differences([column.config for column in shown]), strict=True)
            )
        ],
        "beginning": _of_beginning(beginning, runs, comparison),
        "rows": [
            _row(first + n, row, runs, names, comparison) for n, row in enumerate(table[first:])
        ],
        "earlier": first,
        "dropped": _dropped(runner, comparison),
        "draft": store.drafts.get(acts_lanes.draft_key(comparison.id)) or "",
        "files": _files(runner, comparison),
        "limits": {"text": LIMITS, "bytes": MOST_BYTES},
        "heard": heard,
        "insert": insert,
    }


def beginning_of(comparison: Comparison, shown: Sequence[Column]) -> int:
    """How many nodes, from the root, stand above the lanes: those that all have in common, but
    nothing after the message of a fan-out, and nothing of a lane that is alone."""
    common = shared(shown) if len(shown) > 1 else 0
    for place, node in enumerate(shown[0].lineage if shown else (), 1):
        if node.id == comparison.at_id:
            return min(common, place) if len(shown) > 1 else place
    return common


def _files(runner: Runner, comparison: Comparison) -> list[dict[str, Any]]:
    """What goes along with the next follow-up, as chips take it."""
    files = acts_lanes.files_of(runner.store, comparison.id)
    sizes = runner.store.attachments.sizes(file.sha256 for file in files)
    return [asdict(file) | {"size": sizes.get(file.sha256)} for file in files]


def _dropped(runner: Runner, comparison: Comparison) -> list[dict[str, str]]:
    store = runner.store
    return [
        {
            "id": lane.id,
            "name": "" if comparison.blind else store.branches.get(lane.branch_id).name,
        }
        for lane in store.comparisons.lanes(comparison.id, dropped=True)
        if lane.dropped_at is not None
    ]


def _of_beginning(
    nodes: Sequence[Node], runs: Mapping[str, Run | str], comparison: Comparison
) -> dict[str, Any]:
    """What all lanes have in common. ``asked`` is the message that they all answer, if any."""
    turn, entries = 0, []
    for node in nodes:
        turn += node.role == "user"
        entries.append((node, max(turn, 1)))
    asked = bool(nodes) and nodes[-1].role == "user"
    folded = entries[:-1] if asked else entries
    name = "A model" if comparison.blind else None
    return {
        "messages": len(folded),
        "turns": max(0, turn - asked),
        "entries": [entry(node, n, runs, name) for node, n in folded[-_BEGINNING:]],
        "asked": entry(*entries[-1], runs, name) if asked else None,
    }


def _row(
    number: int,
    row: Sequence[Turn | None],
    runs: Mapping[str, Run | str],
    names: Sequence[str],
    comparison: Comparison,
) -> dict[str, Any]:
    """One aligned turn. What all that are in it ask alike is told once, as ``asked``."""
    said = [turn for turn in row if turn is not None and turn.asked is not None]
    alike = len(said) > 1 and len({_exactly(turn) for turn in said}) == 1
    cells: list[dict[str, Any] | None] = []
    for name, turn in zip(names, row, strict=True):
        if turn is None:
            cells.append(None)
            continue
        own = () if turn.asked is None or alike else (turn.asked,)
        hidden = name if comparison.blind else None
        cells.append(
            {
                "turn": turn.number,
                "entries": [entry(one, turn.number, runs, hidden) for one in (*own, *turn.nodes)],
            }
        )
    first = said[0] if alike else None
    return {
        "key": number,
        "asked": entry(first.asked, first.number, runs, None) if first and first.asked else None,
        "among": len(said),
        "cells": cells,
    }


def _exactly(turn: Turn) -> tuple[Any, ...]:
    return (turn.asked.parts, turn.asked.sent_suffix) if turn.asked else ()


def entry(
    node: Node, turn: int, runs: Mapping[str, Run | str], hidden: str | None
) -> dict[str, Any]:
    """A message as the thread's element takes it. ``hidden`` is said in place of the model. Of
    an imported answer ``runs`` has no more than the name of its model."""
    found = runs.get(node.id)
    run = None if isinstance(found, str) else found
    about = run_summary(run) if run else None
    if hidden is not None and node.role == "assistant":
        about = {"id": None, "model": hidden, "label": hidden}
        about |= {"finish": run.finish_reason} if run else {}
    return {
        "id": node.id,
        "role": node.role,
        "author": node.author,
        "at": node.created_at,
        "turn": turn,
        "siblings": None,
        "forks": [],
        "final": False,
        "pinned": False,
        "muted": False,
        "previous_answer": None,
        "run": about,
        "model": found if isinstance(found, str) and hidden is None else None,
    }


# --- a lane ---------------------------------------------------------------------------------


def lane(
    runner: Runner,
    comparison: Comparison,
    column: Column,
    name: str,
    differ: Mapping[str, Json],
    common: int,
    names: Sequence[str],
) -> dict[str, Any]:
    """One lane's head, and what is going on in it."""
    store, branch = runner.store, column.branch
    view = View(
        session=store.sessions.get(branch.session_id),
        branch=branch,
        tip_id=branch.tip_id,
        lineage=column.lineage,
    )
    running = runner.answering(branch.id, branch.tip_id) if branch.tip_id else None
    trouble = None if running else thread.trouble(runner, view)
    if trouble and comparison.blind:
        trouble = {"run": trouble["run"], **_HIDDEN_TROUBLE}
    asked = bool(column.lineage) and column.lineage[-1].role == "user"
    last, total = of_lane(store, column.lineage, common)
    return {
        "id": column.lane.id,
        "branch_id": branch.id,
        "name": name,
        "tip": branch.tip_id,
        "kept": column.lane.kept_at is not None and not comparison.blind,
        "finish": last.finish if last else None,
        "answer": column.answer.id if column.answer and last else None,
        "live": _live(runner, running, comparison) if running else None,
        "trouble": trouble,
        "waits": asked and running is None and trouble is None,
        "queue": [
            {"id": one["id"], "text": one["text"], "state": one["state"]}
            for one in store.branches.queued(branch.id)
            if one["state"] in ("waiting", "held")
        ],
        **_told(column.config, differ, last, total, blind=comparison.blind),
    }


def _live(runner: Runner, run: Run, comparison: Comparison) -> dict[str, Any]:
    live = runner.live(run.id)
    told = run_facts(run)
    if comparison.blind:
        return told | {"model": "", "provider": "", "stage": "", "share": None}
    progress = {"stage": live.progress.stage, "share": live.progress.share} if live else {}
    return told | {"stage": "", "share": None} | progress


def _told(
    config: Config, differ: Mapping[str, Json], last: Facts | None, total: Total, *, blind: bool
) -> dict[str, Any]:
    """What the head says of the lane's settings and answers."""
    facts = ([] if blind else _numbers(last)) + _length(last) if last else []
    return {
        "model": "" if blind else model_info(config.provider, config.model).label or "no model",
        "provider": "" if blind else provider_label(config.provider),
        "stands_out": not blind and "model" in differ,
        "differences": [] if blind else chips(config, differ),
        "facts": [{"label": label, "value": value} for label, value in facts],
        "sums": "" if blind else sums(total),
    }


def provider_label(name: str) -> str:
    """The provider as people call it."""
    found = adapters().get(name)
    return found.label if found else name


def chips(config: Config, differ: Mapping[str, Json]) -> list[dict[str, str]]:
    """The settings, besides the model, that the other lanes do not share."""
    labels = {knob.name: knob.label for knob in model_info(config.provider, config.model).knobs}
    found = []
    for name, value in differ.items():
        if name == "model" or (name == "keep_turns" and value is None):
            continue
        label = {"system": "System", "policy": "Sends", "keep_turns": "Last turns"}.get(
            name, labels.get(name, name)
        )
        if name == "system":
            said = str(value) or "none"
        elif name == "policy":
            said = POLICIES[str(value)].label if value in POLICIES else str(value)
        else:
            said = "not set" if value is None else str(value)
        line = " ".join(said.split())
        short = f"{line[: _VALUE - 1]}…" if len(line) > _VALUE else line
        found.append({"label": label, "value": short, "whole": said})
    return found


def _numbers(last: Facts) -> list[tuple[str, str]]:
    cost = "replayed, $0" if last.replayed else _or_nothing(words.money(last.cost_nanodollars))
    return [
        ("Input", _or_nothing(words.number(last.input_tokens))),
        ("Output", _or_nothing(words.number(last.output_tokens))),
        ("Cached", _or_nothing(words.percent(last.cached))),
        ("Cost", cost),
        ("First word", _or_nothing(words.duration(last.first_token_ms))),
        ("Took", _or_nothing(words.duration(last.duration_ms))),
    ]


def _length(last: Facts) -> list[tuple[str, str]]:
    grade = words.NOTHING if last.grade is None else f"grade {last.grade:g}"
    return [("Length", words.counted(last.words, "word")), ("Reads at", grade)]


def _or_nothing(said: str) -> str:
    return words.NOTHING if said == words.UNKNOWN else said


def sums(total: Total) -> str:
    """All answers of the lane in a line; nothing to say of a single one."""
    if total.answers < 2:
        return ""
    told = [
        f"{words.number(total.input_tokens)} in" if total.input_tokens is not None else "",
        f"{words.number(total.output_tokens)} out" if total.output_tokens is not None else "",
        words.cost(total.cost_nanodollars, total.unknown_cost),
        words.duration(total.duration_ms) if total.duration_ms is not None else "",
    ]
    known = [one for one in told if one and one != words.NOTHING]
    return f"All {total.answers} answers: {' · '.join(known)}" if known else ""
