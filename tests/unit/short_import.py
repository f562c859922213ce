"""A process that imports as fast as it can and tells how far it is. It is meant to be killed."""

import json
from multiprocessing.connection import Connection
from pathlib import Path

from core import Store
from core.importing import take
from core.interchange.source import BytesSource
from tests.conftest import ECHO

TURNS = 6
TALKS = 400


def source() -> BytesSource:
    """Conversations of six turns each, with two paths through every one of them."""
    values = [
        {
            "id": f"c{number}",
            "conversations": [
                {"from": "gpt" if place % 2 else "human", "value": f"{number}/{place}"}
                for place in range(TURNS - 2)
            ],
            "chosen": {"from": "gpt", "value": f"{number}/chosen"},
            "rejected": {"from": "gpt", "value": f"{number}/rejected"},
        }
        for number in range(TALKS)
    ]
    return BytesSource("share.json", json.dumps(values).encode())


def live(path: str, pipe: Connection) -> None:
    """Import, and tell of every conversation that is in."""
    with Store.open(Path(path)) as store:
        take(store, source(), config=ECHO, progress=lambda *so_far: pipe.send(so_far))
        pipe.send(None)


def beside(path: str, pipe: Connection) -> None:
    """Import while another process does; tell what became of it."""
    with Store.open(Path(path)) as store:
        pipe.send("ready")
        pipe.recv()
        report = take(store, source(), config=ECHO)
        pipe.send((report.new, report.unchanged, report.messages, report.broke))
