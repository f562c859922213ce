"""Sending files through the script: what waits, what comes back, what is told to the composer."""

import pytest
from streamlit.testing.v1 import AppTest

from core import Config, Store, show
from core.files import LIMITS, Upload
from core.types import Text
from pages import backend
from pages.components import composer
from tests.app.conftest import Open, conversation, said, sound
from tests.contract.media import PNG


def give(test: AppTest, words: str, **files: bytes) -> AppTest:
    """Write words, attach files by their names, and send."""
    box = test.chat_input(key=composer.KEY)
    for name, content in files.items():
        box.upload(name, content, "application/octet-stream")
    return sound(box.set_value(words).run())


def first(store: Store, session: str) -> tuple[object, ...]:
    branch = store.branches.of(session)[0]
    return store.nodes.lineage(branch.tip_id)[0].parts


def test_words_and_files_are_sent_together(app: Open, store: Store) -> None:
    session = conversation(store)
    test = app(session=session.id)
    give(test, "look", **{"cat.bin": PNG, "a.txt": b"a"})
    backend.runner().close()
    *kept, words = first(store, session.id)
    assert [(file.name, file.media_type) for file in kept] == [
        ("cat.bin", "image/png"),
        ("a.txt", "text/plain"),
    ]
    assert words == Text(text="look")
    assert store.attachments.pending(session.current_branch_id or "") == ()


def test_a_bad_file_sends_nothing_and_the_good_one_waits(app: Open, store: Store) -> None:
    session = conversation(store)
    branch = session.current_branch_id or ""
    test = app(session=session.id)
    give(test, "look", **{"cat.png": PNG, "empty.txt": b""})
    assert "“empty.txt” is empty." in said(test)
    assert store.branches.get(branch).tip_id is None
    assert [file.name for file in store.attachments.pending(branch)] == ["cat.png"]
    give(test, "now")
    backend.runner().close()
    assert [part.type for part in first(store, session.id)] == ["attachment", "text"]
    assert store.attachments.pending(branch) == ()


def test_a_file_alone_on_the_start_page_makes_a_session(app: Open, store: Store) -> None:
    conversation(store)
    give(app(), " ", **{"cat.png": PNG})
    backend.runner().close()
    (session, _) = store.sessions.recent()
    assert session["title"] == "cat.png"


def test_a_fork_that_is_offered_keeps_its_files(app: Open, store: Store) -> None:
    session = conversation(store, "question", "answer")
    test = app(session=session.id)
    give(test, "Fork: look", **{"cat.png": PNG})
    assert "With cat.png" in said(test)
    sound(next(b for b in test.button if b.label == "Send as written").click().run())
    backend.runner().close()
    tip = store.branches.of(session.id)[0].tip_id
    assert [part.type for part in store.nodes.lineage(tip)[2].parts] == ["attachment", "text"]


def test_the_composer_is_told_of_files_limits_and_models(store: Store) -> None:
    session = conversation(store)
    cat = store.attachments.add("cat.png", "image/png", PNG)
    store.attachments.hold(session.current_branch_id or "", [cat])
    told = composer.companion_data(backend.runner(), show(store, session.id))
    assert [(file["name"], file["size"]) for file in told["pending"]] == [("cat.png", len(PNG))]
    assert told["limits"]["text"] == LIMITS
    assert told["blind"] is None


@pytest.mark.parametrize(
    ("provider", "model", "known"),
    [("local", "smollm2-135m", True), ("echo", "echo-1", False), ("gone", "m", False)],
)
def test_only_a_model_that_is_known_to_take_no_images_is_named(
    provider: str, model: str, known: bool
) -> None:
    assert bool(composer.blind(Config(provider=provider, model=model))) is known


def test_a_file_that_a_restarted_server_lost_has_no_content() -> None:
    class Deleted:
        file_id = "1"

    assert composer.uploads([Deleted()]) == [Upload(name="A file", content=None)]
