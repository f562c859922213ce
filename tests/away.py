"""A Turntree in a process of its own: it does what it is told through a pipe, and may be killed."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from core import Runner, Store
from core.jobs import Player
from core.types import Adapter, Endpoint

Act = Callable[..., Any]
"""Takes a runner, a player, and what it is told; a function of a module, so that it can travel."""


def live(path: str, endpoints: Mapping[str, Endpoint], pipe: Connection) -> None:
    """Do what is told until killed, or until nobody tells anything any more."""
    os.environ["TURNTREE_ECHO"] = "1"

    def endpoint_of(adapter: Adapter) -> Endpoint | None:
        return endpoints.get(adapter.name)

    with (
        patch("core.launcher.endpoint_of", endpoint_of),
        Store.open(path) as store,
        Runner(store) as runner,
    ):
        player = Player(runner)
        try:
            while True:
                act, told = pipe.recv()
                pipe.send(act(runner, player, *told))
        except EOFError:
            player.close()


class Away:
    """The other process, seen from here."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self.process, self.pipe = process, pipe

    def do(self, act: Act, *told: object) -> Any:
        """Have something done there; what came of it."""
        self.pipe.send((act, told))
        assert self.pipe.poll(60), "the other process does not answer"
        return self.pipe.recv()

    def kill(self) -> None:
        """End it at once: it writes nothing any more."""
        self.process.kill()
        self.process.join(10)
        self.pipe.close()


@contextmanager
def away(path: Path, endpoints: Mapping[str, Endpoint] | None = None) -> Iterator[Away]:
    """Another process on a database, killed at the latest at the end."""
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.away"])
    here, there = context.Pipe()
    process = context.Process(target=live, args=(str(path), endpoints or {}, there), daemon=True)
    process.start()
    there.close()
    found = Away(process, here)
    try:
        yield found
    finally:
        found.kill()
