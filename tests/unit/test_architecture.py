"""The house stays as it was drawn: layers, sizes, the map, and what an import costs."""

import ast
import importlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path

import pytest

import core

HOUSE = Path(core.__file__).parents[1]
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 400, 60
PYTHON = sorted(
    path
    for pattern in ("app.py", "core/**/*.py", "pages/**/*.py", "bench/**/*.py")
    for path in HOUSE.glob(pattern)
)
FRONT = sorted(
    path
    for pattern in ("pages/**/*.js", "pages/**/*.css", "static/**/*.js", "static/**/*.css")
    for path in HOUSE.glob(pattern)
    if "vendor" not in path.parts
)


def name_of(path: Path) -> str:
    return path.relative_to(HOUSE).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def package_of(path: Path) -> list[str]:
    return list(path.relative_to(HOUSE).parent.parts)


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, at the top, inside functions and for types only."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package_of(path)[: len(package_of(path)) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield ast.unparse(node.args[0]).strip("'\"")


def importers(package: str) -> set[str]:
    """The files that import a package or anything in it."""
    return {
        name_of(path)
        for path in PYTHON
        if any(name == package or name.startswith(f"{package}.") for name in imports(path))
    }


def outside(found: set[str], *allowed: str) -> set[str]:
    return {name for name in found if not name.startswith(allowed)}


# --- layers ---


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("streamlit", ("app.py", "pages/")),
        ("pages", ("app.py", "pages/")),
        # One format is a database of somebody else's: it is read there, and nothing written.
        ("sqlite3", ("core/store/", "core/interchange/tables.py", "bench/")),
        ("sqlite_utils", ("core/store/", "bench/")),
        (
            "openai",
            ("core/providers/openai.py", "core/providers/compatible.py", "core/wire/", "bench/"),
        ),
        ("anthropic", ("core/providers/anthropic.py", "bench/")),
        ("google", ("core/providers/gemini.py", "bench/")),
        ("docx", ("core/formats/",)),
        ("fpdf", ("core/formats/",)),
        ("markdown_it", ("core/interchange/blocks.py", "core/interchange/page.py")),
        ("openpyxl", ("core/formats/",)),
        ("resvg_py", ("core/formats/",)),
        ("keyring", ("core/keys.py",)),
        ("genai_prices", ("core/prices.py",)),
        ("PIL", ("core/files.py",)),
        ("rapidfuzz", ("core/diff/", "bench/")),
        ("httpx2", ("core/providers/", "core/wire/", "core/local/", "bench/")),
        ("xllamacpp", ("core/local/", "bench/")),
        ("huggingface_hub", ("core/local/", "bench/")),
        ("starlette", ("app.py", "pages/", "bench/")),
        ("tests", ("bench/",)),
        ("bench", ("bench/",)),
    ],
)
def test_only_its_own_room_imports(package: str, allowed: tuple[str, ...]) -> None:
    assert outside(importers(package), *allowed) == set()


