"""Runs as lines and sums: what is unknown is counted beside the sums and never taken for zero."""

import csv
import io
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from core import Config, Run, Session, Store
from core.ledger import COLUMNS, csv_lines, harmless
from core.store.ledger import Filter, Sums, share
from core.types import Failure, Request, Usage
from tests.conftest import ECHO

NOON = datetime(2026, 3, 10, 12).astimezone()
PAID = Usage(input_tokens=1000, output_tokens=200, cached_tokens=600, reasoning_tokens=50)
UNTOLD = Usage(input_tokens=300, output_tokens=20)
FAILED = Failure(
    kind="Overloaded",
    message="The provider is 100% busy_now.",
    status=529,
    request_id="req_1",
)


def run(store: Store, branch_id: str, at: datetime = NOON, **ends: Any) -> str:
    """A run that began at a time, and ended unless ``running``; its id."""
    config: Config = ends.pop("config", ECHO)
    begun = Run(
        id=str(ULID.from_datetime(at)),
        session_id=store.branches.get(branch_id).session_id,
        branch_id=branch_id,
        context_tip_id=None,
        purpose=ends.pop("purpose", "reply"),
        config=config,
        state="running",
        owner="me",
        started_at=at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )
    store.runs.start(begun, request=Request(envelope={"model": config.model}, messages=()))
    if not ends.pop("running", False):
        store.runs.end(begun.id, **{"finish_reason": "stop", "node_id": None, **ends})
    return begun.id


@pytest.fixture
def kept(store: Store, session: Session, main: str) -> dict[str, str]:
    """One run of each kind, a minute apart; ids by what they are."""
    other = store.sessions.create(
        config=Config(provider="openai", model="gpt-6-sol"), title="=Other"
    )
    assert other.current_branch_id
    paid = replace(ECHO, provider="openai", model="gpt-6-sol")
    kinds: dict[str, dict[str, Any]] = {
        "paid": {"usage": PAID, "cost_nanodollars": 2_000_000, "config": paid},
        "free": {"usage": replace(PAID, cached_tokens=0), "cost_nanodollars": 0},
        "untold": {"usage": UNTOLD, "purpose": "title"},
        "failed": {"finish_reason": "error", "failure": FAILED},
        "running": {"running": True},
    }
    ids = {
        kind: run(store, main, NOON + timedelta(minutes=minute), **ends)
        for minute, (kind, ends) in enumerate(kinds.items())
    }
    ids["elsewhere"] = run(
        store,
        other.current_branch_id,
        NOON + timedelta(days=2),
        usage=PAID,
        cost_nanodollars=3_000_000,
        config=paid,
    )
    return ids


def found(store: Store, kept: dict[str, str], **asked: Any) -> set[str]:
    names = {run_id: kind for kind, run_id in kept.items()}
    return {names[line["id"]] for line in store.ledger.lines(Filter(**asked), limit=50)}


# --- lines -----------------------------------------------------------------------------------


def test_lines_come_newest_first_and_a_page_at_a_time(store: Store, kept: dict[str, str]) -> None:
    ids = [line["id"] for line in store.ledger.lines(Filter(), limit=50)]
    assert ids == sorted(kept.values(), reverse=True)
    pages = [store.ledger.lines(Filter(), limit=4, offset=at) for at in (0, 4, 8)]
    assert [line["id"] for page in pages for line in page] == ids


def test_a_line_tells_all_of_a_run(store: Store, session: Session, kept: dict[str, str]) -> None:
    (line,) = store.ledger.lines(Filter(outcome="error"), limit=5)
    assert (line["error_kind"], line["error"]) == ("Overloaded", FAILED.message)
    assert (line["status"], line["request_id"]) == (529, "req_1")
    assert (line["title"], line["branch"], line["purpose"]) == (session.title, "main", "reply")
    assert line["input_tokens"] is None
    assert line["cost_nanodollars"] is None


