"""What a person waits for, in a real browser on the real app: from the click to the frame that
shows the new words, in a short conversation and in a long one."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.table import Line, milliseconds, ratio, show
from bench.words import prose
from core import Config, Run, Runner, Session, Store, Text
from core.branching import new_node, sibling
from core.owner import this_process
from core.types import Request, new_id, now
from tests.browser.install import FLAGS, NONE, find
from tests.browser.server import Server

SHORT, LONG = 20, 1000  # turns
LENGTH = 400  # characters of every message
TIMES = 7
TARGET = 1.3
_ECHO = Config(provider="echo", model="echo-1")
_PAUSE = 700  # ms between two measurements, for whatever the last one left to do

# The thread lives in a shadow root, which outlives the rerun. Only a small part of the page is
# watched, so that the watching costs next to nothing.
_MEASURE = """
async ({ press, shown, words }) => {
  const hosts = [...document.querySelectorAll("*")].map((element) => element.shadowRoot);
  const root = hosts.find((host) => host?.querySelector(".thread"));
  const turns = root.querySelector(".turns");
  const button = [...root.querySelectorAll(press), ...document.querySelectorAll(press)].at(-1);
  const there = () =>
    [...turns.children].slice(-2).some(
      (turn) => turn.matches(shown) && turn.querySelector(".body").textContent.includes(words));
  const began = performance.now();
  button.click();
  await new Promise((resolve, reject) => {
    const observer = new MutationObserver(() => {
      if (!there()) return;
      observer.disconnect();
      resolve();
    });
    observer.observe(turns, { subtree: true, childList: true, attributes: true });
    setTimeout(() => reject(new Error(`"${words}" never appeared`)), 30000);
  });
  await new Promise(requestAnimationFrame);
  return (performance.now() - began) / 1000;
}
"""
_ANSWER = '.turn.assistant.last[data-state="settled"]'


@dataclass(frozen=True, slots=True)
class _Tab:
    """A tab that shows one conversation."""

    page: Page
    url: str

    def open(self) -> None:
        """Load the conversation and wait for its last answer."""
        self.page.goto(self.url)
        self.page.locator(_ANSWER).wait_for()

    def measure(self, **what: str) -> float:
        """Seconds from a click to the frame that shows what it brought."""
        self.page.bring_to_front()
        self.page.wait_for_timeout(_PAUSE)
        return float(self.page.evaluate(_MEASURE, {"shown": _ANSWER, **what}))


def run() -> None:
    """Switch between versions of an answer, then send; short and long in turn."""
    browser = find()
    if browser is None:
        print(f"\nBrowser: not measured. {NONE}")
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        _app(Path(folder)) as (server, sessions),
        sync_playwright() as playwright,
    ):
        chromium = playwright.chromium.launch(executable_path=browser, args=list(FLAGS))
        tabs = [_Tab(chromium.new_page(), f"{server.url}?session={s.id}") for s in sessions]
        lines = [
            _line("switch to another version of the answer", tabs, _switch),
            _line("send, and the answer is settled", tabs, _send),
        ]
        chromium.close()
    show(
        "Browser: from the click to the frame that shows it",
        f"{SHORT} turns",
        f"{LONG} turns",
        lines,
    )


@contextmanager
def _app(folder: Path) -> Iterator[tuple[Server, list[Session]]]:
    """The app over a database that holds both conversations."""
    server = Server(folder)
    runner = Runner(server.store)
    sessions = [_conversation(runner, turns) for turns in (SHORT, LONG)]
    runner.close()
    try:
        yield server.start(), sessions
    finally:
        server.stop()


def _line(what: str, tabs: list[_Tab], act: Callable[[_Tab, int], float]) -> Line:
    for tab in tabs:
        tab.open()
    seconds: list[list[float]] = [[] for _ in tabs]
    for n in range(TIMES + 1):
        for tab, kept in zip(tabs, seconds, strict=True):
            took = act(tab, n)
            if n:  # the first one warms up
                kept.append(took)
    short, long = seconds
    return Line(
        what=what,
        base=milliseconds(short),
        measured=milliseconds(long),
        ratio=ratio(long, short),
        target=TARGET,
    )


def _switch(tab: _Tab, n: int) -> float:
    """To a version that this tab has never seen."""
    return tab.measure(press='[aria-label="Next version"]', words=_version(n))


def _send(tab: _Tab, n: int) -> float:
    """The scripted provider repeats what it is sent, without a pause."""
    words = prose(-n, LENGTH)
    tab.page.get_by_test_id("stChatInputTextArea").fill(words)
    return tab.measure(press='[data-testid="stChatInputSubmitButton"]', words=words)


def _version(n: int) -> str:
    return f"This is version {n + 2}."


def _conversation(runner: Runner, turns: int) -> Session:
    """A session of so many turns, with versions of its last answer."""
    store = runner.store
    session = store.sessions.create(config=_ECHO, title=f"{turns} turns")
    branch_id = str(session.current_branch_id)
    with store.write():
        tip = None
        for turn in range(turns - 1):
            tip = _turn(store, session, tip, turn)
        store.branches.move(branch_id, tip, why="send")
    # The last one for real, so that what was sent up to here is on record.
    sent = runner.send(branch_id, prose(turns, LENGTH))
    answer = runner.wait(sent.id).node_id
    assert answer is not None
    for n in range(TIMES + 1):
        words = f"{_version(n)} {prose(turns + n, LENGTH)}"
        sibling(store, answer, (Text(text=words),))
    return session


def _turn(store: Store, session: Session, tip: str | None, turn: int) -> str:
    """A question, its answer and the run between them; the answer's id."""
    asked, said = (Text(text=prose(2 * turn + n, LENGTH)) for n in range(2))
    question = store.nodes.add(new_node(session.id, tip, "user", (asked,)))
    answer = new_node(session.id, question.id, "assistant", (said,), author="model")
    store.nodes.add(answer)
    made = Run(
        id=new_id(),
        session_id=session.id,
        branch_id=str(session.current_branch_id),
        context_tip_id=question.id,
        purpose="reply",
        config=_ECHO,
        state="running",
        owner=this_process(),
        started_at=now(),
    )
    store.runs.start(made, request=Request(envelope={}, messages=()))
    store.runs.end(made.id, finish_reason="stop", node_id=answer.id, duration_ms=1000)
    return answer.id
