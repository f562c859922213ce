"""Conversations from elsewhere: look at a file, choose, take. One transaction a conversation.

What a file holds is never in memory but for the conversation at hand. A conversation that came
before is known by its key, its messages by theirs: only what is new is added, and said.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from core.errors import BadFile, StoreError
from core.files import Upload, read
from core.formats import found_in
from core.interchange.growing import left_out
from core.store import Store
from core.tree import free_name
from core.types import (
    AttachmentRef,
    Branch,
    Carried,
    CarriedBranch,
    CarriedNode,
    Config,
    Damaged,
    LeftOut,
    Node,
    Reader,
    Source,
    Stop,
    new_id,
    now,
    well_formed,
)

_MOST_TOLD = 200  # repairs and damages that a report lists; the rest is counted
_NOT_HERE = "its bytes are of a kind that Turntree does not keep"

Progress = Callable[[int, int], None]
"""Called with the conversations and the messages so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One conversation of a file. ``number`` counts them from 0 over the whole file; ``new`` of
    its messages are not here yet, and ``session_id`` is what it became before."""

    number: int
    format: str
    label: str
    title: str
    messages: int
    branches: int
    new: int
    at: str | None = None
    session_id: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a file holds; nothing was written. ``broke`` tells where reading had to stop."""

    name: str
    found: tuple[Found, ...]
    damaged: tuple[Damaged, ...] = ()
    broke: str = ""


@dataclass(slots=True, kw_only=True)
class Report:
    """What became of an import. ``sessions`` are those it made or added to, in order."""

    name: str
    formats: list[str] = field(default_factory=list)
    new: int = 0
    extended: int = 0
    unchanged: int = 0
    passed_over: int = 0
    messages: int = 0
    branches: int = 0
    checked: int = 0
    sessions: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)
    more_repairs: int = 0
    more_damaged: int = 0
    cancelled: bool = False
    broke: str = ""


@dataclass(slots=True)
class _Taken:
    """One conversation, written."""

    session_id: str
    made: bool
    messages: int
    branches: int
    left_out: Counter[tuple[str, str]]


def preview(
    store: Store, source: Source, progress: Progress | None = None, stop: Stop | None = None
) -> Preview:
    """What a file holds, and what of it is here already. Writes nothing.

    Raises ``BadFile`` where there is nothing to import at all.
    """
    found: list[Found] = []
    damaged: list[Damaged] = []
    messages = 0
    broke = ""
    try:
        for number, (reader, one) in enumerate(_conversations(source)):
            if stop is not None and stop.is_set():
                break
            if reader is None or isinstance(one, Damaged):
                assert isinstance(one, Damaged)
                damaged.append(one)
                continue
            found.append(_found(store, reader, one, number))
            messages += found[-1].messages
            if progress is not None:
                progress(len(found), messages)
    except BadFile as error:
        if not found and not damaged:
            raise
        broke = f"{error.message} {error.hint}"
    return Preview(name=source.name, found=tuple(found), damaged=tuple(damaged), broke=broke)


