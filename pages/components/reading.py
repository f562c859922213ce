"""An answer to be read and nothing else, drawn as the conversation draws it (reading.js)."""

from pathlib import Path

import streamlit as st

from core.types import Node
from pages import backend

_HERE = Path(__file__)
_element = st.components.v2.component(
    "turntree_reading",
    js=_HERE.with_suffix(".js").read_text("utf-8"),
    css=_HERE.with_name("thread.css").read_text("utf-8")
    + _HERE.with_suffix(".css").read_text("utf-8"),
)


def draw(node: Node, label: str, *, key: str) -> None:
    """The words of a node; ``label`` is what a screen reader calls it, ``key`` its place.

    The words come by their own route, once: a rerun sends none. Of what is no text nothing is
    shown: thinking may tell who thought.
    """
    data = {"id": node.id, "label": label, "token": backend.TOKEN}
    _element(key=f"turntree.reading.{key}", data=data)
