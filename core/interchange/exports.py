"""Account exports: one file, a wrapped list, shards with a manifest, or an archive of these."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from core.errors import BadFile
from core.interchange import fields, outline, streams
from core.interchange.growing import Grown
from core.interchange.source import shown
from core.types import Carried, CarriedBranch, CarriedNode, Damaged, Json, Source

Ours = Callable[[outline.Keys], bool]
"""Whether conversations of a product have these keys."""

_WRAP = "conversations"  # the list in a file that wraps it
_MANIFEST = "export_manifest.json"
_MOST_OF_A_LIST = 32 * 2**20  # bytes of a manifest, or of a list of names
_SHARD = re.compile(r"conversations(-\d+)?\.json", re.IGNORECASE)


def holds(source: Source, ours: Ours) -> bool:
    """Whether a file is one of ours, or an archive that has one."""
    if not source.members:
        return _begins(source, ours)
    return any(_is_ours(path, member, ours) is True for path, member in source.members.items())


def conversations(
    source: Source,
    ours: Ours,
    convert: Callable[[Json], Carried | None],
) -> Iterator[Carried | Damaged]:
    """The conversations of all files of an export, wrapped or not. A file that breaks off ends
    only itself, if there are others.

    Raises ``BadFile`` where the only file breaks.
    """
    files = _files(source, ours)
    for file in files:
        if isinstance(file, Damaged):
            yield file
            continue
        try:
            yield from streams.each(streams.items(file, _under(file, ours)), convert)
        except BadFile as error:
            if len(files) == 1:
                raise
            yield Damaged(place=file.name, why=error.message)


def _begins(source: Source, ours: Ours) -> bool:
    found = outline.keys(source)
    return ours(found) or ours(outline.within(found, _WRAP))


def _under(source: Source, ours: Ours) -> str:
    """The key of the list of conversations; empty where they are not wrapped."""
    return _WRAP if ours(outline.within(outline.keys(source), _WRAP)) else ""


def listed(members: Mapping[str, Source], name: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """The objects in the files of this name, each with the folder it lies in; what is damaged or
    of absurd size is no list of anything."""
    for path, member in members.items():
        folder, _, last = path.rpartition("/")
        if last.lower() != name or member.size > _MOST_OF_A_LIST:
            continue
        try:
            found = streams.whole(member)
        except BadFile:
            continue
        if isinstance(found, Mapping):
            yield folder, found


def _files(source: Source, ours: Ours) -> list[Source | Damaged]:
    """The files of conversations in their order: as a manifest lists them, then by name. First
    what is told of a manifest that is damaged: a file that is missing then goes unnoticed."""
    members = source.members
    if not members:
        return [source]
    mine = {path: member for path, member in members.items() if _is_ours(path, member, ours)}
    found: dict[str, Source | Damaged] = {}
    for path in _shards(members, mine):
        found[path] = members.get(path) or Damaged(
            place=f"{source.name}: {shown(path)}",
            why="the export's own manifest lists it, but it is not there",
        )
    found.update((path, mine[path]) for path in sorted(mine, key=_in_numbers) if path not in found)
    return [*_damaged_manifests(members), *found.values()]


def _damaged_manifests(members: Mapping[str, Source]) -> Iterator[Damaged]:
    unknown = "Whether a file of the export is missing cannot be told."
    for path, member in members.items():
        if path.rpartition("/")[2].lower() != _MANIFEST:
            continue
        if member.size > _MOST_OF_A_LIST:
            why = f"It is too large for a list ({member.size / 2**20:,.0f} MB). {unknown}"
            yield Damaged(place=member.name, why=why)
            continue
        try:
            streams.whole(member)
        except BadFile as error:
            yield Damaged(place=member.name, why=f"{error.message} {unknown}")


def _is_ours(path: str, member: Source, ours: Ours) -> bool | None:
    """True or False by content; None where a file named like a shard cannot be read at all."""
    if not path.lower().endswith(".json"):
        return False
    try:
        return _begins(member, ours)
    except BadFile:
        return None if _SHARD.fullmatch(path.rpartition("/")[2]) else False


def _shards(members: Mapping[str, Source], mine: Mapping[str, Source]) -> Iterator[str]:
    for folder, manifest in listed(members, _MANIFEST):
        logical = fields.mapping(manifest, "logical_files", "conversations.json")
        names = [name for name in fields.several(logical, "files") if isinstance(name, str)]
        paths = [f"{folder}/{name}" if folder else name for name in names]
        if any(path in mine for path in paths):
            yield from paths


def _in_numbers(path: str) -> list[tuple[int, str]]:
    pieces = re.findall(r"(\d{1,18})|(\D+)", path)
    return [(int(number or 0), words) for number, words in pieces]


def lift_system(grown: Grown) -> tuple[str, Grown]:
    """The system prompt that every path begins with, and the tree below it.

    Two in a row are one, a blank line between them. One that stands further down, or on some of
    the paths only, stays a message where it is.
    """
    nodes, system, top = grown.nodes, [], None
    tips = {branch.tip for branch in grown.branches}
    while nodes and nodes[0].role == "system" and nodes[0].key not in tips:
        if any(node.parent == top for node in nodes[1:]):
            break
        system.append(nodes[0].text)
        top, nodes = nodes[0].key, nodes[1:]
    if top is None:
        return "", grown
    gone = {node.key for node in grown.nodes[: len(system)]}
    below = tuple(_below(node, gone) for node in nodes)
    branches = tuple(_forked_below(branch, gone) for branch in grown.branches)
    return "\n\n".join(system), replace(grown, nodes=below, branches=branches)


def _below(node: CarriedNode, gone: set[str]) -> CarriedNode:
    return replace(node, parent=None) if node.parent in gone else node


def _forked_below(branch: CarriedBranch, gone: set[str]) -> CarriedBranch:
    return replace(branch, forked_from=None) if branch.forked_from in gone else branch
