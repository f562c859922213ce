"""What is taken of a comparison: lanes with their figures, verdicts and differences, as its page
shows them. While the look is blind, nothing here tells which model a lane is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations
from typing import Literal

from core.checks import results
from core.columns import Column, columns, letter, shuffled
from core.context import config_for
from core.diff import compare
from core.diff.alike import matches
from core.draft_history import final_draft
from core.errors import NotFound, UserError
from core.lane_facts import Facts, Total, differences, of_lane
from core.providers import adapters, model_info
from core.store import Store
from core.types import (
    Branch,
    Comparison,
    ComparisonTaken,
    Config,
    Difference,
    Json,
    Lane,
    LaneTaken,
    Node,
    Run,
    Session,
    Verdict,
)

Metric = str | float | int | None
_Op = Literal["replace", "delete", "insert", "equal"]
_ALL_PAIRS = 4  # lanes; of more, each is told against the first
_NANO = 1e9
_AROUND = 3  # lines of a diff that stayed


@dataclass(frozen=True, slots=True)
class _Column:
    """A column on its way out, under the name that may be told."""

    name: str
    lane: Lane | None
    branch: Branch
    config: Config
    lineage: tuple[Node, ...]
    draft: Node | None = None


def comparison(
    store: Store, session_id: str, comparison_id: str | None = None, branch_ids: Sequence[str] = ()
) -> ComparisonTaken:
    """A comparison as it stands, or some branches beside each other.

    Raises :class:`NotFound` for what the session does not have, ``UserError`` for fewer than one
    branch.
    """
    session = store.sessions.get(session_id)
    found = store.comparisons.get(comparison_id) if comparison_id else None
    if found is not None and found.session_id != session_id:
        raise NotFound("This session has no such comparison.", hint="Choose another one.")
    shown = _of_comparison(store, found) if found else _of_branches(store, session, branch_ids)
    if not shown:
        raise UserError("There is nothing to compare.", hint="Choose two branches or more.")
    blind = found is not None and found.blind
    common = _common(found, shown)
    shown = [replace(one, draft=_draft(store, session_id, one, common)) for one in shown]
    return ComparisonTaken(
        session=session,
        comparison=found,
        name=_called(found, shown),
        shared=shown[0].lineage[:common],
        lanes=tuple(_lanes(store, session, shown, common, blind=blind)),
        names={one.branch.id: one.name for one in shown},
        verdicts=_verdicts(store, found) if found else (),
        differences=tuple(_differences(shown)),
    )


# --- columns ------------------------------------------------------------------------------------


def _of_comparison(store: Store, found: Comparison) -> list[_Column]:
    known = columns(store, found)
    ordered = shuffled(found, known) if found.blind else known
    return [
        _column(one, f"Answer {letter(place)}" if found.blind else one.name)
        for place, one in enumerate(ordered)
    ]


def _column(one: Column, name: str) -> _Column:
    return _Column(
        name=name,
        lane=one.lane,
        branch=one.branch,
        config=one.config,
        lineage=tuple(one.lineage),
    )


def _of_branches(store: Store, session: Session, ids: Sequence[str]) -> list[_Column]:
    shown = []
    for branch_id in dict.fromkeys(ids):
        branch = store.branches.get(branch_id)
        if branch.session_id != session.id:
            raise NotFound("This session has no such branch.", hint="Choose another one.")
        shown.append(
            _Column(
                name=branch.name,
                lane=None,
                branch=branch,
                config=config_for(session, branch),
                lineage=tuple(store.nodes.lineage(branch.tip_id)),
            )
        )
    return shown


def _common(found: Comparison | None, shown: Sequence[_Column]) -> int:
    """How many messages stand above the lanes: those that all have, but nothing after the
    message of a fan-out, and nothing of a lane that is alone."""
    common = 0
    if len(shown) > 1:
        for nodes in zip(*(one.lineage for one in shown), strict=False):
            if len({node.id for node in nodes}) > 1:
                break
            common += 1
    for place, node in enumerate(shown[0].lineage, 1):
        if found is not None and node.id == found.at_id:
            return min(common, place) if len(shown) > 1 else place
    return common


def _draft(store: Store, session_id: str, one: _Column, common: int) -> Node | None:
    """The answer of a lane that counts: its own final one or last one, else one that all share."""
    own = final_draft(store, session_id, one.lineage[common:])
    return own or final_draft(store, session_id, one.lineage)


def _called(found: Comparison | None, shown: Sequence[_Column]) -> str:
    if found is None:
        return " | ".join(one.name for one in shown)
    # While it is blind its name may be made of those of the lanes.
    return "Blind look" if found.blind else found.name


def _lanes(
    store: Store, session: Session, shown: Sequence[_Column], common: int, *, blind: bool
) -> Iterator[LaneTaken]:
    told = differences([one.config for one in shown])
    drafts = [one.draft.id for one in shown if one.draft]
    runs = store.runs.of_nodes(drafts)
    checks = store.verdicts.checks(session.id)
    for one, differ in zip(shown, told, strict=True):
        last, total = of_lane(store, one.lineage, common)
        metrics = {} if blind else _settings(one.config, differ)
        metrics |= _figures(last, total, blind=blind)
        text = one.draft.text if one.draft else ""
        for result in results(checks, text) if text.strip() else ():
            passed = {True: "passed", False: "failed", None: "could not be checked"}
            metrics[f"Check: {result.name}"] = passed[result.passed]
        model = "" if blind else _model(one.config, runs.get(one.draft.id) if one.draft else None)
        yield LaneTaken(
            name=one.name,
            lane=one.lane,
            branch=_nameless(one) if blind else one.branch,
            model=model,
            nodes=tuple(_bare(node) for node in one.lineage[common:])
            if blind
            else one.lineage[common:],
            answer=_bare(one.draft) if one.draft and blind else one.draft,
            metrics=metrics,
        )


def _nameless(one: _Column) -> Branch:
    """The branch without what tells whose lane it is."""
    return replace(one.branch, name=one.name, note="", status="", config=None, linked_to=None)


def _bare(node: Node) -> Node:
    """The message without its provider's own items."""
    return replace(node, raw=None)


