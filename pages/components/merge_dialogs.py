"""The dialog that brings an answer into another branch, from the menu of a message."""

import streamlit as st

from core import Runner, View
from pages.components import bring_panel, pane, state
from pages.components.act import Dialog
from pages.components.bring_panel import Bringing
from pages.components.state import Place


@pane.window("Bring into another branch", width="large", on_dismiss=state.close_dialog)
def bring_in(runner: Runner, view: View, dialog: Dialog) -> None:
    """Quote or paste the answer into the composer of another branch."""
    targets = bring_panel.others(runner, view.session.id, view.branch.id, {})
    bringing = Bringing(
        node=runner.store.nodes.get(str(dialog.node)),
        branch_id=view.branch.id,
        name=view.branch.name,
        targets=targets,
    )

    def go(target: str) -> None:
        state.close_dialog()
        state.go(Place(session=view.session.id, branch=target))
        state.flash("The words wait in the composer.")
        st.rerun()

    bring_panel.form(runner, bringing, go)
