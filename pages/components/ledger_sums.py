"""What runs come to: a strip of totals, two small charts, and the sums of each group."""

from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from core.store.ledger import Filter, Grouping, Ledger, Sums
from pages.components import words

_ACCENT, _PALE = "#6366f1", "#b3b8f5"  # seen on light and on dark
_BARS = 8  # models in the chart; the rest has no room
_SUMS: dict[Grouping, str] = {
    "session": "By session",
    "branch": "By branch",
    "model": "By model",
    "day": "By day",
}


def strip(total: Sums) -> None:
    """The totals in one line. What nobody told is said beside them, and never counted as zero."""
    tokens = f"{words.counted(total.unknown_tokens, 'run')} of unknown tokens"
    running = f"{total.running:,} running" if total.running else ""
    facts = [
        ("Runs", f"{total.runs:,}", running),
        ("Failed", f"{total.failed:,}", ""),
        ("Input", _known(total.input_tokens), tokens if total.unknown_tokens else ""),
        ("Cached", words.percent(total.cached_share), ""),
        ("Output", _known(total.output_tokens), ""),
        ("Cost", _cost(total), _unpriced(total)),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd><dd class='note'>{escape(note)}</dd></div>"
        for name, value, note in facts
    )
    st.html(f'<dl class="totals">{cells}</dl>')


def _known(tokens: int | None) -> str:
    return words.UNKNOWN if tokens is None else f"{tokens:,}"


def _cost(total: Sums) -> str:
    return words.money(total.cost_nanodollars)


def _unpriced(total: Sums) -> str:
    if not total.unknown_cost:
        return ""
    return f"and {words.counted(total.unknown_cost, 'run')} of unknown cost"


def charts(ledger: Ledger, now: Filter) -> None:
    """Cost by day and tokens by model."""
    by_day, by_model = ledger.sums("day", now), _models(ledger.sums("model", now))
    left, right = st.columns(2)
    with left:
        st.markdown("**Cost by day** :small[US dollars]")
        costs = [
            {"day": one.key, "cost": one.cost_nanodollars / 1e9}
            for one in by_day
            if one.cost_nanodollars
        ]
        if costs:
            st.bar_chart(
                costs, x="day", y="cost", x_label="", y_label="", color=_ACCENT, height=180
            )
        else:
            st.caption("No call with a known cost above zero.")
        if unknown := sum(one.unknown_cost for one in by_day):
            st.caption(f"Without {words.counted(unknown, 'run')} of unknown cost.")
    with right:
        st.markdown("**Tokens by model** :small[input, output]")
        used = [
            {"model": one.label, "input": one.input_tokens or 0, "output": one.output_tokens or 0}
            for one in by_model[:_BARS]
            if one.input_tokens or one.output_tokens
        ]
        if used:
            st.bar_chart(
                used, x="model", y=["input", "output"], x_label="", y_label="",
                color=[_ACCENT, _PALE], horizontal=True, sort=False,
                height=max(110, 60 + 34 * len(used)),
            )  # fmt: skip
        else:
            st.caption("No call with known tokens.")


def groups(ledger: Ledger, now: Filter) -> None:
    """The sums of each session, branch, model and day."""
    tabs = st.tabs(list(_SUMS.values()), key="runs.sums", on_change="rerun")
    for tab, (by, name) in zip(tabs, _SUMS.items(), strict=True):
        if tab.open:
            with tab:
                found = ledger.sums(by, now)
                rows = [_sum_row(one) for one in (_models(found) if by == "model" else found)]
                st.dataframe(
                    rows if by != "day" else rows[::-1],
                    hide_index=True,
                    column_config=_columns(name.removeprefix("By ").capitalize()),
                    height="content" if len(rows) < 9 else 320,
                    placeholder=words.NOTHING,
                    key=f"runs.sums.{by}",
                )


def _models(found: list[Sums]) -> list[Sums]:
    """The sums of models, with the provider named where two serve a model of the same name."""
    labels = {one.key: one.label for one in found}
    names = words.distinct(labels, lambda key: key.partition(":")[0])
    return [replace(one, label=names[one.key]) for one in found]


def _sum_row(one: Sums) -> dict[str, Any]:
    share = one.cached_share
    return {
        "name": one.label,
        "runs": one.runs,
        "failed": one.failed,
        "input": one.input_tokens,
        "cached": None if share is None else 100 * share,
        "output": one.output_tokens,
        "cost": dollars(one.cost_nanodollars),
        "unknown": one.unknown_cost,
    }


def dollars(nanodollars: int | None) -> float | None:
    """An amount as a number for tables; None stays unknown."""
    return None if nanodollars is None else nanodollars / 1e9


def _columns(name: str) -> dict[str, Any]:
    config = st.column_config
    return {
        "name": config.TextColumn(name, width="medium"),
        "runs": config.NumberColumn("Runs", format="localized"),
        "failed": config.NumberColumn("Failed", format="localized"),
        "input": config.NumberColumn("Input tokens", format="localized"),
        "cached": config.NumberColumn("Cached", format="%.0f%%", help="Of known input"),
        "output": config.NumberColumn("Output tokens", format="localized"),
        "cost": config.NumberColumn("Cost", format="$%.4f", help="Of runs with a known cost"),
        "unknown": config.NumberColumn("Unknown cost", help="Runs whose cost is not known"),
    }
