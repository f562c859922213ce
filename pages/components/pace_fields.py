"""How fast something plays: whole numbers in a row, and whether stored answers are taken."""

import streamlit as st


def whole(label: str, *, most: int, value: int, key: str, about: str) -> int:
    """A whole number from 1 to ``most``."""
    given = st.number_input(
        label, min_value=1, max_value=most, value=value, step=1, width=120, key=key, help=about
    )
    return int(given)


def reuse(key: str) -> bool:
    """Whether the stored answer to the same request is taken in place of a call."""
    return st.toggle(
        "Use stored answers to the same request",
        key=key,
        help="Where the very same request was answered before, that answer is taken, for"
        " nothing. It is marked as replayed.",
    )
