"""Which dialog is open over the page; one at a time."""

from collections.abc import Callable

from core import Runner, TurntreeError, View
from pages.components import (
    beside_dialog,
    consolidate_dialog,
    export_dialog,
    fan_dialog,
    history_dialog,
    matrix_dialog,
    merge_dialogs,
    preview,
    recap_dialog,
    replay_dialogs,
    state,
    steering_dialogs,
)
from pages.components.act import Dialog

DIALOGS: dict[str, Callable[[Runner, View, Dialog], None]] = {
    "beside": beside_dialog.draw,
    "bring_in": merge_dialogs.bring_in,
    "consolidate": consolidate_dialog.draw,
    "drafts": history_dialog.draw,
    "export": export_dialog.draw,
    "fan": fan_dialog.draw,
    "matrix": matrix_dialog.draw,
    "pick": replay_dialogs.pick,
    "preview": preview.draw,
    "rebase": replay_dialogs.change,
    "recap": recap_dialog.draw,
    "recap_edit": recap_dialog.edit,
    "recaps": recap_dialog.versions,
    "reading": consolidate_dialog.reading,
    "replay": replay_dialogs.draw,
    "rewrite": steering_dialogs.rewrite,
    "decisions": steering_dialogs.decisions,
}


def draw(runner: Runner, view: View | None) -> None:
    """Show the dialog that the person has opened on this branch, and not closed since."""
    shown = state.dialog()
    if shown is None:
        return
    if view is None or view.branch.id != shown.branch or shown.kind not in DIALOGS:
        state.close_dialog()
        return
    try:
        DIALOGS[shown.kind](runner, view, shown)
    except TurntreeError as error:  # what it shows is gone
        state.close_dialog()
        state.flash_error(error)
