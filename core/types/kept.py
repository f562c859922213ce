"""What is kept: parts, nodes, branches, sessions, recaps, runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from ulid import ULID

Json = Any
Role = Literal["system", "user", "assistant", "tool"]
Author = Literal["person", "model", "hand-edited", "import"]
FinishReason = Literal[
    "stop",
    "length",
    "tool_call",
    "content_filter",
    "refusal",
    "stopped",
    "interrupted",
    "cut_off",
    "error",
]
RunState = Literal["running", "waiting", "ended"]
Purpose = Literal[
    "reply",
    "continue",
    "auto_recap",
    "recap",
    "fidelity",
    "rewrite",
    "decisions",
    "requirements",
    "judge",
    "title",
    "drift",
    "consolidate",
    "fuse",
    "merge",
    "compare",
    "rerun",
]
CONVERSATION: frozenset[Purpose] = frozenset({"reply", "continue", "auto_recap"})
"""Purposes of the runs that a tip waits for. Any other is a side run: it makes no node."""
OverrideKind = Literal["recap", "pin", "mute"]
MarkKind = Literal["label", "star", "rating", "final", "note"]


def new_id() -> str:
    """A fresh ULID: 26 characters that sort by the time they were made."""
    return str(ULID())


def now() -> str:
    """The present moment as UTC ISO 8601 text with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- parts of a message -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Words, exactly as typed or as the model wrote them."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """What a model showed of its reasoning; never sent back to another model."""

    text: str
    type: Literal["thinking"] = "thinking"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's wish to call a tool. ``arguments`` is the JSON text as it arrived."""

    id: str
    name: str
    arguments: str
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered to the call with ``call_id``."""

    call_id: str
    name: str
    text: str
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRef:
    """A file in the conversation; its bytes are stored once under ``sha256``."""

    sha256: str
    media_type: str
    name: str
    type: Literal["attachment"] = "attachment"


Part = Annotated[
    Text | Thinking | ToolCall | ToolResult | AttachmentRef, Field(discriminator="type")
]
Parts = tuple[Part, ...]
PARTS: TypeAdapter[Parts] = TypeAdapter(Parts)
"""The codec of parts: ``PARTS.dump_json`` and ``PARTS.validate_json``."""


def text_of(parts: Parts) -> str:
    """The readable words of some parts, joined; thinking and tools left out."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def well_formed(text: str) -> str:
    """Text that UTF-8 can hold: surrogate halves joined where they meet, else replaced.

    Models and hostile pastes produce half characters; one of them would fail a whole request.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


# --- the tree ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One message in a session's tree. Immutable; only the edge to the parent is stored.

    ``sent_suffix`` is what was sent after a person's text without being part of it.
    ``source_id`` names the node this one was edited or continued from. ``raw`` holds the
    provider's own items with the hash of the prefix that produced them.
    """

    id: str
    session_id: str
    parent_id: str | None
    role: Role
    parts: Parts
    author: Author
    created_at: str
    source_id: str | None = None
    sent_suffix: str = ""
    raw: Json = None

    @property
    def text(self) -> str:
        """The readable words of the message."""
        return text_of(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A named, movable pointer to a tip node (``None`` while the session is empty).

    ``config`` is the branch's own, of a lane for instance; None leaves it to the session's. So
    are ``policy`` and ``keep_turns``, which go before either.
    ``linked_to`` is the branch that this one was consolidated from. ``past_budget`` says that the
    person chose to go on after the planned turns.
    """

    id: str
    session_id: str
    name: str
    tip_id: str | None
    created_at: str
    forked_from_node_id: str | None = None
    status: str = ""
    note: str = ""
    binned_at: str | None = None
    policy: str | None = None
    keep_turns: int | None = None
    linked_to: str | None = None
    past_budget: bool = False
    config: "Config | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything a person chooses for a run; one immutable value per run.

    ``sampling`` holds only the knobs that were set: an absent knob is never sent.
    ``keep_turns`` is for the policies that leave so many last turns verbatim.
    """

    provider: str
    model: str
    system: str = ""
    sampling: Mapping[str, Json] = field(default_factory=dict)
    policy: str = "full"
    keep_turns: int = 4


CONFIG: TypeAdapter[Config] = TypeAdapter(Config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A saved workspace: objective, tree, branches, and the config of its next run.

    ``remind_every`` so many turns the objective is repeated, 0 never; ``drift_every`` so many it
    is checked. ``money_budget`` is nano-dollars; at a budget one is warned or stopped, as
    ``over_budget`` says. ``auto_recap`` is a share of the window, None never.
    """

    id: str
    title: str
    config: Config
    created_at: str
    updated_at: str
    objective: str = ""
    done_when: str = ""
    turn_budget: int | None = None
    current_branch_id: str | None = None
    archived_at: str | None = None
    binned_at: str | None = None
    remind_every: int = 3
    drift_every: int = 0
    money_budget: int | None = None
    token_budget: int | None = None
    over_budget: Literal["warn", "stop"] = "warn"
    auto_recap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What a branch changes about its context without touching a node."""

    kind: OverrideKind
    target_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recap:
    """A text that stands in for the lineage up to and including ``covers_to``."""

    id: str
    session_id: str
    covers_to: str
    text: str
    created_at: str
    run_id: str | None = None
    edited_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Something that the person asked for, with the message it came from.

    ``honoured`` is what the person said of it, None for nothing; ``answer_id`` is the answer that
    this was said of. ``run_id`` is the run that found it, None if no model did.
    """

    id: str
    session_id: str
    node_id: str
    text: str
    created_at: str
    honoured: bool | None = None
    answer_id: str | None = None
    run_id: str | None = None
    dropped_at: str | None = None


# --- runs ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one run. Input includes cached tokens, output includes reasoning."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPrice:
    """A person's own figures of a model: dollars per million tokens; window and limit in tokens."""

    input: Decimal | None = None
    cached: Decimal | None = None
    output: Decimal | None = None
    window: int | None = None
    output_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a run failed, in words a person can act on. Never holds a key or a header.

    ``parameter`` is the sampling knob that the provider would not take, by our name for it.
    """

    kind: str
    message: str
    hint: str = ""
    status: int | None = None
    request_id: str | None = None
    retryable: bool = False
    parameter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One model call, from a context tip to an output node: a row of the ledger.

    Durations are milliseconds. ``partial`` is what had arrived at the last save; once the
    answer is a node it is empty again, and of a side run it keeps all that came. ``reads_id``
    ends the lineage that was sent, where that is not the one that ends in ``context_tip_id``.
    ``sample`` tells apart the runs of one request; ``replayed_from`` is the run whose stored
    answer was taken in place of a call.
    """

    id: str
    session_id: str
    branch_id: str
    context_tip_id: str | None
    purpose: Purpose
    config: Config
    state: RunState
    owner: str
    started_at: str
    node_id: str | None = None
    resolved_model: str | None = None
    finish_reason: FinishReason | None = None
    partial: Parts = ()
    usage: Usage = Usage()
    cost_nanodollars: int | None = None
    first_token_ms: int | None = None
    duration_ms: int | None = None
    failure: Failure | None = None
    heartbeat_at: str | None = None
    objective: str = ""
    overrides: tuple[Override, ...] = ()
    wire_tail: str | None = None
    reads_id: str | None = None
    sample: int = 0
    replayed_from: str | None = None
