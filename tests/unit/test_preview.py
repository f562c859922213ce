"""What will be sent: line by line the very messages that the adapter then gets."""

from dataclasses import replace
from typing import Any

import pytest

from core import Run, Runner, Session, Store, Text, show
from core.errors import UserError
from core.exchange import exchange
from core.policies import POLICIES
from core.preview import PLACEHOLDER, Line, Preview, body, preview
from core.recap import activate, add
from core.types import AttachmentRef, Override
from tests.conftest import ECHO
from tests.unit.house import grow

TALK = ["q1", "a1", "q2", "a2", "q3", "a3"]


def seen(store: Store, session: Session, **more: Any) -> Preview:
    return preview(store, show(store, session.id), **more)


def told(lines: tuple[Line, ...]) -> list[str]:
    return [f"{line.why or line.role}: {said(line)}" for line in lines]


def said(line: Line) -> str:
    return "".join(part.text for part in line.parts if isinstance(part, Text))


def covered(store: Store, session: Session, main: str, node_id: str) -> None:
    activate(store, main, add(store, session.id, node_id, "R").id)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("chosen", ["nothing", "recap", "marks"])
@pytest.mark.parametrize("turn", [3, 4])  # the fourth turn has a reminder of its own
def test_the_lines_are_what_is_then_sent(
    runner: Runner, session: Session, main: str, policy: str, chosen: str, turn: int
) -> None:
    store = runner.store
    store.sessions.change(session.id, objective="Win", remind_every=2)
    store.branches.choose_policy(main, policy, 1)
    nodes = grow(store, main, *TALK[: 2 * (turn - 1)])
    if chosen == "recap" or policy == "auto":  # else the policy would have one written
        covered(store, session, main, nodes[2 * turn - 5].id)
    if chosen == "marks":
        store.recaps.override(main, Override(kind="pin", target_id=nodes[1].id))
        store.recaps.override(main, Override(kind="mute", target_id=nodes[0].id))
    before = seen(store, session)
    system = [("system", before.system)]
    expected = system + [(line.role, said(line)) for line in before.lines if not line.why]
    written = body(store, show(store, session.id))
    run = runner.send(main, PLACEHOLDER)
    assert isinstance(run, Run)
    sent = exchange(store, runner.wait(run.id).id).body
    assert sent == written
    assert [(one["role"], one["text"]) for one in sent["messages"]] == expected
    assert before.sent == len(expected) - 1
    assert before.left_out == len(before.lines) - before.sent


def test_what_is_left_out_stays_in_its_place_and_says_why(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, *TALK, "q4", "a4")
    covered(store, session, main, nodes[1].id)
    store.recaps.override(main, Override(kind="mute", target_id=nodes[3].id))
    store.recaps.override(main, Override(kind="pin", target_id=nodes[0].id))
    store.branches.choose_policy(main, "last", 1)
    found = seen(store, session)
    assert told(found.lines) == [
        "user: To recap what we've decided so far:\nR\n\nq1",
        "covered by the recap: a1",
        "left out by “Last turns”: q2",
        "muted on this branch: a2",
        "left out by “Last turns”: q3",
        "left out by “Last turns”: a3",
        "user: q4",
        "assistant: a4",
        f"user: {PLACEHOLDER}",
    ]
    assert [line.pinned for line in found.lines] == [True] + [False] * 8
    assert found.lines[0].recapped
    assert found.lines[-1].coming


def test_one_list_says_what_is_in_it(store: Store, session: Session, main: str) -> None:
    grow(store, main, *TALK[:4])
    store.branches.choose_policy(main, "concat", None)
    found = seen(store, session)
    assert told(found.lines) == [
        "said again in the list: q1",
        "left out by “One list”: a1",
        "said again in the list: q2",
        "left out by “One list”: a2",
        f"user: - q1\n- q2\n- {PLACEHOLDER}",
    ]


def test_an_introduction_stands_before_what_it_introduces(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, *TALK[:4])
    store.recaps.override(main, Override(kind="mute", target_id=nodes[0].id))
    lines = seen(store, session).lines
    assert told(lines)[:3] == [
        "muted on this branch: q1",
        "user: Earlier in this conversation you wrote:",
        "assistant: a1",
    ]
    assert [line.form for line in lines[:2]] == ["plain", "opening"]


def test_a_recap_that_will_be_written_is_announced(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, *TALK)
    store.branches.choose_policy(main, "auto", 1)
    found = seen(store, session)
    assert found.recap_first
    assert found.lines[4].parts[0].text.startswith("To recap")  # type: ignore[union-attr]
    assert "will be written first" in said(found.lines[4])
    assert found.left_out == 4
    store.branches.choose_policy(main, "full", 1)
    assert not seen(store, session).recap_first
    store.sessions.change(session.id, auto_recap=0.5)
    assert not seen(store, session).recap_first
    grow(store, main, "word " * 5000, "yes")
    assert seen(store, session).recap_first


def test_a_known_recap_is_shown_as_it_is(store: Store, session: Session, main: str) -> None:
    nodes = grow(store, main, *TALK)
    add(store, session.id, nodes[3].id, "Known")
    store.branches.choose_policy(main, "auto", 1)
    found = seen(store, session)
    assert not found.recap_first
    assert said(found.lines[4]) == "To recap what we've decided so far:\nKnown\n\nq3"


def test_of_a_long_conversation_only_the_end_is_written_out(
    store: Store, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import core.preview

    written: list[int] = []
    real = core.preview.render

    def counting(items: Any, *more: Any) -> Any:
        written.append(len(items))
        return real(items, *more)

    monkeypatch.setattr(core.preview, "render", counting)
    grow(store, main, *["some words"] * 300)
    store.branches.choose_policy(main, "snowball", None)
    found = seen(store, session, last=60)
    assert (len(found.lines), found.earlier, found.sent) == (60, 241, 301)
    assert written == [60]
    assert len(seen(store, session).lines) == 301


def test_files_that_wait_go_along(store: Store, session: Session, main: str) -> None:
    file = store.attachments.add("notes.txt", "text/plain", b"words")
    store.attachments.hold(main, [file])
    line = seen(store, session).lines[-1]
    assert line.parts == (file, Text(text=PLACEHOLDER))
    assert any(isinstance(part, AttachmentRef) for part in line.parts)


def test_the_numbers_are_the_meter_s(store: Store, session: Session, main: str) -> None:
    store.sessions.choose(session.id, replace(ECHO, system="Be brief and kind."))
    grow(store, main, "one two three", "four five six")
    found = seen(store, session)
    assert [line.tokens for line in found.lines] == [7, 7, 0]
    assert found.system_tokens == 5
    assert found.tokens == 19


def test_what_cannot_be_built_says_so(store: Store, session: Session, main: str) -> None:
    store.branches.choose_policy(main, "other", None)
    for look in (preview, body):
        with pytest.raises(UserError, match="'other'"):
            look(store, show(store, session.id))
