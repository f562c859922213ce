"""Beside a recap: what it saves and costs, and what it leaves out, with one click to add it."""

from collections.abc import Callable, Sequence

import streamlit as st

from core import Runner, View
from core.fidelity import Finding, answered, fidelity_call, missing, with_line
from core.recapping import Gain, gain, readable
from core.types import Node
from pages.components import pane, side_run, state, words
from pages.components.meter import brief
from pages.components.sidebar import label as plain

_LOOK = 1.0  # seconds between two looks at a model that is asked
_MOST = 25  # findings on the screen
_KINDS = {
    "number": ":blue-badge[number]",
    "date": ":violet-badge[date]",
    "name": ":green-badge[name]",
    "quote": ":orange-badge[quote]",
    "requirement": ":red-badge[requirement]",
}
OnAdd = Callable[[str], None]
"""Takes the recap with one more line."""


def gains(runner: Runner, view: View, covered: Sequence[Node], text: str) -> None:
    """Tokens and money saved, and what the cut costs in lost cache."""
    if not text.strip():
        return
    with st.container(key="recap_gain"):
        for line in told(gain(runner.store, view, covered, text)):
            st.caption(line)


def told(found: Gain) -> list[str]:
    """The gain in words."""
    if found.saved <= 0:
        longer = f"\u2248 {brief(found.recap)} tokens against \u2248 {brief(found.covered)}"
        return [f"This recap is no shorter than what it stands in for: {longer}."]
    less = f"\u2248 {brief(found.saved)} tokens with every message"
    money = f", up to {_amount(found.cost)} each" if found.cost else ""
    lines = [
        f"Saves {less} ({brief(found.covered)} become {brief(found.recap)}){money}.",
    ]
    if found.lost is None:
        lines.append("How much the provider keeps warm is unknown.")
    elif found.lost:
        costs = f", {_amount(found.lost_cost)} more" if found.lost_cost else ""
        lines.append(
            f"The cut costs once: \u2248 {brief(found.lost)} tokens that are warm now are read anew"
            f"{costs}."
        )
    return lines


def _amount(nanodollars: int | None) -> str:
    return words.money(nanodollars).replace("$", "\\$")


def findings(
    runner: Runner,
    view: View,
    covered: Sequence[Node],
    text: str,
    *,
    key: str,
    on_add: OnAdd,
) -> None:
    """What was said above and is missing from the recap; each comes back with one click."""
    if not text.strip():
        return
    asked = state.kept(f"recap.asked.{key}")
    looking = asked is not None and runner.store.runs.get(asked).state != "ended"
    # The whole page is not drawn anew when the model has answered: that would throw away what
    # is being typed into the recap at this moment.
    shown = pane.fragment(run_every=_LOOK)(_findings) if looking else _findings
    shown(runner, view, covered, text, key, on_add)


def _findings(
    runner: Runner,
    view: View,
    covered: Sequence[Node],
    text: str,
    key: str,
    on_add: OnAdd,
) -> None:
    found = list(missing(covered, text))
    asked = state.kept(f"recap.asked.{key}")
    with st.container(key="fidelity"):
        more = _asked(runner, view, covered, text, key, asked) if asked else ()
        known = {one.text.casefold() for one in found}
        found += [one for one in more if one.text.casefold() not in known]
        title = f"{len(found)} not found in the recap" if found else "Nothing seems to be missing"
        st.markdown(f"**{title}**")
        for number, finding in enumerate(found[:_MOST]):
            if _row(finding, f"{key}.{number}"):
                on_add(with_line(text, finding.line))
                st.rerun()
        if len(found) > _MOST:
            st.caption(f"and {len(found) - _MOST} more")
        if st.button(
            "Ask a model too" if not asked else "Ask again",
            icon=":material/fact_check:",
            key=f"fidelity.{key}",
            help="Numbers, names, dates, quotes and requirements are compared without a model."
            " One can be asked for what is said in other words.",
        ):
            side_run.try_again(lambda: _ask(runner, view, covered, text, key))


def _row(finding: Finding, key: str) -> bool:
    """A finding; true when it is to be added."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
        by = " · found by a model" if finding.by_model else ""
        st.markdown(
            f"{_KINDS[finding.kind]} {plain(finding.text)} :small[:gray[turn {finding.turn}{by}]]",
            width="stretch",
            help=plain(finding.snippet) if finding.snippet.strip(" .") != finding.text else None,
        )
        return st.button("Add", key=f"add.{key}", help=f"Add to the recap: {plain(finding.line)}")


def _ask(runner: Runner, view: View, covered: Sequence[Node], text: str, key: str) -> None:
    config = view.config
    choices = readable(runner.store, view.branch.id, config, covered)
    call = fidelity_call(covered, text, config, view.session, choices)
    run = runner.side(view.branch.id, call, config, "fidelity", at=covered[-1].id)
    state.keep(f"recap.asked.{key}", run.id)


def _asked(
    runner: Runner, view: View, covered: Sequence[Node], text: str, key: str, run_id: str
) -> Sequence[Finding]:
    """What the model has found; while it looks, that it does."""
    if runner.store.runs.get(run_id).state != "ended":
        st.caption("The model reads both…")
        st.button(
            "Stop",
            icon=":material/stop:",
            key=f"stop.{run_id}",
            on_click=runner.stop,
            args=[run_id],
        )
        return ()
    said = side_run.draw(runner, run_id, lambda: _ask(runner, view, covered, text, key))
    if said is None:
        return ()
    found = answered(said, covered, text)
    if found is None:
        st.caption("The model's answer could not be read. Ask again, or ask another model.")
    elif not found:
        st.caption("The model found nothing more.")
    return found or ()
