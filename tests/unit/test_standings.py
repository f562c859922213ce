"""Standings: wins, strengths with intervals, cost per win, and how evenly a model scores."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import Runner, Session, Store, fork
from core.standings import AVERAGE, NO_MODEL, Duel, Standing, standings, strengths, told
from core.types import Config, Verdict, new_id, now
from tests.conftest import ECHO
from tests.unit.house import ask, execute, grow

OTHER = replace(ECHO, model="echo-think")


def wins(one: str, other: str, times: int, share: float = 1.0) -> list[Duel]:
    return [Duel(one=one, other=other, share=share)] * times


# --- Bradley-Terry ---


def test_without_a_prior_three_of_four_makes_three_to_one() -> None:
    found = strengths([*wins("a", "b", 3), *wins("b", "a", 1)], prior=1e-9)
    ahead = found["a"].value - found["b"].value
    assert ahead == pytest.approx(400 * math.log10(3), abs=0.01)


def test_the_classic_example_comes_out_as_published() -> None:
    """Hunter, MM algorithms, 2004: the maximum is where expected wins are the ones seen."""
    duels = [*wins("a", "b", 2), *wins("a", "c", 3), *wins("b", "a", 3), *wins("b", "c", 5)]
    duels += [*wins("c", "a", 1), *wins("c", "b", 4), *wins("a", "b", 2, 0.5)]
    found = strengths(duels, prior=1e-9)
    for name in "abc":
        seen = expected = 0.0
        for duel in duels:
            if name not in (duel.one, duel.other):
                continue
            rival = duel.other if name == duel.one else duel.one
            seen += duel.share if name == duel.one else 1 - duel.share
            expected += 1 / (1 + 10 ** ((found[rival].value - found[name].value) / 400))
        assert expected == pytest.approx(seen, abs=1e-4)


def test_whoever_never_lost_is_not_infinitely_strong() -> None:
    found = strengths(wins("a", "b", 5))
    assert AVERAGE < found["a"].value < AVERAGE + 800
    assert found["a"].low < found["a"].value < found["a"].high


def test_more_duels_make_the_interval_narrower() -> None:
    few, many = (strengths([*wins("a", "b", 3 * n), *wins("b", "a", 2 * n)]) for n in (1, 30))
    assert many["a"].high - many["a"].low < few["a"].high - few["a"].low


def test_nobody_plays_alone() -> None:
    assert strengths([]) == {}


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0.0, 0.5, 1.0])
        ),
        min_size=1,
        max_size=30,
    )
)
def test_strengths_depend_on_neither_names_nor_sides(pairs: list[tuple[str, str, float]]) -> None:
    duels = [Duel(one=a, other=b, share=share) for a, b, share in pairs if a != b]
    found = strengths(duels)
    turned = strengths([Duel(one=d.other, other=d.one, share=1 - d.share) for d in reversed(duels)])
    renamed = strengths(
        [Duel(one=f"z{ord('d') - ord(d.one)}", other=f"z{ord('d') - ord(d.other)}", share=d.share)
         for d in duels]
    )  # fmt: skip
    for name, strength in found.items():
        assert strength.value == pytest.approx(turned[name].value, abs=1e-3)
        assert strength.value == pytest.approx(renamed[f"z{ord('d') - ord(name)}"].value, abs=1e-3)
        assert strength.low < strength.value < strength.high
    better = wins("a", "b", 1)
    if "a" in found and "b" in found:
        after = strengths([*duels, *better])
        assert after["a"].value - after["b"].value > found["a"].value - found["b"].value


# --- from verdicts ---


def lanes(runner: Runner, main: str, *configs: Config) -> list[tuple[str, str]]:
    """A branch for each config, with an answer; its id and the answer's."""
    made = []
    root = grow(runner.store, main, "q")[0]
    for number, config in enumerate(configs):
        branch = fork(runner.store, root.id, from_branch=main)
        run = ask(runner, branch.id, f"answer {number}", config=config)
        made.append((branch.id, str(run.node_id)))
    return made


def verdict(session: Session, tips: list[tuple[str, str]], **more: object) -> Verdict:
    known = {"comparison_id": None, "by": "person"} | more
    return Verdict(id=new_id(), session_id=session.id, tips=dict(tips), created_at=now(), **known)


def rows(store: Store, *verdicts: Verdict, by_settings: bool = False) -> dict[str, Standing]:
    return {row.name: row for row in standings(store, verdicts, by_settings=by_settings)}


