"""Where an answer came from, and whether the same request still gives it."""

import hashlib
import json
from html.parser import HTMLParser
from typing import Any

import pytest

from core import Runner, Session, edit
from core.errors import NotFound, UserError
from core.exporting import provenance
from core.recap import activate, add
from core.store import Store
from core.types import Node, Origin, Run
from tests.unit.house import ask, count, grow, parts


def answer_of(runner: Runner, run: Run) -> Node:
    return runner.store.nodes.get(str(run.node_id))


def made(runner: Runner, session: Session, node: Node) -> dict[str, Any]:
    found = provenance.manifest(runner.store, session.id, node.id)
    assert json.loads(json.dumps(found)) == found  # nothing but JSON
    return found


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_manifest_names_every_turn_its_model_and_its_words_by_hash(
    runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "one")
    node = answer_of(runner, ask(runner, main, "two"))
    found = made(runner, session, node)
    assert [(one["turn"], one["role"], one["model"]) for one in found["path"]] == [
        (1, "user", None),
        (1, "assistant", "echo-1"),
        (2, "user", None),
        (2, "assistant", "echo-1"),
    ]
    assert [one["sha256"] for one in found["path"]] == [
        sha(t) for t in ("one", "one", "two", "two")
    ]
    assert found["answer"]["sha256"] == sha("two")
    assert found["branch"]["name"] == "main"
    assert found["reproduces"] is None


def test_what_was_sent_is_named_by_hashes_that_change_with_it(
    runner: Runner, session: Session, main: str
) -> None:
    ask(runner, main, "one")
    node = answer_of(runner, ask(runner, main, "two"))
    one, two = made(runner, session, node)["runs"]
    assert len(one["sent"]["messages_hash"]) >= 32
    assert one["sent"]["settings_hash"] == two["sent"]["settings_hash"]
    assert one["sent"]["messages_hash"] != two["sent"]["messages_hash"]
    assert runner.store.runs.get(two["run_id"]).wire_tail == two["sent"]["messages_hash"]


def test_sums_leave_out_what_nobody_told(runner: Runner, session: Session, main: str) -> None:
    ask(runner, main, "one two three")
    node = answer_of(runner, ask(runner, main, "four"))
    found = made(runner, session, node)
    told_in = [one["tokens"]["input"] for one in found["runs"]]
    assert found["totals"]["runs"] == 2
    assert found["totals"]["tokens"]["input"] == sum(told_in)
    assert found["totals"]["tokens"]["cache_write"] is None


