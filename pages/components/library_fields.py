"""Fields for the variables of a text, each by its type."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import streamlit as st

from core.library import Variable, number_in, number_text
from pages.components import state


def draw(variables: Iterable[Variable], *, of: str, scope: str) -> dict[str, str]:
    """A field each; what is in them, as text. It is remembered for ``of`` while the tab lives."""
    for variable in variables:
        _field(variable, of, f"{scope}.{of}.{variable.name}")
    return dict(values(of))


def values(of: str) -> dict[str, str]:
    """What was filled in for an item, by variable."""
    found: dict[str, str] = state.kept(f"values.{of}", {})
    return found


def _field(variable: Variable, of: str, key: str) -> None:
    stored = values(of).get(variable.name, variable.default)
    asked: dict[str, Any] = {"key": key, "on_change": partial(_keep, of, variable.name, key)}
    match variable.kind:
        case "long":
            state.control(key, stored)
            st.text_area(variable.label, stored, height=110, **asked)
        case "choice":
            state.control(key, stored if stored in variable.choices else None)
            st.selectbox(variable.label, variable.choices, index=None, **asked)
        case "number":
            state.control(key, number_in(stored))
            st.number_input(variable.label, value=None, step=1.0, format="%.10g", **asked)
        case _:
            state.control(key, stored)
            st.text_input(variable.label, stored, **asked)


def _keep(of: str, name: str, key: str) -> None:
    given = state.value(key)
    text = number_text(given) if isinstance(given, float) else given or ""
    state.keep(f"values.{of}", values(of) | {name: text})
