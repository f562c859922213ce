"""The table that people read: what was measured, both ends, their ratio, and the target."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from gc import collect, freeze, unfreeze
from statistics import median

_WIDTHS = (46, 14, 14, 8, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measurement: ``measured`` against ``base``, ready to print, and what is aimed at."""

    what: str
    base: str
    measured: str
    ratio: float
    target: float


def milliseconds(seconds: Sequence[float]) -> str:
    """The median, in words."""
    middle = median(seconds) * 1000
    return f"{middle:.0f} ms" if middle >= 100 else f"{middle:.2f} ms"


def ratio(measured: Sequence[float], base: Sequence[float]) -> float:
    """Between the medians."""
    return median(measured) / median(base)


def show(title: str, base: str, measured: str, lines: Sequence[Line]) -> None:
    """Print the lines of one bench under a heading."""
    print(f"\n{title}")
    print("  " + _row("", base, measured, "ratio", "at most"))
    for line in lines:
        verdict = "met" if line.ratio <= line.target else "MISSED"
        numbers = _row(
            line.what, line.base, line.measured, f"{line.ratio:.2f}x", f"{line.target:.2f}x"
        )
        print(f"  {numbers}  {verdict}", flush=True)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Within, what exists already is no work for the garbage collector."""
    collect()
    freeze()
    try:
        yield
    finally:
        unfreeze()


def _row(what: str, *cells: str) -> str:
    first, *rest = _WIDTHS
    return f"{what:<{first}}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells, rest, strict=True)
    )
