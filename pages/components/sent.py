"""What was sent: a dialog with one call as it went out, its answer, its numbers, and its code.

It stays open through reruns of the page, so that an answer which ends meanwhile does not close
it; closing it is the person's.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from core import Runner, TurntreeError
from core.exchange import (
    FILES,
    Exchange,
    Form,
    differences,
    exchange,
    settings_before,
    settings_now,
    written,
)
from core.providers import adapters
from core.types import Json
from core.wire.readable import elided, readable, shortened, size_words
from pages import backend
from pages.components import pane, sent_html, state, words
from pages.components.entry import model_label
from pages.components.state import Place

_HERE = Path(__file__)
_CSS = _HERE.with_suffix(".css").read_text("utf-8")
_copy = st.components.v2.component(
    "turntree_copy", js=_HERE.with_suffix(".js").read_text("utf-8"), css=_CSS
)
_LAST = 20  # messages drawn at first
_MOST = 120_000  # characters of code or JSON on the screen


def draw(runner: Runner) -> None:
    """Show the dialog, if the person has asked for a call and not closed it since."""
    run_id = state.looked_into()
    if run_id is None:
        return
    try:
        seen = look(runner, run_id)
    except TurntreeError as error:
        state.look_away()
        st.toast(f"{error.message} {error.hint}".strip(), icon=":material/error:")
        return
    _dialog(runner, seen.run.id)


def look(runner: Runner, run_id: str) -> Exchange:
    """The call, with what has arrived of its answer by now."""
    live = runner.live(run_id)
    return exchange(runner.store, run_id, arrived=live.parts() if live else None)


@pane.window("What was sent", width="large", on_dismiss=state.look_away)
def _dialog(runner: Runner, run_id: str) -> None:
    st.html(f"<style>{_CSS}</style>")
    of = look(runner, run_id)
    with st.container(key="sent"):
        _head(of)
        names = ("Request", "Reply", "Numbers", "Get code")
        tabs = st.tabs(names, key=f"sent.tabs.{run_id}", on_change="rerun")
        for tab, fill in zip(tabs, (_request, _reply, _numbers, _code), strict=True):
            if tab.open:
                with tab:
                    fill(runner, of)


def _head(of: Exchange) -> None:
    run = of.run
    facts = [
        f"**{_plain(model_label(run))}**",
        run.purpose,
        words.moment(run.started_at),
        words.outcome(run.finish_reason if run.state == "ended" else run.state),
    ]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(" · ".join(facts), width="stretch")
        if st.button("Go to the message", icon=":material/arrow_outward:", key="sent.go"):
            state.look_away()
            state.open_place(_place(of))
            st.rerun()
    if run.failure:
        told = " ".join(filter(None, [run.failure.message, run.failure.hint]))
        st.error(_plain(told), icon=":material/error:")
        more = [
            f"{name}: {value}"
            for name, value in (
                ("Error", run.failure.kind),
                ("HTTP status", run.failure.status),
                ("Request id", run.failure.request_id),
            )
            if value
        ]
        st.caption(_plain(" · ".join(more)))


def _place(of: Exchange) -> Place:
    run = of.run
    node = run.node_id or run.context_tip_id
    return Place(session=run.session_id, branch=run.branch_id, node=node)


def _request(runner: Runner, of: Exchange) -> None:
    if of.body is None:
        st.info("Nothing was sent: no request could be built from this.", icon=":material/block:")
        _changed(runner, of)
        return
    if not of.left:
        st.info("This never left your machine. It is what would have been sent.")
    shown = readable(of.body)
    raw = _bar(of, "request", "the request")
    count = len(shown.messages)
    where = f" to `{of.address.replace('`', '')}`" if of.address else ""
    size = sum(message.size for message in shown.messages)
    st.caption(f"{words.counted(count, 'message')}, \u2248 {size_words(size)}{where}")
    last = _last(of, count)
    if raw:
        _raw(of, of.body, last)
    else:
        _changed(runner, of)
        st.html(sent_html.request(shown, last))


def _last(of: Exchange, count: int) -> int:
    """How many messages are drawn; all of a long conversation only when asked for."""
    key = f"sent.{of.run.id}"
    last = state.shown(key, _LAST)
    if count > last and st.button(
        f"Show all {count:,} messages", icon=":material/unfold_more:", key=f"{key}.all"
    ):
        state.show_more(key, count)
        return count
    return last


def _changed(runner: Runner, of: Exchange) -> None:
    for title, config, backward in (
        ("Changed since the call before:", settings_before(runner.store, of), True),
        ("Changed in the session's settings since:", settings_now(runner.store, of), False),
    ):
        pair = (config, of.run.config) if backward else (of.run.config, config)
        if config is not None and (found := differences(*pair)):
            st.html(sent_html.changes(title, found))


def _reply(runner: Runner, of: Exchange) -> None:
    if of.run.state != "ended":
        st.caption("Still being written: this is as far as it has come.")
        st.button("Look again", icon=":material/refresh:", key="sent.again")
    elif not of.parts and of.items is None:
        st.info("No word of an answer came.")
        return
    raw = _bar(of, "reply", "the reply")
    if of.items is not None:
        st.caption("The provider's own items, put together from its stream.")
    elif of.run.state == "ended":
        st.caption(
            "The words as they arrived, put together. The provider's own items are kept only"
            " of whole answers."
        )
    if raw:
        _raw(of, of.items) if of.items is not None else _code_block(written(of, "reply"), "json")
    else:
        st.html(sent_html.reply(of.parts, of.began))


def _numbers(runner: Runner, of: Exchange) -> None:
    st.html(sent_html.numbers(of))
    st.caption("Costs are estimates from public prices. Unknown is not zero.")


def _code(runner: Runner, of: Exchange) -> None:
    if of.body is None:
        st.info("There is no request to write as code.")
        return
    found = adapters().get(of.run.config.provider)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        chosen = st.segmented_control(
            "Language",
            ["Python", "curl"],
            default="Python",
            required=True,
            label_visibility="collapsed",
            key=f"sent.code.{of.run.id}",
        )
        form: Form = "curl" if chosen == "curl" else "python"
        _take_away(of, form, chosen or "Python")
    try:
        text = written(of, form)
    except TurntreeError as error:
        st.info(_plain(f"{error.message} {error.hint}"))
        return
    names = found.key_names if found else ()
    if names:
        st.caption(f"The key is read from `{names[0]}` in the environment; it is not in the code.")
    _code_block(text, "python" if form == "python" else "bash")


# --- what the tabs share -------------------------------------------------------------------


def _bar(of: Exchange, form: Form, what: str) -> bool:
    """Pretty or raw, copy, download. True for raw."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        chosen = st.segmented_control(
            f"How to show {what}",
            ["Pretty", "Raw"],
            default="Pretty",
            required=True,
            label_visibility="collapsed",
            key=f"sent.{form}.{of.run.id}",
        )
        _take_away(of, form, what)
    return chosen == "Raw"


