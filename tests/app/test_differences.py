"""The tab of differences and the drafts of a branch, without a browser."""

import json
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core import Runner, Session, Store, show
from core.branching import edit
from core.columns import columns, shuffled
from core.diff import compare
from core.errors import NotFound, UserError
from core.lanes import side_by_side
from core.types import Comparison, Text
from pages import backend
from pages.components import acts, diff_html, differences
from tests.app.conftest import Open, conversation, said, sound
from tests.unit.house import grow, until

ONE = "It costs 12,000 euros & leaves <b>Porto</b> on 14 May 2026."
TWO = "It costs 15,500 euros & leaves <b>Lisbon</b> on 14 May 2026. Marta Oliveira agrees."


@pytest.fixture
def runner() -> Iterator[Runner]:
    """The runner that the pages use, with nothing left running."""
    yield backend.runner()
    until(lambda: not backend.runner().store.runs.not_ended())


@pytest.fixture
def session(store: Store) -> Session:
    return conversation(store, "Plan it", "A first try", "Once more", ONE, title="Offsite")


@pytest.fixture
def comparison(store: Store, session: Session) -> Comparison:
    main = str(session.current_branch_id)
    asked = store.nodes.lineage(store.branches.get(main).tip_id)[2]
    other = store.branches.create(session.id, "bolder", asked.id, forked_from=asked.id)
    grow(store, other.id, TWO)
    return side_by_side(store, session.id, [main, other.id])


@pytest.fixture
def tab(app: Open, comparison: Comparison) -> Callable[..., AppTest]:
    def open_tab(**address: str) -> AppTest:
        test = app("compare.py")
        wanted = {"comparison": comparison.id, "tab": "Differences", **address}
        for name, value in wanted.items():
            test.query_params[name] = value
        return sound(test.run())

    return open_tab


def html(test: AppTest) -> str:
    return "\n".join(one.proto.body for one in test.get("html"))


def menu(test: AppTest, label: str):  # type: ignore[no-untyped-def]
    return next(one for one in test.selectbox if one.label == label)


def test_what_is_alike_stands_above_the_difference_of_the_final_drafts(
    tab: Callable[..., AppTest],
) -> None:
    shown = html(tab())
    assert "Both say" in shown
    assert '<span class="fact">14 May 2026</span>' in shown
    assert "Only bolder says" in shown
    assert '<span class="fact">15,500 euros</span>' in shown
    assert "<del>12,000</del><ins>15,500</ins>" in shown
    assert "&lt;b&gt;" in shown
    assert "<b>Porto" not in shown


def test_it_is_shown_inline_or_side_by_side(tab: Callable[..., AppTest]) -> None:
    test = tab()
    (how,) = [one for one in test.button_group if one.label == "How to show what differs"]
    how.set_value(["Side by side"] if isinstance(how.value, list) else "Side by side")
    shown = html(sound(test.run()))
    assert 'aria-label="What differs, side by side"' in shown


def test_any_two_answers_are_compared_by_their_turns(
    tab: Callable[..., AppTest], store: Store, comparison: Comparison
) -> None:
    test = tab(diff="turns")
    first = menu(test, "From: answer")
    assert [*first.options] == ["Turn 1", "Turn 2 · final draft"]
    first.select_index(0)
    sound(test.run())
    assert "only in main, turn 1" in html(test)
    assert "A first try" in html(test)
    lane = store.comparisons.lanes(comparison.id)[1]
    same = tab(diff="turns", old=lane.id, new=lane.id)
    assert "Choose two different answers." in said(same)


def test_the_answer_that_is_marked_final_is_the_one_that_is_compared(
    tab: Callable[..., AppTest], store: Store, session: Session
) -> None:
    main = store.branches.get(str(session.current_branch_id))
    early = store.nodes.lineage(main.tip_id)[1]
    store.nodes.mark(early.id, "final", "2026-01-01T00:00:00.000Z")
    assert "A first try" in html(tab())


def test_a_blind_look_names_nobody(
    tab: Callable[..., AppTest], store: Store, comparison: Comparison
) -> None:
    store.comparisons.set_blind(comparison.id, True)
    test = tab()
    assert [*menu(test, "From").options] == ["A", "B"]
    body = html(test)
    assert "Only A says" in body
    assert "bolder" not in body
    history = tab(diff="history")
    (drafts,) = history.radio
    assert [*menu(history, "Branch").options] == ["A", "B"]
    assert "echo" not in str(drafts.proto.captions).casefold()


def test_a_model_compares_them_under_letters_and_its_words_stay(
    tab: Callable[..., AppTest], store: Store, runner: Runner, comparison: Comparison
) -> None:
    store.sessions.change(
        comparison.session_id,
        objective="/aside " + json.dumps({"reply": "Both <i>cost</i> money."}),
    )
    test = tab()
    next(one for one in test.button if one.label == "Compare in words").click()
    sound(test.run())
    until(lambda: not runner.store.runs.not_ended())
    again = tab()  # another tab, or after a reload
    assert "Both &lt;i&gt;cost&lt;/i&gt; money." in html(again)
    assert "Text A is main · Text B is bolder" in said(again)
    assert "Compare again" in [one.label for one in again.button]
    (run,) = store.runs.side(comparison.session_id, "compare")
    (message,) = store.runs.sent(run.id).messages
    assert ONE in message["text"]
    for name in ("main", "bolder", "echo-1"):
        assert name not in message["text"]


