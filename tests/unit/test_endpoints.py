"""Servers that a person named: kept, told apart, and gone with their secrets."""

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from core import Config, Runner, Store, endpoints, keys
from core.errors import MissingKey, NameTaken, NotFound, UserError
from core.providers import adapter, adapters, learn, model_info, register, scanned
from core.types import ModelInfo
from tests.unit.test_keys import Drawer

URL = "http://127.0.0.1:11434/v1"


@pytest.fixture(autouse=True)
def drawer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Drawer]:
    """A keyring in memory, and no secrets file."""
    monkeypatch.chdir(tmp_path)
    before: KeyringBackend = keyring.get_keyring()
    made = Drawer()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@pytest.fixture(autouse=True)
def nothing_stays(store: Store) -> Iterator[None]:
    yield
    for endpoint in store.providers.endpoints():
        endpoints.remove(store, endpoint.name)
    assert set(adapters()) == set(scanned())


def add(store: Store, label: str = "Ollama", url: str = URL, protocol: str = "compatible") -> str:
    return endpoints.add(store, label=label, protocol=protocol, base_url=url).name


# --- names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Ollama at home", "ollama-at-home"),
        ("  Zoë's   GPU! ", "zoe-s-gpu"),
        ("日本", "endpoint"),
        ("Gemini", "gemini-2"),  # a company's own name is never given away
        ("Local", "local-2"),
    ],
)
def test_a_name_is_made_from_the_label_and_is_nobody_else_s(
    store: Store, label: str, name: str
) -> None:
    assert add(store, label) == name
    assert adapters()[name].label == " ".join(label.split())
    assert name not in scanned()


def test_an_adapter_s_name_cannot_be_registered(store: Store) -> None:
    found = adapter(add(store))
    found.name = "openai"
    with pytest.raises(NameTaken):
        register(found)
    found.name = "ollama"
    assert adapters()["openai"] is scanned()["openai"]


@pytest.mark.parametrize("label", ["Ollama", "OLLAMA", "OpenAI", "  "])
def test_a_label_is_unique_and_not_blank(store: Store, label: str) -> None:
    add(store)
    with pytest.raises((NameTaken, UserError)):
        add(store, label)
    assert len(store.providers.endpoints()) == 1


def test_several_servers_of_one_kind_stand_side_by_side(store: Store) -> None:
    names = [add(store, label) for label in ("A b", "a-b", "a.b")]
    assert names == ["a-b", "a-b-2", "a-b-3"]
    assert len({adapters()[name].key_names for name in names}) == 3


def test_renaming_keeps_the_name_that_runs_know_it_by(store: Store) -> None:
    name = add(store)
    endpoints.rename(store, name, "ollama")  # the same but for its spelling
    endpoints.rename(store, name, "The box")
    assert adapters()[name].label == "The box"
    add(store, "Other")
    with pytest.raises(NameTaken):
        endpoints.rename(store, name, "other")
    with pytest.raises(NotFound):
        endpoints.rename(store, "nobody", "X")


# --- addresses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (" http://127.0.0.1:11434/v1/ ", "http://127.0.0.1:11434/v1"),
        ("localhost:1234/v1", "http://localhost:1234/v1"),
        ("openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
    ],
)
def test_an_address_is_kept_in_one_form(typed: str, kept: str) -> None:
    assert endpoints.address(typed) == kept


@pytest.mark.parametrize(
    "typed",
    ["", "http://", "ftp://x/v1", "http://h:x/v1", "http://a b/", "http://[::1", "http://h:0/v1"],
)
def test_what_is_no_address_is_said_so(typed: str) -> None:
    with pytest.raises(UserError):
        endpoints.address(typed)


