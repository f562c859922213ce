"""Three-way merge by meaning: two branches, what holds in both, conflicts to decide, a recap."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import streamlit as st

from core import Run, TurntreeError
from core.merging import Pair, Standing, ask, boundary, by_sentences, pair, place, standing
from core.points import HEADINGS, Decision, Merged, Point, Taken, combine, decided, written
from pages.components import merge_sides, side_run, sidebar, state, words
from pages.components.merge_sides import Sides, peek

_FORM = "three_way"
_PLAIN = "plain"
_SIDES = {"both": "in both", "neither": "unchanged"}
_UNREADABLE = (
    "What the model wrote could not be read, twice. These points are sentences that were compared"
    " without a model: look them over."
)


def draw(on: Sides) -> None:
    """The two branches first; then the points, the conflicts and the text."""
    form = on.form(_FORM)
    with st.container(key="three_way"):
        found = _pair(on, form)
        if found is None:
            return
        if not form.get("runs") and not form.get(_PLAIN):
            _begin(on, found)
        elif form.get(_PLAIN):
            _merged(on, found, Standing(state="plain", points=by_sentences(found)))
        else:
            _follow(on, found, [on.runner.store.runs.get(run_id) for run_id in form["runs"]])


def _pair(on: Sides, form: dict[str, Any]) -> Pair | None:
    lanes = [column.branch.id for column in on.columns]
    begun = bool(form.get("runs") or form.get(_PLAIN))
    first, second = (
        one if one in lanes else lanes[place]
        for place, one in enumerate((form.get("a"), form.get("b")))
    )
    if begun:
        st.caption(f"{sidebar.label(on.names[first])} and {sidebar.label(on.names[second])}")
    else:
        st.caption(
            "What changed on one side is taken from there; what both changed in different ways"
            " is for you to decide. The result is a recap on a new branch."
        )
        left, right = st.columns(2)
        with left:
            first = _branch(on, "a", "First branch", lanes, first)
        with right:
            second = _branch(on, "b", "Second branch", lanes, second)
    try:
        return pair(on.runner.store, first, second)
    except TurntreeError as error:
        st.info(sidebar.label(f"{error.message} {error.hint}"))
        return None


def _branch(on: Sides, side: str, label: str, lanes: list[str], chosen: str) -> str:
    key = f"three_way.{side}.{on.comparison.id}"
    state.control(key, chosen)
    return st.selectbox(
        label,
        lanes,
        index=lanes.index(chosen) if chosen in lanes else 0,
        format_func=lambda branch: on.names.get(branch, branch),
        key=key,
        on_change=lambda: on.keep(_FORM, **{side: state.value(key)}),
    )


def _begin(on: Sides, found: Pair) -> None:
    if found.before:
        st.caption(sidebar.label(f"They part after “{peek(found.before[-1].text)}”."))
    else:
        st.caption("They have no message in common.")
    config = merge_sides.model(on, f"three_way.model.{on.comparison.id}")
    chosen = {"a": found.a.id, "b": found.b.id}
    with st.container(horizontal=True):
        if st.button("Merge by meaning", type="primary", icon=":material/merge:"):
            try:
                run = ask(on.runner, found, config)
            except TurntreeError as error:
                merge_sides.complain(error)
                return
            on.keep(_FORM, runs=[run.id], **chosen)
            st.rerun()
        if st.button("Without a model", help="Compares sentence by sentence"):
            on.keep(_FORM, plain=True, **chosen)
            st.rerun()


def _follow(on: Sides, found: Pair, runs: Sequence[Run]) -> None:
    now = standing(found, runs)

    def again() -> None:
        run = ask(on.runner, found, runs[-1].config)
        on.keep(_FORM, runs=[*(one.id for one in runs), run.id])

    if now.state == "again":
        side_run.try_again(again)
    if now.state in ("asking", "failed"):
        busy = "Reading both branches…"
        if len(runs) > 1:
            busy = "What came could not be read. Asking once more…"
        side_run.draw(on.runner, runs[-1].id, again, busy=busy, shows=False)
        if now.state == "failed":
            with st.container(horizontal=True):
                if st.button("Without a model", help="Compares sentence by sentence"):
                    on.keep(_FORM, plain=True)
                    st.rerun()
                _over(on)
        return
    if now.state == "plain":
        st.warning(_UNREADABLE, icon=":material/error:")
    _merged(on, found, now)


def _over(on: Sides) -> None:
    st.button("Start over", icon=":material/restart_alt:", on_click=on.forget, args=[_FORM])


# --- what came of it -----------------------------------------------------------------------------


def _merged(on: Sides, found: Pair, now: Standing) -> None:
    merged = combine(now.points)
    names = {"a": on.names[found.a.id], "b": on.names[found.b.id]}
    _taken(merged, names)
    decisions = {
        number: decision
        for number in range(len(merged.conflicts))
        if (decision := _decision(on, number))
    }
    if merged.conflicts:
        open_ones = sum(not decided_one(decisions.get(n)) for n in range(len(merged.conflicts)))
        left = f" · {open_ones} to decide" if open_ones else " · all decided"
        st.markdown(f"**{words.counted(len(merged.conflicts), 'conflict')}**{left}")
    for number, point in enumerate(merged.conflicts):
        _conflict(on, number, point, names)
    if not merged.taken and not merged.conflicts:
        st.info("There is nothing to carry over.")
    if not decided(merged, decisions):
        st.caption("Decide every conflict, and the merged text is put together here.")
        _over(on)
        return
    _text(on, found, written(merged, decisions), names)


def decided_one(decision: Decision | None) -> bool:
    """Whether a conflict is settled; own words must be there."""
    return decision is not None and (decision.choice != "own" or bool(decision.words.strip()))


def _taken(merged: Merged, names: dict[str, str]) -> None:
    count = len(merged.taken)
    label = f"{words.counted(count, 'point')} taken" + (
        f", {len(merged.gone)} taken back" if merged.gone else ""
    )
    with st.expander(label, icon=":material/done_all:"):
        for kind, heading in HEADINGS.items():
            found = [one for one in merged.taken if one.point.kind == kind]
            if found:
                st.markdown(f"**{heading}**\n\n" + "\n".join(_line(one, names) for one in found))
        if merged.gone:
            gone = (f"- ~~{sidebar.label(str(point.before))}~~" for point in merged.gone)
            st.markdown("**Taken back**\n\n" + "\n".join(gone))


def _line(one: Taken, names: dict[str, str]) -> str:
    side = _SIDES.get(one.side) or f"from {names[one.side]}"
    return f"- {sidebar.label(one.text)} :small[:gray[{sidebar.label(side)}]]"


def _decision(on: Sides, number: int) -> Decision | None:
    kept = on.form(_FORM).get("decisions", {}).get(str(number))
    return Decision(**kept) if kept else None


def _conflict(on: Sides, number: int, point: Point, names: dict[str, str]) -> None:
    decision = _decision(on, number)
    key = f"three_way.choice.{on.comparison.id}.{number}"
    labels = {
        "a": f"**{sidebar.label(names['a'])}:** {_or_nothing(point.a)}",
        "b": f"**{sidebar.label(names['b'])}:** {_or_nothing(point.b)}",
        "both": "Both",
        "own": "In my own words",
    }
    if point.a is None or point.b is None:
        del labels["both"]
    with st.container(border=True, key=f"conflict.{number}"):
        if point.before:
            st.caption(f"Before: {sidebar.label(point.before)}")
        choice = decision.choice if decision else None
        state.control(key, choice)
        st.radio(
            sidebar.label(point.topic or "Which holds?"),
            list(labels),
            index=list(labels).index(choice) if choice in labels else None,
            format_func=lambda choice: labels.get(choice, choice),
            key=key,
            on_change=partial(_decide, on, number, key, None),
        )
        if decision is not None and decision.choice == "own":
            own = f"three_way.own.{on.comparison.id}.{number}"
            state.control(own, decision.words)
            words_now, told = decision.words, partial(_decide, on, number, key, own)
            st.text_input("Your words", words_now, key=own, on_change=told)


def _or_nothing(text: str | None) -> str:
    return sidebar.label(text) if text else "*taken back*"


def _decide(on: Sides, number: int, key: str, own: str | None) -> None:
    kept = dict(on.form(_FORM).get("decisions", {}))
    before = _decision(on, number)
    said = (state.value(own) or "") if own else (before.words if before else "")
    kept[str(number)] = {"choice": state.value(key), "words": said}
    on.keep(_FORM, decisions=kept)


# --- the text ------------------------------------------------------------------------------------


def _text(on: Sides, found: Pair, first: str, names: dict[str, str]) -> None:
    drafts, store = on.runner.store.drafts, on.runner.store
    # What is decided in another way is another text; what was written for this one stays its own.
    widget = f"three_way.text.{on.comparison.id}.{sha256(first.encode()).hexdigest()[:12]}"
    kept = drafts.get(widget)
    now = first if kept is None else kept
    state.control(widget, now)
    text = st.text_area(
        "The merged text",
        now,
        key=widget,
        height=320,
        on_change=lambda: drafts.keep(on.session.id, widget, state.value(widget) or ""),
    )
    at = boundary(found.before)
    if at is not None:
        st.caption(
            sidebar.label(
                f"The new branch begins after “{peek(at.text)}”. This text is its recap, and goes"
                " along with its next message."
            )
        )
    else:
        st.caption(
            "The branches share no answer that a recap could stand in for: the new branch begins"
            " empty, and this text waits in its composer as its first message."
        )
    with st.container(horizontal=True):
        if st.button("Open the merged branch", type="primary", icon=":material/call_merge:"):
            try:
                placed = place(store, found, text, (names["a"], names["b"]))
            except TurntreeError as error:
                merge_sides.complain(error)
                return
            on.forget(_FORM)
            drafts.drop(widget)
            if placed.insert is not None:
                state.insert(placed.insert, whole=True)
            said = f"Merged as the branch {placed.branch.name!r}."
            merge_sides.leave_for(on, placed.branch.id, said)
        _over(on)
