"""Recaps: a text that stands in for the beginning of a branch, without anything being moved.

A branch activates a recap; the context then holds it in place of all it covers. Switching it
off brings back the very same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.context import in_context, system_text
from core.errors import UserError
from core.policies import NOTHING, Choices, applicable, current_turn, first_of_last
from core.store import Store
from core.tree import turns
from core.types import (
    Branch,
    Call,
    Config,
    Message,
    Node,
    Override,
    Recap,
    Run,
    Session,
    Text,
    new_id,
    text_of,
)
from core.types import now as moment

PROMPT = """\
Write a recap of the conversation so far. It will stand in for all of it: whoever goes on will \
know nothing but your recap. Use these headings, and leave out one that has nothing under it:

Goal: what the conversation is for, in one or two sentences.
Requirements: every requirement, constraint and preference, as the user stated it.
Decisions: what was settled, the latest version only.
Open questions: what is still to be decided.
Facts and figures: every number, name, date, quoted wording, identifier and link, verbatim.
Current draft: the latest version of the text or code being worked on, word for word.

Add nothing that was not said. Answer with the recap alone."""
_FOCUS = "Pay particular attention to this: "
_LIMITS = frozenset({"max_tokens", "stop"})
"""Settings that are meant for answers: a recap must not end where an answer should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a recap stands in on a branch, or could: the number of messages and turns it covers,
    and every recap of that very beginning, oldest first.

    ``on_path`` says that what it covers is part of what is looked at, ``applies`` that the next
    message is asked with it. ``by_itself`` says that nobody asked for it.
    """

    recap: Recap
    active: bool
    on_path: bool
    applies: bool
    messages: int
    turns: int
    versions: tuple[Recap, ...]
    by_itself: bool


def boundary(nodes: Sequence[Node], keep: int) -> Node | None:
    """The last node before the last ``keep`` turns, the one being answered not counted.

    ``nodes`` end with the message to be answered. None when nothing lies before.
    """
    first = first_of_last(nodes, current_turn(nodes), keep)
    return nodes[first - 1] if first else None


def uncovered(nodes: Sequence[Node], keep: int, active: Recap | None) -> Node | None:
    """The :func:`boundary`, unless the active recap reaches as far."""
    cut = boundary(nodes, keep)
    if cut is None or active is None:
        return cut
    places = {node.id: place for place, node in enumerate(nodes)}
    return None if places.get(active.covers_to, -1) >= places[cut.id] else cut


def recap_call(
    covered: Sequence[Node],
    config: Config,
    session: Session,
    *,
    focus: str = "",
    prompt: str = "",
    choices: Choices = NOTHING,
) -> Call:
    """The call that has a recap written of ``covered``: its messages as they stand, then the
    request, so that what is warm of the conversation serves the recap too.

    ``choices`` shortens what is read where all of it does not fit.
    """
    asked = prompt.strip() or PROMPT
    if focus.strip():
        asked = f"{asked}\n\n{_FOCUS}{focus.strip()}"
    wanted = Message(role="user", parts=(Text(text=asked),))
    read = in_context(covered, replace(config, policy="full"), choices)
    return Call(
        model=config.model,
        system=system_text(config, session),
        messages=(*read, wanted),
        sampling={name: v for name, v in config.sampling.items() if name not in _LIMITS},
    )


def cut_of(store: Store, branch_id: str, lineage: Sequence[Node]) -> Cut | None:
    """The branch's active recap, or the last one that could be switched on for ``lineage``."""
    active = choices_of(store, branch_id).recap
    places = {node.id: place for place, node in enumerate(lineage)}
    found = active
    if found is None:
        near = store.recaps.of(lineage[0].session_id) if lineage else []
        known = [recap for recap in near if recap.covers_to in places]
        found = max(known, key=lambda one: (places[one.covers_to], one.id), default=None)
    if found is None:
        return None
    place = places.get(found.covers_to)
    covered = lineage[: place + 1] if place is not None else ()
    run = store.runs.get(found.run_id) if found.run_id else None
    return Cut(
        recap=found,
        active=active is not None,
        on_path=place is not None,
        applies=active is not None and _applies(lineage, found),
        messages=len(covered),
        turns=turns(covered)[-1] if covered else 0,
        versions=tuple(store.recaps.covering([found.covers_to])),
        by_itself=run is not None and run.purpose == "auto_recap",
    )


