"""Context policies: which messages of a lineage are sent, and how each is worded. Pure.

A policy is planned first and written out later: a plan is small and quickly compared and
weighed, while the words of *snowball* grow with the square of the conversation. Whatever the
policy, the turn that is being answered goes whole, a tool call is never parted from its
results, and a user message comes first.

The wording of *snowball*, *restate* and *concat* follows Laban, Hayashi, Zhou and Neville,
"LLMs Get Lost In Multi-Turn Conversation" (arXiv 2505.06120); what they call recap is *restate*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from core.types import Message, Node, Part, Parts, Recap, Text, ToolCall, text_of

Form = Literal["plain", "recap", "opening", "reiterated", "restated", "listed"]
_OPENING = "Earlier in this conversation you wrote:"
KEPT_ANSWER = "Keep to this earlier answer of yours:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A rule from lineage to context, in the words of the page."""

    name: str
    label: str
    sentence: str
    keeps: bool = False
    """Whether the number of last turns that stay verbatim matters to it."""


_ALL = (
    Policy(name="full", label="Everything", sentence="Every message of the branch, as it stands."),
    Policy(
        name="yours",
        label="Your turns only",
        sentence="What you wrote, without the model's answers: shorter, and free of its mistakes.",
    ),
    Policy(
        name="last",
        label="Last turns",
        sentence="Only the last turns; what came before is left out.",
        keeps=True,
    ),
    Policy(
        name="auto",
        label="Recap and last turns",
        sentence="The last turns verbatim, and a recap of what came before, written by itself.",
        keeps=True,
    ),
    Policy(
        name="snowball",
        label="Snowball",
        sentence="Every message of yours repeats all you asked for before it.",
    ),
    Policy(
        name="snowball_last",
        label="Snowball, last turn",
        sentence="Only your last message repeats all you asked for before it.",
    ),
    Policy(
        name="restate",
        label="Restate",
        sentence="Everything is sent, and your last message becomes the entire task in one list.",
    ),
    Policy(
        name="concat",
        label="One list",
        sentence="A single message that lists all you asked for; nothing else is sent.",
    ),
)
POLICIES: Mapping[str, Policy] = {policy.name: policy for policy in _ALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a branch changes about its context: its active recap, pinned and muted nodes."""

    recap: Recap | None = None
    pinned: frozenset[str] = frozenset()
    muted: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.recap or self.pinned or self.muted)


NOTHING = Choices()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One message of a context. Equal items are equal words on the wire.

    ``node_id`` is the message it is made of, None for one that stands for none. ``repeats`` are
    the user nodes whose words it holds besides its own, ``keeps`` the pinned answers.
    """

    node_id: str | None
    form: Form = "plain"
    repeats: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    recap_id: str | None = None


def plan(
    policy: str, nodes: Sequence[Node], choices: Choices = NOTHING, keep: int = 0
) -> tuple[Item, ...]:
    """What is sent of a lineage; ``nodes`` are those of its nodes that have parts.

    ``keep`` is the number of turns before the one being answered that *last* leaves verbatim.
    """
    current = current_turn(nodes)
    recap = applicable(nodes, choices.recap, current)
    kept = _kept(nodes, choices, recap, current)
    chosen = _SELECT.get(policy, _everything)(nodes, kept, choices, current, keep)
    users = tuple(nodes[place].id for place in chosen if nodes[place].role == "user")
    asked = tuple(nodes[place].id for place in kept if nodes[place].role == "user")
    if policy == "concat":
        items = _listed(nodes, kept, asked, choices, current)
    else:
        items = [Item(node_id=nodes[place].id) for place in chosen]
        items = _reworded(policy, items, users if policy.startswith("snow") else asked)
    return tuple(_begun(items, users, recap))


def current_turn(nodes: Sequence[Node]) -> int:
    """Where the turn that is being answered begins: at the last user message."""
    places = (place for place in range(len(nodes) - 1, -1, -1) if nodes[place].role == "user")
    return next(places, 0)


def applicable(nodes: Sequence[Node], recap: Recap | None, current: int) -> Recap | None:
    """The recap, if what it covers lies on this lineage and before the turn being answered."""
    if recap is None:
        return None
    return recap if any(node.id == recap.covers_to for node in nodes[:current]) else None


def _kept(
    nodes: Sequence[Node], choices: Choices, recap: Recap | None, current: int
) -> tuple[int, ...]:
    """The places that a recap does not stand in for and nobody has muted, and pinned ones."""
    start = 0
    if recap is not None:
        start = 1 + next(i for i, node in enumerate(nodes) if node.id == recap.covers_to)
        while start < current and nodes[start].role == "tool":
            start += 1
    if not (start or choices.pinned or choices.muted):
        return tuple(range(len(nodes)))
    muted, pinned = whole(nodes, choices.muted), whole(nodes, choices.pinned)
    return tuple(
        place
        for place in range(len(nodes))
        if place >= current or (place not in muted and (place >= start or place in pinned))
    )


def whole(nodes: Sequence[Node], ids: frozenset[str]) -> set[int]:
    """The places of these nodes, each with all of the tool round that it belongs to."""
    if not ids:
        return set()
    found: set[int] = set()
    for place, node in enumerate(nodes):
        if node.id in ids:
            found |= set(_round(nodes, place))
    return found


def _round(nodes: Sequence[Node], place: int) -> range:
    start = place
    while start > 0 and nodes[start].role == "tool":
        start -= 1
    end = start + 1
    if any(isinstance(part, ToolCall) for part in nodes[start].parts):
        while end < len(nodes) and nodes[end].role == "tool":
            end += 1
    return range(start, max(end, place + 1))


def _everything(
    nodes: Sequence[Node], kept: tuple[int, ...], choices: Choices, current: int, keep: int
) -> tuple[int, ...]:
    return kept


def _yours(
    nodes: Sequence[Node], kept: tuple[int, ...], choices: Choices, current: int, keep: int
) -> tuple[int, ...]:
    pinned = whole(nodes, choices.pinned)
    return tuple(p for p in kept if p >= current or nodes[p].role == "user" or p in pinned)


def _last(
    nodes: Sequence[Node], kept: tuple[int, ...], choices: Choices, current: int, keep: int
) -> tuple[int, ...]:
    first = first_of_last(nodes, current, keep)
    pinned = whole(nodes, choices.pinned)
    return tuple(place for place in kept if place >= first or place in pinned)


def first_of_last(nodes: Sequence[Node], current: int, keep: int) -> int:
    """Where the last ``keep`` turns before the one at ``current`` begin."""
    asked = [place for place in range(current) if nodes[place].role == "user"]
    if keep >= len(asked):
        return 0
    return asked[len(asked) - keep] if keep > 0 else current


_SELECT = {"yours": _yours, "last": _last}


def _reworded(policy: str, items: list[Item], asked: tuple[str, ...]) -> list[Item]:
    """The user messages that repeat others, as the policy words them."""
    if policy not in ("snowball", "snowball_last", "restate") or len(asked) < 2:
        return items
    form: Form = "restated" if policy == "restate" else "reiterated"
    numbers = {node_id: number for number, node_id in enumerate(asked)}
    wanted = set(asked[1:]) if policy == "snowball" else {asked[-1]}
    return [
        replace(item, form=form, repeats=asked[: numbers[item.node_id]])
        if item.node_id in wanted and item.node_id is not None
        else item
        for item in items
    ]


def _listed(
    nodes: Sequence[Node],
    kept: tuple[int, ...],
    asked: tuple[str, ...],
    choices: Choices,
    current: int,
) -> list[Item]:
    if not asked:
        return [Item(node_id=nodes[place].id) for place in kept]
    pinned = whole(nodes, choices.pinned)
    answers = tuple(
        nodes[place].id
        for place in kept
        if place in pinned and place < current and nodes[place].role == "assistant"
        if nodes[place].text.strip()
    )
    # A list of one is the message itself.
    form: Form = "listed" if len(asked) > 1 or answers else "plain"
    listed = Item(node_id=asked[-1], form=form, repeats=asked[:-1], keeps=answers)
    return [listed, *(Item(node_id=nodes[p].id) for p in kept if p > current)]


def _begun(items: list[Item], users: tuple[str, ...], recap: Recap | None) -> list[Item]:
    """With the recap in front, and a user message first in any case."""
    if not items:
        return items
    begins = items[0].node_id in users
    if recap is not None and begins:
        return [replace(items[0], recap_id=recap.id), *items[1:]]
    if recap is not None:
        return [Item(node_id=None, form="recap", recap_id=recap.id), *items]
    return items if begins else [Item(node_id=None, form="opening"), *items]


# --- writing it out ------------------------------------------------------------------------------


def render(
    items: Sequence[Item],
    nodes: Sequence[Node],
    messages: Sequence[Message],
    recap: Recap | None = None,
) -> tuple[Message, ...]:
    """The messages of a plan; ``messages`` are those of ``nodes``, as they stand.

    What is sent as it stands is the very same object, so that nothing is worked out anew for it.
    """
    places = {node.id: place for place, node in enumerate(nodes)}
    words = recap.text if recap else ""

    def written(item: Item) -> Message:
        if item.node_id is None:
            text = _recap_block(words).rstrip() if item.form == "recap" else _OPENING
            return Message(role="user", parts=(Text(text=text),))
        place = places[item.node_id]
        if item.form == "plain" and item.recap_id is None:
            return messages[place]
        return _worded(
            item,
            nodes[place].parts,
            nodes[place].sent_suffix,
            tuple(nodes[places[one]].parts for one in item.repeats),
            tuple(nodes[places[one]].text for one in item.keeps),
            words if item.recap_id else "",
        )

    return tuple(map(written, items))


@lru_cache(maxsize=64)
def _worded(
    item: Item,
    parts: Parts,
    suffix: str,
    repeated: tuple[Parts, ...],
    kept: tuple[str, ...],
    recap: str,
) -> Message:
    """A user message that says more than was typed. Remembered, so that it stays one object."""
    words = text_of(parts)
    before = [text_of(one) for one in repeated]
    text = _said(item.form, [one for one in before if one.strip()], words, kept)
    if recap:
        text = _recap_block(recap) + text
    files: list[Part] = [part for part in parts if not isinstance(part, Text)]
    if item.form == "listed":  # nothing else is sent: the files of the others come along
        files = [*_files(repeated), *files]
    said = tuple(Text(text=one) for one in (text, suffix) if one)
    return Message(role="user", parts=(*files, *said), node_id=item.node_id)


def _said(form: Form, before: Sequence[str], words: str, kept: Sequence[str]) -> str:
    match form:
        case "reiterated" if before:
            also = f"Also,\n\n{words}\n" if words.strip() else ""
            return f"Just to reiterate,\n{_bullets(before)}\n\n{also}"
        case "restated" if before:
            return restated([*before, *_unless_blank(words)])
        case "listed":
            listed = _bullets([*before, *_unless_blank(words)])
            answers = (f"{KEPT_ANSWER}\n\n{answer}" for answer in kept)
            return "\n\n".join(filter(None, [listed, *answers]))
    return words


def wording(form: Form) -> str:
    """What a form says of its own, around what it holds: for weighing it without the words."""
    match form:
        case "plain":
            return ""
        case "opening":
            return _OPENING
        case "recap":
            return _recap_block("")
    return _said(form, ["x"], "x", ())


def restated(asked: Sequence[str]) -> str:
    """Everything that was asked for, as the whole task."""
    return (
        f"Just to recapitulate, the entire task is:\n\n{_bullets(asked)}\n\nNow please complete"
        " the task correctly taking all the information into account."
    )


def _recap_block(text: str) -> str:
    return f"To recap what we've decided so far:\n{text}\n\n"


def _bullets(words: Sequence[str]) -> str:
    return "\n".join(f"- {one}" for one in words)


def _unless_blank(words: str) -> list[str]:
    return [words] if words.strip() else []


def _files(repeated: Sequence[Parts]) -> list[Part]:
    return [part for parts in repeated for part in parts if not isinstance(part, Text)]
