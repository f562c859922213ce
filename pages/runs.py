"""Runs: every call of a session or of all, in lines and in sums.

The filter stands in the address, so that a link or the way back leads to the same table.
"""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from typing import Any

import streamlit as st

from core.ledger import csv_lines
from core.store.ledger import Filter, Line, Sums, share
from pages import backend
from pages.components import frame, ledger_sums, sent, sidebar, state, words
from pages.components.state import Place

_PAGE = 100
_TABLE = "runs.table"
runner = backend.runner()
ledger = runner.store.ledger


# --- the filter ----------------------------------------------------------------------------


def wanted() -> Filter:
    """The filter that the address names."""
    provider, _, model = (state.asked("model") or "").partition(":")
    return Filter(
        session=state.asked("session"),
        branch=state.asked("branch"),
        provider=provider or None,
        model=model or None,
        purpose=state.asked("purpose"),
        outcome=state.asked("outcome"),
        error=state.asked("error"),
        since=_day("since"),
        until=_day("until"),
        text=state.asked("text"),
    )


def _day(name: str) -> date | None:
    with suppress(ValueError):
        return date.fromisoformat(state.asked(name) or "")
    return None


def choice(label: str, name: str, offered: dict[str, str], everything: str) -> None:
    """A menu for one parameter of the address."""
    now = state.asked(name)
    if now:
        offered.setdefault(now, now)
    # With other entries it is another menu: the old one's words may mean something else by now.
    key = f"runs.{name}.{zlib.crc32(repr(offered).encode('utf-8', 'replace'))}"

    def change() -> None:
        more: dict[str, str | None] = {"branch": None} if name == "session" else {}
        state.ask(**{name: state.value(key), "page": None, **more})

    state.control(key, now)
    st.selectbox(
        label,
        list(offered),
        format_func=lambda one: offered.get(one, one),
        index=None,
        placeholder=everything,
        key=key,
        on_change=change,
    )


def days() -> None:
    """The first and the last day, either open."""
    for label, name in (("From", "since"), ("To", "until")):
        key = f"runs.{name}"

        def change(key: str = key, name: str = name) -> None:
            chosen = state.value(key)
            state.ask(**{name: chosen.isoformat() if chosen else None, "page": None})

        state.control(key, _day(name))
        st.date_input(label, value=None, key=key, on_change=change, format="YYYY-MM-DD")


def text() -> None:
    """Words in the error."""

    def change() -> None:
        state.ask(text=(state.value("runs.text") or "").strip() or None, page=None)

    state.control("runs.text", state.asked("text") or "")
    st.text_input(
        "Words in the error",
        key="runs.text",
        on_change=change,
        placeholder="Any",
        icon=":material/search:",
    )


def filters(now: Filter) -> None:
    """All that narrows the table, in rows that break where the screen is narrow."""
    kinds = ledger.kinds(Filter(session=now.session))
    titles = {sums.key: sums.label for sums in ledger.sums("session", Filter())}
    sessions = words.distinct(titles, lambda key: key[-4:].lower())
    models = {one: one.partition(":")[2] for one in kinds["model"]}
    models = words.distinct(models, lambda key: key.partition(":")[0])
    with st.container(key="runs_filters", horizontal=True, vertical_alignment="bottom"):
        choice("Session", "session", sessions, "All sessions")
        if now.session:
            branches = ledger.sums("branch", Filter(session=now.session))
            names = {sums.key: sums.label.rpartition(" / ")[2] for sums in branches}
            names = words.distinct(names, lambda key: key[-4:].lower())
            choice("Branch", "branch", names, "All branches")
        choice("Model", "model", models, "Any")
        choice("Purpose", "purpose", {one: one for one in kinds["purpose"]}, "Any")
        choice("Outcome", "outcome", {one: words.outcome(one) for one in kinds["outcome"]}, "Any")
        if kinds["error"]:
            choice("Error", "error", {one: one for one in kinds["error"]}, "Any")
            text()
        days()
        if now != Filter():
            names_ = ("session", "branch", "model", "purpose", "outcome", "error", "text")
            cleared = dict.fromkeys((*names_, "since", "until", "page"))
            st.button("Clear", icon=":material/filter_alt_off:", on_click=state.ask, kwargs=cleared)


# --- the table -----------------------------------------------------------------------------


