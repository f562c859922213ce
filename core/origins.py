"""Where words came from: quotes and merged texts.

What is brought into a composer may be changed or thrown away before it is sent. So it is noted
what was brought there, and the origin is recorded once a message that holds it is sent.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from core.store import Store
from core.types import Node, Origin, new_id
from core.types.compared import OriginKind

_MOST = 20  # brought and never sent: the oldest are forgotten
_TIME = 10  # characters of an id that tell when it was made
_TELLING = 12  # characters of a line that is not there by coincidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """Words that wait in a composer, and where they are from.

    Without ``words`` any next message of the branch ``into`` carries them: a recap does.
    """

    id: str
    origin_id: str
    branch_id: str | None
    kind: OriginKind
    into: str
    words: str = ""


def quoted(text: str, branch: str = "") -> str:
    """An answer as a quote, under a line that says where it is from."""
    lines = "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())
    named = f"the branch “{branch}”" if branch else "another branch"
    return f"From {named}:\n{lines}\n\n"


def expect(
    store: Store,
    session_id: str,
    into: str,
    origins: Sequence[tuple[str, str | None]],
    kind: OriginKind,
    words: str = "",
) -> None:
    """Note that words of these nodes, each with its branch, were brought into a branch."""
    new = [
        Brought(id=new_id(), origin_id=node, branch_id=of, kind=kind, into=into, words=words)
        for node, of in origins
    ]
    with store.write():
        _keep(store, session_id, [*brought(store, session_id), *new])


def brought(store: Store, session_id: str) -> list[Brought]:
    """What was brought into composers of a session, and not seen in a message yet."""
    kept = store.drafts.get(_key(session_id))
    return [Brought(**one) for one in json.loads(kept)] if kept else []


def settle(store: Store, session_id: str, branch_id: str, lineage: Sequence[Node]) -> None:
    """Record the origins of what has been sent along a lineage."""
    waiting = brought(store, session_id)
    found = [(one, node) for one in waiting if (node := _carrier(one, branch_id, lineage))]
    if not found:
        return
    with store.write():
        for one, node in found:
            origin = Origin(
                node_id=node.id, origin_id=one.origin_id, kind=one.kind, branch_id=one.branch_id
            )
            store.comparisons.note_origins(node.id, [origin])
        done = {one.id for one, _ in found}
        rest = [one for one in brought(store, session_id) if one.id not in done]
        _keep(store, session_id, rest)


def _carrier(one: Brought, branch_id: str, lineage: Sequence[Node]) -> Node | None:
    """The first message, sent since, that holds what was brought."""
    for node in lineage:
        if node.role != "user" or node.id[:_TIME] < one.id[:_TIME]:
            continue
        if carries(node.text, one.words) if one.words else branch_id == one.into:
            return node
    return None


def carries(text: str, words: str) -> bool:
    """Whether a message still holds a whole line of the words; of a quote, a quoted one."""
    lines = [line.strip() for line in words.splitlines() if line.strip(" >")]
    lines = [line for line in lines if line.startswith(">")] or lines
    telling = [line for line in lines if len(line) >= _TELLING] or lines
    return any(line in text for line in telling)


def _keep(store: Store, session_id: str, waiting: Sequence[Brought]) -> None:
    if waiting:
        told = json.dumps([asdict(one) for one in waiting[-_MOST:]])
        store.drafts.keep(session_id, _key(session_id), told)
    else:
        store.drafts.drop(_key(session_id))


def _key(session_id: str) -> str:
    return f"origins.{session_id}"
