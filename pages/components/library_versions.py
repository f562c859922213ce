"""Versions of an item: what changed between two of them, and the way back."""

from html import escape

import streamlit as st

from core import TurntreeError
from core.changes import Change, changes
from core.library import Body, as_text
from core.store import Store
from core.store.library import Entry
from pages.components import sidebar, state, words

_AROUND = 3  # unchanged lines shown beside a change
_SHOWN = 30
_DRAFT = "Unsaved edits"


def draw(store: Store, entry: Entry) -> None:
    """Two versions compared, and below all of them, the newest first."""
    versions = store.library.versions(entry.id)
    if not versions:
        st.caption("No version has been saved yet.")
        return
    named: dict[str, Body] = {_DRAFT: entry.draft} if entry.draft is not None else {}
    named |= {f"Version {version.number}": version.body for version in versions}
    if len(named) > 1:
        _compare(entry, named)
    limit = state.shown(f"versions.{entry.id}", _SHOWN)
    for version in versions[:limit]:
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            note = f" · {sidebar.label(version.note)}" if version.note else ""
            st.markdown(f"**Version {version.number}**{note}", width="stretch")
            if version.created_at:
                st.caption(words.moment(version.created_at), width="content")
            st.button(
                "Restore",
                key=f"restore.{version.id}",
                help=f"Version {version.number} becomes the newest again; all others stay",
                disabled=version is versions[0] and entry.draft is None,
                on_click=_restore,
                args=[store, entry.id, version.id],
            )
    if len(versions) > limit and st.button(f"Show more ({len(versions) - limit})"):
        state.show_more(f"versions.{entry.id}", limit + _SHOWN)
        st.rerun()


def _restore(store: Store, item_id: str, version_id: str) -> None:
    try:
        entry = store.library.restore_version(item_id, version_id)
    except TurntreeError as error:
        state.flash_error(error)
    else:
        state.flash(f"{entry.note}: now version {entry.number}.")


def _compare(entry: Entry, named: dict[str, Body]) -> None:
    names = list(named)
    with st.container(horizontal=True):
        # A new version makes new choices, so that the newest is compared again.
        old = st.selectbox("From", names, index=1, key=f"diff.from.{entry.id}.{names[0]}")
        new = st.selectbox("To", names, index=0, key=f"diff.to.{entry.id}.{names[0]}")
    if old == new:
        st.caption("Choose two different versions.")
        return
    before, after = (as_text(entry.kind, named[name]) for name in (old, new))
    st.html(difference(before, after), width="stretch")


def difference(before: str, after: str) -> str:
    """What changed, as HTML with every word escaped."""
    found = changes(before, after)
    if all(change.kind == "same" for change in found):
        return '<p class="library-empty">They say the same.</p>'
    last = len(found) - 1
    told = (_told(change, first=n == 0, last=n == last) for n, change in enumerate(found))
    return f'<pre class="library-diff" aria-label="What changed" dir="auto">{"".join(told)}</pre>'


def _told(change: Change, *, first: bool, last: bool) -> str:
    if change.kind != "same":
        name = "ins" if change.kind == "added" else "del"
        return f"<{name}>{escape(change.text)}</{name}>"
    lines = change.text.splitlines(keepends=True)
    head = 0 if first else _AROUND
    tail = 0 if last else _AROUND
    left_out = len(lines) - head - tail
    if left_out < 2 * _AROUND:
        return escape(change.text)
    skipped = f'<span class="skipped">… {left_out} lines the same …</span>\n'
    end = "".join(lines[len(lines) - tail :]) if tail else ""
    return escape("".join(lines[:head])) + skipped + escape(end)
