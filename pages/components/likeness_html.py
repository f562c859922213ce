"""What texts say alike, and what only one of them says, as HTML: every word escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from core.likeness import Fact, Found, Likeness, Point
from pages.components import words

_SHOWN = 10  # facts of one kind, and then how many more
_MOST = 60  # points of one text
_KINDS = {"number": "Figures", "date": "Dates", "name": "Names", "quote": "Quotes"}


def strip(found: Likeness, names: Sequence[str]) -> str:
    """One card for what all say, and one for each text; ``names`` are what those are called."""
    both = "Both say" if len(names) == 2 else "All say"
    cards = [_card(both, found.shared, "all", "word for word")]
    cards += [
        _card(f"Only {name} says", one, "only", "of its own")
        for name, one in zip(names, found.alone, strict=True)
    ]
    return f'<div class="likeness">{"".join(cards)}</div>'


def _card(title: str, found: Found, kind: str, how: str) -> str:
    facts = "".join(
        _facts(_KINDS[name], list(some))
        for name, some in groupby(found.facts, key=lambda one: one.kind)
    )
    points = _points(found.points, how)
    nothing = "" if facts or points else '<p class="nothing">Nothing of note.</p>'
    return (
        f'<section class="{kind}" aria-label="{escape(title)}">'
        f'<p class="name">{escape(title)}</p>{facts}{points}{nothing}</section>'
    )


def _facts(name: str, facts: Sequence[Fact]) -> str:
    shown = "".join(_fact(one) for one in facts[:_SHOWN])
    rest = "".join(_fact(one) for one in facts[_SHOWN:_MOST])
    more = f"<details><summary>{len(facts) - _SHOWN} more</summary>{rest}</details>" if rest else ""
    return f'<div class="kind"><b>{name}</b>{shown}{more}</div>'


def _fact(fact: Fact) -> str:
    return f'<span class="fact">{escape(fact.text)}</span> '


def _points(points: Sequence[Point], how: str) -> str:
    if not points:
        return ""
    told = ", ".join(
        words.counted(len(list(some)), name)
        for name, some in groupby(points, key=lambda one: one.kind)
    )
    items = "".join(_items(points[:_MOST]))
    more = f"<li>and {len(points) - _MOST} more</li>" if len(points) > _MOST else ""
    return f"<details><summary>{told} {how}</summary><ul>{items}{more}</ul></details>"


def _items(points: Iterable[Point]) -> Iterable[str]:
    for one in points:
        text = escape(one.text)
        yield f"<li>{f'<b>{text}</b>' if one.kind == 'heading' else text}</li>"
