"""The dialog "Export": what, as which kind of file, with what in it; a look at it; the file.

Kinds of files and their options are those that the formats declare: nothing here names one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from core import Node, Runner, TurntreeError, View, exporting, show
from core.errors import NotFound
from core.exporting import File, provenance
from core.formats import writers
from core.types import Comparison, Include, Scope, Taken, Writer
from core.wire.readable import size_words
from pages.components import (
    export_preview,
    export_subjects,
    pane,
    provenance_panel,
    sent,
    sidebar,
    state,
)
from pages.components.act import Dialog
from pages.components.export_subjects import PROVENANCE, Subject

_FORMAT, _INCLUDE, _ELSEWHERE = "export.format", "export.include", "export.elsewhere"
_BESIDE = "export.beside"
_MOST_COPIED = 200_000  # bytes
_READ = ("text/markdown", "text/plain", "text/html", "officedocument.word", "application/pdf")
_LATER = ("yaml", "python")
"""Kinds of files to be read are named first, programs last; of a session our own comes first."""
_CALLED = {
    "thinking": "Thinking",
    "tools": "Tool calls and results",
    "metadata": "Models, dates, tokens",
    "recaps": "Recaps",
    "pieces": "Which part",
}
_VALUES = {
    "folded": "Folded",
    "expanded": "Expanded",
    "none": "Left out",
    "all": "Both",
    "code": "Code blocks",
    "tables": "Tables",
}


# --- where it opens -------------------------------------------------------------------------


@pane.window("Export", width="large", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """Of a message, or of what the tab shows."""
    subjects = export_subjects.of_view(runner, view, dialog.node)
    key = f"{dialog.branch}.{dialog.node}.{dialog.text}"
    _body(runner, view, subjects, key, dialog.text)


def open_elsewhere(kind: Literal["session", "comparison"], of: str) -> None:
    """Have the sessions page or the compare page open it, until the person closes it."""
    state.keep(_ELSEWHERE, (kind, of))


def close_elsewhere() -> None:
    """The person has closed it."""
    state.keep(_ELSEWHERE, None)


def of_session(runner: Runner) -> None:
    """On the sessions page: the dialog of the session whose Export was pressed."""
    kind, of = state.kept(_ELSEWHERE) or ("", "")
    if kind != "session":
        return
    try:
        view = show(runner.store, of)
    except NotFound as error:
        close_elsewhere()
        state.flash_error(error)
        return
    _over_sessions(runner, view)


def of_comparison(runner: Runner, comparison: Comparison) -> None:
    """On the compare page: the dialog of the comparison that is shown."""
    if state.kept(_ELSEWHERE) == ("comparison", comparison.id):
        _over_comparison(runner, comparison)


@pane.window("Export", width="large", on_dismiss=close_elsewhere)
def _over_sessions(runner: Runner, view: View) -> None:
    st.caption(sidebar.label(view.session.title))
    _body(runner, view, export_subjects.of_view(runner, view), view.session.id, "tree")


@pane.window("Export", width="large", on_dismiss=close_elsewhere)
def _over_comparison(runner: Runner, comparison: Comparison) -> None:
    subjects = export_subjects.of_comparison(runner, comparison)
    _body(runner, None, subjects, comparison.id, "comparison")


# --- what it shows --------------------------------------------------------------------------


def _body(
    runner: Runner, view: View | None, subjects: Sequence[Subject], key: str, first: str
) -> None:
    with st.container(key="export_dialog", gap="small"):
        subject = export_subjects.chosen(subjects, _what(subjects, key, first))
        if subject.what == PROVENANCE and subject.node is not None and view is not None:
            st.caption(sidebar.label(subject.said))
            provenance_panel.draw(runner, view, subject.node)
            return
        _file(runner, subject, key)


def _what(subjects: Sequence[Subject], key: str, first: str) -> str:
    labels = {one.what: one.label for one in subjects}
    preferred = first if first in labels else subjects[0].what
    if len(labels) == 1:
        return preferred
    kept, widget = f"export.what.{key}", f"export.what.{key}.{'.'.join(labels)}"
    stored = state.kept(kept)
    stored = stored if stored in labels else preferred
    state.control(widget, stored)
    chosen = st.segmented_control(
        "What to export",
        list(labels),
        format_func=lambda one: labels.get(one, one),
        default=stored,
        required=True,
        label_visibility="collapsed",
        key=widget,
        on_change=lambda: state.keep(kept, state.value(widget)),
    )
    return str(chosen or stored)


def kinds_of(scope: Scope) -> dict[str, Writer]:
    """The kinds of files that a subject can be written in, by name, in the order of the list."""
    return {one.name: one for one in sorted(writers(scope), key=partial(_rank, scope))}


def _file(runner: Runner, subject: Subject, key: str) -> None:
    scope = subject.scope
    assert scope is not None
    take = _how_much(subject, key)
    kinds = kinds_of(scope)
    if not kinds:
        st.info("There is no kind of file for this.")
        return
    writer = kinds[_format(scope, kinds)]
    with st.container(
        key="export_options", horizontal=True, vertical_alignment="bottom", gap="medium"
    ):
        include = _include(writer, scope)
        rendered = export_preview.rendered(writer.media_type, f"export.how.{key}")
        told = _with_provenance(subject)
    try:
        with st.spinner("Writing the file…"):
            taken = take()
            file = exporting.write(taken, writer.name, include)
            handed = file if told is None else _beside(runner, file, told)
    except TurntreeError as error:
        st.info(sidebar.label(f"{error.message} {error.hint}"))
        return
    export_preview.draw(
        file,
        partial(_readable, taken, writer, include),
        key=f"export.{key}.{subject.what}",
        rendered=rendered,
    )
    label = writer.label if told is None else f"{writer.label} with its provenance"
    _foot(handed, label, copied=file)


def _how_much(subject: Subject, key: str) -> Callable[[], Taken]:
    """All of a branch or the path to a message, as the person wants."""
    st.caption(sidebar.label(subject.said))
    assert subject.take is not None
    if subject.whole is None:
        return subject.take
    only = st.toggle("Only up to this message", value=True, key=f"export.upto.{key}")
    return subject.take if only else subject.whole


def _rank(scope: Scope, writer: Writer) -> tuple[int, str]:
    of = writer.media_type
    if scope == "tree":
        return (of != "application/zip", writer.label.casefold())
    first = next((n for n, one in enumerate(_READ) if one in of), len(_READ))
    return (first + any(one in of for one in _LATER), writer.label.casefold())


def _format(scope: Scope, kinds: dict[str, Writer]) -> str:
    """The kind of file: the last one chosen for this scope, else the first."""
    kept, widget = f"{_FORMAT}.{scope}", f"{_FORMAT}.{scope}"
    stored = state.kept(kept)
    stored = stored if stored in kinds else next(iter(kinds))
    state.control(widget, stored)
    chosen = st.pills(
        "Kind of file",
        list(kinds),
        format_func=lambda one: kinds[one].label if one in kinds else one,
        default=stored,
        required=True,
        key=widget,
        wrap=True,
        on_change=lambda: state.keep(kept, state.value(widget)),
    )
    return str(chosen) if chosen in kinds else stored


def _with_provenance(subject: Subject) -> Node | None:
    """The answer whose provenance is wanted beside its file."""
    if subject.what != "answer" or subject.node is None:
        return None
    state.control(_BESIDE, bool(state.kept(_BESIDE)))
    wanted = st.toggle(
        "Provenance beside it",
        value=bool(state.kept(_BESIDE)),
        key=_BESIDE,
        help="A zip: this file, and how the answer came about as JSON and as a page.",
        on_change=lambda: state.keep(_BESIDE, state.value(_BESIDE)),
    )
    return subject.node if wanted else None


def _beside(runner: Runner, file: File, node: Node) -> File:
    return provenance.beside(runner.store, file, node.session_id, node.id)


# --- options --------------------------------------------------------------------------------


def _include(writer: Writer, scope: Scope) -> Include:
    """What the person wants in the file, of that which this kind of file can leave out."""
    kept: Include = state.kept(_INCLUDE) or Include()
    types = get_type_hints(Include)
    names = [name for name in types if name in writer.options]
    if scope == "answer":  # exactly its words: there is nothing else that could be left out
        names = [name for name in names if name == "pieces"]
    # What is not shown is as ever, whatever was chosen for another kind of file.
    return Include(**{name: _option(name, types[name], kept) for name in names})


def _option(name: str, of: Any, include: Include) -> Any:
    widget, stored = f"{_INCLUDE}.{name}", getattr(include, name)
    label = _CALLED.get(name, name.replace("_", " ").capitalize())
    state.control(widget, stored)

    def keep() -> None:
        now: Include = state.kept(_INCLUDE) or Include()
        state.keep(_INCLUDE, replace(now, **{name: state.value(widget)}))

    if get_origin(of) is not Literal:
        return st.toggle(label, value=stored, key=widget, on_change=keep)
    return st.segmented_control(
        label,
        list(get_args(of)),
        format_func=lambda one: _VALUES.get(one, str(one).capitalize()),
        default=stored,
        required=True,
        key=widget,
        on_change=keep,
    )


# --- the file -------------------------------------------------------------------------------


def _readable(taken: Taken, writer: Writer, include: Include) -> File | None:
    """The same as a page or as Markdown, for a kind of file that a browser cannot show."""
    others = [one for one in writers(exporting.scope_of(taken)) if one.name != writer.name]
    for wanted in ("text/html", "text/markdown"):
        for one in others:
            if one.media_type == wanted:
                return exporting.write(taken, one.name, include)
    return None


def _foot(file: File, label: str, *, copied: File) -> None:
    """Its name, kind and size, copy, and download: the very bytes that the preview is of, alone
    or with what goes beside them."""
    with st.container(key="export_foot", horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            "Download",
            data=export_preview.handed(file.content),
            file_name=file.name,
            mime=file.media_type,
            icon=":material/download:",
            type="primary",
            on_click="ignore",
            key="export.download",
        )
        textual = export_preview.kind(copied.media_type) in ("markdown", "page", "table", "text")
        if textual and len(copied.content) <= _MOST_COPIED:
            sent.copy_text("export.copy", "Copy", copied.content.decode(errors="replace"))
        told = f"{file.name} · {label} · {size_words(len(file.content))}"
        st.caption(sidebar.label(told))
