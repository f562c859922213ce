"""What is sent of this branch: a context policy to choose beside the others' sizes, for all
sends or only for the next, and a recap that writes itself."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from core import Runner, View
from core.meter import sizes
from core.policies import POLICIES
from pages.components import acts_context, meter, state
from pages.components.act import Act
from pages.components.frame import folding

_SHARE = 80  # percent of the window, where a recap is to write itself and nobody said when
_MOST_TURNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """What was chosen for the next send alone."""

    policy: str
    keep: int


def once(view: View) -> View:
    """The view as its next send is asked: with what was chosen for that one alone."""
    chosen = _chosen_once(view)
    if chosen is None:
        return view
    branch = replace(view.branch, policy=chosen.policy, keep_turns=chosen.keep)
    return replace(view, branch=branch)


def forget_once(view: View) -> None:
    """The next send is on its way."""
    if _chosen_once(view) is not None:
        state.keep(_key(view), None)
        state.settings_changed()


def fact(view: View) -> str:
    """The policy in a word, where it is not that everything is sent."""
    config = once(view).config
    if config.policy == "full" or config.policy not in POLICIES:
        return ""
    return f"context: {_named(config.policy, config.keep_turns)}"


def chip(view: View) -> None:
    """Over the composer: what was chosen for the next send alone, and a way back."""
    chosen = _chosen_once(view)
    if chosen is None:
        return
    with (
        st.bottom,
        st.container(key="once", horizontal=True, vertical_alignment="center", gap="small"),
    ):
        st.markdown(
            f":small[Only the next send: **{_named(chosen.policy, chosen.keep)}**]",
            width="content",
        )
        st.button(
            "Cancel",
            key="once.cancel",
            type="tertiary",
            icon=":material/close:",
            on_click=forget_once,
            args=[view],
            help="Send as the rest of this branch",
        )


def draw(runner: Runner, view: View, handle: Callable[[Act], None], *, scope: str) -> None:
    """The section of the inspector; the sizes are worked out only while it is open."""
    now = once(view).config
    known = POLICIES.get(now.policy)
    label = f"Context: {known.label if known else now.policy}"
    with folding(f"context.{scope}", label, icon=":material/filter_list:", small=True) as opened:
        if not opened:
            return
        with st.container(key=f"context.{scope}"):
            if st.button(
                "What will be sent",
                icon=":material/visibility:",
                key=f"look.{scope}",
                width="stretch",
            ):
                handle({"action": "preview"})
                st.rerun()  # also of the page behind a drawer
            controls = f"{scope}.{state.settings_number()}"
            _once_toggle(view, controls)
            _policies(runner, view, controls)
            _keep(runner, view, controls)
            _auto_recap(runner, view, controls)
            _choices(runner, view)


def _once_toggle(view: View, scope: str) -> None:
    key = f"once.toggle.{scope}.{view.branch.id}"
    config, drawn = view.config, _chosen_once(view) is not None

    def change() -> None:
        if bool(state.value(key)) == drawn:
            return
        alone = Once(policy=config.policy, keep=config.keep_turns) if state.value(key) else None
        state.keep(_key(view), alone)

    state.control(key, drawn)
    st.toggle(
        "Only for the next send",
        drawn,
        key=key,
        on_change=change,
        help="What you choose here then holds for one message; the branch keeps its own.",
    )


def _policies(runner: Runner, view: View, scope: str) -> None:
    key = f"policy.{scope}.{view.branch.id}"
    config = once(view).config
    taken = sizes(runner.store, once(view))
    if config.policy not in POLICIES:
        st.warning(f"This Turntree knows no policy called {config.policy!r}. Choose another.")

    def change() -> None:
        if (policy := state.value(key)) not in (None, config.policy):
            _choose(runner, view, policy, config.keep_turns)

    state.control(key, config.policy if config.policy in POLICIES else None)
    st.radio(
        "What is sent of this branch",
        list(POLICIES),
        index=list(POLICIES).index(config.policy) if config.policy in POLICIES else None,
        # The words of a choice are what the browser knows it by: they must not change.
        format_func=lambda name: POLICIES[name].label,
        captions=[
            f"\u2248 {meter.brief(taken[name])} tokens. {policy.sentence}"
            for name, policy in POLICIES.items()
        ],
        key=key,
        on_change=change,
        help="Tokens of the next send, before your words, under each.",
    )


def _keep(runner: Runner, view: View, scope: str) -> None:
    config = once(view).config
    policy = POLICIES.get(config.policy)
    if policy is None or not policy.keeps:
        return
    key = f"keep.{scope}.{view.branch.id}"

    def change() -> None:
        if (keep := int(state.value(key) or 0)) != config.keep_turns:
            _choose(runner, view, config.policy, keep)

    state.control(key, config.keep_turns)
    st.number_input(
        "Last turns sent verbatim",
        min_value=0,
        max_value=max(_MOST_TURNS, config.keep_turns),
        value=config.keep_turns,
        step=1,
        key=key,
        on_change=change,
        help="Besides the message that is being answered.",
    )


def _choose(runner: Runner, view: View, policy: str, keep: int) -> None:
    if _chosen_once(view) is not None:
        state.keep(_key(view), Once(policy=policy, keep=keep))
    else:
        acts_context.choose(runner, view, policy, keep)


def _auto_recap(runner: Runner, view: View, scope: str) -> None:
    session = view.session
    on, share = f"recap.on.{scope}.{session.id}", f"recap.share.{scope}.{session.id}"

    def change(key: str, percent: Callable[[], int | None]) -> None:
        asked = percent()
        value = None if asked is None else asked / 100
        if value == session.auto_recap:
            return
        runner.store.sessions.change(session.id, auto_recap=value)

    state.control(on, session.auto_recap is not None)
    st.toggle(
        "Recap by itself when it gets long",
        session.auto_recap is not None,
        key=on,
        on_change=change,
        args=[on, lambda: _SHARE if state.value(on) else None],
        help="In this session. It is announced, can be stopped and switched off again.",
    )
    if session.auto_recap is not None:
        state.control(share, round(session.auto_recap * 100))
        st.slider(
            "From this share of the window on",
            min_value=50,
            max_value=95,
            value=round(session.auto_recap * 100),
            step=5,
            format="%d%%",
            key=share,
            on_change=change,
            args=[share, lambda: int(state.value(share))],
        )


def _choices(runner: Runner, view: View) -> None:
    kinds = [one.kind for one in runner.store.recaps.overrides(view.branch.id)]
    told = []
    if "recap" in kinds:
        told.append("a recap stands in for the beginning")
    for kind, word in (("pin", "pinned"), ("mute", "muted")):
        if count := kinds.count(kind):  # type: ignore[arg-type]
            told.append(f"{count} {word}")
    if told:
        st.caption(f"On this branch: {', '.join(told)}.")


def _chosen_once(view: View) -> Once | None:
    found: Once | None = state.kept(_key(view))
    return found


def _key(view: View) -> str:
    return f"once.{view.branch.id}"


def _named(policy: str, keep: int) -> str:
    known = POLICIES.get(policy)
    label = known.label if known else policy
    return f"{label[0].lower()}{label[1:]} ({keep})" if known and known.keeps else label.lower()
