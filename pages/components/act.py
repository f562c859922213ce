"""What an element sends, and where it leads: an act and its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Act = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """A dialog over the page of a branch: which one, the side run, node or recap it is about,
    words of its own."""

    kind: str
    branch: str
    run: str | None = None
    text: str = ""
    node: str | None = None
    recap: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Where to go after an act; ``insert`` is for the composer, ``said`` for the person,
    ``sent`` the run whose request is to be shown, ``dialog`` what opens over the page.

    A ``branch`` of None stays on the view's; ``node`` and ``run`` of None leave theirs.
    """

    branch: str | None = None
    node: str | None = None
    run: str | None = None
    insert: str | None = None
    said: str = ""
    stay: bool = False
    sent: str | None = None
    dialog: Dialog | None = None
