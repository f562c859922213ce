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
    expect,
    sync_playwright,
)

from tests.browser.desk import Desk
from tests.browser.install import FLAGS, NONE, find
from tests.browser.server import Server

SCREENSHOTS = Path(__file__).with_name("screenshots")
HOME = {"127.0.0.1", "localhost"}
# Streamlit looks for its own files beside a page's address before it looks at the top.
USUAL = [r"404 .*/_stcore/"]
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


class Watch:
    """Notes everything on a page that should not be there."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._allowed = list(USUAL)

    def allow(self, *patterns: str) -> None:
        """Take these as expected, wherever in the test they come."""
        self._allowed += patterns

    def attach(self, context: BrowserContext) -> None:
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.found.append(f"uncaught: {error.error}"))
        context.on("page", self._page)

    def check(self) -> None:
        bad = [one for one in self.found if not any(re.search(p, one) for p in self._allowed)]
        assert not bad, "\n".join(bad)

    def _page(self, page: Page) -> None:
        page.on("websocket", lambda socket: self._address(socket.url))

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


@pytest.fixture
def new_context(
    browser: Browser, watch: Watch, request: pytest.FixtureRequest
) -> Iterator[Callable[..., BrowserContext]]:
    """Make a browser profile: tabs in one share its storage, as a person's tabs do."""
    contexts: list[BrowserContext] = []

    def make(**options: Any) -> BrowserContext:
        made = browser.new_context(
            **{"viewport": {"width": 1440, "height": 900}, "locale": "en-US"} | options
        )
        watch.attach(made)
        contexts.append(made)
        return made

    yield make
    if request.node.stash.get(_failed, False):
        _photograph(contexts, request.node.nodeid)
    for context in contexts:
        context.close()
    watch.check()


def _photograph(contexts: list[BrowserContext], name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    pages = [page for context in contexts for page in context.pages]
    for number, page in enumerate(pages):
        file = re.sub(r"\W+", "-", name.rpartition("/")[2]) + f"-{number}.png"
        with contextlib.suppress(Exception):
            page.screenshot(path=SCREENSHOTS / file, timeout=5000)


@pytest.fixture
def context(new_context: Callable[..., BrowserContext]) -> BrowserContext:
    return new_context()


@pytest.fixture
def new_tab(context: BrowserContext, server: Server) -> Callable[[], Desk]:
    """Open one more tab of the shared app."""
    return lambda: Desk(context.new_page(), server)


@pytest.fixture
def desk(new_tab: Callable[[], Desk]) -> Desk:
    """A tab of the shared app."""
    return new_tab()


@pytest.fixture
def own_desk(context: BrowserContext, own_server: Server) -> Desk:
    """A tab of the test's own app."""
    return Desk(context.new_page(), own_server)
