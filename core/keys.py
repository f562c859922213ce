"""Where a provider's key comes from. Keys never reach the database, a log or an export.

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

from core.errors import BadFile, Unsupported
from core.types import Adapter, Endpoint

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
    """Where the adapter's provider answers, with its key; None leaves both to the adapter."""
    key = find(adapter.name, adapter.key_names) if adapter.default_url else None
    return Endpoint(base_url=adapter.default_url, api_key=key.secret) if key else None


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
