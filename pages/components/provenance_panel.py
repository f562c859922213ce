"""How an answer came about, to be read and taken away; and whether a re-run still gives it."""

import streamlit as st

from core import Node, Runner, View
from core.diff import of_old
from core.exporting import File, provenance
from core.exporting.provenance import Drift
from core.exporting.provenance_page import Kind
from core.wire.readable import size_words
from pages.components import diff_view, export_preview, side_run, sidebar, words
from pages.components.diff_view import Side

_KINDS: tuple[tuple[Kind, str, str], ...] = (
    ("html", "Download page", "A page that stands alone and can be printed"),
    ("markdown", "Markdown", "The same as Markdown"),
    ("json", "JSON", "The manifest, with everything that is known"),
)
_FOUND = {
    "same": ("It gave the same, word for word.", ":material/verified:"),
    "alike": ("It gave nearly the same words.", ":material/approval:"),
    "different": ("It gave other words.", ":material/difference:"),
}
_EARLIER = 5  # repetitions that are listed


def draw(runner: Runner, view: View, node: Node) -> None:
    """The readable page, its files, and the re-run."""
    manifest = provenance.manifest(runner.store, view.session.id, node.id)
    page = provenance.as_file(manifest, "html")
    export_preview.draw(page, lambda: None, key=f"provenance.{node.id}")
    with st.container(key="export_foot", horizontal=True, vertical_alignment="center", gap="small"):
        for kind, label, help_ in _KINDS:
            _download(label, provenance.as_file(manifest, kind), help_, first=kind == "html")
        st.caption(f"{sidebar.label(page.name)} · {size_words(len(page.content))}")
    with st.container(key="rerun", gap="small"):
        _again(runner, view, node)


def _download(label: str, file: File, help_: str, *, first: bool) -> None:
    st.download_button(
        label,
        data=export_preview.handed(file.content),
        file_name=file.name,
        mime=file.media_type,
        icon=":material/download:",
        type="primary" if first else "secondary",
        help=help_,
        on_click="ignore",
        key=f"provenance.{file.media_type}",
    )


# --- the re-run -----------------------------------------------------------------------------


def _again(runner: Runner, view: View, node: Node) -> None:
    """Ask the same once more, and tell how far what comes is from what is kept."""
    session_id, store = view.session.id, runner.store
    st.markdown("**Does a re-run still give it?**")
    if reason := provenance.why_not(store, session_id, node.id):
        st.caption(reason)
        return
    known = provenance.reruns(store, session_id, node.id)
    st.caption(
        "The same request goes to the same model once more, beside the conversation:"
        " the tree stays as it is. What comes is kept, and noted in the manifest."
    )

    def ask() -> None:
        provenance.reproduce(runner, session_id, node.id)

    latest = known[0] if known else None
    running = latest is not None and latest.state == "running"
    if st.button(
        "Re-run" if latest is None else "Re-run again",
        icon=":material/replay:",
        key="provenance.rerun",
        disabled=running,
    ):
        side_run.try_again(ask)
    if latest is None:
        return
    if latest.state == "done":
        _result(latest)
    else:
        side_run.draw(runner, latest.run.id, ask, busy="Asking the same again…", shows=False)
    _earlier(known[1 : 1 + _EARLIER])


def _result(found: Drift) -> None:
    said, icon = _FOUND[found.outcome]
    then, again = found.models
    alike = "" if found.likeness is None else f"{words.percent(found.likeness)} alike"
    facts = [
        words.moment(found.run.started_at),
        alike,
        f"answered by {again}" if then == again else f"answered by {again} in place of {then}",
        f"{words.number(found.before.usage.output_tokens)} tokens then,"
        f" {words.number(found.run.usage.output_tokens)} now",
    ]
    show = st.success if found.outcome == "same" else st.warning
    show(said, icon=icon)
    st.caption(sidebar.label(" · ".join(filter(None, facts))))
    if found.outcome != "same":
        diff_view.draw(
            f"provenance.{found.run.id}",
            Side(label="as it was", text=_then(found)),
            Side(label="the re-run", text=found.text),
        )


def _then(found: Drift) -> str:
    """The words that the new ones were held against: of a continued answer, its own part."""
    hunks = found.diff.hunks if found.diff else ()
    return of_old(segment for hunk in hunks for segment in hunk.segments)


def _earlier(known: list[Drift]) -> None:
    lines = [
        f"{words.moment(one.run.started_at)}: {_FOUND[one.outcome][0]}"
        for one in known
        if one.state == "done" and one.outcome
    ]
    if lines:
        st.caption("Before: " + sidebar.label(" ".join(lines)))
