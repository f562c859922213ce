"""The tab Backups: copies of everything, by hand or by the clock; look inside, restore."""

import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from core import Runner, TurntreeError, backups
from core.backups import MOST_KEPT, Backup, Inside, Plan, Why
from core.store import Store
from pages import backend
from pages.components import import_report, pane, sidebar, state, words
from pages.components.frame import folding
from pages.components.state import Place

_LOOK, _UPLOADS = "backups.look", "backups.uploads"
_FIRST = 10
_MOST_DOWNLOAD = 2**30  # bytes: a download is held in memory
_WHYS: dict[Why, str] = {
    "manual": "made by you",
    "scheduled": "automatic",
    "before-restore": "made before a restore",
}
_HOURS = {
    0: "Never",
    1: "Every hour",
    6: "Every 6 hours",
    24: "Every day",
    168: "Every week",
}


def draw(runner: Runner) -> None:
    """Make one, choose when they are made, and all that there are."""
    import_report.dress()
    store = runner.store
    st.markdown(
        "A backup is a copy of everything: sessions with all their branches, the bin, files,"
        " the library, runs and settings. Keys are not in it. You can go on working while it is"
        " made, and each one is checked before it is listed."
    )
    _now(store)
    _schedule(store)
    _listing(store)
    _from_file()
    if chosen := state.kept(_LOOK):
        _inside(Path(chosen))


# --- making them ---------------------------------------------------------------------------------


def _now(store: Store) -> None:
    if st.button("Back up now", icon=":material/backup:", type="primary", key="backups.now"):
        try:
            with st.spinner("Copying and checking …"):
                made = backups.make(store)
        except TurntreeError as error:
            state.flash_error(error)
        else:
            state.flash(f"Backed up: {size(made.size)}, checked and whole.")
        st.rerun()


def _schedule(store: Store) -> None:
    plan = backups.plan(store)
    with st.container(horizontal=True, vertical_alignment="bottom", key="backups_plan"):
        key = "backups.hours"
        state.control(key, plan.hours)
        st.selectbox(
            "Back up automatically",
            sorted({*_HOURS, plan.hours}),
            format_func=lambda hours: _HOURS.get(hours, f"Every {hours} hours"),
            key=key,
            help="While Turntree runs. The first one is made within a minute.",
            on_change=lambda: _choose(store, hours=state.value(key)),
        )
        keep = "backups.keep"
        state.control(keep, plan.keep)
        st.number_input(
            "Keep the latest",
            min_value=1,
            max_value=MOST_KEPT,
            value=plan.keep,
            key=keep,
            disabled=not plan.hours,
            help="Older automatic ones are deleted. Those you make yourself always stay.",
            on_change=lambda: _choose(store, keep=state.value(keep)),
        )
        _folder(store, plan)
    if trouble := backend.keeping().trouble:
        st.warning(
            f"The latest automatic backup could not be made. {sidebar.label(trouble)}",
            icon=":material/warning:",
        )


def _folder(store: Store, plan: Plan) -> None:
    key = "backups.folder"
    state.control(key, plan.folder)
    st.text_input(
        "Folder",
        value=plan.folder,
        key=key,
        placeholder=str(store.path.parent / "backups"),
        help="Where they are kept; another disk is safer. Empty: beside the database.",
        on_change=lambda: _choose(store, folder=(state.value(key) or "").strip()),
    )


def _choose(store: Store, **changed: Any) -> None:
    try:
        backups.choose(store, replace(backups.plan(store), **changed))
    except TurntreeError as error:
        state.flash_error(error)


# --- those that there are ------------------------------------------------------------------------


def _listing(store: Store) -> None:
    found = backups.made(store)
    st.markdown("#### Your backups", anchors=False)
    if not found:
        st.caption("There is none yet.")
        return
    total = size(sum(one.size for one in found))
    st.caption(
        f"{words.counted(len(found), 'backup')}, {total} in"
        f" {sidebar.label(str(backups.folder_of(store)))}"
    )
    most = state.shown("backups", _FIRST)
    for one in found[:most]:
        _row(store, one)
    if len(found) > most:
        st.button(
            f"Show more ({len(found) - most})",
            key="backups.more",
            on_click=state.show_more,
            args=["backups", most + _FIRST],
        )


