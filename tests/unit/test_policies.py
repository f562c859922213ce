"""Context policies: a path and what becomes of it on the wire, and what holds always."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Config, Node
from core.context import in_context, with_parts
from core.errors import UserError
from core.policies import POLICIES, Choices, plan
from core.types import AttachmentRef, Message, Part, Recap, Role, Text, ToolCall, ToolResult

FILE = AttachmentRef(sha256="f" * 64, media_type="image/png", name="a.png")
OPENING = "user: Earlier in this conversation you wrote:"
RECAP = "To recap what we've decided so far:\nR\n\n"


def path(words: str, **more: Any) -> tuple[Node, ...]:
    """A lineage: ``U`` asks, ``A`` answers, ``C`` calls a tool, ``T`` is its result, ``F`` is a
    question with a file, ``R`` one with a reminder, ``E`` says nothing at all. Ids are ``U1`` …"""
    counts: dict[str, int] = {}
    found: list[Node] = []
    for kind in words.replace(" ", ""):
        group = "U" if kind in "UFR" else kind
        counts[group] = counts.get(group, 0) + 1
        found.append(_node(f"{group}{counts[group]}", kind, found))
    return tuple(found)


def _node(name: str, kind: str, before: Sequence[Node]) -> Node:
    role: Role = {"A": "assistant", "C": "assistant", "T": "tool"}.get(kind, "user")  # type: ignore[assignment]
    said: dict[str, tuple[Part, ...]] = {
        "C": (Text(text=name), ToolCall(id=name, name="f", arguments="{}")),
        "T": (ToolResult(call_id=before[-1].id if before else "", name="f", text=name),),
        "F": (FILE, Text(text=name)),
        "E": (),
    }
    return Node(
        id=name,
        session_id="s",
        parent_id=before[-1].id if before else None,
        role=role,
        parts=said.get(kind, (Text(text=name),)),
        author="person",
        created_at="",
        sent_suffix=" (reminder)" if kind == "R" else "",
    )


def recap(covers_to: str, text: str = "R") -> Recap:
    return Recap(id=f"r-{covers_to}", session_id="s", covers_to=covers_to, text=text, created_at="")


def choices(cut: str = "", pin: str = "", mute: str = "") -> Choices:
    return Choices(
        recap=recap(cut) if cut else None,
        pinned=frozenset(pin.split()),
        muted=frozenset(mute.split()),
    )


def sent(policy: str, lineage: Sequence[Node], chosen: Choices, keep: int = 1) -> list[Message]:
    config = Config(provider="echo", model="m", policy=policy, keep_turns=keep)
    return list(in_context(lineage, config, chosen))


def wire(messages: Sequence[Message]) -> list[str]:
    """Each message in a line: role and every word and file of it."""
    return [f"{m.role}: {''.join(map(_said, m.parts))}" for m in messages]


def _said(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case ToolCall():
            return f"<call {part.id}>"
        case ToolResult():
            return f"<result of {part.call_id}>"
        case AttachmentRef():
            return "<file>"
    return ""


def u(words: str) -> str:
    return f"user: {words}"


def a(words: str) -> str:
    return f"assistant: {words}"


FULL = [u("U1"), a("A1"), u("U2"), a("A2"), u("U3"), a("A3"), u("U4")]
SB2 = "Just to reiterate,\n- U1\n\nAlso,\n\nU2\n"
SB3 = "Just to reiterate,\n- U1\n- U2\n\nAlso,\n\nU3\n"
SB4 = "Just to reiterate,\n- U1\n- U2\n- U3\n\nAlso,\n\nU4\n"
RESTATED = (
    "Just to recapitulate, the entire task is:\n\n- U1\n- U2\n- U3\n- U4\n\nNow please complete"
    " the task correctly taking all the information into account."
)
TOOLS = [u("U1"), a("C1<call C1>"), "tool: <result of C1>", a("A1")]


@pytest.mark.parametrize(
    ("policy", "words", "chosen", "expected"),
    [
        # every policy, as defined
        ("full", "UAUAUAU", choices(), FULL),
        ("yours", "UAUAUAU", choices(), [u("U1"), u("U2"), u("U3"), u("U4")]),
        ("last", "UAUAUAU", choices(), FULL[4:]),
        ("auto", "UAUAUAU", choices(), FULL),
        ("auto", "UAUAUAU", choices("A2"), [u(RECAP + "U3"), a("A3"), u("U4")]),
        ("snowball", "UAUAUAU", choices(),
         [u("U1"), a("A1"), u(SB2), a("A2"), u(SB3), a("A3"), u(SB4)]),
        ("snowball_last", "UAUAUAU", choices(), [*FULL[:-1], u(SB4)]),
        ("restate", "UAUAUAU", choices(), [*FULL[:-1], u(RESTATED)]),
        ("concat", "UAUAUAU", choices(), [u("- U1\n- U2\n- U3\n- U4")]),
        # the first turn is nobody's to repeat
        *((policy, "U", choices(), [u("U1")]) for policy in POLICIES),
        *((policy, "", choices(), []) for policy in POLICIES),
        # a recap in all of them
        ("full", "UAUAU", choices("A1"), [u(RECAP + "U2"), a("A2"), u("U3")]),
        ("yours", "UAUAU", choices("A1"), [u(RECAP + "U2"), u("U3")]),
        ("last", "UAUAU", choices("A1"), [u(RECAP + "U2"), a("A2"), u("U3")]),
        ("snowball", "UAUAU", choices("A1"),
         [u(RECAP + "U2"), a("A2"), u("Just to reiterate,\n- U2\n\nAlso,\n\nU3\n")]),
        ("restate", "UAU", choices("A1"), [u(RECAP + "U2")]),
        ("concat", "UAUAU", choices("A1"), [u(RECAP + "- U2\n- U3")]),
        # cut within a turn, at the question being answered, elsewhere
        ("full", "UAUAU", choices("U2"), [u(RECAP.rstrip()), a("A2"), u("U3")]),
        ("full", "UAU", choices("U2"), [u("U1"), a("A1"), u("U2")]),
        ("full", "UAU", choices("other"), [u("U1"), a("A1"), u("U2")]),
        # pins
        ("yours", "UAUAU", choices(pin="A1"), [u("U1"), a("A1"), u("U2"), u("U3")]),
        ("last", "UAUAUAU", choices(pin="U1"), [u("U1"), *FULL[4:]]),
        ("last", "UAUAUAU", choices(pin="A1"), [OPENING, a("A1"), *FULL[4:]]),
        ("full", "UAUAU", choices("A2", pin="U1"), [u(RECAP + "U1"), u("U3")]),
        ("full", "UAUAU", choices("A2", pin="A1"), [u(RECAP.rstrip()), a("A1"), u("U3")]),
        ("concat", "UAU", choices(pin="A1"),
         [u("- U1\n- U2\n\nKeep to this earlier answer of yours:\n\nA1")]),
        ("concat", "UAU", choices("A1", pin="U1"), [u(RECAP + "- U1\n- U2")]),
        # mutes
        ("full", "UAUAU", choices(mute="A1"), [u("U1"), u("U2"), a("A2"), u("U3")]),
        ("full", "UAU", choices(mute="U1"), [OPENING, a("A1"), u("U2")]),
        ("full", "UAU", choices(mute="U1 A1"), [u("U2")]),
        ("full", "UAU", choices(mute="U2"), [u("U1"), a("A1"), u("U2")]),
        ("snowball_last", "UAUAU", choices(mute="U1"),
         [OPENING, a("A1"), u("U2"), a("A2"), u("Just to reiterate,\n- U2\n\nAlso,\n\nU3\n")]),
        ("concat", "UAUAU", choices(mute="U2"), [u("- U1\n- U3")]),
        ("full", "UAUAU", choices(pin="A1", mute="A1"), [u("U1"), u("U2"), a("A2"), u("U3")]),
        # tool rounds go whole or not at all
        ("full", "UCTAU", choices(), [*TOOLS, u("U2")]),
        ("yours", "UCTAU", choices(), [u("U1"), u("U2")]),
        ("yours", "UCTAU", choices(pin="T1"), [*TOOLS[:3], u("U2")]),
        ("full", "UCTAU", choices(mute="T1"), [u("U1"), a("A1"), u("U2")]),
        ("full", "UCTAU", choices(mute="C1"), [u("U1"), a("A1"), u("U2")]),
        ("full", "UCTAU", choices("C1"), [u(RECAP.rstrip()), a("A1"), u("U2")]),
        ("last", "UCTAU", choices(pin="C1"),
         [u("U1"), a("C1<call C1>"), "tool: <result of C1>", a("A1"), u("U2")]),
        *((policy, "UCT", choices(), TOOLS[:3]) for policy in POLICIES),
        *((policy, "UCTCT", choices(mute="C1", pin="T2"), None) for policy in POLICIES),
        ("concat", "UAUCT", choices(),
         [u("- U1\n- U2"), a("C1<call C1>"), "tool: <result of C1>"]),
        # files
        ("full", "FAU", choices(), [u("<file>U1"), a("A1"), u("U2")]),
        ("snowball", "UAF", choices(), [u("U1"), a("A1"), u("<file>" + SB2)]),
        ("restate", "FAU", choices(), [u("<file>U1"), a("A1"), None]),
        ("concat", "FAF", choices(), [u("<file><file>- U1\n- U2")]),
        ("concat", "FAU", choices("A1"), [u(RECAP + "U2")]),
        # reminders stay where they were said
        ("full", "UAR", choices(), [u("U1"), a("A1"), u("U2 (reminder)")]),
        ("snowball", "RAR", choices(),
         [u("U1 (reminder)"), a("A1"), u(SB2 + " (reminder)")]),
        ("concat", "RAR", choices(), [u("- U1\n- U2 (reminder)")]),
        ("full", "UAR", choices("A1"), [u(RECAP + "U2 (reminder)")]),
        # a message that says nothing is none; an answer may come first; people say two things
        ("full", "UEAU", choices(mute="A1"), [u("U1"), u("U2")]),
        ("last", "AU", choices(), [a("A1"), u("U1")]),
        ("yours", "AU", choices(), [u("U1")]),
        ("snowball", "UUU", choices(), [u("U1"), u(SB2), u(SB3)]),
    ],
)  # fmt: skip
def test_what_a_policy_sends(
    policy: str, words: str, chosen: Choices, expected: list[str | None] | None
) -> None:
    lineage = path(words)
    found = wire(sent(policy, lineage, chosen))
    if expected is None:  # the turn that is being answered goes whole, whatever is chosen
        assert found == wire(sent("full", lineage, choices()))
        return
    if policy == "last" and words == "AU":
        expected = [OPENING, *expected]
    assert len(found) == len(expected)
    for one, wanted in zip(found, expected, strict=True):
        assert wanted is None or one == wanted


@pytest.mark.parametrize("keep", [0, 1, 2, 3, 9])
def test_so_many_last_turns(keep: int) -> None:
    found = wire(sent("last", path("UAUAUAU"), choices(), keep))
    assert found == FULL[max(0, 6 - 2 * keep) :]


def test_a_file_without_words_is_not_repeated_as_nothing() -> None:
    first, answer, last = path("UAU")
    silent = replace(first, parts=(FILE,))
    assert wire(sent("snowball", (silent, answer, last), choices()))[-1] == "user: U2"
    assert wire(sent("concat", (silent, answer, last), choices())) == ["user: <file>- U2"]
    late = replace(last, parts=(FILE,))
    found = sent("snowball", (first, answer, late), choices())[-1]
    assert wire([found]) == ["user: <file>Just to reiterate,\n- U1\n\n"]
    alone = sent("concat", (silent, answer, late), choices())[0]
    assert alone.parts == (FILE, FILE)  # no empty words, which some providers refuse


def test_an_unknown_policy_is_said_so() -> None:
    with pytest.raises(UserError, match="'other'"):
        sent("other", path("U"), choices())


def test_every_policy_says_what_it_does_in_one_sentence() -> None:
    for name, policy in POLICIES.items():
        assert name == policy.name
        assert policy.sentence.endswith(".")
        assert policy.label


# --- what holds always -----------------------------------------------------------------------

_TURN = st.sampled_from(["U", "UA", "UCTA", "UCTCTA", "F", "RA", "UU", "UEA", "UC"])
_PATHS = st.lists(_TURN, min_size=1, max_size=6).map(lambda turns: path("".join(turns)))
_ENDS = st.sampled_from(["U", "F", "R", "UCT", "UCTCT"])


@st.composite
def asked(draw: st.DrawFn) -> tuple[tuple[Node, ...], Choices, int]:
    """A lineage that waits for an answer, and anything a branch may change about it."""
    turns = "".join(draw(st.lists(_TURN, max_size=6))) + draw(_ENDS)
    lineage = path(turns)
    ids = [node.id for node in lineage]
    chosen = Choices(
        recap=draw(st.none() | st.sampled_from(ids).map(recap)),
        pinned=draw(st.frozensets(st.sampled_from(ids), max_size=3)),
        muted=draw(st.frozensets(st.sampled_from(ids), max_size=3)),
    )
    return lineage, chosen, draw(st.integers(0, 4))


@given(given_=asked(), policy=st.sampled_from(sorted(POLICIES)))
def test_same_input_same_words(given_: tuple[tuple[Node, ...], Choices, int], policy: str) -> None:
    lineage, chosen, keep = given_
    again = tuple(replace(node) for node in lineage)  # equal, and not the same
    assert sent(policy, lineage, chosen, keep) == sent(policy, again, chosen, keep)


@given(given_=asked(), policy=st.sampled_from(sorted(POLICIES)))
def test_a_user_message_comes_first_and_the_question_goes_whole(
    given_: tuple[tuple[Node, ...], Choices, int], policy: str
) -> None:
    lineage, chosen, keep = given_
    found = sent(policy, lineage, chosen, keep)
    assert found[0].role == "user"
    nodes = with_parts(lineage)
    last = max(place for place, node in enumerate(nodes) if node.role == "user")
    assert [m.node_id for m in found][-(len(nodes) - last) :] == [n.id for n in nodes[last:]]
    assert lineage[-1].text in "".join(wire(found))


@given(given_=asked(), policy=st.sampled_from(sorted(POLICIES)))
def test_a_tool_call_is_never_parted_from_its_results(
    given_: tuple[tuple[Node, ...], Choices, int], policy: str
) -> None:
    lineage, chosen, keep = given_
    answered = {p.call_id for n in lineage for p in n.parts if isinstance(p, ToolResult)}
    found = sent(policy, lineage, chosen, keep)
    open_: set[str] = set()
    for message in found:
        results = {part.call_id for part in message.parts if isinstance(part, ToolResult)}
        assert results <= open_, "a result without its call right before it"
        if message.role != "tool":
            assert not open_ & answered, "a call whose results were left out"
            open_ = {part.id for part in message.parts if isinstance(part, ToolCall)}
        else:
            open_ -= results
    assert not open_ & answered


@given(given_=asked())
def test_no_more_turns_than_were_asked_for(
    given_: tuple[tuple[Node, ...], Choices, int],
) -> None:
    lineage, chosen, keep = given_
    chosen = replace(chosen, pinned=frozenset())
    items = plan("last", with_parts(lineage), chosen, keep)
    users = {node.id for node in lineage if node.role == "user"}
    assert sum(item.node_id in users for item in items) <= keep + 1


@given(given_=asked(), policy=st.sampled_from(sorted(POLICIES)))
def test_a_recap_that_is_switched_off_leaves_no_trace(
    given_: tuple[tuple[Node, ...], Choices, int], policy: str
) -> None:
    lineage, chosen, keep = given_
    before = sent(policy, lineage, replace(chosen, recap=None), keep)
    sent(policy, lineage, chosen, keep)
    after = sent(policy, lineage, replace(chosen, recap=None), keep)
    assert repr(before) == repr(after)


@given(given_=asked(), policy=st.sampled_from(sorted(POLICIES)))
def test_muted_words_are_nowhere_and_pinned_ones_somewhere(
    given_: tuple[tuple[Node, ...], Choices, int], policy: str
) -> None:
    lineage, chosen, keep = given_
    marked = path("".join("U" if n.role == "user" else "A" for n in lineage))
    marked = tuple(
        replace(node, id=old.id, parts=(Text(text=f"<{old.id}>"),))
        for node, old in zip(marked, lineage, strict=True)
    )
    found = "".join(wire(sent(policy, marked, chosen, keep)))
    last = max(place for place, node in enumerate(marked) if node.role == "user")
    for node in marked[:last]:
        if node.id in chosen.muted:
            assert node.text not in found
        elif node.id in chosen.pinned:
            assert node.text in found


@given(turns=st.integers(1, 12))
def test_the_last_snowball_repeats_every_turn_once_and_in_order(turns: int) -> None:
    lineage = path("UA" * turns + "U")
    *_, last = wire(sent("snowball", lineage, choices()))
    places = [last.index(f"U{n}\n") for n in range(1, turns + 2)]
    assert places == sorted(places)
    assert [node.text for node in lineage if node.role == "user"][1] == "U2"  # stored as typed
