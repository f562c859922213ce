"""The schema, one function per step. A step that has shipped is never edited: add another.

Each step runs in a transaction of its own, together with the record that it ran.
"""

from sqlite_utils import Database, Migrations

from core.store.triggers import reassert_triggers, run

APPLICATION_ID = 0x5454_5245  # "TTRE" in the header, so that we never write to a stranger's file

steps = Migrations("turntree")


@steps()
def m001_conversations(db: Database) -> None:
    """Sessions, the tree, branches and what hangs beside them."""
    db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    run(db, *_CONVERSATIONS)
    reassert_triggers(db)


_CONVERSATIONS = (
    """
    CREATE TABLE sessions (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        objective TEXT NOT NULL DEFAULT '', done_when TEXT NOT NULL DEFAULT '',
        turn_budget INTEGER, config_json TEXT NOT NULL, current_branch_id TEXT,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL, seen_at TEXT,
        archived_at TEXT, binned_at TEXT)
    """,
    "CREATE INDEX sessions_by_recency ON sessions(updated_at)",
    # The rowid is explicit because the search index refers to it: VACUUM may renumber
    # an implicit one.
    """
    CREATE TABLE nodes (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        parent_id TEXT REFERENCES nodes(id) ON DELETE CASCADE,
        role TEXT NOT NULL, text TEXT NOT NULL,
        parts_json TEXT,            -- NULL: the message is exactly one text part
        sent_suffix TEXT, author TEXT NOT NULL, source_id TEXT, raw_json TEXT,
        created_at TEXT NOT NULL)
    """,
    "CREATE INDEX nodes_by_parent ON nodes(parent_id)",
    "CREATE INDEX nodes_by_session ON nodes(session_id)",
    """
    CREATE TABLE branches (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        name TEXT NOT NULL, tip_id TEXT REFERENCES nodes(id), forked_from_node_id TEXT,
        status TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '',
        created_at TEXT NOT NULL, binned_at TEXT)
    """,
    "CREATE INDEX branches_by_session ON branches(session_id)",
    "CREATE INDEX branches_by_tip ON branches(tip_id)",
    "CREATE INDEX branches_by_fork ON branches(forked_from_node_id)",
    """
    CREATE TABLE branch_moves (
        id INTEGER PRIMARY KEY,
        branch_id TEXT NOT NULL REFERENCES branches(id) ON DELETE CASCADE,
        from_tip TEXT, to_tip TEXT, why TEXT NOT NULL, at TEXT NOT NULL)
    """,
    "CREATE INDEX branch_moves_by_branch ON branch_moves(branch_id)",
    """
    CREATE TABLE overrides (
        branch_id TEXT NOT NULL REFERENCES branches(id) ON DELETE CASCADE,
        kind TEXT NOT NULL CHECK (kind IN ('recap', 'pin', 'mute')),
        node_or_recap_id TEXT NOT NULL, PRIMARY KEY (branch_id, kind, node_or_recap_id))
    """,
    """
    CREATE TABLE recaps (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        covers_to TEXT NOT NULL REFERENCES nodes(id) ON DELETE CASCADE, text TEXT NOT NULL,
        run_id TEXT, edited_from TEXT, created_at TEXT NOT NULL)
    """,
    "CREATE INDEX recaps_by_session ON recaps(session_id)",
    """
    CREATE TABLE marks (
        node_id TEXT NOT NULL REFERENCES nodes(id) ON DELETE CASCADE,
        kind TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (node_id, kind)) WITHOUT ROWID
    """,
    """
    CREATE TABLE bins (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        root_id TEXT, branches_json TEXT NOT NULL, label TEXT NOT NULL, at TEXT NOT NULL)
    """,
    "CREATE INDEX bins_by_session ON bins(session_id)",
    """
    CREATE TABLE queue (
        id TEXT PRIMARY KEY, branch_id TEXT NOT NULL REFERENCES branches(id) ON DELETE CASCADE,
        text TEXT NOT NULL, state TEXT NOT NULL, created_at TEXT NOT NULL)
    """,
    "CREATE INDEX queue_by_branch ON queue(branch_id)",
    """
    CREATE TABLE attachments (
        sha256 TEXT PRIMARY KEY, media_type TEXT NOT NULL, name TEXT NOT NULL,
        bytes BLOB NOT NULL)
    """,
)


