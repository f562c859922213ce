"""Markdown: the final answer alone, or a branch as a readable transcript."""

import re
from collections.abc import Mapping, Sequence

from core.tree import turns
from core.types import AttachmentRef, Branch, Node, Run, Session

_SPEAKER = {"user": "You", "assistant": "Model", "system": "System", "tool": "Tool"}

_NAME_BYTES = 120  # file systems take 255


def answer(node: Node) -> str:
    """Exactly the words of an answer, with no chat around it."""
    return node.text


def branch(
    session: Session, branch: Branch, lineage: Sequence[Node], runs: Mapping[str, Run]
) -> str:
    """A transcript: objective, then every message under its turn and its model."""
    lines = [f"# {session.title}", "", f"Branch: {branch.name}"]
    if session.objective:
        lines += ["", f"**Objective:** {session.objective}"]
    if session.done_when:
        lines += ["", f"**Done when:** {session.done_when}"]
    for node, turn in zip(lineage, turns(lineage), strict=True):
        lines += ["", f"## Turn {turn} · {_speaker(node, runs.get(node.id))}", ""]
        lines += filter(None, [_attached(node), node.text])
    return "\n".join(lines).rstrip() + "\n"


def file_name(title: str, suffix: str = "") -> str:
    """A name for the file that every system takes."""
    words = "-".join(re.findall(r"\w+", title.lower())[:8])
    short = words.encode()[:_NAME_BYTES].decode(errors="ignore").strip("-")
    return ("-".join(filter(None, [short, suffix])) or "turntree") + ".md"


def _attached(node: Node) -> str:
    """The names of a message's files; their bytes stay in the database."""
    names = [part.name.replace("`", "'") for part in node.parts if isinstance(part, AttachmentRef)]
    return f"Attached: {', '.join(f'`{name}`' for name in names)}\n" if names else ""


def _speaker(node: Node, run: Run | None) -> str:
    speaker = (run.resolved_model or run.config.model) if run else _SPEAKER[node.role]
    return f"{speaker} (edited by hand)" if node.author == "hand-edited" else speaker
