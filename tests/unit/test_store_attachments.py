"""Attached files: stored once, sent when a model is asked, gone when nothing refers to them."""

from hashlib import sha256

import pytest

from core import Config, Queued, Run, Runner, Session, Store, View, exporting, fork, show
from core.asking import prepare
from core.errors import NotFound, UserError
from core.types import AttachmentRef, Include, Text
from pages.components import acts
from tests.contract.media import PDF, PNG, TEXT
from tests.unit.house import ask, begun, count, grow, until


@pytest.fixture
def cat(store: Store) -> AttachmentRef:
    return store.attachments.add("cat.png", "image/png", PNG)


@pytest.fixture
def notes(store: Store) -> AttachmentRef:
    return store.attachments.add("notes.txt", "text/plain", TEXT)


def only_file(store: Store, run: Run) -> AttachmentRef:
    assert run.context_tip_id
    (file,) = store.nodes.get(run.context_tip_id).parts[:1]
    assert isinstance(file, AttachmentRef)
    return file


# --- storing -----------------------------------------------------------------------------------


def test_the_same_bytes_are_stored_once_under_their_hash(store: Store, cat: AttachmentRef) -> None:
    again = store.attachments.add("other name.png", "image/png", PNG)
    assert again.sha256 == cat.sha256 == sha256(PNG).hexdigest()
    assert again.name == "other name.png"
    assert count(store, "attachments") == len(store.attachments) == 1
    assert store.attachments.about(cat.sha256) == cat
    assert store.attachments[cat.sha256] == PNG
    assert dict(store.attachments) == {cat.sha256: PNG}
    assert store.attachments.sizes([cat.sha256, "unknown"]) == {cat.sha256: len(PNG)}


def test_what_is_not_there_is_said(store: Store) -> None:
    assert store.attachments.get("unknown") is None
    assert store.attachments.sizes([]) == {}
    with pytest.raises(NotFound):
        store.attachments.about("unknown")


def test_what_is_pending_waits_in_order_and_each_file_once(
    store: Store, main: str, cat: AttachmentRef, notes: AttachmentRef
) -> None:
    store.attachments.hold(main, [notes, cat, notes])
    assert store.attachments.pending(main) == (notes, cat)
    store.attachments.let_go(main, [notes.sha256])
    assert store.attachments.pending(main) == (cat,)


# --- sending -----------------------------------------------------------------------------------


