"""What judges said: as it comes, then scores, reasons, and what the order of answers did."""

from collections.abc import Sequence
from html import escape

import streamlit as st

from core import Runner, TurntreeError
from core.judge import criteria_of, judge_of, open_votes, outcome_of, running, votes_of
from core.judging import READ, Criterion, Outcome, Vote, totals
from core.store import Store
from core.types import Comparison, Verdict, text_of
from pages import backend
from pages.components import pane, sidebar, state, words
from pages.components.judging_look import Look, heading, model_name, remove, table, undo

_LOOK = 0.6  # seconds between two looks at a judge
_SHOWN = 3  # verdicts that are drawn at first
_STATES = {
    "waiting": "waits its turn",
    "running": "is being asked",
    "malformed": "could not be read, twice",
    "failed": "failed",
    "stopped": "was stopped",
    "interrupted": "was interrupted",
}


def draw(runner: Runner, comparison: Comparison, look: Look) -> None:
    """The verdicts of judges, the latest first; one that is on its way is followed."""
    store = runner.store
    undo(store, comparison, "judge")
    verdicts = [v for v in store.verdicts.of(comparison_id=comparison.id) if v.by == "judge"]
    listing = f"judged.{comparison.id}"
    shown = state.shown(listing, _SHOWN)
    for verdict in verdicts[:shown]:
        if running(verdict):
            _following(runner, verdict, look)
        else:
            _card(runner, verdict, look)
    if len(verdicts) > shown and st.button(f"Show all {len(verdicts)}", type="tertiary"):
        state.show_more(listing, len(verdicts))
        st.rerun()


@pane.fragment(run_every=_LOOK)
def _following(runner: Runner, verdict: Verdict, look: Look) -> None:
    found = runner.store.verdicts.of(verdict.session_id)
    now = next((one for one in found if one.id == verdict.id), None)
    if now is None or not running(now):
        st.rerun()  # the whole page: what was waited for is there
    else:
        _card(runner, now, look)


def _card(runner: Runner, verdict: Verdict, look: Look) -> None:
    store = runner.store
    votes, criteria = votes_of(verdict), criteria_of(verdict)
    with st.container(key=f"verdict.{verdict.id}"):
        heading(_headline(store, verdict, look), f"by {model_name(judge_of(verdict))}")
        if running(verdict):
            over = sum(vote.state in READ for vote in votes)
            st.progress(over / len(votes), text=f"{over} of {words.counted(len(votes), 'vote')}")
        found = outcome_of(verdict)
        telling = _tells(verdict, look)
        if found is not None and not telling:
            _sums(store, found, look)
            st.caption(_swaps(found))
        for line in _notes(store, verdict, votes, look):
            st.caption(line)
        if telling:
            st.caption("Its scores wait for your vote: whom they leave out is its own model.")
        elif votes:
            with st.expander(f"Votes and reasons ({len(votes)})", type="compact"):
                st.html("".join(_vote(store, vote, criteria, look) for vote in votes))
        _acts(runner, verdict)


def _tells(verdict: Verdict, look: Look) -> bool:
    """Whether its scores would tell in a blind look who wrote an answer."""
    body = verdict.body or {}
    return look.blind and bool(body.get("own")) and not body.get("own_judged")


def _headline(store: Store, verdict: Verdict, look: Look) -> str:
    if running(verdict):
        return "The judge is at work"
    if _tells(verdict, look):
        return "The judge has voted" if outcome_of(verdict) else "No verdict"
    if verdict.winner is not None:
        return f"{look.name(store, verdict.winner)} is best"
    if verdict.tie:
        return "A tie"
    return "No verdict" if outcome_of(verdict) is None else "Not all votes are there"


def _sums(store: Store, found: Outcome, look: Look) -> None:
    rows = [
        (
            escape(look.name(store, one.branch)),
            f"{one.score:.1f}",
            f"{one.low:.1f} – {one.high:.1f}",
            f"{one.first:g} of {one.of}",
        )
        for one in found.sums
    ]
    table(["Answer", "Score of 10", "Lowest – highest", "Came first"], rows, "Scores of the judge")


