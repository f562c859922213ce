"""Two texts and what differs between them: inline or side by side, folded or whole, copied."""

from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from core.diff import compare
from pages.components import diff_html, sent, state

CSS = Path(__file__).with_suffix(".css").read_text("utf-8")
_INLINE, _BESIDE = "Inline", "Side by side"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of two texts, what it is called, and the message it is, if it is one."""

    label: str
    text: str
    node: str | None = None


def draw(key: str, old: Side, new: Side) -> None:
    """What differs, with the ways to look at it. ``key`` tells two on a page apart."""
    old, new = _distinct(old, new)
    st.html(f"<style>{CSS}</style>")
    found = compare(old.text, new.text)
    with st.container(key=f"diff.{key}", gap="small"):
        how, fold = _controls(key, old, new)
        st.html(diff_html.legend(found, old.label, new.label))
        if not found.added and not found.removed and old.text == new.text:
            st.info("They say the same, word for word.")
            return
        whole = state.unfolded(f"diff.{key}.{hash((old.text, new.text))}")
        shown, cut = (found, False) if whole else diff_html.shortened(found)
        if how == _BESIDE:
            st.html(diff_html.beside(shown, old.label, new.label, fold=fold), width="stretch")
        else:
            st.html(diff_html.inline(shown, fold=fold), width="stretch")
        if cut:
            st.caption("The rest of a very long comparison is left out.")
            if st.button("Show all of it", icon=":material/unfold_more:", key=f"diff.all.{key}"):
                state.unfold(f"diff.{key}.{hash((old.text, new.text))}")
                st.rerun()


def _distinct(old: Side, new: Side) -> tuple[Side, Side]:
    if old.label != new.label:
        return old, new
    return replace(old, label=f"{old.label} (first)"), replace(new, label=f"{new.label} (second)")


def _controls(key: str, old: Side, new: Side) -> tuple[str, bool]:
    """How it is to be shown: the same wherever the person looks next."""
    how_key, fold_key = f"diff.how.{key}", f"diff.fold.{key}"
    state.control(how_key, state.kept("diff.how", _INLINE))
    state.control(fold_key, state.kept("diff.fold", True))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        how = st.segmented_control(
            "How to show what differs",
            [_INLINE, _BESIDE],
            required=True,
            label_visibility="collapsed",
            key=how_key,
            on_change=lambda: state.keep("diff.how", state.value(how_key)),
        )
        fold = st.toggle(
            "Only changes",
            key=fold_key,
            help="Long stretches that are the same are folded",
            on_change=lambda: state.keep("diff.fold", state.value(fold_key)),
        )
        for place, side in (("old", old), ("new", new)):
            sent.copy_text(f"diff.copy.{key}.{place}", f"Copy {side.label}", side.text, side.node)
    return how or _INLINE, fold