@steps()
def m002_runs(db: Database) -> None:
    """The ledger of model calls, and what was sent, each message stored once."""
    run(
        db,
        """
        CREATE TABLE runs (
            id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
            branch_id TEXT NOT NULL, context_tip_id TEXT, node_id TEXT, purpose TEXT NOT NULL,
            provider TEXT NOT NULL, model TEXT NOT NULL, resolved_model TEXT,
            config_hash BLOB NOT NULL, overrides_json TEXT, objective TEXT NOT NULL DEFAULT '',
            state TEXT NOT NULL, finish_reason TEXT, partial TEXT,
            input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER,
            cache_write_tokens INTEGER, reasoning_tokens INTEGER, cost_nanodollars INTEGER,
            started_at TEXT NOT NULL, first_token_ms INTEGER, duration_ms INTEGER,
            error_kind TEXT, error_json TEXT, envelope_hash BLOB, wire_tail BLOB,
            owner TEXT NOT NULL, heartbeat_at TEXT)
        """,
        "CREATE INDEX runs_by_session ON runs(session_id)",
        "CREATE INDEX runs_by_node ON runs(node_id) WHERE node_id IS NOT NULL",
        "CREATE INDEX runs_by_context ON runs(context_tip_id)",
        "CREATE INDEX runs_not_ended ON runs(state) WHERE state != 'ended'",
        # Values that many runs share, stored once under their hash.
        "CREATE TABLE configs (hash BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE envelopes (hash BLOB PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID",
        # With rowids: bodies lie in the order they came, not in half-full pages ordered by hash.
        "CREATE TABLE wire (hash BLOB PRIMARY KEY, parent_hash BLOB, body TEXT NOT NULL)",
    )


@steps()
def m003_search(db: Database) -> None:
    """Full-text search over messages and titles, kept true by triggers."""
    tokenizer = "tokenize = 'unicode61 remove_diacritics 2'"
    run(
        db,
        "CREATE VIRTUAL TABLE nodes_search USING fts5("
        f"text, content = 'nodes', content_rowid = 'seq', {tokenizer})",
        "CREATE VIRTUAL TABLE sessions_search USING fts5("
        f"title, objective, content = 'sessions', content_rowid = 'seq', {tokenizer})",
        "INSERT INTO nodes_search(nodes_search) VALUES ('rebuild')",
        "INSERT INTO sessions_search(sessions_search) VALUES ('rebuild')",
    )
    reassert_triggers(db)


@steps()
def m004_providers(db: Database) -> None:
    """Servers that a person named, the models they list, and a person's own figures of them."""
    run(
        db,
        # Keys and the values of headers are never here: only the names of headers.
        """
        CREATE TABLE endpoints (
            name TEXT PRIMARY KEY, label TEXT NOT NULL UNIQUE, protocol TEXT NOT NULL,
            base_url TEXT NOT NULL, header_names_json TEXT NOT NULL DEFAULT '[]',
            created_at TEXT NOT NULL)
        """,
        """
        CREATE TABLE model_lists (
            provider TEXT PRIMARY KEY, models_json TEXT NOT NULL, fetched_at TEXT NOT NULL)
        """,
        """
        CREATE TABLE own_models (
            provider TEXT NOT NULL, model TEXT NOT NULL, body_json TEXT NOT NULL,
            PRIMARY KEY (provider, model))
        """,
    )


@steps()
def m005_attachments(db: Database) -> None:
    """What goes with a branch's next message, and the files of messages that wait."""
    run(
        db,
        """
        CREATE TABLE pending (
            branch_id TEXT NOT NULL REFERENCES branches(id) ON DELETE CASCADE,
            sha256 TEXT NOT NULL REFERENCES attachments(sha256),
            media_type TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (branch_id, sha256))
        """,
        "ALTER TABLE queue ADD COLUMN files_json TEXT",
    )


