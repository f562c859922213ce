"""Gemini's activity as Google Takeout has it: ``MyActivity.json``, a list of cards.

A card is one prompt with its answer, the newest first; what ties the cards of a chat together is
their address, which may be missing. The word before the prompt is in the person's language, and
so is the product's name. Answers are HTML and become text here. Cards that tell of something
else, such as a draft that was preferred, are no prompts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from core.errors import BadFile
from core.interchange import fields, streams
from core.interchange.glimpse import glimpse
from core.interchange.growing import Grain, left_out, line
from core.interchange.spoken_html import words_in
from core.interchange.times import iso
from core.interchange.turns import Turns, title_of
from core.types import Carried, Damaged, Json, MarkKind, Part, Source, Text, well_formed

Card = Mapping[str, Json]
_OURS = re.compile(r"gemini|bard", re.IGNORECASE)
_ASKED = re.compile(r"(?:Prompted|Asked|Said)[\s\u00a0]+")
_LONGEST_PREFIX = 40
_MOST = 256 * 2**20  # characters: all cards are in memory, the chats among them being mixed
_BEGINNING = "the file breaks off: the beginning of this chat may be missing"


class Takeout:
    """All chats of an account that were kept as activity."""

    name = "takeout"
    label = "Gemini activity (Google Takeout)"

    def recognise(self, source: Source) -> float:
        """Sure of cards that name Gemini, under whichever of its names."""
        value = glimpse(source).value
        cards = (
            [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
        )
        if not cards or not {"header", "title", "time"} <= cards[0].keys():
            return 0.0
        return 0.95 if any(_is_ours(card) for card in cards) else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The chats, the newest first; a card without an address is a chat of its own."""
        chats: dict[str, list[Card]] = {}
        broke: BadFile | None = None
        others = Counter[tuple[str, str]]()
        held = 0
        try:
            for number, (place, card) in enumerate(streams.items(source)):
                if not isinstance(card, Mapping):
                    yield Damaged(place=place, why="not as expected: it is no card")
                elif not _is_ours(card):
                    others["activity in other products", "only what Gemini was asked is read"] += 1
                elif not _is_prompt(card):
                    others["activity that is no prompt", "nothing was asked or answered"] += 1
                else:
                    held += _weight(card)
                    _bounded(held, place)
                    chats.setdefault(_address(card) or f"#{number}", []).append(card)
        except BadFile as error:
            broke = error
        prefix = _prefix([card for cards in chats.values() for card in cards])
        for address, cards in chats.items():
            made = _chat(address, cards[::-1], prefix)
            if others:  # it is told with the first of them
                made = replace(made, left_out=(*made.left_out, *left_out(others)))
                others.clear()
            if broke is not None and not address.startswith("#"):
                made = replace(made, repairs=(*made.repairs, _BEGINNING))
            yield made
        if broke is not None:
            raise broke


def _address(card: Card) -> str:
    """What the cards of one chat have in common; nothing where they only name the product."""
    address = fields.words(card, "titleUrl").partition("?")[0]
    return "" if address.rstrip("/").rpartition("/")[2] in ("", "app") else address


def _is_ours(card: Card) -> bool:
    named = [fields.words(card, "header"), *map(str, fields.several(card, "products"))]
    return any(_OURS.search(name) for name in named)


def _weight(card: Card) -> int:
    return len(fields.words(card, "title")) + len(_answer(card))


def _bounded(held: int, place: str) -> None:
    if held > _MOST:
        raise BadFile(
            f"{place}: the activity up to here is more than {_MOST // 2**20} MB.",
            hint="Split the file; nothing past this place was read.",
        )


def _is_prompt(card: Card) -> bool:
    return bool(_answer(card)) or _ASKED.match(fields.words(card, "title")) is not None


def _prefix(cards: Sequence[Card]) -> str:
    """What stands before every prompt, in a language that is not English."""
    titles = [fields.words(card, "title") for card in cards if _answer(card)]
    if len(titles) < 3 or any(_ASKED.match(title) for title in titles):
        return ""
    first, last = min(titles), max(titles)
    ways = enumerate(zip(first, last, strict=False))
    apart = next((place for place, (one, other) in ways if one != other), len(first))
    shared = first[: min(apart, _LONGEST_PREFIX)]
    end = max(shared.rfind(" "), shared.rfind("\u00a0"), shared.rfind(":"))
    return shared[: end + 1]


def _answer(card: Card) -> str:
    return "\n\n".join(fields.words(item, "html") for item in fields.objects(card, "safeHtmlItem"))


def _chat(address: str, cards: Sequence[Card], prefix: str) -> Carried:
    turns = Turns()
    grains: list[Grain] = []
    for card in cards:
        title, answer = fields.words(card, "title"), _answer(card)
        asked = _ASKED.match(title)
        words = title[asked.end() :] if asked else title.removeprefix(prefix)
        grains += _turn(card, words, answer, turns)
    grown = line(grains)
    dates = [grain.at for grain in grains if grain.at]
    return Carried(
        key=address if not address.startswith("#") else grains[0].key,
        title=title_of(grains),
        nodes=grown.nodes,
        branches=grown.branches,
        at=min(dates, default=None),
        updated_at=max(dates, default=None),
        left_out=(*grown.left_out, *left_out(turns.left)),
        repairs=grown.repairs,
    )


def _turn(card: Card, words: str, answer: str, turns: Turns) -> list[Grain]:
    """A prompt, and its answer where there is one. Time and words are all that names them."""
    at = iso(card.get("time"))
    for name in fields.several(card, "attachedFiles"):
        turns.absent(name if isinstance(name, str) else fields.words(name, "name", "url"))
    for held in [*fields.objects(card, "imageFile"), fields.mapping(card, "imageFile")]:
        if held:
            turns.absent(fields.words(held, "name", "url"))
    notes, turns.notes = turns.notes, []
    marks: dict[MarkKind, str] = {"note": "\n".join(notes)} if notes else {}
    key = streams.fingerprint(fields.words(card, "time"), words)
    parts: tuple[Part, ...] = (Text(text=words),) if words else ()
    made = [Grain(key=key, parent=None, role="user", parts=parts, at=at, marks=marks)]
    if told := words_in(answer):
        text = (Text(text=well_formed(told)),)
        made.append(
            Grain(
                key=f"{key}/answer",
                parent=None,
                role="assistant",
                parts=text,
                at=at,
                provider="gemini",
            )
        )
    return made


FORMAT = Takeout()
