"""Every page in every state that a session can be in: no exception, and the right words."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import Config, Store, edit, fork, prune
from core.examples import examples
from core.types import Text
from pages import backend
from pages.components import composer
from tests.app.conftest import ECHO, conversation, sound

Open = Callable[..., AppTest]
TALK = ("first question", "first answer", "second question", "second answer")
PAGES = (None, "playground.py", "sessions.py")


def labels(test: AppTest) -> list[str]:
    return [button.label for button in test.button]


def at(test: AppTest) -> str:
    """The session that the address names."""
    named = test.query_params["session"]
    return named if isinstance(named, str) else named[0]


def said(test: AppTest) -> str:
    """All the words that Streamlit's own elements show."""
    elements = (*test.markdown, *test.caption, *test.title, *test.error, *test.text)
    return "\n".join(str(element.value) for element in elements)


# --- the start page --------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_every_page_runs_over_an_empty_database(app: Open, page: str | None) -> None:
    app(page)


def test_the_start_page_offers_an_input_and_three_examples(app: Open) -> None:
    test = app()
    assert test.chat_input[0].placeholder == "Write a prompt"
    assert labels(test).count("Open") == len(examples()) == 3
    for example in examples().values():
        assert example["title"] in said(test)


@pytest.mark.parametrize("name", examples())
def test_an_example_opens_as_a_session_of_ones_own(app: Open, store: Store, name: str) -> None:
    test = app()
    sound(test.button(key=f"example.{name}").click().run())
    (session,) = store.sessions.recent()
    assert at(test) == session["id"]
    assert test.text_input[0].value is not None
    assert len(store.branches.of(session["id"])) == len(examples()[name]["branches"])


def test_a_first_prompt_makes_a_session_and_sends(app: Open, store: Store) -> None:
    conversation(store)  # the newest session's provider answers
    test = app()
    sound(test.chat_input[0].set_value("A plan for the week").run())
    session = store.sessions.get(at(test))
    backend.runner().close()
    branch = store.branches.of(session.id)[0]
    assert [node.text for node in store.nodes.lineage(branch.tip_id)] == ["A plan for the week"] * 2
    assert session.title == "A plan for the week"


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_prompt_makes_nothing(app: Open, store: Store, blank: str) -> None:
    sound(app().chat_input[0].set_value(blank).run())
    assert store.sessions.count() == 0


# --- sessions in every state -----------------------------------------------------------------


def plain(store: Store) -> dict[str, str]:
    return {"session": conversation(store, *TALK).id}


def empty(store: Store) -> dict[str, str]:
    return {"session": conversation(store).id}


def unknown(_: Store) -> dict[str, str]:
    return {"session": "01NOSUCHSESSION0000000000"}


def unknown_places(store: Store) -> dict[str, str]:
    return {"session": conversation(store, *TALK).id, "branch": "no", "node": "no", "run": "no"}


def many_branches(store: Store) -> dict[str, str]:
    session = conversation(store, *TALK)
    main = store.branches.of(session.id)[0]
    nodes = store.nodes.lineage(main.tip_id)
    fork(store, nodes[1].id, from_branch=main.id, name="one")
    two = fork(store, nodes[0].id, from_branch=main.id, name="two")
    edit(store, main.id, nodes[3].id, (Text(text="by hand"),))
    return {"session": session.id, "branch": two.id}


def a_version(store: Store) -> dict[str, str]:
    session = conversation(store, *TALK)
    main = store.branches.of(session.id)[0]
    old = main.tip_id or ""
    edit(store, main.id, old, (Text(text="by hand"),))
    return {"session": session.id, "node": old}


def something_binned(store: Store) -> dict[str, str]:
    session = conversation(store, *TALK)
    gone = store.nodes.lineage(store.branches.of(session.id)[0].tip_id)[2]
    prune(store, gone.id)
    return {"session": session.id, "node": gone.id}


def all_binned(store: Store) -> dict[str, str]:
    session = conversation(store, *TALK)
    prune(store, store.nodes.lineage(store.branches.of(session.id)[0].tip_id)[0].id)
    return {"session": session.id}


def session_in_the_bin(store: Store) -> dict[str, str]:
    session = conversation(store, *TALK)
    store.sessions.bin(session.id)
    return {"session": session.id}


def node_of_another_session(store: Store) -> dict[str, str]:
    other = store.nodes.lineage(store.branches.of(conversation(store, *TALK).id)[0].tip_id)[1]
    return {"session": conversation(store, *TALK).id, "node": other.id}


