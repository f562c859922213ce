"""The goal of a session: objective, definition of done, reminders, checks and budgets."""

from typing import Any

import streamlit as st

from core import Runner, Session
from pages.components import state

_DOLLAR = 1_000_000_000  # nano-dollars
_AT_BUDGET = {"warn": "Warn me", "stop": "Stop sending"}
_REMINDER = (
    "So many of your turns. The objective is added to that message as it is sent; your own words"
    " stay as you typed them."
)
_CHECK = (
    "So many turns. Once the answer is there, it is judged afresh by the objective and what you"
    " asked for: one more call, beside the conversation."
)


def draw(runner: Runner, session: Session) -> None:
    """A popover with all of it; nothing holds before Save."""
    scope = f"goal.{session.id}"
    # Controlled, so that a number can be taken away again: one with a default cannot.
    for name, stored in _stored(session).items():
        state.control(f"{scope}.{name}", stored)

    def save() -> None:
        given = {name: state.value(f"{scope}.{name}") for name in _stored(session)}
        runner.store.sessions.change(session.id, **_columns(given))
        runner.announce(session.id)

    with st.popover("Goal", icon=":material/flag:"), st.form(scope, border=False):
        st.text_area("Objective", session.objective, height=80, key=f"{scope}.objective")
        st.text_area("Done when", session.done_when, height=80, key=f"{scope}.done_when")
        st.caption("Both are sent with every message, as part of the system prompt.")
        left, right = st.columns(2)
        with left:
            _whole("Turns planned", f"{scope}.turn_budget", "no plan")
            _whole("Reminder every", f"{scope}.remind_every", "never", about=_REMINDER)
            _whole("Drift check every", f"{scope}.drift_every", "never", about=_CHECK)
        with right:
            st.number_input(
                "Money budget ($)",
                min_value=0.0001,
                value=None,
                step=0.5,
                format="%g",
                placeholder="no limit",
                key=f"{scope}.money_budget",
            )
            _whole("Token budget", f"{scope}.token_budget", "no limit", most=10**12)
            st.selectbox(
                "At a budget",
                list(_AT_BUDGET),
                index=list(_AT_BUDGET).index(session.over_budget),
                format_func=_AT_BUDGET.__getitem__,
                key=f"{scope}.over_budget",
            )
        st.form_submit_button("Save", type="primary", on_click=save)


def _stored(session: Session) -> dict[str, Any]:
    """What the fields show, by the session's own names."""
    money = session.money_budget
    return {
        "objective": session.objective,
        "done_when": session.done_when,
        "turn_budget": session.turn_budget,
        "remind_every": session.remind_every or None,
        "drift_every": session.drift_every or None,
        "money_budget": None if money is None else money / _DOLLAR,
        "token_budget": session.token_budget,
        "over_budget": session.over_budget,
    }


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    """The same as the store keeps it."""
    money = given["money_budget"]
    return given | {
        "remind_every": given["remind_every"] or 0,
        "drift_every": given["drift_every"] or 0,
        "money_budget": None if money is None else round(money * _DOLLAR),
    }


def _whole(label: str, key: str, unset: str, *, most: int = 999, about: str = "") -> None:
    st.number_input(
        label,
        min_value=1,
        max_value=most,
        value=None,
        step=1,
        placeholder=unset,
        help=about or None,
        key=key,
    )
