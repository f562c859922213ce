"""Three-way merge by meaning: the rule, what is read of a model's list, where the text goes."""

import json
from dataclasses import replace

import pytest

from core import Run, Runner, Session, Store, fork
from core.errors import UserError
from core.merging import (
    Pair,
    ask,
    boundary,
    by_sentences,
    merge_call,
    pair,
    place,
    read,
    standing,
)
from core.origins import brought, settle
from core.points import Decision, Merged, Point, combine, decided, written
from core.recap import choices_of
from core.types import Branch
from tests.conftest import ECHO
from tests.unit.house import ask as send
from tests.unit.house import grow, parts, path_of

# --- the rule: before, a, b -> what becomes of it ---

TABLE = [
    ("x", "x", "x", "taken x neither"),
    ("x", "x.", "X", "taken x neither"),  # case and marks change nothing
    ("x", "y", "x", "taken y a"),
    ("x", "x", "y", "taken y b"),
    ("x", "y", "y", "taken y both"),
    ("x", "y", "z", "conflict"),
    (None, "y", None, "taken y a"),
    (None, None, "y", "taken y b"),
    (None, "y", "y", "taken y both"),
    (None, "y", "z", "conflict"),
    ("x", None, "x", "gone"),
    ("x", "x", None, "gone"),
    ("x", None, None, "gone"),
    ("x", None, "y", "conflict"),
    ("x", "y", None, "conflict"),
]


def outcome(merged: Merged) -> str:
    if merged.taken:
        (one,) = merged.taken
        return f"taken {one.text} {one.side}"
    return "conflict" if merged.conflicts else "gone"


@pytest.mark.parametrize(("before", "a", "b", "expected"), TABLE)
def test_each_point_is_settled_by_rule(
    before: str | None, a: str | None, b: str | None, expected: str
) -> None:
    merged = combine([Point(kind="fact", before=before, a=a, b=b)])
    assert outcome(merged) == expected
    assert len(merged.taken) + len(merged.conflicts) + len(merged.gone) == 1
    mirrored = outcome(combine([Point(kind="fact", before=before, a=b, b=a)]))
    swapped = {"a": "b", "b": "a"}
    *rest, side = expected.split(" ")
    assert mirrored == " ".join([*rest, swapped.get(side, side)])


CONFLICT = Point(kind="fact", topic="Budget", before="It is 8.", a="It is 10.", b="It is 12.")
GONE = Point(kind="decision", topic="Place", before="Porto.", a=None, b="Lisbon.")


@pytest.mark.parametrize(
    ("decision", "facts"),
    [
        (Decision(choice="a"), "Facts:\n- It is 10."),
        (Decision(choice="b"), "Facts:\n- It is 12."),
        (Decision(choice="both"), "Facts:\n- It is 10.\n- It is 12."),
        (Decision(choice="own", words=" It is\n11. "), "Facts:\n- It is 11."),
        (None, "Open questions:\n- Still to be decided. Budget: It is 10. Or: It is 12."),
    ],
)
def test_a_conflict_becomes_what_the_person_decides(decision: Decision | None, facts: str) -> None:
    merged = combine([CONFLICT])
    decisions = {0: decision} if decision else {}
    assert written(merged, decisions) == facts
    assert decided(merged, decisions) is (decision is not None)


def test_own_words_must_be_there_and_what_was_taken_back_can_stay_out() -> None:
    merged = combine([GONE])
    assert not decided(merged, {0: Decision(choice="own", words=" ")})
    assert written(merged, {0: Decision(choice="a")}) == ""
    assert written(merged, {}) == (
        "Open questions:\n- Still to be decided. Place: (leave it out) Or: Lisbon."
    )


def test_the_text_has_its_headings_in_order_and_says_nothing_twice() -> None:
    points = [
        Point(kind="question", a="Who books?"),
        Point(kind="fact", before="18 people.", a="18 people.", b="18 people."),
        Point(kind="fact", b="18 people."),
        Point(kind="constraint", b="Vegetarian."),
        Point(kind="decision", a="Porto."),
    ]
    assert written(combine(points), {}) == (
        "Decisions:\n- Porto.\n\nConstraints:\n- Vegetarian.\n\nFacts:\n- 18 people.\n\n"
        "Open questions:\n- Who books?"
    )


# --- reading ---


def told(*points: dict[str, object]) -> str:
    return json.dumps({"points": list(points)})


