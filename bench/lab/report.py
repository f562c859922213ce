"""The figures of the results, as Markdown tables."""

from collections.abc import Collection, Iterable, Sequence
from itertools import groupby
from statistics import fmean

from bench.lab.items import TASKS
from bench.lab.results import Row

_NANO = 1_000_000_000


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0 to 1) lies, drawn straight between the two nearest."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def figures(rows: Iterable[Row]) -> tuple[float, float, float]:
    """P, A90 and U90-10: for each item over its samples, then the mean over the items."""
    by_item = [
        [row.score for row in group]
        for _, group in groupby(sorted(rows, key=lambda row: row.item), lambda row: row.item)
    ]
    best = [percentile(scores, 0.9) for scores in by_item]
    worst = [percentile(scores, 0.1) for scores in by_item]
    spread = [high - low for high, low in zip(best, worst, strict=True)]
    return fmean(map(fmean, by_item)), fmean(best), fmean(spread)


def comparable(rows: Collection[Row], modes: Sequence[str], samples: int) -> list[Row]:
    """The rows of items that every mode has answered ``samples`` times: like with like."""
    wanted = [row for row in rows if row.mode in modes and row.sample < samples]
    counts: dict[str, int] = {}
    for row in wanted:
        counts[row.item] = counts.get(row.item, 0) + 1
    return [row for row in wanted if counts[row.item] == len(modes) * samples]


def tables(rows: Sequence[Row], modes: Sequence[str]) -> str:
    """Both tables: the modes over all items, then task by task."""
    tasks = [task for task in TASKS if any(row.task == task for row in rows)]
    per_mode = {mode: [row for row in rows if row.mode == mode] for mode in modes}
    lines = [
        "| asked | P | A90 | U90-10 | tokens in | tokens out | cost |",
        "|---|---|---|---|---|---|---|",
    ]
    for mode, its in per_mode.items():
        cells = [f"{figure:.0f}" for figure in figures(its)]
        cells += [_mean([row.input_tokens for row in its])]
        cells += [_mean([row.output_tokens for row in its]), _money([row.cost for row in its])]
        lines.append(_line(mode, *cells))
    lines += ["", _line("P / A90 / U90-10", *tasks), "|---" * (len(tasks) + 1) + "|"]
    for mode, its in per_mode.items():
        lines.append(_line(mode, *(_cell([r for r in its if r.task == task]) for task in tasks)))
    return "\n".join(lines)


def _cell(rows: Sequence[Row]) -> str:
    return " / ".join(f"{figure:.0f}" for figure in figures(rows))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _mean(counts: Sequence[int | None]) -> str:
    known = [count for count in counts if count is not None]
    return f"{fmean(known):,.0f}" if len(known) == len(counts) else "unknown"


def _money(costs: Sequence[int | None]) -> str:
    known = [cost for cost in costs if cost is not None]
    return f"${fmean(known) / _NANO:.4f}" if len(known) == len(costs) else "unknown"
