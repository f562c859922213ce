"""Bring in: the answer of one branch as words of another, quoted or as it is."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from core import Runner
from core.origins import expect, quoted
from core.types import Node
from pages.components import merge_sides, state
from pages.components.merge_sides import Sides

_QUOTE, _PASTE = "Quote", "Paste as it is"
_FORM = "bring"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bringing:
    """An answer on its way: the branch it is of, what that is called, where it may go."""

    node: Node
    branch_id: str
    name: str
    targets: Mapping[str, str]


def draw(on: Sides) -> None:
    """From any answer of any lane into any lane, or another branch of the session."""
    st.caption(
        "The words wait in the composer of the other branch. Once they are sent, the message says"
        " where they are from."
    )
    known = merge_sides.answers(on)
    if not known:
        st.info("There is no answer yet.")
        return
    key = f"bring.answer.{on.comparison.id}"
    kept = on.form(_FORM).get("node")
    now = kept if kept in known else next(iter(known))
    state.control(key, now)
    chosen = st.selectbox(
        "Answer",
        list(known),
        index=list(known).index(now),
        format_func=lambda node: known[node][0] if node in known else node,
        key=key,
        on_change=lambda: on.keep(_FORM, node=state.value(key)),
    )
    _, source = known[chosen]
    lanes = {one: name for one, name in on.names.items() if one != source.branch_id}
    if not on.comparison.blind:  # the names of others would tell which are the lanes
        lanes |= others(on.runner, on.session.id, source.branch_id, lanes)
    name = "" if on.comparison.blind else source.name
    bringing = Bringing(node=source.node, branch_id=source.branch_id, name=name, targets=lanes)

    def go(target: str) -> None:
        on.forget(_FORM)
        merge_sides.leave_for(on, target, "The words wait in the composer.")

    form(on.runner, bringing, go)


def others(
    runner: Runner, session_id: str, branch_id: str, known: Mapping[str, str]
) -> dict[str, str]:
    """The session's other branches, by name."""
    return {
        branch.id: branch.name
        for branch in runner.store.branches.of(session_id)
        if branch.id != branch_id and branch.id not in known
    }


def form(runner: Runner, bringing: Bringing, go: Callable[[str], None]) -> None:
    """How, what and where to; then ``go`` to the branch, in whose composer the words wait."""
    if not bringing.targets:
        st.info("There is no other branch yet. Fork one first.")
        return
    node, draft = bringing.node, Draft(runner, bringing.node)
    with st.container(key="bring"):
        target = _target(draft, bringing.targets)
        paste = _how(draft) == _PASTE
        first = node.text.strip() if paste else quoted(node.text, bringing.name)
        text = _words(draft, first, "paste" if paste else "quote")
        if st.button(
            "Put into the composer",
            type="primary",
            icon=":material/input:",
            disabled=not text.strip(),
        ):
            expect(
                runner.store,
                node.session_id,
                target,
                [(node.id, bringing.branch_id)],
                "quote",
                text.strip(),
            )
            draft.drop()
            state.insert(f"{text.rstrip()}\n\n")
            go(target)


@dataclass(frozen=True, slots=True)
class Draft:
    """What was chosen and written for an answer that is brought in, across reloads."""

    runner: Runner
    node: Node

    @property
    def key(self) -> str:
        """What it is kept under."""
        return f"bring.{self.node.id}"

    def get(self) -> dict[str, str]:
        """The fields that were touched."""
        kept = self.runner.store.drafts.get(self.key)
        return dict(json.loads(kept)) if kept else {}

    def keep(self, **changes: str) -> None:
        """Remember some of them."""
        told = json.dumps(self.get() | changes)
        self.runner.store.drafts.keep(self.node.session_id, self.key, told)

    def drop(self) -> None:
        """The words are where they belong."""
        self.runner.store.drafts.drop(self.key)


def _target(draft: Draft, targets: Mapping[str, str]) -> str:
    key, kept = f"bring.target.{draft.node.id}", draft.get().get("target")
    now = kept if kept is not None and kept in targets else next(iter(targets))
    state.control(key, now)
    return st.selectbox(
        "Into the branch",
        list(targets),
        index=list(targets).index(now),
        format_func=lambda branch: targets.get(branch, branch),
        key=key,
        on_change=lambda: draft.keep(target=state.value(key)),
    )


def _how(draft: Draft) -> str:
    key, kept = f"bring.how.{draft.node.id}", draft.get().get("how")
    now = kept if kept in (_QUOTE, _PASTE) else _QUOTE
    state.control(key, now)
    chosen = st.segmented_control(
        "How",
        [_QUOTE, _PASTE],
        default=now,
        key=key,
        required=True,
        on_change=lambda: draft.keep(how=state.value(key)),
    )
    return str(chosen or now)


def _words(draft: Draft, first: str, name: str) -> str:
    key, written = f"bring.words.{draft.node.id}.{name}", draft.get().get(name)
    now = first if written is None else written
    state.control(key, now)
    return st.text_area(
        "Words (leave only what you need)",
        now,
        height=260,
        key=key,
        on_change=lambda: draft.keep(**{name: state.value(key) or ""}),
    )