def test_wins_ties_and_losses_are_counted_by_model(
    runner: Runner, session: Session, main: str
) -> None:
    a, b, c = lanes(runner, main, ECHO, OTHER, OTHER)
    said = [
        verdict(session, [a, b], winner=a[0]),
        verdict(session, [a, b, c], winner=c[0], by="judge"),
        verdict(session, [a, b], tie=True),
        verdict(session, [a, b], ratings={a[0]: 5.0}),
    ]
    found = rows(runner.store, *said)
    one, other = found["echo · echo-1"], found["echo · echo-think"]
    assert (one.judged, one.won, one.tied, one.lost) == (3, 1, 1, 1)
    assert (other.judged, other.won, other.tied, other.lost) == (4, 1, 1, 2)
    assert one.strength is not None
    assert one.strength.value == pytest.approx(AVERAGE, abs=0.01)  # one each, and a tie


def test_settings_are_told_apart_when_wished(runner: Runner, session: Session, main: str) -> None:
    kind = replace(ECHO, system="Be kind.", sampling={"max_tokens": 9}, policy="last")
    a, b = lanes(runner, main, ECHO, kind)
    said = verdict(session, [a, b], winner=b[0])
    assert list(rows(runner.store, said)) == ["echo · echo-1"]
    assert rows(runner.store, said)["echo · echo-1"].strength is None  # nobody but itself
    apart = rows(runner.store, said, by_settings=True)
    assert list(apart) == [f"echo · echo-1 · {told(kind)}", "echo · echo-1"]
    assert told(kind) == "max_tokens 9, context last, “Be kind.”"


def test_cost_per_win_is_of_all_its_answers_and_unknown_stays_unknown(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    a, b, c = lanes(runner, main, ECHO, ECHO, OTHER)
    for (_, node), cost in ((a, 100), (b, 300), (c, None)):
        execute(store, "UPDATE runs SET cost_nanodollars = ? WHERE node_id = ?", cost, node)
    said = [verdict(session, [a, b, c], winner=a[0]), verdict(session, [b, c], winner=c[0])]
    found = rows(store, *said)
    assert found["echo · echo-1"].cost_per_win == 400
    other = found["echo · echo-think"]
    assert (other.won, other.cost_per_win, other.unknown) == (1, None, 1)


def test_scores_have_mean_best_tenth_and_spread_over_samples(
    runner: Runner, session: Session, main: str
) -> None:
    made = lanes(runner, main, ECHO, ECHO, ECHO, OTHER)
    scores = [2.0, 5.0, 8.0, 6.0]
    judged = verdict(
        session,
        made,
        by="judge",
        comparison_id="one",
        tie=True,
        ratings={branch: score for (branch, _), score in zip(made, scores, strict=True)},
    )
    stars = verdict(session, made[:1], ratings={made[0][0]: 3.0}, comparison_id="two")
    found = rows(runner.store, judged, stars)
    one, other = found["echo · echo-1"], found["echo · echo-think"]
    first = [20.0, 50.0, 80.0]
    high, low = np.percentile(first, 90), np.percentile(first, 10)
    assert one.mean == pytest.approx((50.0 + 50.0) / 2)
    assert one.aptitude == pytest.approx((high + 50.0) / 2)  # a task of one sample is its own best
    assert one.unreliability == pytest.approx(high - low)  # and says nothing of spread
    assert one.samples == 4
    assert (other.mean, other.unreliability) == (60.0, None)


def test_one_answer_judged_twice_is_one_sample(runner: Runner, session: Session, main: str) -> None:
    (a,) = lanes(runner, main, ECHO)
    said = [
        verdict(session, [a], ratings={a[0]: 4.0}, by="judge", comparison_id="x"),
        verdict(session, [a], ratings={a[0]: 8.0}, by="judge", comparison_id="x"),
    ]
    row = rows(runner.store, *said)["echo · echo-1"]
    assert (row.samples, row.mean, row.unreliability) == (1, 60.0, None)


def test_words_of_a_person_stand_on_their_own(runner: Runner, session: Session, main: str) -> None:
    (a,) = lanes(runner, main, ECHO)
    typed = grow(runner.store, main, "typed by hand")[0]
    found = rows(runner.store, verdict(session, [a, (main, typed.id)], winner=main))
    assert found[NO_MODEL].won == 1
    assert found[NO_MODEL].cost_per_win is None
