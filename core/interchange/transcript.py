"""A branch as a reader wants it: what every kind of transcript says, in the order it says it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from core.tree import turns
from core.types import (
    AttachmentRef,
    BranchTaken,
    Include,
    Node,
    Part,
    Recap,
    Role,
    Run,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

Kind = Literal["text", "thinking", "call", "result", "file", "recap", "sent"]
OPTIONS = frozenset({"thinking", "tools", "metadata", "recaps"})
SPEAKERS: Mapping[Role, str] = {
    "user": "You",
    "assistant": "Model",
    "system": "System",
    "tool": "Tool",
}
LABELS: Mapping[Kind, str] = {
    "thinking": "Thinking",
    "call": "Tool call",
    "result": "Tool result",
    "file": "Attached",
    "recap": "Recap",
    "sent": "Sent with it",
}
"""What stands above everything that is not the message's own text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of a message. ``label`` names what is not its own text; ``code`` says that the
    words are to be drawn as they are."""

    kind: Kind
    text: str
    label: str = ""
    code: bool = False
    file: AttachmentRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A message, or a recap that stands after one: its heading, its facts, its pieces."""

    heading: str
    role: str
    facts: str
    said: tuple[Said, ...]


class Paper(Protocol):
    """What a message is laid out on."""

    def small(self, words: str) -> None:
        """A line of facts."""
        ...

    def code(self, words: str) -> None:
        """Words as they are, in even letters."""
        ...

    def prose(self, markdown: str, *, deeper: int = 0, quoted: bool = False) -> None:
        """Words as they are meant, headings so much deeper."""
        ...


