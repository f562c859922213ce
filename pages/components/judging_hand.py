"""A verdict by hand: answers side by side, blind if wished, by keyboard alone if wished."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import streamlit as st

from core import Runner
from core.columns import Column, letter
from core.store import Store
from core.tree import previous_user_turn
from core.types import Comparison, Verdict, new_id, now
from pages.components import pane, reading, sidebar, state, words
from pages.components.judging_look import Look, heading, remove, undo

_keys = st.components.v2.component(
    "turntree_judging_keys",
    html="<span hidden></span>",
    js=Path(__file__).with_name("judging_keys.js").read_text("utf-8"),
)
_IN_A_ROW, _MOST_KEYS = 3, 6
_MOST_ASKED = 300  # characters of what was asked
_FIRST = 10  # verdicts that are drawn at first
_REVEALED = "vote.revealed"
_LOOK = 1.0  # seconds between two looks at answers that are on their way


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A verdict that is not saved yet. ``ratings`` maps branch ids to 1..5."""

    winner: str | None = None
    tie: bool = False
    ratings: dict[str, int] = field(default_factory=dict)
    note: str = ""


def read(store: Store, comparison: Comparison) -> Draft:
    """What a person has chosen so far, in whatever tab."""
    try:
        return Draft(**json.loads(store.drafts.get(_draft_key(comparison)) or "{}"))
    except (ValueError, TypeError):  # written by another version
        return Draft()


def write(store: Store, comparison: Comparison, draft: Draft) -> None:
    """Keep what was chosen, so that a reload finds it."""
    store.drafts.keep(comparison.session_id, _draft_key(comparison), json.dumps(asdict(draft)))


def _draft_key(comparison: Comparison) -> str:
    return f"vote.{comparison.id}"


def save(store: Store, comparison: Comparison, look: Look) -> Verdict | None:
    """Write the verdict that was drafted, and show the names again; None for an empty one."""
    draft = read(store, comparison)
    tips = {branch: node.id for branch, node in look.answers.items()}
    winner = draft.winner if draft.winner in tips else None
    ratings = {one: float(stars) for one, stars in draft.ratings.items() if one in tips}
    if winner is None and not draft.tie and not ratings:
        return None
    verdict = Verdict(
        id=new_id(),
        session_id=comparison.session_id,
        comparison_id=comparison.id,
        by="person",
        tips=tips,
        winner=winner,
        tie=draft.tie,
        blind=look.blind,
        ratings=ratings,
        note=draft.note.strip(),
        body={"names": {one: look.names[one] for one in tips}} if look.blind else None,
        created_at=now(),
    )
    with store.write():
        store.verdicts.add(verdict)
        store.drafts.drop(_draft_key(comparison))
        store.comparisons.set_blind(comparison.id, False)
    return verdict


# --- the page ------------------------------------------------------------------------------------


def draw(runner: Runner, comparison: Comparison, look: Look) -> None:
    """Answers, controls, what the last blind vote revealed, and the verdicts so far."""
    store = runner.store
    judged = [column for column in look.columns if column.branch.id in look.answers]
    _reveal(store, comparison, look)
    late = [one for one in look.columns if runner.answering(one.branch.id, one.branch.tip_id)]
    if late:
        _waiting(runner, late, len(look.columns))
    if len(judged) < 2:
        st.info("There are not two answers to judge yet.", icon=":material/hourglass_empty:")
    else:
        draft = read(store, comparison)
        _asked(judged, look)
        _hint(len(judged))
        _cards(store, comparison, look, judged, draft)
        _controls(runner, comparison, look, draft)
        _keys(key="turntree.judging_keys", data={"count": min(len(judged), _MOST_KEYS)})
    _past(runner, comparison, look)


def _asked(judged: Sequence[Column], look: Look) -> None:
    """What the answers are to, where all answer the same words."""
    asked = set()
    for column in judged:
        ids = [node.id for node in column.lineage]
        turn = previous_user_turn(column.lineage[: ids.index(look.answers[column.branch.id].id)])
        asked.add(turn.text if turn else "")
    if len(asked) == 1 and (text := " ".join(asked.pop().split())):
        shown = text if len(text) <= _MOST_ASKED else f"{text[:_MOST_ASKED]}…"
        st.markdown(f":gray[Asked:] {sidebar.label(shown)}")


def _hint(count: int) -> None:
    last = min(count, _MOST_KEYS)
    st.caption(
        f"Keys: **1**–**{last}** or **A**–**{letter(last - 1)}** best · **T** tie · **N** note ·"
        " **Enter** saves"
    )


@pane.fragment(run_every=_LOOK)
def _waiting(runner: Runner, late: Sequence[Column], of: int) -> None:
    if not any(runner.answering(one.branch.id, one.branch.tip_id) for one in late):
        st.rerun()  # the whole page: what was waited for is there
    st.caption(f"{len(late)} of {of} answers are on their way.")


def _cards(
    store: Store, comparison: Comparison, look: Look, judged: Sequence[Column], draft: Draft
) -> None:
    place = 0
    width = len(judged) if len(judged) <= _IN_A_ROW else (2 if len(judged) == 4 else _IN_A_ROW)
    for start in range(0, len(judged), width):
        row = judged[start : start + width]
        for column, cell in zip(row, st.columns(width), strict=False):
            with cell, st.container(key=f"vote_card_{place}", height="stretch"):
                _card(store, comparison, look, column.branch.id, draft, place)
            place += 1


