"""Where an answer came from: every turn, model, setting, edit and recap behind it, as a manifest.

Words are named by their SHA-256, requests by the hashes under which they are kept, so that a
manifest can be handed on without the conversation, and still be checked against it. Whether the
same request still gives the same words is found by asking it again, beside the conversation.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from core.diff import compare
from core.exporting import File, branch_through, node_of
from core.exporting.provenance_page import as_file, html, markdown
from core.exporting.repeating import (
    Drift,
    drift,
    drift_of,
    model_of,
    reproduce,
    reruns,
    why_not,
)
from core.exporting.whole import bundle, unused
from core.recap import choices_of
from core.store import Store
from core.tree import turns
from core.types import (
    CONFIG,
    AttachmentRef,
    Branch,
    Json,
    Node,
    Recap,
    Run,
    Session,
    Usage,
    now,
)

__all__ = [
    "Drift",
    "as_file",
    "beside",
    "digest",
    "drift",
    "drift_of",
    "html",
    "manifest",
    "markdown",
    "reproduce",
    "reruns",
    "why_not",
]
FORMAT, VERSION = "turntree-provenance", 1
_TOKENS = ("input", "output", "cached", "cache_write", "reasoning")


def manifest(store: Store, session_id: str, node_id: str) -> dict[str, Json]:
    """All that is known of how a message came about, as JSON.

    Tokens are counts, money is nano-dollars, times are UTC; what is unknown is null, never zero.
    Raises :class:`NotFound` for a message that the session does not have.
    """
    session, node = store.sessions.get(session_id), node_of(store, session_id, node_id)
    path = store.nodes.lineage(node_id)
    ids = [one.id for one in path]
    runs = store.runs.of_nodes(ids)
    branch = branch_through(store, session, node)
    recaps = _recaps(store, path, runs, branch)
    behind = {run.id: run for run in [*runs.values(), *_writers(store, recaps)]}
    again = reruns(store, session_id, node_id)
    return {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": now(),
        "session": _session(session),
        "branch": {"id": branch.id, "name": branch.name} if branch else None,
        "answer": _answer(store, node, runs.get(node.id)),
        "path": _path(store, path, runs),
        "runs": _runs(store, behind.values()),
        "configs": _configs(behind.values()),
        "recaps": recaps,
        "hand_edits": [_edit(store, one) for one in path if one.author == "hand-edited"],
        "origins": _origins(store, path),
        "imported_from": _imported(store, session),
        "totals": _totals(behind.values()),
        "reruns": [_rerun(one) for one in again],
        "reproduces": _verdict(again),
    }


def beside(store: Store, file: File, session_id: str, node_id: str) -> File:
    """An archive of an answer's file and, beside it, its manifest and the page that reads it.

    Raises :class:`NotFound` for a message that the session does not have.
    """
    told = manifest(store, session_id, node_id)
    more = [as_file(told, kind) for kind in ("json", "html")]
    used: set[str] = set()
    files = [(unused(one.name, used), one.content) for one in (file, *more)]
    stem = file.name.partition(".")[0]
    name = f"{stem}-with-provenance.zip"
    return File(name=name, media_type="application/zip", content=bundle(*files))


def digest(text: str) -> str:
    """The SHA-256 of some words in UTF-8, as hex."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _session(session: Session) -> Json:
    return {
        "id": session.id,
        "title": session.title,
        "objective": session.objective,
        "done_when": session.done_when,
    }


def _answer(store: Store, node: Node, run: Run | None) -> Json:
    marks = store.nodes.marks([node.id]).get(node.id, {})
    known = store.traces.imported_nodes([node.id]).get(node.id)
    return {
        "node_id": node.id,
        "role": node.role,
        "author": node.author,
        "at": node.created_at,
        "sha256": digest(node.text),
        "characters": len(node.text),
        "final": "final" in marks,
        "provider": run.config.provider if run else (known[1] or None if known else None),
        "model": model_of(run) if run else (known[2] or None if known else None),
    }


def _path(store: Store, path: Sequence[Node], runs: Mapping[str, Run]) -> list[Json]:
    known = store.traces.imported_nodes([node.id for node in path])
    found: list[Json] = []
    for node, turn in zip(path, turns(path), strict=True):
        run = runs.get(node.id)
        key, provider, model = known.get(node.id, ("", "", ""))
        found.append(
            {
                "turn": turn,
                "node_id": node.id,
                "parent_id": node.parent_id,
                "role": node.role,
                "author": node.author,
                "at": node.created_at,
                "sha256": digest(node.text),
                "characters": len(node.text),
                "sent_suffix": node.sent_suffix,
                "files": [_file(one) for one in node.parts if isinstance(one, AttachmentRef)],
                "run_id": run.id if run else None,
                "provider": run.config.provider if run else provider or None,
                "model": model_of(run) if run else model or None,
                "source_id": node.source_id,
                "imported_key": key or None,
            }
        )
    return found


def _file(file: AttachmentRef) -> Json:
    return {"name": file.name, "media_type": file.media_type, "sha256": file.sha256}


def _runs(store: Store, runs: Iterable[Run]) -> list[Json]:
    ordered = sorted(runs, key=lambda run: run.id)
    sent = store.traces.sent(run.id for run in ordered)
    return [_run(run, *sent.get(run.id, ("", ""))) for run in ordered]