def lay(paper: Paper, entry: Entry) -> None:
    """Lay the facts and the pieces of a message out, under its heading."""
    if entry.facts:
        paper.small(entry.facts)
    for said in entry.said:
        if said.kind == "file":
            paper.small(f"{said.label}: {said.text}")
            continue
        if said.label:
            paper.small(said.label)
        if said.code:
            paper.code(said.text)
        else:
            paper.prose(said.text, deeper=1, quoted=said.kind not in ("text", "recap"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """All of it. ``lines`` are label and words; the system prompt may have several lines."""

    title: str
    lines: tuple[tuple[str, str], ...]
    entries: tuple[Entry, ...]


def transcript(taken: BranchTaken, include: Include) -> Transcript:
    """The transcript of a branch with what a person wants in it."""
    recaps: dict[str, list[Recap]] = {}
    old = {one.edited_from for one in taken.recaps}
    active = taken.active_recap.id if taken.active_recap else None
    if include.recaps != "none":
        for recap in taken.recaps:
            if recap.id not in old or recap.id == active:
                recaps.setdefault(recap.covers_to, []).append(recap)
    entries: list[Entry] = []
    for node, turn in zip(taken.nodes, turns(taken.nodes), strict=True):
        entries.append(_entry(taken, node, turn, include))
        entries += (_recap(one, active, include) for one in recaps.get(node.id, ()))
    return Transcript(
        title=taken.session.title,
        lines=tuple(_lines(taken, include)),
        entries=tuple(entries),
    )


def speaker(node: Node, model: str = "") -> str:
    """Who says a message: the ``model`` that is named, where it is a model's."""
    who = (model if node.role == "assistant" else "") or SPEAKERS[node.role]
    return f"{who} (edited by hand)" if node.author == "hand-edited" else who


def day(moment: str) -> str:
    """A moment as people read it: "2026-03-01 14:05 UTC"."""
    return f"{moment[:10]} {moment[11:16]} UTC" if len(moment) > 16 else moment


def money(nanodollars: int) -> str:
    """Dollars with as many digits as there is something to see."""
    dollars = nanodollars / 1e9
    return f"${dollars:.2f}" if dollars >= 1 or not dollars else f"${dollars:.6f}".rstrip("0")


def _lines(taken: BranchTaken, include: Include) -> Iterator[tuple[str, str]]:
    session, config = taken.session, taken.config
    yield "Branch", taken.branch.name
    if session.objective:
        yield "Objective", session.objective
    if session.done_when:
        yield "Done when", session.done_when
    if not include.metadata:
        return
    if taken.branch.note:
        yield "Note", taken.branch.note
    if taken.nodes:
        yield "From", f"{day(taken.nodes[0].created_at)} to {day(taken.nodes[-1].created_at)}"
    answered = dict.fromkeys(taken.models[n.id] for n in taken.nodes if n.id in taken.models)
    if answered:
        yield "Answered by", ", ".join(answered)
    if config.system.strip():
        yield "System prompt", config.system.strip()


def _entry(taken: BranchTaken, node: Node, turn: int, include: Include) -> Entry:
    facts = ""
    if include.metadata:
        facts = " · ".join(_facts(node, taken.runs.get(node.id), taken.marks.get(node.id, {})))
    return Entry(
        heading=f"Turn {turn} · {speaker(node, taken.models.get(node.id, ''))}",
        role=node.role,
        facts=facts,
        said=tuple(_said(node, include)),
    )


def _facts(node: Node, run: Run | None, marks: Mapping[str, str]) -> Iterator[str]:
    yield day(node.created_at)
    if node.author == "import":
        yield "imported"
    if run is not None:
        usage = run.usage
        if usage.input_tokens is not None:
            yield f"{usage.input_tokens:,} tokens in"
        if usage.output_tokens is not None:
            yield f"{usage.output_tokens:,} tokens out"
        if run.cost_nanodollars:
            yield money(run.cost_nanodollars)
        if run.finish_reason not in (None, "stop", "tool_call"):
            yield f"ended: {str(run.finish_reason).replace('_', ' ')}"
    if "final" in marks:
        yield "final"
    if "star" in marks:
        yield "starred"
    yield from (f"{kind}: {marks[kind]}" for kind in ("rating", "label", "note") if kind in marks)


def _said(node: Node, include: Include) -> Iterator[Said]:
    words: list[str] = []
    files = [part for part in node.parts if isinstance(part, AttachmentRef)]
    yield from (Said(kind="file", text=one.name, label="Attached", file=one) for one in files)
    for part in node.parts:
        if isinstance(part, Text):
            words.append(part.text)
            continue
        found = _beside(part, include)
        if found is None:
            continue
        if words:
            yield Said(kind="text", text="".join(words))
            words = []
        yield found
    if words:
        yield Said(kind="text", text="".join(words))
    if include.metadata and node.sent_suffix:
        yield Said(kind="sent", text=node.sent_suffix.strip(), label=LABELS["sent"])


def _beside(part: Part, include: Include) -> Said | None:
    """What a message holds besides its words, where it is wanted."""
    if isinstance(part, Thinking) and include.thinking:
        return Said(kind="thinking", text=part.text, label=LABELS["thinking"])
    if isinstance(part, ToolCall) and include.tools:
        label = f"{LABELS['call']}: {part.name}"
        return Said(kind="call", text=_readable(part.arguments), label=label, code=True)
    if isinstance(part, ToolResult) and include.tools:
        what = "Tool error" if part.is_error else LABELS["result"]
        return Said(kind="result", text=part.text, label=f"{what}: {part.name}", code=True)
    return None


def _readable(arguments: str) -> str:
    """JSON with its lines broken, if that is what it is."""
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return arguments


def _recap(recap: Recap, active: str | None, include: Include) -> Entry:
    said = "" if include.recaps == "folded" else recap.text
    standing = "stands in for everything above" if recap.id == active else "not in force here"
    return Entry(
        heading=f"Recap ({standing})",
        role="recap",
        facts=day(recap.created_at) if include.metadata else "",
        said=(Said(kind="recap", text=said),) if said else (),
    )


def words_of(entries: Sequence[Entry]) -> str:
    """Every word of some entries, for whoever has to know which characters there are."""
    return "\n".join(
        "\n".join([one.heading, one.facts, *(s.label + s.text for s in one.said)])
        for one in entries
    )
