"""What is taken away: an answer, a branch, a tree, gathered from the store and written as a file.

A format sees values only; what it needs of the store is fetched here, the bytes of attachments
and a provider's own JSON only when they are asked for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from core.context import config_for, system_text
from core.errors import NotFound, Unsupported
from core.exporting import bodies
from core.formats import writer
from core.recap import choices_of
from core.store import Store
from core.types import (
    AnswerTaken,
    AttachmentRef,
    Branch,
    BranchTaken,
    ComparisonTaken,
    Include,
    Node,
    Scope,
    Session,
    Taken,
    TreeTaken,
)

_NAME_BYTES = 120  # file systems take 255
_MORE_BYTES = 40
_NAME_WORDS = 8
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file to hand over; its name is one that every system takes."""

    name: str
    media_type: str
    content: bytes


# --- subjects -----------------------------------------------------------------------------------


def answer(store: Store, session_id: str, node_id: str) -> AnswerTaken:
    """One message, alone. Raises :class:`NotFound` for one that the session does not have."""
    session, node = store.sessions.get(session_id), node_of(store, session_id, node_id)
    through = branch_through(store, session, node)
    return AnswerTaken(title=session.title, node=node, branch=through.name if through else "")


def branch(store: Store, session_id: str, branch_id: str, tip_id: str | None = None) -> BranchTaken:
    """A branch with all that is known of it, up to ``tip_id`` if one is given.

    Raises :class:`NotFound` for a branch or a node that the session does not have.
    """
    session, found = store.sessions.get(session_id), store.branches.get(branch_id)
    if found.session_id != session_id:
        raise NotFound("This session has no such branch.")
    tip = node_of(store, session_id, tip_id).id if tip_id is not None else found.tip_id
    nodes = store.nodes.lineage(tip)
    ids = [node.id for node in nodes]
    runs = store.runs.of_nodes(ids)
    return BranchTaken(
        session=session,
        branch=found,
        nodes=nodes,
        config=config_for(session, found),
        runs=runs,
        models=models(store, nodes),
        marks=store.nodes.marks(ids),
        recaps=tuple(store.recaps.covering(ids)),
        active_recap=choices_of(store, branch_id).recap,
        files=Files(store, nodes),
        system=system_text(config_for(session, found), session),
        checks=tuple(store.verdicts.checks(session_id)),
        body=partial(bodies.body, store, session, found, nodes),
        script=partial(bodies.script, store, session, found, nodes),
    )


def tree(store: Store, session_id: str) -> TreeTaken:
    """A session, whole; what is in the bin is in ``records`` alone. Raises :class:`NotFound`."""
    session = store.sessions.get(session_id)
    nodes = _live(store, session_id)
    branches = tuple(store.branches.of(session_id))
    current = [one for one in branches if one.id == session.current_branch_id] or branches[-1:]

    return TreeTaken(
        session=session,
        nodes=nodes,
        branches=branches,
        tip_id=current[0].tip_id if current else None,
        models=models(store, nodes),
        marks=store.nodes.marks([node.id for node in nodes]),
        files=store.attachments,
        records=lambda: store.portable.records(session_id),
    )


def models(store: Store, nodes: Iterable[Node]) -> dict[str, str]:
    """Who answered, by node id: the model that a run or a foreign file names."""
    ids = [node.id for node in nodes if node.role == "assistant"]
    runs = store.runs.of_nodes(ids)
    here = {node: run.resolved_model or run.config.model for node, run in runs.items()}
    return store.imports.models(ids) | here


class Files(Mapping[str, bytes]):
    """The bytes of the attachments of some messages by sha256, read when they are asked for."""

    def __init__(self, store: Store, nodes: Iterable[Node]) -> None:
        self._all = store.attachments
        refs = (part for node in nodes for part in node.parts if isinstance(part, AttachmentRef))
        self._digests = dict.fromkeys(ref.sha256 for ref in refs)

    def __getitem__(self, digest: str) -> bytes:
        if digest not in self._digests:
            raise KeyError(digest)
        return self._all[digest]

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)


