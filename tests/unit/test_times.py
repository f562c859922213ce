"""Times as others write them."""

import math

import pytest

from core.interchange.times import iso

MOMENT = "2023-11-14T22:13:20.000Z"


@pytest.mark.parametrize(
    "written",
    [
        1_700_000_000,
        1_700_000_000.0,
        1_700_000_000_000,
        1_700_000_000_000_000,
        "1700000000",
        "1700000000.0",
        "2023-11-14T22:13:20Z",
        "2023-11-14T22:13:20.000000Z",
        "2023-11-14T22:13:20.000000000Z",
        "2023-11-14T23:13:20+01:00",
        "2023-11-14 22:13:20",
        "2023-11-14 @22h13m20s",
        "2023-11-14@22h 13m 20s 0ms",
        {"$date": {"$numberLong": "1700000000000"}},
        {"$date": "2023-11-14T22:13:20Z"},
    ],
)
def test_a_moment_is_understood(written: object) -> None:
    assert iso(written) == MOMENT


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("July 19, 2024 3:30pm", "2024-07-19T15:30:00.000Z"),
        ("May 23, 2026 3:10PM", "2026-05-23T15:10:00.000Z"),
        ("2026-08-14@10h03m", "2026-08-14T10:03:00.000Z"),
        ("2024-02-29", "2024-02-29T00:00:00.000Z"),
    ],
)
def test_dates_in_words_are_understood(written: str, moment: str) -> None:
    assert iso(written) == moment


@pytest.mark.parametrize(
    "written",
    [
        None,
        True,
        "",
        "x",
        "10:00:00",
        [],
        {},
        {"$date": None},
        -1,
        0,
        1e300,
        10**400,
        math.nan,
        math.inf,
        "9" * 60,
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-23:59",
        "2023-13-45 @99h99m",
        "July 99, 2024 3:30pm",
    ],
)
def test_what_tells_no_possible_moment_is_none(written: object) -> None:
    assert iso(written) is None
