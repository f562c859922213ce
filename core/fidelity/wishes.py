"""The parts of what people write that ask for something to be so. Pure."""

import re
from collections.abc import Iterator

from core.fidelity.words import stems

_CUE_WORDS = (
    r"must(?:n['’]?t)?|should(?:n['’]?t)?|(?<!i )(?<!we )needs? to|needs\b|(?<!i )(?<!we"
    r" )need(?:ed)?\b"
    r"|does(?:n['’]?t| not)(?! (?:matter|work|seem|know|have|need|mean|feel|look|sound))"
    r"|has to|(?<!i )(?<!we )have to|required?|requires|keep|avoid|(?<!i )(?<!we )never"
    r"|(?<!i )(?<!we )always|no more than|not more than|no (?:less|fewer|longer|later) than"
    r"|at (?:least|most)|max(?:imum|\.)?|minimum|do not|can['’]?t|cannot"
    r"|don['’]?t(?! (?:know|think|mind|care|remember|understand|worry|get|see|have|change|forget"
    r"|touch"
    r" anything))|may not|without|make sure|ensure|stick to|limit(?:ed)? to|not allowed|mandatory"
    r"|(?<!i )(?<!we )only\b|prefer(?:ably|s)?|refrain|exclude|leave out|up to|allergic|under no"
    r"|muss|müssen|soll(?:te)?n?|darf|dürfen|keine?[nrms]?\b|höchstens|mindestens|maximal|vermeide"
    r"|immer|niemals|nur|doit|doivent|il faut|au (?:moins|plus|maximum)|évite[rz]?|jamais|toujours"
    r"|seulement|debe[n]?|tiene[n]? que|hay que|no más de|al menos|como máximo|evita[r]?|nunca"
    r"|siempre"
    r"|solo|sólo"
)
_OPENS = re.compile(
    r"^(?:and |but |also,? |oh,? (?:and )?|then |ok(?:ay)?,? )?(?:please |just )?"
    r"(?:use|include|mention|stick|limit|start with|end with|no(?=\s(?!problem|worries|idea|need"
    r"|way|one"
    r"|it)\w))\b",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\bkeep (?:going|that|this|everything|the rest|in mind|it up|up|me)\b|\b(?:as is|so far)\b"
    r"|^(?:and |but )?(?:i (?:can['’]?t|cannot)|we could)\b",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:,? (?:because|since|so that|as (?:i|we|he|she|it|they)|weil|damit|parce que|porque)\b"
    r"|, (?:he|she|it|they|i|we|my|our|the|that['’]s)\b(?! (?:must|should|needs|has to))).*$",
    re.IGNORECASE | re.DOTALL,
)
_CUE = re.compile(rf"(?<![\w-])(?:{_CUE_WORDS})(?![\w-])", re.IGNORECASE)
_PARTING = re.compile(
    rf"(?:[,;:]\s+|\s+)(?:and |but |und |aber |et |mais |y |pero )?(?:also |please |(?!the |a"
    rf" )[\w’']+ )?"
    rf"(?=(?:{_CUE_WORDS})(?![\w-]))",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[,;:]\s|\b(?:and|but|und|aber|et|mais|y|pero)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"^(?:so |and |but |ok(?:ay)?,? )?(?:what|how|why|who|when|where|which|should|do|does|is|are|am"
    r"|must|can i|could i|may i|shall|would it|will)\b",
    re.IGNORECASE,
)
DROPS = re.compile(
    r"\b(?:no longer|never ?mind|forget (?:about|the)|scrap|drop|skip|no need (?:for|to)"
    r"|doesn['’]?t"
    r" (?:need|have) to|don['’]?t (?:need|have) to|not (?:necessary|needed|required) any ?more"
    r"|isn['’]?t (?:necessary|needed|required)|nicht mehr|plus besoin|ya no)\b",
    re.IGNORECASE,
)
_LEAST_WORDS = 2


def requirements(text: str) -> Iterator[tuple[int, str]]:
    """The parts of a sentence that ask for something to be so, with where they begin."""
    asks = _CUE.search(text) or _OPENS.match(text)
    if not asks or (text.rstrip().endswith("?") and _ASKED.match(text)):
        return
    cuts = [0]
    for found in _PARTING.finditer(text):
        joint = _JOINED.search(found[0])
        own = stems(text[cuts[-1] : found.start()])
        if joint and own and _CUE.search(text[cuts[-1] : found.start()]):
            cuts.append(found.end())
    for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
        words = text[start:end].strip().strip(",;")
        words = re.sub(r"[,;:]?\s+(?:and|but|und|et|y)$", "", words).rstrip(" .!")
        if len(words.split()) < _LEAST_WORDS or DROPS.search(words) or _PASSING.search(words):
            continue
        if _CUE.search(words) or _OPENS.match(words):
            yield start, words


def core_of(words: str) -> str:
    """A requirement without the reason that is given for it."""
    return _REASON.sub("", words) or words
