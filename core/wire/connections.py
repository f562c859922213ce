"""The HTTP client that adapters hand to their SDK, and what it means when it fails.

Three promises no SDK keeps by itself. The request carries exactly the headers the adapter
names: SDKs add organisation, project and free headers found in the environment, and none of
those is a third party's business. Redirects are not followed: they would carry the conversation
elsewhere. And Stop is heard at once: closing a stream from another thread does not wake a reader
that waits in silence, so the socket is shut down instead, even before the first header came.
For that every answer gets a connection of its own, known from its first moment.
"""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from core.errors import AuthFailed, Timeout, Unreachable, Unsupported
from core.types import Endpoint, Stop
from core.wire.secrecy import keep_secret

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS, READ_SECONDS, WRITE_SECONDS, POOL_SECONDS = 10.0, 300.0, 60.0, 10.0
_STOP: ContextVar[Stop | None] = ContextVar("stop of the call being made", default=None)


def timeouts() -> "httpx2.Timeout":
    """Seconds for each phase; "read" is silence between bytes, and models may think long."""
    import httpx2

    return httpx2.Timeout(
        connect=CONNECT_SECONDS, read=READ_SECONDS, write=WRITE_SECONDS, pool=POOL_SECONDS
    )


def http_client(base_url: str, headers: Mapping[str, str]) -> "httpx2.Client":
    """A client whose requests carry ``headers`` and what HTTP itself needs, nothing else.

    Proxies and certificates of the environment are honoured, but not for this machine.
    """
    import httpx2

    def dress(request: httpx2.Request) -> None:
        request.headers = httpx2.Headers(
            {
                "Host": request.url.netloc.decode("ascii"),
                "Content-Type": "application/json",
                "Content-Length": str(len(request.content)),
                "Accept": "text/event-stream, application/json",
                "Accept-Encoding": "identity",
                "User-Agent": "Turntree",
            }
        )
        request.headers.update(headers)
        request.extensions = {**request.extensions, "trace": partial(_watch, _STOP.get())}

    here = urlsplit(base_url).hostname in ("localhost", "127.0.0.1", "::1")
    return httpx2.Client(
        timeout=timeouts(),
        limits=httpx2.Limits(max_keepalive_connections=0),
        follow_redirects=False,
        trust_env=not here,
        event_hooks={"request": [dress]},
    )


@contextmanager
def heard(stop: Stop) -> Iterator[None]:
    """Within, connections opened through :func:`http_client` hang up when ``stop`` is set.

    Wrap the opening of a stream only: a generator that yields inside would leak the setting.
    """
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def _watch(stop: Stop | None, event: str, info: Mapping[str, Any]) -> None:
    if stop and event.endswith(("connect_tcp.complete", "start_tls.complete")):
        stop.on_set(partial(_hang_up, info["return_value"].get_extra_info("socket")))


def _hang_up(connection: socket.socket) -> None:
    """Wake the reader and tell the server, whichever thread asks. The reader then closes."""
    with suppress(OSError):  # it may be closed already
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def checked(endpoint: Endpoint, no_key: str) -> Endpoint:
    """The endpoint with a usable address and key, before anything is sent.

    ``no_key`` stands in for an empty key. What is secret of it is in no log from then on.
    Raises :class:`AuthFailed`, :class:`Unsupported`.
    """
    key = endpoint.api_key.strip() or no_key
    if not (key.isascii() and key.isprintable()):
        raise AuthFailed("The key holds characters that no key has.")
    try:
        parts = urlsplit(endpoint.base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        # Addresses are logged and shown, and none of this would be sent as it stands there.
        more = "@" in parts.netloc or bool(parts.query or parts.fragment)
    except ValueError:
        usable, more = False, False
    if not usable or more:
        raise Unsupported(
            "The server's address cannot be used.",
            hint="Give what is secret as the key or as a header, not in the address."
            if more
            else "It must look like http://127.0.0.1:11434/v1. Change it, then retry.",
        )
    keep_secret([value for value in (key, *endpoint.headers.values()) if value != no_key])
    return Endpoint(base_url=endpoint.base_url, api_key=key, headers=endpoint.headers)


def transport_error(
    exc: BaseException | None, *, provider: str, model: str
) -> Timeout | Unreachable | None:
    """Our error for one of the transport's own, None for anything else."""
    import httpx2

    absent = httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError
    if isinstance(exc, absent | httpx2.UnsupportedProtocol):
        return Unreachable("No connection to the server.", provider=provider, model=model)
    if isinstance(exc, httpx2.TimeoutException):
        return Timeout("The server was silent for too long.", provider=provider, model=model)
    if isinstance(exc, httpx2.TransportError) and not isinstance(exc, httpx2.SSEError):
        return Unreachable(
            "The connection broke before the answer was complete.", provider=provider, model=model
        )
    return None
