"""The dialog "What will be sent": the next send message by message, or as the JSON it becomes."""

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

import streamlit as st

from core import Runner, TurntreeError, View
from core.policies import POLICIES
from core.preview import Line, Preview, body, preview
from core.types import Text
from core.wire.readable import elided, shortened
from pages.components import context_panel, meter, pane, sent_html, state, words
from pages.components.act import Dialog
from pages.components.sidebar import label as plain

_HERE = Path(__file__)
_CSS = _HERE.with_name("sent.css").read_text("utf-8") + _HERE.with_suffix(".css").read_text("utf-8")
_LAST = 60  # messages drawn at first
_MOST = 120_000  # characters of JSON on the screen
_FOLDS = 1500  # characters; a longer message is folded
_PEEK = 90
_FORMS = {
    "opening": "so that a message of yours comes first",
    "reiterated": "repeats what you asked for before",
    "restated": "lists the whole task",
    "listed": "lists all you asked for",
}


@pane.window("What will be sent", width="large", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """The next send of the branch, with what is left out."""
    view = context_panel.once(view)
    st.html(f"<style>{_CSS}</style>")
    listing = f"preview.{view.branch.id}"
    whole = state.shown(listing, _LAST) > _LAST
    try:
        seen = preview(runner.store, view, last=None if whole else _LAST)
    except TurntreeError as error:
        st.error(plain(f"{error.message} {error.hint}"), icon=":material/error:")
        return
    with st.container(key="preview"):
        st.markdown(_head(seen))
        if seen.recap_first:
            st.info(
                "A recap of the beginning will be written first, and stand in for what it covers.",
                icon=":material/history_edu:",
            )
        chosen = st.segmented_control(
            "How to show it",
            ["Messages", "Raw JSON"],
            default="Messages",
            required=True,
            label_visibility="collapsed",
            key=f"preview.form.{view.branch.id}",
        )
        if seen.earlier and st.button(
            f"Show all {seen.earlier + len(seen.lines):,} messages",
            icon=":material/unfold_more:",
            key="preview.all",
        ):
            state.show_more(listing, _LAST + 1)
            st.rerun()
        if chosen == "Raw JSON":
            _raw(runner, view, whole)
        else:
            st.html(html(seen))


def _head(seen: Preview) -> str:
    policy = POLICIES[seen.config.policy]
    facts = [f"**{policy.label}**", words.counted(seen.sent, "message")]
    facts.append(f"\u2248 {meter.brief(seen.tokens)} tokens")
    if seen.left_out:
        facts.append(f"{seen.left_out:,} left out")
    chosen = any(line.recapped or line.pinned or "muted" in line.why for line in seen.lines)
    also = " The branch's recap, pins and mutes hold under every policy." if chosen else ""
    return " · ".join(facts) + f"  \n:small[:gray[{policy.sentence}{also}]]"


def _raw(runner: Runner, view: View, whole: bool) -> None:
    """What the adapter would send; the files in it by kind and size, on the screen only."""
    try:
        value = body(runner.store, view)
    except TurntreeError as error:
        st.error(plain(f"{error.message} {error.hint}"), icon=":material/error:")
        return
    left_out = 0
    if not whole and isinstance(value, Mapping):
        value, left_out = shortened(value, _LAST)
    if left_out:
        st.caption(f"The last {_LAST} messages.")
    text = json.dumps(elided(value), ensure_ascii=False, indent=2)
    if len(text) > _MOST:
        st.caption("Its end; the beginning is too long for the screen.")
        text = text[-_MOST:]
    st.code(text, language="json", wrap_lines=True)


def html(seen: Preview) -> str:
    """All lines; every word escaped, long ones folded."""
    pieces = []
    if seen.system:
        line = Line(role="system", parts=(Text(text=seen.system),), tokens=seen.system_tokens)
        pieces.append(_line(line))
    if seen.earlier:
        pieces.append(f'<p class="gap">{words.counted(seen.earlier, "earlier message")}</p>')
    pieces += [_line(line) for line in seen.lines]
    return f'<div class="sent preview">{"".join(pieces)}</div>'


def _line(line: Line) -> str:
    text = "".join(part.text for part in line.parts if isinstance(part, Text))
    others = [part for part in line.parts if not isinstance(part, Text)]
    joined = (*others, Text(text=text)) if text else tuple(others)
    peek = " ".join(text.split())[:_PEEK]
    kind = "out" if line.why else "coming" if line.coming else "goes"
    size = f"\u2248 {line.tokens:,}" if line.tokens else ""
    if line.coming:
        size = f"{size} + your words" if size else "your words"
    folded = "" if line.why or (len(text) > _FOLDS and not line.coming) else " open"
    return (
        f'<details class="said {escape(line.role)} {kind}"{folded}>'
        f"<summary><b>{escape(line.role)}</b>"
        f'<span class="peek">{escape(peek)}</span>{_badges(line)}'
        f'<span class="size">{size}</span></summary>{sent_html.pieces(joined)}</details>'
    )


def _badges(line: Line) -> str:
    told = [line.why] if line.why else []
    if line.pinned:
        told.append("pinned")
    if line.recapped:
        told.append("recap")
    if line.form in _FORMS:
        told.append(_FORMS[line.form])
    return "".join(f'<span class="chip">{escape(one)}</span>' for one in told)
