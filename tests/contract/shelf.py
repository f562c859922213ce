"""The files of every format, and what reading each of them must give.

In ``tests/formats/<format>/`` each file is a case; a folder called ``x.zip`` is packed to an
archive, a ``.sql`` file becomes a SQLite database. ``expected.json`` has an entry a case::

    {"conversations": [{"title": "…", "messages": 4, "branches": 2, "system": "…",
                        "at": "2024-…Z", "path": [["user", "…"], …], "models": ["…"],
                        "left_out": {"custom instructions": 1}, "repairs": ["part of one"],
                        "files": 1, "thinking": 1, "tools": 2}],
     "damaged": ["part of place or reason"], "broke": "part of the message"}

Only what is named is compared; the number of conversations always is.
"""

import json
import sqlite3
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.interchange.source import FileSource
from core.types import Carried, CarriedNode, Source

SHELF = Path(__file__).parents[1] / "formats"


@dataclass(frozen=True)
class Case:
    format: str
    name: str
    expected: dict[str, Any]

    @property
    def path(self) -> Path:
        return SHELF / self.format / self.name

    def __str__(self) -> str:
        return f"{self.format}-{self.name}"


@cache
def cases() -> list[Case]:
    return [
        Case(folder.name, name, expected)
        for folder in sorted(SHELF.iterdir())
        if (folder / "expected.json").exists()
        for name, expected in json.loads((folder / "expected.json").read_text("utf-8")).items()
    ]


def source_of(case: Case, tmp_path: Path) -> Source:
    """The case's file, packed or built if it lies here unpacked."""
    path = case.path
    if path.is_dir():
        return FileSource(packed(path, tmp_path / path.name))
    if path.suffix == ".sql":
        built = tmp_path / f"{path.stem}.db"
        if built.exists():
            return FileSource(built)
        with sqlite3.connect(built) as db:
            db.executescript(path.read_text("utf-8"))
        db.close()
        return FileSource(built)
    return FileSource(path)


def packed(folder: Path, to: Path) -> Path:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    return to


def path_of(carried: Carried, tip: str | None = None) -> list[CarriedNode]:
    """The messages of the path that was open, or of one that ends elsewhere."""
    nodes = {node.key: node for node in carried.nodes}
    if tip is None and not carried.branches:
        return []
    key: str | None = tip or carried.branches[0].tip
    found = []
    while key is not None:
        found.append(nodes[key])
        key = nodes[key].parent
    return found[::-1]
