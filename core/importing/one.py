"""One conversation, written: in one transaction, and only what of it is new."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.errors import BadFile
from core.files import Upload, read
from core.store import Store
from core.tree import free_name
from core.types import (
    AttachmentRef,
    Branch,
    Carried,
    CarriedBranch,
    CarriedNode,
    Config,
    LeftOut,
    Node,
    Reader,
    new_id,
    now,
    well_formed,
)


@dataclass(slots=True)
class Taken:
    """One conversation, written."""

    session_id: str
    made: bool
    messages: int
    branches: int
    left_out: Counter[tuple[str, str]]
    binned: bool = False


def staying(one: Carried) -> tuple[LeftOut, ...]:
    """What of a conversation does not come along."""
    if one.records or not one.sampling:
        return one.left_out
    why = "the next answer is asked with the settings that you choose here"
    return (*one.left_out, LeftOut(what="sampling settings", count=len(one.sampling), why=why))


def standing(
    store: Store, reader: Reader, one: Carried, seen: set[tuple[str, str]]
) -> tuple[str | None, Collection[str]]:
    """What is here of a conversation: its session and the keys of its messages. ``seen`` are the
    formats and keys of those before it in the file; it learns this one's."""
    if one.records:
        here = store.portable.known(one.key)
        return (None, ()) if here is None else (one.key, here)
    session_id, _, known = _standing(store, reader.name, one, seen)
    return session_id, known


def write(
    store: Store, reader: Reader, one: Carried, config: Config, seen: set[tuple[str, str]]
) -> Taken:
    """Write one conversation. Nobody has to wait for the disk each time: the report that ends
    the import is written durably, and everything before it with it. Raises ``BadFile`` where it
    cannot be: nothing of it is written then."""
    if one.records:
        return _whole(store, one)
    with store.write(durable=False):
        session_id, key, known = _standing(store, reader.name, one, seen)
        counted: Counter[tuple[str, str]] = Counter()
        for left in staying(one):
            counted[left.what, left.why] += left.count
        fresh = [node for node in one.nodes if node.key not in known]
        made = session_id is None
        if session_id is None:
            session_id = _begin(store, one, config)
            store.imports.note_session(reader.name, key, session_id)
        before = store.imports.tally(session_id)
        ids = dict(known)
        nodes = _nodes(store, session_id, one, fresh, ids, counted)
        store.nodes.add_all(nodes)
        _note(store, fresh, ids)
        branches = _place(store, session_id, one, ids, {node.key for node in fresh}, made=made)
        _check(store, session_id, nodes, before)
        if fresh or made:
            store.imports.date(session_id, *_dates(one), anew=made)
        binned = store.sessions.get(session_id).binned_at is not None
    return Taken(session_id, made, len(fresh), branches, counted, binned)


def _whole(store: Store, one: Carried) -> Taken:
    """A session of our own format: its very rows, under the ids that they have."""
    names = {
        str(record.row["sha256"]): str(record.row["name"])
        for record in one.records
        if record.table == "attachments"
    }
    files = {digest: partial(_sound, names[digest], one.files[digest]) for digest in one.files}
    added = store.portable.write(one.records, files)
    return Taken(
        added.session_id, added.made, added.messages, added.branches, Counter(), added.binned
    )


def _sound(name: str, content: Callable[[], bytes]) -> bytes:
    """The bytes of a file, if it is one that could be attached here. Raises ``BadFile``."""
    found = content()
    read(Upload(name=name, content=found))
    return found


def _standing(
    store: Store,
    format: str,
    one: Carried,
    seen: set[tuple[str, str]],
) -> tuple[str | None, str, dict[str, str]]:
    """What is here of a conversation: its session, the key it goes by, its messages.

    Two conversations of one file may have the same id without having a message in common: the
    second then goes by that id and the one of its first message.
    """
    key = one.key
    session_id = store.imports.session_of(format, key)
    known = store.imports.nodes_of(session_id) if session_id else {}
    if one.nodes and not any(node.key in known for node in one.nodes):
        other = f"{key}~{one.nodes[0].key}"
        other_id = store.imports.session_of(format, other)
        if other_id is not None or (format, key) in seen:
            key, session_id = other, other_id
            known = store.imports.nodes_of(session_id) if session_id else {}
    seen.add((format, key))
    return session_id, key, known


def _begin(store: Store, one: Carried, config: Config) -> str:
    session = store.sessions.create(
        title=" ".join(one.title.split()) or "Untitled",
        config=replace(config, system=one.system or config.system),
        objective=one.objective,
        done_when=one.done_when,
    )
    return session.id


