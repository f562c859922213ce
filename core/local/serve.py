"""The embedded model's own process: llama.cpp's server on loopback, until the parent goes.

A script that imports nothing of Turntree, so that it starts fast. Reads one line of JSON
settings from stdin (the API key among them: never in arguments, which every user of the
machine can list), answers one line on stdout, ``{"url": ...}`` or ``{"error": ..., "kind":
"import" | "load"}``, and ends when stdin does. The parent holds the other end of stdin, so
this process goes even when the parent is killed outright.
"""

import json
import os
import sys
import threading
import time
from typing import Any

PARENT_SECONDS = 2.0


def main() -> None:
    """Serve until stdin ends or the parent is gone."""
    settings = json.loads(sys.stdin.readline())
    # The native code may print: its words go to stderr, stdout carries only our answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    try:
        server = _start(settings)
    except ImportError as error:
        _say(answer, {"error": str(error), "kind": "import"})
    except Exception as error:  # noqa: BLE001 (whatever the runtime raises, the parent says)
        _say(answer, {"error": str(error), "kind": "load"})
    else:
        _say(answer, {"url": server.listening_address})
        sys.stdin.read()
    # Not sys.exit: the runtime's threads may be in the middle of a long answer.
    os._exit(0)


def _start(settings: dict[str, Any]) -> Any:
    """Load the weights and listen. Raises ImportError, or what the runtime raises."""
    # Threads that wait by spinning collapse when another program keeps a core busy. It is
    # read when the OpenMP library loads, so before the import.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.n_ctx = settings["context"]
    params.n_parallel = 1
    # Small batches: progress is told after each, and Stop is heard after each.
    params.n_batch = params.n_ubatch = settings["batch"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = settings["cache_mib"]
    params.api_keys = [settings["api_key"]]
    params.verbosity = 1  # errors only; prompts are never among them
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    return xllamacpp.Server(params)


def _say(answer: Any, words: dict[str, str]) -> None:
    answer.write(json.dumps(words) + "\n")
    answer.flush()


def _leave_with(parent: int) -> None:
    """End when the parent does, even if a copy of it still holds our stdin open."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
