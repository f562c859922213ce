"""What came of every conversation: one line of JSON each, so that a second start goes on."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from core.errors import UserError

Key = tuple[str, str, int]  # item, mode, sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One conversation. ``score`` is 0 or 100, tokens are sums over its ``calls``.

    Of a mode that follows *sharded*, tokens, calls and cost hold that conversation's too.
    Unknown is ``None``; ``cost`` is nano-dollars, ``seconds`` are spent in calls.
    """

    item: str
    task: str
    mode: str
    sample: int
    score: int
    answers: tuple[str, ...]
    calls: int
    cut: int
    """Answers that ended at their limit of tokens."""
    input_tokens: int | None
    output_tokens: int | None
    cost: int | None
    seconds: float

    @property
    def key(self) -> Key:
        return self.item, self.mode, self.sample


class Results:
    """A results file: the settings in its first line, then a row a line, only ever added to.

    Raises ``UserError`` for a file that other settings made.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self._path = path
        self.rows: dict[Key, Row] = {}
        wanted = json.loads(json.dumps(settings))
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        if not lines:
            self._append({"settings": wanted})
            return
        found = json.loads(lines[0]).get("settings")
        if found != wanted:
            raise UserError(
                f"{path} holds results of other settings: {found}.",
                hint="Name another file with --out, or give the same settings.",
            )
        whole = [line for line in lines[1:] if line.endswith("}")]
        for row in map(_row, whole):
            self.rows[row.key] = row
        if len(whole) < len(lines) - 1 or not path.read_text("utf-8").endswith("\n"):
            self._rewrite([lines[0], *whole])

    def add(self, row: Row) -> None:
        """Write a row down, for good."""
        self._append(asdict(row))
        self.rows[row.key] = row

    def _append(self, line: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _rewrite(self, lines: list[str]) -> None:
        """Without the half line that an end in the middle of writing left."""
        self._path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _row(line: str) -> Row:
    given = json.loads(line)
    names = [field.name for field in fields(Row)]
    return Row(**{name: given[name] for name in names if name != "answers"},
               answers=tuple(given["answers"]))  # fmt: skip
