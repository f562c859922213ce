"""``python -m bench lab``: run the laboratory on a model, or go on with it, and print tables."""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.lab.checks import is_right
from bench.lab.items import ITEMS, Item, evenly, load
from bench.lab.modes import FOLLOWS, MODES, Subject
from bench.lab.report import comparable, tables
from bench.lab.results import Results, Row
from core import Run, Runner, Store, TurntreeError
from core.errors import UserError
from core.providers import model_info

DEFAULT = "local:qwen2.5-coder-1.5b"


def main(given: Sequence[str]) -> int:
    """Run what is missing and print the tables; 1 when a call failed, 2 for a wrong wish."""
    try:
        wish = _parsed(given)
        items = evenly(load(wish.file), wish.items)
        subject = _subject(wish)
        results = Results(wish.out, _settings(subject))
        if not wish.report:
            _run(wish, items, subject, results)
    except TurntreeError as error:
        print(f"{error} {error.hint}".strip())
        if isinstance(error, UserError):
            return 2
        print("Start again with the same words: it goes on where it stopped.")
        return 1
    _print(wish, items, results)
    return 0


def _parsed(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench lab", description=__doc__)
    parser.add_argument("--model", default=DEFAULT, help="provider:model")
    parser.add_argument("--samples", type=int, default=3, help="conversations an item and mode")
    parser.add_argument("--items", type=int, help="so many, taken from the tasks in turn")
    parser.add_argument("--modes", default=",".join(MODES), help="by name, commas between")
    parser.add_argument("--out", type=Path, default=Path("lab-results.jsonl"))
    parser.add_argument("--max-tokens", type=int, default=200, help="of an answer that counts")
    parser.add_argument("--turn-tokens", type=int, default=100, help="of one that others follow")
    parser.add_argument("--temperature", type=float, help="by default the model's own")
    parser.add_argument("--db", type=Path, help="a sessions.db, for the servers named in it")
    parser.add_argument("--file", type=Path, default=ITEMS, help="other items than ours")
    parser.add_argument("--report", action="store_true", help="ask nothing, only print")
    wish = parser.parse_args(given)
    wish.modes = [mode for mode in MODES if mode in wish.modes.split(",")]
    if not wish.modes or wish.samples < 1:
        raise UserError("There is nothing to run.", hint=f"Modes are: {', '.join(MODES)}.")
    return wish


def _subject(wish: argparse.Namespace) -> Subject:
    provider, _, model = wish.model.partition(":")
    if not model:
        raise UserError("The model is missing.", hint=f"Write provider:model, as in {DEFAULT}.")
    return Subject(
        provider=provider,
        model=model,
        max_tokens=wish.max_tokens,
        turn_tokens=wish.turn_tokens,
        sampling={} if wish.temperature is None else {"temperature": wish.temperature},
    )


def _settings(subject: Subject) -> dict[str, object]:
    """What makes results comparable: a file holds those of one such set."""
    return {
        "model": f"{subject.provider}:{subject.model}",
        "max_tokens": subject.max_tokens,
        "turn_tokens": subject.turn_tokens,
        "sampling": dict(subject.sampling),
    }


def _run(
    wish: argparse.Namespace, items: Sequence[Item], subject: Subject, results: Results
) -> None:
    """Item by item, sample by sample: what they share stays warm in the model's cache."""
    wanted = _with_what_they_follow(wish.modes)
    total = len(items) * wish.samples * len(wanted)
    with _runner(wish.db) as runner:
        for item in items:
            for sample in range(wish.samples):
                for mode in wanted:
                    if (item.id, mode, sample) not in results.rows:
                        row = _asked(runner, subject, item, mode, sample, results)
                        results.add(row)
                        print(_told(row, len(results.rows), total), flush=True)


def _with_what_they_follow(modes: Sequence[str]) -> list[str]:
    """In an order that has a conversation before what goes on with it."""
    needed = {*modes, *(["sharded"] if set(FOLLOWS) & set(modes) else [])}
    return sorted(needed, key=lambda mode: (mode in FOLLOWS, list(MODES).index(mode)))


@contextmanager
def _runner(known: Path | None) -> Iterator[Runner]:
    """A runner on a store that is gone afterwards, which knows the servers of another."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "sessions.db") as store,
    ):
        if known is not None:
            with Store.open(known) as theirs:
                for endpoint in theirs.providers.endpoints():
                    store.providers.add_endpoint(endpoint)
                    for model, own in theirs.providers.own_of(endpoint.name).items():
                        store.providers.set_own(endpoint.name, model, own)
        with Runner(store) as runner:
            yield runner


def _asked(
    runner: Runner, subject: Subject, item: Item, mode: str, sample: int, results: Results
) -> Row:
    """Hold one conversation, and check its last answer."""
    earlier = results.rows[item.id, "sharded", sample] if mode in FOLLOWS else None
    seeded = _seeded(subject, sample)
    asked = MODES[mode](runner, seeded, item, earlier.answers if earlier else ())
    return Row(
        item=item.id,
        task=item.task,
        mode=mode,
        sample=sample,
        score=100 if is_right(item, asked.answers[-1]) else 0,
        answers=asked.answers,
        **_spent(asked.runs, earlier),
    )


def _seeded(subject: Subject, sample: int) -> Subject:
    """With a seed for each sample, where the model takes one."""
    knobs = {knob.name for knob in model_info(subject.provider, subject.model).knobs}
    return Subject(
        provider=subject.provider,
        model=subject.model,
        max_tokens=subject.max_tokens,
        turn_tokens=subject.turn_tokens,
        sampling={**subject.sampling, **({"seed": sample + 1} if "seed" in knobs else {})},
    )


def _spent(runs: Sequence[Run], earlier: Row | None) -> dict[str, Any]:
    """Sums over the runs, and over the conversation before them."""

    def total(counts: list[int | None], before: int | None) -> int | None:
        known = [count for count in [*counts, before] if count is not None]
        return sum(known) if len(known) == len(counts) + 1 else None

    def before(name: str) -> Any:
        return getattr(earlier, name) if earlier else 0

    return {
        "calls": len(runs) + before("calls"),
        "cut": sum(run.finish_reason == "length" for run in runs) + before("cut"),
        "input_tokens": total([run.usage.input_tokens for run in runs], before("input_tokens")),
        "output_tokens": total([run.usage.output_tokens for run in runs], before("output_tokens")),
        "cost": total([run.cost_nanodollars for run in runs], before("cost")),
        "seconds": round(sum(run.duration_ms or 0 for run in runs) / 1000 + before("seconds"), 2),
    }


def _told(row: Row, done: int, total: int) -> str:
    verdict = "right" if row.score else "wrong"
    return f"{done}/{total} {row.item} {row.mode} #{row.sample + 1}: {verdict}, {row.seconds:.0f} s"


def _print(wish: argparse.Namespace, items: Sequence[Item], results: Results) -> None:
    chosen = {item.id for item in items}
    rows = [row for row in results.rows.values() if row.item in chosen]
    even = comparable(rows, wish.modes, wish.samples)
    if not even:
        print("No item has been asked in every mode yet.")
        return
    count = len({row.item for row in even})
    cut = sum(row.cut for row in even if row.mode not in FOLLOWS)
    calls = sum(row.calls for row in even if row.mode not in FOLLOWS)
    left_out = f" ({len(chosen) - count} not finished, left out)" if count < len(chosen) else ""
    print(f"\n{wish.model}, N={wish.samples}, {count} item{'' if count == 1 else 's'}{left_out}\n")
    print(tables(even, wish.modes))
    print(f"\n{cut} of {calls} answers ended at their limit of tokens.")
