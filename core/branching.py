"""Forking, editing, switching, pruning: what people do to the tree. Nothing is ever lost."""

from itertools import count
from typing import Any

from core.errors import UserError
from core.store import Store
from core.tree import free_name, turns
from core.types import Branch, Node, Parts, Role, new_id, now

_NAME = 60  # characters of a name that is made


def fork(store: Store, node_id: str, *, from_branch: str, name: str | None = None) -> Branch:
    """A new branch whose tip is ``node_id``; the session goes there.

    The new branch inherits what ``from_branch`` overrides. Raises ``NameTaken`` for a name in
    use; without a name, one is made from the turn. Raises ``UserError`` for a binned node.
    """
    with store.write():
        node = _visible(store, node_id)
        branch = store.branches.create(
            node.session_id, name or _auto_name(store, node), node_id, forked_from=node_id
        )
        store.branches.inherit(from_branch, branch.id)
        store.sessions.change(node.session_id, current_branch_id=branch.id)
        return branch


def sibling(store: Store, node_id: str, parts: Parts) -> Node:
    """A hand-edited alternative to a node, under the same parent. Moves no branch."""
    original = store.nodes.get(node_id)
    return store.nodes.add(
        new_node(
            original.session_id,
            original.parent_id,
            original.role,
            parts,
            author="hand-edited",
            source_id=original.id,
            sent_suffix=original.sent_suffix,
        )
    )


def edit(store: Store, branch_id: str, node_id: str, parts: Parts) -> tuple[Node, Branch]:
    """Write an edited version of a node and go there.

    At the branch's tip the branch moves to it; above descendants it gets a branch of its own.
    """
    with store.write():
        node = sibling(store, node_id, parts)
        return node, arrive(store, branch_id, node, replaces=node_id, why="edit")


def arrive(store: Store, branch_id: str, node: Node, *, replaces: str | None, why: str) -> Branch:
    """Bring a branch to ``node``, if it still stands at ``replaces``; else make one for it."""
    if store.branches.move(branch_id, node.id, why=why, expected=replaces):
        return store.branches.get(branch_id)
    hidden = store.branches.hidden_roots(node.session_id)
    if any(above.id in hidden for above in store.nodes.lineage(node.parent_id)):
        # The place was binned meanwhile: the node waits there for a restore.
        return store.branches.get(branch_id)
    made = store.branches.create(
        node.session_id, _auto_name(store, node), node.id, forked_from=node.parent_id
    )
    store.branches.inherit(branch_id, made.id)
    store.sessions.change(node.session_id, current_branch_id=made.id)
    return made


def new_node(session_id: str, parent_id: str | None, role: Role, parts: Parts, **more: Any) -> Node:
    """A node that does not exist yet, with an id and a time of its own."""
    return Node(
        id=new_id(),
        session_id=session_id,
        parent_id=parent_id,
        role=role,
        parts=parts,
        created_at=now(),
        **{"author": "person"} | more,
    )


def branch_at(
    store: Store, like: str, tip: Node | None, name: str, *, forked_from: str | None
) -> Branch:
    """A new branch, to which the session goes, with what ``like`` pins, mutes and recaps of the
    lineage that both share. Its settings are the session's."""
    session_id = store.branches.get(like).session_id
    lineage = {node.id for node in store.nodes.lineage(forked_from)}
    taken = store.branches.names(session_id)
    made = store.branches.create(
        session_id,
        free_name(name[:_NAME], taken),
        tip.id if tip else None,
        forked_from=forked_from,
    )
    for override in store.recaps.overrides(like):
        target = override.target_id
        if override.kind == "recap":
            target = store.recaps.get(target).covers_to
        if target in lineage:
            store.recaps.override(made.id, override)
    store.sessions.change(session_id, current_branch_id=made.id)
    return made


def prune(store: Store, node_id: str) -> str:
    """Put a node and all below it in the bin; returns the id to :func:`restore` with.

    Branches that end there go back to the parent while it would otherwise be nobody's tip,
    or into the bin with it. The session's last branch always stays. Raises ``UserError`` for
    a node that is in the bin already.
    """
    with store.write():
        node = _visible(store, node_id)
        hidden = store.branches.hidden_roots(node.session_id) | {node_id}
        touched = store.branches.with_tip_in(store.nodes.subtree(node_id))
        stays = _who_stays(store, node, touched, hidden)
        changes = [_withdraw(store, branch, node, stays) for branch in touched]
        label = node.text.strip().partition("\n")[0][:80] or "an empty message"
        bin_id = store.branches.add_bin(node.session_id, node_id, changes, label)
        _stand_somewhere(store, node.session_id)
        return bin_id


def prune_branch(store: Store, branch_id: str) -> str:
    """Put a branch in the bin, with the messages that no other branch leads to."""
    with store.write():
        branch = store.branches.get(branch_id)
        others = [b for b in store.branches.of(branch.session_id) if b.id != branch_id]
        if not others:
            raise UserError(
                "This is the session's only branch.",
                hint="Bin the whole session from the list, or bin a single message.",
            )
        shared = {node.id for other in others for node in store.nodes.lineage(other.tip_id)}
        own = [node for node in store.nodes.lineage(branch.tip_id) if node.id not in shared]
        store.branches.bin(branch_id, now())
        change = {"branch": branch_id, "name": branch.name, "from": branch.tip_id, "binned": True}
        bin_id = store.branches.add_bin(
            branch.session_id, own[0].id if own else None, [change], f"branch {branch.name}"
        )
        _stand_somewhere(store, branch.session_id)
        return bin_id


