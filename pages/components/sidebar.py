"""The left side: new session, search over everything, sessions by recency."""

from datetime import UTC, datetime
from typing import Any

import streamlit as st

from core import Runner, View
from core.store.search import CLOSE, OPEN
from pages.components import state
from pages.components.state import Place

_SHOWN = 20


def draw(runner: Runner, view: View | None) -> None:
    """Draw the sidebar; a click on a session or a hit goes there."""
    with st.sidebar:
        with st.container(key="brand", horizontal=True, vertical_alignment="center"):
            st.markdown("**Turntree**")
            st.button(
                "New",
                icon=":material/add:",
                type="primary",
                on_click=state.open_place,
                args=[Place()],
                help="Start a new session",
                key="new_session",
            )
        query = st.text_input(
            "Search sessions and messages",
            placeholder="Search sessions and messages",
            label_visibility="collapsed",
            icon=":material/search:",
            key="search",
        )
        if query.strip():
            _hits(runner, query)
        else:
            _recent(runner, view)
        with st.container(key="links"):
            _to_sessions()
            st.page_link(
                "compare.py",
                label="Compare",
                icon=":material/view_column_2:",
                query_params=state.link(),
            )
            st.page_link(
                "library.py",
                label="Library",
                icon=":material/menu_book:",
                query_params={},  # the way back is remembered
            )
            st.page_link(
                "runs.py",
                label="Runs and costs",
                icon=":material/receipt_long:",
                query_params={},  # of all sessions; the way back is remembered
            )
            st.page_link(
                "settings.py",
                label="Settings",
                icon=":material/settings:",
                query_params=state.link(),
            )


def _to_sessions() -> None:
    """Two ways to one page: its lists, and what comes in."""
    importing = state.asked("tab") == "Import"
    with st.container(key="link_elsewhere" if importing else "link_sessions"):
        st.page_link(
            "sessions.py",
            label="All sessions and bin",
            icon=":material/folder_open:",
            query_params=state.link(),
        )
    with st.container(key="link_import" if importing else "link_elsewhere"):
        st.page_link(
            "sessions.py",
            label="Import",
            icon=":material/upload_file:",
            query_params=state.link() | {"tab": "Import"},
        )


def _recent(runner: Runner, view: View | None) -> None:
    rows = runner.store.sessions.recent(_SHOWN)
    if not rows:
        st.caption("Your sessions will be listed here.")
    day = ""
    for row in rows:
        if (when := _day(row["updated_at"])) != day:
            day = when
            st.caption(day)
        _session_button(row, current=view is not None and row["id"] == view.session.id)


def _session_button(row: dict[str, Any], *, current: bool) -> None:
    icon = badge = None
    words = ""
    if row["running"]:
        icon, badge = ":material/more_horiz:", "An answer is on its way"
        words = " :small[· answering]"
    elif row["unread"] and not current:
        icon, badge = ":material/mark_chat_unread:", "There is a new answer"
        words = " :small[· new answer]"
    st.button(
        label(row["title"]) + words,  # the icon alone is silent to who listens
        key=f"session.{row['id']}",
        type="secondary" if current else "tertiary",
        icon=icon,
        help=badge,
        width="stretch",
        on_click=state.open_place,
        args=[Place(session=row["id"])],
    )


def _hits(runner: Runner, query: str) -> None:
    sessions, messages = runner.store.search.sessions(query), runner.store.search.messages(query)
    if not sessions and not messages:
        st.caption(f"Nothing has the words {query.strip()!r}.")
    for row in sessions:
        st.button(
            label(row["title"]),
            key=f"hit.session.{row['id']}",
            icon=":material/forum:",
            type="tertiary",
            width="stretch",
            on_click=state.open_place,
            args=[Place(session=row["id"])],
        )
    for hit in messages:
        words = label(hit["snippet"]).replace(OPEN, "**").replace(CLOSE, "**")
        st.button(
            f"{words}  \n:small[{label(hit['title'])}]",
            key=f"hit.{hit['node_id']}",
            type="tertiary",
            width="stretch",
            on_click=state.open_place,
            args=[Place(session=hit["session_id"], node=hit["node_id"])],
        )


def label(text: str) -> str:
    """A person's words in a button: one line, Markdown's characters taken literally."""
    line = " ".join(text.split())
    return "".join(f"\\{char}" if char in "\\`*_[]()#$:<>~!|" else char for char in line)


def _day(at: str) -> str:
    moment = datetime.fromisoformat(at).astimezone()
    days = (datetime.now(UTC).astimezone().date() - moment.date()).days
    if days < 2:
        return ("Today", "Yesterday")[max(days, 0)]
    return f"{moment:%A}" if days < 7 else f"{moment:%B %Y}"
