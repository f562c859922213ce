"""What the ways of merging share: the lanes under the names that may be shown, the answers to
choose from, the model, and a form that outlives a reload."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core import Config, Runner, TurntreeError
from core.columns import Column, letter, shuffled
from core.fusing import Source
from core.tree import turns
from core.types import Comparison, Session
from pages.components import sidebar, state, words
from pages.components.config_panel import models_offered
from pages.components.state import Place

_PEEK = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A comparison as it is merged. ``names`` are what lanes are called, by branch: letters
    where the comparison is blind, and the columns stand in that order."""

    runner: Runner
    comparison: Comparison
    session: Session
    columns: tuple[Column, ...]
    names: dict[str, str]

    def form(self, kind: str) -> dict[str, Any]:
        """What was chosen so far in one way of merging."""
        kept = self.runner.store.drafts.get(self._key(kind))
        return dict(json.loads(kept)) if kept else {}

    def keep(self, kind: str, **changes: Any) -> None:
        """Remember choices, across reloads; None forgets one."""
        form = {k: v for k, v in (self.form(kind) | changes).items() if v is not None}
        drafts = self.runner.store.drafts
        drafts.keep(self.session.id, self._key(kind), json.dumps(form))

    def forget(self, kind: str) -> None:
        """Begin anew: what was chosen has been placed."""
        self.runner.store.drafts.drop(self._key(kind))

    def _key(self, kind: str) -> str:
        return f"{kind}.{self.comparison.id}"


def sides(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> Sides:
    """The lanes as they may be shown."""
    seen = shuffled(comparison, found) if comparison.blind else list(found)
    names = {
        column.branch.id: letter(place) if comparison.blind else column.name
        for place, column in enumerate(seen)
    }
    return Sides(
        runner=runner,
        comparison=comparison,
        session=runner.store.sessions.get(comparison.session_id),
        columns=tuple(seen),
        names=names,
    )


def answers(on: Sides) -> dict[str, tuple[str, Source]]:
    """Every answer of every lane with words, by its node: what it is called, and itself.

    Those that count come first: of each lane the one marked final, else the last.
    """
    marked = set(on.runner.store.nodes.finals(on.session.id))
    first: dict[str, tuple[str, Source]] = {}
    others: dict[str, tuple[str, Source]] = {}
    for column in on.columns:
        name = on.names[column.branch.id]
        numbers = turns(column.lineage)
        told = [
            (node, number)
            for node, number in zip(column.lineage, numbers, strict=True)
            if node.role == "assistant" and node.text.strip()
        ]
        best = next((pair for pair in reversed(told) if pair[0].id in marked), None)
        best = best or (told[-1] if told else None)
        for node, number in reversed(told):
            source = Source(node=node, branch_id=column.branch.id, name=name)
            if best is not None and node.id == best[0].id:
                mark = "final" if node.id in marked else "last answer"
                first.setdefault(node.id, (f"{name} · {mark}", source))
            else:
                mark = " · final" if node.id in marked else ""
                others.setdefault(node.id, (f"{name} · turn {number}{mark}", source))
    return first | {node: found for node, found in others.items() if node not in first}


def model(on: Sides, key: str) -> Config:
    """Who is asked: a menu, and the session's own settings but for the model."""
    now = replace(on.session.config, system="")
    offered = {f"{one['provider']}/{one['model']}": one for one in models_offered()}
    own = f"{now.provider}/{now.model}"
    labels = words.distinct(
        {own: now.model} | {name: one["label"] or one["model"] for name, one in offered.items()},
        lambda name: name.partition("/")[0],
    )
    state.control(key, on.form("merge_model").get("model") or own)
    if state.value(key) not in labels:
        state.control(key, own)
    chosen = st.selectbox(
        "Model",
        list(labels),
        format_func=lambda name: labels.get(name, name),
        key=key,
        on_change=lambda: on.keep("merge_model", model=state.value(key)),
    )
    if chosen == own or chosen not in offered:
        return now
    one = offered[chosen]
    # Knobs set for one model may not exist on another: they are left unset.
    return replace(now, provider=one["provider"], model=one["model"], sampling={})


def peek(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return f"{line[:_PEEK]}…" if len(line) > _PEEK else line


def complain(error: TurntreeError) -> None:
    """Say on the spot what went wrong, and what can be done."""
    st.error(sidebar.label(f"{error.message} {error.hint}"), icon=":material/error:")


def leave_for(on: Sides, branch_id: str, said: str) -> None:
    """Go to a branch in the playground, and say what was done."""
    state.flash(said)
    on.runner.announce(on.session.id)
    state.open_place(Place(session=on.session.id, branch=branch_id))
    st.rerun()