def _row(store: Store, one: Backup) -> None:
    key = f"backup_row.{one.name}"
    with st.container(horizontal=True, vertical_alignment="center", border=True, key=key):
        st.markdown(
            f"**{words.moment(one.at)[:16]}**  \n"
            f":small[{_WHYS[one.why]} · {size(one.size)} · checked when it was made]",
            width="stretch",
        )
        st.button(
            "Look inside",
            icon=":material/visibility:",
            key=f"{key}.look",
            help="What is in it; from there it can be restored",
            on_click=state.keep,
            args=[_LOOK, str(one.path)],
        )
        if one.size <= _MOST_DOWNLOAD:
            st.download_button(
                "Download",
                data=one.path.read_bytes,
                file_name=one.name,
                mime="application/vnd.sqlite3",
                icon=":material/download:",
                key=f"{key}.download",
                type="tertiary",
                on_click="ignore",
            )
        with st.popover("Delete", icon=":material/delete:", type="tertiary"):
            st.markdown("This backup will be gone for good. Your sessions stay as they are.")
            st.button(
                "Delete this backup",
                key=f"{key}.delete",
                type="primary",
                on_click=_delete,
                args=[store, one.name],
            )


def _delete(store: Store, name: str) -> None:
    try:
        backups.remove(store, name)
    except TurntreeError as error:
        state.flash_error(error)
    else:
        state.flash("The backup is deleted.")


# --- one from elsewhere --------------------------------------------------------------------------


def _from_file() -> None:
    label = "Restore from a file"
    with folding("backups.file", label, icon=":material/upload_file:") as opened:
        if not opened:
            return
        key = f"{_UPLOADS}.{state.kept(_UPLOADS, 0)}"
        st.file_uploader(
            "A backup that you downloaded or kept elsewhere (.db)",
            key=key,
            on_change=lambda: _take_in(key),
        )
        st.caption("You see what is inside before anything is restored.")


def _take_in(key: str) -> None:
    """Keep the upload aside, and look into it; the uploader lets go of the bytes it holds."""
    file = state.value(key)
    if file is None:
        return
    state.keep(_UPLOADS, state.kept(_UPLOADS, 0) + 1)
    try:
        folder = Path(tempfile.mkdtemp(prefix="turntree-restore-"))
        path = folder / (Path(file.name).name or "backup.db")
        with path.open("wb") as kept:
            shutil.copyfileobj(file, kept, 2**20)
    except OSError as error:
        why = error.strerror or str(error)
        state.flash(f"The file could not be put aside: {why}.", hint="Free some space.", bad=True)
    else:
        state.keep(_LOOK, str(path))


def _close() -> None:
    """The person has closed the dialog; an upload is not needed any longer."""
    chosen = state.kept(_LOOK)
    state.keep(_LOOK, None)
    if chosen and Path(chosen).parent.name.startswith("turntree-restore-"):
        shutil.rmtree(Path(chosen).parent, ignore_errors=True)


# --- looking inside, and restoring ---------------------------------------------------------------


@pane.window("What is in this backup", width="medium", on_dismiss=_close)
def _inside(path: Path) -> None:
    found = backups.look(path)
    st.caption(sidebar.label(path.name))
    if found.trouble:
        st.error(
            f"{sidebar.label(found.trouble)} {sidebar.label(found.hint)}".strip(),
            icon=":material/error:",
        )
        return
    _facts(found)
    st.warning(
        "Restoring replaces **everything that is here now** with what is in this backup. What is"
        " here now is backed up first, so that you can come back to it. Answers that are on their"
        " way are stopped.",
        icon=":material/warning:",
    )
    if st.button(
        "Replace everything with this backup",
        type="primary",
        icon=":material/settings_backup_restore:",
        key="backups.restore",
    ):
        _restore(path)


def _facts(found: Inside) -> None:
    import_report.facts(
        {
            "Sessions": found.sessions,
            "In the bin": found.binned or None,
            "Messages": found.messages,
            "Runs": found.runs,
        }
    )
    told = [size(found.size)]
    if found.newest:
        told.append(f"last changed {words.moment(found.newest)[:16]}")
    if found.older:
        told.append("made by an earlier version, will be brought up to date")
    st.caption(" · ".join(told))
    if found.titles:
        st.markdown("**Its latest sessions**")
        import_report.lines(found.titles)


def _restore(path: Path) -> None:
    try:
        with st.spinner("Backing up what is here, then restoring …"):
            before = backend.restore(path)
            backend.intake().dismiss()  # what it knew of the sessions is no longer so
    except TurntreeError as error:
        state.flash_error(error)
    else:
        state.flash(
            "The backup is restored.",
            hint=f"What was here before is kept as the backup of {words.moment(before.at)[:16]}.",
        )
        state.go(Place())
    with suppress(OSError):
        _close()
    st.rerun()


def size(count: int) -> str:
    """Bytes as a person reads them: 1536 as "1.5 kB"."""
    number = float(count)
    for unit in ("B", "kB", "MB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"
