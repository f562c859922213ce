"""Where a provider's key comes from. Keys never reach the database, a log or an export.

The values of a named server's headers are secrets too, and live as keys do.
In this order: typed for this process, the environment, ``.streamlit/secrets.toml``, the
operating system's keyring. What is typed wins, because it is the person's latest word.
"""

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Literal

from core.errors import BadFile, MissingKey, Unsupported
from core.types import Adapter, Endpoint
from core.wire.served import Served, headers_of

Source = Literal["this process", "environment", "secrets file", "keyring"]
_SERVICE = "turntree"
_typed: dict[str, str] = {}
_lock = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key and where it was found. Only its last four characters are ever shown."""

    secret: str = field(repr=False)
    source: Source
    name: str = ""

    @property
    def ending(self) -> str:
        """The last four characters; fewer of a short key, so that most stays hidden."""
        return self.secret[-4:] if len(self.secret) >= 12 else self.secret[-1:]


def find(provider: str, names: Sequence[str] = ()) -> Key | None:
    """The provider's key, or None. ``names`` are environment names, the first that is set wins.

    Raises ``BadFile`` for a secrets file that cannot be read.
    """
    with _lock:
        if secret := _typed.get(provider):
            return Key(secret=secret, source="this process")
    for name in names:
        if secret := os.environ.get(name, "").strip():
            return Key(secret=secret, source="environment", name=name)
    secrets = _secrets_file()
    for name in (*names, provider):
        found = secrets.get(name)
        if isinstance(found, str) and found.strip():
            return Key(secret=found.strip(), source="secrets file", name=name)
    kept = _from_keyring(provider)
    return Key(secret=kept, source="keyring") if kept else None


def endpoint_of(adapter: Adapter) -> Endpoint | None:
    """Where the adapter's provider answers, with its key and headers; None leaves both to it.

    A named server may do without a key. Raises ``MissingKey`` for a header whose value is not
    known in this process, ``BadFile`` as :func:`find`.
    """
    if not adapter.default_url:
        return None
    key = find(adapter.name, adapter.key_names)
    if isinstance(adapter, Served):
        secret = key.secret if key else ""
        return Endpoint(base_url=adapter.default_url, api_key=secret, headers=_headers(adapter))
    return Endpoint(base_url=adapter.default_url, api_key=key.secret) if key else None


def header_key(adapter: Adapter, header: str) -> Key | None:
    """The value of a named server's header: kept, found and forgotten as a key is."""
    return find(header_slot(adapter.name, header), [headers_of(adapter)[header]])


def header_slot(provider: str, header: str) -> str:
    """Under which name a header's value is typed in, kept and forgotten."""
    return f"{provider}:{header.lower()}"


def _headers(adapter: Served) -> dict[str, str]:
    found = {name: header_key(adapter, name) for name in headers_of(adapter)}
    if missing := [name for name, value in found.items() if value is None]:
        raise MissingKey(
            f"{adapter.label}: the value of the header {missing[0]!r} is not known.",
            hint="Type it again in Settings, keep it in the keyring there, or remove the header.",
        )
    return {name: value.secret for name, value in found.items() if value is not None}


def type_in(provider: str, secret: str) -> None:
    """Use a key until this process ends. An empty one is forgotten."""
    with _lock:
        _typed.pop(provider, None)
        if secret.strip():
            _typed[provider] = secret.strip()


def keep(provider: str, secret: str) -> None:
    """Put a key into the operating system's keyring. Raises ``Unsupported`` without one."""
    import keyring
    from keyring.errors import KeyringError

    try:
        keyring.set_password(_SERVICE, provider, secret.strip())
    except (KeyringError, RuntimeError) as error:
        raise Unsupported(
            f"This computer has no keyring that can be used ({type(error).__name__}).",
            hint="Type the key for this process only, or set it in the environment.",
        ) from None


def forget(provider: str) -> None:
    """Forget a typed key and one in the keyring; environment and file are the person's."""
    type_in(provider, "")
    import keyring
    from keyring.errors import KeyringError, PasswordDeleteError

    try:
        keyring.delete_password(_SERVICE, provider)
    except (PasswordDeleteError, KeyringError, RuntimeError):
        return  # there was none


def _from_keyring(provider: str) -> str | None:
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(_SERVICE, provider)
    except (KeyringError, RuntimeError):
        return None


def _secrets_file() -> dict[str, object]:
    path = Path.cwd() / ".streamlit" / "secrets.toml"
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        # The parser's own words may quote a line of the file, and with it a key.
        raise BadFile(
            f".streamlit/secrets.toml cannot be read ({type(error).__name__}).",
            hint='Write one line a key, like OPENAI_API_KEY = "…".',
        ) from None
