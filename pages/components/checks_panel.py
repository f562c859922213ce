"""Checks of a session: add, remove, and what each says of every lane's answer."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

import streamlit as st

from core import Runner
from core.checks import Result, described, results, trouble
from core.store import Store
from core.types import Check, CheckKind, Comparison
from pages.components import sidebar, state
from pages.components.judging_look import Look, table

_KINDS: dict[CheckKind, str] = {
    "contains": "Contains",
    "forbidden": "Never says",
    "length": "Length",
    "number": "A number",
    "regex": "Regular expression",
    "schema": "JSON schema",
    "expression": "Expression",
}
_SIGNS = {
    True: '<span class="yes">✓ passed</span>',
    False: '<span class="no">✗ failed</span>',
    None: '<span class="unsure">? not checked</span>',
}
_KIND = "check.kind"
_PASSED = "checks.passed"
Body = dict[str, Any]


def draw(runner: Runner, comparison: Comparison, look: Look) -> None:
    """The results as a table, the checks with a way to remove each, and a new one."""
    store = runner.store
    checks = store.verdicts.checks(comparison.session_id)
    if not checks:
        st.info(
            "Checks need no model: words that must be there or must not, a length, a number, a"
            " pattern, a JSON schema, an expression. They hold for every answer of the session.",
            icon=":material/rule:",
        )
    elif not look.answers:
        st.info("There is no answer to check yet.", icon=":material/hourglass_empty:")
    else:
        results_table(checks, look)
    with st.container(key="checks", gap=None):
        for check in checks:
            _row(store, check)
    _new(store, comparison.session_id)


def results_table(checks: Sequence[Check], look: Look) -> None:
    """A row for each check, a column for each lane that has an answer."""
    shown = [one.branch.id for one in look.columns if one.branch.id in look.answers]
    found = [results(checks, look.answers[branch].text) for branch in shown]
    rows = [
        (escape(described(check.kind, check.body)), *(cell(said[number]) for said in found))
        for number, check in enumerate(checks)
    ]
    passed = [sum(one.passed is True for one in said) for said in found]
    rows.append(("Passed", *(f"{count} of {len(checks)}" for count in passed)))
    table(["Check", *(look.names[branch] for branch in shown)], rows, "Results of the checks")


def passed(store: Store, session_id: str, answers: Iterable[str]) -> dict[str, str]:
    """Answer ids to how many of the session's checks each passes; empty without checks.

    Answers and checks never change: what was found of them is remembered for the tab.
    """
    checks = store.verdicts.checks(session_id)
    if not checks:
        return {}
    names = tuple(check.id for check in checks)
    known: dict[tuple[str, tuple[str, ...]], str] = state.kept(_PASSED, {})
    new = [one for one in answers if (one, names) not in known]
    for node in store.nodes.many(new):
        kept = sum(result.passed is True for result in results(checks, node.text))
        known[node.id, names] = f"{kept} of {len(checks)}"
    state.keep(_PASSED, known)
    return {answer: said for (answer, of), said in known.items() if of == names}


def cell(result: Result) -> str:
    """A result as HTML: passed or not, and why."""
    why = f"<small>{escape(result.why)}</small>" if result.why else ""
    return _SIGNS[result.passed] + why


def _row(store: Store, check: Check) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"check.{check.id}"):
        st.markdown(sidebar.label(described(check.kind, check.body)))
        st.button(
            "Remove",
            icon=":material/close:",
            type="tertiary",
            key=f"check_remove.{check.id}",
            on_click=store.verdicts.drop_check,
            args=[check.id],
        )


# --- a new one -----------------------------------------------------------------------------------


def _new(store: Store, session_id: str) -> None:
    with st.container(border=True, key="new_check"):
        kind: CheckKind = st.selectbox(
            "New check", list(_KINDS), format_func=_KINDS.__getitem__, key=_KIND
        )
        fields = _FIELDS[kind]()

        def add() -> None:
            body = fields()
            if wrong := trouble(kind, body):
                state.flash("The check cannot be used.", hint=wrong, bad=True)
                return
            store.verdicts.add_check(session_id, kind, body)
            if kind in _WORDS:
                state.control(_WORDS[kind], "")

        st.button("Add check", icon=":material/add:", key="check_add", on_click=add)


def _contains() -> Callable[[], Body]:
    st.text_input("Words that must be there", key="check.contains")
    st.checkbox("Upper and lower case as written", key="check.case")
    return lambda: {"text": _text("check.contains"), "case": bool(state.value("check.case"))}


def _forbidden() -> Callable[[], Body]:
    st.text_area("Phrases that must not be there, one a line", key="check.forbidden", height=90)
    return lambda: {"phrases": _text("check.forbidden").splitlines()}


def _length() -> Callable[[], Body]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("At least", min_value=0, value=None, step=1, key="check.least")
        st.number_input("At most", min_value=0, value=None, step=1, key="check.most")
        st.selectbox("of", ["words", "chars"], key="check.unit")
    return lambda: {
        "unit": state.value("check.unit"),
        "least": state.value("check.least"),
        "most": state.value("check.most"),
    }


def _number() -> Callable[[], Body]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("The number", value=None, format="%g", key="check.value")
        st.number_input(
            "give or take", min_value=0.0, value=0.0, format="%g", key="check.tolerance"
        )
    return lambda: {
        "value": state.value("check.value"),
        "tolerance": state.value("check.tolerance"),
    }


def _regex() -> Callable[[], Body]:
    st.text_input(
        "Pattern that must match somewhere",
        key="check.regex",
        help="A pattern that takes longer than a second is given up",
    )
    return lambda: {"pattern": _text("check.regex")}


def _schema() -> Callable[[], Body]:
    st.text_area("JSON schema of the answer", key="check.schema", height=140)
    return lambda: {"schema": _text("check.schema")}


def _expression() -> Callable[[], Body]:
    st.text_input(
        "Expression that must be true",
        key="check.expression",
        placeholder='words < 200 and "risk" in lower(text)',
    )
    st.caption(
        "Names: text, words, chars, lines (counts), numbers (a list), json. Functions: len, min,"
        " max, sum, abs, round, lower, count."
    )
    return lambda: {"text": _text("check.expression")}


def _text(key: str) -> str:
    return str(state.value(key) or "")


_FIELDS: dict[CheckKind, Callable[[], Callable[[], Body]]] = {
    "contains": _contains,
    "forbidden": _forbidden,
    "length": _length,
    "number": _number,
    "regex": _regex,
    "schema": _schema,
    "expression": _expression,
}
_WORDS: dict[CheckKind, str] = {
    kind: f"check.{kind}" for kind in ("contains", "forbidden", "regex", "schema", "expression")
}
"""The fields that are emptied once what they hold was taken."""
