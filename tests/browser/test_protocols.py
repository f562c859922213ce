"""The four protocols as a person meets them: key, models, an answer, Stop, and its code."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal

import pytest
from playwright.sync_api import BrowserContext, expect

from core import Config, endpoints
from core.types import OwnPrice, Usage
from tests.browser.desk import Desk, conversation
from tests.browser.server import ROOT
from tests.contract.case import Scene
from tests.contract.four import NAMES, Place, places

KEY = "sk-right-0123456789-abcd"
WRONG = "sk-wrong-0123456789-wxyz"
ANSWER = Scene(text=("Grüße", " aus der Ferne"), usage=Usage(input_tokens=2000, output_tokens=50))
ENDLESS = Scene(text=("word ",) * 400, pause=0.05)
LISTED = {
    "anthropic": [{"id": "claude-opus-5-5", "type": "model", "display_name": "Opus"}],
    "gemini": [
        {
            "name": "models/gemini-3.8-flash",
            "displayName": "Flash",
            "supportedGenerationMethods": ["generateContent"],
        }
    ],
}


@pytest.fixture(params=NAMES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A strict fake of one protocol, which answers to one key."""
    with places(KEY, [request.param]) as found:
        place = found[request.param]
        if request.param in LISTED:
            place.server.models = LISTED[request.param]
        place.put(ANSWER)
        yield place


@pytest.fixture
def named(own_desk: Desk, place: Place) -> Iterator[Desk]:
    """The fake as an endpoint of the person's, with a price, open in Settings."""
    store = own_desk.server.store
    url = place.endpoint.base_url
    endpoints.add(store, label="Far away", protocol=place.name, base_url=url)
    own = OwnPrice(input=Decimal(1), output=Decimal(2))
    store.providers.set_own("far-away", place.config.model, own)
    own_desk.page.goto(f"{own_desk.server.url}settings?provider=far-away")
    yield own_desk
    endpoints.remove(store, "far-away")


def use_key(desk: Desk, key: str) -> None:
    desk.page.get_by_label("Key for Far away").fill(key)
    desk.page.get_by_role("button", name="Use this key", exact=True).click()
    expect(desk.page.locator("summary").filter(has_text="Far away")).to_contain_text(key[-4:])


def test_from_a_wrong_key_to_an_answer_and_its_code(
    named: Desk, place: Place, context: BrowserContext
) -> None:
    page = named.page
    use_key(named, WRONG)
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text("The key was refused.")).to_be_visible()
    expect(page.get_by_text(WRONG)).to_have_count(0)
    use_key(named, KEY)
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text(re.compile(r"It works: \d+ models?\."))).to_be_visible()

    config = Config(provider="far-away", model=place.config.model)
    named.open(conversation(named.server.store, config=config))
    article = named.ask("Say hello", "Grüße aus der Ferne", 1)
    expect(article).to_contain_text("50 tokens")
    expect(article).to_contain_text("$0.0021")

    named.act(article, "What was sent")
    dialog = page.get_by_role("dialog", name="What was sent")
    expect(dialog).to_contain_text("Say hello")
    dialog.get_by_role("tab", name="Numbers").click()
    expect(dialog).to_contain_text("2,000")
    dialog.get_by_role("tab", name="Get code").click()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_role("button", name="Copy Python").click()
    expect(dialog.get_by_role("button", name="Copy Python")).to_have_text("Copied")
    code = str(page.evaluate("navigator.clipboard.readText()"))
    assert KEY not in code
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "TURNTREE_FAR_AWAY_KEY": KEY},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "Grüße aus der Ferne"


def test_stop_hangs_up_and_keeps_what_came(named: Desk, place: Place) -> None:
    use_key(named, KEY)
    place.put(ENDLESS)
    config = Config(provider="far-away", model=place.config.model)
    named.open(conversation(named.server.store, config=config))
    named.send("Talk on")
    expect(named.live).to_contain_text("word word")
    named.live.get_by_role("button", name="Stop").click()
    expect(named.answer(1)).to_contain_text("stopped by you")
    assert place.server.hung_up.wait(10)
