"""The settings page: keys, endpoints, models, figures, and what a test says."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import keyring
import pytest
from keyring.backends.null import Keyring
from streamlit.testing.v1 import AppTest

from core import Config, Store, endpoints, errors, keys
from core.models import facts
from core.providers import adapters, learn, protocols
from core.types import ModelInfo, OwnPrice
from pages.components import key_panel, models_panel
from tests.app.conftest import Open, conversation, memory, said, sound
from tests.fakes import chat_completions as fake
from tests.fakes.server import serving

KEY = "sk-typed-0123456789-wxyz"


@pytest.fixture(autouse=True)
def no_keys_of_mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No key from the machine that the test runs on; what is added is taken away again."""
    monkeypatch.chdir(tmp_path)
    for found in protocols().values():
        for name in found.key_names:
            monkeypatch.delenv(name, raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    yield
    keyring.set_keyring(before)
    for name in protocols():
        keys.type_in(name, "")
        learn(name, ())


@pytest.fixture
def nothing_stays(store: Store) -> Iterator[None]:
    yield
    for endpoint in store.providers.endpoints():
        endpoints.remove(store, endpoint.name)


def opened(app: Open, provider: str) -> AppTest:
    """The page with one section unfolded, as a link from a conversation opens it."""
    test = app()
    test.query_params["provider"] = provider
    return sound(test.switch_page("settings.py").run())


def unfold(test: AppTest, name: str) -> AppTest:
    """Open a part that folds."""
    memory(test)[f"open.{name}"] = True
    return sound(test.run())


def press(test: AppTest, label: str) -> AppTest:
    return sound(next(b for b in test.button if b.label == label).click().run())


def write(test: AppTest, label: str, text: str) -> None:
    next(field for field in test.text_input if field.label == label).set_value(text)


def headings(test: AppTest) -> list[str]:
    return [panel.label.replace("\\", "") for panel in test.expander]


# --- keys ------------------------------------------------------------------------------------


def test_every_provider_has_a_folded_section(app: Open) -> None:
    test = app("settings.py")
    for found in adapters().values():
        shown = any(found.label in heading for heading in headings(test))
        assert shown is not found.hidden(), found.label
    assert not test.dataframe
    assert "Add an endpoint" in headings(test)


def test_a_key_is_shown_by_its_source_and_its_last_four_characters(
    app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-outside-0123-abcd")
    test = opened(app, "openai")
    assert any("OpenAI" in heading and "key …abcd" in heading for heading in headings(test))
    assert "…abcd from the environment" in said(test)
    write(test, "Key for OpenAI", KEY)
    press(test, "Use this key")
    assert "…wxyz typed, until Turntree ends" in said(test)
    press(test, "Forget this key")
    assert "…abcd from the environment" in said(test)
    assert "Forget this key" not in [button.label for button in test.button]


def test_a_secrets_file_is_read_and_a_broken_one_is_said(app: Open) -> None:
    Path(".streamlit").mkdir()
    secrets = Path(".streamlit/secrets.toml")
    secrets.write_text(f'GEMINI_API_KEY = "{KEY}"')
    assert "…wxyz from .streamlit/secrets.toml" in said(opened(app, "gemini")).replace("\\", "")
    secrets.write_text(f"GEMINI_API_KEY = {KEY}")
    test = opened(app, "gemini")
    assert any("cannot be read" in error.value for error in test.error)
    assert KEY not in said(test)


# --- tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (errors.MissingKey("x"), "nothing was sent"),
        (errors.AuthFailed("x", status=401), "The key was refused"),
        (errors.NoPermission("x", status=403), "may not do this"),
        (errors.QuotaExhausted("x", status=429), "no credit"),
        (errors.RateLimited("x", status=429), "too often"),
        (errors.Overloaded("x", status=503), "too busy"),
        (errors.Unreachable("x"), "Nothing answers there"),
        (errors.Unreachable("x", status=302), "leads elsewhere"),
        (errors.Timeout("x"), "No answer in time"),
        (errors.BadReply("x"), "not as this protocol does"),
        (errors.BadRequest("x", status=404), "not as this protocol does"),
        (errors.UnknownModel("x"), "not as this protocol does"),
        (errors.BadRequest("x", status=400), "refuses what was asked"),
        (errors.Unsupported("x"), "cannot be asked"),
        (errors.NotFound("x"), "did not work"),
    ],
)
def test_each_trouble_has_words_of_its_own(error: errors.TurntreeError, word: str) -> None:
    assert word in key_panel.meaning(error)


