"""A server that a person named: an adapter's protocol under a name, address and key of its own.

The company that made the protocol has no part in it: neither its key nor its address is used,
and what goes wrong is told under the person's name for the server.
"""

import copy
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from core.errors import MissingKey, ProviderError, TurntreeError
from core.types import Adapter, Caching, Call, Endpoint, Event, Json, ModelInfo, Request, Stop
from core.wire.code import curl_with, script_with

NO_KEY = "not-needed"
"""What a server that wants no key is given for one: no SDK goes without."""
_NONE = "none"  # the same, too short to be taken for a secret when it is told of an error
_HERE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A kind of server that people run: where it usually answers, and what is good to know.

    ``keyless`` says that it asks for no key unless it was set up to.
    """

    label: str
    base_url: str
    about: str = ""
    keyless: bool = False


@runtime_checkable
class Assuming(Protocol):
    """An adapter that knows what may be expected of a model which nobody has described."""

    def assume(self, model: str) -> ModelInfo:
        """What holds of a model typed by hand: at least the settings the protocol has."""
        ...


@runtime_checkable
class Spoken(Protocol):
    """An adapter whose protocol other servers speak too."""

    presets: tuple[Preset, ...]


def on_this_machine(base_url: str) -> bool:
    """Whether an address is on this very machine."""
    try:
        return urlsplit(base_url).hostname in _HERE
    except ValueError:
        return False


class Served:
    """The adapter of a named server. ``protocol`` is the one whose language it speaks."""

    def __init__(
        self,
        protocol: Adapter,
        *,
        name: str,
        label: str,
        base_url: str,
        header_names: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.label = label
        self.default_url = base_url
        self.key_names: tuple[str, ...] = (key_name(name),)
        self.header_names = header_names
        self.protocol = protocol.name
        self.counts = protocol.counts
        self.here = on_this_machine(base_url)
        self._home = protocol.default_url
        self._speaker = copy.copy(protocol)
        # Whoever runs the code of a call sets this server's key, not the company's.
        self._speaker.name, self._speaker.key_names = name, self.key_names

    def hidden(self) -> bool:
        """Never: it was named in order to be used."""
        return False

    def models(self) -> tuple[ModelInfo, ...]:
        """None: only the server knows what it serves."""
        return ()

    def assume(self, model: str) -> ModelInfo:
        """What the protocol's own adapter would expect of it; on this machine it is free."""
        known = {info.id: info for info in self._speaker.models()}
        bare = ModelInfo(id=model, label=model)
        if isinstance(self._speaker, Assuming):
            bare = self._speaker.assume(model)
        return self._priced(known.get(model, bare))

    def build(self, call: Call) -> Request:
        """The call in the protocol's form."""
        return self._speaker.build(call)

    def stream(self, request: Request, endpoint: Endpoint | None, stop: Stop) -> Iterator[Event]:
        """Send and yield; errors name the server."""
        with self._named(str(request.envelope.get("model", ""))):
            yield from self._speaker.stream(request, self._reachable(endpoint), stop)

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The models that the server names. A real call."""
        with self._named(""):
            listed = self._speaker.list_models(self._reachable(endpoint))
        return tuple(self._priced(info) for info in listed)

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """The exact input tokens, where the protocol counts them and the server does."""
        with self._named(str(request.envelope.get("model", ""))):
            return self._speaker.count_tokens(request, self._reachable(endpoint))

    def caching(self, model: str) -> Caching | None:
        """None: it need not keep what the company keeps."""
        return None

    def body(self, request: Request) -> Json:
        """What goes over the wire."""
        return self._speaker.body(request)

    def script(self, request: Request, base_url: str) -> str:
        """A Python script of this very call, to this server."""
        script = self._speaker.script(request, base_url or self.default_url)
        return script_with(script, headers_of(self))

    def curl(self, request: Request, base_url: str) -> str:
        """The same call as a curl command line."""
        command = self._speaker.curl(request, base_url or self.default_url)
        return curl_with(command, headers_of(self))

    def _priced(self, info: ModelInfo) -> ModelInfo:
        return replace(info, free=True) if self.here else info

    def _reachable(self, given: Endpoint | None) -> Endpoint:
        """Address and key of this server. Raises ``MissingKey`` at the company's own address."""
        if given is None:
            given = Endpoint(base_url="", api_key=os.environ.get(self.key_names[0], ""))
        key, url = given.api_key.strip(), given.base_url or self.default_url
        if not key and self._home and _host(url) == _host(self._home):
            raise MissingKey("No key is set.")
        return Endpoint(base_url=url, api_key=key or _NONE, headers=given.headers)

    @contextmanager
    def _named(self, model: str) -> Iterator[None]:
        try:
            yield
        except TurntreeError as error:
            error.message = f"{self.label}: {error.message}"
            error.args = (error.message,)
            if isinstance(error, ProviderError):
                error.provider, error.model = self.name, model
            raise


def key_name(name: str) -> str:
    """The environment name of a named server's key."""
    return f"TURNTREE_{_shouted(name)}_KEY"


def header_key_name(name: str, header: str) -> str:
    """The environment name of a header's value. The double line keeps it apart from a key's."""
    return f"TURNTREE_{_shouted(name)}__{_shouted(header)}"


def headers_of(adapter: Adapter) -> Mapping[str, str]:
    """The headers that an adapter's server wants: the environment name of each value, by name."""
    if not isinstance(adapter, Served):
        return {}
    return {header: header_key_name(adapter.name, header) for header in adapter.header_names}


def _shouted(name: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in name).upper()


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