@pytest.mark.parametrize(
    ("asked", "kinds"),
    [
        ({"outcome": "stop"}, {"paid", "free", "untold", "elsewhere"}),
        ({"outcome": "running"}, {"running"}),
        ({"purpose": "title"}, {"untold"}),
        ({"provider": "openai", "model": "gpt-6-sol"}, {"paid", "elsewhere"}),
        ({"provider": "echo"}, {"free", "untold", "failed", "running"}),
        ({"error": "Overloaded"}, {"failed"}),
        ({"text": "BUSY"}, {"failed"}),
        ({"text": "overload"}, {"failed"}),
        ({"text": "100% busy_"}, {"failed"}),
        ({"text": "busyXnow"}, set()),
        ({"text": "1__%"}, set()),
        ({"text": "\\"}, set()),
        ({"since": date(2026, 3, 11)}, {"elsewhere"}),
        ({"until": date(2026, 3, 11)}, {"paid", "free", "untold", "failed", "running"}),
        ({"since": date(2026, 3, 12), "until": date(2026, 3, 12)}, {"elsewhere"}),
        ({"since": date(2026, 3, 13)}, set()),
        ({"session": "nobody"}, set()),
        ({"model": "'; DROP TABLE runs; --"}, set()),
    ],
)
def test_a_filter_finds_what_it_asks_for(
    store: Store, kept: dict[str, str], asked: dict[str, Any], kinds: set[str]
) -> None:
    assert found(store, kept, **asked) == kinds
    assert store.ledger.total(Filter(**asked)).runs == len(kinds)
    assert {line["id"] for line in store.ledger.every(Filter(**asked))} == {
        kept[kind] for kind in kinds
    }


def test_a_session_and_a_branch_hold_their_own(
    store: Store, session: Session, main: str, kept: dict[str, str]
) -> None:
    assert found(store, kept, session=session.id) == {*kept} - {"elsewhere"}
    assert found(store, kept, session=session.id, branch=main) == {*kept} - {"elsewhere"}


@pytest.mark.parametrize("hour", [0, 23])
def test_a_day_is_the_person_s_own(store: Store, main: str, hour: int) -> None:
    at = datetime(2026, 3, 10, hour, 59).astimezone()
    run(store, main, at)
    day = date(2026, 3, 10)
    assert store.ledger.total(Filter(since=day, until=day)).runs == 1
    assert [one.key for one in store.ledger.sums("day", Filter())] == ["2026-03-10"]


def test_everything_is_read_in_chunks_without_a_gap(store: Store, kept: dict[str, str]) -> None:
    for chunk in (1, 2, 3, 6, 100):
        ids = [line["id"] for line in store.ledger.every(Filter(), chunk=chunk)]
        assert ids == sorted(kept.values(), reverse=True)


# --- sums ------------------------------------------------------------------------------------


def test_unknown_is_counted_beside_the_sum_and_not_as_zero(
    store: Store, session: Session, kept: dict[str, str]
) -> None:
    total = store.ledger.total(Filter(session=session.id))
    assert (total.runs, total.running, total.failed) == (5, 1, 1)
    assert (total.input_tokens, total.output_tokens) == (2300, 420)
    assert total.unknown_tokens == 1
    assert total.cost_nanodollars == 2_000_000
    assert total.unknown_cost == 2


def test_the_cached_share_is_of_those_who_told(store: Store, kept: dict[str, str]) -> None:
    total = store.ledger.total(Filter(session=None, until=date(2026, 3, 11)))
    assert total.cached_share == 600 / 2000
    untold = store.ledger.total(Filter(purpose="title"))
    assert untold.input_tokens == 300
    assert untold.cached_share is None


def test_costs_of_which_nobody_told_are_none(store: Store, kept: dict[str, str]) -> None:
    untold = store.ledger.total(Filter(purpose="title"))
    assert (untold.cost_nanodollars, untold.unknown_cost) == (None, 1)
    free = store.ledger.total(Filter(provider="echo", outcome="stop", purpose="reply"))
    assert (free.cost_nanodollars, free.unknown_cost) == (0, 0)


def test_nothing_comes_to_nothing(store: Store) -> None:
    assert store.ledger.total(Filter()) == Sums()
    assert store.ledger.lines(Filter(), limit=5) == []
    assert store.ledger.sums("day", Filter()) == []
    assert store.ledger.kinds(Filter()) == {"model": [], "purpose": [], "outcome": [], "error": []}


