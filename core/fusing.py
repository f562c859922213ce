"""Fuse: several answers become one, steered by the person.

What the answers do not say alike is listed; the person ticks what goes in. A model that knows
nothing of the conversations puts it together, the person edits, and the text becomes an answer on
a branch of its own that knows which answers it was made of.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.branching import branch_at, new_node, refuse_binned
from core.errors import UserError
from core.runner import Runner
from core.statements import Compared, Said, compare
from core.store import Store
from core.tree import previous_user_turn
from core.types import Branch, Call, Config, Message, Node, Origin, Run, Session, Text, text_of

PROMPT = """\
Several people have answered the same request. Put their answers together into one text. You \
know nothing else of how they came about.

{asked}

{answers}

{ticks}

Rules:
- What all answers have in common goes in.
- Every point under "Goes in" goes in, with its numbers, names and wording; where two of them \
say different things about the same matter, bring them together, and say so if they contradict \
each other.
- No point under "Stays out" goes in, unless another rule asks for it.
- Add nothing that none of the answers says.
- Write one text of one voice, in the form that suits the request. Do not mention the answers, \
their letters, or that anything was put together.

Answer with the text alone."""
_LIMITS = frozenset({"max_tokens", "stop"})
"""Settings that are meant for answers: what is fused must not end where one of them did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An answer that is fused. ``name`` is what the person calls it."""

    node: Node
    branch_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A person's message that the fused answer can be placed under.

    Of a ``branch_id`` the settings go along; None is the message that all answers share.
    """

    node: Node
    branch_id: str | None = None
    name: str = ""


def differences(sources: Sequence[Source]) -> Compared:
    """What the answers say alike, and what only some of them say, or say differently."""
    return compare(tuple(source.node.text for source in sources))


def tick_of(sources: Sequence[Source], said: Said) -> str:
    """What a wording is ticked by: it stays while other answers come and go."""
    return f"{sources[said.texts[0]].node.id}.{said.place}"


def ticks_of(sources: Sequence[Source], only: int | None = None) -> list[str]:
    """The ticks of all wordings in which the answers differ, or of one answer's."""
    return [
        tick_of(sources, said)
        for difference in differences(sources).differences
        for said in difference.said
        if only is None or only in said.texts
    ]


def fuse_call(
    session: Session,
    asked: str,
    sources: Sequence[Source],
    ticked: Collection[str],
    wish: str,
    config: Config,
) -> Call:
    """The call that fuses: one message, in which nothing of the conversations is but the request
    ``asked``, the answers and the ticks. No name of a branch or model is told.

    Raises ``UserError`` for fewer than two answers, and where nothing is ticked or wished for.
    """
    if len({source.node.id for source in sources}) < 2:
        raise UserError("It takes two answers to fuse.", hint="Choose another one.")
    found = differences(sources)
    if not found.differences and not wish.strip():
        raise UserError(
            "These answers say the same, word for word.", hint="Choose another one, or take either."
        )
    if not wish.strip() and not set(ticked) & set(ticks_of(sources)):
        raise UserError("Nothing is ticked.", hint="Tick what goes in, or write what matters.")
    words = PROMPT.format(
        asked=_asked(session, asked),
        answers="\n\n".join(
            f"Answer {_letter(number)}:\n<answer>\n{source.node.text}\n</answer>"
            for number, source in enumerate(sources)
        ),
        ticks=_ticks(sources, found, ticked, wish),
    )
    sampling = {name: v for name, v in config.sampling.items() if name not in _LIMITS}
    message = Message(role="user", parts=(Text(text=words),))
    return Call(model=config.model, messages=(message,), sampling=sampling)


def _asked(session: Session, asked: str) -> str:
    blocks = [
        f"The objective:\n{session.objective.strip()}" if session.objective.strip() else "",
        f"It is done when:\n{session.done_when.strip()}" if session.done_when.strip() else "",
        f"The request:\n<request>\n{asked.strip()}\n</request>" if asked.strip() else "",
    ]
    return "\n\n".join(filter(None, blocks))


