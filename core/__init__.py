"""Turntree without a page: sessions, trees, branches and runs.

Everything that pages use, and that scripts may use, is named here.
"""

from core.branching import edit, fork, prune, prune_branch, restore, undo
from core.errors import TurntreeError
from core.runner import Queued, Runner
from core.store import Store
from core.types import Branch, Config, Node, Run, Session, Text
from core.view import View, show

__all__ = [
    "Branch",
    "Config",
    "Node",
    "Queued",
    "Run",
    "Runner",
    "Session",
    "Store",
    "Text",
    "TurntreeError",
    "View",
    "edit",
    "fork",
    "prune",
    "prune_branch",
    "restore",
    "show",
    "undo",
]
