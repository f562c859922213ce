"""The triggers of the schema: nodes never change, and the search index is kept true."""

from sqlite_utils import Database


def reassert_triggers(db: Database) -> None:
    """Make every trigger whose tables exist anew.

    Called at the end of each step that touches their tables: rebuilding a table (sqlite-utils'
    ``transform``) silently drops its triggers.
    """
    tables = set(db.table_names())
    for name, needs, body in _TRIGGERS:
        if needs <= tables:
            run(db, f"DROP TRIGGER IF EXISTS {name}", f"CREATE TRIGGER {name} {body}")


_TRIGGERS: tuple[tuple[str, set[str], str], ...] = (
    (
        "nodes_are_immutable",
        {"nodes"},
        "BEFORE UPDATE ON nodes BEGIN SELECT RAISE(ABORT, 'nodes are immutable'); END",
    ),
    (
        "prompt_versions_are_immutable",
        {"prompt_versions"},
        "BEFORE UPDATE ON prompt_versions BEGIN SELECT RAISE(ABORT, 'versions are immutable'); END",
    ),
    (
        "nodes_search_add",
        {"nodes", "nodes_search"},
        "AFTER INSERT ON nodes BEGIN"
        " INSERT INTO nodes_search(rowid, text) VALUES (new.seq, new.text); END",
    ),
    (
        "nodes_search_remove",
        {"nodes", "nodes_search"},
        "AFTER DELETE ON nodes BEGIN INSERT INTO nodes_search(nodes_search, rowid, text)"
        " VALUES ('delete', old.seq, old.text); END",
    ),
    (
        "sessions_search_add",
        {"sessions", "sessions_search"},
        "AFTER INSERT ON sessions BEGIN INSERT INTO sessions_search(rowid, title, objective)"
        " VALUES (new.seq, new.title, new.objective); END",
    ),
    (
        "sessions_search_remove",
        {"sessions", "sessions_search"},
        "AFTER DELETE ON sessions BEGIN"
        " INSERT INTO sessions_search(sessions_search, rowid, title, objective)"
        " VALUES ('delete', old.seq, old.title, old.objective); END",
    ),
    (
        "sessions_search_change",
        {"sessions", "sessions_search"},
        "AFTER UPDATE OF title, objective ON sessions BEGIN"
        " INSERT INTO sessions_search(sessions_search, rowid, title, objective)"
        " VALUES ('delete', old.seq, old.title, old.objective);"
        " INSERT INTO sessions_search(rowid, title, objective)"
        " VALUES (new.seq, new.title, new.objective); END",
    ),
)


def run(db: Database, *statements: str) -> None:
    """Run statements one after another."""
    for statement in statements:
        db.conn.execute(statement)
