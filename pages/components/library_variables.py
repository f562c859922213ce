"""The variables of an item: what each asks for, its type, its default."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from core.library import Body, Variable, VariableKind, number_in, number_text, variables_of
from core.store.library import Entry
from pages.components import state

Change = Callable[[Body], Body]
_KINDS: dict[VariableKind, str] = {
    "text": "a line",
    "long": "a longer text",
    "choice": "a choice",
    "number": "a number",
}


def draw(entry: Entry, keep: Callable[[Change], None]) -> None:
    """A row for each variable that the texts use; ``keep`` gets every change."""
    variables = variables_of(entry.shown)
    if variables:
        st.markdown("**To be filled in**")
    for variable in variables:
        with st.container(border=True):
            _variable(entry, variable, keep)


def _variable(entry: Entry, variable: Variable, keep: Callable[[Change], None]) -> None:
    name, key = variable.name, f"var.{entry.id}.{variable.name}"

    def put(**changed: Any) -> None:
        keep(partial(_put_variable, name=name, changed=changed))

    kind, ask, default = st.columns([1, 1.5, 1.5])
    with kind:
        state.control(f"{key}.kind", variable.kind)
        st.selectbox(
            f"{{{{{name}}}}} is",
            list(_KINDS),
            index=list(_KINDS).index(variable.kind),
            format_func=_KINDS.__getitem__,
            key=f"{key}.kind",
            on_change=lambda: put(kind=state.value(f"{key}.kind")),
        )
    with ask:
        text(
            f"{key}.ask",
            f"Asks, for {name}",
            variable.ask,
            lambda said: put(ask=said),
            line=True,
        )
    with default:
        _default(variable, f"{key}.default", lambda said: put(default=said))
    if variable.kind == "choice":
        text(
            f"{key}.choices",
            f"Choices of {name}, one a line",
            "\n".join(variable.choices),
            lambda said: put(choices=tuple(filter(None, map(str.strip, said.split("\n"))))),
        )


def _default(variable: Variable, key: str, keep: Callable[[str], None]) -> None:
    label = f"Unless filled in, {variable.name} is"
    if variable.kind == "choice" and variable.choices:
        chosen = variable.default if variable.default in variable.choices else None
        state.control(f"{key}.of", chosen)
        st.selectbox(
            label,
            variable.choices,
            index=None,
            key=f"{key}.of",
            on_change=lambda: keep(state.value(f"{key}.of") or ""),
        )
    elif variable.kind == "number":
        state.control(f"{key}.number", number_in(variable.default))

        def put() -> None:
            given = state.value(f"{key}.number")
            keep("" if given is None else number_text(given))

        st.number_input(
            label, value=None, step=1.0, format="%.10g", key=f"{key}.number", on_change=put
        )
    else:
        text(key, label, variable.default, keep, line=variable.kind != "long")


def _put_variable(body: Body, *, name: str, changed: dict[str, Any]) -> Body:
    shown = {variable.name: variable for variable in (*variables_of(body), *body.variables)}
    shown[name] = replace(shown.get(name, Variable(name=name)), **changed)
    return replace(body, variables=tuple(shown.values()))


def text(
    key: str, label: str, stored: str, keep: Callable[[str], None], *, line: bool = False
) -> None:
    """A field that shows what is kept, and keeps what is typed once it is left."""
    state.control(key, stored)
    asked: dict[str, Any] = {"key": key, "on_change": lambda: keep(state.value(key) or "")}
    if line:
        st.text_input(label, stored, **asked)
    else:
        st.text_area(label, stored, height="content", **asked)
