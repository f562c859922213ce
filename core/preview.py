"""What will be sent: the next send message by message, with what is left out and why.

The same plan and the same words as the adapter gets; only your next message is not written yet.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.asking import prepare
from core.context import full, system_text
from core.errors import UserError
from core.estimate import sums
from core.meter import Scale, reached
from core.models import facts
from core.policies import POLICIES, Form, Item, applicable, current_turn, render, whole
from core.providers import adapter
from core.store import Store
from core.types import Config, Json, Message, Node, Parts, Role, Text
from core.upcoming import Upcoming, upcoming
from core.view import View
from core.weight import COMING, Weight

PLACEHOLDER = "[your next message]"
_WORDS = (Text(text=PLACEHOLDER),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One message: as it is sent, or, with ``why``, as it stands and is not sent.

    ``tokens`` are an estimate. ``node_id`` is None for a message that only introduces others.
    """

    role: Role
    parts: Parts
    tokens: int
    node_id: str | None = None
    form: Form = "plain"
    why: str = ""
    pinned: bool = False
    recapped: bool = False

    @property
    def coming(self) -> bool:
        """Whether it is the message that is yet to be written."""
        return self.node_id == COMING


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The next send. ``lines`` are the last of all, ``earlier`` so many before them.

    ``sent`` and ``left_out`` count all messages, the coming one among the sent. ``recap_first``
    says that a recap will be written before, which stands here without its words.
    """

    config: Config
    system: str
    system_tokens: int
    lines: tuple[Line, ...]
    earlier: int
    sent: int
    left_out: int
    tokens: int
    recap_first: bool = False


def preview(
    store: Store, view: View, config: Config | None = None, *, last: int | None = None
) -> Preview:
    """The next send of a view; of a long one the ``last`` messages.

    Raises ``UserError`` for a context policy that there is not.
    """
    config = config or view.config
    scale = Scale(store, view, config)
    send = _send(store, view, config, scale)
    items, weight = send.items(), send.weight()
    rows = _rows(items, send.nodes)
    factor = scale.calibration.factor
    shown = rows[-last:] if last is not None else rows
    system = system_text(config, view.session)
    return Preview(
        config=config,
        system=system,
        system_tokens=round(scale.system * factor),
        lines=_lines(shown, items, send, weight, factor),
        earlier=len(rows) - len(shown),
        sent=len(items),
        left_out=len(rows) - len(items),
        tokens=round(scale.tokens(scale.system + weight.total) + scale.attached),
        recap_first=send.cut is not None,
    )


def body(store: Store, view: View, config: Config | None = None) -> Json:
    """The JSON of the next send, exactly as the adapter would send it.

    Raises ``UserError`` where no request can be built.
    """
    config = config or view.config
    send = _send(store, view, config, Scale(store, view, config))
    lineage = (*view.lineage, send.coming)
    asked = prepare(store, lineage, config, view.session, "reply", send.choices)
    if asked.failure is not None:
        raise UserError(asked.failure.message, hint=asked.failure.hint)
    return adapter(config.provider).body(asked.request)


def _send(store: Store, view: View, config: Config, scale: Scale) -> Upcoming:
    if config.policy not in POLICIES:
        raise UserError(
            f"This Turntree knows no context policy called {config.policy!r}.",
            hint="Choose another under Context.",
        )
    window = facts(store, config.provider, config.model).window.value
    recapped = reached(view.session, scale.total, window)
    return upcoming(store, view, config, recapped=recapped, words=_WORDS)


_Row = tuple[int | None, int | None]
"""The place of a node, and that of what is sent of it, either of which may not be."""


def _rows(items: Sequence[Item], nodes: Sequence[Node]) -> list[_Row]:
    """Everything in the order of the conversation, what introduces it where it is sent."""
    sent = {item.node_id: place for place, item in enumerate(items) if item.node_id is not None}
    introduced = [place for place, item in enumerate(items) if item.node_id is None]
    rows: list[_Row] = []
    for place, node in enumerate(nodes):
        there = sent.get(node.id)
        if there is not None:
            rows += [(None, place) for place in introduced]
            introduced = []
        rows.append((place, there))
    return rows


def _lines(
    rows: Sequence[_Row],
    items: Sequence[Item],
    send: Upcoming,
    weight: Weight,
    factor: float,
) -> tuple[Line, ...]:
    nodes, choices = send.nodes, send.choices
    recap = applicable(nodes, choices.recap, current_turn(nodes))
    wanted = [there for _, there in rows if there is not None]
    words = render([items[there] for there in wanted], nodes, full(nodes), recap)
    messages = dict(zip(wanted, words, strict=True))
    pinned, why = whole(nodes, choices.pinned), _Why(items, send)
    alone = _alone(nodes, rows)
    found = []
    for place, there in rows:
        if there is None:
            assert place is not None
            node = nodes[place]
            line = Line(
                role=node.role,
                parts=node.parts,
                tokens=round(alone[node.id] * factor),
                node_id=node.id,
                why=why.of(place),
            )
        else:
            tokens = round((weight.ends[there + 1] - weight.ends[there]) * factor)
            line = _sent(items[there], messages[there], tokens)
            line = replace(line, pinned=place in pinned)
        found.append(line)
    return tuple(found)


def _sent(item: Item, message: Message, tokens: int) -> Line:
    return Line(
        role=message.role,
        parts=message.parts,
        tokens=tokens,
        node_id=item.node_id,
        form=item.form,
        recapped=item.recap_id is not None,
    )


def _alone(nodes: Sequence[Node], rows: Sequence[_Row]) -> Mapping[str, float]:
    """The estimate of what is left out, each message as it stands."""
    known = sums(nodes[:-1])
    left = [place for place, there in rows if there is None and place is not None]
    return {nodes[place].id: known[place + 1][0] - known[place][0] for place in left}


class _Why:
    """Why messages are left out."""

    def __init__(self, items: Sequence[Item], send: Upcoming) -> None:
        nodes, choices = send.nodes, send.choices
        self._nodes, self._label = nodes, POLICIES[send.config.policy].label
        self._muted = whole(nodes, choices.muted)
        recap = applicable(nodes, choices.recap, current_turn(nodes))
        covered = [n for n, node in enumerate(nodes) if recap and node.id == recap.covers_to]
        self._start = covered[0] + 1 if covered else 0
        while 0 < self._start < len(nodes) and nodes[self._start].role == "tool":
            self._start += 1
        self._repeated = {
            one for item in items if item.form == "listed" for one in (*item.repeats, *item.keeps)
        }

    def of(self, place: int) -> str:
        if place in self._muted:
            return "muted on this branch"
        if self._nodes[place].id in self._repeated:
            return "said again in the list"
        if place < self._start:
            return "covered by the recap"
        return f"left out by \u201c{self._label}\u201d"
