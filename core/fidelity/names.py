"""Names of people, places and products, found by their looks. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from core.fidelity.mention import folded, vocabulary

_CAPITAL = r"(?:[A-ZÀ-ÖØ-Þ][\w&’'-]*[\w&]|[A-ZÀ-ÖØ-Þ])"
_NAME = re.compile(
    rf"(?<![\w’'@/.-]){_CAPITAL}(?:[ ](?:(?:von|van|de|der|den|del|della|di|da|la|le|al|bin|of|and"
    rf"|the|&)[ ]){{0,2}}{_CAPITAL}|\.?[ ]?(?<=\.)[ ]{_CAPITAL})*"
)
_NOT_NAMES = vocabulary(
    "i i'm i'd i'll i've ok okay yes no hi hello hey dear thanks thank please great perfect"
    " good nice cool sure fine well so and but or also actually sorry oh ah wow fyi asap ps tbd"
    " tba pm am mr mrs ms dr herr frau monsieur madame señor señora eur usd gbp chf q a an the"
    " this that these those it he she we they you there here what when where who why how which"
    " if then our my your his her their its let's let for in on at by to from with as of about"
    " after before until since not never always only just make keep use avoid add remove change"
    " write give show tell can could would should must may might will do does did don't is are"
    " was were has have had be budget total der die das den dem ein eine ich wir er sie es bitte"
    " gerne ja nein und aber kein keine fur mit le les une el los las il elle nous vous je oui"
    " non si por para con one two three four five six seven eight nine ten first second third"
    " next last finally now today tomorrow yesterday tonight maybe perhaps however instead"
    " because although while once each every all any some most many more less another other both"
    " either neither no. nr. must-have target audience deadline goal tone style format length"
    " title subject note notes draft version new old main final current regarding re everyone"
    " everybody nobody someone anyone everything nothing something anything people guests team"
    " price cost date time place pdf csv api url html css ceo cfo cto coo hr ux ui id sql json"
    " xml faq q&a tv ac diy usb gps vat kpi ai ml pr roi seo crm cta us uk usa eu gb mb kb tb"
    " kwh internet mom"
    " mum dad grandma grandpa god english british american german french spanish italian dutch"
    " chinese japanese korean indian mexican thai greek turkish european asian african"
    " portuguese polish russian swedish danish norwegian irish scottish swiss australian"
    " canadian brazilian mediterranean"
)
_SPEAKS = re.compile(
    r"^(?:['’]s\b|\s+(?:wants?|said|says|asked|prefers?|handles?|takes?|leads?|owns?|likes?"
    r"|hates?|joins?"
    r"|approves?|signs?|confirmed|told|wrote|suggested|thinks?|and [A-Z]))"
)


def names(text: str, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Names and where they begin; ``known`` are words that are none."""
    for found in _NAME.finditer(text):
        at, words = found.start(), found[0].split()
        begins = _begins(text, at)
        while words and (
            _uncontracted(words[0]) in _NOT_NAMES
            or (begins and len(words) > 1 and folded(words[0]) in known)
            or folded(words[0]) in _MONTH_OR_DAY
        ):
            at += len(words[0]) + 1
            words.pop(0)
            begins = False
        while words and (
            words[-1] in ("and", "of", "the", "&") or _uncontracted(words[-1]) in _NOT_NAMES
        ):
            words.pop()
        if not words:
            continue
        name = re.sub(r"['’]s$", "", " ".join(words))
        alone = len(words) == 1
        if begins and alone and not _named_at_start(text[found.end() :], name, known):
            continue
        if _GREETED.search(text[:at]):
            continue
        if alone and (len(name) < 2 or _bare(name) in known or (name.isupper() and _loud(name))):
            continue
        for part in re.split(r" and (?=[A-Z])", name):
            yield at + name.index(part), part


def _bare(word: str) -> str:
    return folded(word).replace("’", "'")


def _uncontracted(word: str) -> str:
    return re.sub(r"'(?:d|ll|ve|re|m|s)$", "", _bare(word))


_GREETED = re.compile(r"\b(?:hi|hello|hey|dear|thanks|thank you|cheers)[,]? $", re.IGNORECASE)
_MONTH_OR_DAY = vocabulary(
    "january february march april june july august september october november december monday"
    " tuesday wednesday thursday friday saturday sunday"
)
_LOUD = vocabulary("not must never always only all no any very please now do don't yes")


def _loud(name: str) -> bool:
    return name.casefold() in _LOUD


def _begins(text: str, at: int) -> bool:
    before = text[:at].rstrip(" \t*_(\"“„«'‘[")
    return not before or before[-1] in ".!?:;…\n-–—•>|/"


def _named_at_start(after: str, name: str, known: frozenset[str]) -> bool:
    return bool(_SPEAKS.match(after)) and _bare(name) not in known and not name.endswith("ing")


_GERMAN = vocabulary(
    "der die das den dem des und ist nicht ein eine einen einem einer für mit auf wir ich sie"
    " soll sollen bitte auch wird haben nur bis zum zur vom noch"
)


def common_words(texts: Sequence[str]) -> frozenset[str]:
    """Words that are also written small, or, where every noun has a capital, all capital words:
    none of them is a name by its looks."""
    small: set[str] = set()
    large: Counter[str] = Counter()
    inner = 0
    for text in texts:
        for found in re.finditer(r"(?<![\w@/.-])[^\W\d_]{2,}", text):
            word = found[0]
            if word[0].islower():
                small.add(_bare(word))
                inner += 1
            elif not _begins(text, found.start()):
                large[_bare(word)] += 1
    capitals = sum(large.values())
    german = sum(word in _GERMAN for text in texts for word in re.findall(r"[a-zäöüß]+", text))
    if (capitals > 12 and capitals > 0.16 * (capitals + inner)) or german > 0.12 * (inner or 1):
        return frozenset(small | set(large))
    return frozenset(small)
