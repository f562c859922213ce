"""The laboratory end to end, on the scripted provider and on one that knows the answers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import quantiles
from typing import Any

import pytest

from bench.__main__ import BENCHES
from bench.__main__ import main as bench
from bench.lab import main
from bench.lab.items import load
from bench.lab.modes import MODES
from bench.lab.report import comparable, figures, percentile, tables
from bench.lab.results import Results, Row
from core.consolidate import PROMPT
from core.errors import BadRequest, UserError
from core.providers import register, unregister
from core.providers.echo import Echo
from core.types import Delta, End, Endpoint, Event, Knob, ModelInfo, Request, Stop, Usage

WORDS = ["full", "concat", "sharded", "restate", "snowball", "yours", "consolidate"]
ITEM = load()[0]
assert ITEM.task == "math"


class Knowing(Echo):
    """Answers from a list of its own: right only when it is asked in one message."""

    name = "knowing"
    label = "Knowing"

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request] = []
        self.fails_at = -1

    def models(self) -> tuple[ModelInfo, ...]:
        knobs = (
            Knob(name="seed", label="Seed", kind="integer"),
            Knob(name="max_tokens", label="Longest", kind="integer"),
        )
        return (ModelInfo(id="oracle", label="Oracle", knobs=knobs, free=True),)

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        self.asked.append(request)
        if len(self.asked) == self.fails_at:
            raise BadRequest("That was too much.", hint="Ask for less.")
        said = [message["text"] for message in request.messages if message["role"] == "user"]
        if said[-1] == PROMPT:
            yield Delta(text=f"The whole task: {ITEM.full}")
        elif all(fact in said[-1] for fact in ("40", "$3", "6 days")):
            yield Delta(text="Answer: $720.00")
        else:
            yield Delta(text=f"Answer: {len(said)}")
        yield End(finish_reason="stop", usage=Usage(input_tokens=10, output_tokens=2))

    def users(self) -> list[list[str]]:
        """The words of the user in every request, in order."""
        return [
            [message["text"] for message in request.messages if message["role"] == "user"]
            for request in self.asked
        ]


@pytest.fixture
def knowing() -> Iterator[Knowing]:
    adapter = Knowing()
    register(adapter)
    yield adapter
    unregister("knowing")


def run(out: Path, *more: str) -> int:
    return main(["--model", "knowing:oracle", "--items", "1", "--out", str(out), *more])


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()[1:]]


# --- the conversations --------------------------------------------------------------------------
def test_each_mode_sends_what_it_is_named_for(knowing: Knowing, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert run(out, "--samples", "1", "--max-tokens", "90", "--turn-tokens", "30") == 0
    s1, s2, s3, s4 = ITEM.shards
    bullets = f"- {s1}\n- {s2}\n- {s3}\n- {s4}"
    snow2 = f"Just to reiterate,\n- {s1}\n\nAlso,\n\n{s2}\n"
    snow3 = f"Just to reiterate,\n- {s1}\n- {s2}\n\nAlso,\n\n{s3}\n"
    snow4 = f"Just to reiterate,\n- {s1}\n- {s2}\n- {s3}\n\nAlso,\n\n{s4}\n"
    grown = [[s1], [s1, s2], [s1, s2, s3], [s1, s2, s3, s4]]
    assert knowing.users() == [
        [ITEM.full],
        [bullets],
        *grown,
        [s1],
        [s1, snow2],
        [s1, snow2, snow3],
        [s1, snow2, snow3, snow4],
        *grown,
        [
            *ITEM.shards,
            f"Just to recapitulate, the entire task is:\n\n{bullets}\n\nNow please complete the"
            " task correctly taking all the information into account.",
        ],
        [*ITEM.shards, PROMPT],
        [f"The whole task: {ITEM.full}"],
    ]
    said = [
        [m["role"] for m in request.messages if m["role"] != "system"] for request in knowing.asked
    ]
    assert said[5] == ["user", "assistant"] * 3 + ["user"], "sharded: with the answers"
    assert said[13] == ["user"] * 4, "yours: without"
    assert said[14] == ["user", "assistant"] * 4 + ["user"], "restate: after sharded"
    systems = [
        m["text"] for request in knowing.asked for m in request.messages if m["role"] == "system"
    ]
    assert systems == [ITEM.system] * 17
    limits = [request.envelope.get("max_tokens") for request in knowing.asked]
    assert limits == [90, 90, *[30, 30, 30, 90] * 3, 90, None, 90]


def test_rows_hold_scores_answers_and_all_that_was_spent(knowing: Knowing, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(out, "--samples", "1")
    found = {row["mode"]: row for row in rows(out)}
    assert {mode: row["score"] for mode, row in found.items()} == {
        "full": 100,
        "concat": 100,
        "sharded": 0,
        "restate": 100,
        "snowball": 100,
        "yours": 0,
        "consolidate": 100,
    }
    assert {mode: row["calls"] for mode, row in found.items()} == {
        "full": 1,
        "concat": 1,
        "sharded": 4,
        "restate": 5,
        "snowball": 4,
        "yours": 4,
        "consolidate": 6,
    }
    assert all(row["input_tokens"] == 10 * row["calls"] for row in found.values())
    assert all((row["cost"], row["cut"]) == (0, 0) for row in found.values())
    assert found["sharded"]["answers"] == [f"Answer: {turn}" for turn in (1, 2, 3, 4)]
    assert found["consolidate"]["answers"] == [f"The whole task: {ITEM.full}", "Answer: $720.00"]


def test_samples_have_seeds_of_their_own(knowing: Knowing, tmp_path: Path) -> None:
    run(tmp_path / "out.jsonl", "--modes", "full", "--samples", "3", "--temperature", "0.5")
    sent = [(r.envelope["seed"], r.envelope["temperature"]) for r in knowing.asked]
    assert sent == [(1, 0.5), (2, 0.5), (3, 0.5)]


def test_a_remedy_alone_still_needs_its_conversation(knowing: Knowing, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(out, "--modes", "restate", "--samples", "1")
    assert [row["mode"] for row in rows(out)] == ["sharded", "restate"]


# --- going on -----------------------------------------------------------------------------------
def test_a_second_start_asks_only_what_is_missing(
    knowing: Knowing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    knowing.fails_at = 9  # in the middle of snowball
    assert run(out, "--samples", "1") == 1
    assert "That was too much. Ask for less." in capsys.readouterr().out
    assert [row["mode"] for row in rows(out)] == ["full", "concat", "sharded"]
    assert run(out, "--samples", "1") == 0
    assert len(knowing.asked) == 9 + 11
    assert run(out, "--samples", "1") == 0
    assert len(knowing.asked) == 9 + 11, "nothing was missing any more"
    assert run(out, "--samples", "2", "--modes", "full") == 0
    assert len(knowing.asked) == 9 + 12


def test_half_a_line_is_asked_again(knowing: Knowing, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(out, "--modes", "full", "--samples", "2")
    out.write_text(out.read_text("utf-8")[:-20], "utf-8")
    run(out, "--modes", "full", "--samples", "2")
    assert [row["sample"] for row in rows(out)] == [0, 1]
    assert len(knowing.asked) == 3


def test_results_of_other_settings_are_not_mixed(
    knowing: Knowing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    run(out, "--modes", "full", "--samples", "1")
    assert run(out, "--modes", "full", "--samples", "1", "--max-tokens", "7") == 2
    assert "holds results of other settings" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["--model", "echo"], ["--modes", "sideways"], ["--samples", "0"]]
)
def test_a_wrong_wish_is_told(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--out", str(tmp_path / "out.jsonl")]) == 2
    assert capsys.readouterr().out.strip()


def test_two_items_on_the_scripted_provider(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    words = ["lab", "--model", "echo:echo-1", "--samples", "1", "--items", "2", "--out", str(out)]
    assert bench(words) == 0
    printed = capsys.readouterr().out
    assert "echo:echo-1, N=1, 2 items\n" in printed
    assert all(f"| {mode} | 0 | 0 | 0 |" in printed for mode in WORDS)
    assert "| P / A90 / U90-10 | math | actions |" in printed
    assert len(rows(out)) == 14
    assert bench([*words, "--report"]) == 0
    assert capsys.readouterr().out == printed[printed.index("\necho:echo-1") :]


# --- figures ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "scores", [[0, 100], [0, 0, 100], [100, 0, 100, 50], list(range(0, 101, 10))]
)
def test_percentiles_are_drawn_between_the_nearest(scores: list[float]) -> None:
    tenths = quantiles(scores, n=10, method="inclusive")
    assert percentile(scores, 0.9) == pytest.approx(tenths[8])
    assert percentile(scores, 0.1) == pytest.approx(tenths[0])


def test_percentiles_as_known() -> None:
    """Worked out with numpy.percentile."""
    assert percentile([0, 0, 100], 0.9) == pytest.approx(80)
    assert percentile([0, 100, 100], 0.1) == pytest.approx(20)
    assert percentile([70], 0.9) == 70


def row(item: str, sample: int, score: int, mode: str = "full", **more: Any) -> Row:
    task = item.partition("/")[0]
    made = Row(
        item=item,
        task=task,
        mode=mode,
        sample=sample,
        score=score,
        answers=("a",),
        calls=1,
        cut=0,
        input_tokens=10,
        output_tokens=5,
        cost=2_000_000,
        seconds=1.0,
    )
    return replace(made, **more)


SCORED = [
    *(row("math/1", n, score) for n, score in enumerate((0, 0, 100))),
    *(row("code/1", n, score) for n, score in enumerate((100, 100, 100))),
]


def test_figures_are_means_over_items() -> None:
    mean, best, spread = figures(SCORED)
    assert mean == pytest.approx((100 / 3 + 100) / 2)
    assert [best, spread] == pytest.approx([90, 40])


def test_the_tables() -> None:
    assert tables(SCORED, ["full"]).splitlines() == [
        "| asked | P | A90 | U90-10 | tokens in | tokens out | cost |",
        "|---|---|---|---|---|---|---|",
        "| full | 67 | 90 | 40 | 10 | 5 | $0.0020 |",
        "",
        "| P / A90 / U90-10 | math | code |",
        "|---|---|---|",
        "| full | 33 / 80 / 80 | 100 / 100 / 0 |",
    ]


def test_one_unknown_count_makes_the_mean_unknown() -> None:
    some = [*SCORED[:2], replace(SCORED[2], cost=None, output_tokens=None)]
    assert "| 10 | unknown | unknown |" in tables(some, ["full"])


def test_only_items_that_every_mode_has_answered_are_compared() -> None:
    concat = [row("math/1", n, 0, "concat") for n in range(3)]
    extra = row("math/1", 3, 0, "sharded")
    even = comparable([*SCORED, *concat, extra], ["full", "concat"], 3)
    assert {found.item for found in even} == {"math/1"}
    assert len(even) == 6


# --- the file -----------------------------------------------------------------------------------
def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path, settings = tmp_path / "out.jsonl", {"model": "a:b", "sampling": {}}
    Results(path, settings).add(SCORED[0])
    assert Results(path, settings).rows == {SCORED[0].key: SCORED[0]}
    with pytest.raises(UserError, match="other settings"):
        Results(path, {"model": "c:d"})


def test_the_modes_are_those_that_people_are_told_of() -> None:
    assert list(MODES) == WORDS
    assert main.__module__ == "bench.lab.cli"


def test_a_time_consuming_laboratory_is_not_among_all_benches() -> None:
    assert "lab" not in BENCHES