def _take_away(of: Exchange, form: Form, what: str) -> None:
    """Copy and download: always all of it, exactly, whatever the screen leaves out."""
    name, media_type = FILES[form]
    _copy(
        key=f"sent.copy.{form}",
        data={
            "token": backend.TOKEN,
            "path": f"api/sent/{of.run.id}/{form}",
            "label": f"Copy {what}",
        },
        width="content",
        height="content",
    )
    stem, _, ending = name.rpartition(".")
    st.download_button(
        "Download",
        data=partial(written, of, form),
        file_name=f"{stem}-{of.run.id[-6:].lower()}.{ending}",
        mime=media_type,
        icon=":material/download:",
        on_click="ignore",
        help=f"Download {what}",
        key=f"sent.download.{form}",
    )


def copy_text(key: str, label: str, text: str, node: str | None = None) -> None:
    """A button that copies a text. That of a message is fetched only when it is pressed."""
    _copy(
        key=key,
        data={
            "token": backend.TOKEN,
            "label": label,
            "says": label,
            **({"path": f"api/nodes/{node}", "node": True} if node else {"text": text}),
        },
        width="content",
        height="content",
    )


def _raw(of: Exchange, value: Json, last: int | None = None) -> None:
    """JSON on the screen, with files by name and size unless the person wants them whole."""
    left_out = 0
    if last is not None and isinstance(value, Mapping):
        value, left_out = shortened(value, last)
    short = elided(value)
    if short != value and st.toggle(
        "Show encoded files and signatures in full", key=f"sent.whole.{of.run.id}"
    ):
        short = value
    if left_out:
        st.caption("Copy and Download have every message.")
    _code_block(_json(short), "json")


def _code_block(text: str, language: str) -> None:
    """Text as it is; of a very long one the beginning."""
    if len(text) > _MOST:
        whole = size_words(len(text.encode(errors="replace")))
        st.caption(f"The beginning of {whole}. Copy and Download have all of it.")
        text = text[:_MOST]
    st.code(text, language=language, wrap_lines=True)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _plain(text: str) -> str:
    """Words from elsewhere in Markdown, taken literally."""
    line = " ".join(text.split())
    return "".join(f"\\{char}" if char in "\\`*_[]()#$:<>~!|" else char for char in line)
