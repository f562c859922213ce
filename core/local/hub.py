"""Fetch one file from its publisher's hub: a script of its own, ``hub.py REPO FILE FOLDER``.

A process can be given up on at any moment, which a name lookup that hangs or a gigabyte on
its way through a library cannot. Prints ``reachable`` as soon as the hub answers. Imports
nothing of Turntree, and sends no token: the files are public.
"""

import os
import sys
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 4.0
SILENCE_SECONDS = 30.0
PARTIAL, NOTHING_MISSING = 206, 416


def main(repository: str, filename: str, folder: str) -> None:
    """Write ``folder/filename``. Whatever fails ends the process with a traceback."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    import huggingface_hub as hub

    url = hub.hf_hub_url(repository, filename)
    facts = hub.get_hf_file_metadata(url, token=False, timeout=PATIENCE_SECONDS)
    print("reachable", flush=True)
    part = Path(folder) / f"{filename}.part"
    _stream(hub.get_session(), facts.location, part)
    if facts.size is not None and part.stat().st_size != facts.size:
        raise OSError("the file did not arrive whole")
    part.rename(Path(folder) / filename)


def _stream(session: Any, url: str, part: Path) -> None:
    """Append what is missing; the library's own download would begin anew each time."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    options = {"headers": headers, "follow_redirects": True, "timeout": SILENCE_SECONDS}
    with session.stream("GET", url, **options) as answer:
        if have and answer.status_code == NOTHING_MISSING:
            return
        answer.raise_for_status()
        with part.open("ab" if answer.status_code == PARTIAL else "wb") as file:
            for block in answer.iter_bytes():
                file.write(block)
                file.flush()


if __name__ == "__main__":
    main(*sys.argv[1:4])
