"""The dialog "Draft history": the drafts of one branch, each against the one before."""

from collections.abc import Sequence

import streamlit as st

from core import Node, Runner, View
from core.draft_history import Version, history
from pages.components import diff_html, diff_view, pane, state, words
from pages.components.act import Dialog
from pages.components.diff_view import Side
from pages.components.entry import model_label
from pages.components.sidebar import label as plain

_SHOWN = 12


@pane.window("Draft history", width="large", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """The drafts of the branch that is shown."""
    with st.container(key="history"):
        st.caption(
            f"Every draft on branch {plain(view.branch.name)}, each against the one before it."
        )
        drafts(runner, view.lineage, key=dialog.branch)


def drafts(runner: Runner, lineage: Sequence[Node], *, key: str, blind: bool = False) -> None:
    """The drafts along a lineage, the latest first, and what the chosen one changed."""
    versions = history(runner.store, lineage)
    if not versions:
        st.info("There is no draft on this branch yet.")
        return
    limit = state.shown(f"history.{key}", _SHOWN)
    listed = {one.node.id: one for one in reversed(versions[-limit:])}
    left, right = st.columns([2, 5], gap="medium")
    with left:
        chosen = _list(listed, key, blind=blind)
        if len(versions) > limit and st.button(
            f"Show {len(versions) - limit} older", key=f"history.more.{key}"
        ):
            state.show_more(f"history.{key}", limit + _SHOWN)
            st.rerun()
    with right:
        _version(chosen, key)


def _list(listed: dict[str, Version], key: str, *, blind: bool) -> Version:
    widget, kept = f"history.chosen.{key}", f"history.chosen.{key}"
    latest = next(iter(listed))
    stored = state.kept(kept)
    state.control(widget, stored if stored in listed else latest)
    picked = st.radio(
        "Drafts, the latest first",
        list(listed),
        format_func=lambda one: _title(listed[one]) if one in listed else one,
        captions=[_caption(one, blind=blind) for one in listed.values()],
        key=widget,
        on_change=lambda: state.keep(kept, state.value(widget)),
    )
    return listed.get(str(picked), listed[latest])


def _title(version: Version) -> str:
    final = " · final" if version.final else ""
    return f"Draft {version.number} · turn {version.turn}{final}"


def _caption(version: Version, *, blind: bool) -> str:
    told = [author(version, blind=blind), words.moment(version.node.created_at)]
    if version.before is not None:
        told.append(diff_html.counts(version.diff))
    return plain(" · ".join(told))


def author(version: Version, *, blind: bool = False) -> str:
    """Who wrote a draft: a model by its name, or the person."""
    if version.by_hand:
        return "you, by hand"
    if version.node.author == "import":
        return "imported"
    if version.node.author == "person":
        return "you"
    if blind or version.run is None:
        return "the model"
    again = ", continued" if version.run.purpose == "continue" else ""
    return f"{model_label(version.run)}{again}"


def _version(version: Version, key: str) -> None:
    if version.before is None:
        st.caption("The first draft: there is nothing before it.")
        st.html(diff_html.reading(version.node.text))
        return
    diff_view.draw(
        f"history.{key}",
        Side(
            label=f"draft {version.number - 1}",
            text=version.before.text,
            node=version.before.id,
        ),
        Side(label=f"draft {version.number}", text=version.node.text, node=version.node.id),
    )
