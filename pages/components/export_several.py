"""The dialog that takes away several sessions, or all of them, in one file of our own."""

import io
from collections.abc import Sequence

import streamlit as st

from core import Runner, TurntreeError
from core.exporting import file_name, whole
from core.formats import writer
from core.wire.readable import size_words
from pages.components import export_preview, sidebar, state, words

_OPEN, _MADE = "export.several", "export.several.made"
_ALL, _SOME = "all", "some"
_OFFERED = 2_000  # to choose from, the latest first


def button(total: int) -> None:
    """What opens it, above a list of so many sessions."""
    if total:
        st.button(
            "Export several",
            icon=":material/download:",
            type="tertiary",
            key="export_several",
            help="All sessions, or some of them, in one file that can be imported again",
            on_click=state.keep,
            args=[_OPEN, True],
        )


def draw(runner: Runner) -> None:
    """The dialog, if it was opened and not closed since."""
    if state.kept(_OPEN):
        _dialog(runner)


def close() -> None:
    """The person has closed it; the file that was made is let go."""
    state.keep(_OPEN, None)
    state.keep(_MADE, None)


@st.dialog("Export sessions", width="medium", on_dismiss=close)
def _dialog(runner: Runner) -> None:
    with st.container(key="export_several_dialog", gap="small"):
        st.caption(
            "One file with everything: every branch, setting, recap and run, and what was"
            " attached. Keys are never in it. Import takes it back, here or elsewhere."
        )
        chosen = _chosen(runner)
        made = state.kept(_MADE)
        if made is not None and made[0] != tuple(chosen):
            made = None
        place = st.empty()
        if made is None and place.button(
            f"Make a file of {words.counted(len(chosen), 'session')}",
            type="primary",
            icon=":material/archive:",
            key="export_several.make",
            disabled=not chosen,
        ):
            place.empty()
            made = _make(runner, chosen)
        if made is not None:
            _take(made[1], len(chosen))


def _chosen(runner: Runner) -> list[str]:
    """The ids of the sessions that are wanted."""
    total = runner.store.sessions.count()
    which = st.segmented_control(
        "Which sessions",
        [_ALL, _SOME],
        format_func=lambda one: f"All {total:,}" if one == _ALL else "Choose",
        default=_ALL,
        required=True,
        label_visibility="collapsed",
        key="export_several.which",
    )
    if which != _SOME:
        return whole.every(runner.store)
    titles = {row["id"]: row["title"] for row in runner.store.sessions.recent(_OFFERED)}
    found = st.multiselect(
        "Sessions",
        list(titles),
        format_func=lambda one: titles.get(one, one),
        placeholder="Type to search, or choose",
        key="export_several.chosen",
    )
    if total > _OFFERED:
        st.caption(f"The latest {_OFFERED:,} are listed. The command line takes any of them.")
    return [one for one in found if one in titles]


def _make(runner: Runner, ids: Sequence[str]) -> tuple[tuple[str, ...], bytes] | None:
    """Write the file, telling how far it is; closing the dialog ends it."""
    bar = st.progress(0.0, "Writing the file…")
    stream = io.BytesIO()

    def tell(done: int) -> None:
        bar.progress(done / len(ids), f"{done:,} of {words.counted(len(ids), 'session')}")

    try:
        whole.sessions(runner.store, ids, stream, progress=tell)
    except TurntreeError as error:
        bar.empty()
        st.error(sidebar.label(f"{error.message} {error.hint}"), icon=":material/error:")
        return None
    bar.empty()
    made = (tuple(ids), stream.getvalue())
    state.keep(_MADE, made)
    return made


def _take(content: bytes, count: int) -> None:
    name = file_name(words.counted(count, "session"), ending=writer("native").ending)
    with st.container(key="export_foot", horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            "Download",
            data=export_preview.handed(content),
            file_name=name,
            mime="application/zip",
            icon=":material/download:",
            type="primary",
            on_click="ignore",
            key="export_several.download",
        )
        st.caption(f"{name} · {size_words(len(content))}")
