"""Who runs a run: host, process id and the process's start, so that a reused id is no alibi."""

import socket
from datetime import UTC, datetime

import psutil

_SILENCE_SECONDS = 60.0


def this_process() -> str:
    """The owner's mark of the current process."""
    process = psutil.Process()
    return f"{socket.gethostname()}|{process.pid}|{process.create_time():.2f}"


def is_dead(owner: str, heartbeat_at: str | None) -> bool:
    """Whether the process that owns a run has ended.

    On this machine the process table knows at once, and a sleeping laptop stays alive; for
    another machine all we have is its silence.
    """
    try:
        host, pid, started = owner.split("|")
        if host == socket.gethostname():
            process = psutil.Process(int(pid))
            # A zombie has ended; its parent only has not asked yet.
            ended = process.status() == psutil.STATUS_ZOMBIE
            born: float = process.create_time()
            return ended or abs(born - float(started)) > 1.0
    except psutil.NoSuchProcess:
        return True
    except ValueError:
        return True
    if heartbeat_at is None:
        return True
    silent = datetime.now(UTC) - datetime.fromisoformat(heartbeat_at)
    return silent.total_seconds() > _SILENCE_SECONDS
