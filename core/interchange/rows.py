"""The rows of a session as our own files carry them: which there are, and what each may hold."""

from collections.abc import Mapping

from core.interchange import kinds
from core.types import (
    CONFIG,
    PARTS,
    Author,
    CheckKind,
    FinishReason,
    JobKind,
    JobMode,
    JobState,
    Json,
    Judged,
    MarkKind,
    OriginKind,
    OverrideKind,
    Purpose,
    Role,
    RunState,
    StepState,
)

Row = Mapping[str, Json]
_ANY = kinds.Column(kinds.text)
_SOME = kinds.optional(kinds.text)
_KEY = kinds.Column(kinds.like(kinds.ID))
_AT = kinds.Column(kinds.time)
_AT_SOME_TIME = kinds.optional(kinds.time)
_NUMBER = kinds.Column(kinds.whole)
_PERHAPS = kinds.optional(kinds.whole)
_SWITCH = kinds.Column(kinds.flag)
_DIGEST = kinds.Column(kinds.like(kinds.HASH))
_FILE = kinds.Column(kinds.like(kinds.SHA256), of="attachments")
_CONFIG = kinds.Column(kinds.parsed(CONFIG))
_OWN_CONFIG = kinds.optional(kinds.parsed(CONFIG))
_SESSION = kinds.id_of("sessions")
_NODE = kinds.id_of("nodes")
_SOME_NODE = kinds.id_of("nodes", optional=True)
_BRANCH = kinds.id_of("branches")
_SOME_BRANCH = kinds.id_of("branches", optional=True)
_FILES = kinds.optional(kinds.files)
_STRAY = kinds.id_of("", optional=True)
"""Of another session, maybe, or of what is not there any more: an id, no more is known."""