def test_a_model_that_is_not_known_is_told_apart_from_a_wrong_address() -> None:
    error = errors.UnknownModel("x")
    assert "does not know this model" in key_panel.meaning(error, about_list=False)


@pytest.mark.usefixtures("nothing_stays")
def test_the_test_button_tells_bad_key_wrong_address_and_no_server_apart(
    app: Open, store: Store
) -> None:
    server = fake.ChatCompletions(key=KEY)
    with serving(server.app) as url:
        name = endpoints.add(store, label="Box", protocol="compatible", base_url=f"{url}/v1").name
        keys.type_in(name, "sk-wrong-0123456789")
        test = press(opened(app, name), "Test")
        assert "The key was refused" in test.error[0].value
        assert "sk-wrong" not in said(test)
        keys.type_in(name, KEY)
        press(test, "Test")
        assert "It works: 1 models." in test.success[0].value
        endpoints.move(store, name, url)
        assert "not as this protocol does" in press(test, "Test").error[0].value
    assert "Nothing answers there" in press(test, "Test").error[0].value
    keys.type_in(name, "")


# --- endpoints -------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_stays")
def test_an_endpoint_is_added_from_a_preset_renamed_and_removed(app: Open, store: Store) -> None:
    server = fake.ChatCompletions(key="none")
    server.models = {"data": [{"id": f"m-{n}", "max_model_len": 4096} for n in range(3)]}
    with serving(server.app) as url:
        test = app("settings.py")
        unfold(test, "endpoint.add.0")
        pills = next(group for group in test.pills if group.label == "What runs there?")
        sound(pills.set_value("Ollama").run())
        address = next(field for field in test.text_input if field.label == "Address")
        assert address.value == "http://127.0.0.1:11434/v1"
        write(test, "Address", f"{url}/v1")
        press(test, "Add endpoint")
        (kept,) = store.providers.endpoints()
        assert (kept.name, kept.label, kept.base_url) == ("ollama", "Ollama", f"{url}/v1")
        assert any("It has 3 models." in toast.value for toast in test.toast)
        assert list(test.dataframe[0].value["Model"]) == ["m-0", "m-1", "m-2"]

        write(test, "Name", "The box")
        press(test, "Save")
        assert any("**The box**" in heading for heading in headings(test))

        press(test, "Remove endpoint")
        assert len(store.providers.endpoints()) == 1  # it asks first
        assert "Sessions that used it stay" in said(test)
        sound([b for b in test.button if b.label == "Remove endpoint"][-1].click().run())
    assert store.providers.endpoints() == []
    assert not any("The box" in heading for heading in headings(test))


@pytest.mark.usefixtures("nothing_stays")
def test_what_cannot_be_added_is_said_and_stays_in_the_form(app: Open, store: Store) -> None:
    test = app("settings.py")
    unfold(test, "endpoint.add.0")
    write(test, "Name", "Mine")
    write(test, "Address", "https://me:pw@host/v1")
    press(test, "Add endpoint")
    assert "password" in test.error[0].value
    assert store.providers.endpoints() == []
    assert next(f for f in test.text_input if f.label == "Name").value == "Mine"


@pytest.mark.usefixtures("nothing_stays")
def test_headers_are_set_shown_by_their_ends_and_removed(app: Open, store: Store) -> None:
    endpoint = endpoints.add(
        store, label="Gate", protocol="compatible", base_url="https://gate.example/v1"
    )
    test = opened(app, endpoint.name)
    unfold(test, f"{endpoint.name}.headers")
    write(test, "Header", "X-Team")
    write(test, "Value", "a-long-secret-9876")
    press(test, "Set header")
    assert "X-Team: …9876 typed, until Turntree ends" in said(test)
    assert "a-long-secret" not in said(test)
    assert "Headers (1)" in headings(test)
    press(test, "Remove")
    assert store.providers.endpoint(endpoint.name).header_names == ()


@pytest.mark.usefixtures("nothing_stays")
def test_an_unencrypted_way_to_a_far_host_is_pointed_out(app: Open, store: Store) -> None:
    far = endpoints.add(store, label="Far", protocol="openai", base_url="http://far.example/v1")
    near = endpoints.add(store, label="Near", protocol="openai", base_url="http://127.0.0.1:9/v1")
    assert "not encrypted" in opened(app, far.name).warning[0].value
    assert not opened(app, near.name).warning


