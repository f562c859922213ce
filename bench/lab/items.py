"""What is asked: items with shards, and how the model is told to answer each kind of task."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

ITEMS = Path(__file__).with_name("items.jsonl")
TASKS = ("math", "actions", "code", "writing")

_FULL = {"math": "question", "actions": "question", "code": "prompt", "writing": "prompt"}
_SYSTEM = {
    "math": (
        "Solve it step by step in two or three plain sentences, without LaTeX. Then end with a"
        " line 'Answer: ' and the number."
    ),
    "actions": (
        "You call functions. Reply with nothing but a JSON list of calls, each of the form"
        ' {"name": ..., "arguments": {...}}. There is one function:\n'
    ),
    "code": "Reply with one Python code block that holds the complete function, nothing else.",
    "writing": "Reply with the text itself and nothing else: no title, no comment, no quotes.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One task: its ``full`` instruction, the same in ``shards``, and what checks an answer."""

    id: str
    task: str
    full: str
    shards: tuple[str, ...]
    keys: Mapping[str, Any]

    @property
    def system(self) -> str:
        """How to answer: the same in every mode, so that no mode is told more."""
        text = _SYSTEM[self.task]
        return text + json.dumps(self.keys["function"]) if self.task == "actions" else text


def load(path: Path = ITEMS) -> list[Item]:
    """The items of a file, in its order. Raises KeyError, ValueError for what is not one."""
    return [_item(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line]


def _item(given: dict[str, Any]) -> Item:
    task = given["task"]
    if task not in TASKS:
        raise ValueError(f"{given['task_id']}: there is no task {task!r}")
    shards = sorted(given["shards"], key=lambda shard: int(shard["shard_id"]))
    return Item(
        id=given["task_id"],
        task=task,
        full=given[_FULL[task]],
        shards=tuple(shard["shard"] for shard in shards),
        keys=given,
    )


def evenly(items: Sequence[Item], count: int | None) -> list[Item]:
    """The first ``count`` items, taken from each task in turn; all without a count."""
    by_task = [[item for item in items if item.task == task] for task in TASKS]
    dealt = [item for hand in zip_longest(*by_task) for item in hand if item is not None]
    return dealt[:count]
