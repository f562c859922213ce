"""The embedded model: its weights, its process, and how both are doing.

Pages use :func:`status`, :func:`fetch_in_background`, :func:`stop_fetching`,
:func:`add_own` and :func:`forget_own`; the provider ``local`` uses the rest.
"""

from core.local import catalogue
from core.local.background import FETCHER, Fetching
from core.local.catalogue import (
    CATALOGUE,
    Entry,
    Weights,
    add_own,
    forget_own,
    remembered,
    sampling_of,
)
from core.local.process import ENGINE, Engine
from core.local.server import Server, context_size
from core.local.state import LocalStatus
from core.local.weights import HOW_TO_GET, available, find, is_present

__all__ = [
    "CATALOGUE",
    "ENGINE",
    "HOW_TO_GET",
    "Engine",
    "Entry",
    "Fetching",
    "LocalStatus",
    "Server",
    "Weights",
    "add_own",
    "available",
    "context_size",
    "fetch_in_background",
    "fetching",
    "find",
    "forget_own",
    "is_present",
    "preferred",
    "remembered",
    "sampling_of",
    "status",
    "stop_fetching",
]


def status() -> LocalStatus:
    """How the embedded model is doing, at this moment. Never waits, hashes or starts.

    A fetch under way is told first, then the process, then a fetch that failed.
    """
    fetch = FETCHER.status()
    if fetch is not None and fetch.state == "fetching":
        return fetch
    running = ENGINE.status()
    if running is not None:
        return running
    if fetch is not None:
        return fetch
    there = available()
    if there:
        return LocalStatus(state="idle", model_label=there[0].label, path=there[0].path)
    missing = preferred()
    return LocalStatus(state="not_fetched", model_label=missing.label, path=missing.path)


def preferred() -> Weights:
    """The catalogue's weights that ``TURNTREE_MODEL`` asks for, or the default ones."""
    return catalogue.weights_of(catalogue.preferred())


def fetch_in_background(key: str | None = None) -> bool:
    """Begin to fetch ``default``, ``tiny`` or, without a key, the preferred model.

    Returns at once; false if a fetch is under way. Raises :class:`LocalModelError` for
    another key. :func:`status` tells how far it is.
    """
    return FETCHER.start(key or catalogue.preferred().key)


def fetching() -> Fetching | None:
    """The present or last fetch of this process."""
    return FETCHER.now()


def stop_fetching() -> None:
    """Break off a fetch in the background; what has arrived is kept."""
    FETCHER.stop()
