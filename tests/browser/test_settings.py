"""Settings as a person meets them: an endpoint from nothing to an answer, in a real browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.types import OwnPrice
from tests.browser.desk import Desk, conversation
from tests.browser.server import Server
from tests.contract.cases_compatible import steps
from tests.contract.test_endpoints import SCENE
from tests.fakes import chat_completions as fake
from tests.fakes.server import serving

KEY = "sk-right-0123456789-abcd"


@pytest.fixture
def box() -> Iterator[tuple[fake.ChatCompletions, str]]:
    """A server that a person may have at home, and its address."""
    server = fake.ChatCompletions(key=KEY)
    server.models = {"data": [{"id": f"model-{n}", "max_model_len": 4096} for n in range(3)]}
    server.play = fake.Play(steps=steps(SCENE))
    with serving(server.app) as address:
        yield server, f"{address}/v1"


def settings(desk: Desk) -> Page:
    desk.page.goto(f"{desk.server.url}settings")
    expect(desk.page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()
    return desk.page


def unfold(page: Page, words: str) -> None:
    """Open a section by the words of its head."""
    page.locator("summary").filter(has_text=words).click()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def add(page: Page, name: str, url: str, key: str = "") -> None:
    """Add an endpoint from a preset."""
    unfold(page, "Add an endpoint")
    page.get_by_role("radio", name="Ollama").or_(
        page.get_by_role("button", name="Ollama")
    ).first.click()
    address = page.get_by_label("Address", exact=True)
    expect(address).to_have_value("http://127.0.0.1:11434/v1")
    address.fill(url)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Key, if it wants one").fill(key)
    press(page, "Add endpoint")


def test_an_endpoint_from_nothing_to_an_answer(
    own_desk: Desk, box: tuple[fake.ChatCompletions, str]
) -> None:
    server, url = box
    page = settings(own_desk)
    add(page, "The box", url, "sk-wrong-0123456789")
    expect(page.get_by_text("Added The box.")).to_be_visible()
    head = page.locator("summary").filter(has_text="The box")
    expect(head).to_contain_text("key …6789")

    press(page, "Test")
    expect(page.get_by_text("The key was refused.")).to_be_visible()
    expect(page.get_by_text("sk-wrong")).to_have_count(0)

    page.get_by_label("Key for The box").fill(KEY)
    press(page, "Use this key")
    expect(head).to_contain_text("key …abcd")  # and it has not folded
    press(page, "Test")
    expect(page.get_by_text("It works: 3 models.")).to_be_visible()
    press(page, "Ask one word")
    expect(page.get_by_text("It answers.")).to_be_visible()

    page.get_by_text("Headers", exact=True).click()
    page.get_by_label("Header", exact=True).fill("X-Team")
    page.get_by_label("Value", exact=True).fill("team-secret-4711")
    press(page, "Set header")
    expect(page.get_by_text("X-Team: …4711 typed, until Turntree ends")).to_be_visible()

    store = own_desk.server.store
    session = conversation(store)
    own_desk.open(session)
    page.get_by_role("combobox", name="Provider").click()
    page.get_by_role("option", name="The box").click()
    expect(page.get_by_text("4.096k window · free")).to_be_visible()
    article = own_desk.ask("Hi there", "Hello there", 1)
    expect(article).to_contain_text("free")
    assert dict(server.seen[-1].headers)["x-team"] == "team-secret-4711"


def test_a_person_s_own_figures_show_in_the_settings_of_a_session(
    own_desk: Desk, box: tuple[fake.ChatCompletions, str]
) -> None:
    page = settings(own_desk)
    add(page, "The box", box[1], KEY)
    expect(page.get_by_text("It has 3 models.")).to_be_visible()
    page.get_by_text("Your own figures").click()
    model = page.get_by_role("combobox", name="Model", exact=True)
    model.click()
    option = page.get_by_role("option", name="model-1")
    try:
        expect(option).to_be_visible(timeout=1500)
    except AssertionError:  # the first click scrolled the page, and that closes a list again
        model.click()
    option.click()
    page.get_by_label("In, USD per M").fill("1.5")
    page.get_by_label("Out, USD per M").fill("3")
    page.get_by_label("Window, tokens").fill("9000")
    press(page, "Save your figures")
    expect(page.get_by_text("Your own figures (1)")).to_be_visible()
    own = own_desk.server.store.providers.own("the-box", "model-1")
    assert own is not None
    assert (str(own.input), own.window) == ("1.5", 9000)
    press(page, "Reset to what is known")
    expect(page.get_by_text("Your own figures", exact=True)).to_be_visible()
    assert own_desk.server.store.providers.own("the-box", "model-1") is None
    assert own != OwnPrice()


def test_a_removed_endpoint_is_gone_from_the_page_and_its_sessions_open(
    own_desk: Desk, box: tuple[fake.ChatCompletions, str]
) -> None:
    page = settings(own_desk)
    add(page, "The box", box[1], KEY)
    expect(page.get_by_text("It has 3 models.")).to_be_visible()
    press(page, "Remove endpoint")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Sessions that used it stay")
    dialog.get_by_role("button", name="Remove endpoint").click()
    expect(page.get_by_text("Removed The box.")).to_be_visible()
    expect(page.locator("summary").filter(has_text="The box")).to_have_count(0)
    assert own_desk.server.store.providers.endpoints() == []


def test_the_key_panel_leads_to_its_provider_and_back_to_the_session(desk: Desk) -> None:
    session = conversation(desk.server.store, "a question", "an answer")
    desk.open(session)
    page = desk.page
    page.get_by_role("combobox", name="Provider").click()
    page.get_by_role("option", name="OpenAI", exact=True).click()
    page.get_by_role("link", name="Providers, endpoints and models").click()
    expect(page.get_by_label("Key for OpenAI")).to_be_visible()
    desk.sidebar.get_by_role("button", name=session.title).first.click()
    expect(desk.answer(1)).to_be_visible()


def test_the_settings_fit_a_phone(
    new_context: Callable[..., BrowserContext], server: Server
) -> None:
    context = new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    desk = Desk(context.new_page(), server)
    page = settings(desk)
    for words in ("Anthropic", "Add an endpoint"):
        unfold(page, words)
    expect(page.get_by_label("Key for Anthropic")).to_be_visible()
    expect(page.get_by_label("Address", exact=True)).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    for control in page.get_by_role("button", name="").all():
        named = control.evaluate("e => (e.ariaLabel || e.innerText || e.title || '').trim()")
        assert named or not control.is_visible(), control.evaluate("e => e.outerHTML.slice(0, 300)")