def table(now: Filter, total: Sums) -> None:
    """The runs, newest first, a page at a time; a chosen one opens what was sent."""
    pages = max(1, -(-total.runs // _PAGE))
    page = min(max(1, _number(state.asked("page"))), pages)
    lines = ledger.lines(now, limit=_PAGE, offset=(page - 1) * _PAGE)
    key = f"{_TABLE}.{page}.{now!r}"  # another table has another choice

    def chosen() -> None:
        rows = state.value(key)["selection"]["rows"]
        if rows and rows[0] < len(lines):
            state.look_into(lines[rows[0]]["id"])

    event = st.dataframe(
        [_row(line) for line in lines],
        hide_index=True,
        column_config=_line_columns(),
        column_order=_order(now),
        on_select=chosen,
        selection_mode="single-row",
        height="content" if len(lines) < 12 else 460,
        key=key,
        placeholder=words.NOTHING,
        alt="Runs, the newest first",
    )
    picked = [lines[row]["id"] for row in event["selection"]["rows"] if row < len(lines)]
    # A table that is drawn anew may forget what was chosen.
    wanted_id = next(iter(picked), state.last_look())
    line = next((line for line in lines if line["id"] == wanted_id), None)
    with st.container(horizontal=True, vertical_alignment="center", key="runs_bar"):
        if line:
            of_one(line)
        else:
            st.caption("Choose a row to see what was sent. \u2013 is unknown.")
        if pages > 1:
            turn_pages(pages, page)


def of_one(line: Line) -> None:
    """What can be done with the chosen run."""
    model = line["resolved_model"] or line["model"]
    st.text(f"{words.moment(line['started_at'])} {model}", width="content")
    st.button(
        "What was sent",
        icon=":material/upload:",
        on_click=state.look_into,
        args=[line["id"]],
    )
    st.button(
        "Go to the message",
        icon=":material/arrow_outward:",
        on_click=state.open_place,
        args=[
            Place(
                session=line["session_id"],
                branch=line["branch_id"],
                node=line["node_id"] or line["context_tip_id"],
            )
        ],
    )


def turn_pages(pages: int, page: int) -> None:
    """Older and newer runs."""
    key = "runs.page"
    state.control(key, page)
    st.pagination(pages, key=key, on_change=lambda: state.ask(page=str(state.value(key))))


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 1


def _order(now: Filter) -> Sequence[str]:
    names = ["when", "title", "branch", "model", "purpose", "outcome", "input", "cached"]
    names += ["output", "cost", "first", "took", "error"]
    hidden = {"title"} if now.session else set()
    return [name for name in names if name not in hidden]


def _row(line: Line) -> dict[str, Any]:
    cached = share(line["cached_tokens"], line["input_tokens"])
    error = " ".join(filter(None, [line["error_kind"], line["error"]]))
    return {
        "when": datetime.fromisoformat(line["started_at"]).astimezone().replace(tzinfo=None),
        "title": line["title"],
        "branch": line["branch"],
        "model": line["resolved_model"] or line["model"],
        "purpose": line["purpose"],
        "outcome": words.outcome(line["outcome"]),
        "input": line["input_tokens"],
        "cached": None if cached is None else 100 * cached,
        "output": line["output_tokens"],
        "cost": ledger_sums.dollars(line["cost_nanodollars"]),
        "first": None if line["first_token_ms"] is None else line["first_token_ms"] / 1000,
        "took": None if line["duration_ms"] is None else line["duration_ms"] / 1000,
        "error": error or None,
    }


def _line_columns() -> dict[str, Any]:
    config = st.column_config
    return {
        "when": config.DatetimeColumn("Began", format="YYYY-MM-DD HH:mm:ss"),
        "title": config.TextColumn("Session", width="medium"),
        "branch": config.TextColumn("Branch", width="small"),
        "model": config.TextColumn("Model"),
        "purpose": config.TextColumn("Purpose", width="small"),
        "outcome": config.TextColumn("Outcome"),
        "input": config.NumberColumn("Input", format="localized", help="Tokens"),
        "cached": config.NumberColumn("Cached", format="%.0f%%", help="Of the input tokens"),
        "output": config.NumberColumn("Output", format="localized", help="Tokens"),
        "cost": config.NumberColumn("Cost", format="$%.4f", help="An estimate; empty is unknown"),
        "first": config.NumberColumn("First word", format="%.1f s"),
        "took": config.NumberColumn("Took", format="%.1f s"),
        "error": config.TextColumn("Error", width="large"),
    }


# --- the page ------------------------------------------------------------------------------


def head(now: Filter, total: Sums) -> None:
    """The title, and the file of all that the filter matches."""
    with st.container(horizontal=True, vertical_alignment="center", key="runs_head"):
        st.title("Runs", anchor=False, width="stretch")
        st.button("Refresh", icon=":material/refresh:", help="Look again")
        st.download_button(
            "CSV",
            data=lambda: "".join(csv_lines(ledger.every(now))).encode(),
            file_name="runs.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            disabled=not total.runs,
            help=f"Download {words.counted(total.runs, 'run')} as a table",
        )


def main() -> None:
    """Draw the page."""
    if state.leaving():
        st.switch_page("playground.py", query_params=state.link())
    sidebar.draw(runner, None)
    now = wanted()
    total = ledger.total(now)
    head(now, total)
    frame.show_flashes()
    if not total.runs and now == Filter():
        st.caption("There is no run yet. Every call of a model will be listed here.")
    else:
        with st.container(key="runs"):
            body(now, total)
    sent.draw(runner)


def body(now: Filter, total: Sums) -> None:
    """Filter, totals, table, charts, sums."""
    filters(now)
    ledger_sums.strip(total)
    if not total.runs:
        st.caption("No run matches this filter.")
        return
    table(now, total)
    ledger_sums.charts(ledger, now)
    ledger_sums.groups(ledger, now)


main()
