"""One tab, as a person meets it: found by roles and names, never by the page's inner build."""

import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Locator, Page, expect

from core import Config, Session, Store, Text
from core.branching import new_node
from tests.browser.server import Server

ECHO = Config(provider="echo", model="echo-1")
QUIET = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  const works = app.dataset.testScriptState !== "notRunning";
  if (works || !window.lastWork) window.lastWork = performance.now();
  return performance.now() - window.lastWork > 700;
}"""


class Desk:
    """A tab of the app. ``page`` is Playwright's, for what has no word here."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.server = server
        self.box = page.get_by_test_id("stChatInputTextArea")
        self.live = page.get_by_role("article", name=re.compile("being written$"))
        self.feed = page.get_by_role("feed", name="Conversation")
        self.sidebar = page.get_by_role("region", name="Sidebar")
        self.tree = page.get_by_role("tree", name="Conversation tree")

    # --- where ---

    def open(self, session: Session | None = None, **place: str) -> "Desk":
        """Go to a session, or to the start page."""
        if session is not None:
            place["session"] = session.id
        self.page.goto(self.server.url + ("?" + urlencode(place) if place else ""))
        expect(self.box).to_be_visible()
        if session is not None:
            expect(self.feed).to_be_attached()
        return self

    def place(self) -> dict[str, str]:
        """What the address says."""
        return {k: v[0] for k, v in parse_qs(urlsplit(self.page.url).query).items()}

    # --- the conversation ---

    def you(self, turn: int) -> Locator:
        """What the person wrote in a turn."""
        return self.page.get_by_role("article", name=f"Turn {turn}, you", exact=True)

    def answer(self, turn: int) -> Locator:
        """The settled answer of a turn."""
        return self.page.get_by_role(
            "article", name=re.compile(rf"^Turn {turn}, answer by (?!.*being written$)")
        )

    def words(self, article: Locator) -> Locator:
        """The words of a message, without what stands around them."""
        return article.locator(".body")

    def send(self, text: str) -> None:
        """Write into the composer and press Enter."""
        self.box.fill(text)
        self.box.press("Enter")
        expect(self.box).to_have_value("")

    def ask(self, text: str, answer: str, turn: int) -> Locator:
        """Send, and wait until the answer of that turn is there; its article."""
        self.send(text)
        expect(self.words(self.answer(turn))).to_have_text(answer)
        return self.answer(turn)

    def act(self, article: Locator, name: str) -> None:
        """Press a button of a message."""
        article.hover()
        article.get_by_role("button", name=name, exact=True).click()

    def quiet(self) -> None:
        """Wait until the page has had nothing to do for a while: what is drawn anew closes a
        menu that was opened in it."""
        self.page.evaluate("delete window.lastWork")
        self.page.wait_for_function(QUIET)

    def queued(self) -> Locator:
        """The messages that wait for their turn."""
        return self.page.get_by_role("group", name="Queued message")

    # --- the tree ---

    def row(self, words: str) -> Locator:
        """A message in the tree."""
        return self.tree.get_by_role("treeitem", name=re.compile(re.escape(words)))

    def branch(self, name: str) -> Locator:
        """The tag of a branch in the tree."""
        tag = re.compile(rf"^Branch {re.escape(name)}(, current)?$")
        return self.tree.get_by_role("button", name=tag)

    def row_menu(self, words: str, item: str) -> None:
        """Choose from the menu of a message in the tree."""
        self.row(words).click(button="right")
        self.page.get_by_role("menuitem", name=item, exact=True).click()

    def facts(self) -> Locator:
        """The line under the title: where the conversation stands."""
        return self.page.locator(".st-key-facts")


def conversation(store: Store, *texts: str, config: Config = ECHO, **more: Any) -> Session:
    """A session whose one branch holds these texts, person and model in turn."""
    session = store.sessions.create(config=config, **more)
    extend(store, session, *texts)
    return store.sessions.get(session.id)


def extend(store: Store, session: Session, *texts: str) -> list[str]:
    """Add messages at the end of the session's first branch; their ids."""
    branch_id = session.current_branch_id
    assert branch_id is not None
    tip, added = store.branches.get(branch_id).tip_id, []
    start = len(store.nodes.lineage(tip))
    with store.write():
        for number, text in enumerate(texts, start):
            role = "assistant" if number % 2 else "user"
            author = "model" if number % 2 else "person"
            node = new_node(session.id, tip, role, (Text(text=text),), author=author)
            store.nodes.add(node)
            tip = node.id
            added.append(tip)
        store.branches.move(branch_id, tip, why="send")
    return added


def lineage(store: Store, session: Session, branch: str | None = None) -> list[tuple[str, str]]:
    """Role and words of every message of a branch, by its name; of the first without one."""
    found = next(b for b in store.branches.of(session.id) if branch is None or b.name == branch)
    return [(node.role, node.text) for node in store.nodes.lineage(found.tip_id)]