def test_files_go_with_the_words_and_the_adapter_gets_their_bytes(
    runner: Runner, main: str, cat: AttachmentRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ask(runner, main, "look", files=(cat,))
    assert run.finish_reason == "stop"
    sent = runner.store.runs.sent(run.id).messages
    assert sent[-1]["files"] == [{"name": "cat.png", "sha256": cat.sha256}]
    assert only_file(runner.store, run) == cat


def test_a_file_alone_is_a_message_and_names_the_session(
    runner: Runner, main: str, cat: AttachmentRef
) -> None:
    run = ask(runner, main, "  ", files=(cat,))
    assert run.finish_reason == "stop"
    assert runner.store.nodes.get(run.context_tip_id or "").parts == (cat,)
    assert runner.store.sessions.get(run.session_id).title == "cat.png"
    assert runner.store.nodes.outline(run.session_id)[0]["snippet"] == "cat.png"
    with pytest.raises(UserError, match="nothing to send"):
        runner.send(main, "  ")


def test_a_message_with_files_that_is_queued_keeps_them(
    runner: Runner, main: str, cat: AttachmentRef, notes: AttachmentRef
) -> None:
    first = runner.send(main, "/stall 1\none two")
    assert isinstance(first, Run)
    begun(runner, first)
    queued = runner.send(main, "", files=(cat, notes))
    assert isinstance(queued, Queued)
    (waiting,) = runner.store.branches.queued(main)
    assert (waiting["text"], waiting["files"]) == ("", (cat, notes))
    runner.stop(first.id)
    runner.wait(first.id, 10)
    sent = runner.send_queued(queued.id)
    assert isinstance(sent, Run)
    assert runner.store.nodes.get(sent.context_tip_id or "").parts == (cat, notes)


def test_a_queued_message_is_sent_with_its_files_once_the_answer_is_there(
    runner: Runner, main: str, cat: AttachmentRef
) -> None:
    first = runner.send(main, "/delay 50\none two three four")
    assert isinstance(first, Run)
    assert isinstance(runner.send(main, "next", files=(cat,)), Queued)
    until(lambda: len(runner.store.nodes.lineage(runner.store.branches.get(main).tip_id)) == 4)
    third = runner.store.nodes.lineage(runner.store.branches.get(main).tip_id)[2]
    assert third.parts == (cat, Text(text="next"))


def test_an_edited_message_keeps_its_files(runner: Runner, main: str, cat: AttachmentRef) -> None:
    run = ask(runner, main, "look", files=(cat,))
    again = runner.wait(runner.edit_and_send(main, run.context_tip_id or "", "look again").id)
    assert runner.store.nodes.get(again.context_tip_id or "").parts == (
        cat,
        Text(text="look again"),
    )
    bare = runner.wait(runner.edit_and_send(main, again.context_tip_id or "", "").id)
    assert runner.store.nodes.get(bare.context_tip_id or "").parts == (cat,)
    assert count(runner.store, "attachments") == 1


def test_a_file_that_the_model_cannot_take_is_said_and_nothing_is_sent(
    runner: Runner, main: str
) -> None:
    sound = runner.store.attachments.add("song.wav", "audio/wav", b"RIFF\0\0\0\0WAVE")
    config = Config(provider="openai", model="gpt-5.6")
    run = runner.send(main, "listen", files=(sound,), config=config)
    assert isinstance(run, Run)
    ended = runner.store.runs.get(run.id)
    assert ended.failure is not None
    assert ended.failure.kind == "Unsupported"
    assert "song.wav" in ended.failure.message
    assert runner.store.runs.sent(run.id).messages == ()


def test_bytes_are_read_for_what_is_new_and_not_for_every_turn(
    store: Store, session: Session, main: str, cat: AttachmentRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    real = type(store.attachments).__getitem__
    monkeypatch.setattr(
        type(store.attachments),
        "__getitem__",
        lambda self, digest: read.append(digest) or real(self, digest),
    )
    runner = Runner(store)
    node = runner.send(main, "look", files=(cat,))
    assert isinstance(node, Run)
    runner.wait(node.id, 10)
    config = Config(provider="anthropic", model="claude-sonnet-5-5")
    grow(store, main, "two", "answer", "three", "answer", "four", "answer", "five")
    tips = [node.id for node in store.nodes.lineage(store.branches.get(main).tip_id)][::2]
    store.nodes.forget()
    for tip in tips:
        assert prepare(store, store.nodes.lineage(tip), config, session, "reply").failure is None
    runner.close()
    # Once as the last message, once as an earlier one; from then on it is remembered.
    assert read == [cat.sha256] * 2


# --- acts --------------------------------------------------------------------------------------


def view_of(runner: Runner, session: Session) -> View:
    return show(runner.store, session.id)


def test_a_message_taken_back_brings_its_files_to_the_composer(
    runner: Runner, session: Session, main: str, cat: AttachmentRef
) -> None:
    held = runner.store.branches.enqueue(main, "look", "held", files=(cat,))
    result = acts.perform(runner, view_of(runner, session), {"action": "unqueue", "id": held})
    assert result.insert == "look"
    assert runner.store.attachments.pending(main) == (cat,)


def test_a_pending_file_can_be_removed_or_sent_without_words(
    runner: Runner, session: Session, main: str, cat: AttachmentRef, notes: AttachmentRef
) -> None:
    runner.store.attachments.hold(main, [cat, notes])
    view = view_of(runner, session)
    acts.perform(runner, view, {"action": "drop_file", "sha256": cat.sha256})
    assert runner.store.attachments.pending(main) == (notes,)
    acts.perform(runner, view, {"action": "send_files"})
    assert runner.store.attachments.pending(main) == ()
    tip = runner.store.nodes.lineage(runner.store.branches.get(main).tip_id)[0]
    assert tip.parts == (notes,)


def test_a_message_whose_words_are_edited_away_keeps_its_files(
    runner: Runner, session: Session, main: str, cat: AttachmentRef
) -> None:
    run = ask(runner, main, "look", files=(cat,))
    act = {"action": "edit", "node": run.context_tip_id, "text": "", "send": True}
    acts.perform(runner, view_of(runner, session), act)
    first = runner.store.nodes.children([None], session.id)
    assert [node.parts for node in first] == [(cat, Text(text="look")), (cat,)]


# --- leaving -----------------------------------------------------------------------------------


def test_deleting_for_good_drops_the_bytes_that_nothing_else_refers_to(
    runner: Runner, session: Session, main: str, cat: AttachmentRef, notes: AttachmentRef
) -> None:
    store = runner.store
    other = store.sessions.create(config=session.config)
    assert other.current_branch_id
    ask(runner, main, "both", files=(cat, notes))
    ask(runner, other.current_branch_id, "one", files=(cat,))
    paper = store.attachments.add("paper.pdf", "application/pdf", PDF)
    queued = store.attachments.add("queued.txt", "text/plain", b"queued")
    store.attachments.hold(other.current_branch_id, [paper])
    store.branches.enqueue(other.current_branch_id, "", "held", files=(queued,))
    store.sessions.bin(session.id)
    assert len(store.attachments) == 4
    store.sessions.delete_for_good(session.id)
    assert set(store.attachments) == {cat.sha256, paper.sha256, queued.sha256}
    store.sessions.bin(other.id)
    store.sessions.delete_for_good(other.id)
    assert len(store.attachments) == 0


def test_a_fork_shares_the_files(
    runner: Runner, session: Session, main: str, cat: AttachmentRef
) -> None:
    run = ask(runner, main, "look", files=(cat,))
    branch = fork(runner.store, run.node_id or "", from_branch=main)
    ask(runner, branch.id, "again", files=(cat,))
    assert count(runner.store, "attachments") == 1


def test_an_export_names_the_files(
    runner: Runner, session: Session, main: str, cat: AttachmentRef, notes: AttachmentRef
) -> None:
    odd = AttachmentRef(sha256=notes.sha256, media_type="text/plain", name="a`b.txt")
    ask(runner, main, "look", files=(cat, odd))
    taken = exporting.branch(runner.store, session.id, main)
    written = exporting.write(taken, "markdown", Include(metadata=False)).content.decode()
    assert "## Turn 1 · You\n\nAttached: `cat.png`, `a'b.txt`\n\nlook\n\n## Turn 1" in written