@pytest.mark.usefixtures("nothing_stays")
def test_a_session_whose_endpoint_was_removed_still_opens(app: Open, store: Store) -> None:
    gone = endpoints.add(store, label="Gone", protocol="openai", base_url="http://127.0.0.1:9/v1")
    session = conversation(store, "q", "a", config=Config(provider=gone.name, model="m"))
    sound(app(session=session.id))
    endpoints.remove(store, gone.name)
    sound(app(session=session.id))


# --- models and figures ----------------------------------------------------------------------


def test_own_figures_are_saved_and_reset(app: Open, store: Store) -> None:
    test = opened(app, "anthropic")
    unfold(test, "anthropic.figures")
    model = next(box for box in test.selectbox if box.key == "anthropic.figures.model")
    sound(model.set_value("claude-opus-5-5").run())
    fields = {field.label: field for field in test.number_input}
    assert fields["Out, USD per M"].placeholder == "20 (genai-prices)"
    fields["In, USD per M"].set_value(1.5)
    fields["Window, tokens"].set_value(5000)
    press(test, "Save your figures")
    mine = OwnPrice(input=Decimal("1.5"), window=5000)
    assert store.providers.own("anthropic", "claude-opus-5-5") == mine
    row = test.dataframe[0].value.set_index("Model").loc["claude-opus-5-5"]
    assert (row["In"], row["Window"], row["Window from"]) == (1.5, 5000, "yours")
    press(test, "Reset to what is known")
    assert store.providers.own("anthropic", "claude-opus-5-5") is None


def test_the_line_under_a_model_tells_what_is_known_and_what_is_not(
    app: Open, store: Store
) -> None:
    session = conversation(store, config=Config(provider="anthropic", model="claude-haiku-4-5"))
    shown = "\n".join(caption.value for caption in app(session=session.id).caption)
    assert "200k window · \\$1 in, \\$5 out per M · prices from genai-prices" in shown
    session = conversation(store, config=Config(provider="openai", model="gpt-nobody-knows"))
    shown = "\n".join(caption.value for caption in app(session=session.id).caption)
    assert "window unknown · price unknown" in shown
    store.providers.set_own("openai", "gpt-nobody-knows", OwnPrice(window=1234))
    known = facts(store, "openai", "gpt-nobody-knows")
    assert models_panel.line(known).startswith("1.234k window")


@pytest.mark.usefixtures("nothing_stays")
def test_a_list_is_offered_in_the_settings_of_a_session_and_refreshed_there(
    app: Open, store: Store
) -> None:
    server = fake.ChatCompletions(key="none")
    server.models = {"data": [{"id": f"m-{n}"} for n in range(40)]}
    with serving(server.app) as url:
        name = endpoints.add(store, label="Box", protocol="compatible", base_url=f"{url}/v1").name
        session = conversation(store, config=Config(provider=name, model="typed"))
        test = app(session=session.id)
        press(test, "Refresh the list of models")
    model = next(box for box in test.selectbox if box.label == "Model")
    assert len(model.options) == 41
    assert any(field.label == "Temperature" for field in test.number_input)
    sound(model.set_value("m-7").run())
    assert store.sessions.get(session.id).config.model == "m-7"


def test_a_list_s_age_is_told_in_words() -> None:
    from datetime import datetime, timedelta

    then = "2026-11-21T12:00:00.000Z"
    start = datetime.fromisoformat(then)
    told = [
        models_panel.ago(then, start + timedelta(minutes=minutes))
        for minutes in (0, 5, 125, 60 * 24, 60 * 60)
    ]
    assert told == [
        "fetched just now",
        "fetched 5 min ago",
        "fetched 2 h ago",
        "fetched 1 day ago",
        "fetched 2 days ago",
    ]
    assert models_panel.ago(None) == "not fetched yet"


def test_numbers_are_written_as_people_write_them() -> None:
    assert [models_panel.tokens(n) for n in (None, 900, 200_000, 1_050_000)] == [
        "unknown",
        "900",
        "200k",
        "1.05M",
    ]
    prices = [None, Decimal(3), Decimal("0.5"), Decimal("0.075"), Decimal(50)]
    assert [models_panel.dollars(price) for price in prices] == [
        "unknown",
        "$3",
        "$0.50",
        "$0.075",
        "$50",
    ]


def test_words_of_a_provider_are_never_markdown(app: Open, store: Store) -> None:
    hostile = "![x](http://evil.example/x.png) **b**"
    store.providers.keep_list("openai", [ModelInfo(id=hostile, label=hostile, note=hostile)])
    session = conversation(store, config=Config(provider="openai", model=hostile))
    test = app(session=session.id)
    assert not any("![x]" in element.value for element in (*test.caption, *test.markdown))