def test_what_was_compared_is_told_when_it_is_another_by_now(
    tab: Callable[..., AppTest], store: Store, runner: Runner, comparison: Comparison
) -> None:
    test = tab()
    next(one for one in test.button if one.label == "Compare in words").click()
    sound(test.run())
    until(lambda: not runner.store.runs.not_ended())
    assert "others by now" not in said(tab())
    grow(store, store.comparisons.lanes(comparison.id)[0].branch_id, "Shorter", "Very short.")
    assert "others by now" in said(tab())


def test_a_column_without_an_answer_says_so(
    tab: Callable[..., AppTest], store: Store, session: Session, comparison: Comparison
) -> None:
    empty = store.branches.create(session.id, "still empty", None)
    store.comparisons.add_lane(comparison.id, empty.id)
    assert "still empty has no answer yet." in said(tab())


def test_letters_follow_the_order_of_the_blind_look(
    store: Store, runner: Runner, comparison: Comparison
) -> None:
    store.comparisons.set_blind(comparison.id, True)
    blind = store.comparisons.get(comparison.id)
    found = columns(store, blind)
    shown = differences.named(runner, blind, found)
    assert [one.column.lane.id for one in shown] == [c.lane.id for c in shuffled(blind, found)]
    assert [one.name for one in shown] == ["A", "B"]


# --- the drafts of a branch ----------------------------------------------------------------------


def test_the_history_tells_who_made_what_of_it(
    tab: Callable[..., AppTest], store: Store, session: Session
) -> None:
    main = store.branches.get(str(session.current_branch_id))
    edit(store, main.id, str(main.tip_id), (Text(text=ONE.replace("14", "15")),))
    test = tab(diff="history")
    (drafts,) = test.radio
    assert [*drafts.options] == [
        "Draft 3 · turn 2",
        "Draft 2 · turn 2",
        "Draft 1 · turn 1",
    ]
    assert "you, by hand" in drafts.proto.captions[0]
    assert "+1 \u22121 words" in drafts.proto.captions[0]
    assert "<del>14</del><ins>15</ins>" in html(test)
    drafts.set_value(drafts.value)


def test_the_act_opens_the_history_of_a_branch_of_this_session(
    runner: Runner, session: Session, comparison: Comparison, store: Store
) -> None:
    view = show(store, session.id)
    other = next(b for b in store.branches.of(session.id) if b.name == "bolder")
    result = acts.perform(runner, view, {"action": "drafts", "branch": other.id})
    assert result.branch == other.id
    assert result.dialog is not None
    assert (result.dialog.kind, result.dialog.branch) == ("drafts", other.id)
    empty = store.branches.create(session.id, "empty", None)
    with pytest.raises(UserError, match="no draft"):
        acts.perform(runner, view, {"action": "drafts", "branch": empty.id})
    strange = store.sessions.create(config=session.config, title="x")
    with pytest.raises(NotFound):
        acts.perform(runner, view, {"action": "drafts", "branch": strange.current_branch_id})


# --- as HTML -------------------------------------------------------------------------------------

HOSTILE = (
    "<img src=x onerror=alert(1)>\n\n| <a> | b |\n|---|---|\n| <i>c</i> | 'd\" |\n\n```\n<u>\n```"
)


@pytest.mark.parametrize("fold", [True, False])
def test_every_word_is_escaped(fold: bool) -> None:
    for old, new in ((HOSTILE, ""), ("", HOSTILE), (HOSTILE, HOSTILE + " x"), (HOSTILE, "<p>")):
        found = compare(old, new)
        for shown in (
            diff_html.inline(found, fold=fold),
            diff_html.beside(found, "<old>", "<new>", fold=fold),
        ):
            for tag in ("<img", "<a>", "<i>", "<u>", "<p>", "<old>", "<new>"):
                assert tag not in shown


def test_long_stretches_that_stayed_are_folded() -> None:
    same = "All of this stays. " * 60
    found = compare(f"{same}\n\nOld end.", f"{same}\n\nNew end.")
    assert "240 words the same</summary>" in diff_html.inline(found, fold=True)
    assert "<details" not in diff_html.inline(found, fold=False)
    within = diff_html.inline(compare(f"a {same} b", f"c {same} d"), fold=True)
    assert "<details" in within
    assert within.count("stays.") == 60  # cut between words


def test_code_has_signs_and_lines_beside_each_other() -> None:
    found = compare("```\na\nb\n```", "```\na\nc\n```")
    inline = diff_html.inline(found, fold=True)
    assert (
        '<del class="line"><span class="sign" aria-hidden="true">\u2212</span>b\n</del>' in inline
    )
    assert '<ins class="line"><span class="sign" aria-hidden="true">+</span>c\n</ins>' in inline
    left, _, right = diff_html.beside(found, "x", "y", fold=True).partition('class="side new')
    assert "c\n</ins>" not in left
    assert "b\n</del>" not in right


def test_a_very_long_comparison_is_shortened() -> None:
    found = compare("old words " * 30_000, "other things " * 30_000)
    shown, cut = diff_html.shortened(found)
    assert cut
    assert sum(len(one.text) for hunk in shown.hunks for one in hunk.segments) <= diff_html.MOST
    assert diff_html.shortened(compare("a", "b")) == (compare("a", "b"), False)