# --- files --------------------------------------------------------------------------------------


def write(taken: Taken, format_name: str, include: Include | None = None) -> File:
    """A subject as a file of the format of that name.

    Raises :class:`NotFound` for a format that there is not, :class:`Unsupported` for one that
    cannot be made of this, ``UserError`` where there is nothing to write.
    """
    include, found = include or Include(), writer(format_name)
    if scope_of(taken) not in found.scopes:
        raise Unsupported(
            f"{found.label} cannot hold {_WORDS[scope_of(taken)]}.", hint="Choose another format."
        )
    content = found.write(taken, include)
    # Some formats are one kind of file or another, as it comes: several files are a zip archive.
    kind_of = getattr(found, "kind_of", None)
    ending, media_type = kind_of(taken, include) if kind_of else (found.ending, found.media_type)
    name = file_name(*_named(taken, include), ending=ending)
    return File(name=name, media_type=media_type, content=content)


def scope_of(taken: Taken) -> Scope:
    """What kind of subject it is."""
    if isinstance(taken, AnswerTaken):
        return "answer"
    if isinstance(taken, BranchTaken):
        return "branch"
    return "tree" if isinstance(taken, TreeTaken) else "comparison"


def file_name(title: str, *more: str, ending: str) -> str:
    """A name for a file that every system takes: letters, digits and dashes, not too long."""
    told = [_cut(_plain(part), _MORE_BYTES) for part in more]
    behind = "-".join(filter(None, told))[: _NAME_BYTES // 2]
    # A long title gives way: what kind of file it is stays told.
    room = _NAME_BYTES - len(behind.encode()) - 1
    short = "-".join(filter(None, [_cut(_plain(title), room) or "turntree", behind]))
    safe = f"turntree-{short}" if short.lower() in _DEVICES else short
    return f"{safe}.{ending}" if ending else safe


_WORDS: Mapping[Scope, str] = {
    "answer": "a single answer",
    "branch": "a branch",
    "tree": "a whole tree",
    "comparison": "a comparison",
}


def _cut(name: str, most: int) -> str:
    return name.encode()[:most].decode(errors="ignore").strip("-")


def _plain(part: str) -> str:
    return "-".join(re.findall(r"\w+", part.lower())[:_NAME_WORDS])


def _named(taken: Taken, include: Include) -> tuple[str, ...]:
    if isinstance(taken, AnswerTaken):
        return taken.title, "answer" if include.pieces == "all" else include.pieces
    if isinstance(taken, BranchTaken):
        own = taken.branch.name
        return taken.session.title, "branch" if own == "main" else own
    if isinstance(taken, ComparisonTaken):
        return taken.session.title, taken.name or "comparison"
    return taken.session.title, "tree"


# --- inside -------------------------------------------------------------------------------------


def node_of(store: Store, session_id: str, node_id: str) -> Node:
    """The message, if it is the session's. Raises :class:`NotFound`."""
    node = store.nodes.get(node_id)
    if node.session_id != session_id:
        raise NotFound("This session has no such message.")
    return node


def branch_through(store: Store, session: Session, node: Node) -> Branch | None:
    """A branch that leads through a message: the open one if it does; None without any."""
    live = {one.id: one for one in store.branches.of(session.id)}
    current = live.get(session.current_branch_id or "")
    if current and any(one.id == node.id for one in store.nodes.lineage(current.tip_id)):
        return current
    leaf = store.nodes.latest_leaf(node.id, store.branches.hidden_roots(session.id))
    return next(iter(store.branches.with_tip_in([node.id, leaf])), None)


def _live(store: Store, session_id: str) -> tuple[Node, ...]:
    """Every message that is not in the bin, parents before children."""
    hidden, order = store.branches.hidden_roots(session_id), []
    for row in store.nodes.outline(session_id):
        if row["id"] in hidden or row["parent_id"] in hidden:
            hidden.add(row["id"])
        else:
            order.append(row["id"])
    return tuple(store.nodes.many(order))
