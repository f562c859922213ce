"""The whole script without a browser, over a database of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import Config, Session, Store, Text
from core.branching import new_node
from pages import backend
from pages.components import state

ROOT = Path(__file__).parents[2]
Open = Callable[..., AppTest]
ECHO = Config(provider="echo", model="echo-1")


@pytest.fixture(autouse=True)
def own_database(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The pages' one runner, opened anew for each test."""
    monkeypatch.setenv("TURNTREE_DB", str(path))
    backend.close()
    yield
    backend.close()


@pytest.fixture
def store() -> Store:
    """The store that the pages use."""
    return backend.store()


@pytest.fixture
def app() -> Callable[..., AppTest]:
    """Run the script at a place, and insist that nothing went wrong."""

    def run(page: str | None = None, **place: str) -> AppTest:
        test = AppTest.from_file(ROOT / "pages" / "main.py", default_timeout=20)
        for name, value in place.items():
            test.query_params[name] = value
        test.run()
        if page:
            test.switch_page(page).run()
        return sound(test)

    return run


def sound(test: AppTest) -> AppTest:
    """The same, if no exception was shown."""
    assert not test.exception, [error.value for error in test.exception]
    return test


def conversation(store: Store, *texts: str, config: Config = ECHO, title: str = "") -> Session:
    """A session whose one branch holds these texts, person and model in turn."""
    session = store.sessions.create(config=config, title=title or "New session")
    assert session.current_branch_id is not None
    tip = None
    for number, text in enumerate(texts):
        role = "assistant" if number % 2 else "user"
        author = "model" if number % 2 else "person"
        tip = store.nodes.add(new_node(session.id, tip, role, (Text(text=text),), author=author)).id
        store.branches.move(session.current_branch_id, tip, why="send")
    return store.sessions.get(session.id)


def said(test: AppTest) -> str:
    """All the words that Streamlit's own elements show."""
    elements = (*test.markdown, *test.caption, *test.title, *test.error, *test.text)
    return "\n".join(str(element.value) for element in elements)


def memory(test: AppTest) -> dict[str, Any]:
    """What the tab remembers; may be written before a run."""
    if state.MEMORY not in test.session_state:
        test.session_state[state.MEMORY] = {}
    remembered: dict[str, Any] = test.session_state[state.MEMORY]
    return remembered
