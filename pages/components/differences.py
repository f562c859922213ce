"""The tab "Differences": what the columns say alike, and any two of their answers compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core import Node, Runner
from core.columns import Column, letter, shuffled
from core.draft_history import final_draft
from core.likeness import MOST, likeness
from core.replay import turns_of
from core.types import Comparison
from pages.components import (
    compared_in_words,
    diff_view,
    history_dialog,
    likeness_html,
    state,
)
from pages.components.diff_view import Side
from pages.components.sidebar import label as plain

_WAYS = {"drafts": "Final drafts", "turns": "Any two answers", "history": "One branch's drafts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A column under the name that may be shown, with its final draft."""

    name: str
    column: Column
    draft: Node | None

    @property
    def id(self) -> str:
        """The lane's."""
        return self.column.lane.id


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """What is alike, then the difference that is chosen."""
    shown = named(runner, comparison, found)
    st.html(f"<style>{diff_view.CSS}</style>")
    with st.container(key="differences"):
        answered = [one for one in shown if one.draft is not None and one.draft.text.strip()]
        for one in shown:
            if one not in answered:
                st.caption(f"{plain(one.name)} has no answer yet.")
        if not answered:
            return
        if len(answered) > 1:
            _alike(runner, comparison, answered)
        ways = _WAYS if len(answered) > 1 else {"history": _WAYS["history"]}
        way = _way(ways)
        if way == "history":
            one = _pick("Branch", "lane", answered, 0)
            history_dialog.drafts(
                runner, one.column.lineage, key=f"lane.{one.id}", blind=comparison.blind
            )
        else:
            _two(answered, by_turn=way == "turns")


def named(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> list[Shown]:
    """The columns as they may be shown: of a blind comparison letters in another order."""
    blind = comparison.blind
    ordered = shuffled(comparison, found) if blind else found
    return [
        Shown(
            name=letter(place) if blind else column.name,
            column=column,
            draft=final_draft(runner.store, comparison.session_id, column.lineage),
        )
        for place, column in enumerate(ordered)
    ]


# --- all of them ---------------------------------------------------------------------------------


def _alike(runner: Runner, comparison: Comparison, answered: Sequence[Shown]) -> None:
    drafts = [one.draft for one in answered if one.draft is not None]
    found = likeness(tuple(draft.text for draft in drafts))
    st.html(likeness_html.strip(found, [one.name for one in answered]), width="stretch")
    if found.cut:
        st.caption(f"Of each answer the first {MOST:,} characters are read for this.")
    names = {one.column.lane.branch_id: one.name for one in answered}
    texts = [(one.column.lane.branch_id, one.draft) for one in answered if one.draft is not None]
    compared_in_words.draw(runner, comparison, texts, names)


# --- two of them ---------------------------------------------------------------------------------


def _way(ways: Mapping[str, str]) -> str:
    wanted = state.asked("diff")
    chosen = wanted if wanted is not None and wanted in ways else next(iter(ways))
    key = f"differences.way.{len(ways)}"
    state.control(key, chosen)
    st.segmented_control(
        "What to compare",
        list(ways),
        format_func=ways.__getitem__,
        required=True,
        label_visibility="collapsed",
        key=key,
        on_change=lambda: state.ask(diff=state.value(key)),
    )
    return chosen


def _pick(title: str, name: str, answered: Sequence[Shown], otherwise: int) -> Shown:
    """One of the columns."""
    by_id = {one.id: one for one in answered}
    chosen = _select(title, name, list(by_id), lambda one: by_id[one].name, answered[otherwise].id)
    return by_id[chosen]


def _select(
    title: str, name: str, options: Sequence[str], told: Callable[[str], str], otherwise: str
) -> str:
    """A choice that the address keeps."""
    wanted = state.asked(name)
    chosen = wanted if wanted is not None and wanted in options else otherwise
    # Other options make another menu: a menu keeps what it showed by its place.
    key = f"differences.{name}.{hash(tuple(options))}"
    state.control(key, chosen)
    st.selectbox(
        title,
        list(options),
        format_func=lambda one: told(one) if one in options else one,
        key=key,
        on_change=lambda: state.ask(**{name: state.value(key)}),
    )
    return chosen


def _two(answered: Sequence[Shown], *, by_turn: bool) -> None:
    sides: list[Side] = []
    columns = st.columns(2, gap="medium")
    for place, (title, name) in enumerate((("From", "old"), ("To", "new"))):
        with columns[place]:
            one = _pick(title, name, answered, place)
            sides.append(_answer(title, name, one) if by_turn else _side(one, one.draft))
    old, new = sides
    if old.node == new.node:
        st.caption("Choose two different answers.")
        return
    diff_view.draw("differences", old, new)


def _side(one: Shown, answer: Node | None, turn: int | None = None) -> Side:
    label = one.name if turn is None else f"{one.name}, turn {turn}"
    return Side(label=label, text=answer.text if answer else "", node=answer.id if answer else None)


def _answer(title: str, name: str, one: Shown) -> Side:
    """An answer of the column, by its turn; the final draft until another is chosen."""
    turns = {
        turn.answer.id: turn
        for turn in turns_of(one.column.lineage)
        if turn.answer is not None and turn.answer.text.strip()
    }
    final = one.draft.id if one.draft is not None else ""

    def told(answer: str) -> str:
        return f"Turn {turns[answer].number}{' · final draft' if answer == final else ''}"

    if not turns:
        return _side(one, one.draft)
    otherwise = final if final in turns else next(reversed(turns))
    chosen = _select(f"{title}: answer", f"{name}_answer", list(turns), told, otherwise)
    turn = turns[chosen]
    return _side(one, turn.answer, turn.number)
