"""What is taken away: the subjects of an export, and what a person wants of them.

Values only: bytes, runs and requests were fetched before, or are fetched by the functions held
here, so that a format knows neither the store nor a provider.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.types.carried import Record
from core.types.compared import Check, Comparison, Lane, Verdict
from core.types.kept import Branch, Config, Json, Node, Recap, Run, Session

Scope = Literal["answer", "branch", "tree", "comparison"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """What a person wants in the file. ``recaps``: folded shows that one is there, expanded its
    words too. ``pieces`` are of an answer: all of it, its code blocks or its tables alone."""

    thinking: bool = False
    tools: bool = True
    metadata: bool = True
    recaps: Literal["folded", "expanded", "none"] = "folded"
    pieces: Literal["all", "code", "tables"] = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTaken:
    """One answer, alone: exactly its words."""

    title: str
    node: Node
    branch: str = ""

    @property
    def text(self) -> str:
        """The words, with nothing around them."""
        return self.node.text


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTaken:
    """A lineage with all that is known of it.

    ``models`` names who answered, by node id, for imported answers too. ``files`` are the bytes
    of attachments by sha256. ``body`` gives the whole conversation as the JSON that a provider's
    server takes, ``script`` a Python program for it; both take a provider's name and raise
    ``UserError`` for what it cannot do. ``system`` is the system text as it is sent, ``checks``
    are what an answer of the session must pass.
    """

    session: Session
    branch: Branch
    nodes: tuple[Node, ...]
    config: Config
    runs: Mapping[str, Run] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    recaps: tuple[Recap, ...] = ()
    active_recap: Recap | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    body: Callable[[str], Json] | None = None
    script: Callable[[str], str] | None = None
    system: str = ""
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeTaken:
    """A session, whole. ``records`` yields every row of it, for the native format; ``tip_id`` is
    the end of the path that is open."""

    session: Session
    nodes: tuple[Node, ...]
    branches: tuple[Branch, ...]
    tip_id: str | None
    models: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    records: Callable[[], Iterator[Record]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTaken:
    """A column: its name (of a blind look "Answer A"), its messages, its figures by name, and the
    ``answer`` that counts: the one marked final, else the last."""

    name: str
    lane: Lane | None
    branch: Branch
    model: str
    nodes: tuple[Node, ...]
    answer: Node | None = None
    metrics: Mapping[str, str | float | int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How the last answer of one lane differs from that of another, as a unified diff."""

    of: str
    against: str
    diff: str
    likeness: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTaken:
    """Branches side by side. ``shared`` are the messages that all lanes have in common;
    ``verdicts`` are by the newest last, ``names`` tell a branch id's column."""

    session: Session
    comparison: Comparison | None
    name: str
    shared: tuple[Node, ...]
    lanes: tuple[LaneTaken, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    differences: tuple[Difference, ...] = ()


Taken = AnswerTaken | BranchTaken | TreeTaken | ComparisonTaken
