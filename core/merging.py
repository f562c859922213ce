"""Three-way merge by meaning: what two branches made of where they parted, brought together.

A model lists what holds (facts, decisions, constraints, open questions) where they parted and at
the end of each. What becomes of it is settled by rule, see :mod:`core.points`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.branching import branch_at, refuse_binned
from core.errors import UserError
from core.origins import expect
from core.points import Kind, Point
from core.recap import activate, add
from core.runner import Runner
from core.statements import compare
from core.store import Store
from core.told import json_in, text_in
from core.tree import last_answer
from core.types import Branch, Call, Config, Json, Message, Node, Run, Session, Text, ToolCall
from core.types import text_of as words_of

PROMPT = """\
A conversation was continued in two ways, A and B. List what holds, so that both can be brought \
together. You know nothing else of it.

{asked}

The conversation until they part:
<before>
{before}
</before>

How A goes on:
<a>
{a}
</a>

How B goes on:
<b>
{b}
</b>

List each fact, decision, constraint and open question once, with what holds of it before they \
part, at the end of A, and at the end of B. Each is a full sentence that stands on its own, with \
every number, name and date. Where A or B does not come back to something, it still holds there: \
repeat the words from before exactly. null where it does not exist: before they part, or because \
A or B took it back or settled the question.

Answer with JSON alone, in this form:
{{"points": [{{"kind": "fact" or "decision" or "constraint" or "question", "topic": "a few \
words", "before": "a sentence" or null, "a": "a sentence" or null, "b": "a sentence" or null}}]}}"""
_LIMITS = frozenset({"max_tokens", "stop"})
_TRIES = 2
_NOTHING = frozenset({"", "null", "none", "n/a", "-", "–", "—"})
_CONSTRAINT = re.compile(
    r"\b(must|shall|should|never|always|only|at (?:most|least)|no (?:more|less|fewer) than|"
    r"(?:do|does) not|don't|avoid|limit|required?|needs? to)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(decid\w*|agreed?|settled?|chose\w*|choose|we(?:'ll| will)|let's|go with|final)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two branches: what they share, and how each goes on."""

    a: Branch
    b: Branch
    before: tuple[Node, ...]
    of_a: tuple[Node, ...]
    of_b: tuple[Node, ...]


def pair(store: Store, a: str, b: str) -> Pair:
    """Two branches of one session. Raises ``UserError`` where one is all of the other."""
    one, other = store.branches.get(a), store.branches.get(b)
    left, right = store.nodes.lineage(one.tip_id), store.nodes.lineage(other.tip_id)
    count = 0
    while count < min(len(left), len(right)) and left[count].id == right[count].id:
        count += 1
    if count == len(left) or count == len(right):
        raise UserError(
            "There is nothing to merge: one of these branches holds all of the other.",
            hint="Choose two that went on in different ways.",
        )
    return Pair(a=one, b=other, before=left[:count], of_a=left[count:], of_b=right[count:])


# --- asking --------------------------------------------------------------------------------------


def merge_call(session: Session, found: Pair, config: Config) -> Call:
    """The call that lists what holds: one message, in which no name of a branch or model is."""
    goal, done = session.objective.strip(), session.done_when.strip()
    asked = [f"The objective:\n{goal}"] if goal else []
    asked += [f"It is done when:\n{done}"] if done else []
    words = PROMPT.format(
        asked="\n\n".join(asked),
        before=_talk(found.before),
        a=_talk(found.of_a),
        b=_talk(found.of_b),
    )
    sampling = {name: v for name, v in config.sampling.items() if name not in _LIMITS}
    message = Message(role="user", parts=(Text(text=words),))
    return Call(model=config.model, messages=(message,), sampling=sampling)


def _talk(nodes: Sequence[Node]) -> str:
    said = [
        f"{'The person' if node.role == 'user' else 'The model'}:\n{node.text.strip()}"
        for node in nodes
        if node.role in ("user", "assistant") and node.text.strip()
    ]
    return "\n\n".join(said) or "(nothing)"


