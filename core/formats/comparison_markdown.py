"""A comparison as Markdown: figures, what all lanes share, each lane, verdicts, differences."""

import re
from collections.abc import Iterator

from core.interchange.blocks import closed, fenced
from core.interchange.compared import (
    extras,
    figures,
    in_words,
    label,
    verdicts,
)
from core.interchange.transcript import speaker
from core.types import ComparisonTaken, Include, LaneTaken, Node, Scope, well_formed

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


class ComparisonMarkdown:
    """Lanes one after another, with everything that tells them apart."""

    name = "comparison_markdown"
    label = "Markdown"
    scopes: frozenset[Scope] = frozenset({"comparison"})
    ending = "md"
    media_type = "text/markdown"
    options: frozenset[str] = frozenset({"thinking", "tools", "metadata"})

    def write(self, taken: ComparisonTaken, include: Include) -> bytes:
        """The comparison from its figures to its differences."""
        blocks = [
            f"# {_plain(taken.name)}",
            f"{_plain(taken.session.title)} · {len(taken.lanes)} lanes",
            *_objective(taken),
            *(_figures(taken) if include.metadata else ()),
            *_shared(taken, include),
            *(block for lane in taken.lanes for block in _lane(lane, include)),
            *_verdicts(taken),
            *_differences(taken),
        ]
        return well_formed("\n\n".join(blocks).rstrip() + "\n").encode()


def _objective(taken: ComparisonTaken) -> Iterator[str]:
    for name, text in (
        ("Objective", taken.session.objective),
        ("Done when", taken.session.done_when),
    ):
        if text.strip():
            yield f"**{name}:** {_plain(text)}"


def _figures(taken: ComparisonTaken) -> Iterator[str]:
    told = figures(taken)
    if not told:
        return
    yield "## Figures"
    head = ["", *(_plain(lane.name) for lane in taken.lanes)]
    lines = [head, ["---", *("---:" for _ in taken.lanes)]]
    for name, values in told:
        lines.append([_plain(label(name)), *(_plain(in_words(name, one)) for one in values)])
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shared(taken: ComparisonTaken, include: Include) -> Iterator[str]:
    if taken.shared:
        yield "## What all lanes share"
    for node in taken.shared:
        blind = taken.comparison is not None and taken.comparison.blind
        yield from _message(node, "A model" if blind else "", include)


def _lane(lane: LaneTaken, include: Include) -> Iterator[str]:
    yield f"## {_plain(lane.name)}"
    if lane.model and include.metadata:
        yield f"*{_plain(lane.model)}*"
    if not lane.nodes:
        yield "Nothing beyond what all lanes share."
    for node in lane.nodes:
        yield from _message(node, lane.name, include)


def _message(node: Node, model: str, include: Include) -> Iterator[str]:
    yield f"### {_plain(speaker(node, model))}"
    for heading, text in extras(node, include):
        yield f"*{_plain(heading)}:*"
        yield fenced(text) if heading != "Attached" else _plain(text)
    yield closed(node.text) if node.text.strip() else "*(no words)*"


def _verdicts(taken: ComparisonTaken) -> Iterator[str]:
    told = verdicts(taken)
    if told:
        yield "## Verdicts"
    for one in told:
        by = f"{_plain(one.by)}{', blind' if one.blind else ''}"
        yield f"**{_plain(one.headline)}** · {by} · {one.at}"
        lines = [f"- {_plain(name)}: {rating:g} of {most}" for name, rating, most in one.ratings]
        lines += [f"- {_plain(name)}: {_plain(reason)}" for name, reason in one.reasons]
        if lines:
            yield "\n".join(lines)
        if one.note.strip():
            yield "\n".join(f"> {_plain(line)}" for line in one.note.splitlines())


def _differences(taken: ComparisonTaken) -> Iterator[str]:
    if taken.differences:
        yield "## Differences"
    for one in taken.differences:
        told = (
            f"{one.likeness:.0%} of the words are the same"
            if one.diff
            else "word for word the same"
        )
        yield f"### {_plain(one.of)} and {_plain(one.against)}"
        yield f"{told.capitalize()}."
        if one.diff:
            yield fenced(one.diff.rstrip("\n"), "diff")


def _plain(text: str) -> str:
    """A name or a note as it is, in one line: nothing of it is Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


FORMAT = ComparisonMarkdown()