def _model(config: Config, run: Run | None) -> str:
    """Who answered, else who would."""
    asked = run.config if run else config
    label = model_info(asked.provider, asked.model).label or asked.model
    name = run.resolved_model if run and run.resolved_model and label == asked.model else label
    found = adapters().get(asked.provider)
    return f"{name or 'no model'} · {found.label if found else asked.provider}"


# --- figures ------------------------------------------------------------------------------------


def _settings(config: Config, differ: Mapping[str, Json]) -> dict[str, Metric]:
    """The settings, besides the model, that the other lanes do not share."""
    knobs = {knob.name: knob.label for knob in model_info(config.provider, config.model).knobs}
    labels = {"system": "System prompt", "policy": "Sends", "keep_turns": "Last turns", **knobs}
    told: dict[str, Metric] = {}
    for name, value in differ.items():
        if name != "model":
            plain = isinstance(value, str | int | float) and not isinstance(value, bool)
            told[labels.get(name, name)] = value if plain or value is None else str(value)
    return told


def _figures(last: Facts | None, total: Total, *, blind: bool) -> dict[str, Metric]:
    """The last answer in numbers, and the sums of all. The same names for every lane."""
    length: dict[str, Metric] = {
        "Words": last.words if last else None,
        "Characters": last.characters if last else None,
        "Reading grade": last.grade if last else None,
    }
    if blind:
        return length
    return {
        "Ended": last.finish if last else None,
        "Input tokens": last.input_tokens if last else None,
        "Output tokens": last.output_tokens if last else None,
        "Cached share": last.cached if last else None,
        "Cost (USD)": _dollars(last.cost_nanodollars) if last else None,
        "First word (ms)": last.first_token_ms if last else None,
        "Took (ms)": last.duration_ms if last else None,
        "Replayed": ("yes" if last.replayed else "no") if last else None,
        **length,
        "All answers": total.answers,
        "All: input tokens": total.input_tokens,
        "All: output tokens": total.output_tokens,
        "All: cost (USD)": _dollars(total.cost_nanodollars),
        "All: of unknown cost": total.unknown_cost,
        "All: took (ms)": total.duration_ms,
    }


