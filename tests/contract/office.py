"""``python -m tests.contract.office``: have a LibreOffice Writer, to open Word files as a reader
would. One that is there is used, else the system's package manager installs one, where it may be
used without asking for a password. Without one the tests that need it say so."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.browser.install import as_root

NAMES = ("soffice", "libreoffice")
MAC = "/Applications/LibreOffice.app/Contents/MacOS/soffice"
NONE = "No LibreOffice was found: whether it opens the Word files is not tested."


def find() -> str | None:
    """The path of a LibreOffice, or None."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or (MAC if Path(MAC).exists() else None)


def texts_of(documents: Sequence[Path], folder: Path) -> list[str]:
    """The words of documents, as LibreOffice reads them. Raises where it will not open one."""
    office = find()
    assert office is not None
    profile = (folder / "profile").as_uri()  # its own, so that an office that is open is let alone
    command = [office, f"-env:UserInstallation={profile}", "--headless"]
    command += ["--convert-to", "txt:Text (encoded):UTF8", "--outdir", str(folder)]
    subprocess.run([*command, *map(str, documents)], check=True, capture_output=True, timeout=150)
    return [(folder / f"{one.stem}.txt").read_text("utf-8-sig") for one in documents]


def main() -> int:
    """Find one or install one. Always 0: the tests tell what they could not do."""
    if not find():
        for command in _ways():
            print(f"No LibreOffice yet. Running: {' '.join(command)}", flush=True)
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(command, check=False, env=quiet, stdout=subprocess.DEVNULL)
    print(f"Word files are opened with {find()}." if find() else NONE, flush=True)
    return 0


def _ways() -> Iterator[list[str]]:
    root = as_root()
    if root is not None and shutil.which("apt-get"):
        yield [*root, "apt-get", "update", "-q"]
        wanted = "libreoffice-writer-nogui"
        yield [*root, "apt-get", "install", "-y", "-q", "--no-install-recommends", wanted]
    elif root is not None and shutil.which("dnf"):
        yield [*root, "dnf", "install", "-y", "-q", "libreoffice-writer"]


if __name__ == "__main__":
    sys.exit(main())
