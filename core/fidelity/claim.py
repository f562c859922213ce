"""Something that a message states. Pure."""

from dataclasses import dataclass
from typing import Literal

from core.fidelity.mention import Mention, folded, same

Kind = Literal["number", "date", "name", "quote", "requirement"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something stated in message number ``place``, with its sentence and that one's words."""

    kind: Kind
    text: str
    place: int
    start: int
    sentence: str
    stems: frozenset[str]
    mention: Mention | None = None
    gone: bool = False


def alike(one: Claim, other: Claim) -> bool:
    """Whether two claims are of the same thing."""
    if one.mention is not None and other.mention is not None:
        return same(one.mention, other.mention)
    return one.kind == other.kind and folded(one.text) == folded(other.text)
