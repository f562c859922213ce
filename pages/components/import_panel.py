"""The tab Import: drop or paste, look at what is in it, choose, import, read what became of it."""

from typing import Any

import streamlit as st

from core import Runner, TurntreeError
from core.formats import readers
from core.intake import Arrival, Intake
from pages import backend
from pages.components import import_choice, import_report, pane, sidebar, state, words
from pages.components.frame import folding

_LOOK = 0.5  # seconds between two looks while a thread works
_UPLOADS = "import.uploads"
_WHERE = (
    ("ChatGPT", "Settings → Data controls → Export data. A link to a zip comes by mail."),
    ("Claude", "Settings → Privacy → Export data. A link to a zip comes by mail."),
    ("Open WebUI", "Settings → Data Controls → Export chats; or a chat's menu → Download → JSON."),
    ("LibreChat", "The export button of a conversation, as JSON. Tick all branches."),
    ("SillyTavern", "The chat's .jsonl file, in the folder chats of your user's data."),
    ("Google AI Studio", "Google Drive, in the folder Google AI Studio: download the prompt."),
    ("llm", "The file that the command `llm logs path` names."),
    ("Turntree", "Any session's Export → Whole session. Nothing of it is lost on the way."),
)


def draw(runner: Runner) -> None:
    """Whatever stands at hand, and the imports that were."""
    import_report.dress()
    intake = backend.intake()
    one = intake.current
    with st.container(key="import"):
        if one is None:
            _begin(intake)
        elif one.state == "refused":
            _refused(intake, one)
        elif one.busy:
            _following(intake, one)
        elif one.state == "looked":
            import_choice.draw(runner, intake, one)
        else:
            _done(runner, intake, one)
    if one is None or one.state in ("refused", "done"):
        import_report.past(runner.store)


# --- nothing at hand yet -------------------------------------------------------------------------


def _begin(intake: Intake) -> None:
    st.markdown(
        "Bring your conversations from other apps, with all their branches. You see what is in"
        " a file before anything is imported; a file that you import again adds only what is new."
    )
    key = f"{_UPLOADS}.{state.kept(_UPLOADS, 0)}"
    st.file_uploader(
        "Drop an export here: a file, a zip as you got it, or several files",
        accept_multiple_files=True,
        key=key,
        on_change=lambda: _take_in(intake, key),
        help="What kind of file it is, is seen from what is in it, not from its name.",
    )
    kinds = ", ".join(one.label for one in readers())
    st.caption(
        f"Can be imported: {sidebar.label(kinds)}. Up to {_most()} here; a larger file with"
        " `python -m core.formats import FILE` from the folder of Turntree."
    )
    with folding("import.paste", "Paste text instead", icon=":material/content_paste:") as opened:
        if opened:
            _paste(intake)
    with folding("import.where", "Where do I get my export?", icon=":material/help:") as opened:
        if opened:
            for name, where in _WHERE:
                st.markdown(f"**{name}**  \n{where}")


def _most() -> str:
    megabytes: Any = st.get_option("server.maxUploadSize")
    return f"{megabytes / 1024:g} GB" if megabytes >= 1024 else f"{megabytes} MB"


def _take_in(intake: Intake, key: str) -> None:
    """Keep the upload aside; the uploader begins anew, and lets go of the bytes it holds."""
    files = state.value(key)
    if not files:
        return
    state.keep(_UPLOADS, state.kept(_UPLOADS, 0) + 1)
    try:
        intake.drop([(file.name, file) for file in files])
    except TurntreeError as error:
        state.flash_error(error)


def _paste(intake: Intake) -> None:
    key = "import.text"
    st.text_area(
        "A conversation as text, or JSON",
        key=key,
        height=200,
        placeholder="You: How do I …\n\nModel: First …",
    )

    def look() -> None:
        text = state.value(key)
        if not text.strip():
            state.flash("There is no text yet.", hint="Paste some, then look at it.", bad=True)
            return
        try:
            intake.paste(text)
        except TurntreeError as error:
            state.flash_error(error)

    st.button("Look at it", icon=":material/visibility:", on_click=look, key="import.look")


def _refused(intake: Intake, one: Arrival) -> None:
    error = one.trouble
    if error is not None:
        st.error(
            f"{sidebar.label(error.message)} {sidebar.label(error.hint)}".strip(),
            icon=":material/error:",
        )
    _begin(intake)


# --- a thread works ------------------------------------------------------------------------------


@pane.fragment(run_every=_LOOK)
def _following(intake: Intake, one: Arrival) -> None:
    """How far it is. The thread goes on whatever becomes of this tab."""
    if intake.current is not one or not one.busy:
        st.rerun()
        return  # of use to tests alone: in the app nothing comes after a rerun
    sofar = f"{words.counted(one.conversations, 'conversation')}, "
    sofar += words.counted(one.messages, "message")
    if one.state == "looking":
        st.markdown(f"Reading **{sidebar.label(one.name)}** …")
        st.caption(f"{sofar} so far. Nothing is imported yet.")
    else:
        st.markdown(f"Importing from **{sidebar.label(one.name)}** …")
        share = one.conversations / one.wanted if one.wanted else 0.0
        st.progress(min(share, 1.0), text=f"{sofar} of {one.wanted:,}".replace(", ", " · ", 1))
        st.caption("You may close this tab or go on working: the import goes on.")
    stopping = one.stop.is_set()
    st.button(
        "Cancelling …" if stopping else "Cancel",
        icon=":material/close:",
        key="import.cancel",
        disabled=stopping,
        help="What is in stays in" if one.state == "importing" else "Forget the file",
        on_click=intake.cancel,
    )


def _done(runner: Runner, intake: Intake, one: Arrival) -> None:
    st.markdown(f"#### {sidebar.label(one.name)}", anchors=False)
    if one.report is not None:
        import_report.draw(runner.store, one.report, scope="import")
    st.button(
        "Import something else",
        icon=":material/upload_file:",
        key="import.again",
        on_click=intake.dismiss,
    )
