"""A process that writes, forks, edits and streams as fast as it can, and tells what is safe.

It is meant to be killed. What it tells through the pipe: ``("node", id, text)`` and
``("branch", id, tip)`` for what was acknowledged as written, and ``("heard", run, text, when)``
for what of an answer had arrived at a moment (seconds since the epoch). ``("pulse", when)``
comes every 50 milliseconds, unless the machine is too busy to let the process live.
"""

import os
import random
import threading
import time
from multiprocessing.connection import Connection

from core import Config, Run, Runner, Store, edit, fork
from core.types import Parts, Text

SLOW = Config(provider="echo", model="echo-slow")
ECHO = Config(provider="echo", model="echo-1")


class Life:
    """One process's life on one database."""

    def __init__(self, path: str, pipe: Connection, seed: int) -> None:
        os.environ["TURNTREE_ECHO"] = "1"
        self.pipe, self.lock = pipe, threading.Lock()
        self.random = random.Random(seed)
        self.store = Store.open(path)
        self.runner = Runner(self.store)
        known = self.store.sessions.recent(1)
        self.session = known[0]["id"] if known else self.store.sessions.create(config=SLOW).id

    def tell(self, *fact: object) -> None:
        with self.lock:
            self.pipe.send(fact)

    def pulse(self) -> None:
        while True:
            self.tell("pulse", time.time())
            time.sleep(0.05)

    def tell_node(self, node_id: str) -> None:
        self.tell("node", node_id, self.store.nodes.get(node_id).text)

    def listen(self, run: Run) -> None:
        """Tell every word of an answer as it comes, and the whole once it is written."""
        text = ""
        for delta in self.runner.follow(run.id):
            text += delta.text
            self.tell("heard", run.id, text, time.time())
        if node_id := self.runner.wait(run.id).node_id:
            self.tell_node(node_id)

    def ask(self) -> None:
        branches = self.store.branches.of(self.session)
        # Most answers outlive the process: they are what a kill comes in the middle of.
        config = self.random.choice([SLOW, SLOW, ECHO])
        size = self.random.randrange(40, 120) if config is SLOW else self.random.randrange(20)
        words = " ".join(f"w{self.random.randrange(1000)}" for _ in range(size))
        branch = self.random.choice(branches)
        sent = self.runner.send(branch.id, f"say {words}", at=branch.tip_id, config=config)
        if isinstance(sent, Run):
            assert sent.context_tip_id
            self.tell_node(sent.context_tip_id)
            threading.Thread(target=self.listen, args=[sent], daemon=True).start()
        else:
            self.tell("queued", sent.id, f"say {words}")

    def change(self) -> None:
        branch = self.random.choice(self.store.branches.of(self.session))
        if branch.tip_id is None:
            return
        node = self.random.choice(self.store.nodes.lineage(branch.tip_id))
        if self.random.random() < 0.5:
            made = fork(self.store, node.id, from_branch=branch.id)
        else:
            parts: Parts = (Text(text=f"edited {self.random.random()} 🌳\x00"),)
            written, made = edit(self.store, branch.id, node.id, parts)
            self.tell_node(written.id)
        self.tell("branch", made.id, made.tip_id)


def live(path: str, pipe: Connection, seed: int) -> None:
    """Write until killed."""
    life = Life(path, pipe, seed)
    life.tell("born", life.session)
    threading.Thread(target=life.pulse, daemon=True).start()
    while True:
        if life.random.random() < 0.4 or len(life.runner.live_in(life.session)) >= 4:
            life.change()
        else:
            life.ask()
        time.sleep(life.random.random() * 0.01)
