"""What one sentence states. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from core.fidelity.claim import Claim, Kind
from core.fidelity.mention import Mention, vocabulary
from core.fidelity.names import names
from core.fidelity.notation import mentions
from core.fidelity.wishes import core_of, requirements
from core.fidelity.words import Sentence, stem, stems


def stated(sentence: Sentence, place: int, *, mine: bool, known: frozenset[str]) -> Iterator[Claim]:
    """Every claim of a sentence in message ``place``; ``mine`` when a person wrote it."""
    text = sentence.text
    basis = Claim(kind="number", text="", place=place, start=0, sentence=text, stems=stems(text))

    def claim(kind: Kind, words: str, at: int, mention: Mention | None = None) -> Claim:
        return replace(basis, kind=kind, text=words, start=sentence.start + at, mention=mention)

    taken: list[tuple[int, int]] = []
    for found in _QUOTED.finditer(text):
        inner = next(group for group in found.groups() if group is not None)
        if len(inner.strip()) > 1 and _is_quote(inner):
            taken.append(found.span())
            yield claim("quote", inner.strip(), found.start())
    for found in _CODE.finditer(text):
        if not _inside(found.start(), taken) and not _SLASHES.fullmatch(found[0]):
            taken.append(found.span())
            yield claim("name", found[0].rstrip(".,;:)"), found.start())
    for mention in mentions(text):
        if not _inside(mention.start, taken) and _is_figure(text, mention, mine=mine):
            taken.append((mention.start, mention.end))
            kind: Kind = "number" if mention.kind == "number" else "date"
            yield claim(kind, mention.text, mention.start, mention)
    for at, name in names(text, known):
        if not _inside(at, taken):
            yield claim("name", name, at)
    if mine:
        for at, words in requirements(text):
            yield replace(claim("requirement", words, at), stems=stems(core_of(words)))


_EITHER = re.compile(
    r"\b(?:or|oder|ou|either|like|such as|e\.g\.|for example|maybe|perhaps)\s+$", re.I
)


def weighed(sentence: Sentence, one: Claim) -> bool:
    """Whether a name or figure is one of several that are only thought about."""
    at = one.start - sentence.start
    before, after = sentence.text[:at], sentence.text[at + len(one.text) :]
    return bool(_EITHER.search(before) or re.match(r"\s+(?:or|oder|ou)\s", after))


def _inside(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


_QUOTED = re.compile(
    r"\"([^\"\n]{2,300})\"|“([^”\n]{2,300})”|„([^“”\n]{2,300})[“”]|«\s?([^»\n]{2,300}?)\s?»"
    r"|»([^«\n]{2,300})«|`([^`\n]{2,120})`|(?<![\w’'])[‘]([^‘\n]{2,200}?)’(?![\w])"
    r"|(?<![\w'])'([^'\n]{2,200}?)'(?!\w)"
)
_SLASHES = re.compile(r"(?:24/7|50/50|\d+/\d+)")
_CODE = re.compile(
    r"https?://[^\s<>\"')]+|\b[\w.+-]+@[\w-]+\.[\w.-]*\w|\bwww\.[^\s<>\"')]+"
    r"|(?<![\w.])(?![a-z]+-\d+\b)(?:[A-Za-z]+[-_/]?(?=[\w.-]*\d)[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*)(?![\w])"
    r"|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[\w-]+\.(?:py|js|ts|csv|json|ya?ml|md|txt|docx?|xlsx?|pdf|pptx?"
    r"|html|css|sql|toml|png|jpe?g|svg|com|org|net|io|de|fr|es|eu|uk)\b"
)
WONDERED = re.compile(
    r"^(?:so |and |but |ok(?:ay)?,? |hmm,? )?(?:what if|would|should|is|are|do(?:es)?|how about"
    r"|what about"
    r"|maybe we could|or)\b.*\?$",
    re.IGNORECASE | re.DOTALL,
)
_REFERENCE = re.compile(
    r"\b(?:option|step|turn|point|version|draft|idea|item|number|no\.|nr\.|question|part|variant"
    r"|suggestion|example|paragraph|bullet|section|slide|chapter|punkt|schritt|page|line"
    r"|row)s?\s?#?$"
    r"|#$",
    re.IGNORECASE,
)
_REQUESTED = re.compile(
    r"\b(?:give|show|list|suggest|propose|brainstorm|come up with|generate|write|name|find|draft"
    r"|think of|pick|choose|offer|send|try)\b",
    re.IGNORECASE,
)
_TRANSIENT = stems(
    "idea option example suggestion name title tagline variant version alternative way"
    " question tip reason headline line subject email bullet draft choice slogan candidate"
    " attempt try change tweak"
)
_VAGUE = stems(
    "thing of more other another last next first question way side end hand moment time"
    " sec second minute idea and or to for is was that in on at the"
)


def _is_quote(inner: str) -> bool:
    return bool(re.search(r"\w\w", inner))


def _is_figure(text: str, mention: Mention, *, mine: bool) -> bool:
    """Whether a number tells something, and does not only count or point."""
    if mention.kind != "number":
        return True
    before, after = text[: mention.start], text[mention.end :]
    if re.search(r"\b24/7\b|\b50/50\b", text[max(0, mention.start - 3) : mention.end + 3]):
        return False
    if _REFERENCE.search(before.rstrip()) or (re.match(r"\)", after) and "(" not in before):
        return False
    if re.match(
        r"(?:st|nd|rd|th)\b(?![ -](?:birthday|anniversary|floor|grade|edition|century))", after
    ):
        return False
    counted = {stem(word) for word in re.findall(r"[^\W\d_]+", after)[:3]}
    noun = stem(mention.unit) if mention.unit not in ("%", "money", "") else mention.unit
    if noun in _TRANSIENT or (counted & _TRANSIENT and _REQUESTED.search(before)):
        return False
    if re.match(r"\s*(?:more|other|additional|new)\b", after) or noun in _SHORTER:
        return False
    if not mention.spelled:
        return True
    return mine and noun not in ("", *_VAGUE) and mention.text.casefold() not in _FEW


_SHORTER = stems("shorter longer smaller bigger cheaper less")
_FEW = vocabulary("one a couple dozen") | {"a couple", "a dozen"}
