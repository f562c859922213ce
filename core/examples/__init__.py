"""The worked example sessions, as data: each file becomes a session that people may change."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from core.store import Store
from core.types import Config, Node, Session, Text, new_id, now


@cache
def examples() -> dict[str, dict[str, Any]]:
    """Every example by its file's name: ``title``, ``blurb`` and ``icon``, for a card."""
    found = [item for item in files(__name__).iterdir() if item.name.endswith(".json")]
    return {
        item.name.removesuffix(".json"): json.loads(item.read_text("utf-8"))
        for item in sorted(found, key=lambda item: item.name)
    }


def open_example(store: Store, name: str, config: Config) -> Session:
    """Write the example as a new session, in one transaction. Raises ``KeyError``."""
    example = examples()[name]
    with store.write():
        session = store.sessions.create(
            title=example["title"],
            objective=example["objective"],
            done_when=example["done_when"],
            turn_budget=example["turn_budget"],
            config=Config(
                provider=config.provider,
                model=config.model,
                sampling=config.sampling,
                system=example["system"],
            ),
        )
        ids = _write_nodes(store, session.id, example["nodes"])
        _write_branches(store, session, example["branches"], ids)
        for mark in example["marks"]:
            value = now() if mark["kind"] == "final" else mark["value"]
            store.nodes.mark(ids[mark["node"]], mark["kind"], value)
        return store.sessions.get(session.id)


def _write_nodes(store: Store, session_id: str, nodes: list[dict[str, Any]]) -> dict[str, str]:
    ids: dict[str, str] = {}
    drafts: dict[str | None, str] = {}  # parent to the model's own answer, for hand edits of it
    for node in nodes:
        ids[node["key"]] = new_id()
        if node["author"] == "model":
            drafts[node["parent"]] = ids[node["key"]]
        store.nodes.add(
            Node(
                id=ids[node["key"]],
                session_id=session_id,
                parent_id=ids[node["parent"]] if node["parent"] else None,
                role=node["role"],
                parts=(Text(text=node["text"]),),
                # No model of ours wrote it here: it comes from a file, like any import.
                author="import" if node["author"] == "model" else node["author"],
                source_id=drafts[node["parent"]] if node["author"] == "hand-edited" else None,
                created_at=now(),
            )
        )
    return ids


def _write_branches(
    store: Store, session: Session, branches: list[dict[str, Any]], ids: dict[str, str]
) -> None:
    first, *others = branches
    assert session.current_branch_id is not None
    store.branches.rename(session.current_branch_id, first["name"])
    store.branches.annotate(session.current_branch_id, first["note"])
    store.branches.begin(session.current_branch_id, ids[first["tip"]])
    for branch in others:
        made = store.branches.create(
            session.id, branch["name"], ids[branch["tip"]], ids.get(branch["forked_from"] or "")
        )
        store.branches.annotate(made.id, branch["note"])
