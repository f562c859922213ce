"""The dialog of a recap: how it is to be written, the draft as it comes, then words to edit and
activate; and the versions of one that is there."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from core import Config, Runner, TurntreeError, View
from core.recap import PROMPT, activate, add, boundary, drafts
from core.recapping import covered_by, request
from core.tree import turns
from core.types import Node, Recap
from core.upcoming import coming
from pages.components import pane, recap_check, side_run, state, words
from pages.components.act import Dialog
from pages.components.acts_recap import switched_on
from pages.components.config_panel import models_offered
from pages.components.entry import model_label
from pages.components.sidebar import label as plain
from pages.components.state import Place

_KEEP = 2  # turns left verbatim, where nobody said how many
_HEIGHT = 380
_PEEK = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How a recap is to be written."""

    covers_to: str
    config: Config
    focus: str = ""
    prompt: str = ""


@pane.window("Recap", width="large", on_dismiss=state.close_dialog)
def draw(runner: Runner, view: View, dialog: Dialog) -> None:
    """Options first; then the draft; then the words, to be edited and activated."""
    with st.container(key="recap"):
        if dialog.run is not None:
            _draft(runner, view, dialog, dialog.run)
        elif dialog.text == _BY_HAND:
            _by_hand(runner, view, dialog)
        else:
            _options(runner, view, dialog)


_BY_HAND = "by hand"


def _options(runner: Runner, view: View, dialog: Dialog) -> None:
    st.caption(
        "A recap stands in for the beginning of this branch in what is sent. Nothing is lost or"
        " moved: switched off, everything is sent again exactly as before."
    )
    cut = _how_far(runner, view, dialog)
    config = _model(view)
    focus = st.text_input(
        "Focus (optional)",
        key="recap.focus",
        placeholder="What it should pay particular attention to",
    )
    with st.expander("Prompt", type="compact"):
        prompt = st.text_area("What the model is asked for", PROMPT, height=260, key="recap.prompt")
    with st.container(horizontal=True):
        write = st.button(
            "Write recap", type="primary", icon=":material/edit_note:", disabled=cut is None
        )
        hand = st.button("Write it by hand", icon=":material/draw:", disabled=cut is None)
    if cut is not None and write:
        wish = Wish(covers_to=cut.id, config=config, focus=focus, prompt=prompt)
        side_run.try_again(lambda: _start(runner, view, dialog, wish))
    if cut is not None and hand:
        state.open_dialog(replace(dialog, node=cut.id, text=_BY_HAND))
        st.rerun()
    _others(runner, view, dialog)


def _how_far(runner: Runner, view: View, dialog: Dialog) -> Node | None:
    """The last message that the recap covers."""
    nodes = [node for node in view.lineage if node.parts]
    if dialog.node is not None:
        cut = next((node for node in nodes if node.id == dialog.node), None)
    else:
        ahead = nodes[-1].role != "user"
        asked = sum(node.role == "user" for node in nodes) - (not ahead)
        keep = st.number_input(
            "Last turns that stay verbatim",
            min_value=0,
            max_value=max(0, asked - 1),
            value=min(_KEEP, max(0, asked - 1)),
            step=1,
            key="recap.keep",
        )
        cut = boundary([*nodes, coming(runner.store, view)] if ahead else nodes, int(keep))
    if cut is None:
        st.info("There is nothing before the question that is being answered.")
        return None
    covered = nodes[: nodes.index(cut) + 1]
    st.caption(f"Covers {_span(covered)}, up to: {plain(_peek(cut.text))}")
    return cut


def _span(covered: Sequence[Node]) -> str:
    last = turns(covered)[-1]
    those = "turn 1" if last == 1 else f"turns 1–{last}"
    return f"{those} ({words.counted(len(covered), 'message')})"


def _peek(text: str) -> str:
    line = " ".join(text.split())
    return f"{line[:_PEEK]}…" if len(line) > _PEEK else line


def _model(view: View) -> Config:
    now = view.config
    offered = {f"{one['provider']}/{one['model']}": one for one in models_offered()}
    own = f"{now.provider}/{now.model}"
    labels = words.distinct(
        {own: now.model} | {key: one["label"] or one["model"] for key, one in offered.items()},
        lambda key: key.partition("/")[0],
    )
    chosen = st.selectbox(
        "Model", list(labels), format_func=lambda key: labels[key], key="recap.model"
    )
    if chosen == own or chosen not in offered:
        return now
    one = offered[chosen]
    # Knobs set for one model may not exist on another: they are left unset.
    return replace(now, provider=one["provider"], model=one["model"], sampling={})


def _start(runner: Runner, view: View, dialog: Dialog, wish: Wish) -> None:
    call = request(
        runner.store, view, wish.covers_to, wish.config, focus=wish.focus, prompt=wish.prompt
    )
    run = runner.side(view.branch.id, call, wish.config, "recap", at=wish.covers_to)
    state.keep(_wish_key(run.id), wish)
    state.open_dialog(replace(dialog, node=wish.covers_to, run=run.id, text=""))


