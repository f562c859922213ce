"""What the model is sent is a pure function of what is there."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Config, Node, Session, Text
from core.context import call_for, continuation, full, message_of, system_text
from core.types import Thinking, ToolCall
from tests.unit.house import parts
from tests.unit.test_tree import line

SESSION = Session(
    id="s", title="", config=Config(provider="echo", model="m"), created_at="", updated_at=""
)


@pytest.mark.parametrize(
    ("system", "objective", "done_when", "expected"),
    [
        ("", "", "", ""),
        ("  Be short. ", "", "", "Be short."),
        (" ", "Win", "\n", "Objective of this conversation: Win"),
        ("", "", "won", "It is done when: won"),
        (
            "S",
            " Win\n",
            "won",
            "S\n\nObjective of this conversation: Win\n\nIt is done when: won",
        ),
    ],
)
def test_the_system_text_is_prompt_objective_and_end(
    system: str, objective: str, done_when: str, expected: str
) -> None:
    session = replace(SESSION, objective=objective, done_when=done_when)
    assert system_text(replace(SESSION.config, system=system), session) == expected


def test_the_call_holds_the_config_and_every_message() -> None:
    config = Config(provider="echo", model="m", system="S", sampling={"max_tokens": 3})
    lineage = line("uau")
    call = call_for(lineage, config, SESSION)
    assert (call.model, call.system, dict(call.sampling)) == ("m", "S", {"max_tokens": 3})
    assert [message.node_id for message in call.messages] == [node.id for node in lineage]
    assert [message.parts for message in call.messages] == [node.parts for node in lineage]


def test_a_message_without_parts_is_not_sent() -> None:
    one, two = line("ua")
    assert [m.node_id for m in full([one, replace(two, parts=())])] == [one.id]


def test_what_was_sent_after_a_text_is_sent_after_it_again() -> None:
    (node,) = line("u")
    assert message_of(node).parts == node.parts
    reminded = message_of(replace(node, sent_suffix="Remember."))
    assert reminded.parts == (*node.parts, Text(text="Remember."))


@given(roles=st.text(alphabet="ua", max_size=12), more=st.text(alphabet="ua", max_size=4))
def test_a_longer_conversation_begins_with_the_same_messages(roles: str, more: str) -> None:
    before, after = (call_for(line(r), SESSION.config, SESSION) for r in (roles, roles + more))
    assert after.messages[: len(before.messages)] == before.messages


@given(asked=st.lists(st.text(alphabet="ua", max_size=8), max_size=12))
def test_what_was_worked_out_before_changes_no_message(asked: list[str]) -> None:
    nodes = {node.id: node for roles in asked for node in line(roles)}
    for roles in asked:
        lineage = tuple(nodes[roles[: end + 1]] for end in range(len(roles)))
        assert full(lineage) == tuple(message_of(node) for node in lineage)


def unfinished() -> list[Node]:
    asked, answer = line("ua")
    spoken = (Thinking(text="hm"), *parts("Half a "), ToolCall(id="1", name="n", arguments="{}"))
    return [asked, replace(answer, parts=spoken, raw={"signed": True})]


def test_continuing_with_prefill_ends_with_the_words_alone() -> None:
    call = continuation(call_for(unfinished(), SESSION.config, SESSION), prefill=True)
    assert [message.role for message in call.messages] == ["user", "assistant"]
    assert call.messages[-1].parts == parts("Half a ")
    assert call.messages[-1].raw is None


def test_continuing_without_prefill_asks_to_go_on() -> None:
    call = continuation(call_for(unfinished(), SESSION.config, SESSION), prefill=False)
    assert [message.role for message in call.messages] == ["user", "assistant", "user"]
    assert call.messages[1].parts == parts("Half a ")
    assert "Continue it exactly" in call.messages[2].parts[0].text  # type: ignore[union-attr]
