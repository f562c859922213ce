"""The dialog "Export", without a browser."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from core import Session, Store, exporting, fork, show
from core.diff import compare
from core.errors import NotFound
from core.exporting import provenance
from core.formats import writers
from core.lanes import side_by_side
from pages import backend
from pages.components import acts, export_preview, export_subjects
from tests.app.conftest import ECHO, Open, conversation, memory, said, sound
from tests.unit.house import until

ANSWER = "# Plan\n\n```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
TALK = ("Draft a plan.", "A first try, $5 & <b>bold</b>", "Avoid jargon.", ANSWER)


@pytest.fixture(autouse=True)
def echo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNTREE_ECHO", "1")


@pytest.fixture
def session(store: Store) -> Session:
    return conversation(store, *TALK, title="Offsite in Porto")


def acted(session: Session, **act: Any) -> acts.Result:
    return acts.perform(
        backend.runner(), show(backend.store(), session.id), {"action": "export", **act}
    )


def opened(app: Open, session: Session, **act: Any) -> AppTest:
    """The playground with the dialog over it, as an act opens it."""
    result = acted(session, **act)
    test = app(session=session.id)
    memory(test)["kept.dialog"] = result.dialog
    return sound(test.run())


def groups(test: AppTest) -> Mapping[str, Any]:
    """The rows of buttons of which one is chosen, by their label."""
    return {one.label: one for one in test.button_group}


def formats(test: AppTest) -> set[str]:
    return set(groups(test)["Kind of file"].options)


def labels(scope: Any) -> set[str]:
    return {one.label for one in writers(scope)}


def choose(test: AppTest, group: str, value: str) -> AppTest:
    return sound(groups(test)[group].set_value(value).run())


# --- the act -------------------------------------------------------------------------------------


def test_an_answer_opens_with_itself_a_question_with_the_path_to_it(session: Session) -> None:
    nodes = show(backend.store(), session.id).lineage
    answer, question = acted(session, node=nodes[1].id), acted(session, node=nodes[2].id)
    assert answer.stay
    assert answer.dialog is not None
    assert (answer.dialog.kind, answer.dialog.text) == ("export", "answer")
    assert answer.dialog.node == nodes[1].id
    assert question.dialog is not None
    assert question.dialog.text == "branch"


def test_a_branch_is_gone_to_and_another_sessions_is_refused(
    store: Store, session: Session
) -> None:
    nodes = show(store, session.id).lineage
    other = fork(store, nodes[1].id, from_branch=str(session.current_branch_id))
    found = acted(session, branch=other.id)
    assert found.branch == other.id
    assert found.dialog is not None
    assert found.dialog.branch == other.id
    strange = conversation(store, *TALK)
    with pytest.raises(NotFound):
        acted(session, branch=strange.current_branch_id)
    with pytest.raises(NotFound):
        acted(session, node=show(store, strange.id).lineage[0].id)


# --- what there is to take -----------------------------------------------------------------------


def test_the_answer_marked_final_is_the_one(store: Store, session: Session) -> None:
    runner, view = backend.runner(), show(store, session.id)
    first = export_subjects.of_view(runner, view)[0]
    assert (first.label, first.node) == ("Final answer", view.lineage[3])
    assert "none is marked" in first.said
    store.nodes.mark(view.lineage[1].id, "final", "x")
    marked = export_subjects.of_view(runner, view)[0]
    assert marked.node == view.lineage[1]
    assert "marked final" in marked.said
    pointed = export_subjects.of_view(runner, view, view.lineage[3].id)[0]
    assert (pointed.label, pointed.node) == ("This answer", view.lineage[3])


def test_a_path_ends_at_the_message_or_is_the_whole_branch(store: Store, session: Session) -> None:
    view = show(store, session.id)
    of = {s.what: s for s in export_subjects.of_view(backend.runner(), view, view.lineage[1].id)}
    branch = of["branch"]
    assert branch.take is not None
    assert branch.whole is not None
    assert [node.text for node in branch.take().nodes] == list(TALK[:2])  # type: ignore[union-attr]
    assert [node.text for node in branch.whole().nodes] == list(TALK)  # type: ignore[union-attr]
    assert "1 turn on branch main" in branch.said
    asked = export_subjects.of_view(backend.runner(), view, view.lineage[2].id)
    assert [one.what for one in asked] == ["branch", "tree"]


def test_of_an_empty_session_there_is_the_session(store: Store) -> None:
    empty = store.sessions.create(config=ECHO, title="Nothing yet")
    found = export_subjects.of_view(backend.runner(), show(store, empty.id))
    assert [one.what for one in found] == ["tree"]


def test_every_subject_can_be_taken(store: Store, session: Session) -> None:
    for one in export_subjects.of_view(backend.runner(), show(store, session.id)):
        if one.take is not None:
            assert exporting.scope_of(one.take()) == one.what


# --- the dialog ----------------------------------------------------------------------------------


def test_the_formats_are_those_that_can_hold_it(app: Open, session: Session) -> None:
    test = opened(app, session)
    assert groups(test)["What to export"].value == "answer"
    assert formats(test) == labels("answer")
    assert "offsite-in-porto-answer.md" in said(test)
    for what in ("branch", "tree"):
        test = choose(test, "What to export", what)
        assert formats(test) == labels(what)
        assert len(formats(test)) > 1


def test_options_are_those_of_the_format_and_are_remembered(app: Open, session: Session) -> None:
    test = choose(opened(app, session), "What to export", "branch")
    toggles = {one.label: one for one in test.toggle}
    assert {"Thinking", "Tool calls and results", "Models, dates, tokens"} <= set(toggles)
    assert toggles["Thinking"].value is False
    sound(toggles["Thinking"].set_value(True).run())
    choose(test, "Recaps", "expanded")
    again = opened(app, session)
    assert "Thinking" not in {one.label for one in again.toggle}  # an answer is its words alone
    test = choose(test, "What to export", "tree")
    test = choose(test, "What to export", "branch")
    assert {one.label: one.value for one in test.toggle}["Thinking"] is True
    assert groups(test)["Recaps"].value == "expanded"


def test_where_there_is_nothing_to_write_it_says_why(app: Open, store: Store) -> None:
    plain = conversation(store, "Say hi.", "Hi")
    pieces = next(one for one in writers("answer") if "pieces" in one.options)
    test = choose(opened(app, plain), "Kind of file", pieces.name)
    assert any("neither code nor a table" in one.value for one in test.info)
    assert not test.get("download_button")
    assert groups(choose(test, "Which part", "tables"))["Which part"].value == "tables"


def test_every_kind_of_file_is_previewed(app: Open, store: Store, session: Session) -> None:
    test = opened(app, session)
    for what in ("answer", "branch", "tree"):
        test = choose(test, "What to export", what)
        for one in writers(what):  # type: ignore[arg-type]
            test = choose(test, "Kind of file", one.name)
            assert test.get("download_button") or test.info, (what, one.name)


def test_a_page_is_shown_as_its_text_too(app: Open, session: Session) -> None:
    test = choose(opened(app, session), "Kind of file", "markdown")
    assert not test.code
    assert choose(test, "Preview", "Text").code[0].value == ANSWER.rstrip()


@pytest.mark.parametrize(
    ("media_type", "shown"),
    [
        ("text/markdown", "markdown"),
        ("text/html", "page"),
        ("text/csv", "table"),
        ("image/svg+xml", "picture"),
        ("application/zip", "archive"),
        ("application/json", "text"),
        ("application/x-ndjson", "text"),
        ("application/yaml", "text"),
        ("text/x-python", "text"),
        ("application/pdf", "other"),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "other"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "other"),
    ],
)
def test_how_a_file_is_shown(media_type: str, shown: str) -> None:
    assert export_preview.kind(media_type) == shown


# --- a comparison, a session ---------------------------------------------------------------------


def test_a_comparison_is_exported_from_its_page(app: Open, store: Store, session: Session) -> None:
    nodes = show(store, session.id).lineage
    main = str(session.current_branch_id)
    other = fork(store, nodes[1].id, from_branch=main)
    made = side_by_side(store, session.id, [main, other.id])
    test = app("compare.py")
    test.query_params["comparison"] = made.id
    sound(test.run())
    button = next(one for one in test.button if one.label == "Export")
    sound(button.click().run())
    assert formats(test) == labels("comparison")
    for one in writers("comparison"):
        test = choose(test, "Kind of file", one.name)
        assert test.get("download_button"), one.name


def test_a_session_is_exported_from_its_row(app: Open, session: Session) -> None:
    test = app("sessions.py")
    sound(test.button(key=f"export.{session.id}").click().run())
    assert groups(test)["What to export"].value == "tree"
    assert "Offsite in Porto" in said(test)


def test_several_sessions_go_into_one_file(app: Open, store: Store, session: Session) -> None:
    other = conversation(store, *TALK, title="Another")
    conversation(store, *TALK, title="Not wanted")
    test = app("sessions.py")
    sound(test.button(key="export_several").click().run())
    assert groups(test)["Which sessions"].value == "all"
    make = test.button(key="export_several.make")
    assert make.label == "Make a file of 3 sessions"
    test = choose(test, "Which sessions", "some")
    assert test.button(key="export_several.make").disabled
    picked = test.multiselect(key="export_several.chosen")
    sound(picked.set_value([session.id, other.id]).run())
    sound(test.button(key="export_several.make").click().run())
    assert test.get("download_button")
    assert "2-sessions" in said(test)
    made = memory(test)["kept.export.several.made"]
    assert set(made.ids) == {session.id, other.id}
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        named = json.loads(archive.read("manifest.json"))["sessions"]
    assert {one["title"] for one in named} == {"Offsite in Porto", "Another"}


def test_several_sessions_are_files_to_read_in_an_archive(
    app: Open, store: Store, session: Session
) -> None:
    conversation(store, *TALK, title="Offsite in Porto")
    conversation(store, title="Nothing yet")
    test = app("sessions.py")
    sound(test.button(key="export_several").click().run())
    for kind, names in (
        (
            "markdown",
            {"nothing-yet-branch.md", *(f"offsite-in-porto-branch{n}.md" for n in ("", "-2"))},
        ),
        ("openai_python", {f"offsite-in-porto-branch{n}.py" for n in ("", "-2")}),
    ):
        sound(test.selectbox(key="export_several.kind").set_value(kind).run())
        assert not test.get("download_button"), "that is the file of another kind"
        sound(test.button(key="export_several.make").click().run())
        made = memory(test)["kept.export.several.made"]
        with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
            assert set(archive.namelist()) == names
            assert all(
                "Avoid jargon." in archive.read(one).decode() for one in names if "porto" in one
            )
    assert any("1 session left out" in one.value for one in test.warning)
    assert "2-sessions-openai-python" in said(test)


def test_provenance_goes_beside_an_answer_on_request(
    app: Open, store: Store, session: Session
) -> None:
    test = choose(opened(app, session), "What to export", "answer")
    assert "with-provenance" not in said(test)
    sound(test.toggle(key="export.beside").set_value(True).run())
    assert "offsite-in-porto-answer-with-provenance.zip" in said(test)
    answer = show(store, session.id).lineage[-1]
    file = exporting.write(exporting.answer(store, session.id, answer.id), "markdown")
    made = provenance.beside(store, file, session.id, answer.id)
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        assert archive.read("offsite-in-porto-answer.md").decode() == ANSWER
        told = json.loads(archive.read("offsite-in-porto-provenance.json"))
        page = archive.read("offsite-in-porto-provenance.html").decode()
    assert told["answer"]["node_id"] == answer.id
    assert told["answer"]["sha256"] in page


# --- provenance ----------------------------------------------------------------------------------


def provenance_of(app: Open, session: Session) -> AppTest:
    return choose(opened(app, session), "What to export", "provenance")


def test_an_answer_of_unknown_origin_says_why_it_cannot_be_asked_again(
    app: Open, session: Session
) -> None:
    test = provenance_of(app, session)
    assert "It is not known what was sent for it." in said(test)
    assert len(test.get("download_button")) == 3
    assert "provenance.html" in said(test)


def test_a_re_run_that_gives_the_same_says_so_and_changes_nothing(app: Open, store: Store) -> None:
    session = asked(store, "One plan, please.")
    before = show(store, session.id)
    test = provenance_of(app, session)
    sound(test.button(key="provenance.rerun").click().run())
    until(lambda: not store.runs.not_ended(session.id))
    memory(test)["kept.dialog"] = acted(session).dialog
    test = choose(sound(test.run()), "What to export", "provenance")
    assert [one.value for one in test.success] == ["It gave the same, word for word."]
    assert show(store, session.id).lineage == before.lineage
    assert len(store.runs.side(session.id, "rerun")) == 1
    answer = before.lineage[-1].id
    assert provenance.manifest(store, session.id, answer)["reproduces"] is True


def test_a_re_run_that_drifts_shows_what_differs(app: Open, store: Store) -> None:
    session = asked(store, "/count\nOne plan, please.")
    test = provenance_of(app, session)
    with patch.object(provenance, "reruns", lambda *_: [drifted(store, session)]):
        test = sound(test.run())
    assert [one.value for one in test.warning] == ["It gave other words."]
    assert any("only in the re-run" in one.proto.body for one in test.get("html"))


def asked(store: Store, words: str) -> Session:
    """A session whose one answer was really asked for."""
    session = store.sessions.create(config=ECHO)
    backend.runner().send(str(session.current_branch_id), words)
    until(lambda: not store.runs.not_ended(session.id))
    return store.sessions.get(session.id)


def drifted(store: Store, session: Session) -> provenance.Drift:
    (run,) = store.runs.of_nodes([show(store, session.id).lineage[-1].id]).values()
    return provenance.Drift(
        run=run,
        before=run,
        state="done",
        outcome="different",
        likeness=0.5,
        diff=compare("One plan, please.", "Another plan, please."),
        text="Another plan, please.",
    )