TABLES: Mapping[str, Mapping[str, kinds.Column]] = {
    "sessions": {
        "id": _KEY,
        "title": _ANY,
        "objective": _ANY,
        "done_when": _ANY,
        "turn_budget": _PERHAPS,
        "config_json": _CONFIG,
        "current_branch_id": _SOME_BRANCH,
        "created_at": _AT,
        "updated_at": _AT,
        "seen_at": _AT_SOME_TIME,
        "archived_at": _AT_SOME_TIME,
        "binned_at": _AT_SOME_TIME,
        "remind_every": _NUMBER,
        "drift_every": _NUMBER,
        "money_budget": _PERHAPS,
        "token_budget": _PERHAPS,
        "over_budget": kinds.Column(kinds.among("warn", "stop")),
        "auto_recap": kinds.optional(kinds.share),
    },
    "nodes": {
        "id": _KEY,
        "session_id": _SESSION,
        "parent_id": _SOME_NODE,
        "role": kinds.Column(kinds.one_of(Role)),
        "text": _ANY,
        "parts_json": kinds.optional(kinds.parsed(PARTS)),
        "sent_suffix": _SOME,
        "author": kinds.Column(kinds.one_of(Author)),
        "source_id": _STRAY,
        "raw_json": kinds.optional(kinds.shaped(kinds.objects)),
        "created_at": _AT,
    },
    "branches": {
        "id": _KEY,
        "session_id": _SESSION,
        "name": _ANY,
        "tip_id": _SOME_NODE,
        "forked_from_node_id": _SOME_NODE,
        "status": _ANY,
        "note": _ANY,
        "created_at": _AT,
        "binned_at": _AT_SOME_TIME,
        "policy": _SOME,
        "keep_turns": _PERHAPS,
        "linked_to": _SOME_BRANCH,
        "past_budget": _SWITCH,
        "config_json": _OWN_CONFIG,
    },
    "branch_moves": {
        "branch_id": _BRANCH,
        "from_tip": _SOME_NODE,
        "to_tip": _SOME_NODE,
        "why": _ANY,
        "at": _AT,
    },
    "recaps": {
        "id": _KEY,
        "session_id": _SESSION,
        "covers_to": _NODE,
        "text": _ANY,
        "run_id": kinds.id_of("runs", optional=True),
        "edited_from": kinds.id_of("recaps", optional=True),
        "created_at": _AT,
    },
    "overrides": {
        "branch_id": _BRANCH,
        "kind": kinds.Column(kinds.one_of(OverrideKind)),
        "node_or_recap_id": _KEY,
    },
    "marks": {"node_id": _NODE, "kind": kinds.Column(kinds.one_of(MarkKind)), "value": _ANY},
    "bins": {
        "id": _KEY,
        "session_id": _SESSION,
        "root_id": _SOME_NODE,
        "branches_json": kinds.Column(kinds.shaped(kinds.changes)),
        "label": _ANY,
        "at": _AT,
    },
    "requirements": {
        "id": _KEY,
        "session_id": _SESSION,
        "node_id": _NODE,
        "text": _ANY,
        "honoured": kinds.optional(kinds.flag),
        "note": _ANY,
        "run_id": kinds.id_of("runs", optional=True),
        "created_at": _AT,
        "dropped_at": _AT_SOME_TIME,
    },
    "configs": {"hash": _DIGEST, "body": _CONFIG},
    "envelopes": {"hash": _DIGEST, "body": kinds.Column(kinds.shaped(kinds.objects))},
    "wire": {
        "hash": _DIGEST,
        "parent_hash": kinds.optional(kinds.like(kinds.HASH)),
        "body": kinds.Column(kinds.shaped()),
    },
    "runs": {
        "id": _KEY,
        "session_id": _SESSION,
        "branch_id": _BRANCH,
        "context_tip_id": _SOME_NODE,
        "node_id": _SOME_NODE,
        "purpose": kinds.Column(kinds.one_of(Purpose)),
        "provider": _ANY,
        "model": _ANY,
        "resolved_model": _SOME,
        "config_hash": _DIGEST,
        "overrides_json": kinds.optional(kinds.shaped(kinds.pairs)),
        "objective": _ANY,
        "state": kinds.Column(kinds.one_of(RunState)),
        "finish_reason": kinds.optional(kinds.one_of(FinishReason)),
        "partial": kinds.optional(kinds.parsed(PARTS)),
        "input_tokens": _PERHAPS,
        "output_tokens": _PERHAPS,
        "cached_tokens": _PERHAPS,
        "cache_write_tokens": _PERHAPS,
        "reasoning_tokens": _PERHAPS,
        "cost_nanodollars": _PERHAPS,
        "started_at": _AT,
        "first_token_ms": _PERHAPS,
        "duration_ms": _PERHAPS,
        "error_kind": _SOME,
        "error_json": kinds.optional(kinds.shaped(kinds.failure)),
        "envelope_hash": kinds.optional(kinds.like(kinds.HASH)),
        "wire_tail": kinds.optional(kinds.like(kinds.HASH)),
        "reads_id": _SOME_NODE,
        "sample": _NUMBER,
        "replayed_from": _STRAY,
    },
    "attachments": {
        "sha256": kinds.Column(kinds.like(kinds.SHA256)),
        "media_type": _ANY,
        "name": _ANY,
    },
    "pending": {"branch_id": _BRANCH, "sha256": _FILE, "media_type": _ANY, "name": _ANY},
    "queue": {
        "id": _KEY,
        "branch_id": _BRANCH,
        "text": _ANY,
        "state": kinds.Column(kinds.among("held", "offer", "offer_past", "offer_long", "stopped")),
        "created_at": _AT,
        "files_json": _FILES,
        "place": _PERHAPS,
    },
    "drafts": {"key": _ANY, "session_id": _SESSION, "text": _ANY, "updated_at": _AT},
    "comparisons": {
        "id": _KEY,
        "session_id": _SESSION,
        "name": _ANY,
        "at_id": _SOME_NODE,
        "blind": _SWITCH,
        "seed": _NUMBER,
        "created_at": _AT,
    },
    "lanes": {
        "id": _KEY,
        "comparison_id": kinds.id_of("comparisons"),
        "branch_id": _BRANCH,
        "place": _NUMBER,
        "sample": _NUMBER,
        "after": kinds.id_of("lanes", optional=True),
        "dropped_at": _AT_SOME_TIME,
        "kept_at": _AT_SOME_TIME,
    },
    "jobs": {
        "id": _KEY,
        "session_id": _SESSION,
        "kind": kinds.Column(kinds.one_of(JobKind)),
        "name": _ANY,
        "mode": kinds.Column(kinds.one_of(JobMode)),
        "state": kinds.Column(lambda value: value != "running" and kinds.one_of(JobState)(value)),
        "concurrency": _NUMBER,
        "per_minute": _PERHAPS,
        "reuse": _SWITCH,
        "note": _ANY,
        "spec_json": kinds.optional(kinds.shaped(kinds.objects)),
        "created_at": _AT,
    },
    "job_lines": {
        "id": _KEY,
        "job_id": kinds.id_of("jobs"),
        "place": _NUMBER,
        "name": _ANY,
        "config_json": _CONFIG,
        "base_id": _SOME_NODE,
        "branch_id": _SOME_BRANCH,
        "sample": _NUMBER,
        "values_json": kinds.Column(kinds.shaped(kinds.by_name(str))),
    },
    "job_steps": {
        "id": _KEY,
        "line_id": kinds.id_of("job_lines"),
        "turn": _NUMBER,
        "text": _ANY,
        "files_json": _FILES,
        "suffix": _ANY,
        "source_id": _SOME_NODE,
        "rounds_json": kinds.Column(kinds.shaped(kinds.names)),
        "reads_id": _SOME_NODE,
        "asks": _SWITCH,
        "answer_id": _SOME_NODE,
        "state": kinds.Column(lambda value: value != "running" and kinds.one_of(StepState)(value)),
        "run_id": kinds.id_of("runs", optional=True),
        "tip_id": _SOME_NODE,
        "tries": _NUMBER,
    },
    "verdicts": {
        "id": _KEY,
        "session_id": _SESSION,
        "comparison_id": kinds.id_of("comparisons", optional=True),
        "by": kinds.Column(kinds.one_of(Judged)),
        "tips_json": kinds.Column(kinds.shaped(kinds.by_name(str))),
        "winner": _SOME_BRANCH,
        "tie": _SWITCH,
        "blind": _SWITCH,
        "ratings_json": kinds.Column(kinds.shaped(kinds.by_name(int, float))),
        "note": _ANY,
        "body_json": kinds.optional(kinds.shaped(kinds.objects)),
        "created_at": _AT,
    },
    "checks": {
        "id": _KEY,
        "session_id": _SESSION,
        "kind": kinds.Column(kinds.one_of(CheckKind)),
        "body_json": kinds.Column(kinds.shaped()),
        "created_at": _AT,
    },
    "rubrics": {"session_id": _SESSION, "body_json": kinds.Column(kinds.shaped())},
    "origins": {
        "node_id": _NODE,
        "origin_id": _KEY,
        "kind": kinds.Column(kinds.one_of(OriginKind)),
        "branch_id": _STRAY,
    },
    "imported": {"format": _ANY, "conversation_key": _ANY, "session_id": _SESSION},
    "imported_nodes": {"node_id": _NODE, "node_key": _ANY, "provider": _ANY, "model": _ANY},
}
"""Tables in the order of a file: what a row names stands above it, or among its own kind."""

LEFT_OUT: Mapping[str, frozenset[str]] = {
    "sessions": frozenset({"seq"}),
    "nodes": frozenset({"seq"}),
    "branch_moves": frozenset({"id"}),
    "runs": frozenset({"owner", "heartbeat_at"}),
    "attachments": frozenset({"bytes"}),
}
"""What of a row stays here: numbers of this database, which machine asked, bytes (a file each)."""

_AT_REST: Mapping[tuple[str, str], Mapping[str, Row]] = {
    ("jobs", "state"): {"running": {"state": "paused", "note": "It was taken along as it ran."}},
    ("job_steps", "state"): {"running": {"state": "interrupted"}},
    ("queue", "state"): {"waiting": {"state": "held"}},
}


def at_rest(table: str, row: dict[str, Json]) -> dict[str, Json]:
    """A row as it is taken along: nothing that would go on by itself wherever it comes to."""
    for (name, column), instead in _AT_REST.items():
        if name == table and row.get(column) in instead:
            return {**row, **instead[str(row[column])]}
    return row
