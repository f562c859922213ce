"""What every file of a comparison says, in the order it says it: figures as a table, turns row by
row, verdicts in words. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.alignment import Turn, rows, turns_after
from core.types.compared import Verdict
from core.types.kept import AttachmentRef, Node, Thinking, ToolCall, ToolResult
from core.types.taken import ComparisonTaken, Include

Value = str | float | int | None
NOTHING = "–"
"""What stands in a cell of which nothing is known."""
_OF_NO_NOTE: Mapping[str, tuple[Value, ...]] = {"Replayed": ("no",), "All: of unknown cost": (0,)}


def figures(taken: ComparisonTaken) -> list[tuple[str, list[Value]]]:
    """One row a figure, one value a lane; None is unknown. Rows that say nothing of any lane are
    left out."""
    named = dict.fromkeys(name for lane in taken.lanes for name in lane.metrics)
    told: list[tuple[str, list[Value]]] = []
    if any(lane.model for lane in taken.lanes):
        told.append(("Model", [lane.model or None for lane in taken.lanes]))
    for name in named:
        values = [lane.metrics.get(name) for lane in taken.lanes]
        if any(value is not None and value not in _OF_NO_NOTE.get(name, ()) for value in values):
            told.append((name, values))
    return told


def in_words(name: str, value: Value) -> str:
    """A figure as people read it."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if name.endswith("(USD)"):
        if value == 0:
            return "free"
        return "<$0.0001" if 0 < value < 0.00005 else f"${value:.4f}"
    if name.endswith("share"):
        return f"{value:.0%}"
    if name.endswith("(ms)"):
        return f"{value:,} ms" if value < 1000 else f"{value / 1000:,.1f} s"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def label(name: str) -> str:
    """A figure's name beside a value :func:`in_words`."""
    for unit in (" (USD)", " (ms)"):
        name = name.removesuffix(unit)
    return name


def table(taken: ComparisonTaken) -> list[tuple[Turn | None, ...]]:
    """The turns of the lanes, row by row."""
    common = len(taken.shared)
    return rows([turns_after((*taken.shared, *lane.nodes), common) for lane in taken.lanes])


def asked_alike(row: Sequence[Turn | None]) -> Node | None:
    """What all lanes of a row were asked, if it is the same."""
    asked = [turn.asked for turn in row if turn is not None and turn.asked is not None]
    alike = len(asked) > 1 and len({(node.parts, node.sent_suffix) for node in asked}) == 1
    return asked[0] if alike else None


def extras(node: Node, include: Include) -> Iterator[tuple[str, str]]:
    """What a message has besides its words, as heading and text: files, thinking, tools."""
    files = [part.name for part in node.parts if isinstance(part, AttachmentRef)]
    if files:
        yield "Attached", ", ".join(files)
    for part in node.parts:
        if isinstance(part, Thinking) and include.thinking and part.text.strip():
            yield "Thinking", part.text
        elif isinstance(part, ToolCall) and include.tools:
            yield f"Called {part.name}", part.arguments
        elif isinstance(part, ToolResult) and include.tools:
            yield f"{part.name} {'failed' if part.is_error else 'answered'}", part.text


# --- verdicts -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A verdict in words. ``ratings`` are a name, its rating, and the highest there is; ``reasons``
    a name and what was said of it."""

    headline: str
    by: str
    at: str
    blind: bool
    note: str
    ratings: tuple[tuple[str, float, int], ...]
    reasons: tuple[tuple[str, str], ...]


def verdicts(taken: ComparisonTaken) -> list[Said]:
    """The verdicts of a comparison in words, the newest last."""
    return [_said(one, taken.names) for one in taken.verdicts]


def _said(verdict: Verdict, names: Mapping[str, str]) -> Said:
    body = verdict.body if isinstance(verdict.body, dict) else {}
    return Said(
        headline=_headline(verdict, names),
        by="A person" if verdict.by == "person" else f"A judge{_model_of(body)}",
        at=f"{verdict.created_at[:16].replace('T', ' ')} UTC",
        blind=verdict.blind,
        note=verdict.note,
        ratings=tuple(
            (_name(names, branch), rating, 5 if verdict.by == "person" else 10)
            for branch, rating in verdict.ratings.items()
        ),
        reasons=tuple(_reasons(body, names)),
    )


def _headline(verdict: Verdict, names: Mapping[str, str]) -> str:
    if verdict.winner is not None:
        return f"{_name(names, verdict.winner)} is best"
    if verdict.tie:
        return "A tie"
    return "Ratings" if verdict.ratings else "No verdict"


def _name(names: Mapping[str, str], branch: str) -> str:
    return names.get(branch, "an answer that was dropped")


def _model_of(body: Mapping[str, Any]) -> str:
    config = body.get("judge")
    if not isinstance(config, dict):
        return ""
    return f", {config.get('model')} ({config.get('provider')})"


def _reasons(body: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Why a judge scored as it did, vote by vote."""
    for vote in body.get("votes") or ():
        for branch, given in zip(vote.get("order", ()), vote.get("given", ()), strict=False):
            if reason := str(given.get("reason") or "").strip():
                yield _name(names, branch), reason
