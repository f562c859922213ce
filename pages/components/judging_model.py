"""A verdict by a model: which one, by what rubric, what it will cost, and what it said."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from core import Runner, TurntreeError
from core.briefing import Brief, Plan, prepare
from core.judging import DEFAULT, Criterion, rubric_body, rubric_of
from core.store import Store
from core.types import Comparison, Config, Session
from pages import backend
from pages.components import config_panel, judging_votes, sidebar, state, words
from pages.components.frame import folding
from pages.components.judging_look import Look

_MOST_ROUNDS = 5


def draw(runner: Runner, comparison: Comparison, look: Look) -> None:
    """How to judge, what that comes to, and the verdicts of judges so far."""
    store = runner.store
    session = store.sessions.get(comparison.session_id)
    brief = _brief(store, session, len(look.columns))
    _rubric(store, session, brief.criteria)
    planned = prepare(store, comparison, look.columns, brief)
    brief = _own(store, session, brief, planned, look)
    planned = prepare(store, comparison, look.columns, brief)
    _ask(comparison, look, brief, planned)
    judging_votes.draw(runner, comparison, look)


# --- how to judge --------------------------------------------------------------------------------


def _kept(store: Store, session: Session) -> dict[str, object]:
    try:
        found = json.loads(store.drafts.get(f"judge.{session.id}") or "{}")
    except ValueError:  # written by another version
        found = {}
    return found if isinstance(found, dict) else {}


def _keep(store: Store, session: Session, **changed: object) -> None:
    told = json.dumps(_kept(store, session) | changed)
    store.drafts.keep(session.id, f"judge.{session.id}", told)


def _brief(store: Store, session: Session, lanes: int) -> Brief:
    kept = _kept(store, session)
    with st.container(horizontal=True, vertical_alignment="bottom", key="judge_how"):
        config = _model(store, session, kept)
        rounds = _rounds(store, session, kept)
        by_pairs = bool(kept.get("by_pairs")) and lanes > 2
        if lanes > 2:
            state.control("judge_pairs", by_pairs)
            st.toggle(
                "Pair by pair",
                by_pairs,
                key="judge_pairs",
                help="Two answers at a time instead of all at once: more calls, finer differences",
                on_change=lambda: _keep(store, session, by_pairs=bool(state.value("judge_pairs"))),
            )
    return Brief(
        config=config,
        criteria=rubric_of(store.verdicts.rubric(session.id)),
        rounds=rounds,
        by_pairs=by_pairs,
        own=bool(kept.get("own")),
    )


def _model(store: Store, session: Session, kept: dict[str, object]) -> Config:
    offered = {
        (one["provider"], one["model"]): f"{one['label']} · {one['provider']}"
        for one in config_panel.models_offered()
    }
    here = (session.config.provider, session.config.model)
    chosen = (str(kept.get("provider") or here[0]), str(kept.get("model") or here[1]))
    for one in (here, chosen):
        offered.setdefault(one, f"{one[1]} · {one[0]}")
    names = {"\n".join(one): name for one, name in offered.items()}
    names = words.distinct(names, lambda key: key.partition("\n")[2])
    key = "judge_model"
    state.control(key, "\n".join(chosen))

    def choose() -> None:
        provider, _, model = str(state.value(key)).partition("\n")
        _keep(store, session, provider=provider, model=model)

    st.selectbox(
        "Judge",
        list(names),
        index=list(names).index("\n".join(chosen)),
        format_func=names.__getitem__,
        key=key,
        on_change=choose,
        help="It sees the task, the rubric and the answers by number: no names, no conversation.",
    )
    return Config(provider=chosen[0], model=chosen[1])


def _rounds(store: Store, session: Session, kept: dict[str, object]) -> int:
    given = kept.get("rounds", 1)
    rounds = min(_MOST_ROUNDS, max(1, given)) if isinstance(given, int) else 1
    state.control("judge_rounds", rounds)
    st.number_input(
        "Votes in each order",
        min_value=1,
        max_value=_MOST_ROUNDS,
        value=rounds,
        key="judge_rounds",
        help="Each vote is asked twice: in one order, and in the reverse.",
        on_change=lambda: _keep(store, session, rounds=int(state.value("judge_rounds") or 1)),
    )
    return rounds


def _rubric(store: Store, session: Session, criteria: Sequence[Criterion]) -> None:
    def keep(changed: Sequence[Criterion]) -> None:
        store.verdicts.choose_rubric(session.id, rubric_body(changed))

    with folding("rubric", f"Rubric · {len(criteria)} criteria", small=True) as opened:
        if not opened:
            return
        for number, one in enumerate(criteria):
            _criterion(keep, list(criteria), number, one)
        with st.container(horizontal=True):
            st.button(
                "Add a criterion",
                icon=":material/add:",
                type="tertiary",
                key="rubric_add",
                on_click=keep,
                args=[[*criteria, Criterion(text=f"Criterion {len(criteria) + 1}")]],
            )
            if tuple(criteria) != DEFAULT:
                st.button(
                    "Back to the usual ones",
                    icon=":material/restart_alt:",
                    type="tertiary",
                    key="rubric_reset",
                    on_click=keep,
                    args=[DEFAULT],
                )


def _criterion(
    keep: Callable[[Sequence[Criterion]], None],
    criteria: list[Criterion],
    number: int,
    one: Criterion,
) -> None:
    text_key, weight_key = f"rubric_text_{number}", f"rubric_weight_{number}"

    def change() -> None:
        text = (state.value(text_key) or "").strip() or one.text
        weight = state.value(weight_key)
        criteria[number] = Criterion(text=text, weight=1.0 if weight is None else float(weight))
        keep(criteria)

    row = st.container(horizontal=True, vertical_alignment="center", key=f"rubric_row_{number}")
    with row:
        state.control(text_key, one.text)
        st.text_input(
            f"Criterion {number + 1}",
            one.text,
            key=text_key,
            label_visibility="collapsed",
            on_change=change,
        )
        state.control(weight_key, one.weight)
        st.number_input(
            f"Weight of criterion {number + 1}",
            min_value=0.0,
            max_value=100.0,
            value=one.weight,
            step=1.0,
            format="%g",
            key=weight_key,
            label_visibility="collapsed",
            on_change=change,
            width=110,
        )
        st.button(
            f"Remove criterion {number + 1}",
            icon=":material/close:",
            type="tertiary",
            key=f"rubric_remove_{number}",
            disabled=len(criteria) < 2,
            on_click=keep,
            args=[[*criteria[:number], *criteria[number + 1 :]]],
        )


def _own(store: Store, session: Session, brief: Brief, planned: Plan, look: Look) -> Brief:
    """Answers of the judge's own model: said, and left out unless the person wants them in."""
    if not planned.own:
        return replace(brief, own=False)
    one = len(planned.own) == 1
    if look.blind:
        who = words.counted(len(planned.own), "answer")
    else:
        who = ", ".join(sidebar.label(look.name(store, branch)) for branch in planned.own)
    fate = "judged all the same" if brief.own else "left out"
    are, them = ("is", "it") if one else ("are", "them")
    st.warning(
        f"{who} {are} {fate}: the judge's own model wrote {them}.", icon=":material/balance:"
    )
    state.control("judge_own", brief.own)
    st.checkbox(
        "Let it judge answers of its own model",
        brief.own,
        key="judge_own",
        help="Models tend to like their own words; the verdict says so.",
        on_change=lambda: _keep(store, session, own=bool(state.value("judge_own"))),
    )
    return brief


def _ask(comparison: Comparison, look: Look, brief: Brief, planned: Plan) -> None:
    calls = words.counted(len(planned.orders), "call")
    if planned.orders:
        price = (
            ""
            if planned.cost is None
            else f", {'≈ ' * bool(planned.cost)}{words.money(planned.cost)}"
        )
        st.caption(f"{calls}, ≈ {planned.tokens:,} tokens to read{price}")
    else:
        st.caption("There are not two answers left to judge.")

    def ask() -> None:
        try:
            backend.judge().ask(comparison, look.columns, brief)
        except TurntreeError as error:
            state.flash_error(error)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Ask the judge",
            type="primary",
            icon=":material/gavel:",
            key="judge_ask",
            disabled=not planned.orders,
            on_click=ask,
        )
        # In a blind look, an answer that is not there is one of the judge's own model.
        telling = look.blind and bool(planned.own) and not brief.own
        with st.popover(
            "What it sees",
            type="tertiary",
            icon=":material/visibility:",
            disabled=telling,
            help="Shown once you have voted: what it leaves out is by its own model."
            if telling
            else None,
        ):
            st.code(planned.sample, language=None, wrap_lines=True, height=420)
