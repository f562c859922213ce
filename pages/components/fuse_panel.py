"""Fuse: answers, the differences as ticks, a draft that is streamed and edited, a new answer."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core import TurntreeError
from core.fusing import Base, Source, bases, differences, fuse, place, tick_of, ticks_of
from core.lanes import MOST_LANES, join
from core.statements import Difference, Said
from pages.components import merge_sides, side_run, sidebar, state, words
from pages.components.merge_sides import Sides, peek

_FORM = "fuse"
_AT_ONCE = 40  # differences; more are shown on demand
_WHOLE = 600  # characters of a statement that are shown in its tick


def draw(on: Sides) -> None:
    """The choice first; once a draft was asked for, the draft."""
    form = on.form(_FORM)
    known = merge_sides.answers(on)
    chosen = [known[node][1] for node in form.get("nodes", list(known)[:2]) if node in known]
    with st.container(key="fuse"):
        if form.get("run"):
            _draft(on, str(form["run"]), chosen)
        else:
            _choice(on, known, chosen)


# --- what goes in --------------------------------------------------------------------------------


def _choice(on: Sides, known: dict[str, tuple[str, Source]], chosen: Sequence[Source]) -> None:
    st.caption("Tick what goes in. What the answers have in common goes in by itself.")
    key = f"fuse.answers.{on.comparison.id}"
    ids = [source.node.id for source in chosen]
    state.control(key, ids)
    st.multiselect(
        "Answers",
        list(known),
        [one for one in ids if one in known],
        format_func=lambda node: known[node][0] if node in known else node,
        key=key,
        on_change=lambda: on.keep(_FORM, nodes=state.value(key)),
        placeholder="Choose two or more",
    )
    if len(chosen) < 2:
        st.info("Choose two answers or more.")
        return
    _differences(on, chosen)
    wish = _wish(on)
    config = merge_sides.model(on, f"fuse.model.{on.comparison.id}")
    if st.button("Fuse", type="primary", icon=":material/merge:", key="fuse.go"):
        ticked = on.form(_FORM).get("ticks", [])
        try:
            run = fuse(on.runner, chosen, ticked, wish, config)
        except TurntreeError as error:
            merge_sides.complain(error)
            return
        on.keep(_FORM, run=run.id, nodes=[source.node.id for source in chosen])
        st.rerun()


def _wish(on: Sides) -> str:
    key = f"fuse.wish.{on.comparison.id}"
    wish = str(on.form(_FORM).get("wish", ""))
    state.control(key, wish)
    return st.text_area(
        "What else matters (optional)",
        wish,
        key=key,
        height=80,
        placeholder="Length, tone, what to prefer where they contradict each other",
        on_change=lambda: on.keep(_FORM, wish=state.value(key) or ""),
    )


def _differences(on: Sides, chosen: Sequence[Source]) -> None:
    found = differences(chosen)
    ticked = set(on.form(_FORM).get("ticks", []))
    everything = ticks_of(chosen)
    inside = sum(tick in ticked for tick in everything)
    if not everything:
        st.success("These answers say the same, in the same words.", icon=":material/check:")
        return
    st.markdown(
        f"**{words.counted(len(found.differences), 'difference')}** · {inside} of"
        f" {words.counted(len(everything), 'wording')} ticked ·"
        f" {words.counted(len(found.same), 'statement')} in common"
    )
    with st.container(horizontal=True, gap="small", key="fuse_all"):
        _all_button(on, "Tick all", everything, ticked | set(everything), "all")
        for number, source in enumerate(chosen):
            own = ticks_of(chosen, number)
            _all_button(on, f"All of {source.name}", own, ticked | set(own), source.node.id)
        _all_button(on, "Untick all", everything, ticked - set(everything), "none")
    shown = state.shown(f"fuse.{on.comparison.id}", _AT_ONCE)
    for difference in found.differences[:shown]:
        _difference(on, chosen, difference)
    if len(found.differences) > shown:
        rest = len(found.differences) - shown
        st.button(
            f"Show {words.counted(rest, 'more difference')}",
            on_click=state.show_more,
            args=[f"fuse.{on.comparison.id}", len(found.differences)],
        )


def _all_button(on: Sides, label: str, about: list[str], ticks: set[str], key: str) -> None:
    st.button(
        sidebar.label(label),
        key=f"fuse.all.{key}",
        type="tertiary",
        disabled=not about,
        on_click=lambda: on.keep(_FORM, ticks=sorted(ticks)),
    )


def _difference(on: Sides, chosen: Sequence[Source], difference: Difference) -> None:
    first = tick_of(chosen, difference.said[0])
    with st.container(border=True, gap="xsmall", key=f"difference.{first}"):
        if difference.alone:
            who = " and ".join(chosen[number].name for number in difference.said[0].texts)
            st.caption(f"Only {sidebar.label(who)}")
        else:
            st.caption("Said differently")
        for said in difference.said:
            _tick(on, chosen, said, named=not difference.alone)


def _tick(on: Sides, chosen: Sequence[Source], said: Said, *, named: bool) -> None:
    tick = tick_of(chosen, said)
    key = f"fuse.tick.{on.comparison.id}.{tick}"
    ticked = tick in on.form(_FORM).get("ticks", [])
    state.control(key, ticked)
    who = " and ".join(chosen[number].name for number in said.texts)
    text = said.words if len(said.words) <= _WHOLE else f"{said.words[:_WHOLE]}…"
    label = f"**{sidebar.label(who)}:** {sidebar.label(text)}" if named else sidebar.label(text)
    st.checkbox(label, ticked, key=key, on_change=partial(_ticked, on, tick, key))


def _ticked(on: Sides, tick: str, key: str) -> None:
    now = set(on.form(_FORM).get("ticks", []))
    on.keep(_FORM, ticks=sorted(now | {tick} if state.value(key) else now - {tick}))


# --- the draft -----------------------------------------------------------------------------------


def _draft(on: Sides, run_id: str, chosen: Sequence[Source]) -> None:
    names = " and ".join(sidebar.label(source.name) for source in chosen)
    st.caption(f"Fused from {names}. Nothing is placed before you say so.")

    def again() -> None:
        form = on.form(_FORM)
        config = on.runner.store.runs.get(run_id).config
        run = fuse(on.runner, chosen, form.get("ticks", []), form.get("wish", ""), config)
        on.keep(_FORM, run=run.id)

    found = side_run.draw(on.runner, run_id, again, busy="Putting the answers together…")
    if found is not None:
        text = side_run.edit(on.runner, run_id, found, "The fused answer", height=360)
        base = _where(on, chosen)
        _lane(on)
        with st.container(horizontal=True):
            if base is not None and st.button(
                "Place as a new answer", type="primary", icon=":material/call_merge:"
            ):
                _place(on, run_id, chosen, base, text)
            if st.button("Ask again", icon=":material/refresh:", key="fuse.again"):
                side_run.try_again(again)
            _back(on)
    elif on.runner.store.runs.get(run_id).state == "ended":
        _back(on)


def _back(on: Sides) -> None:
    st.button(
        "Back to the differences",
        icon=":material/arrow_back:",
        on_click=lambda: on.keep(_FORM, run=None),
    )


def _where(on: Sides, chosen: Sequence[Source]) -> Base | None:
    found = {base.node.id: base for base in bases(on.runner.store, chosen)}
    if not found:
        st.warning("Nothing was asked before these answers, so there is no place for another.")
        return None

    def label(node_id: str) -> str:
        base = found[node_id]
        where = (
            f"In place of what {base.name} answered last"
            if base.branch_id
            else "Under the message that all share"
        )
        return f"{where}: {peek(base.node.text)}"

    if len(found) == 1:
        (only,) = found
        st.caption(sidebar.label(label(only)))
        return found[only]
    key = f"fuse.where.{on.comparison.id}"
    kept = on.form(_FORM).get("where")
    now = kept if kept in found else next(iter(found))
    state.control(key, now)
    chosen_id = st.selectbox(
        "Where it goes",
        list(found),
        index=list(found).index(now),
        format_func=label,
        key=key,
        on_change=lambda: on.keep(_FORM, where=state.value(key)),
    )
    return found[chosen_id]


def _lane(on: Sides) -> None:
    """Whether the new answer is to be compared with those that it is made of."""
    key = f"fuse.lane.{on.comparison.id}"
    full = len(on.columns) >= MOST_LANES
    wanted = _joins(on)
    state.control(key, wanted)
    st.checkbox(
        "Add it to this comparison",
        wanted,
        key=key,
        disabled=full,
        help=f"{MOST_LANES} lanes are the most." if full else "As a lane beside the others",
        on_change=lambda: on.keep(_FORM, lane=bool(state.value(key))),
    )


def _joins(on: Sides) -> bool:
    # In a blind look it would be known by its words: it is added only when that is wished for.
    wished = bool(on.form(_FORM).get("lane", not on.comparison.blind))
    return wished and len(on.columns) < MOST_LANES


def _place(on: Sides, run_id: str, chosen: Sequence[Source], base: Base, text: str) -> None:
    store = on.runner.store
    try:
        with store.write():
            made = place(store, chosen, base, text, by=store.runs.get(run_id))
            if _joins(on):
                join(store, on.comparison.id, made.id)
    except TurntreeError as error:
        merge_sides.complain(error)
        return
    on.forget(_FORM)
    merge_sides.leave_for(on, made.id, f"The fused answer is on the branch {made.name!r}.")
