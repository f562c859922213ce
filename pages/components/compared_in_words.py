"""A comparison of answers in a model's words: asked afresh, with nothing that tells whose they are.

It is kept with its run, and so is which answer was which text.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from core import Config, Node, Run, Runner
from core.columns import letter
from core.likeness import in_words
from core.types import Comparison
from pages.components import diff_html, side_run, state, words
from pages.components.config_panel import models_offered
from pages.components.entry import model_label
from pages.components.sidebar import label as plain

Texts = Sequence[tuple[str, Node]]
"""Branch ids with the answer that is compared, the first as text A."""


def draw(runner: Runner, comparison: Comparison, texts: Texts, names: Mapping[str, str]) -> None:
    """The latest one, and a way to have another written. ``names`` are by branch id."""
    found = latest(runner, comparison)

    def again() -> None:
        ask(runner, comparison, texts, _config(runner, comparison))

    with st.container(key="in_words"):
        if found is None:
            _ask_bar(runner, comparison, "Compare in words", again)
            return
        run, order = found
        with st.container(border=True):
            st.markdown(f"**In words** :small[:gray[{_told(run, order, names, comparison)}]]")
            said = side_run.draw(
                runner, run.id, again, busy="Comparing the answers…", scope="in_words"
            )
            if said is not None:
                st.html(diff_html.reading(said), width="stretch")
            if run.state == "ended":
                if order != [[branch, node.id] for branch, node in texts]:
                    st.caption("The answers are others by now, or in another order.")
                _ask_bar(runner, comparison, "Compare again", again)


def _told(
    run: Run, order: Sequence[Sequence[str]], names: Mapping[str, str], comparison: Comparison
) -> str:
    """Which text is which, and whose words these are."""
    whose = [
        f"Text {letter(place)} is {names.get(branch, 'a dropped lane')}"
        for place, (branch, _) in enumerate(order)
    ]
    by = [] if comparison.blind else [f"written by {model_label(run)}"]
    return plain(" · ".join([*whose, *by, words.moment(run.started_at)]))


def ask(runner: Runner, comparison: Comparison, texts: Texts, config: Config) -> Run:
    """Have the answers compared. Raises ``UserError`` where a budget is used up."""
    store = runner.store
    session = store.sessions.get(comparison.session_id)
    call = in_words([node.text for _, node in texts], session, config)
    branch, node = texts[0]
    run = runner.side(branch, call, config, "compare", at=node.id)
    body = {"comparison": comparison.id, "texts": [[b, n.id] for b, n in texts]}
    store.drafts.keep(session.id, _key(run.id), json.dumps(body))
    return run


def latest(runner: Runner, comparison: Comparison) -> tuple[Run, list[list[str]]] | None:
    """The comparison's latest run, with branch and answer of each of its texts."""
    for run in runner.store.runs.side(comparison.session_id, "compare", 50):
        kept = runner.store.drafts.get(_key(run.id))
        body = json.loads(kept) if kept else {}
        if body.get("comparison") == comparison.id:
            return run, body["texts"]
    return None


def _key(run_id: str) -> str:
    return f"compare.{run_id}"


_MODEL = "compare.words.model"


def _ask_bar(runner: Runner, comparison: Comparison, label: str, again: side_run.Again) -> None:
    """The button and the model that is asked."""
    own = runner.store.sessions.get(comparison.session_id).config
    offered = {f"{one['provider']}/{one['model']}": one for one in models_offered()}
    labels = words.distinct(
        {f"{own.provider}/{own.model}": own.model}
        | {key: one["label"] or one["model"] for key, one in offered.items()},
        lambda key: key.partition("/")[0],
    )
    chosen = state.kept(_MODEL)
    key = f"in_words.model.{comparison.id}"
    state.control(key, chosen if chosen in labels else next(iter(labels)))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.button(
            label,
            icon=":material/compare:",
            key=f"in_words.{comparison.id}",
            help="A model reads only the answers, the objective and the definition of done;"
            " it is not told whose they are",
        ):
            side_run.try_again(again)
        st.selectbox(
            "Model that compares",
            list(labels),
            format_func=lambda one: labels.get(one, one),
            key=key,
            label_visibility="collapsed",
            width=240,
            on_change=lambda: state.keep(_MODEL, state.value(key)),
        )


def _config(runner: Runner, comparison: Comparison) -> Config:
    """The session's, with the model that was chosen."""
    own = runner.store.sessions.get(comparison.session_id).config
    provider, _, model = str(state.kept(_MODEL) or "").partition("/")
    if not model or (provider, model) == (own.provider, own.model):
        return own
    # Knobs set for one model may not exist on another: they are left unset.
    return replace(own, provider=provider, model=model, sampling={})
