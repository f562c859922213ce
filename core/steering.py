"""Steering: the objective said again, the planned turns, and what a session may cost."""

from dataclasses import dataclass
from typing import Literal

from core.errors import UserError
from core.store import Store
from core.store.ledger import Filter
from core.types import Branch, Session

_NEARLY = 0.8  # of a budget: from here on one is told
_FINISH = "give me the final version"


def reminder(session: Session, turn: int) -> str:
    """What is sent after the words of a user turn, counted from 1; usually nothing.

    It is rendered once and kept beside the message, so that history never changes.
    """
    every, objective = session.remind_every, session.objective.strip()
    if not objective or every < 1 or turn < 1 or turn % every:
        return ""
    done = session.done_when.strip()
    said = [f"Keep to our objective: {_ended(objective)}"]
    said += [f"It is done when: {_ended(done)}"] if done else []
    return f"\n\n({' '.join(said)})"


def _ended(words: str) -> str:
    """A sentence with its full stop."""
    return words if words.endswith((".", "!", "?", "…", ":", ";")) else f"{words}."


# --- the planned turns ----------------------------------------------------------------------------


def finish_words(session: Session) -> str:
    """The words that ask for the final version, to be edited before they are sent."""
    done = session.done_when.strip()
    if not done:
        return f"Please {_FINISH} now: complete, polished, and without comments around it."
    return (
        f"Please {_FINISH} now. It is done when: {done}\n"
        "Check it against each point of that, fix what is missing, and answer with the final"
        " version alone."
    )


def time_to_finish(session: Session, turn: int) -> bool:
    """Whether ``turn`` turns are all that were planned, or all but the one to finish with."""
    return session.turn_budget is not None and turn > 0 and turn + 1 >= session.turn_budget


def goes_past(session: Session, branch: Branch, turn: int, words: str) -> bool:
    """Whether sending ``words`` as turn number ``turn`` is to be asked about first.

    One is asked once a branch, and never about what asks for the final version.
    """
    if session.turn_budget is None or branch.past_budget or turn <= session.turn_budget:
        return False
    return _FINISH not in words


# --- what a session may cost ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A budget and what is used of it: nano-dollars or tokens. ``unknown`` counts the calls of
    which nobody knows what they took."""

    kind: Literal["money", "tokens"]
    spent: int
    budget: int
    unknown: int = 0

    @property
    def share(self) -> float:
        """0 to 1 and beyond."""
        return self.spent / self.budget if self.budget else 1.0

    @property
    def allowed(self) -> str:
        """The budget in words."""
        if self.kind == "money":
            return f"budget of ${self.budget / 1e9:g}"
        return f"budget of {self.budget:,} tokens"


def spending(store: Store, session: Session) -> tuple[Spending, ...]:
    """The budgets that the session has, with all that its calls have taken."""
    if session.money_budget is None and session.token_budget is None:
        return ()
    total = store.ledger.total(Filter(session=session.id))
    found = []
    if session.money_budget is not None:
        spent, unknown = total.cost_nanodollars or 0, total.unknown_cost
        found.append(
            Spending(kind="money", spent=spent, budget=session.money_budget, unknown=unknown)
        )
    if session.token_budget is not None:
        tokens = (total.input_tokens or 0) + (total.output_tokens or 0)
        unknown = total.unknown_tokens
        found.append(
            Spending(kind="tokens", spent=tokens, budget=session.token_budget, unknown=unknown)
        )
    return tuple(found)


def over(store: Store, session: Session) -> str:
    """Which budget of the session is used up, in words; empty while there is something left."""
    return next((one.allowed for one in spending(store, session) if one.share >= 1), "")


def check(store: Store, session: Session) -> None:
    """Raises ``UserError`` when a budget is used up and the person wants to be stopped there."""
    if session.over_budget == "stop" and (used_up := over(store, session)):
        raise UserError(
            f"This session has used up its {used_up}.",
            hint="Raise the budget under Goal, or choose to be warned only.",
        )


def warning(store: Store, session: Session) -> str:
    """What is to be said of the budgets, the fullest first; empty below 80%."""
    worst = max(spending(store, session), key=lambda one: one.share, default=None)
    if worst is None or worst.share < _NEARLY:
        return ""
    rest = f" Of {worst.unknown} more calls nobody knows." if worst.unknown else ""
    if worst.share < 1:
        return f"{int(worst.share * 100)}% of the {worst.allowed} is used.{rest}"
    ends = (
        "Nothing is sent until you raise it under Goal."
        if session.over_budget == "stop"
        else "You can go on."
    )
    return f"The {worst.allowed} is used up. {ends}{rest}"
