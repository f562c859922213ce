"""The first screen, and the one offer the composer makes: "Fork:" as a real fork."""

from collections.abc import Callable

import streamlit as st

from core import Runner, View
from core.examples import examples
from pages.components.acts import Act

_ICONS = {"map": ":material/map:", "edit": ":material/edit_note:", "branch": ":material/alt_route:"}


def draw(on_example: Callable[[str], None]) -> None:
    """What this is in one sentence, and three conversations to look into."""
    with st.container(key="start"):
        st.title("Start broad. Narrow turn by turn.", anchor=False)
        st.markdown(
            "Write a prompt below, then refine the answer. Fork from any earlier turn: "
            "nothing you had is gone."
        )
        st.caption("Or open a worked example and change it as you like:")
        columns = st.columns(3)
        for column, (name, example) in zip(columns, examples().items(), strict=True):
            with column, st.container(border=True, key=f"card.{name}", height="stretch"):
                st.markdown(f"{_ICONS[example['icon']]} **{example['title']}**")
                st.caption(example["blurb"])
                st.button(
                    "Open",
                    key=f"example.{name}",
                    on_click=on_example,
                    args=[name],
                    help=f"Open the example: {example['title']}",
                    width="stretch",
                )


def offers(runner: Runner, view: View, handle: Callable[[Act], None]) -> None:
    """A message that starts with "Fork:" waits here for one click; nothing is forced."""
    for waiting in runner.store.branches.queued(view.branch.id):
        if waiting["state"] != "offer":
            continue
        with st.container(border=True, key=f"offer.{waiting['id']}"):
            st.markdown("**Fork here?** Your message starts with “Fork:”.")
            st.text(waiting["text"])
            if waiting["files"]:
                st.caption("With " + ", ".join(file.name for file in waiting["files"]))
            with st.container(horizontal=True):
                for label, action in (
                    ("Fork from the previous turn", "fork_offered"),
                    ("Send as written", "send_queued"),
                    ("Take back", "unqueue"),
                ):
                    st.button(
                        label,
                        key=f"{action}.{waiting['id']}",
                        type="primary" if action == "fork_offered" else "secondary",
                        on_click=handle,
                        args=[{"action": action, "id": waiting["id"]}],
                    )
