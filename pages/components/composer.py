"""Where people write and attach: the native chat input, and a companion that keeps drafts,
recalls, and shows the files that wait for the next message."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import streamlit as st

from core import Config, Runner, View
from core.files import LIMITS, MEGABYTE, MOST_BYTES, MOST_BYTES_OF_A_MESSAGE, MOST_FILES, Upload
from core.providers import model_info
from core.types import ModelInfo
from pages import backend
from pages.components import element, notices, refine, state
from pages.components.acts_replay import gone
from pages.components.config_panel import default_config

_HERE = Path(__file__)
_companion = st.components.v2.component(
    "turntree_composer",
    js=_HERE.with_suffix(".js").read_text("utf-8"),
    css=_HERE.with_suffix(".css").read_text("utf-8")
    + _HERE.with_name("files.css").read_text("utf-8")
    + _HERE.with_name("chips.css").read_text("utf-8"),
)
KEY = "turntree.composer"
COMPANION = "turntree.companion"
_RECALLED = 50
_TOLD = 300  # characters of what was heard that tell which words it was

OnSend = Callable[[str, list[Upload]], None]


def draw(
    runner: Runner, view: View | None, on_send: OnSend, on_act: Callable[[], None], *, busy: bool
) -> None:
    """The input and its companion. ``on_send`` gets words and files before the script runs.

    Draw it before anything else: after a restart of the server the first words meet no callback,
    only the input's own value tells of them, and that is gone with an interrupted run.
    """
    with st.bottom:
        above = st.container()

    def submit() -> None:
        given = state.value(KEY)
        state.hear(KEY)
        hand_over(given)

    def hand_over(given: Any) -> bool:
        files = uploads(given.files) if given else []
        if given and (given.text.strip() or files):
            state.heard_words(given.text.strip()[:_TOLD])
            on_send(given.text, files)
            return True
        return False

    asking = "Queue the next message" if busy else "Write a prompt"
    heard = state.heard(KEY)
    # No list of endings: text has a thousand of them, and what a file is, its bytes say.
    given = st.chat_input(
        asking,
        key=KEY,
        on_submit=submit,
        accept_file="multiple",
        max_upload_size=MOST_BYTES // MEGABYTE,
    )
    if not heard and hand_over(given):
        st.rerun()
    with above:
        element.mount(_companion, COMPANION, companion_data(runner, view), on_act)


def companion_data(runner: Runner, view: View | None) -> dict[str, Any]:
    """What the companion needs to know: the place, recent words, waiting files, the limits."""
    shown = state.inserted()
    config = view.session.config if view else state.new_config() or default_config(runner)
    return {
        "token": backend.TOKEN,
        "session_id": view.session.id if view else "new",
        "branch_id": view.branch.id if view else "new",
        "recall": recall(view) if view else [],
        "heard": [*state.words_heard(), *waiting(runner, view)],
        "insert": {"text": shown.text, "n": shown.n, "whole": shown.whole} if shown.n else None,
        "gone": gone(runner.store, view) if view else None,
        "chips": refine.chips(view) if view and view.turn else [],
        "notices": notices.notices(runner, view) if view else [],
        "pending": pending(runner, view) if view else [],
        "limits": {"text": LIMITS, "files": MOST_FILES, "bytes": MOST_BYTES_OF_A_MESSAGE},
        "blind": blind(config),
    }


def uploads(files: Iterable[Any]) -> list[Upload]:
    """What the chat input brought; a file that a restarted server has lost has no content."""
    return [
        Upload(name=file.name, content=file.getvalue())
        if hasattr(file, "getvalue")
        else Upload(name="A file", content=None)
        for file in files
    ]


def pending(runner: Runner, view: View) -> list[dict[str, Any]]:
    """The files that go with the branch's next message, as chips take them."""
    files = runner.store.attachments.pending(view.branch.id)
    sizes = runner.store.attachments.sizes(file.sha256 for file in files)
    return [asdict(file) | {"size": sizes.get(file.sha256)} for file in files]


def waiting(runner: Runner, view: View | None) -> list[str]:
    """The words of the messages that wait for their turn on this branch."""
    queued = runner.store.branches.queued(view.branch.id) if view else []
    return [str(one["text"]).strip()[:_TOLD] for one in queued]


def blind(config: Config) -> str | None:
    """The name of the chosen model if it is known to take no images."""
    info = model_info(config.provider, config.model)
    unknown = info == ModelInfo(id=config.model, label=config.model)
    return None if info.images or unknown else info.label


def recall(view: View) -> list[str]:
    """What the person wrote on this branch, newest first, each text once."""
    words: dict[str, None] = {}
    for node in reversed(view.lineage):
        if node.role == "user" and node.text.strip():
            words.setdefault(node.text)
        if len(words) == _RECALLED:
            break
    return list(words)
