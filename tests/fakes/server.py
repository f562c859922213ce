"""Servers on loopback: an ASGI app in a thread, and a bare socket for what HTTP forbids."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

SLOWEST_START = 10.0


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Run an ASGI app on a free loopback port; gives its address without a path."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    deadline = time.monotonic() + SLOWEST_START
    while not server.started:
        if time.monotonic() > deadline:
            raise TimeoutError("the fake server did not start")
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(SLOWEST_START)
        listener.close()


@contextmanager
def bare(act: Callable[[socket.socket], None]) -> Iterator[str]:
    """Accept connections and let ``act`` do with each whatever it likes, then close it."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_sockets: list[socket.socket] = []

    def handle(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            act(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_sockets.append(connection)
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for opened in [listener, *open_sockets]:
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()
