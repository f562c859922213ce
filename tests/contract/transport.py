"""What the transport under every SDK can raise, and what each of its classes becomes of ours."""

from collections.abc import Callable, Mapping, Sequence

import httpx2

from core import errors

Samples = Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]
_GONE, _SLOW, _UNREAD = errors.Unreachable, errors.Timeout, errors.BadReply
_BECOMES: Mapping[type[Exception], type[Exception]] = {
    httpx2.ConnectError: _GONE,
    httpx2.ConnectTimeout: _GONE,
    httpx2.ReadTimeout: _SLOW,
    httpx2.WriteTimeout: _SLOW,
    httpx2.PoolTimeout: _SLOW,
    httpx2.TimeoutException: _SLOW,
    httpx2.ReadError: _GONE,
    httpx2.WriteError: _GONE,
    httpx2.CloseError: _GONE,
    httpx2.NetworkError: _GONE,
    httpx2.ProxyError: _GONE,
    httpx2.ProtocolError: _GONE,
    httpx2.LocalProtocolError: _GONE,
    httpx2.RemoteProtocolError: _GONE,
    httpx2.UnsupportedProtocol: _GONE,
    httpx2.TransportError: _GONE,
    httpx2.SSEError: _UNREAD,
    httpx2.DecodingError: _UNREAD,
    httpx2.TooManyRedirects: _UNREAD,
    httpx2.RequestError: _UNREAD,
    httpx2.InvalidURL: _UNREAD,
}


def samples(said: str, wrap: Callable[[], Exception] | None = None) -> Samples:
    """Each class with an exception that says ``said`` and what it becomes.

    With ``wrap``, those that an SDK wraps before the headers come a second time, as the cause
    of what ``wrap()`` makes.
    """
    found: dict[type[Exception], Sequence[tuple[Exception, type[Exception]]]] = {}
    for kind, ours in _BECOMES.items():
        raw = kind(said)
        found[kind] = [(raw, ours)]
        if wrap and issubclass(kind, httpx2.TransportError) and ours is not _UNREAD:
            wrapped = wrap()
            wrapped.__cause__ = raw
            found[kind] = [(raw, ours), (wrapped, ours)]
    return found
