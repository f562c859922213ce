"""Sentences, and the words of a text that carry meaning. Pure."""

import re
from dataclasses import dataclass

from core.fidelity.mention import folded, vocabulary


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of a text and where it begins."""

    text: str
    start: int


_ABBREVIATED = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|no|nr|vs|etc|approx|incl|max|min|e\.g|i\.e|z\.b|ca|inc|ltd|jan"
    r"|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|[a-z])|\b\d{1,2})\.$",
    re.IGNORECASE,
)
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)]|#{1,6}|>)\s+")


def sentences(text: str) -> list[Sentence]:
    """Sentences, without the marks of lists and headings before them."""
    found: list[Sentence] = []
    text = _FENCED.sub(lambda block: " " * len(block[0]), text)
    for line in re.finditer(r"[^\n]+", text):
        mark = _LIST_MARK.match(line[0])
        start = line.start() + (mark.end() if mark else 0)
        begin = start
        for stop in re.finditer(r"[.!?;…]+[\"'”’)\]]*(?=\s)", text[start : line.end()]):
            end = start + stop.end()
            if _ABBREVIATED.search(text[begin:end]) and text[end:].lstrip()[:1] != "":
                continue
            found.append(Sentence(text[begin:end], begin))
            begin = end
        found.append(Sentence(text[begin : line.end()], begin))
    return [
        Sentence(one.text.strip(), one.start + len(one.text) - len(one.text.lstrip()))
        for one in found
        if one.text.strip()
    ]


_STOP = vocabulary(
    "a an the and or but if so to of in on at by for from with into onto over as is are was"
    " were be been being it its this that these those there here i me my mine we us our you your"
    " he him his she her they them their who whom which what when where how why do does did done"
    " doing have has had having will would can could may might shall should must not no nor than"
    " then too very just also still yet ever really please about up down out off all any each"
    " every some such own same other more most much many few both either neither again once only"
    " while during before after above below between because until need needs needed want wants"
    " keep make sure get let lets say said tell use used using thing things something anything"
    " everything lot bit way one ein eine einen einem einer der die das den dem des und oder"
    " aber ist sind war nicht kein keine mit von zu zum zur im am auf fur aus bei nach soll"
    " sollte muss mussen darf bitte es er sie wir ich du ihr un une le la les de et ou mais est"
    " sont dans sur pour avec sans il elle nous vous je tu doit faut que qui ne pas el los las"
    " una y o pero son en con sin por para debe hay don doesn didn isn aren wasn won cannot"
    " can't don't it's i'm i'd we're we'll let's that's always never avoid ensure require"
    " required requires requirement prefer least maximum minimum max min limit ought"
)
_ENDINGS = re.compile(
    r"(?:ations?|ments?|ingly|ness|ings?|edly|able|ibly|ed|ly|ies|es|er|en|s|e|y)$"
)
_ALIKE = (
    "short brief concise compact succinct tight kurz court corto",
    "cheap inexpensive affordable budget",
    "simple plain easy",
    "formal professional businesslike",
    "photo picture image photograph",
    "start begin launch commence",
    "finish end complete",
    "buy purchase",
    "deadline due",
    "phone call telephone",
    "kid child children",
    "employee staff",
    "customer client",
    "fly flight flights",
    "drive car",
    "funny humorous humor jokes joke",
    "vegan plant",
    "dairy milk lactose",
    "expensive cost price",
    "jargon technical",
    "reply answer respond",
    "allergy allergic",
    "veggie vegetarian",
    "table tabular",
    "exceed over beyond",
)


def stem(word: str) -> str:
    """The beginning that a word shares with its other forms; alike words have one in common."""
    bare = folded(word).replace("’", "'").removesuffix("'s")
    cut = _ENDINGS.sub("", bare)
    cut = (cut if len(cut) >= 3 else bare)[:6]
    return _CANON.get(cut, cut)


_CANON: dict[str, str] = {}
for _group in _ALIKE:
    _first, *_others = (stem(_one) for _one in _group.split())
    _CANON |= dict.fromkeys(_others, _first)


def stems(text: str) -> frozenset[str]:
    """The words that carry meaning, as stems; numbers left out."""
    words = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text)
    return frozenset(
        stem(word)
        for word in words
        if len(word) > 1 and folded(word).replace("’", "'") not in _STOP
    )
