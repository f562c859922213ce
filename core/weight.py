"""What a context weighs before it is written out: sums over its plan. Pure.

The words of *snowball* grow with the square of the conversation, its plan and this do not: what a
message repeats is a sum that is known already.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.estimate import MESSAGE, sums, tokens_of
from core.policies import KEPT_ANSWER, Form, Item, wording
from core.types import AttachmentRef, Node

COMING = "the coming message"
"""The id of the message that is yet to be written. Of it only what is sent after its words weighs:
the words are not there, and the page adds them as they are written."""
_BULLET = 1.4
_LEAST_RECAP, _MOST_RECAP, _SHARE = 150.0, 800.0, 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """The estimated tokens of a plan, without the system text.

    ``ends`` are those of each beginning of it, the empty one first. ``recap`` is what of them is
    the recap's, ``files`` the attachments, with the messages that bring them.
    """

    ends: tuple[float, ...]
    recap: float = 0.0
    files: tuple[tuple[str, AttachmentRef], ...] = ()

    @property
    def total(self) -> float:
        """All of it."""
        return self.ends[-1]


def straight(nodes: Sequence[Node]) -> Weight:
    """The weight of messages that are all sent as they stand; files left out."""
    earlier, coming = _parted(nodes)
    ends = tuple(tokens for tokens, _ in sums(earlier))
    more = (ends[-1] + tokens_of(coming.sent_suffix),) if coming else ()
    return Weight(ends=ends + more)


def shortened(nodes: Sequence[Node], start: int, recap: float) -> float:
    """The estimate of a recap and the messages from ``start`` on, all as they stand."""
    whole = straight(nodes)
    apart = 0.0 if nodes[start].role == "user" else MESSAGE
    return recap + _of("recap") + apart + whole.total - whole.ends[start]


def weigh(items: Sequence[Item], nodes: Sequence[Node], recap: float = 0.0) -> Weight:
    """The weight of a plan over ``nodes``; ``recap`` is that of its recap's words."""
    own = _alone(nodes)
    words = _Words(items, nodes, own)
    ends, in_recap = [0.0], 0.0
    for item in items:
        weight = own[item.node_id] if item.node_id is not None else MESSAGE
        if item.form == "recap" or item.recap_id is not None:
            weight += recap + _of("recap")
            in_recap += recap + _of("recap")
        if item.form not in ("plain", "recap"):
            weight += _of(item.form) + words.repeated(item) + words.kept(item)
        ends.append(ends[-1] + weight)
    return Weight(ends=tuple(ends), recap=in_recap, files=tuple(_files(items, nodes)))


def recap_guess(covered: float) -> float:
    """How long a recap of so many tokens is likely to be."""
    return min(covered, max(_LEAST_RECAP, min(_MOST_RECAP, _SHARE * covered)))


class _Words:
    """The words that messages repeat. What one repeats begins what a later one repeats."""

    def __init__(
        self, items: Sequence[Item], nodes: Sequence[Node], own: Mapping[str, float]
    ) -> None:
        asked: tuple[str, ...] = max((item.repeats for item in items), key=len, default=())
        wanted = {*asked, *(one for item in items for one in item.keeps)}
        self._weight = {
            node.id: own[node.id] - MESSAGE - tokens_of(node.sent_suffix)
            for node in nodes
            if node.id in wanted
        }
        self._sums = [0.0]
        for node_id in asked:
            self._sums.append(self._sums[-1] + self._weight[node_id] + _BULLET)

    def repeated(self, item: Item) -> float:
        return self._sums[len(item.repeats)]

    def kept(self, item: Item) -> float:
        return sum(self._weight[one] + _of_kept() for one in item.keeps)


def _alone(nodes: Sequence[Node]) -> Mapping[str, float]:
    """The weight of every message as it stands."""
    earlier, coming = _parted(nodes)
    known = sums(earlier)
    own = {node.id: known[n + 1][0] - known[n][0] for n, node in enumerate(earlier)}
    if coming is not None:
        own[coming.id] = tokens_of(coming.sent_suffix)
    return own


def _parted(nodes: Sequence[Node]) -> tuple[Sequence[Node], Node | None]:
    if nodes and nodes[-1].id == COMING:
        return nodes[:-1], nodes[-1]
    return nodes, None


def _files(items: Sequence[Item], nodes: Sequence[Node]) -> Iterator[tuple[str, AttachmentRef]]:
    """The attachments of what is sent; a list of all that was asked brings those of all of it."""
    sent = {item.node_id for item in items}
    sent |= {one for item in items if item.form == "listed" for one in item.repeats}
    for node in nodes:
        if node.id in sent:
            for part in node.parts:
                if isinstance(part, AttachmentRef):
                    yield node.id, part


@lru_cache
def _of(form: Form) -> float:
    """The weight of a form's own words. Two words stand in it for what it holds, one as a bullet
    that is counted with what it repeats."""
    own = tokens_of(wording(form))
    return own if form in ("recap", "opening") else own - 2 * tokens_of("x") - _BULLET


@lru_cache
def _of_kept() -> float:
    return tokens_of(f"\n\n{KEPT_ANSWER}\n\n")
