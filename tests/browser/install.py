"""``python -m tests.browser.install``: have a Chromium for the browser tests.

One that is there is used. Else the system's package manager installs one, where it may be used
without asking for a password; else Playwright fetches its own. Ends with 1 if there is none.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "TURNTREE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
NONE = (
    "No Chromium was found and none could be installed. Install Chromium or Google Chrome, or "
    f"name one in {VARIABLE}, then run: python -m tests.browser.install"
)


def find() -> str | None:
    """The path of a Chromium that starts, or None."""
    return next((path for path in _places() if _starts(path)), None)


def main() -> int:
    """Find a browser or install one; the exit code."""
    named = os.environ.get(VARIABLE)
    if named and not _starts(named):
        _say(f"{VARIABLE} names {named}, which does not start. Looking for another one.")
    if found := find():
        _say(f"The browser tests use {found}.")
        return 0
    for command in _ways():
        _say(f"No Chromium yet. Running: {' '.join(command)}")
        # A failure is no end: the next way may work, and the last word has find().
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(command, check=False, env=quiet)
        if found := find():
            _say(f"The browser tests use {found}.")
            return 0
    _say(NONE)
    return 1


def _places() -> Iterator[str]:
    """Where a Chromium may be, the person's own choice first."""
    if named := os.environ.get(VARIABLE):
        yield named
    yield from filter(None, map(shutil.which, NAMES))
    yield from (path for path in MAC if Path(path).exists())
    yield from filter(None, [_playwrights_own()])


def _playwrights_own() -> str | None:
    # In a process of its own: this one may be inside an event loop already.
    code = (
        "from playwright.sync_api import sync_playwright\n"
        "with sync_playwright() as playwright: print(playwright.chromium.executable_path)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    path = said.stdout.strip()
    return path if path and Path(path).exists() else None


def _starts(path: str) -> bool:
    try:
        version = subprocess.run(
            [path, "--version", *FLAGS], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return version.returncode == 0


def _ways() -> Iterator[list[str]]:
    """Commands that may install a Chromium, the system's own first."""
    root = as_root()
    if root is not None and shutil.which("apt-get"):
        yield [*root, "apt-get", "update"]
        yield [*root, "apt-get", "install", "-y", "chromium", "fonts-liberation"]
    elif root is not None and shutil.which("dnf"):
        yield [*root, "dnf", "install", "-y", "chromium"]
    elif shutil.which("brew"):
        yield ["brew", "install", "--cask", "chromium"]
    yield [sys.executable, "-m", "playwright", "install", "chromium"]


def as_root() -> list[str] | None:
    """What to put before a command of the system's administrator, or None if we may not."""
    if os.geteuid() == 0:
        return []
    if not shutil.which("sudo"):
        return None
    asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if asked.returncode == 0 else None


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
