"""A browser, the app, and tabs that complain: about errors on the page and foreign requests."""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    Request,
    WebError,
    expect,
    sync_playwright,
)

from tests.browser.desk import Desk
from tests.browser.install import FLAGS, NONE, find
from tests.browser.server import Server

SCREENSHOTS = Path(__file__).with_name("screenshots")
USUAL_SCREEN: dict[str, Any] = {"viewport": {"width": 1440, "height": 900}, "locale": "en-US"}
HOME = {"127.0.0.1", "localhost"}
# Streamlit looks for its own files beside a page's address before it looks at the top.
USUAL = [r"404 .*/_stcore/"]
STILL = """
const animate = Element.prototype.animate;
Element.prototype.animate = function (...motion) {
  const begun = animate.apply(this, motion);
  begun.finish();
  return begun;
};
"""
"""Ends a motion as it begins: a browser without a processor to itself may freeze the unfolding of
a part of the page half-way, and a click then meets what was not there when it was aimed."""
LOST = [
    r"WebSocket connection to .* failed",
    r"ERR_CONNECTION_(REFUSED|RESET)",
    r"ERR_EMPTY_RESPONSE",
    r"Cannot send rerun backMessage when disconnected",
]
"""What a browser says while its server is away."""

expect.set_options(timeout=10_000)
_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = find()
    if path is None:
        pytest.fail(NONE, pytrace=False)
    launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
    yield launched
    launched.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app that tests share; each makes a session of its own in it."""
    started = Server(tmp_path_factory.mktemp("app"))
    yield from _served(started)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """An app with an empty database that belongs to one test alone."""
    yield from _served(Server(tmp_path))


def _served(server: Server) -> Iterator[Server]:
    try:
        yield server.start()
    finally:
        server.stop()
    assert "Traceback" not in server.said(), server.said()


class Watch:
    """Notes everything on a page that should not be there."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._allowed = list(USUAL)
        self._events: dict[Any, Callable[[Any], None]] = {
            "request": self._request,
            "console": self._console,
            "weberror": self._error,
            "page": self._page,
        }

    def allow(self, *patterns: str) -> None:
        """Take these as expected, wherever in the test they come."""
        self._allowed += patterns

    def attach(self, context: BrowserContext) -> None:
        for event, heard in self._events.items():
            context.on(event, heard)

    def detach(self, context: BrowserContext) -> None:
        for event, heard in self._events.items():
            context.remove_listener(event, heard)

    def check(self) -> None:
        bad = [one for one in self.found if not any(re.search(p, one) for p in self._allowed)]
        assert not bad, "\n".join(bad)

    def _page(self, page: Page) -> None:
        page.on("websocket", lambda socket: self._address(socket.url))

    def _error(self, error: WebError) -> None:
        self.found.append(f"uncaught: {error.error}")

    def _request(self, request: Request) -> None:
        self._address(request.url)

    def _address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in HOME:
            self.found.append(f"request to another host: {url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.found.append(f"console: {message.text} {message.location.get('url', '')}")


@pytest.fixture
def watch() -> Watch:
    return Watch()


def _still(made: BrowserContext) -> BrowserContext:
    made.add_init_script(STILL)
    return made


@pytest.fixture
def new_context(
    browser: Browser, watch: Watch, request: pytest.FixtureRequest
) -> Iterator[Callable[..., BrowserContext]]:
    """Make a browser profile of the test's own: a phone, a dark screen."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        made = _still(browser.new_context(**USUAL_SCREEN | options))
        watch.attach(made)
        contexts.append(made)
        return made

    yield make
    _photograph_if_failed(contexts, request)
    for context in contexts:
        context.close()
    watch.check()


@pytest.fixture(scope="session")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """The profile that tests share: its cache makes every page but the first come at once."""
    made = _still(browser.new_context(**USUAL_SCREEN))
    yield made
    made.close()


@pytest.fixture
def context(
    profile: BrowserContext, watch: Watch, request: pytest.FixtureRequest
) -> Iterator[BrowserContext]:
    """A profile without open tabs. Two tabs in it share their storage, as a person's do."""
    watch.attach(profile)
    yield profile
    _photograph_if_failed([profile], request)
    profile.set_offline(False)
    profile.clear_permissions()
    for page in profile.pages:
        page.close()
    watch.detach(profile)
    watch.check()


def _photograph_if_failed(contexts: list[BrowserContext], request: pytest.FixtureRequest) -> None:
    if not request.node.stash.get(_failed, False):
        return
    SCREENSHOTS.mkdir(exist_ok=True)
    pages = [page for context in contexts for page in context.pages]
    for number, page in enumerate(pages):
        name = request.node.nodeid.rpartition("/")[2]
        file = re.sub(r"\W+", "-", name) + f"-{number}.png"
        with contextlib.suppress(Exception):
            page.screenshot(path=SCREENSHOTS / file, timeout=5000)


@pytest.fixture
def new_tab(context: BrowserContext, server: Server) -> Callable[[], Desk]:
    """Open one more tab of the shared app."""
    return lambda: Desk(context.new_page(), server)


@pytest.fixture
def desk(new_tab: Callable[[], Desk]) -> Desk:
    """A tab of the shared app."""
    return new_tab()


@pytest.fixture
def own_desk(context: BrowserContext, own_server: Server) -> Iterator[Desk]:
    """A tab of the test's own app; closed before the app ends, or it would complain of that."""
    page = context.new_page()
    yield Desk(page, own_server)
    page.close()
