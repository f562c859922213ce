"""The tab Standings: who won how often, how strong that makes them, and how evenly they score."""

from collections.abc import Sequence
from html import escape
from typing import Any

import streamlit as st

from core import Runner
from core.columns import Column
from core.standings import AVERAGE, Standing, standings
from core.types import Comparison, Verdict
from pages.components import state, words
from pages.components.judging import CSS
from pages.components.judging_look import table

_OVER = {"This comparison": "comparison", "This session": "session", "All sessions": "all"}
_BY = {"Everybody": None, "People": "person", "Judges": "judge"}
_APART = {"Models": False, "Models with settings": True}
_ACCENT = "#6366f1"  # seen on light and on dark
_MOST = 12  # contestants in a chart
_SHORT = 34  # characters of a name beside a chart
_HEAD = [
    "Model",
    "Judged",
    "Won",
    "Tied",
    "Lost",
    "Strength",
    "Cost per win",
    "Mean score",
    "Best tenth",
    "Spread",
]


def draw(runner: Runner, comparison: Comparison, found: Sequence[Column]) -> None:
    """Filters, the table, and two small charts."""
    st.html(f"<style>{CSS}</style>")
    with st.container(horizontal=True, key="standings_filters"):
        over = _choice("Over", "standings.over", list(_OVER), 1)
        by = _choice("Judged by", "standings.by", list(_BY), 0)
        apart = _choice("Tell apart", "standings.apart", list(_APART), 0)
    if comparison.blind:
        st.info(
            "This comparison is blind: what was said of it counts here once you have voted.",
            icon=":material/visibility_off:",
        )
    verdicts = _chosen(runner, comparison, _OVER[over], _BY[by])
    rows = standings(runner.store, verdicts, by_settings=_APART[apart])
    if not rows:
        st.caption("No verdicts yet. Judge some lanes, by hand or by a model.")
        return
    st.caption(f"From {words.counted(len(verdicts), 'verdict')}.")
    table(_HEAD, [_cells(row) for row in rows], "Standings")
    _charts(rows)
    with st.expander("How to read this", type="compact"):
        st.markdown(_ABOUT)


def _choice(label: str, key: str, options: list[str], usual: int) -> str:
    kept = state.kept(key)
    state.control(key, kept if kept in options else options[usual])
    return str(
        st.selectbox(label, options, key=key, on_change=lambda: state.keep(key, state.value(key)))
    )


def _chosen(runner: Runner, comparison: Comparison, over: str, by: str | None) -> list[Verdict]:
    """The verdicts that count. Those of a comparison that is blind would give it away."""
    rooms = runner.store.verdicts
    if over == "comparison":
        known = rooms.of(comparison_id=comparison.id)
    else:
        known = rooms.of(comparison.session_id if over == "session" else None)
    told = [
        verdict
        for verdict in known
        if not (comparison.blind and verdict.comparison_id == comparison.id)
    ]
    return [verdict for verdict in told if by is None or verdict.by == by]


def _cells(row: Standing) -> list[str]:
    strength = words.NOTHING
    if row.strength is not None:
        ends = f"{row.strength.low:.0f} – {row.strength.high:.0f}"
        strength = f"{row.strength.value:.0f}<small>{ends}</small>"
    cells = [
        escape(row.name),
        f"{row.judged:,}",
        f"{row.won:,}",
        f"{row.tied:,}",
        f"{row.lost:,}",
        strength,
        _cost(row),
    ]
    samples = f"<small>{words.counted(row.samples, 'answer')}</small>" if row.samples else ""
    return [*cells, _score(row.mean) + samples, _score(row.aptitude), _score(row.unreliability)]


def _score(value: float | None) -> str:
    return words.NOTHING if value is None else f"{value:.0f}"


def _cost(row: Standing) -> str:
    if row.cost_per_win is not None:
        return escape(words.money(row.cost_per_win))
    if row.unknown and row.judged:
        return (
            f"{words.UNKNOWN}<small>{words.counted(row.unknown, 'answer')} without a cost</small>"
        )
    return words.NOTHING


# --- charts --------------------------------------------------------------------------------------


def _charts(rows: Sequence[Standing]) -> None:
    strong = [row for row in rows if row.strength is not None][:_MOST]
    scored = [row for row in rows if row.mean is not None][:_MOST]
    left, right = st.columns(2, gap="large")
    if len(strong) > 1:
        with left:
            st.markdown("**Strength** :small[with its 95% interval]")
            st.vega_lite_chart(spec=strengths_chart(strong), alt="Strength of each model")
    if scored:
        with right:
            st.markdown("**Scores** :small[mean, 0 to 100]")
            st.vega_lite_chart(spec=scores_chart(scored), alt="Mean score of each model")


def strengths_chart(rows: Sequence[Standing]) -> dict[str, Any]:
    """A point and its interval for each contestant."""
    values = [
        {
            "model": _short(row.name),
            "strength": round(row.strength.value),
            "low": round(row.strength.low),
            "high": round(row.strength.high),
        }
        for row in rows
        if row.strength is not None
    ]
    names = {"field": "model", "type": "nominal", "sort": None, "axis": _AXIS}
    scale = {"zero": False}
    point = {"field": "strength", "type": "quantitative", "scale": scale, "title": None}
    tips = [{"field": name} for name in ("model", "strength", "low", "high")]
    return {
        "data": {"values": values},
        "height": {"step": 34},
        "layer": [
            {
                "mark": {"type": "rule", "strokeDash": [3, 3], "color": "#8a8f9c"},
                "encoding": {"x": {"datum": AVERAGE}},
            },
            {
                "mark": {"type": "rule", "color": _ACCENT, "strokeWidth": 2},
                "encoding": {
                    "y": names,
                    "x": {"field": "low", "type": "quantitative", "scale": scale, "title": None},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "color": _ACCENT},
                "encoding": {"y": names, "x": point, "tooltip": tips},
            },
        ],
    }


def scores_chart(rows: Sequence[Standing]) -> dict[str, Any]:
    """A bar for each contestant."""
    values = [{"model": _short(row.name), "score": round(row.mean or 0.0, 1)} for row in rows]
    return {
        "data": {"values": values},
        "height": {"step": 34},
        "mark": {"type": "bar", "color": _ACCENT, "cornerRadiusEnd": 3, "height": 14},
        "encoding": {
            "y": {"field": "model", "type": "nominal", "sort": None, "axis": _AXIS},
            "x": {
                "field": "score",
                "type": "quantitative",
                "scale": {"domain": [0, 100]},
                "title": None,
            },
            "tooltip": [{"field": "model"}, {"field": "score"}],
        },
    }


def _short(name: str) -> str:
    return name if len(name) <= _SHORT else f"{name[: _SHORT - 1]}…"


_AXIS = {"title": None, "labelLimit": 180}
_ABOUT = """
- **Judged** counts answers in verdicts that chose, or called a tie. **Won**, **tied** and **lost**
  are of these.
- **Strength** is a Bradley-Terry strength on the scale of Elo, 1000 for the mean of all that were
  compared: 400 more wins ten times in eleven. Below it, the 95% interval: with few verdicts it is
  wide, and two that overlap may be even.
- **Cost per win** is what its judged answers cost, over the verdicts it won.
- **Scores** run from 0 to 100: a judge's 0 to 10, a person's one to five stars. **Best tenth** is
  the 90th percentile over the samples of one comparison (aptitude), **Spread** the distance from
  there to the 10th (unreliability); then the mean over comparisons.
"""
