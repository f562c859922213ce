"""All sessions, the bin, what comes in from elsewhere, and copies of all there is."""

import streamlit as st

from pages import backend
from pages.components import (
    backups_panel,
    export_dialog,
    export_several,
    frame,
    import_panel,
    pane,
    sidebar,
    state,
    words,
)
from pages.components.state import Place

_PAGE = 50
_TAB = "sessions.tab"
_TABS = ("Sessions", "Bin", "Import", "Backups")
runner = backend.runner()
store = runner.store


@pane.window("Delete for good?")
def confirm(session_id: str, title: str) -> None:
    """Ask once before the only act that cannot be undone."""
    st.write("This session and every branch in it will be gone. There is no way back.")
    st.text(title)
    if st.button("Delete for good", type="primary", icon=":material/delete_forever:"):
        store.sessions.delete_for_good(session_id)
        store.nodes.forget()
        st.rerun()


def row(session: dict[str, str], *, binned: bool) -> None:
    """One session with what can be done to it."""
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(sidebar.label(session["title"]), width="stretch")
        st.caption(session["updated_at"][:16].replace("T", " "), width="content")
        if not binned:
            st.button(
                "Open",
                key=f"open.{session['id']}",
                on_click=state.open_place,
                args=[Place(session=session["id"])],
            )
            st.button(
                "Export",
                key=f"export.{session['id']}",
                icon=":material/download:",
                on_click=export_dialog.open_elsewhere,
                args=["session", session["id"]],
            )
            st.button(
                "Bin",
                key=f"bin.{session['id']}",
                icon=":material/delete:",
                on_click=store.sessions.bin,
                args=[session["id"]],
            )
        else:
            st.button(
                "Restore",
                key=f"restore.{session['id']}",
                on_click=store.sessions.restore,
                args=[session["id"]],
            )
            if st.button("Delete for good", key=f"delete.{session['id']}"):
                confirm(session["id"], session["title"])


def listing(*, binned: bool) -> None:
    """Sessions by recency, a page at a time."""
    total = store.sessions.count(binned=binned)
    if total:
        st.caption(words.counted(total, "session"))
    limit = state.shown(f"sessions.{binned}", _PAGE)
    for session in store.sessions.recent(limit, binned=binned):
        row(session, binned=binned)
    if not total:
        st.caption("The bin is empty." if binned else "There is no session yet.")
    if total > limit and st.button(f"Show more ({total - limit})", key=f"more.{binned}"):
        state.show_more(f"sessions.{binned}", limit + _PAGE)
        st.rerun()


if state.leaving():
    st.switch_page("playground.py", query_params=state.link())
sidebar.draw(runner, None)
st.title("Sessions", anchor=False)
frame.show_flashes()
asked = state.asked("tab")
if asked not in _TABS:
    asked = _TABS[0]
state.control(_TAB, asked)
live, gone, coming, copies = st.tabs(
    _TABS, key=_TAB, on_change=lambda: state.ask(tab=state.value(_TAB))
)
if not (coming.open or copies.open):
    with live:
        export_several.button(store.sessions.count())
        listing(binned=False)
    with gone:
        listing(binned=True)
with coming:
    if coming.open:
        import_panel.draw(runner)
with copies:
    if copies.open:
        backups_panel.draw(runner)
export_dialog.of_session(runner)
export_several.draw(runner)