def _applies(lineage: Sequence[Node], recap: Recap) -> bool:
    """Whether the next answer on ``lineage`` is asked with the recap: it must cover nothing of the
    question that is being answered. After an answer the next question is yet to come."""
    nodes = [node for node in lineage if node.parts]
    answered = bool(nodes) and nodes[-1].role != "user"
    return applicable(nodes, recap, len(nodes) if answered else current_turn(nodes)) is not None


def drafts(store: Store, lineage: Sequence[Node], *, fresh: bool = False) -> list[Run]:
    """Runs that wrote, or write, a recap for this lineage which nobody has placed; latest first.

    With ``fresh`` those alone that are younger than every recap of the session.
    """
    if not lineage:
        return []
    session_id, ids = lineage[0].session_id, {node.id for node in lineage}
    recaps = store.recaps.of(session_id)
    placed = {recap.run_id for recap in recaps}
    youngest = max((recap.id for recap in recaps), default="")
    return [
        run
        for run in store.runs.side(session_id, "recap")
        if run.id not in placed
        and run.context_tip_id in ids
        and (run.state != "ended" or text_of(run.partial).strip())
        and not (fresh and run.id < youngest)
    ]


def choices_of(store: Store, branch_id: str) -> Choices:
    """What a branch changes about its context."""
    return choices_from(store, store.recaps.overrides(branch_id))


def choices_from(store: Store, overrides: Sequence[Override]) -> Choices:
    """The same from overrides, as a run keeps them."""
    if not overrides:
        return NOTHING
    active = [override.target_id for override in overrides if override.kind == "recap"]
    return Choices(
        recap=store.recaps.get(active[0]) if active else None,
        pinned=frozenset(o.target_id for o in overrides if o.kind == "pin"),
        muted=frozenset(o.target_id for o in overrides if o.kind == "mute"),
    )


def add(
    store: Store,
    session_id: str,
    covers_to: str,
    text: str,
    *,
    run_id: str | None = None,
    edited_from: str | None = None,
) -> Recap:
    """Write a recap. Raises ``UserError`` for one without a word."""
    if not text.strip():
        raise UserError("A recap cannot be empty.", hint="Write something, or leave it off.")
    recap = Recap(
        id=new_id(),
        session_id=session_id,
        covers_to=covers_to,
        text=text.strip(),
        run_id=run_id,
        edited_from=edited_from,
        created_at=moment(),
    )
    return store.recaps.add(recap)


def activate(store: Store, branch_id: str, recap_id: str | None) -> None:
    """Let a recap stand in on a branch, in place of the one before; None switches it off."""
    with store.write():
        for override in store.recaps.overrides(branch_id):
            if override.kind == "recap":
                store.recaps.override(branch_id, override, on=False)
        if recap_id is not None:
            store.recaps.override(branch_id, Override(kind="recap", target_id=recap_id))


def due(
    store: Store, branch: Branch, nodes: Sequence[Node], config: Config, *, full: bool
) -> Node | None:
    """Where a recap must cut before ``nodes`` can be answered, or None.

    ``full`` says that the window is as full as the person wants it at most. A recap that was
    written for the very same beginning is taken again, without a call.
    """
    if config.policy != "auto" and not full:
        return None
    cut = uncovered(nodes, config.keep_turns, choices_of(store, branch.id).recap)
    if cut is None:
        return None
    if known := store.recaps.covering([cut.id]):
        activate(store, branch.id, known[-1].id)
        return None
    return cut
