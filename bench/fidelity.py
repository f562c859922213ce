"""How well the fidelity check finds what a recap has lost: precision and recall over a set of
conversations with planted losses and of faithful recaps, written by someone who did not know
the check. One line of ``fidelity_items.jsonl`` is one conversation:

``{"id", "kind": "lossy"|"faithful", "messages": [{"role", "text"}], "recap",
"lost": [{"text", "kind"}]}``
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.fidelity import Finding, missing, overlap
from core.types import Node, Text

ITEMS = Path(__file__).with_name("fidelity_items.jsonl")


@dataclass(slots=True)
class Tally:
    """Counts over a set."""

    found: Counter[str] = field(default_factory=Counter)
    planted: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    true: int = 0
    alarms: int = 0
    faithful: int = 0
    quiet: int = 0

    @property
    def precision(self) -> float:
        """Findings that are true, of all."""
        return self.true / (self.true + self.alarms) if self.true + self.alarms else 1.0

    @property
    def recall(self) -> float:
        """Planted losses that were found, of all."""
        planted = sum(self.planted.values())
        return sum(self.found.values()) / planted if planted else 1.0


def nodes_of(messages: Iterable[dict[str, str]]) -> list[Node]:
    """Messages as nodes of a tree."""
    return [
        Node(
            id=str(number),
            session_id="",
            parent_id=None,
            role=message["role"],  # type: ignore[arg-type]
            parts=(Text(text=message["text"]),),
            author="person",
            created_at="",
        )
        for number, message in enumerate(messages)
    ]


def tally(items: Iterable[dict[str, Any]]) -> Tally:
    """Run the check over items, and count."""
    counts = Tally()
    for item in items:
        findings = missing(nodes_of(item["messages"]), item["recap"])
        lost = item.get("lost") or []
        _count(counts, findings, lost)
        if item["kind"] == "faithful":
            counts.faithful += 1
            counts.quiet += not findings
    return counts


def _count(counts: Tally, findings: Sequence[Finding], lost: Sequence[dict[str, str]]) -> None:
    for finding in findings:
        good = any(overlap(finding.text, planted["text"]) for planted in lost)
        counts.true += good
        counts.alarms += not good
        counts.false[finding.kind] += not good
    for planted in lost:
        counts.planted[planted["kind"]] += 1
        if any(overlap(finding.text, planted["text"]) for finding in findings):
            counts.found[planted["kind"]] += 1


def run() -> None:
    """Print the totals."""
    with ITEMS.open(encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines if line.strip()]
    counts = tally(items)
    print(f"Fidelity check, {len(items)} recaps ({counts.faithful} of them faithful)")
    print(f"precision {counts.precision:.3f} ({counts.true} of {counts.true + counts.alarms})")
    print(f"recall    {counts.recall:.3f}")
    print(f"faithful recaps without any false alarm: {counts.quiet} of {counts.faithful}")
    print(f"\n  {'planted':<14}{'found':>12}{'recall':>8}   false alarms")
    for kind, number in sorted(counts.planted.items()):
        found, share = f"{counts.found[kind]} of {number}", counts.found[kind] / number
        print(f"  {kind:<14}{found:>12}{share:>8.3f}   {counts.false[kind]}")