def _dollars(nanodollars: int | None) -> float | None:
    return None if nanodollars is None else nanodollars / _NANO


# --- verdicts -----------------------------------------------------------------------------------


def _verdicts(store: Store, found: Comparison) -> tuple[Verdict, ...]:
    """The newest last. In a blind look a judge's that left out its own model's answers is told
    without its scores: whom they leave out would be known."""
    known = reversed(store.verdicts.of(found.session_id, comparison_id=found.id))
    return tuple(_untelling(one) if found.blind else one for one in known)


def _untelling(verdict: Verdict) -> Verdict:
    body = verdict.body if isinstance(verdict.body, dict) else {}
    if not body.get("own") or body.get("own_judged"):
        return verdict
    return replace(verdict, ratings={}, winner=None, tie=False, tips={}, body=None)


# --- differences --------------------------------------------------------------------------------


def _differences(shown: Sequence[_Column]) -> Iterator[Difference]:
    """Of each pair; of many lanes, of each against the first."""
    answered = [one for one in shown if one.draft and one.draft.text.strip()]
    pairs = list(combinations(answered, 2))
    if len(answered) > _ALL_PAIRS:
        pairs = [(answered[0], one) for one in answered[1:]]
    for one, other in pairs:
        old, new = (one.draft.text if one.draft else "", other.draft.text if other.draft else "")
        yield Difference(
            of=one.name,
            against=other.name,
            diff=unified(old, new, one.name, other.name),
            likeness=round(compare(old, new).share, 4),
        )


def unified(old: str, new: str, old_name: str, new_name: str) -> str:
    """From one text to another as a unified diff; empty where they are the same."""
    before, after = old.split("\n"), new.split("\n")
    told: list[str] = []
    for group in _told(before, after).get_grouped_opcodes(_AROUND):
        i, k = group[0][1], group[0][3]
        told.append(f"@@ -{i + 1},{group[-1][2] - i} +{k + 1},{group[-1][4] - k} @@")
        for op, a, b, c, d in group:
            if op == "equal":
                told += [f" {line}" for line in before[a:b]]
            else:
                told += [f"-{line}" for line in before[a:b]]
                told += [f"+{line}" for line in after[c:d]]
    heads = [f"--- {' '.join(old_name.split())}", f"+++ {' '.join(new_name.split())}"]
    return "\n".join([*heads, *told]) + "\n" if told else ""


class _Known(SequenceMatcher[str]):
    """The standard library's grouping, over steps that were found in time that is bounded."""

    def __init__(self, steps: list[tuple[_Op, int, int, int, int]]) -> None:
        super().__init__(None, "", "", autojunk=False)
        self._steps = steps

    def get_opcodes(self) -> list[tuple[_Op, int, int, int, int]]:
        """The steps from one text to the other."""
        return self._steps


def _told(before: Sequence[str], after: Sequence[str]) -> _Known:
    codes: list[tuple[_Op, int, int, int, int]] = []
    i = k = 0
    for a, b, size in [*matches(before, after), (len(before), len(after), 0)]:
        if i < a or k < b:
            op: _Op = "insert" if i == a else "delete" if k == b else "replace"
            codes.append((op, i, a, k, b))
        if size:
            codes.append(("equal", a, a + size, b, b + size))
        i, k = a + size, b + size
    return _Known(codes)
