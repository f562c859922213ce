"""What the person asked for along a branch: found in their words, or by a model on request.

:func:`requirements_in` is pure. The rest keeps the ledger of a lineage: it belongs to messages,
so that a branch has those of the messages on its way.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from core.store import Store
from core.told import json_in, text_in
from core.types import (
    Call,
    Config,
    Json,
    Message,
    Node,
    Requirement,
    Run,
    Text,
    new_id,
    now,
    text_of,
)

_FENCED = re.compile(r"^(```|~~~).*?(^\1|\Z)", re.DOTALL | re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*\u2022\u2013]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|approx|incl|max|min|no|dr|mr|mrs|ms|prof|st|fig|sec)\.$", re.IGNORECASE
)
_END = re.compile(r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s+[\"'\u201c(\[]?\S)|[;](?=\s)")
_FRAME = ("Just to recapitulate", "Just to reiterate", "Now please complete the task correctly")
"""How a task that is said again is begun and ended: not what it asks for."""
_SHORTEST, _LONGEST = 6, 400  # characters of a sentence

_MARKERS = re.compile(
    r"""\b(?:
    must|mustn['\u2019]?t | shall | should(?:n['\u2019]?t)? | ought\s+to
    | ha(?:ve|s)\s+to | need(?:s|ed)?\b | requir(?:e|es|ed|ement|ements)
    | (?:do|does)\s+not | don['\u2019]?t | doesn['\u2019]?t | can(?:not|['\u2019]?t) | never
    | always
    | please | make\s+sure | be\s+sure | ensure | keep | avoid | exclude | include[sd]?\b
    | no\s+(?:more|fewer|less|longer|later|earlier)\s+than
    | not\s+(?:more|less|longer)\s+than
    | at\s+(?:least|most|minimum|maximum) | up\s+to\s+(?:\d+|one|two|three|four|five|six|ten)
    | (?:max|min)(?:imum|imal)?\b | exactly | only | without | instead\s+of | rather\s+than | except
    | (?:under|over|within|below|above|by|before|after)\s+[$\u20ac\u00a3]?\d[\d.,]*
    | limit(?:ed|s)?\s+(?:it\s+)?to | stick\s+to | leave\s+out | as\s+(?:short|simple|brief)\s+as
    | (?:i|we)(?:['\u2019]d|\s+would)?\s+(?:like|prefer|want|insist|expect)
    | want(?:s)?\s+(?:it|this|the|to|a|an) | prefer(?:s|ably|red)? | important
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_IMPERATIVE = re.compile(
    r"""^(?:and\s+|then\s+|also[,]?\s+|now[,]?\s+|next[,]?\s+|finally[,]?\s+|so\s+|but\s+|ok(?:ay)?[,]\s+)*
    (?:add|aim|answer|apply|assume|be|begin|bring|call|change|cite|close|combine|compare|consider|convert
    |cover|create|cut|define|delete|describe|design|draft|drop|emphasi[sz]e|end|explain|expand|finish|fix
    |focus|follow|format|give|go|group|highlight|insert|introduce|justify|label|limit|list|lower|maintain
    |make|mention|merge|move|name|note|number|omit|open|order|organi[sz]e|outline|phrase|place|plan|point
    |prepare|present|preserve|prioriti[sz]e|produce|propose|provide|put|quote|raise|rank|recommend|reduce
    |refer|remove|rename|replace|rephrase|report|respond|return|rewrite|round|say|select|separate|set
    |shorten|show|skip|sort|speak|specify|split|start|state|stay|structure|suggest|sum|summari[sz]e|support
    |swap|switch|take|target|tell|think|tighten|title|translate|treat|try|turn|update|use|verify|write)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_QUESTION = re.compile(
    r"^(?:what|why|who|whom|whose|when|where|which|how|is|are|was|were|do(?!\s+not)|does|did"
    r"|(?:has|have|had)\s+(?:i|you|we|he|she|it|they)|should|shall|may|might|am)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(r"\b(?:please|(?:can|could|will|would)\s+you)\b", re.IGNORECASE)

PROMPT = """\
Below are the messages of one person in a conversation, each with its number. List every \
requirement, constraint and preference that the person stated about the result, each as one \
short sentence that stays close to their words; the latest version only where one replaces \
another. Add nothing that was not said.

Answer with JSON alone, in this form:
{"requirements": [{"turn": 1, "requirement": "..."}]}"""


@lru_cache(maxsize=2048)
def _found(text: str) -> tuple[str, ...]:
    kept: dict[str, str] = {}
    for sentence in _sentences(_FENCED.sub("\n", text)):
        if _asks_for_something(sentence):
            kept.setdefault(alike(sentence), sentence)
    return tuple(kept.values())


def requirements_in(text: str) -> list[str]:
    """The sentences of a message that state a requirement, in their order, each once.

    Sentences with must, should, need, keep, avoid, at least, no more than, don't, please and
    the like, and those that begin with what is to be done. Code blocks and plain questions are
    passed over. Pure.
    """
    return list(_found(text))


def alike(text: str) -> str:
    """What two ways to write the same requirement have in common."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for line in text.splitlines():
        rest = _BULLET.sub("", line).strip()
        start = 0
        for end in _END.finditer(rest):
            piece = rest[start : end.end()]
            if _ABBREVIATION.search(piece):
                continue
            found.append(piece)
            start = end.end()
        found.append(rest[start:])
    return [piece.strip(" \t;>") for piece in found if piece.strip(" \t;>")]


def _asks_for_something(sentence: str) -> bool:
    if sentence.startswith(_FRAME):
        return False
    if not _SHORTEST <= len(sentence) <= _LONGEST or sentence.startswith("/"):
        return False
    if sentence.endswith("?") or _QUESTION.match(sentence):
        return bool(_POLITE.search(sentence))
    return bool(_IMPERATIVE.match(sentence) or _MARKERS.search(sentence))


# --- the ledger of a lineage -------------------------------------------------------------------


def gather(store: Store, lineage: Sequence[Node]) -> list[Requirement]:
    """The requirements of a lineage, turn by turn; what a message asks for is written down when
    it is met for the first time."""
    asked = [node for node in lineage if node.role == "user"]
    known = _ordered(store, asked)
    met = {one.node_id for one in known}
    fresh = [node for node in asked if node.id not in met and requirements_in(node.text)]
    if not fresh:
        return [one for one in known if one.dropped_at is None]
    with store.write():  # two tabs may meet it at once
        met = {one.node_id for one in store.requirements.of(node.id for node in fresh)}
        store.requirements.add(
            _new(node, text)
            for node in fresh
            if node.id not in met
            for text in requirements_in(node.text)
        )
    return [one for one in _ordered(store, asked) if one.dropped_at is None]


def as_of(store: Store, lineage: Sequence[Node], moment: str) -> list[Requirement]:
    """The requirements of a lineage as they were at a moment, in the words of now."""
    return [
        one
        for one in _ordered(store, [node for node in lineage if node.role == "user"])
        if one.created_at <= moment and (one.dropped_at is None or one.dropped_at > moment)
    ]


def add(store: Store, node: Node, text: str) -> Requirement:
    """Write one down by hand, for a message; one that is there already is not written twice."""
    made = _new(node, " ".join(text.split()))
    with store.write():
        for known in store.requirements.of([node.id]):
            if known.dropped_at is None and alike(known.text) == alike(made.text):
                return known
        store.requirements.add([made])
    return made


def _ordered(store: Store, asked: Sequence[Node]) -> list[Requirement]:
    place = {node.id: number for number, node in enumerate(asked)}
    return sorted(store.requirements.of(place), key=lambda one: (place[one.node_id], one.id))


def _new(node: Node, text: str, run_id: str | None = None) -> Requirement:
    return Requirement(
        id=new_id(),
        session_id=node.session_id,
        node_id=node.id,
        text=text,
        run_id=run_id,
        created_at=now(),
    )


# --- by a model ---------------------------------------------------------------------------------


def requirements_call(lineage: Sequence[Node], config: Config) -> Call:
    """The call that has a model find requirements: the person's words and nothing else."""
    asked = [node for node in lineage if node.role == "user"]
    told = "\n\n".join(f"Message {turn}:\n{node.text}" for turn, node in enumerate(asked, 1))
    message = Message(role="user", parts=(Text(text=f"{PROMPT}\n\n{told}"),))
    return Call(model=config.model, messages=(message,), sampling=config.sampling)


def read(text: str) -> list[tuple[int | None, str]]:
    """Turn and requirement of each that a model has found; whatever it wrote, never an error."""
    told = json_in(text, _lists_requirements)
    items = told.get("requirements") if isinstance(told, dict) else told
    found: list[tuple[int | None, str]] = []
    for item in items if isinstance(items, list) else []:
        words = text_in(item) or text_in(item.get("requirement") if isinstance(item, dict) else "")
        turn = item.get("turn") if isinstance(item, dict) else None
        number = turn if isinstance(turn, int) and not isinstance(turn, bool) else None
        if words:
            found.append((number, words))
    return found


def _lists_requirements(value: Json) -> bool:
    if isinstance(value, dict):
        return isinstance(value.get("requirements"), list)
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict | str) for v in value)


def take_in(store: Store, run: Run) -> int:
    """Put what a run has found and the ledger has not yet onto it; how many they are.

    What was dropped stays dropped.
    """
    asked = [n for n in store.nodes.lineage(run.context_tip_id) if n.role == "user"]
    if not asked:
        return 0
    with store.write():
        gather(store, asked)
        known = {alike(one.text) for one in store.requirements.of(node.id for node in asked)}
        new: dict[str, Requirement] = {}
        for turn, words in read(text_of(run.partial)):
            node = asked[turn - 1] if turn and 1 <= turn <= len(asked) else asked[-1]
            if alike(words) not in known:
                new.setdefault(alike(words), replace(_new(node, words), run_id=run.id))
        store.requirements.add(new.values())
    return len(new)