def _nodes(
    store: Store,
    session_id: str,
    one: Carried,
    fresh: Sequence[CarriedNode],
    ids: dict[str, str],
    counted: Counter[tuple[str, str]],
) -> list[Node]:
    """The nodes to write, parents first; ``ids`` learns their new ids."""
    at = one.at or one.updated_at or now()
    files = _files(store, one, fresh, counted)
    written: list[Node] = []
    for node in fresh:
        ids[node.key] = new_id()
        at = node.at or at
        written.append(
            Node(
                id=ids[node.key],
                session_id=session_id,
                parent_id=ids[node.parent] if node.parent is not None else None,
                role=node.role,
                parts=tuple(
                    files[part.sha256] if isinstance(part, AttachmentRef) else part
                    for part in node.parts
                    if not isinstance(part, AttachmentRef) or part.sha256 in files
                ),
                author=node.author,
                created_at=at,
            )
        )
    return written


def _files(
    store: Store, one: Carried, fresh: Sequence[CarriedNode], counted: Counter[tuple[str, str]]
) -> dict[str, AttachmentRef]:
    """The files that these messages hold, stored as any attachment is: checked, text as UTF-8."""
    found: dict[str, AttachmentRef] = {}
    refused: set[str] = set()
    for node in fresh:
        for part in node.parts:
            if not isinstance(part, AttachmentRef) or part.sha256 in found.keys() | refused:
                continue
            try:
                file = read(Upload(name=part.name, content=one.files[part.sha256]()))
                found[part.sha256] = store.attachments.add(file.name, file.media_type, file.content)
            except BadFile as error:
                refused.add(part.sha256)
                counted["attachments", error.message] += 1
            except KeyError:
                refused.add(part.sha256)
                counted["attachments", "their bytes are not in the file"] += 1
    return found


def _note(store: Store, fresh: Sequence[CarriedNode], ids: dict[str, str]) -> None:
    store.imports.note_nodes(
        (ids[node.key], well_formed(node.key), well_formed(node.provider), well_formed(node.model))
        for node in fresh
    )
    for node in fresh:
        for kind, value in node.marks.items():
            store.nodes.mark(ids[node.key], kind, value)


def _place(
    store: Store,
    session_id: str,
    one: Carried,
    ids: dict[str, str],
    fresh: Collection[str],
    *,
    made: bool,
) -> int:
    """Put branches on their tips; returns how many are new.

    Of a conversation that was here, a branch whose end goes on moves along, and a path that is
    new gets a branch of its own. What a person did to its branches since stays as it is.
    """
    parents = {node.key: node.parent for node in one.nodes}
    standing = store.branches.of(session_id)
    at_tip: dict[str | None, Branch] = {
        branch.tip_id: branch for branch in standing if branch.tip_id is not None
    }
    taken = {branch.name for branch in standing}
    above: dict[str, str | None] = {}
    added: list[Branch] = []
    for number, branch in enumerate(one.branches):
        if made and number == 0:
            store.branches.begin(standing[0].id, ids[branch.tip])
            store.branches.rename(standing[0].id, branch.name)
            store.branches.annotate(standing[0].id, branch.note)
            taken = {branch.name}
        elif branch.tip in fresh:
            ends = at_tip.pop(ids.get(_known_above(branch.tip, parents, fresh, above) or ""), None)
            if ends is not None:
                store.branches.move(ends.id, ids[branch.tip], why="import")
            else:
                added.append(_branch(session_id, branch, ids, free_name(branch.name, taken)))
                taken.add(added[-1].name)
    store.imports.add_branches(added)
    return len(added) + (made and bool(one.branches))


def _known_above(
    key: str,
    parents: dict[str, str | None],
    fresh: Collection[str],
    found: dict[str, str | None],
) -> str | None:
    """The nearest message above that was here before; ``found`` are those of earlier calls."""
    path: list[str] = []
    above: str | None = key
    while above is not None and above in fresh and above not in found:
        path.append(above)
        above = parents[above]
    if above is not None and above in found:
        above = found[above]
    found.update(dict.fromkeys(path, above))
    return above


def _branch(session_id: str, branch: CarriedBranch, ids: dict[str, str], name: str) -> Branch:
    return Branch(
        id=new_id(),
        session_id=session_id,
        name=name,
        tip_id=ids[branch.tip],
        forked_from_node_id=ids.get(branch.forked_from or ""),
        note=branch.note,
        created_at=now(),
    )


def _check(store: Store, session_id: str, nodes: Sequence[Node], before: tuple[int, int]) -> None:
    """Read back what was written, and refuse the conversation if a word is missing."""
    words = sum(len(well_formed(part).encode()) for node in nodes for part in _texts(node))
    if store.imports.tally(session_id) != (before[0] + len(nodes), before[1] + words):
        raise BadFile(
            "What was written is not what was read.", hint="Nothing of this conversation is kept."
        )


def _texts(node: Node) -> list[str]:
    return [part.text for part in node.parts if part.type == "text"]


def _dates(one: Carried) -> tuple[str, str]:
    dated = [node.at for node in one.nodes if node.at is not None]
    created = one.at or min(dated, default=None) or now()
    return created, one.updated_at or max(dated, default=None) or created