GOOD: dict[str, object] = {
    "kind": "Decision",
    "topic": "Place",
    "before": None,
    "a": "Porto.",
    "b": None,
}


@pytest.mark.parametrize(
    "text",
    [
        told(GOOD),
        f"Here it is:\n```json\n{told(GOOD)}\n```\nDone.",
        json.dumps([GOOD]),
        json.dumps({"items": [GOOD]}),
        told(GOOD)[:-2],  # its end is missing
        told(GOOD, {"kind": "fact", "before": "null", "a": "", "b": " - "}),
        told(GOOD, {"kind": "fact", "topic": "no sides"}),
    ],
)
def test_a_list_is_read_whatever_stands_around_it(text: str) -> None:
    assert read(text) == (Point(kind="decision", topic="Place", a="Porto."),)


@pytest.mark.parametrize("text", ["", "I cannot.", "{", told(), '{"points": "none"}', '["a", "b"]'])
def test_what_is_no_list_is_not_read(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("facts", "fact"),
        ("Decisions", "decision"),
        ("requirement", "constraint"),
        ("open_question", "question"),
        ("Questions", "question"),
        ("whatever", "fact"),
        (7, "fact"),
    ],
)
def test_kinds_are_taken_as_they_are_meant(name: object, kind: str) -> None:
    (point,) = read(told(GOOD | {"kind": name, "a": 7})) or ()
    assert (point.kind, point.a) == (kind, "7")


# --- two branches ---

SHARED = ("Plan an offsite.", "It is in Porto. The budget is 8,000 euros.")


def apart(store: Store, main: str, *shared: str) -> tuple[Pair, Branch]:
    nodes = grow(store, main, *shared)
    other = fork(store, nodes[-1].id, from_branch=main, name="other")
    if nodes[-1].role == "assistant":
        grow(store, main, "It must be vegetarian.", "The budget is 10,000 euros.")
        grow(store, other.id, "We decided on May.", "The budget is 12,000 euros.")
    else:
        grow(store, main, "It is in Porto.")
        grow(store, other.id, "It is in Lisbon.")
    return pair(store, main, other.id), other


def test_the_model_is_told_what_is_shared_and_how_each_goes_on_and_no_name(
    runner: Runner, session: Session, main: str
) -> None:
    runner.store.sessions.change(session.id, objective="A calm plan")
    found, _ = apart(runner.store, main, *SHARED)
    run = runner.wait(ask(runner, found, ECHO).id, 10)
    (message,) = runner.store.runs.sent(run.id).messages
    text = str(message["text"])
    before, rest = text.split("How A goes on:")
    a, b = rest.split("How B goes on:")
    assert "A calm plan" in before
    assert SHARED[1] in before
    assert "vegetarian" in a
    assert "May" in b.split("List each fact")[0]
    assert "vegetarian" not in b.split("List each fact")[0]
    assert "other" not in text
    assert (run.purpose, run.context_tip_id) == ("merge", found.before[-1].id)


def test_nothing_to_merge_where_one_holds_the_other(store: Store, main: str) -> None:
    nodes = grow(store, main, "u", "a")
    other = fork(store, nodes[1].id, from_branch=main)
    with pytest.raises(UserError, match="nothing to merge"):
        pair(store, main, other.id)
    with pytest.raises(UserError, match="nothing to merge"):
        pair(store, main, main)


def ended(runner: Runner, found: Pair, said: str, **more: object) -> Run:
    """A run of a merge that came back with these words."""
    run = runner.wait(ask(runner, found, ECHO).id, 10)
    return replace(run, partial=parts(said), **more)  # type: ignore[arg-type]


def test_what_cannot_be_read_is_asked_once_more_and_then_compared_without_a_model(
    runner: Runner, session: Session, main: str
) -> None:
    found, _ = apart(runner.store, main, *SHARED)
    bad, good = ended(runner, found, "Sorry?"), ended(runner, found, told(GOOD))
    stopped = ended(runner, found, "Sor", finish_reason="stopped")
    assert standing(found, [bad]).state == "again"
    assert standing(found, [bad, good]).state == "told"
    assert standing(found, [bad, good]).points == read(told(GOOD))
    plain = standing(found, [bad, bad])
    assert (plain.state, plain.points) == ("plain", by_sentences(found))
    assert standing(found, [stopped]).state == "failed"
    assert standing(found, [stopped, bad]).state == "again"  # being stopped is no try
    assert standing(found, [bad, stopped]).state == "failed"
    cut = ended(runner, found, told(GOOD)[:-2], finish_reason="length")
    assert standing(found, [cut]).state == "told"


