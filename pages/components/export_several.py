"""The dialog that takes away several sessions, or all of them, in one file."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core import Runner, TurntreeError
from core.exporting import file_name, whole
from core.formats import writer
from core.wire.readable import size_words
from pages.components import export_dialog, export_preview, pane, sidebar, state, words

_OPEN, _MADE = "export.several", "export.several.made"
_ALL, _SOME = "all", "some"
_OFFERED = 2_000  # to choose from, the latest first
_MOST_LEFT = 20  # sessions that are named
_OWN = "native"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A file that waits to be fetched: of which sessions, of which kind, and what is not in it."""

    ids: tuple[str, ...]
    kind: str
    content: bytes
    left: tuple[whole.Left, ...] = ()


def button(total: int) -> None:
    """What opens it, above a list of so many sessions."""
    if total:
        st.button(
            "Export several",
            icon=":material/download:",
            type="tertiary",
            key="export_several",
            help="All sessions, or some of them, in one file: to import again, or to read",
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


@pane.window("Export sessions", width="medium", on_dismiss=close)
def _dialog(runner: Runner) -> None:
    with st.container(key="export_several_dialog", gap="small"):
        chosen, kind = _chosen(runner), _kind()
        made: _Made | None = state.kept(_MADE)
        if made is not None and (made.ids, made.kind) != (tuple(chosen), kind):
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
            made = _make(runner, chosen, kind)
        if made is not None:
            _take(made)


def _kind() -> str:
    """The name of the format: our own, or one to be read elsewhere."""
    branch, tree = export_dialog.kinds_of("branch"), export_dialog.kinds_of("tree")
    kinds = {_OWN: writer(_OWN)} | branch | tree
    name = st.selectbox(
        "Kind of file",
        list(kinds),
        format_func=lambda one: (
            f"{kinds[one].label} (everything)" if one == _OWN else kinds[one].label
        ),
        key="export_several.kind",
    )
    found = kinds.get(str(name), kinds[_OWN])
    if found.name == _OWN:
        said = (
            "One file with everything: every branch, setting, recap and run, and what was"
            " attached. Keys are never in it. Import takes it back, here or elsewhere."
        )
    elif "tree" in found.scopes:
        said = "A zip with a file for each session, with all of its branches."
    else:
        said = "A zip with a file for each session, of the branch that is open in it."
    st.caption(said)
    return str(found.name)


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


def _make(runner: Runner, ids: Sequence[str], kind: str) -> _Made | None:
    """Write the file, telling how far it is; closing the dialog ends it."""
    bar = st.progress(0.0, "Writing the file…")
    stream = io.BytesIO()
    left: tuple[whole.Left, ...] = ()

    def tell(done: int) -> None:
        bar.progress(done / len(ids), f"{done:,} of {words.counted(len(ids), 'session')}")

    try:
        if kind == _OWN:
            whole.sessions(runner.store, ids, stream, progress=tell)
        else:
            left = whole.each(runner.store, ids, stream, kind, progress=tell)
    except TurntreeError as error:
        bar.empty()
        st.error(sidebar.label(f"{error.message} {error.hint}"), icon=":material/error:")
        return None
    bar.empty()
    made = _Made(ids=tuple(ids), kind=kind, content=stream.getvalue(), left=left)
    state.keep(_MADE, made)
    return made


def _take(made: _Made) -> None:
    count = words.counted(len(made.ids) - len(made.left), "session")
    if made.kind == _OWN:
        name = file_name(count, ending=writer(_OWN).ending)
    else:
        name = file_name(count, made.kind.replace("_", " "), ending="zip")
    if made.left:
        lines = [f"- {sidebar.label(one.title)}: {one.why}" for one in made.left[:_MOST_LEFT]]
        more = len(made.left) - len(lines)
        lines += [f"- and {more:,} more"] if more else []
        told = f"{words.counted(len(made.left), 'session')} left out:\n\n" + "\n".join(lines)
        st.warning(told, icon=":material/info:")
    with st.container(key="export_foot", horizontal=True, vertical_alignment="center", gap="small"):
        st.download_button(
            "Download",
            data=export_preview.handed(made.content),
            file_name=name,
            mime="application/zip",
            icon=":material/download:",
            type="primary",
            on_click="ignore",
            key="export_several.download",
        )
        st.caption(f"{name} · {size_words(len(made.content))}")