@pytest.mark.parametrize("by", ["session", "branch", "model", "day"])
def test_groups_come_to_the_total(store: Store, kept: dict[str, str], by: Any) -> None:
    groups, total = store.ledger.sums(by, Filter()), store.ledger.total(Filter())
    assert len(groups) == 2
    for name in ("runs", "running", "failed", "unknown_cost", "unknown_tokens"):
        assert sum(getattr(one, name) for one in groups) == getattr(total, name)
    for name in ("input_tokens", "output_tokens", "cached_tokens", "cost_nanodollars"):
        assert sum(getattr(one, name) or 0 for one in groups) == getattr(total, name)


def test_groups_have_names(store: Store, session: Session, kept: dict[str, str]) -> None:
    def names(by: Any) -> list[str]:
        return [one.label for one in store.ledger.sums(by, Filter())]

    assert names("session") == ["=Other", session.title]
    assert names("branch") == ["=Other / main", f"{session.title} / main"]
    assert names("model") == ["echo-1", "gpt-6-sol"]
    assert names("day") == ["2026-03-10", "2026-03-12"]
    assert len(store.ledger.sums("day", Filter(), limit=1)) == 1


def test_what_there_is_to_choose_from(store: Store, session: Session, kept: dict[str, str]) -> None:
    assert store.ledger.kinds(Filter(session=session.id)) == {
        "model": ["echo:echo-1", "openai:gpt-6-sol"],
        "purpose": ["reply", "title"],
        "outcome": ["error", "running", "stop"],
        "error": ["Overloaded"],
    }


def test_the_call_before_is_one_of_the_same_branch(store: Store, kept: dict[str, str]) -> None:
    assert store.ledger.before(kept["free"]) == kept["paid"]
    assert store.ledger.before(kept["paid"]) is None
    assert store.ledger.before(kept["elsewhere"]) is None
    assert store.ledger.before("no such run") is None


@pytest.mark.parametrize(
    ("cached", "of", "part"),
    [(None, 10, None), (5, None, None), (0, 0, None), (0, 10, 0.0), (5, 10, 0.5), (11, 10, 1.0)],
)
def test_the_share_of_what_is_unknown_is_unknown(
    cached: int | None, of: int | None, part: float | None
) -> None:
    assert share(cached, of) == part


# --- as a file -------------------------------------------------------------------------------


def rows(store: Store, wanted: Filter = Filter()) -> list[dict[str, str]]:  # noqa: B008 - frozen
    text = "".join(csv_lines(store.ledger.every(wanted, chunk=2)))
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text[1:], newline="")))


def test_the_file_holds_every_run_and_every_column(store: Store, kept: dict[str, str]) -> None:
    found = rows(store)
    assert [row["run_id"] for row in found] == sorted(kept.values(), reverse=True)
    assert set(found[0]) == {*COLUMNS}
    by_id = {row["run_id"]: row for row in found}
    paid, failed = by_id[kept["paid"]], by_id[kept["failed"]]
    assert (paid["cost_usd"], paid["cached_share"]) == ("0.002000000", "0.6000")
    assert by_id[kept["free"]]["cost_usd"] == "0.000000000"
    assert (failed["cost_usd"], failed["input_tokens"], failed["cached_share"]) == ("", "", "")
    assert failed["error"] == FAILED.message


def test_the_file_follows_the_filter(store: Store, kept: dict[str, str]) -> None:
    assert [row["outcome"] for row in rows(store, Filter(outcome="error"))] == ["error"]


def test_a_title_that_is_a_formula_is_not_run(store: Store, kept: dict[str, str]) -> None:
    assert rows(store, Filter(since=date(2026, 3, 11)))[0]["session"] == "'=Other"


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "  @x"]
)
def test_no_cell_begins_as_a_formula(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["plain", "", "a=b", 5, -5, None, 0.1, "1-2"])
def test_other_cells_stay_as_they_are(cell: Any) -> None:
    assert harmless(cell) == cell


@given(st.text())
def test_whatever_a_title_holds_the_file_stays_a_table(title: str) -> None:
    line = dict.fromkeys(COLUMNS) | {
        "id": "1", "title": title, "cost_nanodollars": None, "cached_tokens": None,
    }  # fmt: skip
    text = "".join(csv_lines([line]))[1:]
    if "\0" in title:
        return
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(read) == 1
    assert read[0]["session"] in (title, f"'{title}")
    assert read[0]["session"].lstrip(" ")[:1] not in ("=", "+", "-", "@", "\t")
