"""What the model is sent: pure functions from a lineage to a context.

Same input, same bytes: providers cache identical prefixes, so nothing volatile is rendered
into history and ancestors are never formatted anew.
"""

from collections.abc import Sequence
from dataclasses import replace

from core.beginnings import Beginnings
from core.errors import UserError
from core.policies import NOTHING, POLICIES, Choices, applicable, current_turn, plan, render
from core.types import (
    Branch,
    Call,
    Config,
    Message,
    Node,
    Parts,
    Session,
    Text,
    ToolCall,
    ToolResult,
)

_CONTINUE = (
    "Your last message was cut off. Continue it exactly where it stopped: do not repeat"
    " anything, do not comment, begin with the very next character."
)
_formatted: Beginnings[tuple[Message, ...]] = Beginnings()


def call_for(
    lineage: Sequence[Node], config: Config, session: Session, choices: Choices = NOTHING
) -> Call:
    """The call that asks for an answer to the last node of ``lineage``.

    Raises ``UserError`` for a context policy that there is not.
    """
    return Call(
        model=config.model,
        system=system_text(config, session),
        messages=in_context(lineage, config, choices),
        sampling=config.sampling,
    )


def config_for(session: Session, branch: Branch) -> Config:
    """The branch's own config, else the session's; with the branch's own context policy."""
    config = branch.config or session.config
    return replace(
        config,
        policy=branch.policy or config.policy,
        keep_turns=config.keep_turns if branch.keep_turns is None else branch.keep_turns,
    )


def in_context(
    lineage: Sequence[Node], config: Config, choices: Choices = NOTHING
) -> tuple[Message, ...]:
    """The messages that a policy sends of a lineage, with what the branch changes about it."""
    if config.policy not in POLICIES:
        raise UserError(
            f"This Turntree knows no context policy called {config.policy!r}.",
            hint="Choose another under Context.",
        )
    messages = full(lineage)
    if config.policy in ("full", "auto") and not choices:
        return messages
    nodes = with_parts(lineage)
    items = plan(config.policy, nodes, choices, config.keep_turns)
    recap = applicable(nodes, choices.recap, current_turn(nodes))
    return render(items, nodes, messages, recap)


def with_parts(lineage: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes that are messages: one without parts is nothing on the wire."""
    return tuple(node for node in lineage if node.parts)


def full(lineage: Sequence[Node]) -> tuple[Message, ...]:
    """The policy *full*: every message, as it stands."""
    # The last node is what differs when a question is asked another way: it is not kept.
    earlier, last = lineage[:-1], lineage[-1:]
    known, messages = _formatted.longest(earlier, ())
    messages += tuple(message_of(node) for node in earlier[known:] if node.parts)
    _formatted.keep(earlier, messages)
    return messages + tuple(message_of(node) for node in last if node.parts)


def message_of(node: Node) -> Message:
    """A node as it is sent: its parts, then what was sent after them."""
    foreign = node.author == "import" and node.role == "assistant"
    parts = _spoken(node.parts) if foreign else node.parts
    if node.sent_suffix:
        parts = (*parts, Text(text=node.sent_suffix))
    return Message(role=node.role, parts=parts, node_id=node.id, raw=node.raw)


def _spoken(parts: Parts) -> Parts:
    """An imported answer without the tools that another product ran on the way to it: they were
    not ours, and no provider takes a call and its result in one message."""
    ran = {part.call_id for part in parts if isinstance(part, ToolResult)}
    return tuple(
        part
        for part in parts
        if not (isinstance(part, ToolCall) and part.id in ran) and not isinstance(part, ToolResult)
    )


def system_text(config: Config, session: Session) -> str:
    """The system prompt, then the session's objective and definition of done."""
    blocks = [config.system.strip()]
    if session.objective.strip():
        blocks.append(f"Objective of this conversation: {session.objective.strip()}")
    if session.done_when.strip():
        blocks.append(f"It is done when: {session.done_when.strip()}")
    return "\n\n".join(filter(None, blocks))


def continuation(call: Call, *, prefill: bool) -> Call:
    """The call of *Continue*: ``call`` ends with an answer that stopped early.

    With ``prefill`` the provider goes on with a trailing assistant message by itself; where it
    has no such thing, a short request to go on follows the unfinished answer.
    """
    *before, last = call.messages
    spoken = tuple(part for part in last.parts if isinstance(part, Text))
    unfinished = Message(role="assistant", parts=spoken, node_id=last.node_id)
    asked = () if prefill else (Message(role="user", parts=(Text(text=_CONTINUE),)),)
    return replace(call, messages=(*before, unfinished, *asked))