def ask(runner: Runner, found: Pair, config: Config) -> Run:
    """Have what holds listed, beside the conversation. Raises ``UserError`` where a budget is used
    up."""
    session = runner.store.sessions.get(found.a.session_id)
    call = merge_call(session, found, config)
    at = found.before[-1].id if found.before else None
    return runner.side(found.a.id, call, config, "merge", at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far the asking is. *again*: what came cannot be read, one more try is due. *plain*: it
    could not be read twice, and the points are sentences that were compared without a model."""

    state: Literal["asking", "failed", "again", "told", "plain"]
    points: tuple[Point, ...] = ()


def standing(found: Pair, runs: Sequence[Run]) -> Standing:
    """What has come of the runs that were started for a merge, oldest first."""
    last = runs[-1]
    if last.state != "ended":
        return Standing(state="asking")
    points = read(words_of(last.partial))
    if points:
        return Standing(state="told", points=points)
    if not _whole(last):
        return Standing(state="failed")
    if sum(_whole(run) for run in runs) < _TRIES:
        return Standing(state="again")
    return Standing(state="plain", points=by_sentences(found))


def _whole(run: Run) -> bool:
    return run.failure is None and run.finish_reason in ("stop", "length")


# --- reading -------------------------------------------------------------------------------------


def read(text: str) -> tuple[Point, ...] | None:
    """The points in what a model wrote; None when there are none to be read."""
    told = json_in(text, lambda value: bool(_listed(value)))
    points = [point for item in _listed(told) if (point := _point(item))]
    return tuple(points) or None


def _listed(value: Json) -> list[dict[str, Json]]:
    if isinstance(value, dict):
        value = next((value[name] for name in ("points", "items", "list") if name in value), None)
    if not isinstance(value, list):
        return []
    return [one for one in value if isinstance(one, dict) and {"a", "b"} & one.keys()]


def _point(item: dict[str, Json]) -> Point | None:
    before, a, b = (_sentence(item.get(name)) for name in ("before", "a", "b"))
    if before is a is b is None:
        return None
    return Point(
        kind=_kind(text_in(item.get("kind"))),
        topic=text_in(item.get("topic")),
        before=before,
        a=a,
        b=b,
    )


def _sentence(value: Json) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    text = " ".join(text_in(value).split())
    return None if text.casefold() in _NOTHING else text


def _kind(name: str) -> Kind:
    known: dict[str, Kind] = {
        "deci": "decision",
        "cons": "constraint",
        "requ": "constraint",
        "ques": "question",
        "open": "question",
    }
    return known.get(name.casefold()[:4], "fact")


def by_sentences(found: Pair) -> tuple[Point, ...]:
    """The same without a model: sentences of the person's messages and of the last answer on
    either side. What one side does not repeat still holds there."""
    texts = (_essence(found.before), _essence(found.of_a), _essence(found.of_b))
    compared = compare(texts)
    points = [Point(kind=_guess(words), before=words, a=words, b=words) for words in compared.same]
    for difference in compared.differences:
        said = {number: one.words for one in difference.said for number in one.texts}
        before = said.get(0)
        a, b = said.get(1, before), said.get(2, before)
        points.append(Point(kind=_guess(str(a or b)), before=before, a=a, b=b))
    return tuple(points)


def _essence(nodes: Sequence[Node]) -> str:
    asked = [node.text for node in nodes if node.role == "user" and node.text.strip()]
    answer = last_answer(nodes)
    return "\n\n".join([*asked, *([answer.text] if answer else [])])


def _guess(words: str) -> Kind:
    if words.rstrip("\"”')*_ ").endswith("?"):
        return "question"
    if _DECISION.search(words):
        return "decision"
    return "constraint" if _CONSTRAINT.search(words) else "fact"


# --- placing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The new branch. ``insert`` is for its composer, where no recap could carry the text."""

    branch: Branch
    insert: str | None = None


def boundary(before: Sequence[Node]) -> Node | None:
    """The last answer that both branches share: a recap can stand in up to there, and a message
    of the person's can follow. None when they share none."""
    for node in reversed(before):
        calls = any(isinstance(part, ToolCall) for part in node.parts)
        if node.role == "assistant" and node.parts and not calls:
            return node
    return None


def place(store: Store, found: Pair, text: str, names: tuple[str, str]) -> Placed:
    """Begin a branch with the merged text; the session goes there.

    The branch begins at the :func:`boundary` with the text as its active recap, which the next
    message carries. Where the branches share no answer there is nothing that a recap could stand
    in for: the branch begins empty, and the text is to be its first message. The origins are
    recorded with that message. Raises ``UserError`` for an empty text and a place in the bin.
    """
    if not text.strip():
        raise UserError("The merged text is empty.", hint="Write something, or ask again.")
    at = boundary(found.before)
    if at is not None:
        refuse_binned(store, at)
    session_id = found.a.session_id
    origins = [(found.of_a[-1].id, found.a.id), (found.of_b[-1].id, found.b.id)]
    with store.write():
        made = branch_at(
            store,
            found.a.id,
            at,
            f"merged · {names[0]} + {names[1]}",
            forked_from=at.id if at else None,
        )
        store.branches.annotate(made.id, f"Merged from {names[0]} and {names[1]}.")
        if at is None:
            expect(store, session_id, made.id, origins, "merge", text.strip())
            return Placed(branch=store.branches.get(made.id), insert=text.strip() + "\n\n")
        activate(store, made.id, add(store, session_id, at.id, text).id)
        expect(store, session_id, made.id, origins, "merge")
    return Placed(branch=store.branches.get(made.id))
