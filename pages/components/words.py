"""How numbers and outcomes of runs are put into words. Unknown is said so, never shown as zero."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime

from pages.components.entry import money as known_money

UNKNOWN = "unknown"
NOTHING = "\u2013"
"""What stands in a cell of which nothing is known."""
OUTCOMES = {
    "running": "running",
    "waiting": "waiting",
    "stop": "answered",
    "tool_call": "called a tool",
    "length": "hit the length limit",
    "content_filter": "blocked by the content filter",
    "refusal": "the model declined",
    "stopped": "stopped by you",
    "interrupted": "interrupted",
    "cut_off": "stream ended early",
    "error": "failed",
}
"""The state of a run, or how it ended."""
GOOD = frozenset({"stop", "tool_call", "running", "waiting"})


def outcome(name: str | None) -> str:
    """How a run stands or ended."""
    return OUTCOMES.get(name or "", name or UNKNOWN)


def number(count: int | None) -> str:
    """12345 as "12,345"."""
    return UNKNOWN if count is None else f"{count:,}"


def counted(count: int, noun: str) -> str:
    """1 and "call" as "1 call", 2 as "2 calls"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float | None) -> str:
    """0.62 as "62%"; what is not all of it never says 100%."""
    if share is None:
        return UNKNOWN
    return f"{int(share * 100) if 0.99 < share < 1 else round(share * 100)}%"


def money(nanodollars: int | None) -> str:
    """An amount; None is unknown."""
    return known_money(nanodollars) or UNKNOWN


def cost(nanodollars: int | None, unknown: int) -> str:
    """A sum of costs, with the runs of which nobody knows: "$0.0021 + 3 of unknown cost"."""
    if not unknown:
        return known_money(nanodollars) or NOTHING
    rest = f"{counted(unknown, 'run')} of unknown cost"
    return rest if nanodollars is None else f"{money(nanodollars)} + {rest}"


def duration(milliseconds: int | None) -> str:
    """1930 as "1.9 s", 75000 as "1 min 15 s"."""
    if milliseconds is None:
        return UNKNOWN
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 9950:
        return f"{milliseconds / 1000:.1f} s"
    seconds = round(milliseconds / 1000)
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min {seconds % 60} s"


def distinct(names: Mapping[str, str], tell: Callable[[str], str]) -> dict[str, str]:
    """Names by key such that no two are the same: ``tell`` says, of a key, what tells it apart.

    A menu knows its entries by their words only: of two that are alike it takes the first.
    """
    often = Counter(names.values())
    told = {k: f"{name} \u00b7 {tell(k)}" if often[name] > 1 else name for k, name in names.items()}
    again = Counter(told.values())
    return {key: f"{name} \u00b7 {key}" if again[name] > 1 else name for key, name in told.items()}


def moment(at: str) -> str:
    """A stored time on this machine's clock: "2026-11-21 12:36:05"."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
