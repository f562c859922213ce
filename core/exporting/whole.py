"""Sessions taken away whole: one, some or all of them, in one file of our own format."""

from collections.abc import Callable, Iterable
from typing import IO

from core.errors import UserError
from core.formats.native import WholeSession, pack
from core.store import Store
from core.types import Stop


def sessions(
    store: Store,
    ids: Iterable[str],
    stream: IO[bytes],
    *,
    progress: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> bool:
    """Write these sessions to a stream, one in memory at a time. False when it was stopped: what
    is in the stream then is to be thrown away.

    ``progress`` is called with how many are done. The same sessions make the same bytes, in
    whatever order they are named. Raises ``NotFound`` for one that there is not, ``UserError``
    for none.
    """
    found = [one_of(store, session_id) for session_id in sorted(set(ids))]
    if not found:
        raise UserError("No session was chosen.", hint="Choose one, or all of them.")
    return pack(stream, found, progress, stop)


def one_of(store: Store, session_id: str) -> WholeSession:
    """A session to be packed. Raises ``NotFound``."""
    return WholeSession(
        id=session_id,
        title=store.sessions.get(session_id).title,
        records=lambda: store.portable.records(session_id),
        files=store.attachments,
    )


def every(store: Store, *, binned: bool = False) -> list[str]:
    """The ids of all sessions, the latest first; with ``binned`` those in the bin as well."""
    live = store.sessions.recent(store.sessions.count())
    gone = store.sessions.recent(store.sessions.count(binned=True), binned=True) if binned else []
    return [row["id"] for row in [*live, *gone]]
