"""All SQL of Turntree, in one SQLite file. One room a topic; every write is a transaction."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from core.store.attachments import Attachments
from core.store.branches import Branches
from core.store.comparisons import Comparisons
from core.store.copies import Copies
from core.store.database import Database, open_database
from core.store.drafts import Drafts
from core.store.imports import Imports
from core.store.jobs import Jobs
from core.store.ledger import Ledger
from core.store.library import Library
from core.store.nodes import Nodes
from core.store.portable import Portable
from core.store.preferences import Preferences
from core.store.providers import Providers
from core.store.queue import Queue
from core.store.recaps import Recaps
from core.store.requirements import Requirements
from core.store.runs import Runs
from core.store.search import Search
from core.store.sessions import Sessions
from core.store.traces import Traces
from core.store.verdicts import Verdicts


class Store:
    """The open database. ``with store.write():`` makes several writes one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.path = db.path
        self.write = db.write
        self.sessions = Sessions(db)
        self.nodes = Nodes(db)
        self.branches = Branches(db)
        self.recaps = Recaps(db)
        self.requirements = Requirements(db)
        self.runs = Runs(db)
        self.attachments = Attachments(db)
        self.search = Search(db)
        self.providers = Providers(db)
        self.ledger = Ledger(db)
        self.drafts = Drafts(db)
        self.library = Library(db)
        self.queue = Queue(db)
        self.comparisons = Comparisons(db)
        self.jobs = Jobs(db)
        self.verdicts = Verdicts(db)
        self.imports = Imports(db)
        self.preferences = Preferences(db)
        self.traces = Traces(db)
        self.copies = Copies(db)
        self.portable = Portable(db)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open or create the file. Raises a :class:`core.errors.StoreError` if that fails."""
        return cls(open_database(Path(path)))

    def close(self) -> None:
        """Close every connection."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
