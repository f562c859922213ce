"""Steering in the inspector: the drift check, the requirements, and consolidate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from core import Runner, View, drift, requirements
from core.drift import Standing, Verdict
from core.tree import last_answer
from core.types import Requirement, Run
from pages.components import frame, side_run, sidebar, state
from pages.components.act import Act
from pages.components.state import Place

Handle = Callable[[Act], None]
_FIRST = 12  # requirements listed at first
_SHORT = 90  # characters of a requirement in the list
_SIGNS = {
    True: ":green[:material/check_circle:]",
    False: ":orange[:material/cancel:]",
    None: ":gray[:material/radio_button_unchecked:]",
}
_HONOURED = {"not looked at": None, "kept": True, "not kept": False}


def draw(runner: Runner, view: View, handle: Handle, *, scope: str) -> None:
    """The panel, folded; its label tells of the last check."""
    checks = drift.checks(runner.store, view.session.id, view.lineage)
    label = f"Steering{_standing(runner, checks)}"
    with frame.folding(f"steering.{scope}", label, icon=":material/explore:", small=True) as opened:
        if opened:
            with st.container(key=f"steering.{scope}"):
                _check(runner, view, checks, handle, scope)
                _ledger(runner, view, checks, handle, scope)
                _press(
                    "Consolidate into one prompt",
                    {"action": "consolidate"},
                    handle,
                    icon=":material/merge:",
                    key=f"consolidate.{scope}",
                    help="Gather everything asked for, and begin a clean branch with it",
                    width="stretch",
                    disabled=not view.lineage,
                )


def _standing(runner: Runner, checks: Sequence[Run]) -> str:
    if not checks:
        return ""
    if checks[0].state != "ended":
        return " · checking…"
    verdict = drift.verdict_of(runner.store, checks[0])
    return f" · {verdict.score:g} of 10" if verdict and verdict.score is not None else ""


def _press(label: str, act: Act, handle: Handle, **looks: Any) -> None:
    """A button after which the whole page is drawn anew: from a drawer, it comes into sight."""
    if st.button(label, **looks):
        handle(act)
        st.rerun()


# --- the drift check ---


def _check(runner: Runner, view: View, checks: Sequence[Run], handle: Handle, scope: str) -> None:
    def again() -> None:
        drift.check(runner, view.branch.id, view.lineage, config=view.config)

    run = checks[0] if checks else None
    if run is None:
        st.caption("Judges the last answer afresh, by the objective and what you asked for.")
    else:
        busy = "Judging the answer, without the conversation…"
        if side_run.draw(runner, run.id, again, busy=busy, shows=False, scope=scope) is not None:
            _verdict(runner, view, run, handle, scope)
    st.button(
        "Check the last answer",
        icon=":material/fact_check:",
        key=f"drift_check.{scope}",
        width="stretch",
        disabled=run is not None and run.state != "ended",
        on_click=handle,
        args=[{"action": "drift"}],
    )


def _verdict(runner: Runner, view: View, run: Run, handle: Handle, scope: str) -> None:
    verdict = drift.verdict_of(runner.store, run)
    if verdict is None:
        st.caption("The model did not answer in a form that can be read. Check once more.")
        return
    score = "No score" if verdict.score is None else f"**{verdict.score:g} of 10**"
    last = last_answer(view.lineage)
    older = last is not None and last.id != run.context_tip_id
    st.markdown(f"{score} · turn {_turn(view, run.context_tip_id)}{', not the last' * older}")
    if verdict.dropped:
        st.markdown("\n".join(_lines(verdict)))
    else:
        st.caption("Nothing was dropped.")
    if verdict.dropped or verdict.suggestion:
        with st.container(border=True, key=f"coming_back.{run.id}.{scope}"):
            st.text(drift.coming_back(view.session, verdict))
            _press(
                "Write it into my message",
                {"action": "come_back", "run": run.id},
                handle,
                key=f"come_back.{run.id}.{scope}",
                icon=":material/subdirectory_arrow_left:",
            )


def _lines(verdict: Verdict) -> list[str]:
    lines = ["Dropped:", ""]
    for one in verdict.dropped:
        why = f" :gray[({sidebar.label(one.why)})]" if one.why else ""
        lines.append(f"- {sidebar.label(one.text)}{why}")
    return lines


def _turn(view: View, node_id: str | None) -> int:
    """The number of the turn that a node of the lineage belongs to."""
    turn = 0
    for node in view.lineage:
        turn += node.role == "user"
        if node.id == node_id:
            break
    return turn


# --- the requirements ---


def _ledger(runner: Runner, view: View, checks: Sequence[Run], handle: Handle, scope: str) -> None:
    live = requirements.gather(runner.store, view.lineage)
    asked = [node.id for node in view.lineage if node.role == "user"]
    turns = {node_id: turn for turn, node_id in enumerate(asked, 1)}
    standing = drift.standings(runner.store, view.lineage, live, checks)
    st.markdown(f"**What you asked for** :gray[{_count(standing)}]")
    if not live:
        st.caption("Requirements are found in your messages as you send them.")
    listing = f"requirements.{view.branch.id}"
    shown = state.shown(listing, _FIRST)
    with st.container(key=f"ledger.{scope}", gap=None):
        for one in live[:shown]:
            _requirement(one, standing[one.id], turns[one.node_id], view, handle, scope)
    if len(live) > shown and st.button(
        f"Show all {len(live)}", type="tertiary", key=f"ledger_all.{scope}"
    ):
        state.show_more(listing, len(live))
        st.rerun()
    _more(runner, view, handle, asked, scope)


def _count(standing: Mapping[str, Standing]) -> str:
    kept = sum(one.honoured is True for one in standing.values())
    gone = sum(one.honoured is False for one in standing.values())
    told = f" · {kept} kept, {gone} not" if kept or gone else ""
    return f"{len(standing)}{told}" if standing else ""


def _requirement(
    one: Requirement, standing: Standing, turn: int, view: View, handle: Handle, scope: str
) -> None:
    """A line that opens: the words, whether they are kept, the turn, and a way to drop it."""
    short = one.text if len(one.text) <= _SHORT else f"{one.text[:_SHORT].rsplit(' ', 1)[0]}…"
    panel = st.popover(
        f"{_SIGNS[standing.honoured]} {sidebar.label(short)} :gray[turn {turn}]",
        type="tertiary",
        width="stretch",
        wrap=True,
        key=f"requirement.{one.id}.{scope}",
        on_change="rerun",
    )
    if not panel.open:
        return
    with panel:
        _wording(one, standing, handle, scope)
        if standing.why:
            st.caption(sidebar.label(standing.why))
        if one.run_id:
            st.caption("Found by the model.")
        with st.container(horizontal=True):
            if st.button(
                f"Go to turn {turn}", key=f"goto.{one.id}.{scope}", icon=":material/arrow_outward:"
            ):
                state.go(Place(session=view.session.id, branch=view.branch.id, node=one.node_id))
                st.rerun()
            st.button(
                "Drop",
                key=f"drop.{one.id}.{scope}",
                icon=":material/delete:",
                on_click=handle,
                args=[{"action": "requirement_drop", "id": one.id}],
            )


def _wording(one: Requirement, standing: Standing, handle: Handle, scope: str) -> None:
    """The words, and whether the last answer keeps them: both can be changed."""
    text_key, kept_key = f"text.{one.id}.{scope}", f"honoured.{one.id}.{scope}"
    state.control(text_key, one.text)
    st.text_area(
        "Requirement",
        one.text,
        key=text_key,
        height=90,
        on_change=lambda: handle(
            {"action": "requirement_reword", "id": one.id, "text": state.value(text_key)}
        ),
    )
    shown = next(k for k, v in _HONOURED.items() if v is standing.honoured)
    state.control(kept_key, shown)
    st.radio(
        "In the last answer",
        list(_HONOURED),
        index=list(_HONOURED).index(shown),
        key=kept_key,
        horizontal=True,
        on_change=lambda: handle(
            {
                "action": "requirement_judge",
                "id": one.id,
                "honoured": _HONOURED[state.value(kept_key)],
            }
        ),
    )


def _more(runner: Runner, view: View, handle: Handle, asked: Sequence[str], scope: str) -> None:
    """Add one by hand, have the model look, and take back what was dropped."""
    key = f"new_requirement.{view.branch.id}.{scope}"
    # A form empties its field by itself, in the browser: no stale words come back from there.
    with st.form(f"{key}.form", clear_on_submit=True, border=False):
        st.text_input(
            "Add a requirement",
            key=key,
            placeholder="Add a requirement",
            label_visibility="collapsed",
        )
        st.form_submit_button(
            "Add",
            icon=":material/add:",
            disabled=not asked,
            on_click=lambda: handle({"action": "requirement_add", "text": state.value(key) or ""}),
        )
    _by_model(runner, view, handle, scope, disabled=not asked)
    dropped = [one for one in runner.store.requirements.of(asked) if one.dropped_at]
    if dropped:
        with st.expander(f"Dropped or reworded ({len(dropped)})", type="compact"):
            for one in dropped[-_FIRST:]:
                st.text(one.text)
                st.button(
                    "Take back",
                    key=f"back.{one.id}.{scope}",
                    on_click=handle,
                    args=[{"action": "requirement_back", "id": one.id}],
                )


def _by_model(runner: Runner, view: View, handle: Handle, scope: str, *, disabled: bool) -> None:
    on_path = {node.id for node in view.lineage}
    runs = runner.store.runs.side(view.session.id, "requirements", limit=5)
    run = next((one for one in runs if one.context_tip_id in on_path), None)

    def again() -> None:
        handle({"action": "requirements"})

    if run is not None and run.finish_reason != "stop":
        busy = "Reading what you wrote…"
        side_run.draw(runner, run.id, again, busy=busy, shows=False, scope=scope)
        if run.state != "ended":
            return
    st.button(
        "Let the model look for more",
        icon=":material/manage_search:",
        key=f"find_requirements.{scope}",
        width="stretch",
        disabled=disabled,
        on_click=handle,
        args=[{"action": "requirements"}],
    )
