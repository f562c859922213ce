"""Steering: the objective said again, and what a session may cost."""

from core.errors import UserError
from core.store import Store
from core.store.ledger import Filter
from core.types import Session


def reminder(session: Session, turn: int) -> str:
    """What is sent after the words of a user turn, counted from 1; usually nothing.

    It is rendered once and kept beside the message, so that history never changes.
    """
    every, objective = session.remind_every, session.objective.strip()
    if not objective or every < 1 or turn < 1 or turn % every:
        return ""
    done = f" It is done when: {session.done_when.strip()}" if session.done_when.strip() else ""
    return f"\n\n(Keep to our objective: {objective}{done})"


def over(store: Store, session: Session) -> str:
    """Which budget of the session is used up, in words; empty while there is something left."""
    if session.money_budget is None and session.token_budget is None:
        return ""
    spent = store.ledger.total(Filter(session=session.id))
    tokens = (spent.input_tokens or 0) + (spent.output_tokens or 0)
    if session.money_budget is not None and (spent.cost_nanodollars or 0) >= session.money_budget:
        return f"its budget of ${session.money_budget / 1e9:g}"
    if session.token_budget is not None and tokens >= session.token_budget:
        return f"its budget of {session.token_budget:,} tokens"
    return ""


def check(store: Store, session: Session) -> None:
    """Raises ``UserError`` when a budget is used up and the person wants to be stopped there."""
    if session.over_budget == "stop" and (used_up := over(store, session)):
        raise UserError(
            f"This session has used up {used_up}.",
            hint="Raise the budget under Goal, or choose to be warned only.",
        )