def _card(
    store: Store, comparison: Comparison, look: Look, branch: str, draft: Draft, place: int
) -> None:
    name = look.names[branch]
    if look.blind:
        heading(name)
    else:
        heading(f"{letter(place)} · {name}", look.models[branch])
    reading.draw(look.answers[branch], name, key=str(place))
    with st.container(horizontal=True, vertical_alignment="center"):
        chosen = draft.winner == branch
        st.button(
            f"{letter(place)} is best",
            key=f"vote_best_{place}",
            type="primary" if chosen else "secondary",
            icon=":material/check:" if chosen else None,
            on_click=write,
            args=[store, comparison, replace(draft, winner=None if chosen else branch, tie=False)],
        )
        _stars(store, comparison, branch, draft, place)


def _stars(store: Store, comparison: Comparison, branch: str, draft: Draft, place: int) -> None:
    key = f"vote_stars_{place}"
    given = draft.ratings.get(branch)
    stars_now = None if given is None else given - 1
    state.control(key, stars_now)

    def rate() -> None:
        stars = state.value(key)
        rest = {one: count for one, count in draft.ratings.items() if one != branch}
        ratings = rest if stars is None else rest | {branch: int(stars) + 1}
        write(store, comparison, replace(draft, ratings=ratings))

    st.feedback("stars", default=stars_now, key=key, on_change=rate)


def _controls(runner: Runner, comparison: Comparison, look: Look, draft: Draft) -> None:
    store = runner.store

    def note() -> None:
        now_drafted = read(store, comparison)
        write(store, comparison, replace(now_drafted, note=state.value("vote_note") or ""))

    def keep() -> None:
        note()
        verdict = save(store, comparison, look)
        if verdict is None:
            state.flash("Nothing was chosen.", hint="Choose the best, a tie, or stars.", bad=True)
            return
        state.keep(_REVEALED, verdict.id if verdict.blind else None)
        state.flash("The verdict is saved.")
        runner.announce(comparison.session_id)

    with st.container(horizontal=True, vertical_alignment="bottom", key="vote_controls"):
        st.button(
            "Tie",
            key="vote_tie",
            type="primary" if draft.tie else "secondary",
            icon=":material/check:" if draft.tie else None,
            on_click=write,
            args=[store, comparison, replace(draft, winner=None, tie=not draft.tie)],
        )
        state.control("vote_note", draft.note)
        st.text_input(
            "Note",
            draft.note,
            key="vote_note",
            placeholder="Why? (optional)",
            label_visibility="collapsed",
            on_change=note,
        )
        st.button(
            "Save verdict", key="vote_save", type="primary", icon=":material/gavel:", on_click=keep
        )


# --- what was said -------------------------------------------------------------------------------


def _reveal(store: Store, comparison: Comparison, look: Look) -> None:
    """Who was who, after a blind vote."""
    revealed = state.kept(_REVEALED)
    verdicts = store.verdicts.of(comparison_id=comparison.id)
    verdict = next((one for one in verdicts if one.id == revealed), None)
    if verdict is None or look.blind:
        return
    names: dict[str, str] = (verdict.body or {}).get("names", {})
    lines = []
    for branch, letter_name in sorted(names.items(), key=lambda pair: pair[1]):
        who = f"{look.name(store, branch)} ({look.models.get(branch, words.UNKNOWN)})"
        best = " — your choice" if branch == verdict.winner else ""
        lines.append(f"- {letter_name} was **{sidebar.label(who)}**{best}")
    with st.container(key="vote_revealed"):
        st.success("\n".join(["You voted blind:", "", *lines]), icon=":material/visibility:")


def _past(runner: Runner, comparison: Comparison, look: Look) -> None:
    store = runner.store
    verdicts = [v for v in store.verdicts.of(comparison_id=comparison.id) if v.by == "person"]
    undo(store, comparison, "person")
    if verdicts:
        st.markdown(f"**Verdicts so far** :gray[{len(verdicts)}]")
    listing = f"voted.{comparison.id}"
    shown = state.shown(listing, _FIRST)
    for verdict in verdicts[:shown]:
        with st.container(key=f"verdict.{verdict.id}"):
            st.markdown(said(store, verdict, look))
            if verdict.note:
                st.text(verdict.note)
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(_about(store, verdict, look))
                st.button(
                    "Remove",
                    key=f"verdict_remove.{verdict.id}",
                    type="tertiary",
                    icon=":material/delete:",
                    on_click=remove,
                    args=[store, verdict],
                )
    if len(verdicts) > shown and st.button(f"Show all {len(verdicts)}", type="tertiary"):
        state.show_more(listing, len(verdicts))
        st.rerun()


def said(store: Store, verdict: Verdict, look: Look) -> str:
    """A person's verdict in words, as Markdown."""
    if verdict.winner is not None:
        what = f"**{sidebar.label(look.name(store, verdict.winner))}** is best"
    else:
        what = "**A tie**" if verdict.tie else "**Ratings only**"
    order = [*look.names, *verdict.ratings]  # as they stand; then those that are no lanes now
    rated = [
        f"{sidebar.label(look.name(store, one))} {verdict.ratings[one]:g} of 5"
        for one in dict.fromkeys(order)
        if one in verdict.ratings
    ]
    return what + (f" · stars: {', '.join(rated)}" if rated else "")


def _about(store: Store, verdict: Verdict, look: Look) -> str:
    facts = [words.moment(verdict.created_at)[:16], *(["blind"] if verdict.blind else [])]
    if moved := look.moved_on(store, verdict):
        has = "has" if len(moved) == 1 else "have"
        facts.append(f"{', '.join(map(sidebar.label, moved))} {has} moved on since")
    return " · ".join(facts)