def provider_of_a_newer_version(store: Store) -> dict[str, str]:
    config = Config(provider="not-here-any-more", model="m")
    return {"session": conversation(store, *TALK, config=config).id}


def model_nobody_knows(store: Store) -> dict[str, str]:
    config = Config(provider="echo", model="made-up", sampling={"max_tokens": 5, "odd": [1]})
    return {"session": conversation(store, *TALK, config=config).id}


def long_and_strange(store: Store) -> dict[str, str]:
    texts = [f"{n} **x** $y$ <b> \0 :smile: \u202e" for n in range(300)]
    return {"session": conversation(store, *texts, title="<script> $x$ **b** :smile:").id}


STATES = (
    plain,
    empty,
    unknown,
    unknown_places,
    many_branches,
    a_version,
    something_binned,
    all_binned,
    session_in_the_bin,
    node_of_another_session,
    provider_of_a_newer_version,
    model_nobody_knows,
    long_and_strange,
)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("state", STATES)
def test_no_state_of_a_session_breaks_a_page(
    app: Open, store: Store, state: Callable[[Store], dict[str, str]], page: str | None
) -> None:
    test = app(page, **state(store))
    sound(test.run())


def test_an_unknown_session_is_said_and_the_start_page_shown(app: Open, store: Store) -> None:
    test = app(**unknown(store))
    assert "There is no such session." in test.error[0].value
    assert "Start broad. Narrow turn by turn." in said(test)
    assert not test.run().error


# --- what is stored --------------------------------------------------------------------------