def test_without_a_model_what_one_side_does_not_repeat_still_holds(
    store: Store, session: Session, main: str
) -> None:
    found, _ = apart(store, main, *SHARED)
    merged = combine(by_sentences(found))
    assert [(one.text, one.side, one.point.kind) for one in merged.taken] == [
        ("Plan an offsite.", "neither", "fact"),
        ("It is in Porto.", "neither", "fact"),
        ("It must be vegetarian.", "a", "constraint"),
        ("We decided on May.", "b", "decision"),
    ]
    assert merged.conflicts == (
        Point(
            kind="fact",
            before="The budget is 8,000 euros.",
            a="The budget is 10,000 euros.",
            b="The budget is 12,000 euros.",
        ),
    )
    assert merged.gone == ()


# --- placing ---


def test_the_recap_goes_along_with_the_next_message_of_the_new_branch(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    found, other = apart(store, main, *SHARED)
    placed = place(store, found, "Facts:\n- Porto.", ("main", "other"))
    assert placed.insert is None
    made = placed.branch
    assert (made.name, made.note) == ("merged · main + other", "Merged from main and other.")
    assert path_of(store, made) == [*SHARED]
    recap = choices_of(store, made.id).recap
    assert recap is not None
    assert (recap.text, recap.covers_to) == ("Facts:\n- Porto.", found.before[-1].id)
    run = send(runner, made.id, "/context")
    (message,) = store.runs.sent(run.id).messages
    assert message["text"] == ("To recap what we've decided so far:\nFacts:\n- Porto.\n\n/context")
    lineage = store.nodes.lineage(store.branches.get(made.id).tip_id)
    settle(store, session.id, made.id, lineage)
    origins = store.comparisons.origins([lineage[2].id])[lineage[2].id]
    assert {(one.origin_id, one.kind, one.branch_id) for one in origins} == {
        (found.of_a[-1].id, "merge", main),
        (found.of_b[-1].id, "merge", other.id),
    }
    assert brought(store, session.id) == []


def test_where_the_branches_part_at_a_question_the_recap_ends_before_it(
    store: Store, session: Session, main: str
) -> None:
    found, _ = apart(store, main, *SHARED, "And where exactly?")
    assert found.before[-1].role == "user"
    at = boundary(found.before)
    assert at is not None
    assert at.text == SHARED[1]
    made = place(store, found, "All of it", ("a", "b")).branch
    assert made.tip_id == at.id


def test_where_no_answer_is_shared_the_text_is_the_first_message(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    found, other = apart(store, main, SHARED[0])
    assert boundary(found.before) is None
    placed = place(store, found, "Facts:\n- It is in Porto or Lisbon.", ("main", "other"))
    assert placed.insert == "Facts:\n- It is in Porto or Lisbon.\n\n"
    assert placed.branch.tip_id is None
    assert choices_of(store, placed.branch.id).recap is None
    run = send(runner, placed.branch.id, f"{placed.insert}Go on")
    lineage = store.nodes.lineage(run.context_tip_id)
    settle(store, session.id, placed.branch.id, lineage)
    origins = store.comparisons.origins([lineage[0].id])[lineage[0].id]
    assert {one.branch_id for one in origins} == {main, other.id}


def test_an_empty_text_and_a_place_in_the_bin_are_refused(
    store: Store, session: Session, main: str
) -> None:
    found, _ = apart(store, main, *SHARED)
    with pytest.raises(UserError, match="empty"):
        place(store, found, " ", ("a", "b"))
    store.branches.add_bin(session.id, found.before[0].id, [], "it")
    with pytest.raises(UserError, match="in the bin"):
        place(store, found, "x", ("a", "b"))
    assert len(store.branches.of(session.id)) == 2


def test_braces_in_the_words_are_words(session: Session, store: Store, main: str) -> None:
    found, _ = apart(store, main, "Use {name} and {0}.", "Yes, {}.")
    call = merge_call(session, found, ECHO)
    (part,) = call.messages[0].parts
    assert "Use {name} and {0}." in part.text  # type: ignore[union-attr]
    assert '{"points": [{"kind"' in part.text  # type: ignore[union-attr]
