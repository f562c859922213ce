"""What became of an import, in words: right after it, and later under "Past imports"."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import NotFound
from core.importing import Report
from core.store import Store
from core.types import Session
from pages.components import sidebar, state, words
from pages.components.frame import folding
from pages.components.state import Place

_CSS = Path(__file__).with_name("import.css").read_text("utf-8")
_OPENED = 5  # sessions that a report offers to open
_PAST = 20
Told = Mapping[str, Any]
"""A report as it is kept: the fields of :class:`core.importing.Report` as JSON."""


def dress() -> None:
    """Apply the few lines of style of import and backups."""
    st.html(f"<style>{_CSS}</style>")


def draw(store: Store, report: Report | Told, *, scope: str) -> None:
    """Sums, what was left out, repaired or damaged, and the sessions that came of it."""
    told: Told = asdict(report) if isinstance(report, Report) else report
    _head(told)
    if told.get("broke"):
        st.error(
            f"The import stopped before the end of the file. {sidebar.label(told['broke'])}"
            " What is listed here is in, and whole.",
            icon=":material/error:",
        )
    if told.get("cancelled"):
        st.info(
            "You cancelled. What is listed here is in, and whole; import the same file again to"
            " get the rest.",
            icon=":material/info:",
        )
    facts(
        {
            "New sessions": told.get("new") or None,
            "Sessions with new messages": told.get("extended") or None,
            "Here already": told.get("unchanged") or None,
            "Not chosen": told.get("passed_over") or None,
            "Messages added": told.get("messages"),
            "Branches added": told.get("branches"),
        }
    )
    left_out([(one["what"], one["count"], one["why"]) for one in told.get("left_out", ())])
    repairs(told.get("repairs", ()), told.get("more_repairs", 0), scope=scope)
    damaged(
        [(one["place"], one["why"]) for one in told.get("damaged", ())],
        told.get("more_damaged", 0),
    )
    _open(store, told.get("sessions", ()), scope)


def _head(told: Told) -> None:
    added = told.get("new", 0) + told.get("extended", 0)
    if not added and told.get("unchanged") and not told.get("broke"):
        st.success(
            "Nothing new: everything you chose was here already, so nothing was added.",
            icon=":material/check_circle:",
        )
    elif added:
        checked = words.counted(told.get("checked", 0), "message")
        st.success(
            f"{words.counted(added, 'conversation')} imported. {checked} read back from the"
            " database and found word for word as in the file.",
            icon=":material/check_circle:",
        )
    elif not told.get("broke"):
        st.info("No conversation was imported.", icon=":material/info:")


def facts(found: Mapping[str, int | None]) -> None:
    """Numbers with what they count."""
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{words.number(number)}</dd></div>"
        for name, number in found.items()
        if number is not None
    )
    st.html(f'<dl class="told-facts">{cells}</dl>')


def left_out(rows: Sequence[tuple[str, int, str]], *, ahead: bool = False) -> None:
    """What does not come along, and why; ``ahead`` of the import or after it."""
    if not rows:
        return
    label = "What will be left out, and why" if ahead else "What was left out, and why"
    st.markdown(f"**{label}**")
    cells = [
        f"<tr><th scope='row'>{escape(what)}</th><td class='number'>{count:,}</td>"
        f"<td>{escape(why)}</td></tr>"
        for what, count, why in rows
    ]
    _table(("What", "How many", "Why"), cells, label)


def damaged(rows: Sequence[tuple[str, str]], more: int = 0) -> None:
    """Conversations that could not be read, with the place in the file."""
    if not rows:
        return
    st.warning(
        f"{words.counted(len(rows) + more, 'part')} of the file could not be read and"
        f" {'is' if len(rows) + more == 1 else 'are'} left out. The rest is not touched by that.",
        icon=":material/warning:",
    )
    cells = [
        f"<tr><th scope='row'>{escape(place)}</th><td>{escape(why)}</td></tr>"
        for place, why in rows
    ]
    if more:
        cells.append(f"<tr><th scope='row'>{more:,} more</th><td></td></tr>")
    _table(("Where", "What is wrong with it"), cells, "What could not be read")


def repairs(found: Sequence[str], more: int = 0, *, scope: str) -> None:
    """What was broken in the file and was put right; folded, for most do not want to know."""
    if not found:
        return
    label = f"{words.counted(len(found) + more, 'repair')}: broken in the file, put right here"
    with folding(f"{scope}.repairs", label, icon=":material/healing:", small=True) as opened:
        if opened:
            lines([*found, *([f"{more:,} more"] if more else [])])


def lines(found: Sequence[str]) -> None:
    """Lines of text, as a list that scrolls where it is long."""
    items = "".join(f"<li>{escape(one)}</li>" for one in found)
    st.html(f'<ul class="told-lines" tabindex="0">{items}</ul>')


def _table(head: Sequence[str], rows: Sequence[str], label: str) -> None:
    top = "".join(f"<th scope='col'>{escape(name)}</th>" for name in head)
    st.html(
        f'<div class="told" tabindex="0" role="region" aria-label="{escape(label)}"><table>'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


# --- the sessions --------------------------------------------------------------------------------


def _open(store: Store, ids: Sequence[str], scope: str) -> None:
    """Buttons to the first sessions; those that were deleted since are passed over."""
    if not ids:
        return
    found = [one for one in (_there(store, each) for each in ids[: _OPENED * 4]) if one]
    with st.container(key=f"import_opens.{scope}", gap="xxsmall"):
        for number, session in enumerate(found[:_OPENED]):
            st.button(
                f"Open {sidebar.label(session.title)}",
                key=f"{scope}.open.{session.id}",
                icon=":material/arrow_outward:",
                type="primary" if scope == "import" and number == 0 else "tertiary",
                on_click=state.open_place,
                args=[Place(session=session.id)],
            )
    rest = len(ids) - len(found[:_OPENED])
    if rest > 0 and found:
        st.caption(f"{rest:,} more {'is' if rest == 1 else 'are'} in the list of sessions.")
    if not found:
        st.caption("The sessions of this import were deleted since.")


def _there(store: Store, session_id: str) -> Session | None:
    try:
        return store.sessions.get(session_id)
    except NotFound:
        return None


# --- earlier ones --------------------------------------------------------------------------------


def past(store: Store) -> None:
    """Every import that was made, the latest first, with its report."""
    found = store.imports.reports(_PAST)
    if not found:
        return
    st.markdown("#### Past imports", anchors=False)
    for one in found:
        scope = f"past.{one['id']}"
        with folding(scope, _line(one), icon=":material/history:") as opened:
            if opened:
                draw(store, one["report"], scope=scope)


def _line(one: Mapping[str, Any]) -> str:
    told = one["report"]
    outcome = [
        f"{number:,} {what}"
        for number, what in (
            (told.get("new", 0), "new"),
            (told.get("extended", 0), "with new messages"),
            (told.get("unchanged", 0), "here already"),
            (len(told.get("damaged", ())) + told.get("more_damaged", 0), "damaged"),
        )
        if number
    ]
    if told.get("cancelled"):
        outcome.append("cancelled")
    if told.get("broke"):
        outcome.append("broke off")
    facts_ = [words.moment(one["at"])[:16], one["format"], ", ".join(outcome) or "nothing"]
    return f"{sidebar.label(one['file_name'])} :small[· {sidebar.label(' · '.join(facts_))}]"