@steps()
def m006_refinement(db: Database) -> None:
    """Steering, budgets, context policies of a branch, and what was asked for along the way."""
    run(
        db,
        "ALTER TABLE sessions ADD COLUMN remind_every INTEGER NOT NULL DEFAULT 3",
        "ALTER TABLE sessions ADD COLUMN drift_every INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN money_budget INTEGER",
        "ALTER TABLE sessions ADD COLUMN token_budget INTEGER",
        "ALTER TABLE sessions ADD COLUMN over_budget TEXT NOT NULL DEFAULT 'warn'",
        "ALTER TABLE sessions ADD COLUMN auto_recap REAL",
        "ALTER TABLE branches ADD COLUMN policy TEXT",
        "ALTER TABLE branches ADD COLUMN keep_turns INTEGER",
        "ALTER TABLE branches ADD COLUMN linked_to TEXT",
        "ALTER TABLE branches ADD COLUMN past_budget INTEGER NOT NULL DEFAULT 0",
        """
        CREATE TABLE requirements (
            id TEXT PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
            node_id TEXT NOT NULL REFERENCES nodes(id) ON DELETE CASCADE,
            text TEXT NOT NULL, honoured INTEGER, note TEXT NOT NULL DEFAULT '', run_id TEXT,
            created_at TEXT NOT NULL, dropped_at TEXT)
        """,
        "CREATE INDEX requirements_by_node ON requirements(node_id)",
        "CREATE INDEX requirements_by_session ON requirements(session_id)",
        "CREATE INDEX recaps_by_node ON recaps(covers_to)",
        # What is being written in a dialog and not placed yet: it outlives the tab.
        """
        CREATE TABLE drafts (
            key TEXT PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
            text TEXT NOT NULL, updated_at TEXT NOT NULL)
        """,
    )


@steps()
def m007_library(db: Database) -> None:
    """Prompts, conversations, system prompts and presets; the order of what waits."""
    run(
        db,
        """
        CREATE TABLE prompts (
            id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL,
            tags_json TEXT NOT NULL DEFAULT '[]', created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL, binned_at TEXT)
        """,
        "CREATE INDEX prompts_by_recency ON prompts(updated_at)",
        """
        CREATE TABLE prompt_versions (
            id TEXT PRIMARY KEY,
            prompt_id TEXT NOT NULL REFERENCES prompts(id) ON DELETE CASCADE,
            number INTEGER NOT NULL, body_json TEXT NOT NULL, note TEXT NOT NULL DEFAULT '',
            created_at TEXT NOT NULL, UNIQUE (prompt_id, number))
        """,
        # What is being written and not saved yet: it outlives the tab and the process.
        """
        CREATE TABLE prompt_drafts (
            prompt_id TEXT PRIMARY KEY REFERENCES prompts(id) ON DELETE CASCADE,
            body_json TEXT NOT NULL, updated_at TEXT NOT NULL)
        """,
        "ALTER TABLE queue ADD COLUMN place INTEGER",
    )
    reassert_triggers(db)


@steps()
def m008_comparisons(db: Database) -> None:
    """Comparisons and lanes, jobs, verdicts, checks, origins; settings of a branch's own."""
    run(db, *_COMPARISONS)
    reassert_triggers(db)