def _wish_key(run_id: str) -> str:
    return f"recap.wish.{run_id}"


def _others(runner: Runner, view: View, dialog: Dialog) -> None:
    """Drafts that were never placed, and recaps that are there."""
    waiting = drafts(runner.store, view.lineage)
    if waiting:
        st.markdown("**Unplaced recap drafts**")
    for run in waiting[:5]:
        covered = covered_by(runner.store, str(run.context_tip_id))
        writing = " · being written" if run.state != "ended" else ""
        said = f"{_span(covered)} · {model_label(run)} · {words.moment(run.started_at)}{writing}"
        if st.button(plain(said), icon=":material/draft:", type="tertiary", key=f"draft.{run.id}"):
            state.open_dialog(replace(dialog, run=run.id, node=run.context_tip_id))
            st.rerun()
    places = {node.id for node in view.lineage}
    known = [one for one in runner.store.recaps.of(view.session.id) if one.covers_to in places]
    if known:
        st.markdown("**Recaps of this conversation**")
    for recap in reversed(known[-5:]):
        said = f"{_span(covered_by(runner.store, recap.covers_to))} · {_peek(recap.text)}"
        if st.button(
            plain(said), icon=":material/notes:", type="tertiary", key=f"known.{recap.id}"
        ):
            state.open_dialog(replace(dialog, kind="recaps", recap=recap.id))
            st.rerun()


# --- the words -----------------------------------------------------------------------------------


def _draft(runner: Runner, view: View, dialog: Dialog, run_id: str) -> None:
    run = runner.store.runs.get(run_id)
    wish = state.kept(_wish_key(run_id)) or Wish(
        covers_to=str(run.context_tip_id), config=run.config
    )

    def again() -> None:
        _start(runner, view, dialog, wish)

    found = side_run.draw(runner, run_id, again, busy="Writing the recap…")
    if found is None:
        if run.state == "ended":
            _back(dialog)
        return
    _words(runner, view, dialog, key=run_id, first=found, covers_to=wish.covers_to, run_id=run_id)


def _by_hand(runner: Runner, view: View, dialog: Dialog) -> None:
    covers_to = str(dialog.node)
    _words(runner, view, dialog, key=f"hand.{covers_to}", first="", covers_to=covers_to)


@pane.window("Edit recap", width="large", on_dismiss=state.close_dialog)
def edit(runner: Runner, view: View, dialog: Dialog) -> None:
    """Another version of a recap; the one before stays."""
    recap = runner.store.recaps.get(str(dialog.recap))
    with st.container(key="recap"):
        st.caption("What you change becomes a new version; the one before is kept beside it.")
        _words(
            runner,
            view,
            dialog,
            key=f"edit.{recap.id}",
            first=dialog.text or recap.text,
            covers_to=recap.covers_to,
            edited_from=recap,
        )


def _words(
    runner: Runner,
    view: View,
    dialog: Dialog,
    *,
    key: str,
    first: str,
    covers_to: str,
    run_id: str | None = None,
    edited_from: Recap | None = None,
) -> None:
    """The words to edit, what the recap saves and leaves out, and the way to the branch."""
    kept, widget = f"recap.words.{key}", f"recap.text.{key}"
    drafts_of, session = runner.store.drafts, view.session.id
    covered = covered_by(runner.store, covers_to)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.caption(f"Stands in for {_span(covered)}.")
        found = drafts_of.get(kept)
        now = first if found is None else found
        state.control(widget, now)
        text = st.text_area(
            "Recap",
            now,
            key=widget,
            height=_HEIGHT,
            label_visibility="collapsed",
            placeholder="What whoever goes on has to know",
            on_change=lambda: drafts_of.keep(session, kept, state.value(widget) or ""),
        )
        with st.container(horizontal=True):
            placed = st.button("Activate", type="primary", icon=":material/check:", key="recap.go")
            if run_id is not None and st.button("Options", icon=":material/tune:"):
                state.open_dialog(replace(dialog, run=None, text=""))
                st.rerun()
            _carry(runner, view, text)
    with right:
        recap_check.gains(runner, view, covered, text)
        recap_check.findings(
            runner,
            view,
            covered,
            text,
            key=key,
            on_add=lambda changed: drafts_of.keep(session, kept, changed),
        )
    if placed:
        _place(runner, view, covers_to, text, run_id, edited_from, kept)


