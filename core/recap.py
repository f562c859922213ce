"""Recaps: a text that stands in for the beginning of a branch, without anything being moved.

A branch activates a recap; the context then holds it in place of all it covers. Switching it
off brings back the very same bytes.
"""

from collections.abc import Sequence
from dataclasses import replace

from core.context import in_context, system_text
from core.errors import UserError
from core.policies import NOTHING, Choices, current_turn, first_of_last
from core.store import Store
from core.types import Branch, Call, Config, Message, Node, Override, Recap, Session, Text, new_id
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


def boundary(nodes: Sequence[Node], keep: int) -> Node | None:
    """The last node before the last ``keep`` turns, the one being answered not counted.

    ``nodes`` end with the message to be answered. None when nothing lies before.
    """
    first = first_of_last(nodes, current_turn(nodes), keep)
    return nodes[first - 1] if first else None


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
        sampling=config.sampling,
    )


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
    cut = boundary(nodes, config.keep_turns)
    if cut is None:
        return None
    places = {node.id: place for place, node in enumerate(nodes)}
    active = choices_of(store, branch.id).recap
    if active is not None and places.get(active.covers_to, -1) >= places[cut.id]:
        return None
    if known := store.recaps.covering([cut.id]):
        activate(store, branch.id, known[-1].id)
        return None
    return cut
