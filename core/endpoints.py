"""Servers that a person named: added, renamed, changed and removed, each a provider of its own.

The store keeps name, label, protocol, address and the names of headers. Keys and the values of
headers live as keys do (:mod:`core.keys`), and are forgotten with the server.
"""

import logging
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from urllib.parse import urlsplit

from core.errors import NameTaken, UserError
from core.keys import forget, header_slot
from core.providers import (
    Served,
    adapters,
    learn,
    protocols,
    register,
    unregister,
)
from core.store import Store
from core.store.providers import NamedEndpoint
from core.wire.served import Preset, Spoken, on_this_machine

_LONGEST_LABEL, _LONGEST_NAME = 60, 40
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,60}")
_OURS = frozenset({"host", "content-type", "content-length", "accept", "accept-encoding"})
# Headers that adapters write too: the same spelling, or both would be sent.
_SPELLED = {name.lower(): name for name in ("Authorization", "anthropic-version", "x-goog-api-key")}
_log = logging.getLogger("turntree")
_lock = Lock()
_loaded: dict[str, NamedEndpoint] = {}
_lists: dict[str, str] = {}


def presets() -> tuple[tuple[str, Preset], ...]:
    """Kinds of servers that people run, each with the protocol it speaks."""
    return tuple(
        (name, preset)
        for name, found in protocols().items()
        if isinstance(found, Spoken)
        for preset in found.presets
    )


def reload(store: Store) -> None:
    """Bring adapters and lists of models in step with the store; cheap when nothing changed.

    Another process may have added, renamed or removed servers meanwhile.
    """
    there = {endpoint.name: endpoint for endpoint in store.providers.endpoints()}
    fetched = store.providers.fetched()
    with _lock:
        for name in _loaded.keys() - there.keys():
            unregister(name)
            _loaded.pop(name)
            _lists.pop(name, None)
        for endpoint in there.values():
            if _loaded.get(endpoint.name) != endpoint:
                _register(endpoint)
        _learn(store, fetched)


def add(store: Store, *, label: str, protocol: str, base_url: str) -> NamedEndpoint:
    """Name a server. Raises ``NameTaken``, or ``UserError`` for what cannot be used."""
    if protocol not in protocols():
        raise UserError(f"There is no protocol {protocol!r}.", hint="Choose one from the list.")
    label = _label(label, "")
    wanted = NamedEndpoint(
        name=_name(label), label=label, protocol=protocol, base_url=address(base_url)
    )
    kept = store.providers.add_endpoint(wanted)
    reload(store)
    return kept


def rename(store: Store, name: str, label: str) -> None:
    """Give it another label; ``name``, which sessions and runs know it by, stays."""
    endpoint = store.providers.endpoint(name)
    store.providers.change_endpoint(replace(endpoint, label=_label(label, name)))
    reload(store)


def move(store: Store, name: str, base_url: str) -> None:
    """Give it another address. A key from the environment or keyring goes there from now on."""
    endpoint = store.providers.endpoint(name)
    store.providers.change_endpoint(replace(endpoint, base_url=address(base_url)))
    reload(store)


def add_header(store: Store, name: str, header: str) -> str:
    """Send a header too; returns it as it is spelled. Its value is given as a key is."""
    endpoint = store.providers.endpoint(name)
    header = header.strip()
    header = _SPELLED.get(header.lower(), header)
    if not _HEADER.fullmatch(header):
        raise UserError(f"{header!r} cannot be the name of a header.", hint="Such as X-Team.")
    if header.lower() in _OURS:
        raise UserError(f"{header} is written by Turntree itself.", hint="Choose another header.")
    others = [known for known in endpoint.header_names if known.lower() != header.lower()]
    names = tuple(sorted([*others, header], key=str.lower))
    store.providers.change_endpoint(replace(endpoint, header_names=names))
    reload(store)
    return header


def remove_header(store: Store, name: str, header: str) -> None:
    """Do not send it any more, and forget its value."""
    endpoint = store.providers.endpoint(name)
    names = tuple(known for known in endpoint.header_names if known != header)
    store.providers.change_endpoint(replace(endpoint, header_names=names))
    forget(header_slot(name, header))
    reload(store)


def remove(store: Store, name: str) -> None:
    """Forget the server, its secrets, its list and a person's figures; sessions stay readable."""
    endpoint = store.providers.endpoint(name)
    store.providers.remove_endpoint(name)
    for slot in (name, *(header_slot(name, header) for header in endpoint.header_names)):
        forget(slot)
    reload(store)


def address(text: str) -> str:
    """An address as it is kept. Raises ``UserError`` for one that is none, or holds a secret."""
    text = text.strip()
    if text and "://" not in text:
        text = f"{'http' if on_this_machine(f'http://{text}') else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not text.isascii() or any(char.isspace() for char in text):
        raise UserError(
            "This is not an address of a server.",
            hint="It must look like http://127.0.0.1:11434/v1.",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UserError(
            "The address holds more than a place: a name, a password or parameters.",
            hint="Give what is secret as the key or as a header; the address is kept in the file.",
        )
    return text.rstrip("/")


def _label(text: str, name: str) -> str:
    """A label fit to be kept. Raises ``NameTaken`` for one that another provider has."""
    label = " ".join(text.split())[:_LONGEST_LABEL]
    if not label:
        raise UserError("An endpoint needs a name.", hint="Such as Ollama at home.")
    for other in adapters().values():
        if other.label.casefold() == label.casefold() and other.name != name:
            raise NameTaken(f"Another provider is called {other.label!r}.")
    return label


def _name(label: str) -> str:
    """A provider's name from a label, unlike that of any other."""
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_LONGEST_NAME] or "endpoint"
    name, number = base, 1
    while name in adapters():
        number += 1
        name = f"{base}-{number}"
    return name


def _register(endpoint: NamedEndpoint) -> None:
    _loaded[endpoint.name] = endpoint
    spoken = protocols().get(endpoint.protocol)
    if spoken is None:  # kept by a Turntree that spoke more
        _log.warning("the endpoint %r speaks an unknown protocol", endpoint.name)
        return
    served = Served(
        spoken,
        name=endpoint.name,
        label=endpoint.label,
        base_url=endpoint.base_url,
        header_names=endpoint.header_names,
    )
    try:
        register(served)
    except NameTaken:  # this Turntree has a provider of that name, and its key is another's
        _log.warning("the endpoint %r has a provider's name and is left out", endpoint.name)


def _learn(store: Store, fetched: Mapping[str, str]) -> None:
    for provider in _lists.keys() - fetched.keys():
        _lists.pop(provider)
        learn(provider, ())
    for provider, at in fetched.items():
        if _lists.get(provider) != at and (kept := store.providers.list_of(provider)):
            learn(provider, kept.models)
            _lists[provider] = at