@pytest.mark.parametrize(
    "typed",
    ["https://me:sk-secret@h/v1", "https://h/v1?api-key=sk-secret", "https://h/v1#sk-secret"],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(store: Store, typed: str) -> None:
    with pytest.raises(UserError) as caught:
        add(store, url=typed)
    assert "sk-secret" not in f"{caught.value.message}{caught.value.hint}"
    assert store.providers.endpoints() == []


def test_an_unknown_protocol_is_refused(store: Store) -> None:
    for protocol in ("echo", "local", "nothing"):
        with pytest.raises(UserError):
            add(store, protocol=protocol)


# --- secrets ---------------------------------------------------------------------------------


def test_a_key_comes_from_the_endpoint_s_own_name_only(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNTREE_COMPATIBLE_KEY", "somebody-else-s")
    monkeypatch.setenv("OPENAI_API_KEY", "the-company-s")
    name = add(store, "My box")
    found = keys.endpoint_of(adapter(name))
    assert found is not None
    assert (found.base_url, found.api_key) == (URL, "")
    monkeypatch.setenv("TURNTREE_MY_BOX_KEY", "its-own")
    found = keys.endpoint_of(adapter(name))
    assert found is not None
    assert found.api_key == "its-own"


def test_a_header_s_value_is_kept_as_a_key_is_and_its_name_alone_is_stored(
    store: Store, path: Path, drawer: Drawer
) -> None:
    name = add(store)
    endpoints.add_header(store, name, " X-Team ")
    endpoints.add_header(store, name, "x-team")  # the same header
    assert store.providers.endpoint(name).header_names == ("x-team",)
    keys.keep(keys.header_slot(name, "X-Team"), "hush-hush-0123")
    found = keys.endpoint_of(adapter(name))
    assert found is not None
    assert found.headers == {"x-team": "hush-hush-0123"}
    assert "hush" not in repr(found)
    assert ("turntree", f"{name}:x-team") in drawer.kept
    files = [path, *path.parent.glob(f"{path.name}-*")]
    assert b"hush-hush" not in b"".join(file.read_bytes() for file in files)


def test_a_header_whose_value_is_gone_is_said_before_anything_is_sent(store: Store) -> None:
    name = add(store, "Gate")
    endpoints.add_header(store, name, "X-Team")
    with pytest.raises(MissingKey) as caught:
        keys.endpoint_of(adapter(name))
    assert "Gate" in caught.value.message
    assert "X-Team" in caught.value.message


def test_a_header_s_value_may_come_from_the_environment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = add(store, "My box")
    endpoints.add_header(store, name, "X-Team")
    monkeypatch.setenv("TURNTREE_MY_BOX__X_TEAM", "from-outside")
    found = keys.endpoint_of(adapter(name))
    assert found is not None
    assert found.headers == {"X-Team": "from-outside"}


@pytest.mark.parametrize("header", ["", "a b", "X:", "Host", "content-length", "X\r\nY"])
def test_a_header_that_cannot_be_is_refused(store: Store, header: str) -> None:
    name = add(store)
    with pytest.raises(UserError):
        endpoints.add_header(store, name, header)
    assert store.providers.endpoint(name).header_names == ()


def test_a_header_that_adapters_write_too_is_spelled_as_they_do(store: Store) -> None:
    assert endpoints.add_header(store, add(store), "authorization") == "Authorization"


# --- removing --------------------------------------------------------------------------------


def test_removing_forgets_its_secrets_and_no_other_s(store: Store, drawer: Drawer) -> None:
    name, other = add(store), add(store, "Other")
    endpoints.add_header(store, name, "X-Team")
    for slot in (name, keys.header_slot(name, "X-Team"), other):
        keys.keep(slot, f"kept-{slot}")
    keys.type_in(name, "typed")
    store.providers.keep_list(name, [ModelInfo(id="m", label="m", window=7)])
    endpoints.reload(store)
    assert model_info(name, "m").window == 7
    endpoints.remove(store, name)
    assert name not in adapters()
    assert keys.find(name) is None
    assert [slot for _, slot in drawer.kept] == [other]
    assert store.providers.list_of(name) is None
    assert model_info(name, "m").window is None
    keys.forget(other)


def test_a_header_that_is_removed_takes_its_value_along(store: Store, drawer: Drawer) -> None:
    name = add(store)
    endpoints.add_header(store, name, "X-Team")
    keys.keep(keys.header_slot(name, "X-Team"), "secret")
    endpoints.remove_header(store, name, "X-Team")
    assert drawer.kept == {}
    assert keys.endpoint_of(adapter(name)) is not None


def test_a_session_of_a_removed_endpoint_says_what_is_missing(runner: Runner) -> None:
    store = runner.store
    name = add(store)
    session = store.sessions.create(config=Config(provider=name, model="m"))
    endpoints.remove(store, name)
    run = runner.wait(runner.send(session.current_branch_id or "", "Hi").id, 10)
    assert run.failure is not None
    assert "Settings" in run.failure.hint
    assert model_info(name, "m").id == "m"


# --- other processes -------------------------------------------------------------------------


def test_what_another_process_did_is_there_when_a_page_is_opened(store: Store, path: Path) -> None:
    with Store.open(path) as other:
        kept = other.providers.add_endpoint(
            endpoints.NamedEndpoint(name="far", label="Far", protocol="compatible", base_url=URL)
        )
        other.providers.keep_list("far", [ModelInfo(id="m", label="m", window=5)])
        assert "far" not in adapters()
        endpoints.reload(store)
        before = adapters()["far"]
        assert model_info("far", "m").window == 5
        endpoints.reload(store)
        assert adapters()["far"] is before  # nothing changed, nothing made anew
        other.providers.remove_endpoint(kept.name)
    endpoints.reload(store)
    assert "far" not in adapters()


def test_endpoints_are_there_from_the_start(path: Path) -> None:
    with Store.open(path) as store:
        name = add(store)
    with Store.open(path.with_name("other.db")) as other, Runner(other):
        assert name not in adapters()
    with Store.open(path) as store, Runner(store):
        assert name in adapters()


def test_an_endpoint_with_the_name_of_a_new_provider_is_left_out(store: Store) -> None:
    for name, protocol in (("gemini", "compatible"), ("odd", "unheard-of")):
        store.providers.add_endpoint(
            endpoints.NamedEndpoint(name=name, label=name, protocol=protocol, base_url=URL)
        )
    endpoints.reload(store)
    assert adapters()["gemini"] is scanned()["gemini"]
    assert "odd" not in adapters()
    endpoints.reload(store)


def test_walking_through_the_adapters_is_not_disturbed(store: Store) -> None:
    seen = []
    for name in adapters():
        seen.append(name)
        if len(seen) == 1:
            add(store)
    assert "ollama" not in seen


def test_a_list_that_cannot_be_read_any_more_is_no_list(store: Store) -> None:
    store.providers.keep_list("openai", [])
    with store.write() as db:
        db.conn.execute("UPDATE model_lists SET models_json = '[{\"novel\": 1}]'")
    assert store.providers.list_of("openai") is None
    endpoints.reload(store)
    learn("openai", ())


def test_every_preset_is_an_address_that_can_be_added(store: Store) -> None:
    found = endpoints.presets()
    assert {"Ollama", "vLLM", "LM Studio", "OpenRouter", "llama.cpp", "Azure OpenAI"} <= {
        preset.label for _, preset in found
    }
    for protocol, preset in found:
        add(store, preset.label, preset.base_url, protocol)