LAYERS = [
    {"core.types"},
    {"core.errors", "core.schemas"},
    {
        "core.beginnings",
        "core.alignment",
        "core.changes",
        "core.checks",
        "core.diff",
        "core.interchange",
        "core.library",
        "core.local",
        "core.owner",
        "core.policies",
        "core.statements",
        "core.told",
        "core.tree",
        "core.wire",
    },
    {"core.context", "core.estimate", "core.store", "core.providers"},
    {
        "core.binding",
        "core.branching",
        "core.draft_history",
        "core.fidelity",
        "core.files",
        "core.formats",
        "core.judging",
        "core.keys",
        "core.ledger",
        "core.library_files",
        "core.live",
        "core.origins",
        "core.points",
        "core.prices",
        "core.requirements",
        "core.weight",
    },
    {"core.importing"},
    {
        "core.columns",
        "core.endpoints",
        "core.exchange",
        "core.intake",
        "core.lane_facts",
        "core.likeness",
        "core.replay",
        "core.standings",
        "core.models",
        "core.examples",
        "core.library_templates",
        "core.recap",
        "core.roster",
        "core.steering",
        "core.view",
    },
    {"core.settle", "core.keeper", "core.asking"},
    {"core.upcoming"},
    {"core.warmth"},
    {"core.meter"},
    {"core.briefing", "core.forecast", "core.recapping", "core.overflow", "core.preview"},
    {"core.launcher"},
    {"core.runner"},
    {
        "core.backups",
        "core.consolidate",
        "core.drift",
        "core.exporting",
        "core.lanes",
        "core.script",
    },
    {"core.fusing", "core.jobs", "core.judge", "core.merging", "core.winner"},
]
"""From the ground up: a room imports its own layer's rooms and those below."""


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_imports_in_core_point_downward() -> None:
    floor = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}
    for path in HOUSE.glob("core/**/*.py"):
        # The second is a program, which stands on all rooms.
        if name_of(path) in ("core/__init__.py", "core/formats/__main__.py"):
            continue
        here = room_of(".".join(path.relative_to(HOUSE).with_suffix("").parts))
        assert here in floor, f"{name_of(path)} has no floor: give {here} one in LAYERS"
        for module in imports(path):
            there = room_of(module)
            if there in floor:
                assert floor[there] <= floor[here], f"{name_of(path)} reaches up to {there}"


def test_a_provider_knows_neither_the_store_nor_a_page_nor_a_capability() -> None:
    for path in HOUSE.glob("core/providers/*.py"):
        reached = {room_of(module) for module in imports(path) if module.startswith("core.")}
        assert reached <= {
            "core.errors",
            "core.local",
            "core.providers",
            "core.types",
            "core.wire",
        }, name_of(path)


def test_no_file_but_the_provider_s_own_knows_its_name() -> None:
    """A new provider touches one file: nothing outside may import a certain one."""
    for path in HOUSE.glob("core/providers/*.py"):
        if path.stem != "__init__":
            found = importers(f"core.providers.{path.stem}")
            assert outside(found, "core/providers/", "bench/") == set()


def test_pages_draw_and_do_not_speak_sql() -> None:
    for path in HOUSE.glob("pages/**/*.py"):
        assert not re.search(
            r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM)\b", path.read_text()
        )
        assert "._db" not in path.read_text(), name_of(path)


def test_only_state_names_keys_of_the_session_state() -> None:
    for path in HOUSE.glob("pages/**/*.py"):
        if path.stem != "state":
            assert "st.session_state" not in path.read_text("utf-8"), name_of(path)


def test_what_is_drawn_by_itself_takes_the_memory_of_the_tab_in_hand() -> None:
    for path in HOUSE.glob("pages/**/*.py"):
        if path.stem != "pane":
            assert not re.search(r"st\.(dialog|fragment)\b", path.read_text("utf-8")), name_of(path)


def test_what_the_elements_do_needs_no_streamlit() -> None:
    assert "streamlit" not in set(imports(HOUSE / "pages/components/acts.py"))


# --- sizes ---


def test_no_file_is_too_long_to_hold_in_mind() -> None:
    lines = {name_of(path): path.read_text("utf-8").count("\n") for path in [*PYTHON, *FRONT]}
    assert {name: number for name, number in lines.items() if number > MOST_LINES} == {}