_COMPARISONS = (
    """
    CREATE TABLE comparisons (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        name TEXT NOT NULL, at_id TEXT, blind INTEGER NOT NULL DEFAULT 0,
        seed INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL)
    """,
    "CREATE INDEX comparisons_by_session ON comparisons(session_id)",
    """
    CREATE TABLE lanes (
        id TEXT PRIMARY KEY,
        comparison_id TEXT NOT NULL REFERENCES comparisons(id) ON DELETE CASCADE,
        branch_id TEXT NOT NULL REFERENCES branches(id) ON DELETE CASCADE,
        place INTEGER NOT NULL, sample INTEGER NOT NULL DEFAULT 0, after TEXT,
        dropped_at TEXT, kept_at TEXT)
    """,
    "CREATE INDEX lanes_by_comparison ON lanes(comparison_id)",
    "CREATE INDEX lanes_by_branch ON lanes(branch_id)",
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        kind TEXT NOT NULL, name TEXT NOT NULL, mode TEXT NOT NULL, state TEXT NOT NULL,
        concurrency INTEGER NOT NULL, per_minute INTEGER, reuse INTEGER NOT NULL DEFAULT 0,
        note TEXT NOT NULL DEFAULT '', spec_json TEXT, created_at TEXT NOT NULL)
    """,
    "CREATE INDEX jobs_by_session ON jobs(session_id)",
    "CREATE INDEX jobs_running ON jobs(id) WHERE state = 'running'",
    """
    CREATE TABLE job_lines (
        id TEXT PRIMARY KEY, job_id TEXT NOT NULL REFERENCES jobs(id) ON DELETE CASCADE,
        place INTEGER NOT NULL, name TEXT NOT NULL, config_json TEXT NOT NULL, base_id TEXT,
        branch_id TEXT REFERENCES branches(id) ON DELETE SET NULL,
        sample INTEGER NOT NULL DEFAULT 0, values_json TEXT NOT NULL DEFAULT '{}')
    """,
    "CREATE INDEX job_lines_by_job ON job_lines(job_id, place)",
    "CREATE INDEX job_lines_by_branch ON job_lines(branch_id)",
    """
    CREATE TABLE job_steps (
        id TEXT PRIMARY KEY, line_id TEXT NOT NULL REFERENCES job_lines(id) ON DELETE CASCADE,
        turn INTEGER NOT NULL, text TEXT NOT NULL, files_json TEXT,
        suffix TEXT NOT NULL DEFAULT '', source_id TEXT, rounds_json TEXT NOT NULL DEFAULT '[]',
        reads_id TEXT, asks INTEGER NOT NULL DEFAULT 1, answer_id TEXT, state TEXT NOT NULL,
        run_id TEXT, tip_id TEXT, tries INTEGER NOT NULL DEFAULT 0)
    """,
    "CREATE INDEX job_steps_by_line ON job_steps(line_id, turn)",
    "CREATE INDEX job_steps_by_run ON job_steps(run_id)",
    """
    CREATE TABLE verdicts (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        comparison_id TEXT, by TEXT NOT NULL, tips_json TEXT NOT NULL, winner TEXT,
        tie INTEGER NOT NULL DEFAULT 0, blind INTEGER NOT NULL DEFAULT 0,
        ratings_json TEXT NOT NULL DEFAULT '{}', note TEXT NOT NULL DEFAULT '', body_json TEXT,
        created_at TEXT NOT NULL)
    """,
    "CREATE INDEX verdicts_by_session ON verdicts(session_id)",
    """
    CREATE TABLE checks (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
        kind TEXT NOT NULL, body_json TEXT NOT NULL, created_at TEXT NOT NULL)
    """,
    "CREATE INDEX checks_by_session ON checks(session_id)",
    """
    CREATE TABLE rubrics (
        session_id TEXT PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
        body_json TEXT NOT NULL)
    """,
    # Of a node that was merged or quoted: every node that its words came from.
    """
    CREATE TABLE origins (
        node_id TEXT NOT NULL REFERENCES nodes(id) ON DELETE CASCADE, origin_id TEXT NOT NULL,
        kind TEXT NOT NULL, branch_id TEXT, PRIMARY KEY (node_id, origin_id)) WITHOUT ROWID
    """,
    "ALTER TABLE branches ADD COLUMN config_json TEXT",
    "ALTER TABLE runs ADD COLUMN reads_id TEXT",
    "ALTER TABLE runs ADD COLUMN sample INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE runs ADD COLUMN replayed_from TEXT",
    "CREATE INDEX runs_by_wire ON runs(wire_tail)",
)


@steps()
def m009_imports(db: Database) -> None:
    """What came from elsewhere and by which ids there; a person's own choices for the app."""
    run(
        db,
        """
        CREATE TABLE imports (
            id TEXT PRIMARY KEY, format TEXT NOT NULL, file_name TEXT NOT NULL,
            report_json TEXT NOT NULL, at TEXT NOT NULL)
        """,
        # The same file again adds only what is new: conversations and messages are known by the
        # ids they had where they came from.
        """
        CREATE TABLE imported (
            format TEXT NOT NULL, conversation_key TEXT NOT NULL,
            session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
            PRIMARY KEY (format, conversation_key)) WITHOUT ROWID
        """,
        "CREATE INDEX imported_by_session ON imported(session_id)",
        """
        CREATE TABLE imported_nodes (
            node_id TEXT PRIMARY KEY REFERENCES nodes(id) ON DELETE CASCADE,
            node_key TEXT NOT NULL, provider TEXT NOT NULL DEFAULT '',
            model TEXT NOT NULL DEFAULT '') WITHOUT ROWID
        """,
        "CREATE TABLE preferences (name TEXT PRIMARY KEY, body_json TEXT NOT NULL)",
    )
