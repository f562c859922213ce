"""The first screen."""

from collections.abc import Callable

import streamlit as st

from core.examples import examples
from pages.components import library_use

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
        with st.container(horizontal=True, vertical_alignment="center"):
            library_use.button("Start from the library", type="tertiary")
            st.page_link(
                "sessions.py",
                label="Import your conversations",
                icon=":material/upload_file:",
                query_params={"tab": "Import"},
                help="From ChatGPT, Claude and others, with all their branches",
            )