def _swaps(found: Outcome) -> str:
    """Whether the order mattered, in words."""
    if not found.swaps:
        return "No two votes in opposite orders have been read."
    if not found.flips:
        said = "The judge put the same answer first in either order."
    elif found.swaps == 1:
        said = "The judge changed its mind when the order was reversed."
    else:
        said = f"In {found.flips} of {found.swaps} it changed its mind when the order was reversed."
    if found.head_start:
        said += f" Standing first was worth {found.head_start:+.1f} points."
    return said


def _notes(store: Store, verdict: Verdict, votes: Sequence[Vote], look: Look) -> list[str]:
    body = verdict.body or {}
    runs = [store.runs.get(run_id) for vote in votes for run_id in vote.runs]
    known = [run.cost_nanodollars for run in runs if run.cost_nanodollars is not None]
    spent = words.cost(sum(known) if known else None, len(runs) - len(known))
    said = [
        f"{words.moment(verdict.created_at)[:16]} · {words.counted(len(runs), 'call')} · {spent}"
    ]
    if own := body.get("own"):
        if look.blind:
            who = words.counted(len(own), "answer")
        else:
            who = ", ".join(sidebar.label(look.name(store, one)) for one in own)
        fate = "judged, as you wished" if body.get("own_judged") else "left out"
        said.append(f"Of the judge's own model, {fate}: {who}.")
    if moved := look.moved_on(store, verdict):
        said.append(f"Moved on since: {', '.join(map(sidebar.label, moved))}.")
    malformed = sum(vote.state == "malformed" for vote in votes)
    if malformed:
        said.append(f"{words.counted(malformed, 'vote')} could not be read and did not count.")
    return said


def _vote(store: Store, vote: Vote, criteria: Sequence[Criterion], look: Look) -> str:
    """One vote as HTML: its order, what each answer got and why, or what went wrong."""
    order = ", then ".join(look.name(store, one) for one in vote.order)
    lines = [f"<p class='pale'>{escape(order)}</p>"]
    got = totals(vote, criteria)
    for one, given in zip(vote.order, vote.given, strict=False):
        scores = ", ".join(f"{score:g}" for score in given.scores)
        lines.append(
            f"<p><b>{escape(look.name(store, one))} {got[one]:.1f}</b>"
            f" <span class='pale'>({scores})</span> {escape(given.reason)}</p>"
        )
    if vote.state != "done":
        why = f": {vote.trouble}" if vote.trouble else "."
        lines.append(f"<p>This vote {_STATES.get(vote.state, vote.state)}{escape(why)}</p>")
    if vote.state == "malformed" and vote.runs:
        wrote = text_of(store.runs.get(vote.runs[-1]).partial)
        lines.append(f"<pre tabindex='0'>{escape(wrote or '(nothing)')}</pre>")
    return f'<div class="judging-vote">{"".join(lines)}</div>'


def _acts(runner: Runner, verdict: Verdict) -> None:
    judge, place = backend.judge(), [verdict.session_id, verdict.id]
    left = open_votes(verdict)

    def again() -> None:
        try:
            judge.again(verdict.session_id, verdict.id)
        except TurntreeError as error:
            state.flash_error(error)

    with st.container(horizontal=True):
        if running(verdict):
            st.button(
                "Stop",
                icon=":material/stop:",
                key=f"judge_stop.{verdict.id}",
                on_click=judge.stop,
                args=place,
            )
        elif left:
            st.button(
                f"Ask again for {words.counted(len(left), 'vote')}",
                icon=":material/refresh:",
                key=f"judge_again.{verdict.id}",
                on_click=again,
            )
        if not running(verdict):
            st.button(
                "Remove",
                icon=":material/delete:",
                type="tertiary",
                key=f"judge_remove.{verdict.id}",
                on_click=remove,
                args=[runner.store, verdict],
            )