def take(
    store: Store,
    source: Source,
    *,
    config: Config,
    chosen: Collection[int] | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Report:
    """Import the conversations with the ``chosen`` numbers, or all; the report is kept too.

    ``config`` is what their next answers are asked with. A conversation is written whole or not
    at all; what was written before a fault, or before ``stop``, stays. Raises ``BadFile`` where
    there is nothing to import, and a ``StoreError`` once the report is kept, if it can be.
    """
    report = Report(name=source.name)
    seen: set[tuple[str, str]] = set()
    counted: Counter[tuple[str, str]] = Counter()
    try:
        for number, (reader, one) in enumerate(_conversations(source)):
            if stop is not None and stop.is_set():
                report.cancelled = True
                break
            if chosen is not None and number not in chosen:
                report.passed_over += not isinstance(one, Damaged)
                continue
            if reader is None or isinstance(one, Damaged):
                _tell_damage(report, one)
                continue
            taken = _take(store, reader, one, config, seen)
            _add(report, reader, one, taken, counted)
            if progress is not None:
                progress(report.new + report.extended + report.unchanged, report.messages)
    except BadFile as error:
        if not (report.sessions or report.damaged or report.unchanged or report.passed_over):
            raise
        report.broke = f"{error.message} {error.hint}"
    except StoreError as error:
        report.broke = f"{error.message} {error.hint}"
        report.left_out = list(left_out(counted))
        _keep(store, report)
        raise
    report.left_out = list(left_out(counted))
    _keep(store, report)
    return report


def _conversations(source: Source) -> Iterator[tuple[Reader | None, Carried | Damaged]]:
    """Every conversation of a file; a member of an archive that breaks off ends only itself."""
    found = list(found_in(source))
    for one in found:
        if isinstance(one, Damaged):
            yield None, one
            continue
        reader, part = one
        try:
            for carried in reader.read(part):
                yield reader, carried
        except BadFile as error:
            if len(found) == 1:
                raise
            yield None, Damaged(place=part.name, why=error.message)


def _found(store: Store, reader: Reader, one: Carried, number: int) -> Found:
    session_id = store.imports.session_of(reader.name, one.key)
    known = store.imports.nodes_of(session_id) if session_id else {}
    return Found(
        number=number,
        format=reader.name,
        label=reader.label,
        title=one.title,
        messages=len(one.nodes),
        branches=len(one.branches),
        new=sum(node.key not in known for node in one.nodes),
        at=one.updated_at or one.at,
        session_id=session_id,
        left_out=one.left_out,
        repairs=one.repairs,
    )


def _take(
    store: Store, reader: Reader, one: Carried, config: Config, seen: set[tuple[str, str]]
) -> _Taken:
    """Write one conversation. Nobody has to wait for the disk each time: the report that ends
    the import is written durably, and everything before it with it."""
    with store.write(durable=False):
        session_id, key, known = _standing(store, reader.name, one, seen)
        counted: Counter[tuple[str, str]] = Counter()
        for left in one.left_out:
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
        if fresh:
            store.imports.date(session_id, *_dates(one))
    return _Taken(session_id, made, len(fresh), branches, counted)


def _standing(
    store: Store,
    format: str,
    one: Carried,
    seen: set[tuple[str, str]],
) -> tuple[str | None, str, dict[str, str]]:
    """What is here of a conversation: its session, the key it goes by, its messages.

    Two conversations of one file may have the same id without having a message in common: the
    second then goes by a key of its own.
    """
    key, number = one.key, 1
    while True:
        session_id = store.imports.session_of(format, key)
        known = store.imports.nodes_of(session_id) if session_id else {}
        stranger = (format, key) in seen and not any(node.key in known for node in one.nodes)
        if not stranger or not one.nodes:
            seen.add((format, key))
            return session_id, key, known
        number += 1
        key = f"{one.key}~{number}"


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
    at_tip = {branch.tip_id: branch for branch in standing}
    taken = [branch.name for branch in standing]
    added: list[Branch] = []
    for number, branch in enumerate(one.branches):
        if made and number == 0:
            store.branches.begin(standing[0].id, ids[branch.tip])
            store.branches.rename(standing[0].id, branch.name)
            store.branches.annotate(standing[0].id, branch.note)
            taken = [branch.name]
        elif branch.tip in fresh:
            ends = at_tip.pop(ids.get(_known_above(branch.tip, parents, fresh) or ""), None)
            if ends is not None:
                store.branches.move(ends.id, ids[branch.tip], why="import")
            else:
                added.append(_branch(session_id, branch, ids, free_name(branch.name, taken)))
                taken.append(added[-1].name)
    store.imports.add_branches(added)
    return len(added) + made


def _known_above(key: str, parents: dict[str, str | None], fresh: Collection[str]) -> str | None:
    """The nearest message above that was here before."""
    above: str | None = key
    while above is not None and above in fresh:
        above = parents[above]
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


def _add(
    report: Report,
    reader: Reader,
    one: Carried,
    taken: _Taken,
    counted: Counter[tuple[str, str]],
) -> None:
    if reader.label not in report.formats:
        report.formats.append(reader.label)
    report.new += taken.made
    report.extended += not taken.made and bool(taken.messages)
    report.unchanged += not taken.made and not taken.messages
    report.messages += taken.messages
    report.checked += taken.messages
    report.branches += taken.branches
    if taken.made or taken.messages:
        report.sessions.append(taken.session_id)
        counted.update(taken.left_out)
    for repair in one.repairs:
        if len(report.repairs) < _MOST_TOLD:
            report.repairs.append(f"{one.title or 'Untitled'}: {repair}")
        else:
            report.more_repairs += 1


def _tell_damage(report: Report, one: Carried | Damaged) -> None:
    assert isinstance(one, Damaged)
    if len(report.damaged) < _MOST_TOLD:
        report.damaged.append(one)
    else:
        report.more_damaged += 1


def _keep(store: Store, report: Report) -> None:
    told = asdict(report) | {"sessions": report.sessions[:_MOST_TOLD]}
    store.imports.keep_report(", ".join(report.formats), report.name, told)
