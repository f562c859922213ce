"""The page of runs and the dialog "What was sent": every state, no exception, the right words."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import Config, Run, Session, Store
from core.types import Failure, Request, Usage, new_id, now
from pages import backend
from tests.app.conftest import ECHO, Open, conversation, memory, said, sound

Begin = Callable[..., str]
SENT = Request(envelope={"model": "echo-1"}, messages=({"role": "user", "text": "<b>Hi</b> $5"},))
NOTHING = Request(envelope={}, messages=())
BUSY = Failure(kind="Overloaded", message="It is *busy*.", hint="Wait.", status=529)


def begin(store: Store, session: Session, request: Request = SENT, **ends: Any) -> str:
    """A run of the session that has ended, unless it is ``running``; its id."""
    assert session.current_branch_id
    run = Run(
        id=new_id(),
        session_id=session.id,
        branch_id=session.current_branch_id,
        context_tip_id=store.branches.get(session.current_branch_id).tip_id,
        purpose="reply",
        config=ends.pop("config", ECHO),
        state="running",
        owner=backend.runner().owner,
        started_at=now(),
    )
    running = ends.pop("running", False)
    store.runs.start(run, request=request)
    if not running:
        store.runs.end(run.id, **{"finish_reason": "stop", "node_id": None, **ends})
    return run.id


@pytest.fixture
def talk(store: Store) -> Session:
    """A session with a cheap run, one of unknown cost, and one that failed."""
    session = conversation(store, "first question", "first answer", title="Talk")
    usage = Usage(input_tokens=1000, output_tokens=100, cached_tokens=600)
    begin(store, session, usage=usage, cost_nanodollars=2_000_000, duration_ms=1200)
    begin(store, session, usage=Usage(input_tokens=500, output_tokens=50))
    begin(store, session, finish_reason="error", failure=BUSY)
    return session


def totals(test: AppTest) -> str:
    """The strip of totals, as its HTML."""
    return next(str(one.value) for one in test.get("html") if "totals" in str(one.value))


def menu(test: AppTest, label: str) -> Any:
    """A menu of the filter."""
    return next(one for one in test.selectbox if one.label == label)


def htmls(test: AppTest) -> str:
    return "\n".join(str(one.value) for one in test.get("html"))


def listed(test: AppTest) -> Any:
    """The table of runs."""
    return test.dataframe[0].value


# --- the page --------------------------------------------------------------------------------


def test_without_a_run_the_page_says_what_it_will_list(app: Open) -> None:
    test = app("runs.py")
    assert "There is no run yet" in said(test)
    assert not test.dataframe


def test_every_run_is_listed_with_the_sums(app: Open, talk: Session) -> None:
    test = app("runs.py")
    assert list(listed(test)["outcome"]) == ["failed", "answered", "answered"]
    strip = totals(test)
    for told in ("1,500", "60%", "$0.0020", "2 runs of unknown cost", "1 run of unknown tokens"):
        assert told in strip


def test_unknown_is_never_shown_as_zero(app: Open, store: Store) -> None:
    begin(store, conversation(store, title="Untold"))
    strip = totals(app("runs.py"))
    assert strip.count("unknown</dd>") == 4
    assert "$0" not in strip
    assert "free" not in strip


def test_free_is_free(app: Open, store: Store) -> None:
    begin(store, conversation(store), cost_nanodollars=0, usage=Usage(input_tokens=1))
    assert "free" in totals(app("runs.py"))


def test_a_link_to_a_session_lists_its_runs_only_and_keeps_the_link(
    app: Open, store: Store, talk: Session
) -> None:
    other = conversation(store, title="Other")
    begin(store, other)
    test = app()
    test.query_params["session"] = other.id
    sound(test.switch_page("runs.py").run())
    test.query_params["session"] = other.id
    sound(test.run())
    assert len(listed(test)) == 1
    assert test.query_params["session"] in (other.id, [other.id])
    assert menu(test, "Session").value == other.id
    sound(menu(test, "Session").set_value(None).run())
    assert len(listed(test)) == 4
    assert "session" not in test.query_params


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [("outcome", "error", 1), ("outcome", "stop", 2), ("error", "Overloaded", 1),
     ("model", "echo:echo-1", 3), ("purpose", "reply", 3)],
)  # fmt: skip
def test_a_choice_narrows_the_table(
    app: Open, talk: Session, name: str, value: str, count: int
) -> None:
    test = app("runs.py")
    sound(menu(test, name.capitalize()).set_value(value).run())
    assert len(listed(test)) == count
    assert test.query_params[name] in (value, [value])


def test_words_of_the_error_are_looked_for(app: Open, talk: Session) -> None:
    test = app("runs.py")
    sound(test.text_input(key="runs.text").set_value("BUSY").run())
    assert len(listed(test)) == 1
    sound(test.text_input(key="runs.text").set_value("nothing of the kind").run())
    assert "No run matches this filter." in said(test)
    (clear,) = [button for button in test.button if button.label == "Clear"]
    sound(clear.click().run())
    assert len(listed(test)) == 3


def test_sessions_of_one_title_and_models_of_one_name_are_told_apart(
    app: Open, store: Store
) -> None:
    same = [conversation(store, title="New session") for _ in range(3)]
    for number, session in enumerate(same):
        provider = ("echo", "compatible", "openai")[number]
        begin(store, session, config=Config(provider=provider, model="echo-1"))
    test = app("runs.py")
    for name in ("Session", "Model"):
        assert len(set(menu(test, name).options)) == 3
    for session in same:
        sound(menu(test, "Session").set_value(session.id).run())
        assert test.query_params["session"] in (session.id, [session.id])
        sound(test.run())
        assert test.query_params["session"] in (session.id, [session.id])
        assert len(listed(test)) == 1


@pytest.mark.parametrize(
    "address",
    [
        {"session": "gone"},
        {"branch": "gone"},
        {"model": "no colon"},
        {"model": "a:b:c"},
        {"since": "yesterday"},
        {"until": "2026-13-45"},
        {"page": "-4"},
        {"page": "9999"},
        {"page": "x"},
        {"outcome": "'; DROP TABLE runs; --"},
        {"text": "%"},
    ],
)
def test_no_address_breaks_the_page(app: Open, talk: Session, address: dict[str, str]) -> None:
    test = app("runs.py")
    for name, value in address.items():
        test.query_params[name] = value
    sound(test.run())


def test_pages_of_a_long_table(app: Open, store: Store) -> None:
    session = conversation(store)
    with store.write():
        for _ in range(205):
            begin(store, session)
    test = app("runs.py")
    assert len(listed(test)) == 100
    test.query_params["page"] = "3"
    sound(test.run())
    assert len(listed(test)) == 5


# --- the dialog ------------------------------------------------------------------------------


def look(app: Open, run_id: str, tab: str | None = None) -> AppTest:
    """The page of runs with the dialog open on a run."""
    test = app("runs.py")
    memory(test)["looked_into"] = run_id
    if tab:
        test.session_state[f"sent.tabs.{run_id}"] = tab
    return sound(test.run())


TABS = (None, "Reply", "Numbers", "Get code")
STATES: dict[str, dict[str, Any]] = {
    "answered": {},
    "running": {"running": True},
    "failed": {"finish_reason": "error", "failure": BUSY},
    "not sent": {
        "finish_reason": "error",
        "failure": Failure(kind="MissingKey", message="No key.", hint="Set one."),
    },
    "not built": {
        "request": NOTHING,
        "finish_reason": "error",
        "failure": Failure(kind="Unsupported", message="No pictures."),
    },
    "stranger": {"config": Config(provider="gone-by", model="m")},
    "empty": {"request": Request(envelope={"model": "echo-1"}, messages=())},
}


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("state", STATES)
def test_a_run_in_any_state_can_be_looked_into(
    app: Open, store: Store, state: str, tab: str | None
) -> None:
    run = begin(store, conversation(store, "a question"), **dict(STATES[state]))
    look(app, run, tab)


def test_the_request_is_there_word_for_word_and_harmless(app: Open, store: Store) -> None:
    test = look(app, begin(store, conversation(store, "a question")))
    assert "&lt;b&gt;Hi&lt;/b&gt; $5" in htmls(test)
    assert "<b>Hi</b>" not in htmls(test)


def test_what_never_went_out_is_said_so(app: Open, store: Store) -> None:
    session = conversation(store, "a question")
    for state, words in (
        ("not sent", "never left your machine"),
        ("not built", "Nothing was sent"),
    ):
        test = look(app, begin(store, session, **dict(STATES[state])))
        assert any(words in str(info.value) for info in test.info)


def test_a_failure_is_told_with_status_and_kind(app: Open, talk: Session, store: Store) -> None:
    (line,) = [one for one in store.ledger.lines(_all(), limit=9) if one["outcome"] == "error"]
    test = look(app, line["id"])
    assert "It is \\*busy\\*. Wait." in said(test)
    assert "HTTP status\\: 529" in said(test)


def _all() -> Any:
    from core.store.ledger import Filter

    return Filter()


def test_code_can_be_had_in_both_languages(app: Open, store: Store) -> None:
    run = begin(store, conversation(store, "a question"))
    test = look(app, run, "Get code")
    assert "ADAPTER.stream" in test.code[0].value


def test_a_run_that_is_gone_is_said_and_the_dialog_stays_closed(app: Open, talk: Session) -> None:
    test = look(app, "no-such-run")
    assert "There is no such run." in test.toast[0].value
    assert "looked_into" not in memory(test)