def _ticks(sources: Sequence[Source], found: Compared, ticked: Collection[str], wish: str) -> str:
    goes: list[str] = []
    stays: list[str] = []
    for difference in found.differences:
        for said in difference.said:
            of = " and ".join(_letter(number) for number in said.texts)
            line = f"- (from {of}) {said.words}"
            (goes if tick_of(sources, said) in ticked else stays).append(line)
    blocks = [
        "Goes in:\n" + ("\n".join(goes) or "- nothing besides what they have in common"),
        "Stays out:\n" + "\n".join(stays) if stays else "",
        f"What else matters:\n{wish.strip()}" if wish.strip() else "",
    ]
    return "\n\n".join(filter(None, blocks))


def _letter(number: int) -> str:
    return chr(ord("A") + number)


def fuse(
    runner: Runner,
    sources: Sequence[Source],
    ticked: Collection[str],
    wish: str,
    config: Config,
) -> Run:
    """Have the answers fused, beside the conversation. Raises as :func:`fuse_call` does, and
    ``UserError`` where a budget is used up."""
    store = runner.store
    first = store.nodes.get(sources[0].node.id) if sources else None
    if first is None:
        raise UserError("It takes two answers to fuse.", hint="Choose another one.")
    base = next(iter(bases(store, sources)), None)
    session = store.sessions.get(first.session_id)
    asked = base.node.text if base else ""
    call = fuse_call(session, asked, sources, ticked, wish, config)
    at = base.node.id if base else None
    return runner.side(sources[0].branch_id, call, config, "fuse", at=at)


# --- placing --------------------------------------------------------------------------------------


def bases(store: Store, sources: Sequence[Source]) -> list[Base]:
    """Where the fused answer can go: under the last message of the person's that all answers
    share, or in place of one of the answers. Each message once; first what was asked last, if
    all were asked the same, as lanes are in a follow-up."""
    lineages = [store.nodes.lineage(source.node.id) for source in sources]
    found: list[Base] = []
    together = previous_user_turn(_shared(lineages))
    if together is not None:
        found.append(Base(node=together))
    for source, lineage in zip(sources, lineages, strict=True):
        own = previous_user_turn(lineage[:-1])
        if own is not None and all(base.node.id != own.id for base in found):
            found.append(Base(node=own, branch_id=source.branch_id, name=source.name))
    owns = [base for base in found if base.branch_id is not None]
    if len(owns) == len(sources) and len({base.node.text.strip() for base in owns}) == 1:
        return [*owns, *(base for base in found if base.branch_id is None)]
    return found


def _shared(lineages: Sequence[Sequence[Node]]) -> list[Node]:
    shared: list[Node] = []
    for nodes in zip(*lineages, strict=False):
        if len({node.id for node in nodes}) > 1:
            break
        shared.append(nodes[0])
    return shared


def place(store: Store, sources: Sequence[Source], base: Base, text: str, *, by: Run) -> Branch:
    """Make the text an answer under ``base``, on a branch of its own; the session goes there.

    ``by`` is the run that fused, which the answer is told to be of; one with other words is
    hand-edited. Raises ``UserError`` for an empty text and for a place that is in the bin.
    """
    if not text.strip():
        raise UserError("The fused answer is empty.", hint="Write something, or ask again.")
    refuse_binned(store, base.node)
    same = text.strip() == text_of(by.partial).strip()
    node = new_node(
        base.node.session_id,
        base.node.id,
        "assistant",
        (Text(text=text.strip()),),
        author="model" if same else "hand-edited",
    )
    with store.write():
        store.nodes.add(node)
        store.runs.became(by.id, node.id)
        named = " + ".join(source.name for source in sources)
        like = base.branch_id or sources[0].branch_id
        made = branch_at(store, like, node, f"fused · {named}", forked_from=base.node.id)
        if base.branch_id is not None:
            own = store.branches.get(base.branch_id)
            store.branches.choose_policy(made.id, own.policy, own.keep_turns)
            store.branches.choose_config(made.id, own.config)
        store.comparisons.note_origins(
            node.id,
            [
                Origin(
                    node_id=node.id,
                    origin_id=source.node.id,
                    kind="fuse",
                    branch_id=source.branch_id,
                )
                for source in sources
            ],
        )
        store.sessions.touch(node.session_id)
        return store.branches.get(made.id)
