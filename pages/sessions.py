"""All sessions, and the bin: open, restore, delete for good."""

import streamlit as st

from pages import backend
from pages.components import frame, sidebar, state
from pages.components.state import Place

_PAGE = 50
runner = backend.runner()
store = runner.store


@st.dialog("Delete for good?")
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
        st.markdown(sidebar.label(session["title"]))
        st.caption(session["updated_at"][:16].replace("T", " "), width="content")
        if not binned:
            st.button(
                "Open",
                key=f"open.{session['id']}",
                on_click=state.open_place,
                args=[Place(session=session["id"])],
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
live, gone = st.tabs(
    [f"Sessions ({store.sessions.count()})", f"Bin ({store.sessions.count(binned=True)})"]
)
with live:
    listing(binned=False)
with gone:
    listing(binned=True)