def test_no_function_is_too_long_to_hold_in_mind() -> None:
    long = [
        f"{name_of(path)}:{node.lineno} {node.name}"
        for path in PYTHON
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_the_words_are_the_ones_of_the_house() -> None:
    unclear = re.compile(r"(Manager|Helper|Util|Utils|Service|Handler|Data)$")
    for path in PYTHON:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                assert not unclear.search(node.name), f"{name_of(path)}: {node.name}"


# --- what no file may hold ---

# Put together from pieces, so that this file does not hold them either.
FORBIDDEN = [
    "".join(pieces)
    for pieces in (
        ("pypi", ".org"),
        ("pythonhosted", ".org"),
        ("registry.npm", "js.org"),
        ("/wo", "rk/"),
        ("/tm", "p/"),
        ("/ro", "ot/"),
        ("/ho", "me/"),
        ("TO", "DO"),
        ("FIX", "ME"),
    )
]


def texts() -> list[Path]:
    kept = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=HOUSE,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split("\n")
    endings = {".py", ".js", ".css", ".md", ".toml", ".txt", ".json", ".sh", ""}
    files = [HOUSE / name for name in kept if name] or [*PYTHON, *FRONT, HOUSE / "README.md"]
    return [
        file
        for file in files
        if file.suffix in endings and file.is_file() and "vendor" not in file.parts
    ]


def test_no_file_names_a_registry_or_a_place_on_somebody_s_machine() -> None:
    found = []
    for path in texts():
        content = path.read_text("utf-8", errors="replace")
        found += [f"{name_of(path)} holds {word!r}" for word in FORBIDDEN if word in content]
    assert found == []


def test_the_locks_hold_hashes_and_no_addresses() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        lines = (HOUSE / name).read_text("utf-8").splitlines()
        assert not [line for line in lines if "://" in line or line.startswith("-")]
        assert sum("--hash=sha256:" in line for line in lines) > 50


# --- what is public ---


def test_what_core_names_is_what_it_has() -> None:
    assert sorted(core.__all__) == core.__all__
    for name in core.__all__:
        assert getattr(core, name) is not None
    (init,) = [tree_of(path) for path in PYTHON if name_of(path) == "core/__init__.py"]
    imported = {
        alias.asname or alias.name
        for node in init.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == set(core.__all__)


@pytest.mark.parametrize("module", ["core", "pages.live", "pages.components.acts", "app"])
def test_starting_loads_nothing_that_only_an_answer_needs(module: str) -> None:
    heavy = {
        "openai",
        "anthropic",
        "google.genai",
        "keyring",
        "httpx2",
        "xllamacpp",
        "genai_prices",
        "huggingface_hub",
        "pandas",
        "numpy",
    }
    # sqlite-utils takes pandas and numpy wherever they are.
    assert (loaded_by(module) & heavy) - loaded_by("sqlite_utils") == set()


@cache
def loaded_by(module: str) -> set[str]:
    """All that a fresh process has loaded after one import."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import sys, {module}; print(sorted(sys.modules))"],
        cwd=HOUSE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(ast.literal_eval(done.stdout.strip().splitlines()[-1]))


# --- the README ---


@cache
def readme() -> str:
    return (HOUSE / "README.md").read_text("utf-8")


def block_after(heading: str, language: str) -> str:
    found = re.search(
        rf"^{re.escape(heading)}$.*?^```{language}\n(.*?)^```$", readme(), re.DOTALL | re.MULTILINE
    )
    assert found, f"README.md has no {language} block after {heading!r}"
    return found[1]


def test_the_map_names_what_is_there_and_nothing_else() -> None:
    lines = block_after("## Map of the house", r"\w*").splitlines()
    named = {line.split()[0].rstrip("/") for line in lines if line.strip()}
    gone = {name for name in named if not (HOUSE / name).exists()}
    assert gone == set()
    there = {
        name_of(path).rstrip("/")
        for pattern in ("*.py", "core/*.py", "core/*/", "pages/*.py", "pages/components/*.py")
        for path in HOUSE.glob(pattern)
        if path.stem not in ("__init__", "__pycache__")
    }
    folders = {
        path.name
        for path in HOUSE.iterdir()
        if path.is_dir() and any(path.glob("**/*.*")) and path.name[0] not in "._"
    }
    assert (there | folders) - named == set()


def test_the_example_in_the_readme_prints_what_the_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = block_after("## Without the page", "python")
    said = block_after("## Without the page", "text")
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "example"})
    assert printed.getvalue() == said


def test_every_module_can_be_imported_alone() -> None:
    for path in HOUSE.glob("core/**/*.py"):
        parts = path.relative_to(HOUSE).with_suffix("").parts
        if parts[-1] not in ("__main__", "serve"):
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