def test_hand_edits_files_origins_and_the_final_mark_are_told(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    file = store.attachments.add("plan.txt", "text/plain", b"a plan")
    run = runner.wait(runner.send(main, "one two", files=(file,)).id, 10)
    node, _ = edit(store, main, str(run.node_id), parts("one THREE"))
    store.nodes.mark(node.id, "final", "yes")
    store.comparisons.note_origins(
        node.id, [Origin(node_id=node.id, origin_id=str(run.node_id), kind="quote")]
    )
    found = made(runner, session, node)
    (changed,) = found["hand_edits"]
    assert (changed["source_id"], changed["words_added"]) == (run.node_id, 1)
    assert found["path"][0]["files"] == [
        {"name": "plan.txt", "media_type": "text/plain", "sha256": file.sha256}
    ]
    assert found["origins"][0]["origin_id"] == run.node_id
    assert found["answer"]["final"] is True


def test_a_recap_is_there_with_the_calls_it_was_sent_in(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    first = answer_of(runner, ask(runner, main, "one"))
    recap = add(store, session.id, first.id, "We said one.")
    add(store, session.id, first.id, "Never used.")
    activate(store, main, recap.id)
    run = ask(runner, main, "two")
    (kept,) = made(runner, session, answer_of(runner, run))["recaps"]
    assert (kept["text"], kept["sha256"]) == ("We said one.", sha("We said one."))
    assert (kept["in_force_for_runs"], kept["in_force_now"]) == ([run.id], True)


def test_an_imported_answer_says_where_from(store: Store, session: Session, main: str) -> None:
    node = grow(store, main, "hello", "hi")[-1]
    store.imports.note_session("chatgpt", "their-id", session.id)
    store.imports.note_nodes([(node.id, "their-node", "openai", "gpt-4o")])
    found = provenance.manifest(store, session.id, node.id)
    assert found["imported_from"] == {"format": "chatgpt", "key": "their-id"}
    assert found["path"][-1]["imported_key"] == "their-node"
    assert (found["answer"]["provider"], found["answer"]["model"]) == ("openai", "gpt-4o")


def test_no_key_is_ever_in_a_manifest(
    runner: Runner, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
    found = made(runner, session, answer_of(runner, ask(runner, main, "one")))
    assert "secret-of-the-test" not in json.dumps(found)


def test_another_session_s_message_is_not_found(
    runner: Runner, session: Session, main: str
) -> None:
    other = runner.store.sessions.create(config=session.config)
    node = grow(runner.store, main, "one")[0]
    with pytest.raises(NotFound):
        provenance.manifest(runner.store, other.id, node.id)


# --- asked again --------------------------------------------------------------------------------


def test_the_very_request_is_sent_again_and_no_node_comes_of_it(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    ask(runner, main, "one")
    before = ask(runner, main, "two")
    node = answer_of(runner, before)
    ask(runner, main, "three")  # what came later changes nothing
    store.sessions.change(session.id, objective="Another one")
    nodes = count(store)
    run = runner.wait(provenance.reproduce(runner, session.id, node.id).id, 10)
    assert count(store) == nodes
    assert (run.purpose, run.node_id, run.context_tip_id) == ("rerun", None, node.id)
    assert store.runs.sent(run.id) == store.runs.sent(before.id)
    found = provenance.drift(store, session.id, node.id)
    assert found is not None
    assert (found.state, found.outcome, found.likeness, found.text) == ("done", "same", 1.0, "two")
    assert made(runner, session, node)["reproduces"] is True


def test_other_words_are_told_with_what_changed(
    runner: Runner, session: Session, main: str
) -> None:
    words = " ".join(f"word{n}" for n in range(40))
    store = runner.store
    run = ask(runner, main, words)
    node = answer_of(runner, run)
    again = runner.wait(provenance.reproduce(runner, session.id, node.id).id, 10)
    with store._db.write() as db:
        changed = words.replace("word7 ", "other ")
        body = json.dumps([{"type": "text", "text": changed}])
        db.conn.execute("UPDATE runs SET partial = ? WHERE id = ?", [body, again.id])
        db.conn.execute("UPDATE runs SET resolved_model = 'echo-2' WHERE id = ?", [again.id])
    found = provenance.drift_of(store, again.id)
    assert (found.outcome, found.models) == ("alike", ("echo-1", "echo-2"))
    assert found.diff is not None
    assert (found.diff.added, found.diff.removed) == (1, 1)
    page = provenance.markdown(made(runner, session, node))
    assert "gave nearly the same words (98% alike); echo-2 answered in place of echo-1." in page


def test_a_stopped_or_failed_repetition_is_no_verdict(
    runner: Runner, session: Session, main: str
) -> None:
    node = answer_of(runner, ask(runner, main, "one"))
    run = runner.wait(provenance.reproduce(runner, session.id, node.id).id, 10)
    with runner.store._db.write() as db:
        db.conn.execute("UPDATE runs SET finish_reason = 'stopped' WHERE id = ?", [run.id])
    found = made(runner, session, node)
    assert (found["reruns"][0]["state"], found["reproduces"]) == ("failed", None)


@pytest.mark.parametrize("kind", ["user", "edited", "imported", "grown"])
def test_what_no_model_wrote_here_cannot_be_asked_again(
    runner: Runner, session: Session, main: str, kind: str
) -> None:
    store = runner.store
    run = ask(runner, main, "one")
    if kind == "user":
        node = store.nodes.get(str(run.context_tip_id))
    elif kind == "edited":
        node, _ = edit(store, main, str(run.node_id), parts("ONE"))
    else:
        node = grow(store, main, "x", "y")[-1]
    why = provenance.why_not(store, session.id, node.id)
    assert why.endswith(".")
    with pytest.raises(UserError, match=why[:20]):
        provenance.reproduce(runner, session.id, node.id)
    assert provenance.drift(store, session.id, node.id) is None


def test_a_budget_that_is_used_up_stops_a_repetition_too(
    runner: Runner, session: Session, main: str
) -> None:
    node = answer_of(runner, ask(runner, main, "one"))
    runner.store.sessions.change(session.id, token_budget=1, over_budget="stop")
    with pytest.raises(UserError):
        provenance.reproduce(runner, session.id, node.id)


# --- the page -----------------------------------------------------------------------------------


class Read(HTMLParser):
    """The words of a page and the tags in it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_says_what_the_manifest_says_and_nothing_in_it_runs(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    store.sessions.change(session.id, title="<script>alert(1)</script> | plan")
    first = answer_of(runner, ask(runner, main, "one"))
    recap = add(store, session.id, first.id, "We <img src=x onerror=alert(1)> said.")
    activate(store, main, recap.id)
    node = answer_of(runner, ask(runner, main, "two"))
    found = made(runner, session, node)
    read = Read()
    read.feed(provenance.html(found))
    words = "".join(read.words)
    assert not read.tags & {"script", "img", "iframe", "form", "link"}
    title = "<script>alert(1)</script> | plan"
    for told_there in (title, "echo-1", node.id, sha(node.text), recap.id):
        assert told_there in words
    page = provenance.markdown(found)
    assert node.id in page
    assert sha(node.text) in page


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("json", "one-provenance.json"),
        ("html", "one-provenance.html"),
        ("markdown", "one-provenance.md"),
    ],
)
def test_the_manifest_is_a_file(
    runner: Runner, session: Session, main: str, kind: Any, name: str
) -> None:
    node = answer_of(runner, ask(runner, main, "one"))
    found = provenance.manifest(runner.store, session.id, node.id)
    file = provenance.as_file(found, kind)
    assert file.name == name
    assert node.id.encode() in file.content
