"""Where a key comes from, and that it shows nowhere."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from core import keys
from core.errors import BadFile, Unsupported
from core.prices import OwnPrice, cost, window
from core.providers import adapter
from core.types import Usage

SECRET = "sk-test-0123456789abcdef"


class Drawer(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise PasswordDeleteError
        del self.kept[service, username]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(Drawer())
    yield
    keyring.set_keyring(before)
    keys.type_in("openai", "")


def secrets(text: str) -> None:
    Path(".streamlit").mkdir()
    Path(".streamlit/secrets.toml").write_text(text)


def found() -> tuple[str, str] | None:
    key = keys.find("openai", ["OPENAI_API_KEY"])
    return (key.secret, key.source) if key else None


def test_the_latest_word_of_the_person_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found() is None
    keys.keep("openai", "from-keyring")
    assert found() == ("from-keyring", "keyring")
    secrets('OPENAI_API_KEY = "from-file"')
    assert found() == ("from-file", "secrets file")
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert found() == ("from-environment", "environment")
    keys.type_in("openai", " typed \n")
    assert found() == ("typed", "this process")
    keys.forget("openai")
    assert found() == ("from-environment", "environment")


def test_a_key_is_shown_by_its_end_only() -> None:
    keys.type_in("openai", SECRET)
    key = keys.find("openai")
    assert key is not None
    assert key.ending == "cdef"
    assert SECRET not in repr(key)
    assert SECRET not in repr(keys.endpoint_of(adapter("openai")))


def test_a_secrets_file_that_cannot_be_read_is_said_without_its_words() -> None:
    secrets(f"OPENAI_API_KEY = {SECRET}")
    with pytest.raises(BadFile) as caught:
        keys.find("openai", ["OPENAI_API_KEY"])
    assert SECRET not in f"{caught.value.message}{caught.value.hint}"


def test_a_computer_without_a_keyring_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring.backends.fail import Keyring

    keyring.set_keyring(Keyring())
    with pytest.raises(Unsupported):
        keys.keep("openai", SECRET)
    assert found() is None
    keys.forget("openai")


# --- prices ---


def test_what_is_unknown_costs_an_unknown_amount() -> None:
    usage = Usage(input_tokens=1000, output_tokens=50)
    assert cost("openai", "no-such-model", usage) is None
    assert cost("anthropic", "claude-opus-5-5", Usage(input_tokens=1000)) is None
    assert window("openai", "no-such-model") is None


def test_cached_tokens_are_part_of_the_input_and_cheaper() -> None:
    whole = cost("anthropic", "claude-opus-5-5", Usage(input_tokens=1000, output_tokens=50))
    warm = Usage(input_tokens=1000, cached_tokens=900, output_tokens=50)
    assert whole == 5_000_000  # 1,000 at $4 and 50 at $20 a million
    assert 0 < (cost("anthropic", "claude-opus-5-5", warm) or 0) < whole
    assert (window("anthropic", "claude-opus-5-5") or 0) >= 1_000_000


def test_a_persons_own_price_goes_first() -> None:
    own = OwnPrice(input=Decimal(2), cached=Decimal(1), output=Decimal(10))
    usage = Usage(input_tokens=1000, cached_tokens=500, output_tokens=100)
    assert cost("compatible", "mine", usage, own) == 2_500_000