def _run(run: Run, envelope: str, messages: str) -> Json:
    return {
        "run_id": run.id,
        "node_id": run.node_id,
        "purpose": run.purpose,
        "config": _config_name(run),
        "provider": run.config.provider,
        "model_asked": run.config.model,
        "model_answered": run.resolved_model,
        "policy": run.config.policy,
        "keep_turns": run.config.keep_turns,
        "overrides": [{"kind": one.kind, "id": one.target_id} for one in run.overrides],
        "objective": run.objective,
        "sent": {"settings_hash": envelope or None, "messages_hash": messages or None},
        "started_at": run.started_at,
        "first_token_ms": run.first_token_ms,
        "duration_ms": run.duration_ms,
        "finish_reason": run.finish_reason,
        "tokens": _tokens(run.usage),
        "cost_nanodollars": run.cost_nanodollars,
        "replayed_from": run.replayed_from,
    }


def _configs(runs: Iterable[Run]) -> Json:
    """Every config that was in force, by a short name of its own words."""
    return {
        _config_name(run): CONFIG.dump_python(run.config, mode="json")
        | {"system_sha256": digest(run.config.system)}
        for run in runs
    }


def _config_name(run: Run) -> str:
    return digest(CONFIG.dump_json(run.config).decode())[:12]


def _tokens(usage: Usage) -> Json:
    return {name: getattr(usage, f"{name}_tokens") for name in _TOKENS}


def _recaps(
    store: Store, path: Sequence[Node], runs: Mapping[str, Run], branch: Branch | None
) -> list[Json]:
    """The recaps of this path that a run was sent with, or that its branch sends now."""
    used: dict[str, list[str]] = {}
    for run in runs.values():
        for one in run.overrides:
            if one.kind == "recap":
                used.setdefault(one.target_id, []).append(run.id)
    active = choices_of(store, branch.id).recap if branch else None
    found = store.recaps.covering([node.id for node in path])
    kept = [one for one in found if one.id in used or (active and one.id == active.id)]
    return [_recap(one, used.get(one.id, []), active) for one in kept]


def _recap(recap: Recap, used: list[str], active: Recap | None) -> Json:
    return {
        "recap_id": recap.id,
        "covers_to": recap.covers_to,
        "at": recap.created_at,
        "sha256": digest(recap.text),
        "text": recap.text,
        "written_by_run": recap.run_id,
        "edited_from": recap.edited_from,
        "in_force_for_runs": used,
        "in_force_now": active is not None and active.id == recap.id,
    }


def _writers(store: Store, recaps: Iterable[Json]) -> Iterator[Run]:
    """The runs that wrote recaps: they were paid for too."""
    for one in recaps:
        if one["written_by_run"]:
            yield store.runs.get(one["written_by_run"])


def _edit(store: Store, node: Node) -> Json:
    source = next(iter(store.nodes.many([node.source_id] if node.source_id else [])), None)
    if source is None:
        return {"node_id": node.id, "source_id": node.source_id, "source_sha256": None}
    changed = compare(source.text, node.text)
    return {
        "node_id": node.id,
        "source_id": source.id,
        "source_sha256": digest(source.text),
        "source_author": source.author,
        "words_added": changed.added,
        "words_removed": changed.removed,
    }


def _origins(store: Store, path: Sequence[Node]) -> list[Json]:
    found = store.comparisons.origins(node.id for node in path)
    origins = [one for node in path for one in found.get(node.id, ())]
    sources = {node.id: node for node in store.nodes.many(one.origin_id for one in origins)}
    return [
        {
            "node_id": one.node_id,
            "kind": one.kind,
            "origin_id": one.origin_id,
            "branch_id": one.branch_id,
            "sha256": digest(sources[one.origin_id].text) if one.origin_id in sources else None,
        }
        for one in origins
    ]


def _imported(store: Store, session: Session) -> Json:
    found = store.traces.imported_session(session.id)
    return {"format": found[0], "key": found[1]} if found else None


def _totals(runs: Iterable[Run]) -> Json:
    """Sums of what is known, with how many runs told nothing."""
    known = list(runs)
    costs = [run.cost_nanodollars for run in known if run.cost_nanodollars is not None]
    tokens = {
        name: sum(told) if (told := [v for run in known if (v := _count(run, name)) is not None])
        else None
        for name in _TOKENS
    }  # fmt: skip
    return {
        "runs": len(known),
        "tokens": tokens,
        "cost_nanodollars": sum(costs) if costs else None,
        "runs_of_unknown_cost": len(known) - len(costs),
    }


def _count(run: Run, name: str) -> int | None:
    found: int | None = getattr(run.usage, f"{name}_tokens")
    return found


def _rerun(one: Drift) -> Json:
    return {
        "run_id": one.run.id,
        "at": one.run.started_at,
        "state": one.state,
        "outcome": one.outcome or None,
        "likeness": None if one.likeness is None else round(one.likeness, 4),
        "sha256": digest(one.text) if one.state == "done" else None,
        "model_before": one.models[0],
        "model_now": one.models[1],
        "tokens_before": _tokens(one.before.usage),
        "tokens_now": _tokens(one.run.usage),
        "error": one.run.failure.message if one.run.failure else None,
    }


def _verdict(found: Sequence[Drift]) -> bool | None:
    """Whether the latest repetition gave the same words; None where none was made."""
    return next((one.outcome == "same" for one in found if one.state == "done"), None)