def test_a_settings_change_is_stored_for_the_next_run(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    system = next(area for area in test.text_area if area.label == "System prompt")
    sound(system.set_value("Be brief.").run())
    model = next(box for box in test.selectbox if box.label == "Model")
    sound(model.set_value("echo-slow").run())
    config = store.sessions.get(session.id).config
    assert (config.system, config.model) == ("Be brief.", "echo-slow")


def test_another_provider_brings_its_own_models_and_keeps_the_system_prompt(
    app: Open, store: Store
) -> None:
    session = conversation(store, config=Config(provider="echo", model="echo-1", system="S"))
    test = app(session=session.id)
    provider = next(box for box in test.selectbox if box.label == "Provider")
    sound(provider.set_value("local").run())
    config = store.sessions.get(session.id).config
    assert config.provider == "local"
    assert config.model != "echo-1"
    assert config.system == "S"


def test_a_knob_is_stored_and_an_emptied_one_is_unset(app: Open, store: Store) -> None:
    session = conversation(store)
    test = app(session=session.id)
    words = next(box for box in test.number_input if box.label == "Longest answer (words)")
    sound(words.set_value(7).run())
    assert store.sessions.get(session.id).config.sampling == {"max_tokens": 7}
    words = next(box for box in test.number_input if box.label == "Longest answer (words)")
    sound(words.set_value(None).run())
    assert store.sessions.get(session.id).config.sampling == {}


def test_what_another_tab_chose_is_not_written_back(app: Open, store: Store) -> None:
    session = conversation(store)
    test = app(session=session.id)
    store.sessions.choose(session.id, Config(provider="echo", model="echo-slow", system="other"))
    sound(test.run())
    config = store.sessions.get(session.id).config
    assert (config.model, config.system) == ("echo-slow", "other")


def test_a_title_is_stored_and_a_blank_one_refused(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    title = next(box for box in test.text_input if box.label == "Title")
    sound(title.set_value("  A   better title ").run())
    assert store.sessions.get(session.id).title == "A better title"
    title = next(box for box in test.text_input if box.label == "Title")
    sound(title.set_value("   ").run())
    assert store.sessions.get(session.id).title == "A better title"


def test_the_goal_is_stored_when_it_is_saved(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    next(a for a in test.text_area if a.label == "Objective").set_value("A plan")
    next(a for a in test.text_area if a.label == "Done when").set_value("It is short")
    next(n for n in test.number_input if n.label == "Turns planned").set_value(4)
    sound(next(b for b in test.button if b.label == "Save").click().run())
    stored = store.sessions.get(session.id)
    assert (stored.objective, stored.done_when, stored.turn_budget) == ("A plan", "It is short", 4)


def test_a_branch_note_is_stored(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    note = next(area for area in test.text_area if area.label.endswith("is about"))
    sound(note.set_value("Went well").run())
    assert store.branches.of(session.id)[0].note == "Went well"


def test_a_message_is_sent_on_the_branch_that_is_shown(app: Open, store: Store) -> None:
    place = many_branches(store)
    test = app(**place)
    sound(test.chat_input(key=composer.KEY).set_value("on two").run())
    backend.runner().close()
    texts = [node.text for node in store.nodes.lineage(store.branches.get(place["branch"]).tip_id)]
    assert texts == ["first question", "on two", "on two"]


def test_a_message_from_an_older_version_gets_a_branch_of_its_own(app: Open, store: Store) -> None:
    place = a_version(store)
    test = app(**place)
    sound(test.chat_input(key=composer.KEY).set_value("on from the old one").run())
    assert any("became the branch" in toast.value for toast in test.toast)
    assert len(store.branches.of(place["session"])) == 2


def test_fork_in_front_waits_for_a_click(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    sound(test.chat_input(key=composer.KEY).set_value("Fork: other").run())
    assert {"Fork from the previous turn", "Send as written", "Take back"} <= set(labels(test))
    sound(next(b for b in test.button if b.label == "Take back").click().run())
    assert "Take back" not in labels(test)
    assert store.branches.queued(session.current_branch_id or "") == []


def test_what_was_pruned_is_restored_from_the_bin(app: Open, store: Store) -> None:
    place = something_binned(store)
    test = app(session=place["session"])
    sound(next(b for b in test.button if b.label == "Restore").click().run())
    branch = store.branches.of(place["session"])[0]
    assert len(store.nodes.lineage(branch.tip_id)) == 4


# --- search and sessions ---------------------------------------------------------------------


def test_a_search_lists_hits_in_messages_and_titles_and_opens_them(app: Open, store: Store) -> None:
    one = conversation(store, "where does the heron nest", "in reeds")
    two = conversation(store, "q", "a", title="Heron notes")
    test = app(session=two.id)
    sound(test.text_input(key="search").set_value("heron").run())
    hits = [b for b in test.button if b.key and b.key.startswith("hit.")]
    assert len(hits) == 2
    message = next(b for b in hits if "nest" in b.label)
    sound(message.click().run())
    assert at(test) == one.id
    sound(test.text_input(key="search").set_value("nothing has this").run())
    assert "Nothing has the words" in said(test)


@pytest.mark.parametrize(
    "query", ['"', "*", "a AND", "NEAR(", "-", "'; DROP TABLE nodes", "ü\0", "()"]
)
def test_no_query_breaks_the_search(app: Open, store: Store, query: str) -> None:
    test = app(session=conversation(store, *TALK).id)
    sound(test.text_input(key="search").set_value(query).run())


def test_sessions_are_binned_restored_and_listed(app: Open, store: Store) -> None:
    session = conversation(store, *TALK, title="The one")
    test = app("sessions.py")
    sound(test.button(key=f"bin.{session.id}").click().run())
    assert store.sessions.count(binned=True) == 1
    sound(test.button(key=f"restore.{session.id}").click().run())
    assert store.sessions.count() == 1


def test_only_a_confirmed_deletion_deletes(app: Open, store: Store) -> None:
    session = conversation(store, *TALK, title="The one")
    store.sessions.bin(session.id)
    test = app("sessions.py")
    sound(test.button(key=f"delete.{session.id}").click().run())
    assert store.sessions.count(binned=True) == 1
    assert "There is no way back" in said(test)


def test_a_long_list_of_sessions_is_shown_a_page_at_a_time(app: Open, store: Store) -> None:
    for number in range(60):
        store.sessions.create(config=ECHO, title=f"session {number}")
    test = app("sessions.py")
    assert labels(test).count("Open") == 50
    sound(next(b for b in test.button if b.label == "Show more (10)").click().run())
    assert labels(test).count("Open") == 60


# --- a database that cannot be opened --------------------------------------------------------


def damaged(path: Path) -> None:
    path.write_bytes(b"This is no database at all. " * 500)


def newer(path: Path) -> None:
    Store.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
        " VALUES ('turntree', 'm999_from_the_future', '2999-01-01')"
    )
    connection.commit()
    connection.close()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("spoil", [damaged, newer, foreign, a_folder])
@pytest.mark.parametrize("page", [None, "sessions.py"])
def test_a_database_that_cannot_be_used_is_said_and_left_alone(
    app: Open, path: Path, spoil: Callable[[Path], None], page: str | None
) -> None:
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    test = app(page)
    assert "Turntree cannot open its database" in said(test)
    assert test.error[0].value
    assert test.code[0].value == str(path)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_once_the_database_is_good_again_the_page_opens_it(app: Open, path: Path) -> None:
    damaged(path)
    test = app()
    path.unlink()
    sound(next(b for b in test.button if b.label == "Try again").click().run())
    assert "Start broad. Narrow turn by turn." in said(test)
