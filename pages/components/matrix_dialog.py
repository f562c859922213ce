"""A matrix: a prompt or a template, its variables, models, policies and samples, as one job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import streamlit as st

from core import Config, Runner, TurntreeError, View, forecast
from core.library import names_in
from core.library_templates import find, listed
from core.policies import POLICIES
from core.replay import MOST_CELLS, Pace, matrix
from core.store import Store
from pages import backend
from pages.components import lane_wishes, library_use, pace_fields, pane, sidebar, state, words
from pages.components.act import Dialog

_OWN = "own"
_MOST_SAMPLES, _MOST_AT_ONCE, _PER_MINUTE = 20, 16, 1000
TAB = "compare.tab"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the controls say."""

    turns: tuple[str, ...]
    variables: Mapping[str, tuple[str, ...]]
    configs: tuple[Config, ...]
    samples: int

    @property
    def cells(self) -> int:
        return prod(map(len, self.variables.values())) * len(self.configs) * self.samples


@pane.window("Matrix", width="medium", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """Every value with every model and policy, so many times; each cell is a branch."""
    store = runner.store
    with st.container(key="matrix_dialog", gap="small"):
        turns = _turns(store, view)
        variables = _variables(store, view, turns)
        configs = _configs(view)
        at = _at(view)
        samples, pace = _pace()
        wanted = _Wanted(turns=turns, variables=variables, configs=configs, samples=samples)
        _preview(store, view, wanted, at)
        if st.button(
            f"Start {words.counted(wanted.cells, 'cell')}",
            type="primary",
            icon=":material/grid_on:",
            key="matrix.start",
        ):
            _start(runner, view, wanted, at, pace)


# --- what is asked -------------------------------------------------------------------------------


def _turns(store: Store, view: View) -> tuple[str, ...]:
    known = {entry.id: entry for entry in listed(store, "prompt", "conversation")}
    chosen = st.selectbox(
        "Prompt",
        [_OWN, *known],
        format_func=lambda name: (
            "Write one here"
            if name == _OWN
            else f"{known[name].name} · {library_use.facts(known[name])}"
        ),
        key="matrix.prompt",
        help="Write one, or take one from the library.",
    )
    if chosen == _OWN:
        text = lane_wishes.area(
            store,
            view.session,
            "What every cell is asked",
            _key(view, "text"),
            "",
            height=110,
            placeholder="Explain {{topic}} to {{reader}}.",
            help="{{name}} is a variable: each of its values is tried.",
        )
        return (text,) if text.strip() else ()
    body = find(store, chosen).shown
    with st.expander("The words", type="compact"):
        for turn in body.turns:
            st.text(turn)
    return body.turns


def _variables(store: Store, view: View, turns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The values of every variable that the turns use, one a line."""
    found = {}
    for name in names_in(turns):
        text = lane_wishes.area(
            store,
            view.session,
            f"Values of {name}, one a line",
            _key(view, f"values.{name}"),
            "",
            height=90,
        )
        lines = dict.fromkeys(filter(None, map(str.strip, text.splitlines())))
        found[name] = tuple(lines)
    return found


def _key(view: View, name: str) -> str:
    return f"matrix.{view.session.id}.{name}"


# --- who answers ---------------------------------------------------------------------------------


def _configs(view: View) -> tuple[Config, ...]:
    """Every model with every policy; the system prompt is the branch's."""
    names = lane_wishes.labels(view.config)
    here = f"{view.config.provider}:{view.config.model}"
    models = st.multiselect(
        "Models",
        list(names),
        default=[here],
        format_func=lambda name: names.get(name, name),
        accept_new_options=True,
        key="matrix.models",
        help="Any name that the provider knows may be typed; of another provider as openai:name.",
    )
    policies = st.multiselect(
        "What is sent of the conversation",
        list(POLICIES),
        default=[view.config.policy if view.config.policy in POLICIES else "full"],
        format_func=lambda name: POLICIES[name].label,
        key="matrix.policies",
        help="It matters from the second turn on.",
    )
    return tuple(
        replace(
            lane_wishes.with_model(view.config, *lane_wishes.told(model, view.config.provider)),
            policy=policy,
        )
        for model, policy in product(models, policies)
    )


def _at(view: View) -> str | None:
    """The node that every cell begins under; None is the beginning."""
    if view.branch.tip_id is None:
        return None
    after = f"At the end of {view.branch.name}"
    chosen = st.radio(
        "Where each cell begins",
        ["With nothing before it", after],
        format_func=sidebar.label,
        horizontal=True,
        key="matrix.at",
    )
    return view.branch.tip_id if chosen == after else None


def _pace() -> tuple[int, Pace]:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        samples = pace_fields.whole(
            "Samples",
            most=_MOST_SAMPLES,
            value=1,
            key="matrix.samples",
            about="So many answers for every cell.",
        )
        at_once = pace_fields.whole(
            "At once",
            most=_MOST_AT_ONCE,
            value=8,
            key="matrix.at_once",
            about="Calls on their way at the same time.",
        )
        per_minute = st.number_input(
            "Calls a minute",
            min_value=1,
            max_value=_PER_MINUTE,
            value=None,
            step=1,
            width=150,
            placeholder="no limit",
            key="matrix.per_minute",
            help="For a provider that limits them.",
        )
        reuse = pace_fields.reuse("matrix.reuse")
    limit = None if per_minute is None else int(per_minute)
    return samples, Pace(concurrency=at_once, per_minute=limit, reuse=reuse)


# --- what it comes to, and off -------------------------------------------------------------------


def _preview(store: Store, view: View, wanted: _Wanted, at: str | None) -> None:
    empty = [name for name, values in wanted.variables.items() if not values]
    if empty:
        st.caption(f"Still without a value: {sidebar.label(', '.join(empty))}.")
        return
    if not wanted.turns or not wanted.cells or wanted.cells > MOST_CELLS:
        if wanted.cells > MOST_CELLS:
            st.warning(f"{wanted.cells:,} cells are more than {MOST_CELLS:,}. Take fewer values.")
        return
    found = forecast.matrix(
        store,
        view.session,
        view.branch.id,
        at,
        wanted.turns,
        wanted.variables,
        wanted.configs,
        samples=wanted.samples,
    )
    parts = [f"{len(values)} × {name}" for name, values in wanted.variables.items()]
    parts.append(f"{len(wanted.configs)} × model and policy")
    if wanted.samples > 1:
        parts.append(f"{wanted.samples} samples")
    st.caption(sidebar.label(", ".join(parts)))
    st.markdown(f"**{lane_wishes.total(found, 'call')}**")
    for config, one in zip(wanted.configs, found, strict=True):
        if one.overflows:
            lane_wishes.tell(one, config)


def _start(runner: Runner, view: View, wanted: _Wanted, at: str | None, pace: Pace) -> None:
    first = " ".join(wanted.turns[0].split()) if wanted.turns else ""
    name = f"{first[:39]}…" if len(first) > 40 else first or "Matrix"
    try:
        job = matrix(
            runner.store,
            view.branch.id,
            at,
            wanted.turns,
            wanted.variables,
            wanted.configs,
            samples=wanted.samples,
            pace=pace,
            name=name,
        )
        backend.player().start(job.id)
    except TurntreeError as error:
        lane_wishes.trouble(error)
        return
    state.compare(view.session.id, state.asked("comparison"), tab="Jobs")