def restore(store: Store, bin_id: str) -> list[str]:
    """Bring back what was pruned together; returns the names of the branches it touched.

    A branch that has moved on since keeps what it has: the restored tip gets its own branch.
    What lies above comes along if it is in the bin too: no branch stands on a hidden node.
    """
    with store.write():
        pruned = store.branches.take_bin(bin_id)
        names = [_return(store, change) for change in pruned["branches"]]
        ends = {pruned["root_id"]} | {change["from"] for change in pruned["branches"]}
        ends |= {store.branches.get(change["branch"]).tip_id for change in pruned["branches"]}
        return names + _uncover(store, pruned["session_id"], ends)


def undo(store: Store, branch_id: str) -> str | None:
    """Take back the branch's last move; returns what it was, or None if there was none.

    Taking back a pruning restores all that was pruned with it; so does a way back to a node
    that is in the bin by now.
    """
    with store.write():
        branch = store.branches.get(branch_id)
        last = store.branches.last_move(branch_id)
        if last is not None and last["why"] == "bin":
            for pruned in store.branches.bins(branch.session_id):
                if any(change["branch"] == branch_id for change in pruned["branches"]):
                    restore(store, pruned["id"])
                    return "bin"
        undone = store.branches.undo(branch_id)
        if undone:
            _uncover(store, branch.session_id, {undone["from_tip"]})
        return undone["why"] if undone else None


def _visible(store: Store, node_id: str) -> Node:
    """The node, if neither it nor anything above it is in the bin."""
    node = store.nodes.get(node_id)
    refuse_binned(store, node)
    return node


def refuse_binned(store: Store, node: Node) -> None:
    """Raise ``UserError`` for a node that is in the bin, or below one that is."""
    hidden = store.branches.hidden_roots(node.session_id)
    if hidden and any(one.id in hidden for one in store.nodes.lineage(node.id)):
        raise UserError("This message is in the bin.", hint="Restore it from there first.")


def _uncover(store: Store, session_id: str, ends: set[str | None]) -> list[str]:
    """Restore whatever still hides one of these nodes."""
    shown = {node.id for end in ends for node in store.nodes.lineage(end)}
    names: list[str] = []
    while hiding := [b for b in store.branches.bins(session_id) if b["root_id"] in shown]:
        names += restore(store, hiding[0]["id"])
    return names


def _who_stays(store: Store, node: Node, touched: list[Branch], hidden: set[str]) -> Branch | None:
    """The branch that goes back to the parent instead of into the bin, if one should."""
    current = store.sessions.get(node.session_id).current_branch_id
    ranked = sorted(touched, key=lambda branch: branch.id != current)
    gone = {branch.id for branch in touched}
    live = store.branches.of(node.session_id)
    if not any(branch.id not in gone for branch in live):
        return ranked[0] if ranked else None
    if node.parent_id is None or store.branches.with_tip_in([node.parent_id]):
        return None
    children = store.nodes.child_ids([node.parent_id], node.session_id)[node.parent_id]
    if any(child not in hidden for child, _ in children):
        return None
    return ranked[0] if ranked else None


def _withdraw(store: Store, branch: Branch, node: Node, stays: Branch | None) -> dict[str, Any]:
    change = {"branch": branch.id, "name": branch.name, "from": branch.tip_id}
    if stays is not None and branch.id == stays.id:
        store.branches.move(branch.id, node.parent_id, why="bin")
        return change | {"to": node.parent_id, "binned": False}
    store.branches.bin(branch.id, now())
    return change | {"binned": True}


def _return(store: Store, change: dict[str, Any]) -> str:
    branch = store.branches.get(change["branch"])
    if change["binned"]:
        taken = [other.name for other in store.branches.of(branch.session_id)]
        name = free_name(branch.name, taken)
        store.branches.rename(branch.id, name)
        store.branches.bin(branch.id, None)
        return name
    if branch.binned_at is None and branch.tip_id == change["to"]:
        last = store.branches.last_move(branch.id)
        if last and last["why"] == "bin" and last["from_tip"] == change["from"]:
            store.branches.undo(branch.id)
        else:
            store.branches.move(branch.id, change["from"], why="restore")
        return branch.name
    node = store.nodes.get(change["from"])
    made = store.branches.create(
        branch.session_id, _auto_name(store, node), node.id, forked_from=node.parent_id
    )
    return made.name


def _stand_somewhere(store: Store, session_id: str) -> None:
    """If the session's current branch is in the bin, go to the newest live one."""
    session = store.sessions.get(session_id)
    live = store.branches.of(session_id)
    if session.current_branch_id not in {branch.id for branch in live}:
        store.sessions.change(session_id, current_branch_id=live[-1].id)


def _auto_name(store: Store, node: Node) -> str:
    turn = turns(store.nodes.lineage(node.id))[-1]
    taken = {branch.name for branch in store.branches.of(node.session_id)}
    return next(name for take in count(2) if (name := f"turn {turn} · take {take}") not in taken)
