"""Messages and runs as the thread element takes them: names, numbers and badges, no words."""

from dataclasses import asdict
from typing import Any

from core import origins
from core.providers import model_info
from core.store import Store
from core.types import Run
from core.view import WINDOW, View, entries


def entry_page(
    store: Store, view: View, *, before: str | None = None, limit: int = WINDOW
) -> tuple[list[dict[str, Any]], bool]:
    """Entries of the view, oldest first, ready for the element; and whether older ones exist."""
    origins.settle(store, view.session.id, view.branch.id, view.lineage)
    found, more = entries(store, view, before=before, limit=limit)
    made_of = _origins(store, view.session.id, [entry["id"] for entry in found])
    models = store.imports.models(entry["id"] for entry in found if entry["author"] == "import")
    for entry in found:
        entry["siblings"] = asdict(entry["siblings"]) if entry["siblings"] else None
        entry["forks"] = [{"branch_id": b.id, "name": b.name} for b in entry["forks"]]
        entry["run"] = run_summary(entry["run"]) if entry["run"] else None
        entry["origins"] = made_of.get(entry["id"], [])
        entry["model"] = models.get(entry["id"])
    return found, more


def _origins(store: Store, session_id: str, ids: list[str]) -> dict[str, list[dict[str, str]]]:
    """Node id to where its words came from: what was done, the node, the name of its branch."""
    found = store.comparisons.origins(ids)
    if not found:
        return {}
    both = [*store.branches.of(session_id), *store.branches.of(session_id, binned=True)]
    names = {branch.id: branch.name for branch in both}
    return {
        node_id: [
            {
                "kind": one.kind,
                "node": one.origin_id,
                "name": names.get(one.branch_id or "", "an earlier message"),
            }
            for one in of
        ]
        for node_id, of in found.items()
    }


def run_summary(run: Run) -> dict[str, Any]:
    """What stands under an answer."""
    return {
        "id": run.id,
        "provider": run.config.provider,
        "model": run.config.model,
        "label": model_label(run),
        "finish": run.finish_reason,
        "first_token_ms": run.first_token_ms,
        "duration_ms": run.duration_ms,
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
        "cached_tokens": run.usage.cached_tokens,
        "cost": money(run.cost_nanodollars),
    }


def run_facts(run: Run) -> dict[str, Any]:
    """What a running answer is."""
    return {
        "run": run.id,
        "branch": run.branch_id,
        "context_tip": run.context_tip_id,
        "model": model_label(run),
        "provider": run.config.provider,
        "purpose": run.purpose,
    }


def model_label(run: Run) -> str:
    """The model's name for people; the one that really answered, when it has no such name."""
    label = model_info(run.config.provider, run.config.model).label
    return run.resolved_model or label if label == run.config.model else label


def money(nanodollars: int | None) -> str | None:
    """An amount in words; None stays unknown."""
    if nanodollars is None:
        return None
    if 0 < nanodollars < 50_000:  # "$0.0000" would say that it was nothing
        return "<$0.0001"
    return "free" if nanodollars == 0 else f"${nanodollars / 1e9:.4f}"
