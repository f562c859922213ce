"""Times as other products write them, as UTC ISO 8601 text with milliseconds."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_EARLIEST, _LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
_SCALES = (1, 1_000, 1_000_000, 1_000_000_000)
"""Seconds, and the finer units that numbers come in: the first that gives a possible date."""
_FORMS = (
    "%B %d, %Y %I:%M%p",
    "%b %d, %Y %I:%M%p",
    "%B %d, %Y %I:%M %p",
    "%Y-%m-%d",
)
_TAVERN = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})\s*@\s*(\d{1,2})h\s*(\d{1,2})m(?:\s*(\d{1,2})s)?(?:\s*(\d{1,3})ms)?"
)


def iso(value: Any) -> str | None:
    """A moment as our text, or None for what tells no possible one (before 1990, after 2099).

    Takes seconds, milliseconds, micro- or nanoseconds since 1970 as number or text, ISO 8601,
    dates as SillyTavern writes them, and Mongo's ``{"$date": …}``. Without a zone it is UTC.
    """
    moment = _moment(value)
    if moment is None or not _EARLIEST <= moment < _LATEST:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(value: Any) -> datetime | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _since_1970(value)
    if isinstance(value, Mapping):
        return _moment(value.get("$date", value.get("$numberLong")))
    return _written(value.strip()[:64]) if isinstance(value, str) else None


def _since_1970(value: float) -> datetime | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    for scale in _SCALES:
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value / scale)
        except (OverflowError, ValueError):
            continue
        if _EARLIEST <= moment < _LATEST:
            return moment
    return None


def _written(text: str) -> datetime | None:
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return _since_1970(float(text))
    try:
        if found := _TAVERN.fullmatch(text):
            *date, ms = [int(piece or 0) for piece in found.groups()]
            return datetime(*date, ms * 1000, tzinfo=UTC)  # type: ignore[misc,arg-type]
        moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    for form in _FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
