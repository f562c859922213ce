"""A comparison as a page: lanes side by side, their turns in line, verdicts, differences. It needs
nothing else, runs nothing, and can be printed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.alignment import Turn
from core.interchange.compared import (
    NOTHING,
    asked_alike,
    extras,
    figures,
    in_words,
    label,
    table,
    verdicts,
)
from core.interchange.page import page, rendered, shown
from core.interchange.transcript import speaker
from core.types import ComparisonTaken, Difference, Include, Node, Scope

_STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")
_BEGINNING = 2  # messages of what all share that stand open


class ComparisonHtml:
    """The comparison as its page shows it, to be kept and handed on."""

    name = "comparison_html"
    label = "Web page (HTML)"
    scopes: frozenset[Scope] = frozenset({"comparison"})
    ending = "html"
    media_type = "text/html"
    options: frozenset[str] = frozenset({"thinking", "tools", "metadata"})

    def write(self, taken: ComparisonTaken, include: Include) -> bytes:
        """One page with everything in it."""
        body = "\n".join(
            [
                "<main>",
                *_head(taken),
                *_shared(taken, include),
                *_board(taken, include),
                *(_figures(taken) if include.metadata else ()),
                *_verdicts(taken),
                *_differences(taken),
                "</main>",
            ]
        )
        return page(f"{taken.name} · {taken.session.title}", body, _STYLE).encode()


def _head(taken: ComparisonTaken) -> Iterator[str]:
    yield f'<header><p class="muted small">{shown(taken.session.title)}</p>'
    yield f'<h1 dir="auto">{shown(taken.name)}</h1>'
    for name, text in (
        ("Objective", taken.session.objective),
        ("Done when", taken.session.done_when),
    ):
        if text.strip():
            yield f'<p class="goal"><b>{name}</b> <span dir="auto">{shown(text)}</span></p>'
    yield "</header>"


# --- the conversation ---------------------------------------------------------------------------


def _shared(taken: ComparisonTaken, include: Include) -> Iterator[str]:
    if not taken.shared:
        return
    blind = taken.comparison is not None and taken.comparison.blind
    told = [_message(node, "A model" if blind else "", include) for node in taken.shared]
    yield '<section class="shared" aria-label="What all lanes share">'
    if len(told) > _BEGINNING:
        rest = "".join(told[:-1])
        head = f"{len(told) - 1} messages that all lanes share"
        yield f"<details><summary>{head}</summary>{rest}</details>"
        told = told[-1:]
    yield from told
    yield "</section>"


def _board(taken: ComparisonTaken, include: Include) -> Iterator[str]:
    count = len(taken.lanes)
    yield (
        f'<section class="board-box" aria-label="Lanes" tabindex="0">'
        f'<div class="board" style="--lanes:{count}">'
    )
    won = {taken.verdicts[-1].winner} if taken.verdicts else set()
    for lane in taken.lanes:
        best = ' <span class="best">best</span>' if lane.branch.id in won else ""
        kept = ' <span class="kept">kept</span>' if lane.lane and lane.lane.kept_at else ""
        model = f'<span class="muted small">{shown(lane.model)}</span>' if lane.model else ""
        yield (
            f'<div class="lane-head"><b dir="auto">{shown(lane.name)}</b>{best}{kept}{model}</div>'
        )
    names = [lane.name for lane in taken.lanes]
    for row in table(taken):
        yield from _row(row, names, include)
    yield "</div></section>"


def _row(row: Sequence[Turn | None], names: Sequence[str], include: Include) -> Iterator[str]:
    alike = asked_alike(row)
    if alike is not None:
        among = sum(turn is not None for turn in row)
        whom = "" if among == len(row) else f' <span class="muted small">to {among} lanes</span>'
        yield f'<div class="asked">{_message(alike, "", include, after=whom)}</div>'
    for name, turn in zip(names, row, strict=True):
        nodes = list(turn.nodes) if turn else []
        if turn and turn.asked is not None and alike is None:
            nodes.insert(0, turn.asked)
        said = "".join(_message(node, name, include) for node in nodes)
        nothing = f'<p class="muted">{NOTHING if turn is None else "No answer yet."}</p>'
        kind = "cell" if turn else "cell none"
        yield f'<div class="{kind}"><span class="whose">{shown(name)}</span>{said or nothing}</div>'


def _message(node: Node, model: str, include: Include, *, after: str = "") -> str:
    who = shown(speaker(node, model))
    parts = "".join(
        f'<details class="fold"><summary>{shown(name)}</summary>'
        f'<pre class="plain" tabindex="0">{shown(text)}</pre></details>'
        if name != "Attached"
        else f'<p class="muted small">Attached: {shown(text)}</p>'
        for name, text in extras(node, include)
    )
    if node.role == "assistant":
        words = rendered(node.text) if node.text.strip() else '<p class="muted">(no words)</p>'
    else:
        words = f'<div class="plain" dir="auto">{shown(node.text)}</div>'
    return f'<article class="{node.role}"><p class="who">{who}{after}</p>{parts}{words}</article>'


# --- figures, verdicts, differences ---------------------------------------------------------------


def _figures(taken: ComparisonTaken) -> Iterator[str]:
    told = figures(taken)
    if not told:
        return
    heads = "".join(f'<th scope="col" dir="auto">{shown(lane.name)}</th>' for lane in taken.lanes)
    yield '<section><h2>Figures</h2><div class="scroll" tabindex="0" role="region"'
    yield ' aria-label="Figures"><table class="grid figures">'
    yield f"<thead><tr><td></td>{heads}</tr></thead><tbody>"
    for name, values in told:
        cells = "".join(f"<td>{shown(in_words(name, value))}</td>" for value in values)
        yield f'<tr><th scope="row">{shown(label(name))}</th>{cells}</tr>'
    yield "</tbody></table></div></section>"


def _verdicts(taken: ComparisonTaken) -> Iterator[str]:
    told = verdicts(taken)
    if not told:
        return
    yield "<section><h2>Verdicts</h2>"
    for one in reversed(told):
        blind = ", blind" if one.blind else ""
        yield f'<div class="verdict"><p><b>{shown(one.headline)}</b></p>'
        yield f'<p class="muted small">{shown(one.by)}{blind} · {shown(one.at)}</p>'
        if one.ratings:
            yield '<dl class="ratings">'
            for name, rating, most in one.ratings:
                yield f"<dt>{shown(name)}</dt><dd>{rating:g} of {most}"
                yield f'<meter min="0" max="{most}" value="{rating:g}"></meter></dd>'
            yield "</dl>"
        if one.note.strip():
            yield f'<p class="plain" dir="auto">{shown(one.note)}</p>'
        if one.reasons:
            items = "".join(
                f"<li><b>{shown(name)}</b> {shown(reason)}</li>" for name, reason in one.reasons
            )
            head = f"<summary>Reasons ({len(one.reasons)})</summary>"
            yield f"<details>{head}<ul>{items}</ul></details>"
        yield "</div>"
    yield "</section>"


def _differences(taken: ComparisonTaken) -> Iterator[str]:
    if taken.differences:
        yield "<section><h2>Differences</h2>"
        yield from map(_difference, taken.differences)
        yield "</section>"


def _difference(one: Difference) -> str:
    told = f"{one.likeness:.0%} of the words are the same" if one.diff else "word for word the same"
    head = (
        f"<span>{shown(one.of)} and {shown(one.against)}</span>"
        f' <span class="muted small">{told}</span>'
    )
    if not one.diff:
        return f'<p class="alike">{head}</p>'
    lines = "".join(map(_line, one.diff.rstrip("\n").split("\n")[2:]))
    return (
        f'<details class="diff"><summary>{head}</summary>'
        f'<pre tabindex="0"><code>{lines}</code></pre></details>'
    )


def _line(line: str) -> str:
    kind = {"+": "come", "-": "gone", "@": "place"}.get(line[:1], "")
    if kind in ("come", "gone"):
        tag = "ins" if kind == "come" else "del"
        return f'<{tag} class="{kind}">{shown(line)}\n</{tag}>'
    return f'<span class="{kind}">{shown(line)}\n</span>' if kind else f"{shown(line)}\n"


FORMAT = ComparisonHtml()