def _place(
    runner: Runner,
    view: View,
    covers_to: str,
    text: str,
    run_id: str | None,
    edited_from: Recap | None,
    draft: str,
) -> None:
    store = runner.store
    try:
        if edited_from is not None and text.strip() == edited_from.text:
            activate(store, view.branch.id, edited_from.id)  # nothing was changed
        else:
            with store.write():
                older = edited_from.id if edited_from else None
                run_id = run_id or (edited_from.run_id if edited_from else None)
                made = add(
                    store,
                    view.session.id,
                    covers_to,
                    text,
                    run_id=run_id if edited_from is None else None,
                    edited_from=older,
                )
                activate(store, view.branch.id, made.id)
    except TurntreeError as error:
        st.error(plain(f"{error.message} {error.hint}"), icon=":material/error:")
        return
    store.drafts.drop(draft)
    state.close_dialog()
    state.flash(switched_on(runner, view))
    runner.announce(view.session.id)
    st.rerun()


def _back(dialog: Dialog) -> None:
    if st.button("Back to the options", icon=":material/tune:", key="recap.back"):
        state.open_dialog(replace(dialog, run=None, text=""))
        st.rerun()


def _carry(runner: Runner, view: View, text: str) -> None:
    """Put the words into the composer of another branch, where they can be changed."""
    others = [one for one in runner.store.branches.of(view.session.id) if one.id != view.branch.id]
    if not others or not text.strip():
        return
    with st.popover("Carry into branch …", icon=":material/move_item:"):
        names = {one.id: one.name for one in others}
        chosen = st.selectbox("Branch", list(names), format_func=names.__getitem__, key="carry.to")
        st.caption("The words come into that branch's input; nothing is sent until you send it.")
        if st.button("Go there with it", type="primary", key="carry.go"):
            runner.store.sessions.change(view.session.id, current_branch_id=chosen)
            state.insert(
                f"To recap what we decided on branch {view.branch.name}:\n\n{text.strip()}\n\n"
            )
            state.close_dialog()
            state.go(Place(session=view.session.id, branch=chosen))
            st.rerun()


# --- what is there -------------------------------------------------------------------------------


@pane.window("Recap", width="large", on_dismiss=state.close_dialog)
def versions(runner: Runner, view: View, dialog: Dialog) -> None:
    """Every recap of one beginning side by side: read, check, switch, edit."""
    shown = runner.store.recaps.get(str(dialog.recap))
    known = runner.store.recaps.covering([shown.covers_to])
    overrides = runner.store.recaps.overrides(view.branch.id)
    active = {one.target_id for one in overrides if one.kind == "recap"}
    covered = covered_by(runner.store, shown.covers_to)
    with st.container(key="recap"):
        st.caption(f"Stands in for {_span(covered)}. The latest comes first.")
        columns = st.columns(min(2, len(known)), gap="medium")
        for place, recap in enumerate(reversed(known)):
            with columns[place % len(columns)], st.container(border=True, key=f"recap.{recap.id}"):
                _version(
                    runner,
                    view,
                    dialog,
                    recap,
                    number=len(known) - place,
                    active=recap.id in active,
                )
        _carry(runner, view, shown.text)
        recap_check.gains(runner, view, covered, shown.text)
        recap_check.findings(
            runner,
            view,
            covered,
            shown.text,
            key=shown.id,
            on_add=lambda changed: _edited(dialog, shown, changed),
        )


def _edited(dialog: Dialog, recap: Recap, text: str) -> None:
    state.keep(f"recap.words.edit.{recap.id}", text)
    state.open_dialog(replace(dialog, kind="recap_edit", recap=recap.id))


def _version(
    runner: Runner, view: View, dialog: Dialog, recap: Recap, *, number: int, active: bool
) -> None:
    told = [f"**Version {number}**", plain(_by(runner, recap)), words.moment(recap.created_at)]
    st.markdown(" · ".join(told) + (" :green-badge[active]" if active else ""))
    with st.container(height=_HEIGHT if len(recap.text) > 900 else "content", border=False):
        st.text(recap.text)
    with st.container(horizontal=True):
        if active and st.button("Switch off", icon=":material/toggle_off:", key=f"off.{recap.id}"):
            _switch(runner, view, None)
        if not active and st.button("Use this", icon=":material/check:", key=f"on.{recap.id}"):
            _switch(runner, view, recap)
        if st.button("Edit", icon=":material/edit:", key=f"edit.{recap.id}"):
            state.open_dialog(replace(dialog, kind="recap_edit", recap=recap.id, text=""))
            st.rerun()


def _by(runner: Runner, recap: Recap) -> str:
    if recap.edited_from is not None:
        return "edited by hand"
    if recap.run_id is None:
        return "written by hand"
    run = runner.store.runs.get(recap.run_id)
    return f"{model_label(run)}{', by itself' if run.purpose == 'auto_recap' else ''}"


def _switch(runner: Runner, view: View, recap: Recap | None) -> None:
    activate(runner.store, view.branch.id, recap.id if recap else None)
    state.flash(switched_on(runner, view) if recap else "The recap is switched off.")
    runner.announce(view.session.id)
    state.close_dialog()
    st.rerun()
