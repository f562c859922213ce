"""The dialog "Compare with another message": two nodes of a session side by side."""

import streamlit as st

from core import Runner, TurntreeError, View
from pages.components import acts_lanes, pane, state
from pages.components.act import Dialog

_LISTED = 500
_AUTHORS = {"user": "you", "assistant": "model"}


@pane.window("Compare with another message", width="medium", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """The message that was pointed at, and a choice of the other."""
    node = runner.store.nodes.get(str(dialog.node))
    others = _others(runner, view, node.id)
    with st.container(key="beside_dialog", gap="small"):
        st.caption("Each with all that led to it; what they have in common is shown once.")
        with st.container(border=True):
            st.text(" ".join(node.text.split())[:300] or "(no words)")
        if not others:
            st.info("There is no other message in this session yet.")
            return
        chosen = st.selectbox(
            "The other message",
            list(others),
            format_func=lambda one: others.get(one, one),
            index=None,
            placeholder="Type to search, or choose",
            key=f"beside.{node.id}",
            help="Answers first, the latest at the top.",
        )
        if st.button(
            "Put side by side",
            type="primary",
            icon=":material/compare_arrows:",
            key="beside.put",
            disabled=chosen is None,
        ):
            try:
                made = acts_lanes.compare_nodes(runner, view.session.id, [node.id, str(chosen)])
            except TurntreeError as error:
                st.error(f"{error.message} {error.hint}".strip())
                return
            state.compare(view.session.id, made.id)


def _others(runner: Runner, view: View, node_id: str) -> dict[str, str]:
    """The session's other messages by id: answers before questions, each the latest first."""
    hidden = runner.store.branches.hidden_roots(view.session.id)
    rows = []
    for row in runner.store.nodes.outline(view.session.id):  # parents before children
        if row["id"] in hidden or row["parent_id"] in hidden:
            hidden.add(str(row["id"]))
        elif row["role"] in _AUTHORS and row["id"] != node_id:
            rows.append(row)
    rows.reverse()
    rows.sort(key=lambda row: str(row["role"]))
    ends = {branch.tip_id: branch.name for branch in runner.store.branches.of(view.session.id)}
    found = {}
    for row in rows[:_LISTED]:
        who = row["model"] or _AUTHORS[str(row["role"])]
        end = f" · end of {ends[row['id']]}" if row["id"] in ends else ""
        words = " ".join(str(row["snippet"]).split()) or "(no words)"
        found[str(row["id"])] = f"{words} · {who}{end}"
    return found
